#!/usr/bin/env python3
"""What a budget of 2 % promises and what it costs: the tables of docs/selection-budget.md (preset `auto`) and docs/probes.md
(`--preset all`: everything is selected, and the budget is the runtime's alone), as `make budget-table` prints them.

Each code runs (on two ranks where it is a parallel one) unmeasured and measured in turn (`tare validate`), after one run that fills
the cache and says how long a run takes. As many pairs are run as fit into the time that is given. A code that says how often its
functions were called is held to that: where the run says that calls are exact, they are. A code that fails has its error in its
row; the status is then 1. Inputs are small and made here; all files are in a directory that is removed at the end.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HEAD = "| code | run | functions selected | expected | by probes | wrappers | threads | measured | noise | off | pairs |\n|---|---|---|---|---|---|---|---|---|---|---|"
# Its functions are short, frequent, recursive, left by exceptions, `longjmp` and signals, and it prints how often each was called.
SOURCE = Path(__file__).parent / "budget" / "torture.cpp"
# A run or a round of pairs that takes longer than this, in seconds, hangs.
PATIENCE = 240


class Code:
    """A program, its input files, and its libraries that are measured."""

    def __init__(self, name, command, files=None, libraries=(), ranks=2):
        self.name, self.command, self.files, self.libraries = name, command, files or {}, libraries
        self.launch = ["mpirun.openmpi", "-n", str(ranks)] if ranks else []

    def words(self):
        """What follows `tare VERB`."""
        return [word for library in self.libraries for word in ("--library", library)]


def spheres():
    """A scene of 300 spheres above a plane."""
    draw = random.Random(1)
    look = "TEXTURE AMBIENT 0.1 DIFFUSE 0.7 SPECULAR 0.2 OPACITY 1.0 COLOR"
    lines = ["BEGIN_SCENE", "RESOLUTION 400 400", "CAMERA", " ZOOM 1.0 ASPECTRATIO 1.0 ANTIALIASING 1 RAYDEPTH 6"]
    lines += [" CENTER 0.0 0.0 -8.0 VIEWDIR 0 0 1 UPDIR 0 1 0", "END_CAMERA", "LIGHT CENTER 4 5 -5 RAD 0.2 COLOR 1 1 1"]
    for _ in range(300):
        x, y, z, r, *color = [draw.uniform(low, high) for low, high in [(-3, 3), (-3, 3), (-1, 5), (0.1, 0.4)] + 3 * [(0, 1)]]
        lines.append(f"SPHERE CENTER {x:.3f} {y:.3f} {z:.3f} RAD {r:.3f} {look} {color[0]:.2f} {color[1]:.2f} {color[2]:.2f} TEXFUNC 0")
    lines += [f"PLANE CENTER 0 -4 0 NORMAL 0 1 0 {look} 0.9 0.9 0.9 TEXFUNC 0", "END_SCENE", ""]
    return "\n".join(lines)


def alignment(taxa=20, sites=900):
    """Sequences that differ as those of a tree do: each comes from an earlier one, a twelfth of its sites drawn anew."""
    draw = random.Random(2)
    sequences = [[draw.choice("ACGT") for _ in range(sites)]]
    while len(sequences) < taxa:
        parent = draw.choice(sequences)
        sequences.append([draw.choice("ACGT") if draw.random() < 1 / 12 else base for base in parent])
    return [(f"tax{index + 1}", "".join(sequence)) for index, sequence in enumerate(sequences)]


def phylip():
    rows = alignment()
    return f"{len(rows)} {len(rows[0][1])}\n" + "".join(f"{name:<10} {bases}\n" for name, bases in rows)


def nexus(generations):
    rows = alignment()
    matrix = "".join(f"{name} {bases}\n" for name, bases in rows)
    return f"""#NEXUS
begin data;
dimensions ntax={len(rows)} nchar={len(rows[0][1])};
format datatype=dna gap=- missing=?;
matrix
{matrix};
end;
begin mrbayes;
set autoclose=yes nowarn=yes seed=7 swapseed=7;
lset nst=6 rates=gamma;
mcmcp ngen={generations} samplefreq=500 printfreq=1000 diagnfreq=1000 nruns=2 nchains=2;
mcmc;
quit;
end;
"""


MELT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 12 0 12 0 12
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo 100
run 600
"""

# Patterns of communication of the example, and their rounds.
PATTERNS = [("pipeline", "1000"), ("halo", "2000"), ("trees", "1000"), ("workers", "1000")]

