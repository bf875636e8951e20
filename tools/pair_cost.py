#!/usr/bin/env python3
"""How close the cost of a pair of probes, as it is found in place, comes to the truth, kernel by kernel.

The kernels of tools/pair_cost/kernels.c run unmeasured and measured in turn. The truth is what the unmeasured runs took, in the
median; the error is what the compensated time of a measured run differs from it, in core cycles a call. A run is covered where its
interval holds the truth.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parent / "pair_cost" / "kernels.c"


def kernels(program, cwd):
    """What each kernel took unmeasured, in seconds, with the rate of the core and the calls."""
    lines = subprocess.run([program], cwd=cwd, check=True, capture_output=True, text=True, timeout=120).stdout.split("\n")
    return {name: (float(seconds), float(rate), int(calls)) for name, seconds, rate, calls in map(str.split, filter(None, lines))}


def measured(tare, program, options, cwd):
    """Measured and compensated seconds of what calls each kernel, with the interval."""
    run = Path(cwd) / "run"
    subprocess.run(["rm", "-rf", run], check=True)
    words = [tare, "profile", "--preset", "all", *options, "-o", run, "--", program]
    subprocess.run(words, cwd=cwd, check=True, capture_output=True, timeout=300)
    report = json.loads(subprocess.run([tare, "report", run, "--format", "json"], check=True, capture_output=True, timeout=120).stdout)
    times = {}
    for node in report["nodes"]:
        name = report["regions"][node["region"]]["name"]
        if name.startswith("run_"):
            inclusive = node["inclusive"]
            times[name[4:]] = tuple(inclusive[what] for what in ("measured_s", "compensated_s", "low_s", "high_s"))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tare", required=True)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("options", nargs="*", help="of `tare profile`, after --")
    arguments = parser.parse_args()
    tare = str(Path(arguments.tare).resolve())
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "kernels")
        subprocess.run(["gcc", "-O2", "-g", "-o", program, SOURCE, "-lm"], check=True)
        measured(tare, program, arguments.options, folder)
        plain, runs = [], []
        for _ in range(arguments.runs):
            plain.append(kernels(program, folder))
            runs.append(measured(tare, program, arguments.options, folder))
    print(f"{'cycles a call':14} {'plain':>8} {'noise':>7} {'added':>8} {'error':>8} {'90 % of errors':>16} {'half-width':>11} {'within 1.5':>11} {'covered':>8}")
    for name in plain[0]:
        truths = sorted(one[name][0] for one in plain)
        truth, rate, calls = statistics.median(truths), statistics.median(one[name][1] for one in plain), plain[0][name][2]
        unit = rate / calls
        noise = (truths[int(0.95 * len(truths))] - truths[int(0.05 * len(truths))]) / 2 * unit
        values = [one[name] for one in runs]
        errors = sorted((value[1] - truth) * unit for value in values)
        added = statistics.median((value[0] - truth) * unit for value in values)
        width = statistics.median((value[3] - value[2]) / 2 * unit for value in values)
        near = sum(abs(error) <= 1.5 for error in errors) / len(errors)
        covered = sum(value[2] - noise / unit <= truth <= value[3] + noise / unit for value in values) / len(values)
        low, high = errors[int(0.05 * len(errors))], errors[min(len(errors) - 1, int(0.95 * len(errors)))]
        row = f"{name:14} {truth * unit:8.1f} {noise:7.2f} {added:8.1f} {statistics.median(errors):8.2f} {low:7.2f} … {high:6.2f} {width:11.2f}"
        print(f"{row} {near:11.0%} {covered:8.0%}")


if __name__ == "__main__":
    main()
