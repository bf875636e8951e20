//! The formulas of papers 1 and 4 on cases that can be checked by hand.

mod support;

use support::profile_of;
use tare_compensate::{Figure, Mark, Mode, PairCost, RunCosts, compensate};
use tare_profile::{BatchSums, Batches, COST_UNIT, Exchanged, Node, Processors, Profile, RegionIndex, RegionKind, Span, Switch, Why};

/// What a pair of probes costs in these cases: half of the hot loop's figure, which is the prior.
const PAIR: f64 = 45.0;
const INNER: f64 = 0.53;

fn node(region: usize, parent: Option<usize>, on_calls: u64, exclusive: i64) -> Node {
    Node { region: RegionIndex(region), parent, on_calls, exclusive, cost: if region == 0 { 0.0 } else { PAIR }, ..Node::default() }
}

fn near(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-6 * wanted.abs().max(1.0), "{value} for {wanted}");
}

/// program → f (10 calls) → g (200 calls) → h (3000 calls)
fn chain() -> Profile {
    profile_of(vec![node(0, None, 1, 100_000), node(1, Some(0), 10, 1_000_000), node(2, Some(1), 200, 2_000_000), node(3, Some(2), 3_000, 3_000_000)])
}

#[test]
fn inclusive_times_lose_their_own_inner_part_and_the_whole_of_all_below() {
    let result = compensate(&chain(), Mode::Local);
    let nodes = &result.locations[0].nodes;
    let measured = [6_100_000.0, 6_000_000.0, 5_000_000.0, 3_000_000.0];
    let (own, below) = ([0.0, 10.0, 200.0, 3_000.0], [3_210.0, 3_200.0, 3_000.0, 0.0]);
    for index in 0..4 {
        near(nodes[index].measured_inclusive_s, measured[index]);
        near(nodes[index].inclusive.value, measured[index] - own[index] * PAIR * INNER - below[index] * PAIR);
    }
}

#[test]
fn what_led_back_to_a_region_above_is_in_the_interval_of_the_inclusive_time_and_marked() {
    let mut profile = chain();
    let nodes = &mut profile.locations[0].nodes;
    // f calls g, which calls f again: of the six million ticks between entry and exit of g, one stands at f.
    nodes[1].folded = true;
    (nodes[1].inclusive, nodes[2].inclusive, nodes[3].inclusive) = (6_000_000, 6_000_000, 3_000_000);
    let inclusive: Vec<Figure> = compensate(&profile, Mode::Local).locations[0].nodes.iter().map(|node| node.inclusive).collect();
    assert_eq!(inclusive.iter().map(|figure| figure.mark).collect::<Vec<_>>(), [None, None, Some(Mark::LedBack), None]);
    near(inclusive[2].high, inclusive[2].value + 1_000_000.0);
}

#[test]
fn what_pairs_cost_is_told_for_each_call_path_in_the_parts_that_are_taken_off() {
    let costs_of = |profile: &Profile| RunCosts::of(profile).pairs(profile).collect::<Vec<PairCost>>();
    let costs = costs_of(&chain());
    assert_eq!(costs.iter().map(|cost| (cost.calls, cost.is_in_place)).collect::<Vec<_>>(), [(10, false), (200, false), (3_000, false)]);
    for cost in costs {
        near(cost.inner_s, PAIR * INNER);
        near(cost.outer_s, PAIR * (1.0 - INNER));
    }
    let mut off = chain();
    off.locations[0].nodes.iter_mut().for_each(|node| node.on_calls = 0);
    assert_eq!(costs_of(&off), Vec::new(), "nobody paid");
}

#[test]
fn exclusive_times_lose_their_own_inner_part_and_the_outer_part_of_direct_children() {
    let result = compensate(&chain(), Mode::Local);
    let nodes = &result.locations[0].nodes;
    let outer = PAIR * (1.0 - INNER);
    near(nodes[1].exclusive.value, 1_000_000.0 - 10.0 * PAIR * INNER - 200.0 * outer);
    near(nodes[3].exclusive.value, 3_000_000.0 - 3_000.0 * PAIR * INNER);
}

