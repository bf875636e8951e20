//! Ranks and threads that had no processor: what is said of them, and of waiting that may come of it.

mod support;

use support::{all_findings, ranks_with};
use tare_compensate::whole::{Certainty, Finding, FindingKind};
use tare_compensate::{Figure, Mode, compensate};
use tare_profile::{Profile, Standing};

#[test]
fn where_a_rank_queued_is_not_known_while_it_is_in_mpi() {
    let known = |standing: Option<Standing>| {
        let mut profile = ranks_with(2, |_| (0.6, 0.4, None));
        profile.locations.iter_mut().for_each(|location| (location.queued_s, location.standing) = (Some(0.5), standing));
        let shortages = tare_compensate::whole::shortages(&profile, &compensate(&profile, Mode::Off));
        shortages.iter().all(tare_compensate::whole::Shortage::is_split_known)
    };
    let (work, mpi) = (1, 2);
    let since = |node| Some(Standing { node: Some(node), since: 1_000_000_000 });
    assert_eq!((known(None), known(since(work)), known(since(mpi))), (true, true, false));
}

/// A rank that works a second longer than seven others, of which it had no processor for so long; as the others for theirs.
fn late_by_a_second(queued_s: f64, others: f64) -> Vec<Finding> {
    let mut profile = ranks_with(8, |rank| if rank == 3 { (2.0, 0.0, None) } else { (1.0, 1.0, None) });
    profile.locations.iter_mut().for_each(|location| location.queued_s = Some(others));
    profile.locations[3].queued_s = Some(queued_s);
    all_findings(&profile)
}

#[test]
fn the_less_a_late_rank_had_a_processor_the_less_it_is_the_program_that_is_late() {
    let of_waiting = |queued_s, others| {
        let found = late_by_a_second(queued_s, others);
        let late = found.iter().find(|finding| matches!(finding.kind, FindingKind::LateArrival { .. }));
        late.map(|finding| (finding.certainty, finding.queued_s))
    };
    assert_eq!(of_waiting(0.0, 0.0), Some((Certainty::Sure, None)));
    assert_eq!(of_waiting(0.1, 0.0), Some((Certainty::Sure, None)));
    assert_eq!(
        of_waiting(0.3, 0.0).map(|(certainty, queued)| (certainty, queued.map(|queued| (queued * 1e4).round()))),
        Some((Certainty::Likely, Some(2625.0))),
        "of what seven of eight ranks wait"
    );
    assert_eq!(of_waiting(0.9, 0.0), None, "all of it may be so");
    assert_eq!(
        of_waiting(1.5, 0.75),
        Some((Certainty::Likely, None)),
        "with processors they would have waited only for what the late one works longer"
    );
}

#[test]
fn that_a_rank_had_no_processor_is_a_finding_of_its_own() {
    let of_processors = |queued_s| {
        let found = late_by_a_second(queued_s, 0.0);
        found.into_iter().find(|finding| matches!(finding.kind, FindingKind::NoProcessor { .. }))
    };
    assert_eq!(of_processors(0.05), None);
    let found = of_processors(0.9).expect("much of the run");
    let FindingKind::NoProcessor { ranks, longest, explains, sharing } = &found.kind else { panic!("{found:?}") };
    assert_eq!((ranks.as_slice(), *sharing), ([3].as_slice(), None));
    assert!((longest.outside_s - 2.0).abs() < 1e-6 && longest.is_split_known(), "{longest:?}");
    assert!((explains - 0.9 * 7.0 / 8.0).abs() < 1e-6, "seven of eight ranks wait a second for it, a tenth of which it worked longer");
    assert_eq!((found.certainty, longest.queued_s), (Certainty::Sure, 0.9));
    assert!((found.seconds.value - 0.9).abs() < 1e-9, "its time and their waiting for it are the same: {found:?}");
}

/// Ranks that queued for so long outside of MPI and in it, with `calls` of MPI each.
fn with_queues(profile: &mut Profile, calls: u64, of: impl Fn(usize) -> (f64, f64)) {
    for (rank, location) in profile.locations.iter_mut().enumerate() {
        let (outside, in_mpi) = of(rank);
        (location.queued_s, location.queued_in_calls_s) = (Some(outside + in_mpi), in_mpi);
        location.nodes[2].on_calls = calls;
    }
}

