//! Programs with a known cause must give exactly the known finding, and a balanced program none.

mod support;

use support::{all_findings, ranks_with, threads_with, two_phases};
use tare_compensate::whole::{Among, CallTree, Certainty, Classes, Efficiency, FindingKind, OnProcess, exchanges, region_totals};
use tare_compensate::{Figure, Mark, Mode, compensate};
use tare_profile::{Messages, Node, Peer, Profile, Region, RegionIndex, RegionKind, Span, Standing, State};

#[test]
fn a_balanced_program_has_no_finding() {
    let profile = ranks_with(8, |_| (1.0, 0.001, None));
    assert_eq!(all_findings(&profile), Vec::new());
    let efficiency = Efficiency::of(&profile, &compensate(&profile, Mode::Parallel)).expect("eight ranks");
    assert!(efficiency.parallel() > 0.99, "{efficiency:?}");
}

#[test]
fn a_rank_that_computes_longer_is_the_one_for_which_all_wait_in_a_collective() {
    let profile = ranks_with(8, |rank| if rank == 3 { (2.0, 0.0, None) } else { (1.0, 1.0, None) });
    let found = all_findings(&profile);
    assert_eq!(found.len(), 1, "{found:?}");
    let FindingKind::LateArrival { waiting, awaited, cause } = &found[0].kind else { panic!("{found:?}") };
    assert_eq!((waiting.as_slice(), awaited.as_slice()), ([0, 1, 2, 4, 5, 6, 7].as_slice(), [3].as_slice()));
    let cause = cause.as_ref().expect("the region that takes longer");
    assert_eq!((cause.region, cause.late.as_slice()), (RegionIndex(1), [3].as_slice()));
    assert!((cause.ahead - 1.0).abs() < 1e-6, "{cause:?}");
    assert!((found[0].seconds.value - 7.0 / 8.0).abs() < 1e-6, "seven of eight ranks wait a second");
    assert_eq!(found[0].certainty, Certainty::Sure);
    let efficiency = Efficiency::of(&profile, &compensate(&profile, Mode::Parallel)).expect("eight ranks");
    assert!((efficiency.load_balance - 9.0 / 16.0).abs() < 1e-6, "{efficiency:?}");
}

#[test]
fn of_a_program_in_which_nobody_waits_the_region_with_most_of_the_time_is_named() {
    let found = all_findings(&threads_with(&[(2.0, 0.0)], "omp barrier"));
    let FindingKind::HotSpot { part, calls, per_call_s, asleep_s: 0.0 } = found[0].kind else { panic!("{found:?}") };
    assert_eq!((found.len(), found[0].region, calls), (1, RegionIndex(1), 1));
    assert!((part - 1.0).abs() < 1e-6 && (per_call_s - 2.0).abs() < 1e-6);
}

#[test]
fn time_that_may_be_sleep_makes_no_hot_spot() {
    let mut profile = threads_with(&[(2.0, 0.0)], "omp barrier");
    profile.locations[0].asleep_s = 1.3;
    assert!(matches!(&all_findings(&profile)[..], [finding] if matches!(finding.kind, FindingKind::Asleep { .. })));
}

#[test]
fn who_sleeps_while_its_own_threads_work_may_wait_for_these() {
    let mut profile = threads_with(&[(2.0, 0.0), (1.0, 0.0)], "omp barrier");
    (profile.locations[0].asleep_s, profile.locations[1].ran_s) = (1.3, Some(0.4));
    let asleep = |profile: &Profile| {
        let found = all_findings(profile);
        found.iter().find_map(|finding| if let FindingKind::Asleep { longest_s, .. } = finding.kind { Some(longest_s) } else { None })
    };
    assert!(asleep(&profile).is_some_and(|seconds| (seconds - 0.9).abs() < 1e-9));
    (profile.locations[1].ran_s, profile.locations[1].queued_s) = (Some(1.0), Some(0.25));
    assert_eq!(asleep(&profile), None);
}

