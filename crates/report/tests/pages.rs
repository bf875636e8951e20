//! What people see, at three widths, in two character sets, for runs that went well and runs that did not.
//!
//! The texts are in `golden/`; `TARE_BLESS=1 cargo test -p tare-report` writes them anew.

mod support;

use proptest::prelude::*;
use support::{alone_and_lossy, golden, many, master_and_worker, run};
use tare_compensate::Mode;
use tare_compensate::validation::{Measured, Pair, Unmeasured, Validation};
use tare_profile::{Location, LocationLosses, Node, Process, Processors, Profile, Region, RegionIndex, RegionKind, Standing, State, Switch, Why};
use tare_report::{Exit, Page, Results, Run, Selection, json, text};
use unicode_width::UnicodeWidthStr;

fn page(width: usize) -> Page {
    Page { width, ..Page::default() }
}

fn fits(text: &str, width: usize) {
    for line in text.lines() {
        assert!(line.width() <= width, "{} columns: {line:?}", line.width());
        assert_eq!(line, line.trim_end(), "blanks at the end");
    }
    for nonsense in ["± 0.0 ", "± 0 ", "NaN", "inf ", "\u{1b}"] {
        assert!(!text.contains(nonsense), "{nonsense:?} in\n{text}");
    }
}

fn check(name: &str, run: &Run, profile: &Profile, mode: Mode, page: &Page) {
    let text = text::summary(run, &Results::new(profile, mode), page);
    fits(&text, page.width);
    golden(name, &text);
}

#[test]
fn colours_say_nothing_that_the_text_does_not() {
    for (profile, word, width) in
        [(master_and_worker(), "\u{1b}[32mgood", 80), (alone_and_lossy(), "\u{1b}[33mlimited", 120), (master_and_worker(), "", 40)]
    {
        let results = Results::new(&profile, Mode::Parallel);
        let [plain, styled] = [false, true].map(|styled| text::report(&run(), &results, &Page { styled, ..page(width) }));
        assert!(!plain.contains('\u{1b}'));
        let parts: Vec<&str> = styled.split('\u{1b}').collect();
        let without: String = parts[..1].iter().copied().chain(parts[1..].iter().map(|part| part.split_once('m').expect("SGR").1)).collect();
        assert_eq!(without, plain);
        let shown = |part: &str| styled.contains(&format!("{part}\u{1b}[0m"));
        assert!(shown("\u{1b}[1mTime") && shown("\u{1b}[1mTrust") && shown(word), "{styled:?}");
    }
}

#[test]
fn a_report_of_many_ranks_begins_with_what_was_found_and_has_an_end() {
    let profile = many(3_000, 600);
    let report = |top| text::report(&run(), &Results::new(&profile, Mode::Parallel), &Page { top, ..page(100) });
    let short = report(50);
    let line = |words: &str| short.lines().position(|line| line.contains(words)).unwrap_or_else(|| panic!("{words} in\n{short}"));
    assert!(line("could be won at most") < 8 && line("could be won at most") < line("Outside MPI"), "{short}");
    assert!(short.lines().count() < 200, "{} lines", short.lines().count());
    assert!(line("(550 more that took less time: --all shows them)") < line("more regions: "), "{short}");
    assert!(line("--all shows them)") < line("mean of 600 ranks"), "{short}");
    assert!(report(usize::MAX).lines().count() > 3_000 && !report(usize::MAX).contains("--all"));
}

#[test]
fn what_passed_behind_exceptions_limits_trust_where_it_is_much() {
    let trust = |part: f64| {
        let mut profile = alone_and_lossy();
        profile.locations[0].losses = LocationLosses::default();
        let ticks: i64 = profile.locations[0].nodes.iter().map(|node| node.exclusive).sum();
        profile.locations[0].losses.skipped_ticks = (part * ticks as f64) as u64;
        text::report(&run(), &Results::new(&profile, Mode::Parallel), &page(200))
    };
    let much = trust(0.5);
    fits(&much, 200);
    assert!(
        much.contains(" of the time passed behind exceptions, longjmp or a switch of stacks") && much.contains("--levels functions,callsites"),
        "{much}"
    );
    assert!(!trust(0.001).contains("behind exceptions"));
}

