//! Programs with a known cause must give exactly the known finding, and a balanced program none.

mod support;

use support::{all_findings, ranks_with, two_phases};
use tare_compensate::whole::{Among, CallTree, Certainty, Classes, Efficiency, FindingKind, OnProcess, exchanges, region_totals};
use tare_compensate::{Figure, Mark, Mode, compensate};
use tare_profile::{Exchanged, Messages, Node, Peer, ProcessIndex, Profile, Region, RegionIndex, RegionKind, Span, Standing, State};

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

/// Threads of a process that work and then wait at a barrier, for so many seconds each.
fn threads_with(of: &[(f64, f64)], operation: &str) -> Profile {
    let mut profile = ranks_with(of.len() as u32, |rank| (of[rank as usize].0, of[rank as usize].1, None));
    profile.regions[2] = Region { kind: RegionKind::Threads, name: operation.into(), ..profile.regions[2].clone() };
    profile.processes.truncate(1);
    (profile.processes[0].rank, profile.processes[0].world_size) = (None, None);
    for (thread, location) in profile.locations.iter_mut().enumerate() {
        (location.process, location.thread) = (ProcessIndex(0), thread as u32);
    }
    profile
}

#[test]
fn threads_that_wait_at_a_barrier_are_a_finding_and_those_that_wait_for_an_end_are_none() {
    let found = all_findings(&threads_with(&[(1.0, 1.0), (2.0, 0.0), (1.5, 0.5)], "omp barrier"));
    assert_eq!(found.len(), 1, "{found:?}");
    let FindingKind::Threads { threads, processes, awaited, cause } = &found[0].kind else { panic!("{found:?}") };
    assert_eq!((*threads, *processes, awaited.as_slice()), (3, 1, [1].as_slice()));
    let cause = cause.as_ref().expect("the region that takes longer");
    assert_eq!((cause.region, cause.late.as_slice(), cause.within), (RegionIndex(1), [1].as_slice(), None));
    assert!((cause.ahead - 0.6).abs() < 1e-6 && (cause.explains - 1.0).abs() < 1e-6, "two seconds beside 1.25: {cause:?}");
    assert_eq!((found[0].region, found[0].caller), (RegionIndex(2), Some(RegionIndex(1))));
    assert!((found[0].seconds.value - 0.5).abs() < 1e-6, "three threads wait for 1.5 seconds");
    let found = all_findings(&threads_with(&[(1.0, 1.0), (2.0, 0.0)], "pthread_join"));
    assert!(found.iter().all(|finding| matches!(finding.kind, FindingKind::HotSpot { .. })), "{found:?}");
}

/// Compilers make several calls of one barrier, by which threads come to it.
#[test]
fn threads_that_come_to_a_barrier_by_calls_of_their_own_meet_there() {
    let mut profile = threads_with(&[(0.1, 1.9), (2.0, 0.0)], "omp barrier");
    let plain = all_findings(&profile);
    for thread in 0..2 {
        let call = Region { kind: RegionKind::CallSite, name: format!("call {thread}").into(), line: 9, ..profile.regions[1].clone() };
        profile.regions.push(call);
        let nodes = &mut profile.locations[thread].nodes;
        nodes.insert(2, Node { region: RegionIndex(3 + thread), parent: Some(1), ..Node::default() });
        nodes[3].parent = Some(2);
    }
    let found = all_findings(&profile);
    assert_eq!((found.len(), &found[0].kind, found[0].seconds), (1, &plain[0].kind, plain[0].seconds));
    let FindingKind::Threads { threads, awaited, cause, .. } = &found[0].kind else { panic!("{found:?}") };
    assert_eq!((*threads, awaited.as_slice(), cause.as_ref().map(|cause| cause.region)), (2, [1].as_slice(), Some(RegionIndex(1))));
    assert_eq!(found[0].caller, Some(RegionIndex(3)), "both calls are in one line");
    profile.regions[4].line = 12;
    assert_eq!(all_findings(&profile)[0].caller, Some(RegionIndex(1)), "the function, where they are not");
}

/// A pool waits for the work of who comes to the barrier in a function of its own.
#[test]
fn who_comes_to_a_barrier_from_elsewhere_may_be_the_last() {
    let mut profile = threads_with(&[(2.0, 0.0), (0.5, 1.5)], "pthread_barrier_wait");
    profile.regions.push(Region { name: "lead".into(), ..profile.regions[1].clone() });
    profile.locations[0].nodes[1].region = RegionIndex(3);
    let found = all_findings(&profile);
    let FindingKind::Threads { threads, awaited, .. } = &found[0].kind else { panic!("{found:?}") };
    assert_eq!((*threads, awaited.as_slice()), (2, [0].as_slice()));
    assert!((found[0].seconds.value - 0.75).abs() < 1e-6, "two threads wait for 1.5 seconds: {found:?}");
}

