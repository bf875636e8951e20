#!/usr/bin/env python3
"""Holds the functions that `tare inspect` finds in a stripped copy of an image against the image's symbols.

    tools/oracle/twins.py [--tare target/release/tare] [--show 20] IMAGE...

IMAGE has symbols (.symtab). Every start of an unwind entry that a function symbol names must be the entry of a function, with
symbols and without; where only `name.cold` names it, it must be a part of `name`. Needs strip and readelf. Ends with 1 if fewer
than 99.9 % of an image's functions are found, or more than 0.1 % too many.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

LEAST = 0.999
COLD = re.compile(r"\.cold(\.\d+)?$")
ENTRY = re.compile(r"FDE .*pc=([0-9a-f]+)\.\.")
# With any of these a debug file's symbols would be found for the copy.
LINKS = [".note.gnu.build-id", ".gnu_debuglink", ".gnu_debugaltlink", ".gnu_debugdata"]


def output(command):
    # readelf ends with 1 where it has something to warn of.
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def functions(tare, image):
    return json.loads(output([tare, "inspect", "--format", "json", image]))["functions"]


def symbols(image):
    """Names of the functions at each address."""
    names = {}
    for line in output(["readelf", "-sW", image]).splitlines():
        fields = line.split()
        if len(fields) > 7 and fields[3] in ("FUNC", "IFUNC") and fields[6] != "UND":
            names.setdefault(int(fields[1], 16), set()).add(fields[7].split("@")[0])
    return names


def compare(tare, image, show):
    names = symbols(image)
    starts = {int(start, 16) for start in ENTRY.findall(output(["readelf", "--debug-dump=frames", "-W", image]))} & names.keys()
    parts = {start for start in starts if all(COLD.search(name) for name in names[start])}
    with tempfile.TemporaryDirectory() as directory:
        bare = os.path.join(directory, "bare")
        removals = [word for section in LINKS for word in ("-R", section)]
        subprocess.run(["strip", *removals, "-o", bare, image], check=True)
        found = functions(tare, bare)
    entries = {function["address"] for function in found}
    owners = {part["address"]: names.get(function["address"], set()) for function in found for part in function["parts"]}
    whole = {function["address"] for function in functions(tare, image)}
    lost, hidden, taken = starts - parts - entries, starts - parts - whole, parts & entries
    strange = {part for part in parts - entries if not {COLD.sub("", name) for name in names[part]} & owners.get(part, set())}
    count = len(starts) - len(parts)
    print(
        f"{image}: {count} functions, {len(lost)} not found without symbols, {len(hidden)} with; "
        f"{len(parts)} cold parts, {len(taken)} taken for functions, {len(strange)} given to another function"
    )
    for kind, addresses in (("lost", lost), ("taken for a function", taken), ("of another function", strange)):
        for address in sorted(addresses)[:show]:
            print(f"  {address:#x} {min(names[address])}: {kind}")
    sys.stdout.flush()
    return max(len(lost), len(hidden), len(taken) + len(strange)) <= (1 - LEAST) * count


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tare", default="target/release/tare", help="the command (%(default)s)")
    arguments.add_argument("--show", type=int, default=20, help="how many of each kind are listed (%(default)s)")
    arguments.add_argument("images", nargs="+", metavar="IMAGE")
    given = arguments.parse_args()
    return 0 if all([compare(given.tare, image, given.show) for image in given.images]) else 1


if __name__ == "__main__":
    sys.exit(main())