# The values of hpccinf.txt, line by line behind the two of its head: HPL first, then PTRANS.
HPCC = "HPL.out 8 1 2000 1 80 0 1 1 2 16.0 1 2 1 4 1 2 1 1 1 1 1 0 2 64 0 0 1 8 # 0 1200 0 40".split()


def hpcc_input():
    return "HPLinpack benchmark input file\nhead\n" + "".join(f"{value} value\n" for value in HPCC)


TACHYON = ["tachyon", "scene.dat", "-res", "1200", "1200", "-o", "out.tga"]
PHYML = ["phyml-mpi", "-i", "nucleic", "-d", "nt", "-b", "8", "--no_memory_check", "-o", "lr", "--quiet"]

PYTHON = """import json, random, re
random.seed(1)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
table = {str(i): [random.random() for _ in range(5)] for i in range(4000)}
for _ in range(100):
    text = json.dumps(table)
    json.loads(text), sorted(text.split(",")), re.findall("[0-9]+e", text)
print(fib(31), len(text))
"""

SQL = """CREATE TABLE t(a INTEGER PRIMARY KEY, b, c TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<2000000) INSERT INTO t SELECT i, (i*7919)%100003, 'x'||i FROM n;
CREATE INDEX tb ON t(b);
SELECT b%10, count(*), avg(a) FROM t GROUP BY 1 ORDER BY 2;
SELECT count(*) FROM t x JOIN t y ON x.b=y.a WHERE x.a<1500000;
"""


def codes_all(place):
    """Those that run with everything selected."""
    torture = place / "torture.program"
    flags = ["-O2", "-g", "-fno-inline", "-fno-optimize-sibling-calls", "-fno-ipa-cp", "-fno-ipa-icf", "-pthread"]
    subprocess.run(["g++", *flags, "-o", torture, SOURCE], check=True)
    return [
        Code("torture", [str(torture), "3000"], ranks=0),
        Code("python3.11", ["/usr/bin/python3.11", "work.py"], {"work.py": PYTHON}, ranks=0),
        Code("sqlite3", ["sqlite3", "-init", "work.sql", ":memory:", ".quit"], {"work.sql": SQL}, ["libsqlite3"], ranks=0),
        Code("hpcc", ["hpcc"], {"hpccinf.txt": hpcc_input()}),
        Code("lmp", ["lmp", "-in", "in.melt", "-log", "none"], {"in.melt": MELT}, ["liblammps"]),
    ]


def codes_auto(examples):
    """Those that run with preset `auto`; `examples` is where the compiled examples are."""
    return [
        Code("hpcc", ["hpcc"], {"hpccinf.txt": hpcc_input()}),
        Code("lmp", ["lmp", "-in", "in.melt", "-log", "none"], {"in.melt": MELT}, ["liblammps"]),
        Code("tachyon", TACHYON, {"scene.dat": spheres()}, ["libtachyon"]),
        Code("phyml", PHYML, {"nucleic": phylip()}),
        Code("mrbayes", ["/usr/lib/mrbayes-mpi/mb-mpi", "in.nex"], {"in.nex": nexus(6000)}),
        Code("pi", [f"{examples}/pi", "3e-4"]),
        *(Code(f"patterns-{pattern}", [f"{examples}/patterns", pattern, rounds]) for pattern, rounds in PATTERNS),
        *(Code(name, [f"{examples}/{name}"]) for name in ("halo", "exceptions", "mpi_f08")),
    ]


