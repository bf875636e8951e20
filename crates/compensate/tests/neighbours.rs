//! Costs that were measured in place, where probes of other paths stand close.

mod support;

use support::profile_of;
use tare_compensate::{Mode, RunCosts, compensate};
use tare_profile::{BatchSums, Batches, COST_UNIT, Node, Profile, RegionIndex};

/// Calls of each path.
const CALLS: u64 = 10_000;
/// What a pair costs in place, and what a call takes without.
const PAIR: f64 = 50.0;
const BODY: u64 = 60;
/// Of what pairs cost one by one, they cost so much less together at the most.
const LESS: f64 = 0.8;
/// Ticks in which a processor works ahead: four pairs in a hot loop.
const AHEAD: i64 = 4 * 90;

/// Batches that all took the same time.
fn batches() -> Option<Box<Batches>> {
    let of = |ticks: u64| BatchSums {
        batches: 12,
        calls: 12_000,
        ticks: 12_000 * ticks,
        longest: 1_000 * ticks,
        sample: BatchSums::NONE.sample.map(|_| (ticks * COST_UNIT) as u32),
    };
    let (on, off) = (of(BODY + PAIR as u64), of(BODY));
    Some(Box::new(Batches {
        on,
        off,
        off_twice: off,
        diverted: BatchSums::NONE,
        off_cost: 0.0,
        first_calls: 0,
        first_ticks: 0,
        company: None,
        together: 0,
    }))
}

fn node(region: usize, parent: Option<usize>, on_calls: u64, exclusive: i64) -> Node {
    Node { region: RegionIndex(region), parent, on_calls, exclusive, batches: batches().filter(|_| on_calls == CALLS), ..Node::default() }
}

/// By how much more the whole program may have taken than it is told.
fn above(profile: &Profile) -> f64 {
    let total = compensate(profile, Mode::Local).locations[0].nodes[0].inclusive;
    total.high - total.value
}

/// A caller that calls two functions in turn, with some ticks of its own, and what that adds to the interval by their neighbourhood.
fn two_in_turn(own: i64) -> f64 {
    let callees = |second: u64| vec![node(2, Some(1), CALLS, 1_000_000), node(3, Some(1), second, second as i64 * 100)];
    let of = |second: u64| profile_of([vec![node(0, None, 1, 0), node(1, Some(0), 1, own)], callees(second)].concat());
    above(&of(CALLS)) - above(&of(0))
}

#[test]
fn pairs_that_stand_close_together_may_cost_less_than_one_by_one() {
    let stretches = 2 * CALLS + 1;
    let most = 2.0 * CALLS as f64 * PAIR * LESS * (1.0 - CALLS as f64 / stretches as f64);
    for (own, part) in [(0, 1.0), (AHEAD * stretches as i64, 1.0), (10 * AHEAD * stretches as i64, 0.1)] {
        let added = two_in_turn(own);
        assert!((added - part * most).abs() < 2e-2 * most, "{own}: {added} for {}", part * most);
    }
}

#[test]
fn nearness_goes_through_callers_that_do_nothing_else() {
    // Each of two callers calls a function of its own: four paths in one row of probes.
    let caller = |region| node(region, Some(1), CALLS, 1_000_000);
    let callers = [node(0, None, 1, 0), node(1, Some(0), 1, 1_000_000), caller(2), caller(3)];
    let callees = [node(4, Some(2), CALLS, 1_000_000), node(5, Some(3), CALLS, 1_000_000)];
    let four = above(&profile_of([&callers[..], &callees[..]].concat()));
    let most = 4.0 * CALLS as f64 * PAIR * LESS * 0.75;
    assert!((four - most).abs() < 1e-2 * most, "{four} for {most}");
}

#[test]
fn with_a_budget_the_neighbours_are_quiet_while_a_path_is_measured() {
    let mut profile =
        profile_of(vec![node(0, None, 1, 0), node(1, Some(0), 1, 0), node(2, Some(1), CALLS, 1_000_000), node(3, Some(1), CALLS, 1_000_000)]);
    let without = above(&profile);
    profile.processes[0].budget = Some(0.02);
    assert!(above(&profile) < 0.05 * without);
}

/// What a callee takes while its probe is off stands in its caller's time, and says nothing about where the caller's own probe works.
#[test]
fn quiet_callees_do_not_move_their_callers_cost() {
    let inner = |quiet: u64| {
        let mut callee = node(2, Some(1), CALLS, 1_000_000);
        callee.off_calls = quiet;
        let caller = node(1, Some(0), CALLS, 70 * CALLS as i64 + 100 * quiet as i64);
        let profile = profile_of(vec![node(0, None, 1, 0), caller, callee]);
        RunCosts::of(&profile).pairs(&profile).next().map(|pair| pair.inner_s)
    };
    assert_eq!(inner(0), inner(3_000));
    assert!(inner(0).is_some_and(|inner| inner < PAIR), "{:?}", inner(0));
}