#[test]
fn where_threads_wait_has_a_table_of_its_own() {
    let mut profile = master_and_worker();
    profile.regions[3] = Region::named(RegionKind::Threads, "omp barrier", "threads");
    let report = |mode| text::report(&run(), &Results::new(&profile, mode), &page(80));
    let row = |text: &str| {
        let mut lines = text.lines().skip_while(|line| !line.contains("Threads wait, s"));
        let [head, row] = [lines.next(), lines.next()].map(|line| line.expect("a line of the table").to_string());
        (head.split_whitespace().skip(3).map(String::from).collect::<Vec<_>>(), row.split_whitespace().map(String::from).collect::<Vec<_>>())
    };
    // Means of two ranks, of which one has all of it.
    let parallel = report(Mode::Parallel);
    fits(&parallel, 80);
    let (head, cells) = row(&parallel);
    assert_eq!(head, ["measured", "parallel", "calls", "threads"]);
    assert_eq!(cells, ["omp", "barrier", "in", "main", "4.40", "3.60", "1000", "1"]);
    assert_eq!(row(&report(Mode::Local)).1, ["omp", "barrier", "in", "main", "4.40", "1000", "1"]);
    assert!(!text::report(&run(), &Results::new(&master_and_worker(), Mode::Parallel), &page(80)).contains("Threads wait"));
}

#[test]
fn the_time_of_a_run_that_goes_on_is_so_far() {
    let mut profile = master_and_worker();
    let going = Run { exit: Exit::Unknown, ..run() };
    let said = |run: &Run, profile: &Profile| text::report(run, &Results::new(profile, Mode::Parallel), &page(100)).contains("compensated so far,");
    assert!(!said(&going, &profile), "all have ended");
    for process in &mut profile.processes {
        process.state = State::Running;
        process.span.iter_mut().for_each(|span| span.closed = false);
    }
    assert!(said(&going, &profile));
    assert!(!said(&run(), &profile), "it was cut off");
}

#[test]
fn a_summary_at_three_widths() {
    for width in [40, 80, 120] {
        check(&format!("summary-{width}.txt"), &run(), &master_and_worker(), Mode::Parallel, &page(width));
    }
}

#[test]
fn a_summary_in_plain_ascii() {
    let page = Page { unicode: false, ..page(80) };
    let text = text::summary(&run(), &Results::new(&master_and_worker(), Mode::Parallel), &page);
    assert!(text.is_ascii(), "{text}");
    check("summary-ascii.txt", &run(), &master_and_worker(), Mode::Parallel, &page);
}

