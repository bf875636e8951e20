#!/usr/bin/env python3
"""Counts what `tare inspect` leaves out: unwind entries at whose start no function and no part of one begins, and
functions with an indirect jump that is not resolved.

    pip install pyelftools
    tools/oracle/starts.py [--tare target/release/tare] IMAGE...

Unwind entries are read by pyelftools, those of the linker's own code left out; indirect jumps are found by objdump. Ends
with 1 if less than 99.9 % of the entries begin something, or 1 % of the functions with an indirect jump have one
that is not resolved.
"""

import argparse
import bisect
import json
import re
import subprocess
import sys

LEAST_FOUND = 0.999
MOST_UNRESOLVED = 0.01
LINKERS = (".plt", ".iplt", ".init", ".fini")
JUMP = re.compile(r"^\s*([0-9a-f]+):\t(?:bnd |notrack )*jmp +\*", re.M)


def unwind_entries(image):
    from elftools.dwarf.callframe import FDE
    from elftools.elf.elffile import ELFFile

    with open(image, "rb") as file:
        elf = ELFFile(file)
        own = [(one["sh_addr"], one["sh_addr"] + one["sh_size"]) for one in elf.iter_sections() if one.name.startswith(LINKERS) and one["sh_flags"] & 4]
        starts = {one["initial_location"] for one in elf.get_dwarf_info().EH_CFI_entries() if isinstance(one, FDE)}
        return [start for start in starts if not any(first <= start < end for first, end in own)]


def indirect_jumps(image):
    listing = subprocess.run(["objdump", "-d", "-w", "--no-show-raw-insn", image], stdout=subprocess.PIPE, text=True, check=True).stdout
    return sorted(int(found[1], 16) for found in JUMP.finditer(listing))


def count(tare, image):
    document = subprocess.run([tare, "inspect", "--format", "json", image], stdout=subprocess.PIPE, check=True).stdout
    functions = json.loads(document)["functions"]
    begun = {part["address"] for function in functions for part in function["parts"]}
    entries, jumps = unwind_entries(image), indirect_jumps(image)
    holds = lambda part: bisect.bisect_left(jumps, part["address"]) < bisect.bisect_left(jumps, part["address"] + part["size"])
    jumping = [function for function in functions if any(map(holds, function["parts"]))]
    unresolved = [function for function in jumping if function["unresolved_jumps"]]
    missing = [start for start in entries if start not in begun]
    print(
        f"{image}: {len(entries) - len(missing)} of {len(entries)} unwind entries begin a function or a part; "
        f"{len(unresolved)} of {len(jumping)} functions with an indirect jump have one that is not resolved"
    )
    for start in missing[:20]:
        print(f"  {start:#x}")
    for function in unresolved[:20]:
        print(f"  {function['address']:#x} {function['name']}: {function['unresolved_jumps']} not resolved")
    sys.stdout.flush()
    return 1 - len(missing) / max(1, len(entries)) >= LEAST_FOUND and len(unresolved) <= MOST_UNRESOLVED * len(jumping)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tare", default="target/release/tare", help="the command (%(default)s)")
    arguments.add_argument("images", nargs="+", metavar="IMAGE")
    given = arguments.parse_args()
    return 0 if all([count(given.tare, image) for image in given.images]) else 1


if __name__ == "__main__":
    sys.exit(main())
