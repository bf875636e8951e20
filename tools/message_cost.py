#!/usr/bin/env python3
"""What the interposer adds to a small message, and to other short operations of MPI.

The kernels of tools/message_cost/messages.c run on two ranks, unmeasured and under `tare run` in turn, with each MPI that is here.
Each figure is the median over the runs of what an operation took in the middle of 101 blocks of 200; what is added is
the median of the differences between neighbouring runs, beside half of the range that holds 90 % of those.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parent / "message_cost" / "messages.c"
LIBRARIES = {"openmpi": "Open MPI", "mpich": "MPICH"}
# Open MPI refuses to run as root unless it is told twice.
ENVIRONMENT = os.environ | ({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {})


def taken(words, cwd):
    """Nanoseconds of each kernel."""
    done = subprocess.run(words, cwd=cwd, env=ENVIRONMENT, check=True, capture_output=True, text=True, timeout=120)
    return {name: float(ns) for name, ns in (line.split("\t") for line in done.stdout.splitlines())}


def compare(tare, library, runs, cwd):
    """What the kernels took unmeasured and measured, in turn."""
    subprocess.run([f"mpicc.{library}", "-O2", "-w", "-o", "messages", str(SOURCE)], cwd=cwd, check=True)
    line = [f"mpirun.{library}", "-n", "2", "./messages"]
    pairs = []
    for _ in range(runs):
        plain = taken(line, cwd)
        pairs.append((plain, taken([tare, "run", "-o", "run", "--", *line], cwd)))
        shutil.rmtree(Path(cwd) / "run")
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tare", default="target/release/tare", help="the command (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=9, help="pairs of runs with each library (default: %(default)s)")
    options = parser.parse_args()
    tare = str(Path(options.tare).resolve())
    print("| operation | MPI | unmeasured | measured | added | ± |\n|---|---|---|---|---|---|")
    for library in (library for library in LIBRARIES if shutil.which(f"mpicc.{library}")):
        with tempfile.TemporaryDirectory() as folder:
            pairs = compare(tare, library, options.runs, folder)
        for name in pairs[0][0]:
            plain, measured = (statistics.median(pair[of][name] for pair in pairs) for of in (0, 1))
            added = sorted(pair[1][name] - pair[0][name] for pair in pairs)
            spread = (added[int(0.95 * (len(added) - 1))] - added[round(0.05 * (len(added) - 1))]) / 2
            cells = [f"{value:.0f} ns" for value in (plain, measured, statistics.median(added), spread)]
            print(f"| {name} | {LIBRARIES[library]} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
