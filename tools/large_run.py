#!/usr/bin/env python3
"""Writes the directory of a run that no machine at hand could have: by default 100,000 regions on 10,000 ranks.

What stands in it is made up, and laid out as `format` draws it (graph.rs, description.rs): every rank steps through the same
solver, waits in it for the slow one of each group of ranks, exchanges messages with four neighbours, and calls some functions that
few others call. 64 ranks are a node. With it anybody can see how every view and verb carries size:

    tools/large_run.py /tmp/large && tare report /tmp/large && tare view /tmp/large
"""

import argparse
import json
import os
import random
import struct

HEADER_AREA, NODES, COLD_NODES, PEERS = 64 << 10, 8 << 20, 16 << 20, 28 << 20
IMAGE_TABLE = 4096
TICKS_PER_S = 2_000_000_000
PROGRAM, FUNCTION, MPI = 0, 1, 2
LIFE_S = 60.0

SHARED = [
    # name, parent (index into this list, -1: the root), calls, exclusive seconds
    ("main", -1, 1, 0.02),
    ("solver::step(mesh&)", 0, 1_000, 0.4),
    ("solver::assemble(mesh const&, matrix&)", 1, 1_000, 18.0),
    ("solver::smooth(std::vector<double, std::allocator<double>>&, int)", 1, 4_000, 9.0),
    ("mesh::exchange()", 1, 5_000, 0.3),
    ("solver::residual(matrix const&)", 1, 1_000, 3.5),
    ("element::stiffness(double const*, double*)", 2, 4_000_000, 12.0),
    ("io::write_checkpoint(std::string const&)", 0, 10, 1.1),
]
OPERATIONS = [("MPI_Init", 0), ("MPI_Finalize", 0), ("MPI_Waitall", 4), ("MPI_Allreduce", 5)]
OWN = 24


def record(size, **fields):
    """`size` bytes with numbers at their places: pN=(format, value)."""
    content = bytearray(size)
    for place, (form, value) in fields.items():
        struct.pack_into("<" + form, content, int(place[1:]), value)
    return bytes(content)


def description(identity, path, regions):
    """A description: (kind, name, file, line, address, size) for each region."""
    texts, records = bytearray(), bytearray()

    def put(text):
        start = len(texts)
        texts.extend(text.encode())
        return start, len(texts) - start

    path_at = put(path)
    texts.append(0)
    build = put(identity.hex())
    files = {}
    for kind, name, file, line, address, size in regions:
        at = put(name)
        if file not in files:
            files[file] = put(file)
        records += struct.pack("<BBHIIIIIQQIIIIII", kind, 0, 0, line, *at, *files[file], address, size, line + 20 if line else 0, 0, 0, 0, 0, 0)
    head = b"TAREDESC" + struct.pack("<II16sQQIIII", 2, len(regions), identity, 64 + len(records), len(texts), *path_at, *build)
    return head + bytes(records) + bytes(texts)


