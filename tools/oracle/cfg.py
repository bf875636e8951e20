#!/usr/bin/env python3
"""Holds `tare inspect` against angr: blocks, edges and loops of every function.

    pip install angr      (9.2.213 wants 'bitstring<4.4' 'pycparser==3.0' beside it)
    tools/oracle/cfg.py [--tare target/release/tare] [--show 20] IMAGE...

angr's CFGFast finds functions and blocks by itself. Where the two mean different things by the same words, its graphs
are read by our words:
- a call, a system call or a limit to a block's length ends no block;
- a repeated string instruction is one instruction, no loop;
- a jump to where another unwind entry begins with an entry's frame, or out of all unwind entries, leaves the function;
  one to what a symbol calls `name.cold` does not;
- a branch past a `lock` prefix leads to its instruction;
- `MPI_Abort` does not return.

For functions that still differ, causes are looked for: wherever control goes on otherwise behind a block of angr's, its graph is
changed to ours, until both agree, and what the block ends in is the cause. Each cause is counted in every function that it is found
in, and those that it alone explains; what nothing of this explains is listed. Loops are compared by the number of strongly connected
components with a cycle, which are the outermost ones.
Functions that angr does not find at the same address are left out.
"""

import argparse
import bisect
import collections
import json
import logging
import re
import subprocess
import sys

NEVER_RETURN = {"MPI_Abort"}