#[test]
fn without_batches_the_interval_reaches_from_nothing_to_a_quarter_above_the_hot_loop() {
    let result = compensate(&chain(), Mode::Local);
    let inclusive = result.locations[0].nodes[0].inclusive;
    near(inclusive.high, 6_100_000.0);
    near(inclusive.low, 6_100_000.0 - 3_210.0 * 2.5 * PAIR);
}

#[test]
fn pairs_of_paths_that_are_far_apart_may_cost_up_to_two_hot_pairs_more() {
    let below = |paths: usize| {
        let mut nodes = vec![node(0, None, 1, 100_000_000)];
        nodes.extend((0..paths).map(|_| node(1, Some(0), 10, 10_000)));
        let figures = compensate(&profile_of(nodes), Mode::Local).locations.remove(0).nodes.remove(1);
        (figures.exclusive.value - figures.exclusive.low) / 10.0
    };
    let (few, many) = (below(100), below(40_000));
    assert!(many > few + 2.0 * 2.0 * PAIR * (INNER - 0.2), "{few} {many}");
}

#[test]
fn time_of_a_region_may_have_passed_behind_its_second_reading() {
    let with_batches = |off_ticks: Option<u64>| {
        let mut profile = chain();
        let node = &mut profile.locations[0].nodes[3];
        let none = BatchSums::NONE;
        let off = BatchSums { batches: 1, calls: 100, ticks: off_ticks.unwrap_or(0), ..none };
        let batches = Batches {
            on: none,
            off,
            off_twice: none,
            diverted: none,
            off_cost: 0.0,
            beside: 0.0,
            first_calls: 0,
            first_ticks: 0,
            company: None,
            together: 0,
        };
        node.batches = off_ticks.map(|_| Box::new(batches));
        compensate(&profile, Mode::Local).locations.remove(0).nodes
    };
    // The division of the cost, the cost itself, and a pair in a hot loop: or as much as was left of a call of 990 ticks while it was off.
    let calls = 3_000.0;
    for (off_ticks, behind) in [(None, 90.0), (Some(99_000), 990.0 - 1_000.0 + 0.33 * PAIR)] {
        let nodes = with_batches(off_ticks);
        let (own, caller) = (nodes[3].exclusive, nodes[2].exclusive);
        near(own.high - own.value, calls * (0.2 * PAIR + INNER * PAIR + behind));
        let others = calls * 0.2 * PAIR + 200.0 * (0.2 * PAIR + INNER * 1.5 * PAIR) + calls * (1.0 - INNER) * 1.5 * PAIR;
        near(caller.value - caller.low, others + calls * behind);
        near(nodes[2].inclusive.low, with_batches(Some(0))[2].inclusive.low);
    }
}

#[test]
fn time_that_the_tool_took_in_a_wrapper_is_taken_off_in_both_modes() {
    let mut profile = chain();
    profile.locations[0].nodes[1].tool_ticks = 70_000;
    for mode in [Mode::Local, Mode::Parallel] {
        let (with, without) = (compensate(&profile, mode), compensate(&chain(), mode));
        let inclusive = |result: &tare_compensate::Compensated, node: usize| result.locations[0].nodes[node].inclusive.value;
        near(inclusive(&without, 0) - inclusive(&with, 0), 70_000.0);
        near(inclusive(&without, 2), inclusive(&with, 2));
    }
}

/// A master that has nothing to measure and receives from a worker that does: rank 0 of paper 1's program.
fn master(delay: i64) -> Profile {
    let exchanged = Exchanged { wait_ticks: 700_000, virtual_wait_ticks: 200_000, delay_gain: delay, ..Exchanged::default() };
    let mut receive = Node { cost: 0.0, exchanged: Some(Box::new(exchanged)), ..node(2, Some(1), 1, 800_000) };
    receive.tool_ticks = 1_000;
    let mut profile = profile_of(vec![node(0, None, 1, 10), node(1, Some(0), 1, 200_000), receive]);
    profile.regions[2].kind = RegionKind::Mpi;
    profile.processes[0].rank = Some(0);
    // The runtime has charged one pair for main, the wrapper's own time, and the delay that came along.
    let end_delay = delay + 1_000 + PAIR as i64;
    profile.processes[0].span = Some(Span { start: 0, end: 1_000_000, closed: true, start_delay: 0, end_delay });
    // Ticks of a nanosecond: wrappers are known to 0.2 µs.
    profile.processes[0].clock.seconds_per_tick = 1e-9;
    profile
}

