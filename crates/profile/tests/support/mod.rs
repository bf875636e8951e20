//! Writes graph files as a process would, field by field at the offsets of the format.

use tare_format::description::{Description, FLAG_LEAF, Region, RegionKind};
use tare_format::graph::{BATCHES, COLD_NODES, HEADER_AREA, IMAGE_TABLE, MAGIC, NODES, PEERS, PeerRecord, VERSION};

/// The bytes of a graph file under construction.
pub(crate) struct GraphFile(pub(crate) Vec<u8>);

impl GraphFile {
    /// A file of the present version with one arena, which ends behind what is written last.
    pub(crate) fn new() -> Self {
        let mut file = Self(Vec::new());
        file.bytes(0, &MAGIC).u32(8, VERSION).u32(24, 1).u32(28, 2);
        file.u64(48, 1_000).u64(56, 5_000_000_000).u64(64, 2_000_001_000).u64(72, 6_000_000_000);
        file.bytes(256, b"n01").bytes(320, b"/usr/bin/app");
        file
    }

    pub(crate) fn bytes(&mut self, at: u64, bytes: &[u8]) -> &mut Self {
        let at = at as usize;
        if self.0.len() < at + bytes.len() {
            self.0.resize(at + bytes.len(), 0);
        }
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    pub(crate) fn u32(&mut self, at: u64, value: u32) -> &mut Self {
        self.bytes(at, &value.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, at: u64, value: u64) -> &mut Self {
        self.bytes(at, &value.to_le_bytes())
    }

    /// An image whose regions have the ids from `base + 1` on.
    pub(crate) fn image(&mut self, index: u64, base: u32, regions: u32, identity: [u8; 16]) -> &mut Self {
        let at = IMAGE_TABLE + 64 * index;
        self.u32(at, base).u32(at + 4, regions).bytes(at + 16, &identity)
    }

    pub(crate) fn location(&mut self, field: u64, value: u64) -> &mut Self {
        self.u64(HEADER_AREA + field, value)
    }

    pub(crate) fn counts(&mut self, nodes: u32, batches: u32, peers: u32) -> &mut Self {
        self.u32(HEADER_AREA + 8, nodes).u32(HEADER_AREA + 12, batches).u32(HEADER_AREA + 16, peers)
    }

    /// A node: region, parent, calls, exclusive ticks.
    pub(crate) fn node(&mut self, index: u64, region: u32, parent: u32, calls: u64, exclusive: i64) -> &mut Self {
        let at = HEADER_AREA + NODES + 64 * index;
        self.u64(at, calls).bytes(at + 8, &exclusive.to_le_bytes()).u32(at + 32, region).u32(at + 36, parent);
        self.u64(at + 56, 0)
    }

    /// A field of a node.
    pub(crate) fn node_field(&mut self, index: u64, field: u64, bytes: &[u8]) -> &mut Self {
        self.bytes(HEADER_AREA + NODES + 64 * index + field, bytes)
    }

    /// A field of the cold half of a node.
    pub(crate) fn cold(&mut self, index: u64, field: u64, bytes: &[u8]) -> &mut Self {
        self.bytes(HEADER_AREA + COLD_NODES + 64 * index + field, bytes)
    }

    pub(crate) fn batch_node(&mut self, index: u64, node: u32) -> &mut Self {
        self.u32(HEADER_AREA + BATCHES + 1024 * index, node).u64(HEADER_AREA + BATCHES + 1024 * index + 64, 7)
    }

    pub(crate) fn peer(&mut self, index: u64, rank: u32, next: u32, bytes: u64) -> &mut Self {
        self.peer_at(PeerRecord::SIZE as u64 * index, rank, next, bytes).sizes(index, 0, 0)
    }

    /// The same at a place in the table.
    pub(crate) fn peer_at(&mut self, place: u64, rank: u32, next: u32, bytes: u64) -> &mut Self {
        let at = HEADER_AREA + PEERS + place;
        self.u32(at, rank).u32(at + 4, next).u64(at + 24, bytes).u64(at + 56, 0)
    }

    /// Messages of the smallest sizes sent to a partner, and those of the largest ones received from it.
    pub(crate) fn sizes(&mut self, peer: u64, sent: u32, received: u32) -> &mut Self {
        let at = HEADER_AREA + PEERS + PeerRecord::SIZE as u64 * peer;
        self.u32(at + 64, sent).u32(at + 124, received)
    }
}

fn region(kind: RegionKind, name: &str, address: u64) -> Region {
    let flags = if name == "leaf" { FLAG_LEAF } else { 0 };
    Region { kind, flags, name: name.into(), file: "app.f90".into(), line: 12, last_line: 20, address, size: 32, ..Region::default() }
}

pub(crate) const APP: [u8; 16] = [7; 16];
pub(crate) const MPI: [u8; 16] = [9; 16];

/// The descriptions of a program and of the MPI functions.
pub(crate) fn descriptions() -> Vec<Vec<u8>> {
    let app = vec![
        region(RegionKind::Function, "MAIN__", 0x1000),
        region(RegionKind::Function, "__work_MOD_busy", 0x2000),
        region(RegionKind::Function, "leaf", 0x3000),
    ];
    let mpi = vec![region(RegionKind::Mpi, "MPI_Recv", 0)];
    [(APP, "/usr/bin/app", app), (MPI, "MPI", mpi)]
        .map(|(identity, path, regions)| Description { identity, path: path.into(), build_id: "ab12".into(), regions }.to_bytes())
        .to_vec()
}

/// Rank 1 of 2: program → main → (busy → leaf, MPI_Recv).
pub(crate) fn sample() -> GraphFile {
    let mut file = GraphFile::new();
    file.image(0, 0, 3, APP).image(1, 100, 1, MPI);
    file.u32(12, 2).u32(16, 4711).u32(32, 2).u32(36, 2).u32(40, 1).u32(44, 2);
    file.u64(80, 1_000_000).u64(88, 1_900_000_000).u64(96, 5).u64(104, 77);
    file.counts(5, 1, 2).location(40, 99).location(48, 256 * 1000);
    file.node(0, 0, 0, 0, 500).node(1, 1, 0, 1, 1_000).node(2, 2, 1, 10, 20_000);
    file.node(3, 3, 2, 9_000, 300_000).node(4, 101, 1, 4, 80_000);
    file.node_field(3, 40, &3072_u64.to_le_bytes()).node_field(3, 52, &24_i16.to_le_bytes()).node_field(3, 54, &[1]);
    file.cold(3, 0, &1_u32.to_le_bytes()).batch_node(0, 3);
    file.cold(4, 4, &1_u32.to_le_bytes()).cold(4, 8, &300_u64.to_le_bytes()).cold(4, 32, &(-40_i64).to_le_bytes());
    file.peer(0, 0, 2, 64).peer(1, 3, 0, 8);
    file
}