#[test]
fn a_program_that_sleeps_or_has_no_processor_is_told_so_beside_where_its_time_is() {
    let mut profile = threads_with(&[(2.0, 0.0)], "omp barrier");
    (profile.locations[0].asleep_s, profile.locations[0].queued_s) = (0.5, Some(0.3));
    let found = all_findings(&profile);
    let [asleep, hot_spot, none] = &found[..] else { panic!("{found:?}") };
    let FindingKind::Asleep { ranks, longest_s, outside_s, within_s: Some(within_s), in_files } = &asleep.kind else { panic!("{found:?}") };
    assert_eq!((ranks.as_slice(), *longest_s, *in_files, asleep.certainty), ([].as_slice(), 0.5, None, Certainty::Sure));
    assert_eq!((asleep.region, *within_s), (RegionIndex(1), 0.5), "the rest of its time is no longer than nothing");
    assert!((outside_s - 2.0).abs() < 1e-6 && (asleep.seconds.value - 0.5).abs() < 1e-9, "{asleep:?}");
    assert!(matches!(hot_spot.kind, FindingKind::HotSpot { asleep_s: 0.5, .. }) && hot_spot.certainty == Certainty::Likely, "{found:?}");
    let FindingKind::NoProcessor { longest, .. } = &none.kind else { panic!("{found:?}") };
    assert!((longest.queued_s - 0.3).abs() < 1e-9 && (none.seconds.value - 0.3).abs() < 1e-9, "{none:?}");
    (profile.locations[0].asleep_s, profile.locations[0].queued_s) = (0.09, Some(0.0));
    assert!(matches!(&all_findings(&profile)[..], [finding] if matches!(finding.kind, FindingKind::HotSpot { .. })));
}

#[test]
fn who_sleeps_is_told_which_region_reads_and_writes_files_where_that_was_measured() {
    let in_files_with = |ticks: [i64; 2]| {
        let mut profile = threads_with(&[(2.0, 0.0)], "omp barrier");
        let location = &mut profile.locations[0];
        location.asleep_s = 0.5;
        location.metrics = vec![tare_profile::Metric {
            name: "io-time".into(),
            in_ticks: true,
            pair_cost: 0.0,
            missing: false,
            unseen: false,
            highest: false,
            counted: None,
        }];
        for (node, ticks) in location.nodes.iter_mut().zip(ticks) {
            node.values = vec![ticks];
        }
        let regions: Vec<_> = location.nodes.iter().map(|node| node.region).collect();
        let per_second = 1.0 / profile.process_of(&profile.locations[0]).clock.seconds(1.0);
        let found = all_findings(&profile);
        let FindingKind::Asleep { in_files: Some(in_files), .. } = found[0].kind else { panic!("{found:?}") };
        (in_files.region.map(|region| regions.iter().position(|one| *one == region)), (in_files.seconds * per_second).round() as i64)
    };
    assert_eq!(in_files_with([30_000, 70_000]), (Some(Some(1)), 100_000));
    assert_eq!(in_files_with([50_000, 50_000]), (None, 100_000), "neither has most of it");
}

#[test]
fn ranks_that_sleep_are_named_and_the_run_is_no_shorter_than_any_of_its_ranks() {
    let found_with = |asleep: [f64; 4]| {
        let mut profile = ranks_with(4, |rank| if rank == 2 { (2.0, 0.0, None) } else { (1.0, 1.0, None) });
        profile.locations.iter_mut().zip(asleep).for_each(|(location, asleep)| location.asleep_s = asleep);
        all_findings(&profile).into_iter().find_map(|finding| match finding.kind {
            FindingKind::Asleep { ranks, .. } => Some((ranks, (finding.seconds.value * 1e3).round())),
            _ => None,
        })
    };
    assert_eq!(found_with([0.0, 0.0, 0.9, 0.0]), Some((vec![2], 900.0)));
    assert_eq!(found_with([0.9, 0.0, 0.6, 0.0]), Some((vec![0, 2], 600.0)), "rank 2 would not be done earlier than by what it slept");
    assert_eq!(found_with([0.9, 0.0, 0.0, 0.0]), None, "nobody waits for rank 0");
    assert_eq!(found_with([0.0, 0.0, 0.05, 0.0]), None);
}