#[test]
fn a_delay_that_came_in_a_message_is_taken_off_in_parallel_alone() {
    let delay = 500_000;
    let (local, parallel) = (compensate(&master(delay), Mode::Local), compensate(&master(delay), Mode::Parallel));
    let total = |result: &tare_compensate::Compensated| result.locations[0].total.value * 1e9;
    near(total(&local), 1_000_000.0 - 1_000.0 - PAIR);
    near(total(&parallel), 1_000_000.0 - 1_000.0 - PAIR - 500_000.0);
    let receive = |result: &tare_compensate::Compensated| result.locations[0].nodes[2].exclusive.value * 1e9;
    near(receive(&local), 799_000.0);
    near(receive(&parallel), 299_000.0);
    let wait = |result: &tare_compensate::Compensated| result.locations[0].nodes[2].wait_s * 1e9;
    near(wait(&local), 700_000.0);
    near(wait(&parallel), 200_000.0);
}

#[test]
fn a_wrapper_without_a_processor_may_have_kept_the_program_from_nothing() {
    let high = |queued_in_calls_s: f64| {
        let mut profile = master(0);
        profile.locations[0].nodes[2].tool_ticks = 90_000;
        profile.processes[0].span.as_mut().expect("a span").end_delay += 89_000;
        profile.locations[0].queued_in_calls_s = queued_in_calls_s;
        let result = compensate(&profile, Mode::Parallel);
        let location = &result.locations[0];
        let figures = [location.nodes[2].exclusive, location.nodes[0].inclusive, location.total];
        figures.map(|figure| ((figure.high - figure.value) * 1e8).round() / 1e2)
    };
    let (alone, without) = (high(0.0), high(60e-6));
    let wider: Vec<f64> = alone.iter().zip(without).map(|(alone, without)| (without - alone).round()).collect();
    assert_eq!(wider, [60.0, 60.0, 60.0], "µs: {alone:?} {without:?}");
}

#[test]
fn overhead_that_vanished_in_slack_makes_a_wait_longer_again() {
    let parallel = compensate(&master(-300_000), Mode::Parallel);
    near(parallel.locations[0].nodes[2].exclusive.value * 1e9, 1_099_000.0);
}

#[test]
fn a_span_that_was_cut_off_is_compensated_by_what_the_graph_holds() {
    let mut profile = master(500_000);
    if let Some(span) = &mut profile.processes[0].span {
        (span.closed, span.end_delay) = (false, 0);
    }
    near(compensate(&profile, Mode::Parallel).locations[0].total.value * 1e9, 1_000_000.0 - 501_000.0 - PAIR);
}

#[test]
fn costs_that_changed_since_the_runtime_charged_them_are_charged_again() {
    let mut profile = master(500_000);
    profile.locations[0].nodes[1].cost = PAIR - 20.0;
    near(compensate(&profile, Mode::Parallel).locations[0].total.value * 1e9, 1_000_000.0 - 501_000.0 - PAIR - 20.0);
}