def components(successors):
    """Strongly connected components that hold a cycle (Tarjan, without recursion)."""
    number, low, stack, on, found, last = {}, {}, [], set(), 0, 0
    for root in successors:
        if root in number:
            continue
        work = [(root, iter(successors[root]))]
        last += 1
        number[root] = low[root] = last
        stack.append(root)
        on.add(root)
        while work:
            node, ways = work[-1]
            for to in ways:
                if to not in number:
                    last += 1
                    number[to] = low[to] = last
                    stack.append(to)
                    on.add(to)
                    work.append((to, iter(successors[to])))
                    break
                if to in on:
                    low[node] = min(low[node], number[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    own = []
                    while True:
                        one = stack.pop()
                        on.discard(one)
                        own.append(one)
                        if one == node:
                            break
                    found += len(own) > 1 or node in successors[node]
    return found


class Frames:
    """Unwind entries: where they begin and end, and whether with the frame of an entry."""

    def __init__(self, image):
        from elftools.dwarf.callframe import FDE
        from elftools.elf.elffile import ELFFile

        self.entries = {}
        with open(image, "rb") as file:
            for one in ELFFile(file).get_dwarf_info().EH_CFI_entries():
                if isinstance(one, FDE):
                    rows = one.get_decoded().table
                    cfa = rows[0]["cfa"] if rows else None
                    at_entry = cfa is not None and cfa.expr is None and (cfa.reg, cfa.offset) == (7, 8)
                    start = one["initial_location"]
                    self.entries[start] = (start + one["address_range"], at_entry)
        self.starts = sorted(self.entries)

    def at(self, address):
        place = bisect.bisect_right(self.starts, address) - 1
        start = self.starts[place] if place >= 0 else None
        return start if start is not None and address < self.entries[start][0] else None

    def leaves(self, origin, target):
        """Whether a jump goes to another function."""
        other = self.at(target)
        if self.at(origin) in (None, other):
            return False
        return other is None or (other == target and self.entries[other][1])


Block = collections.namedtuple("Block", "size kind mnemonic operand")


def read(block):
    """A block of angr's; one that it takes to lie where there is no code is empty."""
    from angr.errors import SimEngineError

    try:
        last = block.capstone.insns[-1] if block.capstone.insns else None
        words = (last.mnemonic, last.op_str) if last else ("", "")
        return Block(block.size, block.vex.jumpkind, *words)
    except SimEngineError:
        return Block(0, "Ijk_NoDecode", "", "")


class Theirs:
    """What angr finds."""

    def __init__(self, image):
        import angr

        logging.disable(logging.CRITICAL)
        options = {"main_opts": {"base_addr": 0}} if is_position_independent(image) else {}
        project = angr.Project(image, auto_load_libs=False, load_options=options)
        graph = project.analyses.CFGFast(normalize=True, data_references=False, show_progressbar=False)
        self.frames = Frames(image)
        self.blocks, self.ways, self.functions, self.names = {}, collections.defaultdict(set), {}, {}
        for address, function in graph.kb.functions.items():
            self.names[address] = function.name
            if function.is_plt or function.is_simprocedure:
                continue
            for block in function.blocks:
                self.blocks[block.addr] = read(block)
            own = {node.addr: {to.addr for to in function.graph.successors(node)} for node in function.graph.nodes()}
            for block, ways in own.items():
                self.ways[block] |= ways
            if address in own:
                self.functions[address] = own

    def behind_lock(self, address):
        """The instruction whose `lock` prefix a branch to an address skips, if so."""
        front = address - 1
        is_prefix = self.block(front).kind == "Ijk_NoDecode" and self.block(front).size == 1
        return front if is_prefix and self.ways.get(front) == {address} else None

    def block(self, address):
        return self.blocks.get(address, Block(0, "", "", ""))

    def size(self, address):
        """Bytes of a block, with the instruction behind a `lock` prefix that a branch skips."""
        size = self.block(address).size
        return size + self.block(address + 1).size if self.behind_lock(address + 1) == address else size

    def is_call(self, address):
        return self.block(address).kind == "Ijk_Call"

    def is_repeated(self, address):
        mnemonic = self.block(address).mnemonic
        return mnemonic.startswith("rep") and "ret" not in mnemonic

    def jumps_indirectly(self, address):
        block = self.block(address)
        return block.mnemonic.endswith("jmp") and not block.operand.startswith("0x")

    def goes_straight_on(self, address):
        """Whether a block ends in something that ends none here."""
        block = self.block(address)
        at_limit = block.kind == "Ijk_Boring" and not block.mnemonic.startswith(("j", "loop", "notrack"))
        return block.kind == "Ijk_Call" or block.kind.startswith("Ijk_Sys") or self.is_repeated(address) or at_limit

    def cold_target(self, address):
        block = self.block(address)
        target = int(block.operand, 16) if block.mnemonic.startswith("j") and block.operand.startswith("0x") else None
        return {target} if self.names.get(target, "").endswith(".cold") else set()

    def ends_undecoded(self, address):
        block = self.block(address)
        ends = ("j", "ret", "loop", "call", "ud2", "hlt", "int", "syscall", "bnd", "notrack", "repz ret", "rep ret")
        if block.mnemonic.startswith("j") and block.mnemonic != "jmp":
            return len(self.ways.get(address, ())) == 1 and address + block.size not in self.blocks
        return not self.ways.get(address) and (block.kind == "Ijk_NoDecode" or not block.mnemonic.startswith(ends))

    def callee(self, address):
        operand = self.block(address).operand
        try:
            return self.names.get(int(operand, 16), operand)
        except ValueError:
            return operand

    def graph(self, entry, changes, entries=(), straight=frozenset()):
        """The graph of a function in our words; `changes` are other ways out of blocks, `entries` where else it is entered, and
        `straight` blocks that end in nothing."""
        ways, todo = {}, [entry, *entries]
        while todo:
            block = todo.pop()
            if block in ways:
                continue
            ways[block] = own = set(self.functions[entry].get(block, self.ways.get(block, ())))
            if self.behind_lock(block + 1) is not None:
                own = ways[block] = set(self.ways[block + 1])
            for to in [to for to in own if self.behind_lock(to) not in (None, block)]:
                own.discard(to)
                own.add(to - 1)
            if self.is_repeated(block):
                own.discard(block)
            for repeated in [to for to in own if self.is_repeated(to)]:
                own -= self.ways[repeated] - {repeated}
            own -= {to for to in own if to != entry and self.frames.leaves(block, to)}
            own |= self.cold_target(block)
            if self.is_call(block) and self.callee(block) in NEVER_RETURN:
                own.clear()
            if block in changes:
                ways[block] = own = set(changes[block])
            todo.extend(own)
        return Graph({entry, *entries}, ways, lambda block: block in straight or self.goes_straight_on(block))


class Graph:
    """Blocks and edges; blocks that only a call or the like parts are one."""

    def __init__(self, entries, ways, goes_straight_on):
        before = collections.Counter(to for own in ways.values() for to in own)
        self.ways, self.joined = ways, {}
        for block, own in ways.items():
            to = next(iter(own), None)
            if len(own) == 1 and to not in entries and before[to] == 1 and goes_straight_on(block):
                self.joined[to] = block
        self.blocks = {block for block in ways if block not in self.joined}
        self.edges = {(self.first(block), to) for block, own in ways.items() for to in own if self.joined.get(to) != block}

    def first(self, block):
        while block in self.joined:
            block = self.joined[block]
        return block

    def members(self, first):
        return [block for block in self.ways if self.first(block) == first]

    def size(self):
        return (len(self.blocks), len(self.edges), components(self.ways))


def is_position_independent(image):
    return "DYN" in subprocess.run(["readelf", "-h", image], stdout=subprocess.PIPE, text=True, check=True).stdout


def ours(tare, image):
    document = subprocess.run([tare, "inspect", "--format", "json", "--loops", image], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(document)["functions"]


class Ours:
    """One of our functions: blocks with their ends, edges, and where it is entered."""

    def __init__(self, tare, image, address):
        command = [tare, "inspect", image, "--cfg", hex(address)]
        text = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        nodes = {found[1]: found for found in re.finditer(r'^  (b\d+) \[label="(0x[0-9a-f]+).*tooltip="\S+?–(0x[0-9a-f]+)"', text, re.M)}
        starts = {name: int(found[2], 16) for name, found in nodes.items()}
        self.ends = {starts[name]: int(found[3], 16) for name, found in nodes.items()}
        self.entries = [starts[name] for name, found in nodes.items() if "penwidth" in found[0]]
        self.edges = {(starts[found[1]], starts[found[2]]) for found in re.finditer(r"^  (b\d+) -> (b\d+)", text, re.M)}
        self.starts, self.image, self.steps = sorted(self.ends), image, {}

    def begins(self, address):
        """Whether an instruction begins at an address: what stands behind one that is not decoded is read out of step."""
        start = self.around(address)
        if start is None or start in (address, address - 1):
            return True
        if start not in self.steps:
            command = ["objdump", "-d", "--no-show-raw-insn", f"--start-address={start}", f"--stop-address={self.ends[start]}", self.image]
            text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            self.steps[start] = {int(found, 16) for found in re.findall(r"^ *([0-9a-f]+):\t", text, re.M)}
        return address in self.steps[start] or address - 1 in self.steps[start]

    def around(self, address):
        """The block that holds an address."""
        place = bisect.bisect_right(self.starts, address) - 1
        start = self.starts[place] if place >= 0 else None
        return start if start is not None and address < self.ends[start] else None

    def ways(self, address, size):
        """Where control goes behind code of so many bytes (to its block's end, if none are known)."""
        start = self.around(address)
        if start is None:
            return set()
        if size and address + size < self.ends[start]:
            return {address + size}
        return {to for origin, to in self.edges if origin == start}


def explain(theirs, entry, ours):
    """Causes by which angr's graph of a function differs from ours, and whether they are all.

    angr's ways out of its blocks are changed to ours where they differ, each for a cause, until the graphs agree."""
    changes, straight, causes, is_all, has_changed = {}, set(), set(), True, True
    while has_changed:
        has_changed = False
        graph = theirs.graph(entry, changes, ours.entries, straight)
        for block in sorted(graph.ways.keys() - changes.keys()):
            ways = ours.ways(block, theirs.size(block))
            if ways != graph.ways[block]:
                cause = cause_of(theirs, block, graph.ways[block], ways, ours)
                causes.update([cause] if cause else [])
                is_all &= cause != "?"
                changes[block], has_changed = ways, True
                if ways and ours.around(next(iter(ways))) == ours.around(block) and next(iter(ways)) not in ours.ends:
                    straight.add(block)
    if len(ours.entries) > 1:
        causes.add("entered in its middle as well, which angr does not know")
    return causes, is_all and bool(causes) and (graph.blocks, graph.edges) == (set(ours.ends), ours.edges)


def cause_of(theirs, block, there, here, ours):
    """Why control goes elsewhere behind a block; nothing where that follows from another cause; `?` if it cannot be told."""
    own = theirs.block(block)
    start = ours.around(block)
    if block in theirs.blocks and (theirs.ends_undecoded(block) or not ours.begins(block)):
        return "instructions that angr does not decode"
    if block not in theirs.blocks or start is None:
        return None
    if block + own.size > ours.ends[start]:
        runs_on = not here and ours.around(ours.ends[start]) is None
        return "code that runs on into the next function, which is an exit here" if runs_on else None
    if theirs.jumps_indirectly(block):
        if not there:
            return "an indirect jump that angr does not resolve"
        if not here:
            return "an indirect tail call here, which angr resolves to a place inside"
        if all(theirs.names.get(to, "").endswith(".cold") for to in here - there) and there <= here:
            return "a cold part that only a jump table leads to"
        return "a jump table that ends later here" if there <= here else "a jump table that ends earlier here"
    if theirs.is_call(block) and theirs.callee(block) == "0":
        return "a call of a weak function that is not there"
    if theirs.is_call(block):
        where = "here" if there and not here else "there"
        return f"{theirs.callee(block)} never returns {where}"
    if own.kind.startswith("Ijk_Sys"):
        return "a system call that never returns there"
    if own.mnemonic == "xbegin":
        return "a hardware transaction"
    if there < here:
        return "a branch that angr does not follow"
    if here < there and all(ours.around(to) is None for to in there - here):
        return "a branch into the middle of another function, which is a tail call here"
    return "?"


def compare(tare, image, show):
    found = Theirs(image)
    both, same, apart, causes, alone = 0, [0, 0, 0], [], collections.Counter(), collections.Counter()
    for function in ours(tare, image):
        entry = function["address"]
        if entry not in found.functions:
            continue
        both += 1
        outermost = sum(1 for one in function["loop_list"] if one["depth"] == 1)
        own, other = (function["blocks"], function["edges"], outermost), found.graph(entry, {}).size()
        same = [count + (one == two) for count, one, two in zip(same, own, other)]
        if own != other:
            reasons, is_all = explain(found, entry, Ours(tare, image, entry))
            causes.update(reasons if is_all else ())
            alone.update(reasons if is_all and len(reasons) == 1 else ())
            apart.append((function, own, other, reasons, is_all))
    shares = ", ".join(f"{what} agree in {100 * count / both:.2f} %" for what, count in zip(("blocks", "edges", "outermost loops"), same))
    explained = sum(is_all for *_, is_all in apart)
    print(f"{image}: {both} functions in both; {shares}; {len(apart)} differ, of which {explained} are explained:")
    for cause, count in causes.most_common():
        print(f"  {count:4} {cause} ({alone[cause]} by that alone)")
    for function, own, other, reasons, is_all in [one for one in apart if not one[4]][:show]:
        print(f"  {function['address']:#x} {function['name']}: blocks, edges, outermost loops {own} against {other}; {', '.join(sorted(reasons))}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tare", default="target/release/tare", help="the command (%(default)s)")
    arguments.add_argument("--show", type=int, default=20, help="how many functions are listed that no cause explains (%(default)s)")
    arguments.add_argument("images", nargs="+", metavar="IMAGE")
    given = arguments.parse_args()
    for image in given.images:
        compare(given.tare, image, given.show)


if __name__ == "__main__":
    sys.exit(main())
