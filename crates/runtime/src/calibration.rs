//! The prior: what a pair of probes costs in a hot loop, measured once at the start of a process.

use crate::arena::Arena;
use crate::clock::fenced;
use crate::costs;
use crate::graph_file;
use crate::kit::Kit;
use crate::probe;
use crate::state::ThreadState;
use crate::sys::{self, SignalsBlocked};
use crate::thread;
use core::sync::atomic::Ordering::Relaxed;
use tare_format::graph::{ARENA, COST_UNIT};

/// Pairs of one round.
const PAIRS: u32 = 256;
/// Rounds, of which the middle one counts; the first ones are warm-up.
const ROUNDS: usize = 15;
const WARM_UP: usize = 4;

/// Measures the prior on an arena that is thrown away, and leaves the thread as it was: not set up.
pub(crate) fn calibrate() {
    let _signals = SignalsBlocked::new();
    let state = ThreadState::current();
    if state.is_ready() {
        return;
    }
    let Some(kit) = Kit::take() else { return };
    if let Some(arena) = graph_file::scratch_arena() {
        measure_on(state, arena, kit);
    }
    // It is this thread's again when it is set up.
    kit.leave();
}

fn measure_on(state: &'static ThreadState, arena: Arena, kit: &Kit) {
    if arena.allocate_first() {
        thread::set_up_on(state, arena, kit);
        let cost = middle_round();
        costs::set_hot_pair(cost);
        if let Some(header) = graph_file::header() {
            header.hot_pair_cost.store(cost, Relaxed);
        }
    }
    state.reset();
    // SAFETY: the state was the only one to refer to the arena, and does no more.
    unsafe { sys::unmap(arena.start(), ARENA as usize) };
}

fn middle_round() -> u64 {
    let mut rounds = [0; ROUNDS];
    for round in &mut rounds {
        let begin = fenced();
        probe::run_pairs(PAIRS);
        *round = fenced() - begin;
    }
    let Some(measured) = rounds.get_mut(WARM_UP..) else { return 0 };
    measured.sort_unstable();
    let middle = measured.get(measured.len() / 2).copied().unwrap_or(0);
    middle * COST_UNIT / u64::from(PAIRS)
}