#[test]
fn what_calls_the_cause_is_named_where_it_is_alike_elsewhere() {
    let cause_with = |in_solve: [f64; 2], has_loops: bool| {
        let mut profile = ranks_with(2, |rank| if rank == 1 { (0.0, 0.0, None) } else { (0.0, 1.0, None) });
        for name in ["assemble", "solve", "kernel"] {
            profile.regions.push(tare_profile::Region { name: name.into(), ..profile.regions[1].clone() });
        }
        for (rank, location) in profile.locations.iter_mut().enumerate() {
            let node = |region, parent, seconds: f64| tare_profile::Node {
                region: RegionIndex(region),
                parent: Some(parent),
                on_calls: 1,
                exclusive: (seconds * 1e9) as i64,
                ..tare_profile::Node::default()
            };
            location.nodes.extend([node(3, 1, 0.0), node(4, 1, 0.0), node(5, 3, [1.0, 2.0][rank]), node(5, 4, in_solve[rank])]);
            if has_loops {
                // All that `kernel` does is in a loop of it.
                let first = location.nodes.len() - 2;
                for kernel in [first, first + 1] {
                    let seconds = std::mem::take(&mut location.nodes[kernel].exclusive);
                    location.nodes.push(tare_profile::Node { exclusive: seconds, ..node(6, kernel, 0.0) });
                }
            }
        }
        profile.regions.push(tare_profile::Region { name: "loop 1 of kernel".into(), kind: RegionKind::Loop, ..profile.regions[1].clone() });
        let found = all_findings(&profile);
        let Some(FindingKind::LateArrival { cause: Some(cause), .. }) = found.first().map(|finding| finding.kind.clone()) else {
            panic!("{found:?}")
        };
        assert_eq!(cause.region, RegionIndex(if has_loops { 6 } else { 5 }));
        (cause.caller, (cause.ahead * 100.0).round())
    };
    for has_loops in [false, true] {
        assert_eq!(cause_with([1.0, 1.0], has_loops), (Some(RegionIndex(3)), 100.0), "twice as long in what assemble calls");
        assert_eq!(cause_with([1.0, 2.0], has_loops), (None, 100.0), "in both");
    }
}

#[test]
fn who_comes_last_to_a_collective_may_come_from_another_function() {
    let mut profile = ranks_with(2, |rank| if rank == 1 { (2.0, 0.0, None) } else { (1.0, 1.0, None) });
    profile.regions.push(tare_profile::Region { name: "worker".into(), ..profile.regions[1].clone() });
    profile.locations[1].nodes[1].region = RegionIndex(3);
    let found = all_findings(&profile);
    let [finding] = &found[..] else { panic!("{found:?}") };
    let FindingKind::LateArrival { waiting, awaited, cause } = &finding.kind else { panic!("{found:?}") };
    let cause = cause.as_ref().expect("what rank 1 does");
    assert_eq!((waiting.as_slice(), awaited.as_slice(), finding.caller), ([0].as_slice(), [1].as_slice(), Some(RegionIndex(1))));
    assert_eq!((cause.late.as_slice(), cause.region, cause.ahead), ([1].as_slice(), RegionIndex(3), f64::INFINITY));
}

#[test]
fn where_not_all_come_to_a_collective_nobody_is_blamed_who_waits_there() {
    // Rank 3 makes the others wait by a send; in the function where these meet nobody comes last.
    let mut profile =
        ranks_with(4, |rank| if rank == 3 { (2.0, 0.0, None) } else { (1.0 + 0.3 * f64::from(rank % 2), 1.0 - 0.3 * f64::from(rank % 2), None) });
    profile.locations[3].nodes.truncate(2);
    let found = all_findings(&profile);
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert!(matches!(&finding.kind, FindingKind::LateArrival { awaited, cause: None, .. } if awaited.is_empty()), "{found:?}");
}

