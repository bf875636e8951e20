//! The operations, which are the regions of a pseudo image.

use std::sync::OnceLock;
use tare_format::description::{Description, Region, RegionKind};
use tare_format::ids::RegionId;
use tare_runtime::process::{IdBase, register_pseudo_image};

/// An operation: its place among the names, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Operation {
    Join = 1,
    Condition = 2,
    Barrier = 3,
    Parallel = 4,
    TeamBarrier = 5,
}

const NAMES: [&str; 5] = ["pthread_join", "pthread_cond_wait", "pthread_barrier_wait", "omp parallel", "omp barrier"];
/// Changes with the names.
const IDENTITY: [u8; 16] = *b"tare threads 001";

/// The region of an operation; `None` where nothing is to be recorded.
pub(crate) fn region(operation: Operation) -> Option<RegionId> {
    static BASE: OnceLock<Option<IdBase>> = OnceLock::new();
    let base = BASE.get_or_init(|| {
        let region = |name: &&str| Region { kind: RegionKind::Threads, name: (*name).to_string(), ..Region::default() };
        let regions = NAMES.iter().map(region).collect();
        let description = Description { identity: IDENTITY, path: "threads".to_string(), build_id: String::new(), regions };
        register_pseudo_image(&description.to_bytes(), NAMES.len() as u32, IDENTITY)
    });
    base.map(|base| base.region(operation as u32))
}
