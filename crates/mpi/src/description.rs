//! The description of the functions of MPI: a pseudo image whose regions are the rows of the table.

use crate::table::FUNCTIONS;
use tare_format::description::{Description, Region, RegionKind};

/// The description; region number = index in the table + 1.
pub(crate) fn describe() -> Description {
    let region = |name: &str| Region {
        kind: RegionKind::Mpi,
        flags: 0,
        name: name.to_string(),
        file: String::new(),
        line: 0,
        last_line: 0,
        address: 0,
        size: 0,
        ..Region::default()
    };
    Description {
        identity: identity(),
        path: "MPI".to_string(),
        build_id: String::new(),
        regions: FUNCTIONS.iter().map(|function| region(function.name)).collect(),
    }
}

/// Equal for equal tables.
fn identity() -> [u8; 16] {
    let hash = |seed: u64| {
        let bytes = FUNCTIONS.iter().flat_map(|function| function.name.bytes().chain([0]));
        bytes.fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    };
    let mut identity = [0; 16];
    identity[..8].copy_from_slice(&hash(0xcbf2_9ce4_8422_2325).to_le_bytes());
    identity[8..].copy_from_slice(&hash(0x6c62_272e_07bb_0142).to_le_bytes());
    identity
}
