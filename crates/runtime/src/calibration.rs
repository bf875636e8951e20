//! What probes cost in a hot loop, measured once at the start of a process: a pair that is on, and the same beside work behind
//! which the processor hides a part of it, which are the prior, what counts calls without the clock, and the parts of the slow path and of
//! wrappers that their own counts do not see.

use crate::arena::Arena;
use crate::aside;
use crate::clock::fenced;
use crate::costs;
use crate::graph_file;
use crate::hook;
use crate::kit::Kit;
use crate::live::LiveNode;
use crate::local::{Local, NEVER};
use crate::metrics;
use crate::probe;
use crate::slow;
use crate::state::ThreadState;
use crate::sys::{self, SignalsBlocked};
use crate::thread;
use crate::wrapper;
use core::hint::black_box;
use core::sync::atomic::Ordering::Relaxed;
use tare_delay::cost::HotCounting;
use tare_format::graph::{ARENA, COST_UNIT, Mode};

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

/// Measures what a pair of hooks costs, for a function that `names` knows. The thread is as it was afterwards.
pub(crate) fn calibrate_hooks(function: u64) {
    on_scratch(|_| {
        let cost = middle_round(|pairs| hook::run_pairs(function, pairs));
        costs::set_hot_hook(cost);
        if let Some(header) = graph_file::header() {
            header.hot_hook_cost.store(word(cost), Relaxed);
        }
    });
}

/// Measures what calls of a wrapper cost besides what it books itself, outside of its region and in it; `run_calls` makes so many,
/// that do next to nothing, and `run_real` as many of the real function. The thread is as it was afterwards.
pub(crate) fn calibrate_wrappers(run_calls: impl Fn(u32), run_real: impl Fn(u32)) {
    on_scratch(|local| {
        let caller = || {
            local.attribute(local.owner(), fenced());
            local.owner().exclusive.load(Relaxed).cast_unsigned()
        };
        let whole = || fenced() - local.arena.location().tool_ticks.load(Relaxed);
        let during = |value: &dyn Fn() -> u64, run: &dyn Fn(u32)| {
            middle_of(each_round(|| {
                let before = value();
                run(PAIRS);
                value() - before
            })) / u64::from(PAIRS)
        };
        let outside = during(&caller, &run_calls);
        let unseen = during(&whole, &run_calls).saturating_sub(during(&whole, &run_real));
        wrapper::set_unseen(outside, unseen.saturating_sub(outside));
    });
}

/// What each of so many calls takes longer than the function behind it, in cost units.
pub(crate) fn difference(run_calls: impl Fn(u32), run_real: impl Fn(u32)) -> u64 {
    middle_round(run_calls).saturating_sub(middle_round(run_real))
}

/// Runs something with the thread set up on an arena that is thrown away; the thread is as it was afterwards.
fn on_scratch(run: impl FnOnce(Local)) {
    let _signals = SignalsBlocked::new();
    let state = ThreadState::current();
    let Some(kit) = Kit::take() else { return };
    let before = state.words();
    state.reset();
    if let Some(arena) = graph_file::scratch_arena() {
        if arena.allocate_first() {
            run(thread::set_up_on(state, arena, kit));
        }
        // SAFETY: the state is the only one to refer to the arena, and is about to be what it was.
        unsafe { sys::unmap(arena.start(), ARENA as usize) };
    }
    state.restore(&before);
    kit.leave();
}

fn measure_on(state: &'static ThreadState, arena: Arena, kit: &Kit) {
    if arena.allocate_first() {
        probe::choose_for_calibration();
        let local = thread::set_up_on(state, arena, kit);
        let values = metrics::are_wanted().then(graph_file::scratch_arena).flatten();
        if let Some(values) = values {
            metrics::begin_on(state, values, 0);
        }
        // The path is new now, and takes no batches.
        probe::run_pairs(1);
        let node = arena.node(1);
        node.flags.store(0, Relaxed);
        node.until.store(NEVER, Relaxed);
        let plain = middle_round(probe::run_plain);
        let pair = middle_round(probe::run_pairs).saturating_sub(plain);
        let beside = |with_probes| middle_round(|times| probe::run_work(times, with_probes));
        let least = beside(true).saturating_sub(beside(false)).min(pair);
        costs::set_hot_pair(pair, least);
        if let Some(values) = values {
            metrics::note_costs(state, PAIRS.into(), || probe::run_pairs(PAIRS));
            metrics::end(state);
            // SAFETY: the state was the only one to refer to the arena, and does no more.
            unsafe { sys::unmap(values.start(), ARENA as usize) };
        }
        slow::set_tail(tail_of_slow_path(local, pair));
        let clockless = at_two_depths(|| hot_counting(local, node, [Mode::Clockless, Mode::ClocklessTwice], probe::run_pairs));
        let counted = at_two_depths(|| hot_counting(local, node, [Mode::OffCounted, Mode::OffTwice], probe::run_counting));
        costs::set_hot_counting(clockless, counted);
        let diverted = hot_diverted(local, node);
        costs::set_hot_diverted(diverted);
        if let Some(header) = graph_file::header() {
            header.hot_pair_cost.store(pair, Relaxed);
            header.least_pair_cost.store(word(least), Relaxed);
            header.hot_clockless.store(word(clockless.once), Relaxed);
            header.hot_clockless_again.store(word(clockless.again), Relaxed);
            header.hot_counted.store(word(counted.once), Relaxed);
            header.hot_counted_again.store(word(counted.again), Relaxed);
            header.hot_diverted.store(word(diverted), Relaxed);
        }
    }
    state.reset();
    // SAFETY: the state was the only one to refer to the arena, and does no more.
    unsafe { sys::unmap(arena.start(), ARENA as usize) };
}

