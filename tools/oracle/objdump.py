#!/usr/bin/env python3
"""Holds `tare inspect` against objdump: instructions and call sites of every function.

    tools/oracle/objdump.py [--tare target/release/tare] [--show 20] IMAGE...

objdump disassembles the sections linearly and knows nothing of our functions; for each function the instructions and the
calls that it prints between the ends of the function's parts are counted. Ends with 1 if fewer than 99.5 % of an image's
functions agree.
"""

import argparse
import bisect
import json
import re
import subprocess
import sys

LEAST = 0.995
LINE = re.compile(rb"^\s*([0-9a-f]+):\t(.*)$")
CALL = re.compile(rb"\bl?callq?\b")


def listing(image):
    """Addresses of all instructions, and of all calls, in order."""
    command = ["objdump", "-d", "-w", "--no-show-raw-insn", image]
    instructions, calls = [], []
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            found = LINE.match(line)
            if not found:
                continue
            address = int(found[1], 16)
            instructions.append(address)
            # What stands behind the mnemonic and its prefixes may name a symbol with "call" in it.
            if CALL.search(found[2].split(b" " * 2)[0].split(b"<")[0].split(b"#")[0]):
                calls.append(address)
    instructions.sort()
    calls.sort()
    return instructions, calls


def count(addresses, parts):
    ends = ((part["address"], part["address"] + part["size"]) for part in parts)
    return sum(bisect.bisect_left(addresses, end) - bisect.bisect_left(addresses, start) for start, end in ends)


def compare(tare, image, show):
    document = subprocess.run([tare, "inspect", "--format", "json", image], stdout=subprocess.PIPE, check=True).stdout
    functions = json.loads(document)["functions"]
    instructions, calls = listing(image)
    differing = []
    for function in functions:
        theirs = (count(instructions, function["parts"]), count(calls, function["parts"]))
        ours = (function["instructions"], function["call_sites"])
        if ours != theirs:
            differing.append((function, ours, theirs))
    share = 1 - len(differing) / max(1, len(functions))
    print(f"{image}: {len(functions)} functions, {len(differing)} differ, {100 * share:.3f} % agree")
    for function, ours, theirs in differing[:show]:
        print(f"  {function['address']:#x} {function['name']}: instructions {ours[0]} against {theirs[0]}, calls {ours[1]} against {theirs[1]}")
    sys.stdout.flush()
    return share


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tare", default="target/release/tare", help="the command (%(default)s)")
    arguments.add_argument("--show", type=int, default=20, help="how many differing functions are listed (%(default)s)")
    arguments.add_argument("images", nargs="+", metavar="IMAGE")
    given = arguments.parse_args()
    shares = [compare(given.tare, image, given.show) for image in given.images]
    return 0 if min(shares) >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