#[test]
fn nobody_loses_more_for_want_of_a_processor_than_the_run_took() {
    let found_with = |calls: u64| {
        // Two take turns on a processor: each queues for half of its work, and waits for the other as long as it works more.
        let mut profile = ranks_with(2, |rank| if rank == 0 { (2.0, 0.5, None) } else { (2.0, 0.6, None) });
        with_queues(&mut profile, calls, |_| (1.0, 0.5));
        all_findings(&profile)
    };
    let found = found_with(2);
    let [finding] = found.as_slice() else { panic!("{found:?}") };
    let FindingKind::NoProcessor { explains, .. } = &finding.kind else { panic!("{found:?}") };
    assert!((explains - 0.55).abs() < 1e-6);
    assert!((finding.seconds.value - 1.5).abs() < 1e-6, "the rank that lost least: {finding:?}");
    let known_to = |figure: &Figure| ((figure.value - figure.low) * 1000.0).round() / 1000.0;
    assert_eq!((finding.certainty, known_to(&finding.seconds)), (Certainty::Sure, 0.002), "two looks are of both");
    let found = found_with(1_000_000);
    assert_eq!(found.last().map(|finding| (finding.certainty, known_to(&finding.seconds))), Some((Certainty::Likely, 0.6)), "all looks are of both");
    let mut alone = ranks_with(2, |_| (2.0, 0.6, None));
    alone.locations.iter_mut().flat_map(|location| &mut location.nodes).for_each(|node| node.exchanged = None);
    with_queues(&mut alone, 1_000_000, |_| (0.3, 0.3));
    let processors = |finding: &Finding| matches!(finding.kind, FindingKind::NoProcessor { .. });
    assert_eq!(all_findings(&alone).into_iter().find(processors).map(|finding| finding.certainty), Some(Certainty::Open));
}

#[test]
fn work_that_differs_is_found_however_long_ranks_queued_in_mpi() {
    // Rank 0 has three times the work of the others, and queues in MPI for most of what they wait.
    let late = |work: f64| {
        let mut profile = ranks_with(4, |rank| if rank == 0 { (work + 0.5, 0.0, None) } else { (1.0, work - 0.5, None) });
        with_queues(&mut profile, 1_000, |_| (0.5, 0.8));
        all_findings(&profile).into_iter().map(|finding| (finding.kind, finding.certainty, finding.queued_s)).collect::<Vec<_>>()
    };
    let found = late(1.5);
    assert!(matches!(found[0], (FindingKind::LateArrival { .. }, Certainty::Sure, None)), "{found:?}");
    assert!(matches!(found[1].0, FindingKind::NoProcessor { .. }), "behind what is to be said of the program: {found:?}");
}

#[test]
fn beside_other_programs_a_late_sender_is_told_by_the_time_that_it_had_a_processor() {
    // Rank 0 works for ten seconds, of which it had a processor for so long; rank 1 waits for it meanwhile.
    let found_with = |worked: f64| {
        let mut profile = ranks_with(2, |rank| if rank == 0 { (10.0, 0.0, None) } else { (0.1, 9.9, Some(0)) });
        with_queues(&mut profile, 10, |rank| if rank == 0 { (10.0 - worked, 0.0) } else { (0.0, 0.0) });
        all_findings(&profile)
    };
    let found = found_with(1.5);
    assert!(matches!(found[0].kind, FindingKind::LateSender { .. }), "{found:?}");
    assert_eq!((found[0].certainty, (found[0].seconds.value * 1e3).round()), (Certainty::Likely, 700.0), "half of what it works longer: {found:?}");
    assert!(matches!(found[1].kind, FindingKind::NoProcessor { .. }), "{found:?}");
    assert!(found_with(0.2).iter().all(|finding| matches!(finding.kind, FindingKind::NoProcessor { .. })), "hardly any of it is its work");
}

#[test]
fn a_rank_that_queued_while_it_waited_itself_is_not_late_by_that() {
    // Ranks 0 and 1 wait for the others, of which rank 3 has waited elsewhere, and looked for its message without a processor.
    let found_with = |waited: f64| {
        let mut profile = ranks_with(4, |rank| if rank < 2 { (0.2, 0.8, None) } else { (0.2, 0.0, None) });
        with_queues(&mut profile, 10, |rank| if rank == 3 { (0.0, 0.8) } else { (0.0, 0.0) });
        profile.locations[2].nodes[1].exclusive = 1_000_000_000;
        profile.locations[3].nodes[1].exclusive = ((0.2 + waited) * 1e9) as i64;
        profile.locations[3].nodes[2].exclusive = ((0.8 - waited) * 1e9) as i64;
        all_findings(&profile).into_iter().map(|finding| (finding.certainty, finding.queued_s)).next()
    };
    assert_eq!(found_with(0.8), Some((Certainty::Sure, None)));
    assert_ne!(found_with(0.0).map(|found| found.0), Some(Certainty::Sure), "its own operation took so long, which nobody else was late for");
}

