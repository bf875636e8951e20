#!/usr/bin/env python3
"""Runs the test suite of MPICH (`test/mpi` of its sources) with and without the interposer, and says where the two differ.

The suite is configured and built first, for the library that is asked for, in a directory of its own:

    apt-get source mpich
    mkdir suite && cd suite
    FFLAGS=-fallow-argument-mismatch FCFLAGS=-fallow-argument-mismatch ../mpich-4.0.2/test/mpi/configure \\
        MPICC=mpicc.mpich MPIFC=mpif90.mpich MPIF77=mpif77.mpich MPIEXEC=mpirun.mpich --disable-cxx
    make -k

Each line of a directory's `testlist` whose program was built is run plainly and by `tare run`. Both have to end in the same way: with the
same status and the same number of lines ` No Errors`. A program that fails or hangs both times counts as the same. The
status is 1 where any differs. Where ranks share processors, Open MPI lets them take turns; MPICH does with --preload and this library:

    cc -O2 -shared -fPIC -o libyield.so tools/mpich_yield.c

With --state, what is done is noted in a file, and a second run goes on from there.
"""

import argparse
import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DIRECTORIES = "attr basic coll comm datatype errhan errors group impls info init io mpi_t part pt2pt rma spawn threads topo f77 f90 f08".split()

# A program that hangs only in one of the two is given so many times the limit.
AGAIN = 4


class Test:
    """A line of a `testlist`."""

    def __init__(self, place, words):
        self.place, self.name, self.ranks = place, words[0], int(words[1]) if len(words) > 1 and words[1].isdigit() else 2
        settings = [word.split("=", 1) for word in words[2:] if "=" in word]
        self.arguments = [value for key, value in settings if key == "arg"]
        self.variables = [value for key, value in settings if key == "env"]
        self.limit = max([int(value) for key, value in settings if key == "timeLimit"], default=0)

    def title(self, build):
        return " ".join([str((self.place / self.name).relative_to(build)), str(self.ranks), *self.variables, *self.arguments])


def tests(build, source, directories):
    """All tests of these directories, in the order of their lists. Lists that are made by configure stand in the build."""
    for directory in directories:
        places = {path.relative_to(root).parent for root in (build, source) for path in (root / directory).glob("**/testlist")}
        for place in sorted(places):
            listing = build / place / "testlist"
            text = (listing if listing.is_file() else source / place / "testlist").read_text()
            for line in text.splitlines():
                words = line.split("#")[0].split()
                if words and os.access(build / place / words[0], os.X_OK) and (build / place / words[0]).is_file():
                    yield Test(build / place, words)


def run(command, test, environment, limit):
    """How a command ended: status (or `hangs`), lines ` No Errors`, seconds."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        child = subprocess.Popen(command, cwd=test.place, env=environment, start_new_session=True, **streams)
        try:
            status = child.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGTERM)
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
            status = "hangs"
        output.seek(0)
        text = output.read()
    return {"status": status, "no_errors": text.count(" No Errors"), "seconds": round(time.monotonic() - began, 2), "output": text[-2000:]}


def run_measured(tare, command, test, environment, limit):
    with tempfile.TemporaryDirectory(prefix="tare-suite-") as place:
        ended = run([str(tare), "run", "-o", f"{place}/run", "--", *command], test, environment, limit)
        ended["recorded"] = Path(f"{place}/run/run.json").is_file()
        shutil.rmtree(f"{place}/run", ignore_errors=True)
    return ended


def is_same(plain, measured):
    fails = [run["status"] != 0 for run in (plain, measured)]
    return all(fails) or (not any(fails) and plain["no_errors"] == measured["no_errors"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="*", help="directories of the suite (default: all that it looks at)")
    parser.add_argument("--tare", default="target/release/tare", help="the command (default: %(default)s)")
    parser.add_argument("--build", required=True, help="where the suite was built")
    parser.add_argument("--source", required=True, help="where its sources are (mpich-4.0.2/test/mpi)")
    parser.add_argument("--mpirun", default="mpirun.mpich", help="what starts the programs (default: %(default)s)")
    parser.add_argument("--limit", type=float, help="seconds after which a program hangs (default: 60, or what the suite says where that is more)")
    parser.add_argument("--minutes", type=float, default=1e9, help="stops after so many")
    parser.add_argument("--ranks", type=int, default=1 << 30, help="leaves out tests of more ranks")
    parser.add_argument("--preload", help="a library that is loaded into every program, also without the interposer")
    parser.add_argument("--state", help="file with what is done so far")
    options = parser.parse_args()
    build, source, tare = (Path(path).resolve() for path in (options.build, options.source, options.tare))
    if not tare.is_file():
        sys.exit(f"mpi_suite: {tare} is not there\n      try: make build, or --tare PATH")
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    environment |= {"OMPI_MCA_mpi_yield_when_idle": "1"}
    environment |= {"LD_PRELOAD": str(Path(options.preload).resolve())} if options.preload else {}
    state = Path(options.state) if options.state else None
    lines = [json.loads(line) for line in state.read_text().splitlines()] if state and state.is_file() else []
    done = {line["test"]: line for line in lines}
    end = time.monotonic() + 60 * options.minutes
    for test in tests(build, source, options.directories or DIRECTORIES):
        title = test.title(build)
        if title in done or test.ranks > options.ranks:
            continue
        if time.monotonic() > end:
            break
        line = [options.mpirun, "-n", str(test.ranks), f"./{test.name}", *test.arguments]
        own = environment | dict(variable.split("=", 1) for variable in test.variables if "=" in variable)
        limit = options.limit or max(60, test.limit)
        plain = run(line, test, own, limit)
        measured = run_measured(tare, line, test, own, limit)
        # Whoever only just took too long has another chance.
        if measured["status"] == "hangs" != plain["status"]:
            measured = run_measured(tare, line, test, own, AGAIN * limit)
        elif plain["status"] == "hangs" != measured["status"]:
            plain = run(line, test, own, AGAIN * limit)
        done[title] = {"test": title, "same": is_same(plain, measured), "plain": plain, "measured": measured}
        if done[title]["same"] and plain["status"] == 0:
            plain.pop("output"), measured.pop("output")
        if state:
            with state.open("a") as file:
                file.write(json.dumps(done[title]) + "\n")
        if not done[title]["same"]:
            ends = [f"{run['status']} with {run['no_errors']} ` No Errors`" for run in (plain, measured)]
            print(f"{title}: {ends[0]}, measured {ends[1]}", flush=True)
    counts = collections.Counter()
    for title, line in done.items():
        kind = "differ" if not line["same"] else "pass" if line["plain"]["status"] == 0 else "fail both times"
        counts[title.split("/")[0], kind] += 1
    for directory in sorted({key[0] for key in counts}):
        print(f"{directory:10}", ", ".join(f"{counts[directory, kind]} {kind}" for kind in ("pass", "fail both times", "differ")))
    sys.exit(1 if any(not line["same"] for line in done.values()) else 0)


if __name__ == "__main__":
    main()