#[test]
fn libraries_without_room_are_a_loss() {
    let said = |lost: u64| {
        let mut profile = master_and_worker();
        profile.processes[1].lost_images = lost;
        let text = text::summary(&run(), &Results::new(&profile, Mode::Parallel), &page(120));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(said(0).contains("nothing lost"), "{}", said(0));
    let two = said(2);
    assert!(two.contains("2 times a library was opened for which there was no room") && !two.contains("nothing lost"), "{two}");
}

#[test]
fn names_in_findings_are_short_in_text_and_on_the_page_and_whole_in_documents() {
    let mut profile = master_and_worker();
    let whole = |name: &str| format!("Holder<{}>::{name}(std::map<int, std::pair<int const, double>>&)", "std::pair<int const, double>, ".repeat(40));
    (profile.regions[1].name, profile.regions[2].name) = (whole("receive_all").into(), whole("grind").into());
    let results = Results::new(&profile, Mode::Parallel);
    for width in [40, 80, 120] {
        let text = text::report(&run(), &results, &page(width));
        fits(&text, width);
        let (_, findings) = text.split_once("\n  1  ").expect("a finding");
        let (first, _) = findings.split_once("\n  2  ").or_else(|| findings.split_once("\n\n")).expect("its end");
        assert!(first.contains("Holder<…>") && first.contains("ceive_all") && !first.contains("std::pair"), "{first}");
        assert!(first.lines().count() <= 640 / width, "{first}");
    }
    let html = tare_report::html::page(&run(), &results, &[], tare_report::html::MOST_PATHS);
    let findings = html.split("<ol class=\"findings\">").nth(1).and_then(|rest| rest.split("</ol>").next()).expect("findings");
    assert!(findings.contains("in Holder&lt;…&gt;::receive_all(std::map&lt;…&gt;&amp;) (pi.c:80)") && !findings.contains("std::pair"), "{findings}");
    let document = tare_report::json::report(&run(), &results);
    assert!(document.contains(&format!("MPI_Recv in {} (pi.c:80)", whole("receive_all"))), "{document}");
}

#[test]
fn what_was_off_is_a_few_short_names_with_most_calls_first() {
    let mut profile = master_and_worker();
    let name = |number: usize| format!("std::_Rb_tree<{}>::_M_erase_{number}(std::_Rb_tree_node<int>*)", "std::pair<int const, double>, ".repeat(40));
    (1..=4).for_each(|number| profile.regions[number].name = name(number).into());
    let switch = |number: usize| Switch {
        region: RegionIndex(number),
        off: true,
        why: Some(Why::Budget),
        at_s: 0.5,
        calls: 1 << (10 + number),
        period_s: None,
    };
    profile.processes[1].switches = (1..=4).map(switch).collect();
    let text = text::summary(&run(), &Results::new(&profile, Mode::Parallel), &page(80));
    fits(&text, 80);
    let (_, entry) = text.split_once("\n  Off          std::_Rb_tree<…>::_M_erase_4 for the budget after 16.4").expect("the one with most calls");
    let (entry, _) = entry.split_once("\n  Try ").expect("what comes next");
    assert!(entry.contains(" std::_Rb_tree<…>::_M_erase_2 ") && entry.contains(", and 1 more (--format json)."), "{text}");
    assert!(!entry.contains("_M_erase_1") && entry.lines().count() <= 6, "{text}");
}

#[test]
fn what_a_rank_was_in_that_did_not_come_to_its_end_is_no_work_to_be_moved() {
    let words = |profile: &Profile| {
        let text = text::summary(&run(), &Results::new(profile, Mode::Parallel), &page(120));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut profile = master_and_worker();
    assert!(words(&profile).contains("which spends far longer in main"), "{}", words(&profile));
    profile.processes[1].state = State::CutOff;
    assert!(words(&profile).contains("which spends far longer in main"), "the waits that ended are explained by what ended: {}", words(&profile));
    let worker = &mut profile.locations[1];
    let hung = worker.nodes[1].exclusive + worker.nodes[2].exclusive;
    worker.nodes[1].exclusive = hung;
    worker.nodes[2].exclusive = 0;
    worker.standing = Some(Standing { node: Some(1), since: hung.unsigned_abs() });
    let said = words(&profile);
    assert!(said.contains("rank 0 waits for rank 1; no single region explains it") && !said.contains("longer in main"), "{said}");
}

/// A process whose three threads stood in these regions, `None` for one that had ended, when a signal ended it.
fn crashed(stood: [Option<usize>; 3]) -> String {
    let mut profile = alone_and_lossy();
    let rest = profile.regions[2].clone();
    profile.regions.push(Region { kind: RegionKind::Threads, name: "pthread_join".into(), file: String::new(), line: 0, ..rest.clone() });
    profile.regions.push(Region { name: "boom()".into(), line: 6, ..rest });
    profile.processes[0].state = State::CutOff;
    let first = profile.locations[0].clone();
    profile.locations = (0..)
        .zip(stood)
        .map(|(thread, region)| {
            let mut location = Location { thread, ..first.clone() };
            location.nodes[2].region = RegionIndex(region.unwrap_or(2));
            location.standing = region.map(|_| Standing { node: Some(2), since: 1_000 });
            location
        })
        .collect();
    let said = words(&Run { exit: Exit::Signal("SIGABRT".into()), ..run() }, &Results::new(&profile, Mode::Parallel));
    let (_, said) = said.split_once("did not come to its end").expect("it is said");
    said.split_once(" Trust ").expect("what comes next").0.to_string()
}

#[test]
fn where_a_process_was_cut_off_is_where_one_of_its_threads_was_at_work() {
    let (join, boom) = (alone_and_lossy().regions.len(), alone_and_lossy().regions.len() + 1);
    assert_eq!(crashed([Some(join), Some(boom), None]), ", in boom() (pi.c:6, thread 1)");
    assert_eq!(crashed([Some(boom), Some(join), None]), ", in boom() (pi.c:6)");
    assert_eq!(crashed([Some(join), Some(boom), Some(boom)]), ", in boom() (pi.c:6, threads 1–2)");
    assert_eq!(crashed([Some(join), Some(join), None]), ", in pthread_join", "it was ended from outside");
    let several = crashed([Some(join), Some(boom), Some(1)]);
    assert_eq!(several, ", in main (pi.c:80, thread 2) or boom() (pi.c:6, thread 1)", "nothing tells which of them");
}

#[test]
fn blanks_of_an_argument_are_as_many_as_they_are() {
    let run = Run { program: "./app 'arg with  sp   3'".into(), ..run() };
    let text = text::summary(&run, &Results::new(&alone_and_lossy(), Mode::Parallel), &page(80));
    assert!(text.starts_with("tare: ./app 'arg with  sp   3' "), "{text}");
}

#[test]
fn trust_is_not_good_where_most_of_the_time_is_not_to_be_trusted() {
    let mut profile = alone_and_lossy();
    let location = &mut profile.locations[0];
    location.losses = LocationLosses::default();
    location.nodes[2].exclusive = 8_000_000;
    (location.nodes[2].on_calls, location.nodes[2].off_calls) = (0, 100);
    let said = words(&run(), &Results::new(&profile, Mode::Parallel));
    assert!(said.contains("limited: regions with ") && said.contains(" of the time are not to be trusted;"), "{said}");
}

/// What is said of processors that processes did not have.
fn without_processors(profile: &Profile) -> String {
    let said = words(&run(), &Results::new(profile, Mode::Parallel));
    let (_, said) = said.split_once(" Processors ").expect("it is said");
    said.replace('\u{202f}', " ").chars().take(100).collect()
}

#[test]
fn who_had_no_processor_is_the_thread_whose_time_stands_beside_it() {
    let mut profile = alone_and_lossy();
    let second = Location { thread: 2, queued_s: Some(0.2), ..profile.locations[0].clone() };
    profile.locations.push(second);
    profile.locations[1].nodes[1].exclusive = 800_000_000;
    let said = without_processors(&profile);
    assert!(said.starts_with("process 4710 thread 2 could run and had none for 200 ms of 40"), "{said}");
}

#[test]
fn of_others_whose_figure_is_next_to_nothing_nothing_is_said() {
    let mut profile = master_and_worker();
    profile.locations[1].queued_s = Some(2.0);
    let said = without_processors(&profile);
    assert!(said.starts_with("rank 1 could run outside MPI and had none for 2.00 s of 9"), "{said}");
    // All of it in MPI, as far as that is known.
    (profile.locations[0].queued_s, profile.locations[0].queued_in_calls_s) = (Some(5.0), 5.0);
    let said = without_processors(&profile);
    assert!(said.starts_with("rank 1 could run outside MPI and had none for 2.00 s of 9") && !said.contains("another one"), "{said}");
}

#[test]
fn what_is_shown_follows_the_compensation_that_was_asked_for() {
    check("summary-local.txt", &run(), &master_and_worker(), Mode::Local, &page(80));
    check("summary-off.txt", &run(), &master_and_worker(), Mode::Off, &page(80));
}

#[test]
fn the_full_report_shows_every_rank_and_region() {
    let text = text::report(&run(), &Results::new(&master_and_worker(), Mode::Parallel), &page(120));
    fits(&text, 120);
    golden("report-120.txt", &text);
}

#[test]
fn a_program_without_mpi_that_lost_calls_says_so_first() {
    check("alone-80.txt", &Run { program: "solver".into(), ..run() }, &alone_and_lossy(), Mode::Parallel, &page(80));
}

#[test]
fn calls_without_delays_limit_trust_where_delays_are_shown() {
    let mut profile = master_and_worker();
    profile.processes[0].uncovered_calls = 1_200;
    profile.processes[1].unpaired_messages = 1;
    check("undelayed-80.txt", &run(), &profile, Mode::Parallel, &page(80));
    let local = text::summary(&run(), &Results::new(&profile, Mode::Local), &page(120));
    assert!(local.contains("good: 5 of 5 regions; nothing lost; 1200 MPI calls carried no delay"), "{local}");
}

/// A summary in one line.
fn words(run: &Run, results: &Results<'_>) -> String {
    text::summary(run, results, &page(120)).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn where_something_is_missing_it_is_not_said_that_nothing_is_lost() {
    let mut profile = master_and_worker();
    profile.processes.iter_mut().for_each(|process| process.world_size = Some(3));
    profile.processes[0].damaged_records = 1;
    let said = words(&run(), &Results::new(&profile, Mode::Parallel));
    assert!(said.contains("limited: 1 rank left no data; 1 record is damaged or missing; 5 of 5 regions"), "{said}");
    assert!(!said.contains("nothing lost"), "{said}");
}

#[test]
fn what_is_advised_can_help_and_is_not_chosen_already() {
    let mut profile = master_and_worker();
    profile.locations[1].losses.overflow_calls = 3;
    let advised = |options: &str| {
        let run = Run { selection: Some(Selection { options: options.into(), rests_on_costs: false }), ..run() };
        words(&run, &Results::new(&profile, Mode::Parallel))
    };
    assert!(advised("--preset all").contains("Try fewer functions: --preset cc3 or --preset mpi-path"), "{}", advised("--preset all"));
    assert!(advised("--preset mpi-path --library liba").contains("Try fewer functions: --preset mpi-path+cc3"));
    assert!(advised("--preset mpi-path+cc3").contains("Try a filter"));
    // Two ranks that queue for one processor: no choice of functions makes the time certain.
    let mut profile = master_and_worker();
    profile.processes[0].span.iter_mut().for_each(|span| span.end += 100_000_000);
    for location in &mut profile.locations {
        (location.queued_in_calls_s, location.queued_s) = (4.0, Some(4.0));
        location.processors = Some(Processors { first: 0, number: 2 });
    }
    let apart = words(&run(), &Results::new(&profile, Mode::Parallel));
    assert!(!apart.contains("processors"), "{apart}");
    profile.locations.iter_mut().for_each(|location| location.processors = Some(Processors { first: 0, number: 1 }));
    let shared = words(&run(), &Results::new(&profile, Mode::Parallel));
    assert!(shared.contains("as 2 threads share 1 processor;") && shared.contains("Try as many processors as threads"), "{shared}");
}

#[test]
fn where_most_regions_are_not_trusted_it_is_said_what_those_take_that_are() {
    let mut profile = alone_and_lossy();
    let trusted = |profile: &Profile| words(&run(), &Results::new(profile, Mode::Parallel));
    assert!(trusted(&profile).contains("2 of 3 regions"), "{}", trusted(&profile));
    let short = profile.locations[0].nodes[2].clone();
    for number in 0..3 {
        profile.regions.push(Region { name: format!("short{number}").into(), ..profile.regions[2].clone() });
        profile.locations[0].nodes.push(Node { region: RegionIndex(profile.regions.len() - 1), ..short.clone() });
    }
    assert!(trusted(&profile).contains("2 of 6 regions, with 91.5 % of the time"), "{}", trusted(&profile));
}

#[test]
fn calls_of_what_was_off_are_at_least_so_many() {
    let mut profile = alone_and_lossy();
    let shown = |profile: &Profile| words(&run(), &Results::new(profile, Mode::Parallel));
    assert!(!shown(&profile).contains('≥'));
    let inside = profile.locations[0].nodes[2].region;
    profile.processes[0].switches.push(Switch { region: inside, off: true, why: None, at_s: 0.1, calls: 5000, period_s: None });
    assert!(shown(&profile).contains("% ≥ 5000"), "{}", shown(&profile));
}

#[test]
fn calls_are_at_least_so_many_where_those_of_threads_are_missing() {
    let lacks: [fn(&mut Process); 2] = [|process| process.lost_threads = 1, |process| process.refused_calls = 7];
    for lack in lacks {
        let mut profile = alone_and_lossy();
        lack(&mut profile.processes[0]);
        let results = Results::new(&profile, Mode::Parallel);
        let shown = words(&run(), &results);
        let counted = results.shown.locations[0].nodes.len() - 1;
        assert!(shown.matches("≥").count() >= counted && shown.contains("in ≥"), "{shown}");
        let document: serde_json::Value = serde_json::from_str(&json::report(&run(), &results)).expect("the report is JSON");
        assert!(document["nodes"].as_array().expect("nodes").iter().all(|node| node["calls_exact"] == false));
    }
}

#[test]
fn waiting_that_is_too_uncertain_for_a_finding_is_not_said_to_be_none() {
    let mut profile = master_and_worker();
    for location in &mut profile.locations {
        (location.queued_in_calls_s, location.queued_s) = (8.5, Some(8.5));
        location.processors = Some(Processors { first: 0, number: 1 });
    }
    let said = words(&run(), &Results::new(&profile, Mode::Parallel));
    assert!(said.contains("Findings none: the 3.60 s for which ranks wait in MPI_Recv in main (pi.c:80) are not known to a half"), "{said}");
}

#[test]
fn an_export_that_says_who_waited_has_waiting_apart_from_the_work_of_mpi() {
    let mut profile = master_and_worker();
    let run = Run { measured_by: Some("tareweight 0.1.0".into()), was_compensated: Some("parallel"), ..run() };
    let with = words(&run, &Results::as_measured(&profile));
    assert!(with.contains("MPI at work") && !with.contains("MPI with waits"), "{with}");
    profile.locations.iter_mut().flat_map(|location| &mut location.nodes).for_each(|node| node.exchanged = None);
    assert!(words(&run, &Results::as_measured(&profile)).contains("MPI with waits"));
}

#[test]
fn clocks_of_several_machines_are_spoken_of() {
    let with_doubt = |seconds| {
        let mut profile = master_and_worker();
        profile.processes[1].clock_doubt_s = seconds;
        let summary = text::summary(&run(), &Results::new(&profile, Mode::Parallel), &page(120));
        summary.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(!with_doubt(0.0).contains("clocks"));
    let near = with_doubt(12e-6);
    assert!(near.contains("good: 5 of 5 regions; nothing lost; clocks of machines agree within 12.0 µs"), "{near}");
    let far = with_doubt(3e-3);
    assert!(far.contains("limited: clocks of machines differ by up to 3.00 ms, so delays were carried by the delay model"), "{far}");
    assert!(far.contains("a time service on all machines"), "{far}");
}

#[test]
fn what_a_summary_leaves_out_is_counted_in_good_words() {
    let text = |top| text::summary(&run(), &Results::new(&master_and_worker(), Mode::Parallel), &Page { top, ..page(80) });
    assert!(text(4).contains("(1 more region: ") && text(3).contains("(2 more regions: "));
}

#[test]
fn a_mark_is_explained_at_every_width() {
    let mut profile = master_and_worker();
    profile.locations[1].nodes[2].on_calls = 0;
    for width in 24..120 {
        let text = text::summary(&run(), &Results::new(&profile, Mode::Parallel), &page(width));
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains("† not to be trusted: all calls were in batches that were off"), "{text}");
    }
}

#[test]
fn a_crashed_program_keeps_the_skeleton() {
    let run = Run { exit: Exit::Signal("SIGSEGV".into()), wall_s: 12.4, ..run() };
    check("crashed-80.txt", &run, &master_and_worker(), Mode::Parallel, &page(80));
}

#[test]
fn a_run_without_data_says_why() {
    let none = Profile::default();
    check("nothing-instrumented-80.txt", &Run { images: Vec::new(), ..run() }, &none, Mode::Parallel, &page(80));
    check("nothing-started-80.txt", &run(), &none, Mode::Parallel, &page(80));
}

#[test]
fn the_table_of_paper_1() {
    let pair = |drift: f64| Pair {
        unmeasured: vec![Unmeasured { cycles: 3e9 * drift, seconds_per_cycle: 0.3e-9 / drift }; 2],
        measured: vec![
            Measured { uncompensated: 6.9e9 * drift, local: 6.88e9 * drift, parallel: 3.012e9 * drift, seconds_per_cycle: 0.3e-9 / drift },
            Measured { uncompensated: 6.9e9 * drift, local: 3.009e9 * drift, parallel: 3.009e9 * drift, seconds_per_cycle: 0.3e-9 / drift },
        ],
    };
    let pairs: Vec<Pair> = (0..15).map(|index| pair(1.0 + f64::from(index) * 0.001)).collect();
    let table = Validation::of(&pairs).expect("15 pairs");
    for width in [40, 80, 120] {
        let text = tare_report::validate::text(&table, &page(width));
        fits(&text, width);
        golden(&format!("validate-{width}.txt"), &text);
    }
    let few = tare_report::validate::text(&Validation::of(&pairs[..3]).expect("3 pairs"), &page(200));
    assert!(few.contains("of the unmeasured run on every rank, but fewer than four pairs do not say how much runs differ"), "{few}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_line_is_longer_than_the_page(
        width in 24_usize..160,
        unicode: bool,
        name in "[ -~äß€日本]{0,90}".prop_filter("figures alone are looked at for it", |name| !name.contains("NaN")),
        program in "[ -~]{0,120}".prop_filter("figures alone are looked at for it", |program| !program.contains("NaN")),
        exclusive in prop::collection::vec(-1_000_000_i64..10_000_000_000_000, 2),
        mode in prop::sample::select(vec![Mode::Off, Mode::Local, Mode::Parallel]),
    ) {
        let mut profile = master_and_worker();
        profile.regions[2].name = name.into();
        for (node, ticks) in profile.locations[1].nodes[1..].iter_mut().zip(exclusive) {
            node.exclusive = ticks;
        }
        let results = Results::new(&profile, mode);
        let run = Run { program, directory: "/scratch/with/a/long/path/to/the/directory/of/the/run".into(), ..run() };
        let page = Page { width, unicode, top: 3, ..Page::default() };
        for text in [text::summary(&run, &results, &page), text::report(&run, &results, &page)] {
            fits(&text, width);
        }
    }
}
