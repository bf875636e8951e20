#!/usr/bin/env python3
"""What a pair of entry and exit costs under several tools, side by side, over two bare readings of the clock.

One program (tools/pair_cost/peers.c) is compiled for each tool as that asks for; rounds of all tools take turns, and the shortest round of
each counts. A tool that is not installed is left out by name.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parent / "pair_cost" / "peers.c"
SHAPES = ["one", "depth", "siblings"]
CALLS = "20000"


def tools(tare, folder):
    """Name, compiler and flags, command in front of the program, environment; what it needs."""
    xray = {"XRAY_OPTIONS": "patch_premain=true xray_mode=xray-fdr xray_logfile_base=" + folder + "/xray-"}
    return [
        ("nothing", ["gcc"], [], {}),
        ("two rdtsc", ["gcc", "-DCLOCK"], [], {}),
        ("tareweight, all on", ["gcc", "-g"], [tare, "profile", "--preset", "all", "--exact", "-o", "RUN", "--"], {}),
        ("tareweight", ["gcc", "-g"], [tare, "profile", "--preset", "all", "-o", "RUN", "--"], {}),
        ("tareweight, 2 %", ["gcc", "-g"], [tare, "profile", "--preset", "all", "--budget", "2%", "-o", "RUN", "--"], {}),
        ("gprof", ["gcc", "-pg"], [], {}),
        ("uftrace", ["gcc", "-pg"], ["uftrace", "record", "--no-pager", "-b", "64m", "-d", "RUN"], {}),
        ("XRay, FDR", ["clang", "-fxray-instrument"], [], xray),
    ]


def round_of(command, environment, folder):
    """Nanoseconds a call, as the program says; `None` where it fails."""
    run = Path(folder) / "run"
    shutil.rmtree(run, ignore_errors=True)
    words = [str(run) if word == "RUN" else word for word in command]
    done = subprocess.run(words, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120)
    for trace in Path(folder).glob("xray-*"):
        trace.unlink()
    numbers = [line for line in done.stdout.split() if line.replace(".", "", 1).isdigit()]
    if done.returncode != 0 or not numbers:
        print(f"{words[0]}: {done.stderr[-300:]}", file=sys.stderr)
        return None
    return float(numbers[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tare", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ready = []
        for name, compiler, front, environment in tools(str(Path(arguments.tare).resolve()), folder):
            missing = [word for word in [compiler[0], *front[:1]] if not shutil.which(word)]
            if missing:
                print(f"{name} is left out: {missing[0]} is not installed", file=sys.stderr)
                continue
            program = f"{folder}/{name.replace(' ', '-').replace(',', '').replace('%', '')}"
            if subprocess.run([*compiler, "-O2", "-o", program, SOURCE]).returncode != 0:
                print(f"{name} is left out: {compiler[0]} cannot compile for it", file=sys.stderr)
                continue
            ready.append((name, [*front, program], environment))
        shortest = {}
        for _ in range(arguments.rounds):
            for name, command, environment in ready:
                for shape in SHAPES:
                    took = round_of([*command, shape, CALLS], environment, folder)
                    if took is not None:
                        shortest[name, shape] = min(took, shortest.get((name, shape), took))
    print(f"{'ns a call (over two rdtsc)':28}" + "".join(f"{shape:>20}" for shape in SHAPES))
    for name, _, _ in ready:
        cells = []
        for shape in SHAPES:
            took, plain, floor = shortest.get((name, shape)), shortest["nothing", shape], shortest["two rdtsc", shape]
            cells.append(f"{'—':>20}" if took is None else f"{took:11.1f} {f'({(took - plain) / (floor - plain):.2f})':>8}")
        print(f"{name:28}" + "".join(cells))


if __name__ == "__main__":
    main()
