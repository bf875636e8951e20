//! Costs that were measured in place, where probes of other paths stand close.

mod support;

use support::profile_of;
use tare_compensate::{Mode, RunCosts, compensate};
use tare_profile::{BatchSums, Batches, COST_UNIT, Company, HotCounting, Node, Profile, RegionIndex};

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
        diverted: on,
        off_cost: 0.0,
        beside: 0.0,
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

/// Batches in company of a path, in ticks for each unit, of which others have half.
fn company(on: u64, quiet: u64) -> Option<Box<Company>> {
    let of = |ticks: u64, batches: u64| BatchSums {
        batches,
        calls: batches * 4_096,
        ticks: batches * 4_096 * ticks,
        longest: 4_096 * ticks,
        sample: BatchSums::NONE.sample.map(|_| (ticks * COST_UNIT) as u32),
    };
    let all = 64 * 4_096 * 16 * COST_UNIT;
    Some(Box::new(Company { on: of(on, 40), quiet: of(quiet, 20), twice: of(quiet, 4), counted: 0, counted_again: 0, all, others: all / 2 }))
}

/// What is taken off a program with two paths that are measured in place and a third that is not, for each of their calls.
fn taken_off(change: impl Fn(&mut [Node])) -> f64 {
    let mut nodes = vec![
        node(0, None, 1, 10_000_000_000),
        node(1, Some(0), CALLS, 1_000_000),
        node(2, Some(0), CALLS, 1_000_000),
        node(3, Some(0), CALLS, 1_000_000),
    ];
    nodes[3].batches = None;
    change(&mut nodes);
    let mut profile = profile_of(nodes);
    profile.processes[0].hot_clockless = HotCounting { once: 1.0, again: 1.0 };
    let [measured, compensated] = [Mode::Off, Mode::Local].map(|mode| compensate(&profile, mode).locations[0].nodes[0].inclusive.value);
    profile.processes[0].clock.ticks(measured - compensated) / (3 * CALLS) as f64
}

#[test]
fn what_pairs_cost_together_on_one_path_is_expected_of_all_of_its_thread() {
    let alone = taken_off(|_| {});
    assert!((alone - PAIR).abs() < 0.5, "{alone}");
    let together = taken_off(|nodes| {
        for node in &mut nodes[1..3] {
            let batches = node.batches.as_deref_mut().expect("measured in place");
            batches.company = company(28, 4);
        }
    });
    assert!((together - 1.5 * PAIR).abs() < 2.0, "{together}");
}

/// Batches in company, taken when pairs were thought to cost half as much, say half as much of what they are known to cost.
#[test]
fn what_was_thought_when_batches_in_company_were_taken_is_set_right() {
    let together = taken_off(|nodes| {
        for node in &mut nodes[1..3] {
            let batches = node.batches.as_deref_mut().expect("measured in place");
            let calls = 24 * 4_096 * 16 / (PAIR as u64 / 2);
            let company = company(28, 4).map(|company| Box::new(Company { counted: calls * COST_UNIT, ..*company }));
            (batches.company, batches.together) = (company, calls);
        }
    });
    assert!((together - 0.75 * PAIR).abs() < 3.0, "{together}");
}

/// What all cost together is known better than what each of them does: their sum is as sure as that, and their own errors come by chance.
#[test]
fn the_sum_of_many_is_surer_than_each_where_it_is_known_what_they_cost_together() {
    let widths = |with_company: bool, paths: usize| {
        let mut nodes = vec![node(0, None, 1, 10_000_000_000)];
        nodes.extend((1..=paths).map(|region| node(region, Some(0), CALLS, 1_000_000)));
        for node in &mut nodes[1..] {
            let batches = node.batches.as_deref_mut().expect("measured in place");
            // Counting that a body may hide or not: the interval of each.
            batches.off_twice = BatchSums { ticks: batches.off.ticks * 5 / 4, sample: batches.off.sample.map(|units| units * 5 / 4), ..batches.off };
            batches.company = company(20, 4).filter(|_| with_company);
        }
        let nodes = &compensate(&profile_of(nodes), Mode::Local).locations[0].nodes;
        let width = |index: usize| nodes[index].exclusive.high - nodes[index].exclusive.low;
        (width(1), nodes[0].inclusive.high - nodes[0].inclusive.low)
    };
    let ((one, all), (surer_one, surer_all)) = (widths(false, 30), widths(true, 30));
    assert!(surer_one > 0.5 * one, "{surer_one} {one}");
    assert!(all > 10.0 * one && surer_all < 0.4 * all, "{surer_all} {all}");
}

/// A third of all calls came while another path was off, and their pairs took ten ticks more.
#[test]
fn what_came_while_others_were_off_took_the_longer_way() {
    let with = |beside: f64| {
        let mut nodes = vec![node(0, None, 1, 10_000_000_000), node(1, Some(0), CALLS, 1_000_000), node(2, Some(0), CALLS, 1_000_000)];
        for node in &mut nodes[1..] {
            node.cost = 40.0;
            node.batches.as_deref_mut().expect("measured in place").beside = beside;
        }
        let mut profile = profile_of(nodes);
        profile.processes[0].hot_diverted = 10.0;
        let figure = compensate(&profile, Mode::Local).locations[0].nodes[0].inclusive;
        (profile.processes[0].clock.ticks(figure.value), profile.processes[0].clock.ticks(figure.high - figure.low))
    };
    let ((none, sure), (some, unsure)) = (with(0.0), with(40.0 * CALLS as f64 / 3.0));
    let longer = 2.0 * CALLS as f64 * 10.0 / 3.0;
    assert!((none - some - longer).abs() < 1.0, "{none} {some}");
    // It may have made the program faster by half of that, or taken twice as long.
    assert!((unsure - sure - 2.5 * longer).abs() < 1.0, "{sure} {unsure}");
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