#[test]
fn waiting_that_may_come_of_a_queue_in_mpi_is_said_to_be_possible_and_that_nobody_queued_outside_is_no_finding() {
    let mut profile = ranks_with(2, |rank| if rank == 0 { (0.2, 0.008, None) } else { (0.2, 0.009, None) });
    with_queues(&mut profile, 100, |_| (0.000_2, 0.012));
    let found = all_findings(&profile);
    assert!(matches!(found[..], [Finding { kind: FindingKind::LateArrival { .. }, certainty: Certainty::Possible, .. }]), "{found:?}");
    let (milliseconds, queued) = ((found[0].seconds.value * 1e4).round() / 10.0, found[0].queued_s.map(|seconds| (seconds * 1e4).round() / 10.0));
    assert_eq!((milliseconds, queued), (8.5, Some(8.5)), "all of it may be that, and no more than it");
    // Where that is much of the run, there is something to say, but no amount.
    let mut profile = ranks_with(2, |_| (0.2, 0.1, None));
    with_queues(&mut profile, 100, |_| (0.000_2, 0.1));
    assert_eq!(all_findings(&profile).iter().map(|finding| finding.certainty).collect::<Vec<_>>(), [Certainty::Open]);
}

#[test]
fn ranks_without_a_processor_explain_no_more_waiting_than_they_had_none() {
    // Two take turns and wait for each other for 0.2 s; rank 1 had no processor outside of MPI, rank 0 in it.
    let found_with = |queued_s: f64| {
        let mut profile = ranks_with(2, |_| (0.5, 0.2, None));
        with_queues(&mut profile, 2, |rank| if rank == 1 { (queued_s, 0.0) } else { (0.0, 0.15) });
        all_findings(&profile).into_iter().map(|finding| (finding.kind, finding.certainty)).collect::<Vec<_>>()
    };
    let found = found_with(0.045);
    let [(FindingKind::LateArrival { .. }, Certainty::Possible), (FindingKind::NoProcessor { ranks, explains, .. }, _)] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((ranks.as_slice(), (explains * 1e3).round()), ([1].as_slice(), 45.0), "what ranks wait for is said by itself");
    let found = found_with(0.16);
    let [(FindingKind::NoProcessor { explains, .. }, _)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((explains * 1e3).round(), 160.0);
}

#[test]
fn who_has_nothing_to_do_has_not_worked_though_threads_share_processors() {
    // Rank 1 has twice the work, in two threads each; all of them queue for half of it. The second thread of rank 0 then does nothing.
    let mut profile = ranks_with(2, |rank| if rank == 1 { (2.0, 0.0, None) } else { (1.0, 1.0, None) });
    for (rank, work) in [(0, 1.0), (1, 2.0)] {
        let mut second = profile.locations[rank].clone();
        second.thread = 1;
        second.nodes.truncate(2);
        second.nodes[0].exclusive = ((2.0 - work) * 1e9) as i64;
        profile.locations[rank].queued_s = Some(0.5 * work);
        second.queued_s = Some(0.55 * work);
        profile.locations.push(second);
    }
    let found = all_findings(&profile);
    let late = found.iter().find(|finding| matches!(finding.kind, FindingKind::LateArrival { .. }));
    let late = late.unwrap_or_else(|| panic!("{found:?}"));
    let milliseconds = [late.seconds.value, late.seconds.low].map(|seconds| (seconds * 1e3).round());
    assert_eq!(
        (late.certainty, milliseconds),
        (Certainty::Likely, [500.0, 225.0]),
        "half of what the busiest thread of the late rank works longer, which takes twice as long where all queue for half of it"
    );
}

#[test]
fn too_little_time_without_a_processor_is_not_told() {
    let is_told = |queued_s| {
        let mut profile = ranks_with(2, |_| (0.04, 0.0, None));
        profile.locations.iter_mut().for_each(|location| location.queued_s = Some(queued_s));
        all_findings(&profile).iter().any(|finding| matches!(finding.kind, FindingKind::NoProcessor { .. }))
    };
    assert_eq!([0.008, 0.012].map(is_told), [false, true]);
}

#[test]
fn who_queues_in_mpi_makes_those_late_alone_who_wait_for_it() {
    let with_in_mpi = |late: f64, others: f64| {
        let mut profile = ranks_with(8, |rank| if rank == 3 { (2.0 - late, 0.0, None) } else { (1.0, 1.0, None) });
        profile.locations[3].nodes[2].exclusive = (late * 1e9) as i64;
        for (rank, location) in profile.locations.iter_mut().enumerate() {
            let queued = if rank == 3 { late } else { others };
            (location.queued_s, location.queued_in_calls_s) = (Some(queued), queued);
        }
        all_findings(&profile).into_iter().find(|finding| matches!(finding.kind, FindingKind::LateArrival { .. })).map(|finding| finding.certainty)
    };
    assert_eq!(with_in_mpi(0.0, 0.9), Some(Certainty::Sure));
    assert_eq!(with_in_mpi(0.9, 0.0), None, "that ranks had no processor is the finding");
}
