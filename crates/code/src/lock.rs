//! Branches that leave out the `lock` prefix of an instruction, as code does that may run in one thread alone: they are said to go
//! to the instruction.

use crate::decode::{AddressSet, RawFlow};
use crate::record::FlowRecord;

/// The `lock` prefix.
const LOCK: u8 = 0xf0;

/// Whether a branch within the bytes that start at an address seems to leave out a `lock` prefix.
#[inline]
pub(crate) fn is_left_out(bytes: &[u8], start: u64, flow: RawFlow) -> bool {
    let (RawFlow::Jump(target) | RawFlow::Branch(target)) = flow else { return false };
    let before = target.checked_sub(start).and_then(|at| usize::try_from(at).ok()?.checked_sub(1));
    before.and_then(|before| bytes.get(before)) == Some(&LOCK)
}

/// Lets those of some branches go to the instruction that do leave out its prefix; answers where they went, sorted.
pub(crate) fn straighten(flows: &mut [FlowRecord], starts: &AddressSet, branches: &[usize]) -> Vec<u64> {
    let mut behind = Vec::new();
    for &index in branches {
        let Some(target) = flows.get_mut(index).and_then(FlowRecord::branch_target_mut) else { continue };
        if !starts.contains(*target) && starts.contains(*target - 1) {
            behind.push(*target);
            *target -= 1;
        }
    }
    behind.sort_unstable();
    behind.dedup();
    behind
}