class Bench:
    """Where and how the codes are measured."""

    def __init__(self, tare, place, preset):
        self.tare, self.place = tare, place
        self.words = ["--preset", preset, *(["--budget", "2%"] if preset == "all" else [])]
        own = {"TARE_CACHE": str(place / "cache"), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        # mpirun refuses to run as root unless it is told twice.
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
        self.environment = os.environ | own | root

    def run(self, words, directory):
        """What a command prints."""
        try:
            done = subprocess.run(
                [self.tare, *words], cwd=directory, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False
            )
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"`tare {words[0]}` took more than {PATIENCE} s") from None
        if done.returncode != 0:
            print(done.stderr, file=sys.stderr)
            raise RuntimeError(f"`tare {words[0]}` ended with status {done.returncode}: see above what it said")
        return done.stdout

    def row(self, code, seconds, most_pairs):
        """A row of the table, within a time."""
        directory = self.place / code.name
        directory.mkdir()
        for name, text in code.files.items():
            (directory / name).write_text(text)
        line = [*code.words(), "--", *code.launch, *code.command]
        began = time.monotonic()
        # The second run takes what a run takes: the first one filled the cache.
        self.run(["profile", *self.words, "-o", "first", *line], directory)
        filled = time.monotonic()
        printed = self.run(["profile", *self.words, "-o", "second", *line], directory)
        one = time.monotonic() - filled
        pairs = max(4, min(most_pairs, int((min(seconds, PATIENCE) - (time.monotonic() - began)) / (2.2 * one))))
        table = json.loads(self.run(["validate", *self.words, "-n", str(pairs), "-o", "pairs", "--format", "json", *line], directory))
        reports = [json.loads(self.run(["report", run, "--format", "json"], directory)) for run in sorted((directory / "pairs").glob("*-measured"))]
        if code.name == "torture":
            check_calls(printed, json.loads(self.run(["report", "second", "--format", "json"], directory)))
        images = json.loads((directory / "second" / "run.json").read_text())["images"]
        return self.cells(code, table, reports, images)

    def cells(self, code, table, reports, images):
        selected = ", ".join(f"{image['selected']} of {image['found']}" for image in images)
        expected = max((image["expected_dilation"] or 0.0 for image in images), default=0.0)
        budgets = [report["run"]["budget"] for report in reports]
        names = ("probes", "probes_high", "wrappers", "set_up")
        by_probes, most, wrappers, threads = (statistics.median(budget[name] for budget in budgets) for name in names)
        length = statistics.median(report["run"]["wall_s"] for report in reports)
        off = statistics.median(len({one["region"] for one in report["run"]["switched"]}) for report in reports)
        probes = f"{percent(by_probes)} (≤ {percent(most)})"
        figures = [percent(expected), probes, percent(wrappers), percent(threads), percent(table["dilation"]), percent(table["noise"])]
        return [code.name, f"{length:.2g} s", selected, *figures, f"{off:g}", str(table["pairs"])]


def check_calls(printed, report):
    """Holds calls that are said to be exact to what the program says."""
    truth = {name: int(calls) for name, calls in map(str.split, printed.splitlines())}
    for name, calls in truth.items():
        nodes = [node for node in report["nodes"] if report["regions"][node["region"]]["name"] == name]
        counted = sum(node["calls"] for node in nodes)
        if all(node["calls_exact"] for node in nodes) and counted != calls:
            raise RuntimeError(f"{name}: {counted} calls are said to be exact, and {calls} were made")


def percent(fraction):
    """For people; fewer than four pairs have no noise."""
    return "–" if fraction is None else f"{100 * fraction:.2g} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codes", nargs="*", help="by their names in the table (default: all)")
    parser.add_argument("--preset", choices=["auto", "all"], default="auto", help="what is selected (default: %(default)s)")
    parser.add_argument("--tare", default="target/release/tare", help="the command (default: %(default)s)")
    parser.add_argument("--examples", default="target/examples", help="where the compiled examples are (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=7, help="pairs of runs for each code, at most (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=10, help="time for all of it, about (default: %(default)s)")
    options = parser.parse_args()
    tare, examples = Path(options.tare).resolve(), Path(options.examples).resolve()
    needed = [(tare, "make build, or --tare PATH"), (examples / "mpi_f08", "make examples, or --examples PATH")]
    for path, remedy in needed[: 1 if options.preset == "all" else 2]:
        if not path.is_file():
            sys.exit(f"budget_table: {path} is not there\n      try: {remedy}")
    end = time.monotonic() + 60 * options.minutes
    failed = False
    with tempfile.TemporaryDirectory(prefix="tare-budget-") as place:
        todo = codes_all(Path(place)) if options.preset == "all" else codes_auto(examples)
        unknown = set(options.codes) - {code.name for code in todo}
        if unknown:
            sys.exit(f"budget_table: no code is called {', '.join(sorted(unknown))}\n      try: {', '.join(code.name for code in todo)}")
        todo = [code for code in todo if not options.codes or code.name in options.codes]
        print(HEAD, flush=True)
        bench = Bench(str(tare), Path(place), options.preset)
        for index, code in enumerate(todo):
            try:
                cells = bench.row(code, (end - time.monotonic()) / (len(todo) - index), options.pairs)
            except (RuntimeError, OSError, KeyError, ValueError, ZeroDivisionError) as error:
                cells, failed = [code.name, f"{type(error).__name__}: {error}", *[""] * 9], True
            print("| " + " | ".join(cells) + " |", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