/// Who begins a team works and waits in what it began; of the others what they begin with stands below their roots. Before the team, the first one
/// works alone. Seconds in the work of the team, by thread.
fn team_with(of: &[f64]) -> Profile {
    let [program, main, parallel, body, work_of_team] = [0, 1, 2, 3, 4];
    let mut profile = threads_with(&vec![(0.0, 0.0); of.len()], "omp parallel");
    for index in 3..5 {
        profile.regions.push(Region { name: format!("f{index}").into(), ..profile.regions[1].clone() });
    }
    let longest = of.iter().copied().fold(0.0, f64::max);
    for (thread, location) in profile.locations.iter_mut().enumerate() {
        let node = |region: usize, parent: Option<usize>, seconds: f64| Node {
            region: RegionIndex(region),
            parent,
            on_calls: 1,
            exclusive: (seconds * 1e9) as i64,
            ..Node::default()
        };
        let work = of[thread];
        location.nodes = match thread {
            0 => {
                let mut wait = node(parallel, Some(1), longest - work);
                let waited = ((longest - work) * 1e9) as u64;
                wait.exchanged = Some(Box::new(Exchanged { wait_ticks: waited, virtual_wait_ticks: waited, ..Exchanged::default() }));
                vec![node(program, None, 0.0), node(main, Some(0), 5.0), wait, node(body, Some(2), 0.0), node(work_of_team, Some(3), work)]
            }
            _ => vec![node(program, None, 5.0 + longest - work), node(body, Some(0), 0.0), node(work_of_team, Some(1), work)],
        };
    }
    profile
}

#[test]
fn the_last_of_a_team_is_told_by_what_it_does_longer_than_who_waits_for_it() {
    let kind = |of: &[f64]| {
        let found = all_findings(&team_with(of));
        found.into_iter().map(|finding| finding.kind).find(|kind| matches!(kind, FindingKind::Threads { .. }))
    };
    let Some(FindingKind::Threads { threads, awaited, cause, .. }) = kind(&[1.0, 1.2, 3.0]) else { panic!("who began it waits") };
    assert_eq!((threads, awaited.as_slice()), (3, [2].as_slice()));
    let cause = cause.expect("the region that takes longer");
    assert_eq!((cause.region, cause.late.as_slice()), (RegionIndex(4), [2].as_slice()));
    assert!((cause.ahead - 2.0).abs() < 1e-6 && (cause.explains - 1.0).abs() < 1e-6, "{cause:?}");
    assert_eq!(kind(&[2.0, 2.0, 2.0]), None, "nobody waits");
}

/// Who has begun the team comes last: the others wait where they are, at their roots.
#[test]
fn teams_within_others_are_taken_to_be_of_two_threads() {
    let mut profile = threads_with(&[(1.0, 1.0), (2.0, 0.0), (1.0, 1.0), (2.0, 0.0)], "omp parallel");
    let won =
        |profile: &Profile| all_findings(profile).iter().find(|one| matches!(one.kind, FindingKind::Threads { .. })).map(|one| one.seconds.value);
    assert!((won(&profile).expect("a finding") - 1.0).abs() < 1e-6, "the third thread begins a team of its own: two seconds of two threads");
    profile.locations[1..].iter_mut().for_each(|location| location.nodes.truncate(2));
    assert!((won(&profile).expect("a finding") - 0.25).abs() < 1e-6, "the first thread alone waits for a second, of four");
}

#[test]
fn members_of_a_team_that_wait_for_who_began_it_are_a_finding() {
    let mut profile = team_with(&[3.0, 1.0, 2.0]);
    // There is nothing that it does alone.
    profile.locations[0].nodes[1].exclusive = 0;
    for (thread, waited) in [(1, 2.0), (2, 1.0)] {
        let ticks = (waited * 1e9) as u64;
        profile.locations[thread].nodes[0].exchanged =
            Some(Box::new(Exchanged { wait_ticks: ticks, virtual_wait_ticks: ticks, ..Exchanged::default() }));
    }
    let compensated = compensate(&profile, Mode::Parallel);
    assert!((Classes::of(&profile, &compensated).waiting_s - 3.0).abs() < 1e-6);
    let found = all_findings(&profile);
    let team = found.iter().find(|finding| matches!(finding.kind, FindingKind::Threads { .. })).expect("a finding");
    let FindingKind::Threads { threads, awaited, cause, .. } = &team.kind else { unreachable!() };
    assert_eq!((*threads, awaited.as_slice(), team.region, team.caller), (3, [0].as_slice(), RegionIndex(2), Some(RegionIndex(1))));
    assert!((team.seconds.value - 1.0).abs() < 1e-6, "three threads wait for three seconds: {team:?}");
    assert_eq!(cause.as_ref().map(|cause| (cause.region, cause.late.as_slice())), Some((RegionIndex(4), [0].as_slice())), "{cause:?}");
}

