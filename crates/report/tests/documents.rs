//! The JSON documents against their schema: every field is there, under its name, with its kind of value.

mod support;

use serde_json::Value;
use support::{alone_and_lossy, master_and_worker, run};
use tare_compensate::Mode;
use tare_compensate::validation::{Measured, Pair, Unmeasured, Validation};
use tare_profile::{Region, RegionKind};
use tare_report::inspect::{Function, Image, Inspection, Listing, Part, Rows};
use tare_report::instrument::{FunctionCounts, Instrumented, Phase, RefusedSite, SiteCounts};
use tare_report::select::{Decided, Decision, Selected};
use tare_report::{Page, Results, json};

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// The field at a path such as `nodes.0.inclusive`; fails by its name where it is missing.
fn at<'a>(document: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(document, |value, step| match step.parse::<usize>() {
        Ok(index) => value.get(index).unwrap_or_else(|| panic!("no {step} of {path}")),
        Err(_) => value.get(step).unwrap_or_else(|| panic!("no {step} of {path}")),
    })
}

fn has_fields(document: &Value, path: &str, names: &str) {
    let value = at(document, path);
    for name in names.split_whitespace() {
        assert!(value.get(name).is_some(), "{path} has no {name}");
    }
}

fn report(mode: Mode) -> Value {
    let profile = master_and_worker();
    parsed(&json::report(&run(), &Results::new(&profile, mode)))
}

#[test]
fn the_report_has_the_fields_of_its_schema() {
    let document = report(Mode::Parallel);
    assert_eq!(document["schema"], 1);
    has_fields(&document, "run", "command started wall_s ranks mpi compensate model uncovered_calls unpaired_messages");
    has_fields(&document, "locations.0", "process rank thread measured_s compensated_s low_s high_s delay_s events lost");
    has_fields(&document, "regions.0", "name kind image address file line");
    has_fields(&document, "nodes.0", "location region parent calls calls_exact inclusive exclusive wait peers");
    for time in ["nodes.0.inclusive", "nodes.0.exclusive"] {
        has_fields(&document, time, "measured_s compensated_s low_s high_s mark");
    }
    has_fields(&document, "nodes.0.wait", "measured_s compensated_s");
    assert_eq!(document["run"]["mpi"], "openmpi");
    assert_eq!((&document["run"]["compensate"], &document["run"]["model"]), (&"parallel".into(), &"virtual".into()));
    assert_eq!((&document["locations"][1]["rank"], &document["locations"][1]["thread"]), (&1.into(), &0.into()));
}

#[test]
fn the_whole_run_is_summed_up_with_its_findings() {
    let document = report(Mode::Parallel);
    has_fields(&document, "whole.efficiency", "parallel load_balance communication");
    has_fields(&document, "whole.classes", "useful_s waiting_s messages_s open_s start_end_s");
    has_fields(&document, "whole.findings.0", "id region at what seconds low_s high_s certainty attempt");
    has_fields(&document, "whole.waits.0", "operation caller calls wait waiters awaited");
    has_fields(&document, "whole.waits.0.waiters.0", "rank seconds");
    let finding = at(&document, "whole.findings.0");
    assert_eq!(finding["id"], "F-wait-late-sender");
    assert_eq!(finding["at"], "MPI_Recv in main (pi.c:80)");
    assert!(finding["what"].as_str().is_some_and(|what| what.starts_with("rank 0 waits for rank 1, which spends")), "{finding}");
    let seconds = finding["seconds"].as_f64().expect("a number");
    assert!((seconds - 3.6).abs() < 1e-9, "7.2 s of waiting on one of two ranks are {seconds} s of the run at most");
}

#[test]
fn where_threads_wait_is_listed() {
    let mut profile = master_and_worker();
    profile.regions[3] = Region::named(RegionKind::Threads, "omp barrier", "threads");
    let document = parsed(&json::report(&run(), &Results::new(&profile, Mode::Parallel)));
    let place = at(&document, "whole.thread_waits.0");
    assert_eq!(
        [place["operation"].as_u64(), place["caller"].as_u64(), place["calls"].as_u64(), place["threads"].as_u64()],
        [Some(3), Some(1), Some(1_000), Some(1)]
    );
    let seconds = ["measured_s", "compensated_s"].map(|time| place["wait"][time].as_f64().expect("seconds"));
    assert!((seconds[0] - 8.8).abs() < 1e-6 && (seconds[1] - 7.2).abs() < 1e-6, "{seconds:?}");
}