#[test]
fn in_a_chain_those_at_its_begin_are_waited_for() {
    let found = all_findings(&ranks_with(4, |rank| match rank {
        1 | 2 => (1.0, 1.0, Some(rank - 1)),
        _ => (2.0, 0.0, None),
    }));
    let [finding] = &found[..] else { panic!("{found:?}") };
    let FindingKind::LateSender { waiting, awaited, .. } = &finding.kind else { panic!("{found:?}") };
    assert_eq!((waiting.as_slice(), awaited.as_slice()), ([1, 2].as_slice(), [0].as_slice()));
}

#[test]
fn a_sender_that_is_late_is_named_by_its_messages() {
    let profile = ranks_with(4, |rank| if rank == 2 { (2.0, 0.0, None) } else { (1.0, 1.0, Some(2)) });
    let found = all_findings(&profile);
    let FindingKind::LateSender { waiting, awaited, .. } = &found[0].kind else { panic!("{found:?}") };
    assert_eq!((waiting.as_slice(), awaited.as_slice()), ([0, 1, 3].as_slice(), [2].as_slice()));
    let exchanged = exchanges(&profile, &compensate(&profile, Mode::Parallel));
    assert_eq!(exchanged.iter().map(|cell| (cell.from, cell.to, cell.messages)).collect::<Vec<_>>(), [(2, 0, 10), (2, 1, 10), (2, 3, 10)]);
    assert!((exchanged[0].wait_s - 1.0).abs() < 1e-6);
}

#[test]
fn a_receiver_that_is_late_is_named_by_the_sends_that_wait_for_it() {
    let mut profile = ranks_with(4, |rank| if rank == 2 { (2.0, 0.0, None) } else { (1.0, 1.0, Some(2)) });
    for peer in profile
        .locations
        .iter_mut()
        .flat_map(|location| &mut location.nodes)
        .filter_map(|node| node.exchanged.as_mut())
        .flat_map(|all| &mut all.peers)
    {
        *peer = Peer { rank: peer.rank, sent: peer.received, bytes: peer.bytes, held: peer.wait, virtual_held: peer.virtual_wait, ..Peer::default() };
    }
    let found = all_findings(&profile);
    let FindingKind::LateReceiver { waiting, awaited, .. } = &found[0].kind else { panic!("{found:?}") };
    assert_eq!((waiting.as_slice(), awaited.as_slice()), ([0, 1, 3].as_slice(), [2].as_slice()));
    let exchanged = exchanges(&profile, &compensate(&profile, Mode::Parallel));
    assert_eq!(exchanged.iter().map(|cell| (cell.from, cell.to, cell.messages)).collect::<Vec<_>>(), [(0, 2, 10), (1, 2, 10), (3, 2, 10)]);
    assert!(exchanged.iter().all(|cell| cell.wait_s == 0.0 && (cell.sender_wait_s - 1.0).abs() < 1e-6), "{exchanged:?}");
}

#[test]
fn where_each_waits_for_the_next_the_one_that_computes_longer_is_named() {
    let in_a_ring =
        |slow: Option<u32>| ranks_with(8, move |rank| if slow == Some(rank) { (2.0, 0.0, None) } else { (1.0, 1.0, Some((rank + 7) % 8)) });
    let found = all_findings(&in_a_ring(Some(3)));
    let FindingKind::LateSender { awaited, cause, .. } = &found[0].kind else { panic!("{found:?}") };
    assert_eq!(awaited.as_slice(), [], "no few ranks are waited for");
    let cause = cause.as_ref().expect("the region that takes longer");
    assert_eq!((cause.region, cause.late.as_slice()), (RegionIndex(1), [3].as_slice()));
    assert!((cause.ahead - 1.0).abs() < 1e-6, "{cause:?}");
    let found = all_findings(&in_a_ring(None));
    let FindingKind::LateSender { cause, .. } = &found[0].kind else { panic!("{found:?}") };
    assert_eq!(*cause, None, "all compute alike");
}