/// Members wait at their roots for the teams of whichever function.
#[test]
fn members_of_teams_of_several_functions_wait_for_what_the_first_thread_does_between_them() {
    let mut profile = team_with(&[1.0, 1.0]);
    let serial = RegionIndex(profile.regions.len());
    profile.regions.push(Region { name: "serial".into(), ..profile.regions[1].clone() });
    profile.regions.push(Region { name: "other".into(), ..profile.regions[1].clone() });
    let node = |region, parent, exclusive| Node { region, parent: Some(parent), on_calls: 1, exclusive, ..Node::default() };
    let first = &mut profile.locations[0].nodes;
    first[1].exclusive = 0;
    first.extend([node(serial, 0, 5_000_000_000), node(RegionIndex(serial.0 + 1), 0, 0), node(RegionIndex(2), 6, 0)]);
    profile.locations[1].nodes[0].exchanged =
        Some(Box::new(Exchanged { wait_ticks: 5_000_000_000, virtual_wait_ticks: 5_000_000_000, ..Exchanged::default() }));
    let found = all_findings(&profile);
    let FindingKind::Threads { threads, awaited, cause, .. } = &found[0].kind else { panic!("{found:?}") };
    assert_eq!((*threads, awaited.as_slice(), found[0].caller), (2, [0].as_slice(), None));
    assert_eq!(cause.as_ref().map(|cause| (cause.region, cause.late.as_slice())), Some((serial, [0].as_slice())), "{cause:?}");
}

#[test]
fn threads_that_had_no_processor_may_be_late_by_that_alone() {
    let judged = |of: &[(f64, f64)], queued: &[f64]| {
        let mut profile = threads_with(of, "omp barrier");
        profile.locations.iter_mut().zip(queued).for_each(|(location, queued)| location.queued_s = Some(*queued));
        let found = all_findings(&profile);
        (found[0].certainty, found[0].queued_s.is_some())
    };
    let late = [(1.0, 1.0), (2.0, 0.0), (1.0, 1.0)];
    assert_eq!(judged(&late, &[0.0, 0.0, 0.0]), (Certainty::Sure, false));
    assert_eq!(judged(&late, &[0.0, 1.0, 0.0]), (Certainty::Possible, true), "so much it had none");
    assert_eq!(
        judged(&late, &[0.5, 1.0, 0.5]),
        (Certainty::Likely, false),
        "with processors they would have waited only for what the late one works longer"
    );
    let in_turn = [(1.0, 0.5), (1.0, 0.5), (1.0, 0.5)];
    assert_eq!(judged(&in_turn, &[0.0, 0.0, 0.0]), (Certainty::Sure, false));
    assert_eq!(judged(&in_turn, &[0.6, 0.5, 0.4]), (Certainty::Possible, true));
}

#[test]
fn threads_that_wait_for_a_lock_are_a_finding_that_says_how_often() {
    let found = all_findings(&threads_with(&[(1.0, 1.0), (1.5, 0.5)], "contended pthread_mutex_lock"));
    let FindingKind::Lock { threads, processes, waits, each_s } = found[0].kind else { panic!("{found:?}") };
    assert_eq!((found.len(), found[0].region, found[0].caller), (1, RegionIndex(2), Some(RegionIndex(1))));
    assert_eq!((threads, processes), (2, 1));
    assert!((found[0].seconds.value - 0.75).abs() < 1e-6 && (each_s * waits as f64 - 1.5).abs() < 1e-6, "{found:?}");
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
fn a_program_that_sleeps_or_has_no_processor_is_told_so_beside_where_its_time_is() {
    let mut profile = threads_with(&[(2.0, 0.0)], "omp barrier");
    (profile.locations[0].asleep_s, profile.locations[0].queued_s) = (0.5, Some(0.3));
    let found = all_findings(&profile);
    let [asleep, hot_spot, none] = &found[..] else { panic!("{found:?}") };
    let FindingKind::Asleep { ranks, longest_s, outside_s, in_files_s } = &asleep.kind else { panic!("{found:?}") };
    assert_eq!((ranks.as_slice(), *longest_s, *in_files_s, asleep.certainty), ([].as_slice(), 0.5, None, Certainty::Sure));
    assert!((outside_s - 2.0).abs() < 1e-6 && (asleep.seconds.value - 0.5).abs() < 1e-9, "{asleep:?}");
    assert!(matches!(hot_spot.kind, FindingKind::HotSpot { asleep_s: 0.5, .. }) && hot_spot.certainty == Certainty::Likely, "{found:?}");
    let FindingKind::NoProcessor { longest, .. } = &none.kind else { panic!("{found:?}") };
    assert!((longest.queued_s - 0.3).abs() < 1e-9 && (none.seconds.value - 0.3).abs() < 1e-9, "{none:?}");
    (profile.locations[0].asleep_s, profile.locations[0].queued_s) = (0.09, Some(0.0));
    assert!(matches!(&all_findings(&profile)[..], [finding] if matches!(finding.kind, FindingKind::HotSpot { .. })));
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
