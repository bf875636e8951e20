#!/usr/bin/env python3
"""How close compensated times come on both MPIs: the table of docs/validation.md, as `make validation-table` prints it.

Each program runs on two ranks, unmeasured and measured in turn (`tare validate --preset all`). A row has the time of the slower
rank unmeasured, the dilation, the error of each rank with compensation off, local and parallel, the noise between unmeasured runs, and the
pairs. A program that fails has its error in its row; the status is then 1. On a machine that does other things the noise says so.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HEAD = "| program | MPI | unmeasured | dilation | measured | local | parallel | noise | pairs |\n|---|---|---|---|---|---|---|---|---|"
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}
PATTERNS = ["pipeline", "halo", "rendezvous", "trees", "onesided", "started", "neighbours", "workers"]
# A set of pairs that takes longer than this, in seconds, hangs.
PATIENCE = 900


class Code:
    """A program: its name, how it is compiled (compiler of the library and source), its arguments, the libraries of MPI it is there for, and
    what makes its input."""

    def __init__(self, name, compiler=None, source=None, arguments=(), options=(), files=None, libraries=("openmpi", "mpich"), before=()):
        self.name, self.compiler, self.source, self.arguments = name, compiler, source, list(arguments)
        self.options, self.files, self.libraries, self.before = list(options), files or {}, libraries, before


def codes():
    """All of the table, in its order."""
    from budget_table import MELT, PHYML, TACHYON, hpcc_input, nexus, phylip, spheres
    from validation_inputs import COMPOSE, DYNAMICS, GRAINS, POUR, SIMULATE, WATER, WAVES

    patterns = [Code(name, "mpicc", "examples/patterns/patterns.c", [name]) for name in PATTERNS]
    return [
        Code("pi", "mpicc", "examples/pi/pi.c"),
        *patterns,
        Code("halo in Fortran", "mpif90", "examples/patterns/halo.f90"),
        Code("hpcc", arguments=["hpcc"], files={"hpccinf.txt": hpcc_input()}, libraries=("openmpi",)),
        Code("lmp", None, None, ["lmp", "-in", "in.melt", "-log", "none"], ["--library", "liblammps"], {"in.melt": MELT}, ("openmpi",)),
        Code("gmx", None, None, SIMULATE, ["--library", "libgromacs_mpi"], {"topol.top": WATER, "md.mdp": DYNAMICS}, ("openmpi",), [POUR, COMPOSE]),
        Code("liggghts", None, None, ["liggghts", "-in", "in.pour", "-log", "none"], ["--library", "libliggghts"], {"in.pour": GRAINS}, ("openmpi",)),
        Code("meep", None, None, ["meep", "in.ctl"], ["--library", "libmeep"], {"in.ctl": WAVES}, ("openmpi",)),
        Code("tachyon", None, None, TACHYON, ["--library", "libtachyon"], {"scene.dat": spheres()}, ("openmpi",)),
        Code("phyml", arguments=PHYML, files={"nucleic": phylip()}, libraries=("openmpi",)),
        Code("mrbayes", arguments=["/usr/lib/mrbayes-mpi/mb-mpi", "in.nex"], files={"in.nex": nexus(2000)}, libraries=("openmpi",)),
    ]


def run(words, directory, environment):
    """What a command prints; fails with what it said last."""
    streams = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    done = subprocess.run(words, cwd=directory, env=environment, timeout=PATIENCE, check=False, **streams)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        raise RuntimeError(f"`{words[0]}` ended with status {done.returncode}: see above what it said")
    return done.stdout


def row(code, library, options, place, environment):
    directory = Path(tempfile.mkdtemp(dir=place))
    for name, text in code.files.items():
        (directory / name).write_text(text)
    for command in code.before:
        run(command, directory, environment)
    words = code.arguments
    if code.source:
        source = Path(__file__).resolve().parent.parent / code.source
        run([f"{code.compiler}.{library}", "-O2", "-g", "-w", "-o", "program", str(source), "-lm"], directory, environment)
        words = ["./program", *words]
    line = [*code.options, "--", f"mpirun.{library}", "-n", str(options.ranks), *words]
    pairs = ["validate", "--preset", "all", "-n", str(options.pairs), "-o", "pairs", "--format", "json"]
    table = json.loads(run([options.tare, *pairs, *line], directory, environment))
    errors = [" / ".join(percent(rank["error"][kind], "+") for rank in table["ranks"]) for kind in ("uncompensated", "local", "parallel")]
    seconds = max(rank["uninstrumented_s"] for rank in table["ranks"])
    return [f"{seconds:.3f} s", percent(table["dilation"]), *errors, percent(table["noise"]), str(table["pairs"])]


def percent(fraction, sign=""):
    """For people; too few pairs have no noise."""
    return "–" if fraction is None else f"{100 * fraction:{sign}.2g} %" if abs(fraction) < 0.1 else f"{100 * fraction:{sign}.0f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codes", nargs="*", help="names of the first column (default: all)")
    parser.add_argument("--tare", default="target/release/tare", help="the command (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=15, help="pairs of runs for each program (default: %(default)s)")
    parser.add_argument("--ranks", type=int, default=2, help="ranks of each program (default: %(default)s)")
    parser.add_argument("--mpi", choices=list(NAMES), help="one library only")
    options = parser.parse_args()
    options.tare = str(Path(options.tare).resolve())
    if not Path(options.tare).is_file():
        sys.exit(f"validation_table: {options.tare} is not there\n      try: make build, or --tare PATH")
    todo = codes()
    unknown = set(options.codes) - {code.name for code in todo}
    if unknown:
        sys.exit(f"validation_table: no program is called {', '.join(sorted(unknown))}\n      try: {', '.join(code.name for code in todo)}")
    failed = False
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory(prefix="tare-validation-") as place:
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
        # Ranks that share a processor have to let each other run.
        shared = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"} if options.ranks > os.cpu_count() else {}
        environment = os.environ | root | shared | {"TARE_CACHE": f"{place}/cache", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        for code in todo:
            for library in code.libraries:
                if (options.codes and code.name not in options.codes) or options.mpi not in (None, library):
                    continue
                try:
                    cells = row(code, library, options, place, environment)
                except (RuntimeError, OSError, KeyError, ValueError, subprocess.TimeoutExpired) as error:
                    cells, failed = [f"{type(error).__name__}: {error}", *[""] * 6], True
                print(f"| {code.name} | {NAMES[library]} | " + " | ".join(cells) + " |", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