/// Both phases spend their time in the function 5; the collective stands in the region 4.
fn cause_of_the_collective(second: [(f64, f64); 2]) -> Option<tare_compensate::whole::Cause> {
    let found = all_findings(&two_phases(second));
    let of_collective = found.iter().find(|finding| finding.region == RegionIndex(6)).unwrap_or_else(|| panic!("{found:?}"));
    let FindingKind::LateArrival { cause, .. } = &of_collective.kind else { panic!("{found:?}") };
    cause.clone()
}

#[test]
fn the_cause_of_a_wait_lies_on_its_own_call_path() {
    let cause = cause_of_the_collective([(0.2, 0.4), (0.6, 0.0)]).expect("rank 1 works longer in the second phase");
    assert_eq!((cause.late.as_slice(), cause.region, cause.within), ([1].as_slice(), RegionIndex(5), Some(RegionIndex(4))));
    assert!((cause.ahead - 2.0).abs() < 1e-6 && (cause.explains - 1.0).abs() < 1e-6, "{cause:?}");
    let cause = cause_of_the_collective([(0.2, 0.3), (0.6, 0.2)]).expect("also where both wait, in turn");
    assert_eq!((cause.late.as_slice(), cause.within), ([1].as_slice(), Some(RegionIndex(4))));
    assert!((cause.explains - 0.8).abs() < 1e-6, "{cause:?}");
}

#[test]
fn what_others_have_waited_for_elsewhere_is_no_cause_of_a_wait() {
    assert_eq!(cause_of_the_collective([(0.4, 0.2), (0.4, 0.2)]), None, "the longer work of rank 0 in the first phase was waited for there");
    assert_eq!(cause_of_the_collective([(0.4, 0.0), (0.4, 0.3)]), None, "nothing that was measured makes rank 0 late");
}

#[test]
fn a_cause_may_lie_beside_the_function_in_which_ranks_wait() {
    let mut profile = two_phases([(0.0, 0.4), (0.0, 0.0)]);
    profile.regions.push(Region { name: "before".into(), ..profile.regions[5].clone() });
    profile.locations[1].nodes.push(Node { region: RegionIndex(7), parent: Some(1), on_calls: 1, exclusive: 400_000_000, ..Node::default() });
    let found = all_findings(&profile);
    let FindingKind::LateArrival { cause: Some(cause), .. } = &found[1].kind else { panic!("{found:?}") };
    assert_eq!((cause.late.as_slice(), cause.region, cause.within), ([1].as_slice(), RegionIndex(7), None));
}

#[test]
fn a_message_that_both_sides_have_seen_counts_once() {
    let mut profile = ranks_with(2, |rank| (1.0, 0.0, (rank == 1).then_some(0)));
    profile.locations[0].nodes[2].exchanged_mut().peers = vec![Peer { rank: 1, sent: 10, bytes: 1000, ..Peer::default() }];
    let exchanged = exchanges(&profile, &compensate(&profile, Mode::Parallel));
    assert_eq!(exchanged.len(), 1);
    assert_eq!((exchanged[0].from, exchanged[0].to, exchanged[0].messages, exchanged[0].bytes), (0, 1, 10, 1000));
}