/// program → f (100 calls, which take batches) → g (1,000 calls, of which a tenth was off): in company both were quiet, and the time of g's calls
/// went to the program; else it went to f.
#[test]
fn the_time_of_calls_that_were_quiet_in_company_is_that_of_the_nearest_that_was_on() {
    let exclusive = |together: u64| {
        let mut nodes = vec![node(0, None, 1, 1_000_000), node(1, Some(0), 100, 500_000), node(2, Some(1), 900, 900_000)];
        nodes.iter_mut().for_each(|node| node.cost = 0.0);
        let none = BatchSums::NONE;
        let batches = Batches {
            on: none,
            off: none,
            off_twice: none,
            diverted: none,
            off_cost: 0.0,
            beside: 0.0,
            first_calls: 0,
            first_ticks: 0,
            company: None,
            together,
        };
        nodes[1].batches = Some(Box::new(Batches { together: 0, ..batches.clone() }));
        nodes[2].off_calls = 100;
        nodes[2].batches = Some(Box::new(batches));
        let mut profile = profile_of(nodes);
        (profile.processes[0].hot_pair_cost, profile.processes[0].least_pair_cost) = (0.0, 0.0);
        compensate(&profile, Mode::Local).locations[0].nodes.iter().map(|node| node.exclusive.value).collect::<Vec<_>>()
    };
    let (alone, in_company) = (exclusive(0), exclusive(100));
    near(alone[2], 1_000_000.0);
    near(in_company[2], 1_000_000.0);
    near(in_company[1] - alone[1], 100_000.0);
    near(alone[0] - in_company[0], 100_000.0);
}

/// A thread loses its processor in calls that are off as well, and who lost it in those that are on stays on.
#[test]
fn what_passed_without_a_processor_may_be_that_of_calls_that_were_off() {
    // With a budget: half of a thousand calls are off, of 100 ticks each, and their caller has 900,000 ticks of 950,000.
    let of = |queued_s: f64, budget| {
        let mut nodes = vec![node(0, None, 1, 0), node(1, Some(0), 1, 900_000), node(2, Some(1), 500, 50_000)];
        nodes[2].off_calls = 500;
        let mut profile = profile_of(nodes);
        profile.processes[0].budget = budget;
        profile.locations[0].queued_s = Some(queued_s);
        let found = compensate(&profile, Mode::Parallel);
        let [caller, callee] = [1, 2].map(|index| found.locations[0].nodes[index].exclusive);
        (caller.value - caller.low, callee.high - callee.value)
    };
    let (alone, alone_above) = of(0.0, Some(0.02));
    let (below, above) = of(475_000.0, Some(0.02));
    assert!((below - alone - 450_000.0).abs() < 1_000.0, "half of the caller's time: {below} and {alone}");
    assert!((above - alone_above - 450_000.0).abs() < 1_000.0, "{above} and {alone_above}");
    assert_eq!(of(475_000.0, None), of(0.0, None), "without a budget few calls are off, and not those that are short");
}

#[test]
fn a_time_that_few_of_many_calls_stand_for_is_marked() {
    // With a budget: a hundred calls in two batches that differ stand for ten thousand.
    let mut nodes = vec![node(0, None, 1, 100_000_000), node(1, Some(0), 100, 100_000)];
    nodes[1].off_calls = 9_900;
    let none = BatchSums::NONE;
    let on = BatchSums { batches: 2, calls: 100, ticks: 100_000, ..none };
    let mut batches = Batches {
        on,
        off: none,
        off_twice: none,
        diverted: none,
        off_cost: 3.0,
        beside: 0.0,
        first_calls: 50,
        first_ticks: 50_000,
        company: None,
        together: 0,
    };
    let mark = |batches: &Batches| {
        let mut nodes = nodes.clone();
        nodes[1].batches = Some(Box::new(batches.clone()));
        let mut profile = profile_of(nodes);
        profile.processes[0].budget = Some(0.02);
        compensate(&profile, Mode::Parallel).locations[0].nodes[1].exclusive
    };
    let units = (COST_UNIT * 1000) as u32;
    batches.on.sample[..2].copy_from_slice(&[units, units]);
    assert_eq!(mark(&batches).mark, None, "{:?}", mark(&batches));
    batches.on.sample[..2].copy_from_slice(&[1, 2 * units]);
    let unsure = mark(&batches);
    assert!(unsure.high - unsure.value > unsure.value, "{unsure:?}");
    assert_eq!(unsure.mark, Some(Mark::UncertaintyExceedsTime), "{unsure:?}");
}

