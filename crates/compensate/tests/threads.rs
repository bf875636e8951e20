//! Threads that wait for one another, for a known cause, must give exactly the known finding.

mod support;

use support::{all_findings, threads_with};
use tare_compensate::whole::{Certainty, Classes, FindingKind, crowded};
use tare_compensate::{Mode, compensate};
use tare_profile::{Exchanged, Node, ProcessIndex, Processors, Profile, Region, RegionIndex, RegionKind};

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

#[test]
fn the_seconds_of_a_hot_spot_are_those_of_all_threads_as_its_part_is_and_its_calls_are() {
    let found = all_findings(&threads_with(&[(1.0, 1.0), (2.0, 0.0)], "pthread_join"));
    let FindingKind::HotSpot { part, calls, per_call_s, .. } = found[0].kind else { panic!("{found:?}") };
    assert!((found[0].seconds.value - 3.0).abs() < 1e-6 && (part - 0.75).abs() < 1e-6, "{found:?}");
    assert!((per_call_s * calls as f64 - found[0].seconds.value).abs() < 1e-6, "{found:?}");
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

/// In one process the first thread waits, in the other one the second.
#[test]
fn processes_whose_threads_wait_for_others_blame_nobody_for_all() {
    let mut profile = threads_with(&[(0.5, 1.5), (2.0, 0.0), (2.0, 0.0), (0.5, 1.5)], "omp barrier");
    profile.processes.push(profile.processes[0].clone());
    for (index, location) in profile.locations.iter_mut().enumerate() {
        (location.process, location.thread) = (ProcessIndex(index / 2), index as u32 % 2);
    }
    let awaited = |profile: &Profile| match &all_findings(profile)[0].kind {
        FindingKind::Threads { processes: 2, awaited, .. } => awaited.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(awaited(&profile), []);
    let nodes = |profile: &Profile| [2, 3].map(|index| profile.locations[index].nodes.clone());
    let [first, second] = nodes(&profile);
    (profile.locations[2].nodes, profile.locations[3].nodes) = (second, first);
    assert_eq!(awaited(&profile), [1]);
}

/// A thread that takes the place of none that has ended has a location of its own, and wants no processor beside it.
#[test]
fn threads_that_come_one_after_another_share_no_processors() {
    let mut profile = threads_with(&[(1.0, 0.0); 5], "pthread_join");
    for location in &mut profile.locations {
        (location.ran_s, location.queued_s, location.processors) = (Some(1.0), Some(0.0), Some(Processors { first: 0, number: 2 }));
    }
    assert_eq!(crowded(&profile), Some((5, 2)));
    profile.processes[0].most_threads = Some(2);
    assert_eq!(crowded(&profile), None);
    profile.processes[0].most_threads = Some(3);
    assert_eq!(crowded(&profile), Some((3, 2)));
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