#[test]
fn the_tree_of_all_locations_holds_their_sums_and_classes_all_their_time() {
    let profile = ranks_with(8, |rank| (1.0 + f64::from(rank), 0.5, None));
    let compensated = compensate(&profile, Mode::Parallel);
    let tree = CallTree::of(&profile, &compensated);
    assert_eq!(tree.paths.len(), 3);
    assert_eq!(tree.paths[1].locations, 8);
    assert!((tree.paths[1].exclusive.value - 36.0).abs() < 1e-6);
    for path in &tree.paths {
        let above = path.parent.map_or(f64::INFINITY, |parent| tree.paths[parent].inclusive.value);
        assert!(path.inclusive.value <= above * (1.0 + 1e-12), "{path:?}");
    }
    let totals = region_totals(&profile, &compensated, &tree);
    let spread = totals[1].spread(&Among::those(8, |_| true), |here| here.value_s).expect("eight processes");
    assert_eq!((spread.least.0, spread.most.0), (0, 7));
    assert!((spread.mean - 4.5).abs() < 1e-6);
    let exclusive: f64 = totals.iter().map(|total| total.exclusive.value).sum();
    assert!((Classes::of(&profile, &compensated).all_s() - exclusive).abs() < 1e-9);
}

#[test]
fn processes_on_which_a_region_never_was_have_spent_nothing_in_it() {
    let profile = ranks_with(1, |_| (1.0, 0.0, None));
    let compensated = compensate(&profile, Mode::Off);
    let mut total = region_totals(&profile, &compensated, &CallTree::of(&profile, &compensated)).swap_remove(1);
    let mut spread = |times: &[(u32, f64)], counts: fn(usize) -> bool| {
        total.of_process = times.iter().map(|&(process, value_s)| OnProcess { process, value_s, measured_s: value_s }).collect();
        total.spread(&Among::those(5, counts), |here| here.value_s).map(|spread| (spread.least, spread.mean, spread.most))
    };
    assert_eq!(spread(&[(1, 2.0), (2, 3.0)], |_| true), Some(((0, 0.0), 1.0, (2, 3.0))));
    assert_eq!(spread(&[(0, 2.0), (1, 0.0), (3, 2.0)], |_| true), Some(((1, 0.0), 0.8, (0, 2.0))), "the first of equals");
    assert_eq!(spread(&[(3, -1.0)], |process| process > 2), Some(((3, -1.0), -0.5, (4, 0.0))));
    assert_eq!(spread(&[(1, 9.0), (2, 1.0)], |process| process == 2), Some(((2, 1.0), 1.0, (2, 1.0))));
    assert_eq!(spread(&[], |_| true), Some(((0, 0.0), 0.0, (0, 0.0))));
    assert_eq!(spread(&[(1, 9.0)], |_| false), None);
}

#[test]
fn recursion_counts_once_in_what_a_region_includes() {
    let mut profile = ranks_with(2, |_| (1.0, 0.0, None));
    let below =
        tare_profile::Node { region: RegionIndex(1), parent: Some(1), on_calls: 1, exclusive: 2_000_000_000, ..tare_profile::Node::default() };
    profile.locations.iter_mut().for_each(|location| location.nodes.push(below.clone()));
    let compensated = compensate(&profile, Mode::Off);
    let tree = CallTree::of(&profile, &compensated);
    let totals = region_totals(&profile, &compensated, &tree);
    assert!((totals[1].inclusive.value - 6.0).abs() < 1e-6, "{}", totals[1].inclusive.value);
}

#[test]
fn starting_mpi_is_no_work_where_nothing_says_when_it_was() {
    let mut profile = ranks_with(2, |rank| if rank == 0 { (2.0, 0.0, None) } else { (1.0, 1.0, None) });
    profile.regions.push(Region { kind: RegionKind::Mpi, name: "MPI_Init".into(), ..profile.regions[2].clone() });
    for location in &mut profile.locations {
        location.nodes.push(Node { region: RegionIndex(3), parent: Some(1), on_calls: 1, exclusive: 4_000_000_000, ..Node::default() });
    }
    let efficiency = Efficiency::of(&profile, &compensate(&profile, Mode::Off)).expect("two ranks");
    assert!((efficiency.load_balance - 0.75).abs() < 1e-6 && (efficiency.communication - 1.0).abs() < 1e-6, "{efficiency:?}");
}