#[test]
fn indices_of_the_report_point_into_its_lists() {
    let document = report(Mode::Parallel);
    let nodes = document["nodes"].as_array().expect("a list");
    let length = |name: &str| document[name].as_array().expect("a list").len() as u64;
    for (index, node) in nodes.iter().enumerate() {
        assert!(node["location"].as_u64().is_some_and(|location| location < length("locations")));
        assert!(node["region"].as_u64().is_some_and(|region| region < length("regions")));
        match node["parent"].as_u64() {
            Some(parent) => {
                let parent = &nodes[parent as usize];
                assert_eq!(parent["location"], node["location"]);
                let inclusive = |node: &Value| at(node, "inclusive.compensated_s").as_f64().expect("a number");
                assert!(inclusive(node) <= inclusive(parent), "node {index} exceeds its parent");
            }
            None => assert!(node["parent"].is_null()),
        }
    }
    let roots = nodes.iter().filter(|node| node["parent"].is_null()).count() as u64;
    assert_eq!(roots, length("locations"));
}

#[test]
fn uncompensated_reports_say_what_was_measured() {
    let document = report(Mode::Off);
    for node in document["nodes"].as_array().expect("a list") {
        for time in ["inclusive", "exclusive"] {
            assert_eq!(node[time]["measured_s"], node[time]["compensated_s"]);
        }
    }
}

#[test]
fn outside_of_mpi_there_is_no_rank_and_unknown_places_are_null() {
    let profile = alone_and_lossy();
    let document = parsed(&json::report(&run(), &Results::new(&profile, Mode::Parallel)));
    assert!(document["locations"][0]["rank"].is_null() && document["run"]["mpi"].is_null());
    assert!(document["regions"][0]["file"].is_null() && document["regions"][0]["line"].is_null());
    assert_eq!(document["locations"][0]["lost"], 12_352);
    assert_eq!(document["regions"][1]["line"], 80);
}

#[test]
fn calls_without_delays_are_counted() {
    let mut profile = master_and_worker();
    profile.processes[0].uncovered_calls = 1_200;
    profile.processes[1].uncovered_calls = 34;
    profile.processes[1].unpaired_messages = 5;
    profile.processes[1].clock_doubt_s = 2e-6;
    let document = parsed(&json::report(&run(), &Results::new(&profile, Mode::Parallel)));
    assert_eq!((&document["run"]["uncovered_calls"], &document["run"]["unpaired_messages"]), (&1_234.into(), &5.into()));
    assert_eq!(document["run"]["clock_doubt_s"], 2e-6);
}

#[test]
fn receives_in_an_order_that_virtual_times_contradict_are_listed_with_their_place() {
    let mut profile = master_and_worker();
    let at = profile.locations[0].nodes.iter().position(|node| profile.regions[node.region.0].name == "MPI_Recv").expect("the master receives");
    profile.locations[0].contradicted = 3;
    profile.locations[0].nodes[at].exchanged_mut().contradicted = 3;
    let results = Results::new(&profile, Mode::Parallel);
    let document = parsed(&json::report(&run(), &results));
    let (receives, place) = (&document["run"]["contradicted_receives"], &document["run"]["contradicted"][0]);
    assert_eq!((receives, &place["receives"]), (&3.into(), &3.into()));
    let operation = usize::try_from(place["operation"].as_u64().expect("an index")).expect("an index");
    assert_eq!(document["regions"][operation]["name"], "MPI_Recv");
}

#[test]
fn a_run_with_a_budget_says_what_probes_and_wrappers_took() {
    let mut profile = master_and_worker();
    assert!(parsed(&json::report(&run(), &Results::new(&profile, Mode::Parallel)))["run"]["budget"].is_null());
    profile.processes.iter_mut().for_each(|process| process.budget = Some(0.02));
    let results = Results::new(&profile, Mode::Parallel);
    let budget = parsed(&json::report(&run(), &results))["run"]["budget"].clone();
    // 90 million pairs of 30 ticks, 10 million calls counted at 1 tick, 600 000 ticks in a wrapper, of 18 s in all.
    let [allowed, probes, low, high, wrappers] =
        ["allowed", "probes", "probes_low", "probes_high", "wrappers"].map(|name| budget[name].as_f64().expect("a number"));
    assert_eq!(allowed, 0.02);
    assert!((0.08..0.09).contains(&probes) && low < probes && probes < high, "{budget}");
    assert!((0.000_01..0.000_03).contains(&wrappers), "{budget}");
    let text = tare_report::text::summary(&run(), &results, &tare_report::Page::default());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Budget 2.0 % allowed, probes took 8.1 % (7.5 % … 8.9 %), 6.1 % more; wrappers took <0.1 % besides"), "{text}");
}