#[test]
fn long_batches_that_are_not_in_the_sample_are_in_the_interval() {
    // With a budget: 200 batches of 100 calls stand for a million calls. All but four of them took 1,000 ticks a call; four, none of them in
    // the sample, were without a processor for 400,000 ticks.
    let half_width = |without_processor: u64| {
        let ticks = 20_000 * 1_000 + 4 * without_processor;
        let mut nodes = vec![node(0, None, 1, 10_000_000_000), node(1, Some(0), 20_000, ticks as i64)];
        nodes[1].off_calls = 980_000;
        let none = BatchSums::NONE;
        let sample = BatchSums::NONE.sample.map(|_| (COST_UNIT * 1_000) as u32);
        let on = BatchSums { batches: 200, calls: 20_000, ticks, longest: 100_000 + without_processor, sample };
        nodes[1].batches = Some(Box::new(Batches {
            on,
            off: none,
            off_twice: none,
            diverted: none,
            off_cost: 3.0,
            beside: 0.0,
            first_calls: 0,
            first_ticks: 0,
            company: None,
            together: 0,
        }));
        let mut profile = profile_of(nodes);
        profile.processes[0].budget = Some(0.02);
        let figure = compensate(&profile, Mode::Parallel).locations[0].nodes[1].exclusive;
        figure.high - figure.value
    };
    let (even, uneven) = (half_width(0), half_width(400_000));
    // 49 times what was seen: four events of 400,000 ticks, known to ± 1.96 × 2 events.
    let expected = 1.96 * 49.0 * (4.0_f64 * 400_000.0 * 500_000.0).sqrt();
    assert!((uneven - even - expected).abs() < 0.05 * expected, "{even} {uneven} {expected}");
}

/// With a budget: ten calls of a function, of 100 ticks, stand for a thousand. It calls another one a thousand times, of 300 ticks, which is
/// quiet for so many of them.
fn below_a_quiet_path(off_calls: u64) -> Profile {
    let mut nodes = vec![node(0, None, 1, 1_000_000), node(1, Some(0), 10, 1_000), node(2, Some(1), 1_000 - off_calls, 300_000)];
    nodes.iter_mut().for_each(|node| node.cost = 0.0);
    let none = BatchSums::NONE;
    let mut on = BatchSums { batches: 2, calls: 10, ticks: 1_000, ..none };
    on.sample[..2].fill(100 * COST_UNIT as u32);
    let batches = Batches {
        on,
        off: none,
        off_twice: none,
        diverted: none,
        off_cost: 0.0,
        beside: 0.0,
        first_calls: 5,
        first_ticks: 500,
        company: None,
        together: 0,
    };
    nodes[1].off_calls = 990;
    nodes[1].batches = Some(Box::new(batches.clone()));
    if off_calls > 0 {
        nodes[2].off_calls = off_calls;
        nodes[2].batches = Some(Box::new(Batches { first_calls: 0, first_ticks: 0, ..batches }));
    }
    let mut profile = profile_of(nodes);
    (profile.processes[0].hot_pair_cost, profile.processes[0].least_pair_cost) = (0.0, 0.0);
    profile.processes[0].budget = Some(0.02);
    profile
}

#[test]
fn a_path_that_is_never_quiet_keeps_its_time_to_itself_below_one_that_is() {
    let result = compensate(&below_a_quiet_path(0), Mode::Local);
    let exclusive: Vec<f64> = result.locations[0].nodes.iter().map(|node| node.exclusive.value).collect();
    for (value, wanted) in exclusive.into_iter().zip([1_000_000.0 - 99_000.0, 100_000.0, 300_000.0]) {
        near(value, wanted);
    }
}

/// What was timed of a quiet path took longer than the one above it seems to have lasted.
#[test]
fn a_quiet_path_takes_at_least_what_was_timed_below_it() {
    let result = compensate(&below_a_quiet_path(10), Mode::Local);
    let nodes = &result.locations[0].nodes;
    assert!(nodes[1].inclusive.value >= nodes[2].inclusive.value && nodes[1].exclusive.value >= 0.0, "{nodes:?}");
    assert!(nodes[0].inclusive.value <= nodes[0].measured_inclusive_s, "{nodes:?}");
}