#[test]
fn a_message_with_both_ends_at_a_place_counts_once() {
    let mut profile = ranks_with(2, |_| (1.0, 1.0, None));
    for (rank, location) in (0..).zip(&mut profile.locations) {
        let exchange = location.nodes[2].exchanged_mut();
        (exchange.wait_ticks, exchange.virtual_wait_ticks) = (0, 0);
        // Ten messages each way, and a collective.
        exchange.messages = Messages { count: 21, bytes: 2_010, unpaired: 0 };
        exchange.peers = vec![Peer { rank: 1 - rank, sent: 10, received: 10, bytes: 2_000, ..Peer::default() }];
    }
    let found = all_findings(&profile);
    let FindingKind::Messages { calls, messages, bytes } = found[0].kind else { panic!("{found:?}") };
    assert_eq!((calls, messages, bytes), (20, 22, 2_020));
    // Ranks that had no processor meanwhile may have taken so long because of that.
    let certainty = |queued_s: f64| {
        let mut profile = profile.clone();
        profile.locations.iter_mut().for_each(|location| (location.queued_s, location.queued_in_calls_s) = (Some(queued_s), queued_s));
        let found = all_findings(&profile).into_iter().find(|finding| matches!(finding.kind, FindingKind::Messages { .. }));
        found.map(|finding| (finding.certainty, finding.queued_s))
    };
    let seconds = found[0].seconds.value;
    assert_eq!(certainty(0.0), Some((Certainty::Sure, None)));
    assert_eq!(certainty(seconds / 3.0), Some((Certainty::Likely, Some(seconds / 3.0))));
    assert_eq!(certainty(seconds), Some((Certainty::Possible, Some(seconds))));
}

#[test]
fn waits_that_ended_before_a_crash_have_the_cause_that_they_had() {
    let mut profile = ranks_with(2, |rank| if rank == 0 { (2.0, 0.0, None) } else { (1.0, 1.0, Some(0)) });
    profile.processes.iter_mut().for_each(|process| process.state = State::CutOff);
    let cause = |profile: &Profile| match all_findings(profile).remove(0).kind {
        FindingKind::LateSender { awaited, cause, .. } if awaited == [0] => cause,
        kind => panic!("{kind:?}"),
    };
    let in_rounds = cause(&profile).expect("the region that takes longer");
    assert_eq!((in_rounds.region, in_rounds.late.as_slice()), (RegionIndex(1), [0].as_slice()));
    // What came after the last wait made none.
    profile.locations[0].nodes[1].exclusive += 7_000_000_000;
    profile.locations[0].standing = Some(Standing { node: Some(1), since: 7_000_000_000 });
    let beside = cause(&profile).expect("as before");
    assert!((beside.ahead - in_rounds.ahead).abs() < 1e-6, "{beside:?}");
    profile.locations[0].standing = Some(Standing { node: Some(1), since: 8_000_000_000 });
    assert_eq!(cause(&profile), None, "all that it had more it was still in");
}

#[test]
fn a_sum_whose_interval_is_wider_than_itself_is_not_to_be_trusted() {
    let figure = |value: f64, high: f64, mark| Figure { value, low: 0.0, high, mark };
    let (nothing, hidden) = (Figure::exact(0.0), figure(0.0, 13.0, Some(Mark::OverheadHidesTime)));
    assert_eq!(nothing.added(&hidden).mark, hidden.mark);
    assert_eq!(hidden.added(&figure(0.5, 0.7, None)).mark, hidden.mark);
    assert_eq!(hidden.added(&Figure::exact(20.0)).mark, None);
}

#[test]
fn a_call_that_was_cut_off_is_a_finding_of_its_own_kind() {
    let mut profile = ranks_with(2, |rank| if rank == 0 { (1.0, 5.0, None) } else { (6.0, 0.0, None) });
    profile.processes.iter_mut().for_each(|process| process.state = State::CutOff);
    let hung = &mut profile.locations[0];
    hung.nodes[2].exchanged = None;
    hung.standing = Some(Standing { node: Some(2), since: 5_000_000_000 });
    let found = all_findings(&profile);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].kind, FindingKind::CutOff { ranks: vec![0], longest: 5.0 });
    assert!((found[0].seconds.value - 2.5).abs() < 1e-9, "{found:?}");
}