#[test]
fn what_a_thread_was_set_up_for_is_not_taken_off_its_time() {
    let mut profile = alone_and_lossy();
    profile.processes[0].budget = Some(0.02);
    let life: i64 = profile.locations[0].nodes.iter().map(|node| node.exclusive).sum();
    profile.locations[0].setup_ticks = 2 * life.unsigned_abs();
    let document = parsed(&json::report(&run(), &Results::new(&profile, Mode::Parallel)));
    let number = |path: &str| at(&document, path).as_f64().expect("a number");
    let alone = 2.0 * number("locations.0.measured_s") / number("run.budget.set_up");
    let wanted = number("locations.0.compensated_s");
    assert!((alone - wanted).abs() < 1e-6 * wanted, "{alone} for {wanted}");
}

#[test]
fn jumps_that_lead_nobody_knows_where_are_marked_in_the_table() {
    use tare_report::inspect::{Function, Inspection, Listing, Rows};
    let table = |unresolved_jumps| {
        let odd = Function { name: "odd".into(), demangled: "odd".into(), unresolved_jumps, ..Function::default() };
        let even = Function { name: "even".into(), demangled: "even".into(), ..Function::default() };
        let inspection = Inspection { functions: vec![odd, even], found: 2, ..Inspection::default() };
        Listing::new(&inspection, Rows::Functions, None, None).text(&tare_report::Page { width: 160, ..tare_report::Page::default() })
    };
    assert!(!table(0).contains("unresolved"), "{}", table(0));
    let marked = table(3);
    assert!(marked.contains("1 function has indirect jumps whose targets are not known (unresolved)"), "{marked}");
    let line = |name: &str| marked.lines().find(|line| line.trim_start().starts_with(name)).expect("a line").to_string();
    assert!(line("odd").contains(" 3 ") && !line("even").contains(" 3 "), "{marked}");
}

#[test]
fn times_by_a_clock_that_is_not_known_are_null() {
    let mut profile = master_and_worker();
    profile.processes[0].clock.seconds_per_tick = 0.0;
    let document = parsed(&json::report(&run(), &Results::new(&profile, Mode::Parallel)));
    for field in ["measured_s", "compensated_s", "low_s", "high_s", "delay_s", "overhead_s"] {
        let of = |location: usize| &document["locations"][location][field];
        assert!(of(0).is_null() && of(1).is_number(), "{field}");
    }
    let receive = at(&document, "nodes.2");
    for path in ["inclusive.measured_s", "exclusive.high_s", "wait.compensated_s", "peers.0.transmission_s"] {
        assert!(at(receive, path).is_null(), "{path}");
    }
    assert_eq!(receive["calls"], 1_000);
}

#[test]
fn the_validation_has_the_fields_of_its_schema() {
    let pair = Pair {
        unmeasured: vec![Unmeasured { cycles: 1e9, seconds_per_cycle: 0.4e-9 }],
        measured: vec![Measured { uncompensated: 2e9, local: 1.9e9, parallel: 1.01e9, seconds_per_cycle: 0.4e-9 }],
    };
    let table = Validation::of(&[pair]).expect("a pair");
    let document = parsed(&tare_report::validate::json(&table));
    has_fields(&document, "ranks.0", "rank uninstrumented_s uncompensated_s local_s parallel_s error");
    has_fields(&document, "ranks.0.error", "uncompensated local parallel");
    for name in ["schema", "pairs", "dilation", "noise", "verdict"] {
        assert!(document.get(name).is_some(), "no {name}");
    }
    let seconds = at(&document, "ranks.0.parallel_s").as_f64().expect("a number");
    assert!((seconds - 0.404).abs() < 1e-9);
}