/// With a budget: a hundred calls of a function, and of another one below it, stand for a thousand. While they were timed,
/// something else had the processor, and for all calls to take as long the run was too short.
fn slow_while_timed(samples: [u32; 2]) -> Profile {
    let mut nodes = vec![node(0, None, 1, 1_000_000), node(1, Some(0), 100, 500_000), node(2, Some(1), 100, 300_000)];
    let none = BatchSums::NONE;
    for node in &mut nodes[1..] {
        let mut on = BatchSums { batches: 2, calls: 100, ticks: node.exclusive as u64, ..none };
        on.sample[..2].copy_from_slice(&samples.map(|sample| sample * COST_UNIT as u32));
        let first_ticks = node.exclusive / 2;
        node.off_calls = 900;
        node.batches = Some(Box::new(Batches {
            on,
            off: none,
            off_twice: none,
            diverted: none,
            off_cost: 3.0,
            beside: 0.0,
            first_calls: 50,
            first_ticks,
            company: None,
            together: 0,
        }));
    }
    let mut profile = profile_of(nodes);
    profile.processes[0].budget = Some(0.02);
    profile
}

#[test]
fn calls_that_were_not_timed_take_no_longer_than_there_was_time() {
    let even = compensate(&slow_while_timed([5_000, 5_000]), Mode::Local);
    let uneven = compensate(&slow_while_timed([1, 10_000]), Mode::Local);
    for result in [&even, &uneven] {
        let nodes = &result.locations[0].nodes;
        assert!(nodes[0].inclusive.value <= nodes[0].measured_inclusive_s, "{nodes:?}");
        assert!(nodes[1].inclusive.value <= nodes[0].inclusive.value && nodes[2].inclusive.value <= nodes[1].inclusive.value, "{nodes:?}");
        // The interval holds what the timed calls said: 5000 ticks each.
        assert!(nodes[1].exclusive.low <= nodes[1].exclusive.value && nodes[1].exclusive.high > 1_500_000.0, "{nodes:?}");
    }
    assert_eq!(even.locations[0].nodes[1].exclusive.mark, Some(Mark::TimedCallsExceed));
    assert_ne!(uneven.locations[0].nodes[1].exclusive.mark, Some(Mark::TimedCallsExceed));
}

/// A run of two seconds, in which f calls g, which goes after half of them: a thousand calls, the last ones 100 ns apart.
fn switched_off() -> Profile {
    let mut profile = profile_of(vec![node(0, None, 1, 100_000_000), node(1, Some(0), 10, 1_000_000_000), node(2, Some(1), 1_000, 20_000)]);
    let process = &mut profile.processes[0];
    process.clock.seconds_per_tick = 1e-9;
    process.lifetime_s = 2.0;
    process.switches = vec![Switch { region: RegionIndex(2), off: true, why: Some(Why::Budget), at_s: 1.0, calls: 1_000, period_s: Some(1e-7) }];
    profile
}

#[test]
fn sites_that_are_off_may_have_taken_time_of_their_callers() {
    let profile = switched_off();
    let mut without = profile.clone();
    without.processes[0].switches.clear();
    let [with, without] = [&profile, &without].map(|profile| compensate(profile, Mode::Local).locations.remove(0).nodes);
    // As often as before, or ten million times.
    let sites = RunCosts::of(&profile).off_sites();
    near(sites.low_s, 0.86e-6);
    near(sites.high_s, 8.6e-3);
    let wider = |with: Figure, without: Figure, by: f64| {
        near(with.value, without.value);
        near(with.high, without.high);
        near(without.low - with.low, by);
    };
    wider(with[1].exclusive, without[1].exclusive, 8.6e-3);
    wider(with[0].inclusive, without[0].inclusive, 8.6e-3);
    wider(with[0].exclusive, without[0].exclusive, 0.0);
    wider(with[2].inclusive, without[2].inclusive, 0.0);
}