#[test]
fn ranks_that_wait_for_the_last_one_to_end_mpi_are_a_finding() {
    let mut profile = ranks_with(4, |rank| if rank == 2 { (3.0, 0.25, None) } else { (1.0, 2.25, None) });
    profile.regions[2].name = "MPI_Finalize".into();
    for (rank, location) in profile.locations.iter_mut().enumerate() {
        // The time of a rank ends before it.
        let in_it = std::mem::take(&mut location.nodes[2].exclusive);
        location.nodes.push(Node { region: RegionIndex(2), parent: None, on_calls: 1, exclusive: in_it, ..Node::default() });
        location.nodes[2].on_calls = 0;
        location.nodes[2].exchanged = None;
        assert_eq!(location.process.0, rank);
    }
    let found = all_findings(&profile);
    assert_eq!(found.len(), 1, "{found:?}");
    let FindingKind::LateArrival { waiting, awaited, cause } = &found[0].kind else { panic!("{found:?}") };
    assert_eq!((waiting.as_slice(), awaited.as_slice()), ([0, 1, 3].as_slice(), [2].as_slice()));
    assert_eq!(cause.as_ref().map(|cause| cause.region), Some(RegionIndex(1)));
    assert!((found[0].seconds.value - 1.5).abs() < 1e-6, "three of four ranks wait two seconds: {found:?}");
}

#[test]
fn who_was_killed_before_it_came_out_of_finalize_was_cut_off_in_it() {
    let mut profile = ranks_with(2, |rank| if rank == 0 { (1.0, 5.0, None) } else { (6.0, 0.0, None) });
    profile.regions[2].name = "MPI_Finalize".into();
    profile.processes[0].state = State::CutOff;
    profile.processes[0].is_in_mpi = true;
    profile.processes[0].span = Some(Span { start: 0, end: 1_000_000_000, start_delay: 0, end_delay: 0, closed: true });
    let hung = &mut profile.locations[0];
    hung.nodes[2].exchanged = None;
    hung.standing = Some(Standing { node: Some(2), since: 5_000_000_000 });
    assert!(profile.processes[0].is_open());
    let found = all_findings(&profile);
    assert_eq!(found.iter().map(|finding| &finding.kind).collect::<Vec<_>>(), [&FindingKind::CutOff { ranks: vec![0], longest: 5.0 }]);
    let classes = Classes::of(&profile, &compensate(&profile, Mode::Parallel));
    assert!((classes.open_s - 5.0).abs() < 1e-6 && classes.start_end_s.abs() < 1e-6, "{classes:?}");
}

#[test]
fn a_call_that_is_open_is_neither_work_nor_waiting_yet() {
    let mut profile = ranks_with(2, |rank| if rank == 0 { (1.0, 5.0, None) } else { (6.0, 0.0, None) });
    profile.processes.iter_mut().for_each(|process| {
        process.state = State::Running;
        process.span.iter_mut().for_each(|span| span.closed = false);
    });
    let waiting = &mut profile.locations[0];
    waiting.nodes[2].exchanged = None;
    waiting.standing = Some(Standing { node: Some(2), since: 4_900_000_000 });
    let classes = Classes::of(&profile, &compensate(&profile, Mode::Parallel));
    assert!((classes.open_s - 4.9).abs() < 1e-6 && (classes.messages_s - 0.1).abs() < 1e-6, "{classes:?}");
    assert!(classes.waiting_s.abs() < 1e-9 && (classes.all_s() - 12.0).abs() < 1e-6, "{classes:?}");
    let found = all_findings(&profile);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].kind, FindingKind::Open { ranks: vec![0], longest: 4.9 });
}
