#!/usr/bin/env python3
"""Holds `tare inspect` against angr: blocks, edges and loops of every function.

    pip install angr
    tools/oracle/cfg.py [--tare target/release/tare] [--show 20] IMAGE...

angr's CFGFast finds functions and blocks by itself. A block there ends at a call and behind a certain length, here it
does not: blocks that only such an end parts are one. Loops are compared by the number of strongly connected components with a
cycle, which are the outermost ones. Functions that angr does not find at the same address are left out.
"""

import argparse
import json
import logging
import subprocess
import sys


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


def merged(entry, successors, calls):
    """Joins blocks behind calls to the one in front; returns blocks, edges and outermost loops."""
    reached, todo = set(), [entry]
    while todo:
        block = todo.pop()
        if block not in reached:
            reached.add(block)
            todo.extend(successors.get(block, ()))
    edges = {block: set(successors.get(block, ())) for block in reached}
    before = {block: 0 for block in reached}
    for ways in edges.values():
        for to in ways:
            before[to] += 1
    after_call = (next(iter(ways)) for block, ways in edges.items() if block in calls and len(ways) == 1)
    joined = sum(1 for to in after_call if before[to] == 1 and to != entry)
    count = sum(len(ways) for ways in edges.values())
    return len(edges) - joined, count - joined, components(edges)


def goes_straight_on(block):
    """Whether it ends at a call, or only because there is a limit to its length."""
    last = block.capstone.insns[-1].mnemonic if block.capstone.insns else ""
    return block.vex.jumpkind == "Ijk_Call" or (block.vex.jumpkind == "Ijk_Boring" and not last.startswith(("j", "loop", "rep")))


def theirs(image):
    import angr

    logging.disable(logging.CRITICAL)
    project = angr.Project(image, auto_load_libs=False, load_options={"main_opts": {"base_addr": 0}} if pie(image) else {})
    graph = project.analyses.CFGFast(normalize=True, data_references=False, show_progressbar=False)
    functions = {}
    for address, function in graph.kb.functions.items():
        if function.is_plt or function.is_simprocedure:
            continue
        successors = {node.addr: {to.addr for to in function.graph.successors(node)} for node in function.graph.nodes()}
        calls = {block.addr for block in function.blocks if goes_straight_on(block)}
        if address in successors:
            functions[address] = merged(address, successors, calls)
    return functions


def pie(image):
    return "DYN" in subprocess.run(["readelf", "-h", image], stdout=subprocess.PIPE, text=True, check=True).stdout


def ours(tare, image):
    document = subprocess.run([tare, "inspect", "--format", "json", "--loops", image], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(document)["functions"]


def compare(tare, image, show):
    found = theirs(image)
    same, both, apart = [0, 0, 0], 0, []
    for function in ours(tare, image):
        other = found.get(function["address"])
        if other is None:
            continue
        both += 1
        outermost = sum(1 for one in function["loop_list"] if one["depth"] == 1)
        own = (function["blocks"], function["edges"], outermost)
        same = [count + (one == two) for count, one, two in zip(same, own, other)]
        if own != other:
            apart.append((function, own, other))
    shares = ", ".join(f"{what} agree in {100 * count / both:.2f} %" for what, count in zip(("blocks", "edges", "outermost loops"), same))
    print(f"{image}: {both} functions in both; {shares}")
    for function, own, other in apart[:show]:
        print(f"  {function['address']:#x} {function['name']}: blocks, edges, outermost loops {own} against {other}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tare", default="target/release/tare", help="the command (%(default)s)")
    arguments.add_argument("--show", type=int, default=20, help="how many differing functions are listed (%(default)s)")
    arguments.add_argument("images", nargs="+", metavar="IMAGE")
    given = arguments.parse_args()
    for image in given.images:
        compare(given.tare, image, given.show)


if __name__ == "__main__":
    sys.exit(main())