#[test]
fn what_is_off_is_called_while_its_caller_runs_and_until_it_is_on_again() {
    let mut profile = switched_off();
    // Its caller ran for a tenth of a second.
    profile.locations[0].nodes[1].exclusive = 99_980_000;
    near(RunCosts::of(&profile).off_sites().high_s, 1e6 * 0.86e-9);
    let mut again = switched_off();
    let off = again.processes[0].switches[0];
    again.processes[0].switches.push(Switch { off: false, at_s: 1.5, ..off });
    near(RunCosts::of(&again).off_sites().high_s, 4.3e-3);
    again.processes[0].switches[0].period_s = None;
    near(RunCosts::of(&again).off_sites().high_s, 500.0 * 0.86e-9);
}

#[test]
fn where_the_caller_went_as_well_its_own_caller_may_have_taken_less() {
    let mut profile = switched_off();
    let off = profile.processes[0].switches[0];
    profile.processes[0].switches.push(Switch { region: RegionIndex(1), at_s: 1.2, calls: 10, period_s: None, ..off });
    let low = |profile: &Profile| compensate(profile, Mode::Local).locations[0].nodes[0].exclusive.low;
    assert!(low(&switched_off()) - low(&profile) > 8.5e-3);
}

#[test]
fn what_the_overhead_exceeds_is_marked_and_stays_negative() {
    let mut nodes = chain().locations[0].nodes.clone();
    // Far more was charged than the region took, and no interval explains it: a delay that is not its own.
    nodes[3].exchanged_mut().delay_gain = 9_000_000;
    let profile = profile_of(nodes);
    let result = compensate(&profile, Mode::Parallel);
    let nodes = &result.locations[0].nodes;
    assert!(nodes[3].exclusive.value < 0.0);
    assert_eq!(nodes[3].exclusive.mark, Some(Mark::OverheadExceedsTime));
    for (child, parent) in [(3, 2), (2, 1), (1, 0)] {
        assert!(nodes[child].inclusive.value <= nodes[parent].inclusive.value);
    }
}

/// program → main → f (100 000 calls) → leaf: main has far less time than lies outside of the readings of these calls.
fn short_caller(is_recursive: bool) -> Profile {
    let called = Node { folded: is_recursive, ..node(2, Some(1), 100_000, 10_000_000) };
    let mut profile = profile_of(vec![node(0, None, 1, 100_000), node(1, Some(0), 1, 1_000), called, node(3, Some(2), 10, 2_000_000)]);
    profile.processes[0].span = Some(Span { start: 0, end: 12_101_000, start_delay: 0, end_delay: 5_000_000, closed: true });
    profile
}

#[test]
fn what_a_region_lacks_is_taken_from_others_so_that_the_time_is_the_sum_of_all() {
    for is_recursive in [false, true] {
        let profile = short_caller(is_recursive);
        let location = &compensate(&profile, Mode::Parallel).locations[0];
        let [program, main, called, leaf] = &location.nodes[..] else { panic!("{:?}", location.nodes) };
        near(location.total.value, 12_101_000.0 - 100_011.0 * PAIR);
        near(program.inclusive.value, location.total.value);
        near(location.nodes.iter().map(|node| node.exclusive.value).sum(), location.total.value);
        assert_eq!((main.exclusive.value, main.exclusive.mark), (0.0, Some(Mark::OverheadHidesTime)));
        for figure in [program, main, called, leaf].map(|node| node.inclusive) {
            assert!(figure.low <= figure.value && figure.value <= figure.high, "{figure:?}");
        }
    }
}

#[test]
fn what_lies_outside_of_the_readings_of_recursive_calls_may_be_their_own_time() {
    let called = |is_recursive| compensate(&short_caller(is_recursive), Mode::Local).locations[0].nodes[2].exclusive;
    near(called(true).value, 10_000_000.0 - 100_000.0 * PAIR + 1_000.0 - PAIR * (1.0 - INNER) - 10.0 * PAIR * (1.0 - INNER));
    assert!(called(true).low < called(false).low);
}