class Rank:
    """The graph of one rank: nodes, what they waited, and their partners."""

    def __init__(self, number, ranks, regions):
        self.number, self.ranks, self.regions = number, ranks, regions
        self.nodes, self.cold, self.peers = [], [], []

    def node(self, region, parent, calls, seconds, waited=0.0):
        self.nodes.append(record(64, p0=("Q", calls), p8=("q", int(seconds * TICKS_PER_S)), p32=("I", region), p36=("I", parent), p48=("I", 0xFFFFFFFF)))
        ticks = int(waited * TICKS_PER_S)
        self.cold.append([0, ticks, 0, 0])
        return len(self.nodes) - 1

    def partner(self, node, rank, messages, size, waited):
        ticks = int(waited * TICKS_PER_S)
        first = self.cold[node][0]
        self.peers.append(record(128, p0=("I", rank), p4=("I", first), p8=("Q", messages), p16=("Q", messages), p24=("Q", 2 * messages * size),
                                 p32=("Q", messages * 4000), p40=("Q", ticks), p56=("Q", ticks), p76=("I", messages), p108=("I", messages)))
        self.cold[node][0] = len(self.peers)
        self.cold[node][2] += 2 * messages
        self.cold[node][3] += 2 * messages * size

    def fill(self, shared, operations):
        chance = random.Random(self.number)
        slow = 1.25 if self.number % 64 == 3 else 1.0 + 0.02 * chance.random()
        self.node(0, 0, 1, 0.05)
        places = []
        worked = 0.0
        for index, (_, parent, calls, seconds) in enumerate(SHARED):
            took = seconds * (slow if index in (2, 6) else 1.0 + 0.01 * chance.random())
            worked += took
            places.append(self.node(shared + index, 0 if parent < 0 else places[parent], calls, took))
        for number in range(OWN):
            region = len(SHARED) + (self.number * OWN // 2 + number) % (self.regions - len(SHARED))
            took = 1e-4 * (1 + 50 * chance.random() ** 8)
            worked += took
            self.node(shared + region, places[(2, 3, 5)[number % 3]], 10 + chance.randrange(9973), took)
        waiting = max(LIFE_S - 5.0 - worked, 0.0)
        for index, (name, parent) in enumerate(OPERATIONS):
            if name == "MPI_Waitall":
                at = self.node(operations + index, places[parent], 5_000, 0.8 * waiting + 0.4, 0.8 * waiting)
                for step in (1, -1, 16, -16):
                    self.partner(at, (self.number + step) % self.ranks, 5_000, 8192, 0.2 * waiting)
            elif name == "MPI_Allreduce":
                self.node(operations + index, places[parent], 1_000, 0.2 * waiting + 0.1, 0.2 * waiting)
            else:
                self.node(operations + index, places[parent], 1, 2.0)

    def write(self, path, identities, counts):
        begin, end = 1_000, 1_000 + int(LIFE_S * TICKS_PER_S)
        origin = 1_790_000_000_000_000_000
        header = bytearray(record(
            512, p8=("I", 3), p12=("I", 2), p16=("I", 1000 + self.number), p20=("I", 999), p24=("I", 1), p28=("I", len(identities)),
            p32=("I", self.number + 1), p36=("I", self.ranks), p40=("I", 1), p44=("I", 2), p48=("Q", begin), p56=("Q", origin),
            p64=("Q", end), p72=("Q", origin + int(LIFE_S * 1e9)), p80=("Q", begin + TICKS_PER_S), p88=("Q", end - TICKS_PER_S),
            p112=("Q", 40 * 256), p120=("Q", 100), p128=("Q", 100 * 6000), p136=("Q", 100 * 6000 * 6000)))
        header[0:8] = b"TAREGRPH"
        host, program = b"node%04d" % (self.number // 64), b"/home/user/solver"
        header[256:256 + len(host)] = host
        header[320:320 + len(program)] = program
        with open(path, "wb") as file:
            def put(place, content):
                file.seek(place)
                file.write(content)

            put(0, header)
            base = 0
            for index, (identity, count) in enumerate(zip(identities, counts)):
                put(IMAGE_TABLE + 64 * index, struct.pack("<IIQ16s32x", base, count, 0, identity))
                base += count
            put(HEADER_AREA, record(264, p4=("I", 1000 + self.number), p8=("I", len(self.nodes)), p16=("I", len(self.peers)), p20=("I", 2),
                                    p24=("Q", begin), p32=("Q", end), p208=("Q", 0), p224=("q", -(1 << 63))))
            put(HEADER_AREA + NODES, b"".join(self.nodes))
            put(HEADER_AREA + COLD_NODES, b"".join(
                record(64, p4=("I", peer), p16=("Q", ticks), p24=("Q", ticks), p40=("Q", size), p48=("Q", messages))
                for peer, ticks, messages, size in self.cold))
            put(HEADER_AREA + PEERS, b"".join(self.peers) or b"\0")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", help="of the run; made anew")
    parser.add_argument("--regions", type=int, default=100_000, help="functions of the program (default: %(default)s)")
    parser.add_argument("--ranks", type=int, default=10_000, help="ranks (default: %(default)s)")
    options = parser.parse_args()
    if options.regions <= len(SHARED):
        parser.error(f"--regions must be above {len(SHARED)}")
    os.mkdir(options.directory, 0o700)
    program, mpi = bytes([7] * 16), bytes([9] * 16)
    functions = [(FUNCTION, name, "/home/user/solver.cpp", 40 + 30 * index, 0x1000 + 64 * index, 64) for index, (name, *_) in enumerate(SHARED)]
    functions += [
        (FUNCTION, f"space_{index % 97}::own_{index}", f"/home/user/part_{index % 211}.cpp", 1 + index % 2000, 0x1000 + 64 * index, 64)
        for index in range(len(SHARED), options.regions)
    ]
    operations = [(MPI, name, "", 0, 0, 0) for name, _ in OPERATIONS]
    for identity, path, regions in [(program, "/home/user/solver", functions), (mpi, "MPI", operations)]:
        with open(os.path.join(options.directory, identity.hex() + ".regions"), "wb") as file:
            file.write(description(identity, path, regions))
    for number in range(options.ranks):
        rank = Rank(number, options.ranks, options.regions)
        rank.fill(1, options.regions + 1)
        name = "node%04d-%d.graph" % (number // 64, 1000 + number)
        rank.write(os.path.join(options.directory, name), [program, mpi], [options.regions, len(operations)])
    with open(os.path.join(options.directory, "run.json"), "w") as file:
        json.dump({
            "schema": 1, "id": "0-0", "command": ["mpirun", "-n", str(options.ranks), "./solver"], "started": 1_790_000_000, "wall_s": LIFE_S + 1,
            "exit": {"status": 0}, "programs": [3], "model": "virtual",
            "images": [{"path": "/home/user/solver", "found": options.regions, "selected": options.regions, "instrumented": options.regions, "refusals": []}],
        }, file)


if __name__ == "__main__":
    main()