#[test]
fn the_documents_of_images_have_the_fields_of_their_schemas() {
    let function = Function { name: "_Z1fv".into(), demangled: "f()".into(), parts: vec![Part { address: 1, size: 2 }], ..Function::default() };
    let inspection = Inspection { image: Image { path: "app".into(), ..Image::default() }, functions: vec![function], found: 1 };
    let document = parsed(&tare_report::inspect::json(&inspection));
    has_fields(&document, "image", "path build_id pie stripped left_over");
    let names = "name demangled address size parts file line lines instructions blocks edges exits cyclomatic loops loop_depth call_sites callees \
                 indirect_calls unresolved_jumps found_by";
    has_fields(&document, "functions.0", names);
    has_fields(&document, "functions.0.parts.0", "address size");

    let decision = Decision { name: "_Z1fi".into(), shown: "f(int)".into(), address: 64, reason: "on a path to MPI".into() };
    let decided = Decided { name: "f".into(), address: 64, reason: "on a path to MPI".into(), ..Decided::default() };
    let selected = Selected { selected: vec![decided.clone()], rejected: vec![decided], ..Selected::default() };
    let document = parsed(&tare_report::select::json(&selected));
    has_fields(&document, "selected.0", "name address reason rule snippets");
    has_fields(&document, "selected.0.rule", "filter line text");
    has_fields(&document, "rejected.0", "name address reason rule snippets");
    has_fields(&document, "rejected.0.snippets", "functions loops callsites");
    assert!(document["expected_dilation"].is_null());

    let functions = FunctionCounts { found: 4, selected: 3, instrumented: 2, refused: 1 };
    let phases = vec![Phase { name: "analyse".into(), seconds: 0.5 }];
    let refused_sites = vec![RefusedSite { function: "f".into(), address: 70, kind: "loop".into(), reason: "irreducible".into() }];
    let sites = SiteCounts { patched: 9, refused: 1 };
    let (left_over, text) = (40, 1000);
    let refusals = vec![decision];
    let instrumented =
        Instrumented { output: "out".into(), functions, left_over, text, refusals, sites, refused_sites, phases, unmatched: Vec::new() };
    let document = parsed(&tare_report::instrument::json(&instrumented));
    has_fields(&document, "functions", "found selected instrumented refused");
    has_fields(&document, "refusals.0", "name address reason");
    assert_eq!(document["refusals"][0]["name"], "_Z1fi");
    has_fields(&document, "sites", "patched refused");
    has_fields(&document, "refused_sites.0", "function address kind reason");
    has_fields(&document, "phases.0", "name seconds");
    assert_eq!((&document["output"], &document["left_over"]), (&"out".into(), &40.into()));
    let said = tare_report::instrument::text(&instrumented, &Page::default(), false);
    assert!(said.contains("1 loop: irreducible") && said.contains("f(int) at 0x40: on a path"), "{said}");
    let tells_of_text =
        |text| tare_report::instrument::text(&Instrumented { text, ..instrumented.clone() }, &Page::default(), false).contains("Left over");
    assert_eq!([1000, 4000, 4001].map(tells_of_text), [true, true, false]);

    let refusals =
        (1..=5).map(|address| Decision { name: format!("f{address}"), shown: format!("f{address}"), address, reason: "too short".into() }).collect();
    let many = tare_report::instrument::text(&Instrumented { refusals, ..instrumented.clone() }, &Page::default(), false);
    let words: Vec<&str> = many.split_whitespace().collect();
    assert!(words.join(" ").contains("Refused 5 functions, f1 at 0x1, f2 at 0x2, f3 at 0x3 and 2 more: too short Sites"), "{many}");

    let timed = |timings| tare_report::instrument::text(&instrumented, &Page::default(), timings).contains("analyse");
    assert!(timed(true) && !timed(false));
    for width in [40, 80] {
        let page = Page { width, ..Page::default() };
        let texts = [
            Listing::new(&inspection, Rows::Functions, None, None).text(&page),
            tare_report::select::text(&selected, &page),
            tare_report::instrument::text(&instrumented, &page, true),
        ];
        assert!(texts.iter().flat_map(|text| text.lines()).all(|line| line.chars().count() <= width), "{texts:?}");
    }
}

#[test]
fn an_answer_fits_its_page_with_all_that_was_asked_for_and_its_document_has_whole_names() {
    let mut profile = support::master_and_worker();
    let whole = format!("void std::vector<{}>::grind_all(std::map<int, double>&)", "std::pair<int const, double>, ".repeat(250));
    profile.regions[2].name = whole.as_str().into();
    let results = Results::new(&profile, Mode::Parallel);
    let words = "self, time, count, measured, correction by region";
    let Ok(tare_query::Question::Sums(question)) = tare_query::Question::parse(words) else { panic!("it is a question") };
    let answer = tare_query::answer(&profile, &results.shown, &question).expect("an answer");
    for width in [40, 80, 120] {
        let text = tare_report::answer::text(&run(), &profile, Mode::Parallel, &answer, &Page { width, ..Page::default() });
        assert!(text.lines().all(|line| line.chars().count() <= width) && text.contains("MPI_Recv"), "{text}");
        assert!(text.contains("vector<…") && !text.contains("std::pair"), "{text}");
        let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("  Region ")).collect();
        for head in ["self, s", "time, s", "count", "measured, s", "correction, s"] {
            assert_eq!(heads.concat().matches(head).count(), 1, "{head} in\n{text}");
        }
    }
    assert!(tare_report::answer::json(&run(), &profile, Mode::Parallel, words, &answer).contains(&whole));
}

#[test]
fn rows_of_an_answer_have_a_unit_in_which_they_can_be_told_whatever_their_sum() {
    let profile = support::many(200, 4_000);
    let results = Results::new(&profile, Mode::Off);
    let Ok(tare_query::Question::Sums(question)) = tare_query::Question::parse("self of shared_1 by rank top 2") else { panic!("it is a question") };
    let answer = tare_query::answer(&profile, &results.shown, &question).expect("an answer");
    let text = tare_report::answer::text(&run(), &profile, Mode::Off, &answer, &Page::default());
    assert!(text.contains("self, ms") && text.matches(" 300").count() == 2, "{text}");
}