#[test]
fn a_time_that_may_be_nothing_or_far_more_is_marked_wherever_it_stands() {
    let mut profile = short_caller(true);
    profile.locations[0].nodes[2].exclusive = 2_400_000;
    profile.locations[0].nodes[3].exclusive = 100_000;
    profile.processes[0].span = Some(Span { end: 2_601_000, ..profile.processes[0].span.expect("it was set") });
    // Less is left of it than was taken off, which may have been anything.
    profile.locations[0].nodes[2].on_calls = 57_000;
    let location = &compensate(&profile, Mode::Parallel).locations[0];
    assert!(location.total.high > 2.0 * location.total.value, "{:?}", location.total);
    for figure in [location.total, location.nodes[0].inclusive, location.nodes[1].inclusive] {
        assert!(matches!(figure.mark, Some(Mark::OverheadHidesTime | Mark::UncertaintyExceedsTime)), "{figure:?}");
    }
}

#[test]
fn calls_that_carry_no_delay_may_have_waited_for_the_latest() {
    let below = |unknown: u64, overhead_ms: u64, mode: Mode| {
        let mut profile = support::ranks_with(2, |_| (0.6, 0.4, None));
        profile.locations[1].nodes[2].tool_ticks = overhead_ms * 1_000_000;
        let mut exchanged = Exchanged::default();
        exchanged.messages.unpaired = unknown;
        profile.locations[0].nodes[2].exchanged = Some(Box::new(exchanged));
        let location = &compensate(&profile, mode).locations[0];
        let below = |figure: tare_compensate::Figure| ((figure.value - figure.low) * 1e3).round();
        [below(location.nodes[0].inclusive), below(location.nodes[1].exclusive), below(location.nodes[2].exclusive)]
    };
    assert_eq!(below(0, 100, Mode::Parallel), [0.0; 3]);
    assert_eq!(below(1, 100, Mode::Parallel), [40.0, 0.0, 40.0], "ms: one of ten calls");
    assert_eq!(below(10, 100, Mode::Parallel), [100.0, 0.0, 100.0], "ms");
    assert_eq!(below(10, 390, Mode::Parallel), [390.0, 0.0, 390.0], "ms");
    assert_eq!(below(10, 900, Mode::Parallel), [400.0, 0.0, 400.0], "no longer than the call took");
    assert_eq!(below(10, 100, Mode::Local), [0.0; 3]);
}

/// The example `pi` on four ranks of two processors: its ranks were a third shorter unmeasured than their intervals said.
#[test]
fn ranks_that_share_processors_may_have_queued_for_the_overhead_of_others() {
    let low = |threads: u32, number: u32, mode: Mode| {
        let mut profile = support::ranks_with(threads, |_| (0.6, 0.4, None));
        for location in &mut profile.locations {
            (location.queued_s, location.queued_in_calls_s) = (Some(0.5), 0.2);
            location.processors = Some(Processors { first: 0, number });
            location.nodes[2].tool_ticks = 100_000_000;
        }
        let below = |figure: tare_compensate::Figure| ((figure.value - figure.low) * 1e3).round();
        let result = compensate(&profile, mode);
        result.locations[0].nodes.iter().map(|node| [below(node.exclusive), below(node.inclusive)]).collect::<Vec<_>>()
    };
    let alone = low(2, 2, Mode::Parallel);
    // Half a second each ran, a fifth of it wrappers.
    let apart = |crowded: Vec<[f64; 2]>| crowded.iter().zip(&alone).map(|(more, less)| [more[0] - less[0], more[1] - less[1]]).collect::<Vec<_>>();
    assert_eq!(apart(low(2, 1, Mode::Parallel)), [[0.0, 100.0], [60.0, 100.0], [40.0, 40.0]], "ms");
    assert_eq!(apart(low(3, 2, Mode::Parallel)), [[0.0, 100.0], [60.0, 100.0], [40.0, 40.0]], "ms");
    assert_eq!(apart(low(2, 1, Mode::Local)), [[0.0; 2]; 3]);
}