/// The lower of two measurements, at depths of the stack that are half a page apart: where the loop's return addresses lie as far from the
/// begin of a page as the counters that it writes, the processor takes the one for the other, and counting for twice as dear.
fn at_two_depths(measure: impl Fn() -> HotCounting) -> HotCounting {
    #[inline(never)]
    fn deeper(measure: impl Fn() -> HotCounting) -> HotCounting {
        let room = [0_u8; 2048];
        black_box(&room);
        let cost = measure();
        black_box(&room);
        cost
    }
    let costs = [measure(), deeper(&measure)];
    if costs[0].once + costs[0].again <= costs[1].once + costs[1].again { costs[0] } else { costs[1] }
}

/// What counting costs in a hot loop: once, in the first mode, and what twice adds, in the second. Their rounds take turns, so that both
/// are of the same processor: it may be half as fast for some of them, where its other half is busy.
fn hot_counting(local: Local, node: &'static LiveNode, modes: [Mode; 2], run: fn(u32)) -> HotCounting {
    let round = |mode| {
        aside::open(local, node, mode, i16::MAX.unsigned_abs());
        let ticks = round_of(run);
        aside::close(local, node);
        ticks
    };
    let mut rounds = [(0, 0); ROUNDS];
    rounds.fill_with(|| {
        let plain = round_of(probe::run_plain);
        let [once, twice] = modes.map(round);
        (once.saturating_sub(plain), twice.saturating_sub(once))
    });
    let middle = |of: fn(&(u64, u64)) -> u64| in_cost_units(middle_of(rounds.each_ref().map(of)));
    HotCounting { once: middle(|round| round.0), again: middle(|round| round.1) }
}

/// What a pair that is diverted takes longer than one that is on, in a hot loop. Rounds take turns, as above.
fn hot_diverted(local: Local, node: &LiveNode) -> u64 {
    let rounds = each_round(|| {
        let on = round_of(probe::run_pairs);
        aside::divert(local, node);
        let diverted = round_of(probe::run_pairs);
        aside::close(local, node);
        diverted.saturating_sub(on)
    });
    in_cost_units(middle_of(rounds))
}

/// A cost as the header holds it.
fn word(cost: u64) -> u32 {
    u32::try_from(cost).unwrap_or(u32::MAX)
}

/// Cost of a pair in the middle round, in cost units.
fn middle_round(run_pairs: impl Fn(u32)) -> u64 {
    in_cost_units(middle_of(each_round(|| round_of(&run_pairs))))
}

/// Ticks of a round.
fn round_of(run_pairs: impl Fn(u32)) -> u64 {
    let begin = fenced();
    run_pairs(PAIRS);
    fenced() - begin
}

/// What a pair of a round of so many ticks costs.
fn in_cost_units(ticks: u64) -> u64 {
    ticks * COST_UNIT / u64::from(PAIRS)
}

/// Ticks of a slow path that its own count does not see: on the way in before its first clock reading, and on the way
/// back after its last.
fn tail_of_slow_path(local: Local, pair: u64) -> u64 {
    let node = local.arena.node(1);
    let tool_ticks = || local.arena.location().tool_ticks.load(Relaxed);
    let middle = middle_of(each_round(|| {
        let counted = tool_ticks();
        // A path of many calls would be one for the throttle, and take the region of the same number in the program with it.
        node.calls.store(0, Relaxed);
        node.until.store(0, Relaxed);
        let begin = fenced();
        probe::run_pairs(1);
        (fenced() - begin).saturating_sub(tool_ticks() - counted)
    }));
    middle.saturating_sub(pair / COST_UNIT)
}

/// What each round takes.
fn each_round(round: impl FnMut() -> u64) -> [u64; ROUNDS] {
    let mut rounds = [0; ROUNDS];
    rounds.fill_with(round);
    rounds
}

/// The middle of the rounds after the first ones.
fn middle_of(mut rounds: [u64; ROUNDS]) -> u64 {
    let Some(measured) = rounds.get_mut(WARM_UP..) else { return 0 };
    measured.sort_unstable();
    measured.get(measured.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::at_two_depths;
    use crate::hook::stack_pointer_here;
    use std::cell::RefCell;
    use std::vec::Vec;
    use tare_delay::cost::HotCounting;

    /// One start in 40 had its counters where the loop's return addresses took them for themselves.
    #[test]
    fn counting_is_measured_where_return_addresses_are_far_from_counters_within_a_page() {
        let places = RefCell::new(Vec::new());
        let lower = at_two_depths(|| {
            let mut places = places.borrow_mut();
            places.push(stack_pointer_here());
            HotCounting { once: 1 + places.len() as u64 % 2, again: 1 }
        });
        let places = places.into_inner();
        assert_eq!((places.len(), lower), (2, HotCounting { once: 1, again: 1 }));
        let apart = (places[0] - places[1]) % 4096;
        assert!((1024..3072).contains(&apart), "{apart}");
    }
}
