//! A comparison as text and as a document: what decides, and what does not.

mod support;

use serde_json::Value;
use support::{alone_and_lossy, master_and_worker, run};
use tare_compensate::Mode;
use tare_profile::{Node, Profile, Region, RegionIndex, RegionKind};
use tare_report::compare::{Comparison, Side, Times, json, text};
use tare_report::{Page, Results, Run, Selection};

const TICKS_PER_SECOND: i64 = 2_000_000_000;

/// Paper 1's master and worker, whose main program works that much longer.
fn longer(seconds: i64) -> Profile {
    let mut profile = master_and_worker();
    profile.locations[1].nodes[1].exclusive += seconds * TICKS_PER_SECOND;
    for process in &mut profile.processes {
        let span = process.span.as_mut().expect("a span");
        span.end = span.end.saturating_add_signed(seconds * TICKS_PER_SECOND);
    }
    profile
}

fn compared<T>(profiles: &[&[&Profile]], least: Option<f64>, with: impl Fn(&Comparison) -> T) -> T {
    compared_by(Times::Exclusive, profiles, least, with)
}

fn compared_by<T>(times: Times, profiles: &[&[&Profile]], least: Option<f64>, with: impl Fn(&Comparison) -> T) -> T {
    let names = |side: usize, place: usize| Run { directory: format!("run-{side}{place}"), ..run() };
    let results: Vec<Vec<(Run, Results<'_>)>> = profiles
        .iter()
        .enumerate()
        .map(|(side, runs)| runs.iter().enumerate().map(|(place, profile)| (names(side, place), Results::new(profile, Mode::Parallel))).collect())
        .collect();
    let sides: Vec<Side<'_>> = results.iter().map(|runs| Side { runs: runs.iter().map(|(run, results)| (run, results)).collect() }).collect();
    with(&Comparison::of(&sides, times, least).expect("two sides"))
}

#[test]
fn a_pair_of_runs_reads_well_at_every_width() {
    let (old, new) = (master_and_worker(), longer(2));
    for width in [40, 80, 120] {
        let text = compared(&[&[&old], &[&new]], None, |comparison| text(comparison, &Page { width, ..Page::default() }));
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        support::golden(&format!("compare-{width}.txt"), &text);
    }
}

/// The ends of a picture's whiskers, in its order.
fn whiskers(page: &str) -> Vec<(f64, f64)> {
    let number = |text: &str, name: &str| text.split(name).nth(1).and_then(|rest| rest.split('"').nth(1)).and_then(|text| text.parse().ok());
    let ends = |text: &str| (number(text, "x1=").expect("a begin"), number(text, "x2=").expect("an end"));
    page.split("class=\"whisker\"").skip(1).map(ends).collect()
}

#[test]
fn the_picture_of_a_comparison_has_room_for_the_greatest_upper_bound() {
    let (old, mut new) = (master_and_worker(), longer(2));
    for location in &mut new.locations {
        // What each probe took is known to a half of it: the interval of the main program goes far beyond its time.
        location.nodes[1].on_calls = 400_000_000;
    }
    let page = compared(&[&[&old], &[&new]], None, tare_report::compare::html);
    let ends = whiskers(&page);
    let (_, furthest) = ends.iter().copied().reduce(|one, other| if other.1 > one.1 { other } else { one }).expect("whiskers");
    let circles = page.split("cx=\"").skip(1).filter_map(|rest| rest.split('"').next()?.parse::<f64>().ok());
    let greatest = circles.fold(0.0, f64::max);
    assert!(greatest > 0.0 && greatest < 760.0, "the greatest value stands left of where its interval ends: {greatest}");
    assert_eq!(furthest, 770.0, "the axis ends where the furthest whisker ends: {ends:?}");
    assert_eq!(ends.iter().filter(|(_, end)| *end == furthest).count(), 1, "no other one is cut there: {ends:?}");
}

#[test]
fn a_region_is_slower_beyond_its_interval_alone() {
    let (old, new) = (master_and_worker(), longer(2));
    let document = |profiles: &[&[&Profile]], least| -> Value { serde_json::from_str(&compared(profiles, least, json)).expect("JSON") };
    let slower = document(&[&[&old], &[&new]], None);
    assert_eq!((&slower["slower"], &slower["looks_slower"]), (&false.into(), &true.into()), "single runs do not tell noise");
    let main = &slower["regions"][0];
    assert_eq!((&main["name"], &main["changes"][0]["verdict"]), (&"main".into(), &"looks slower".into()));
    let change = main["changes"][0]["value_s"].as_f64().expect("a time");
    assert!((change - 1.0).abs() < 1e-3, "two seconds on one of two ranks are {change}");
    assert!(slower["regions"].as_array().expect("regions").iter().skip(1).all(|region| region["changes"][0]["verdict"] == "same"));
    assert_eq!(document(&[&[&old], &[&new]], Some(0.5))["looks_slower"], false, "what is less than half of the run does not count");
    assert_eq!(document(&[&[&new], &[&old]], None)["looks_slower"], false, "what got faster is no harm");
    assert_eq!(document(&[&[&old], &[&old], &[&new]], None)["looks_slower"], true);
    let told = document(&[&[&old, &old], &[&new]], None);
    assert_eq!((&told["slower"], &told["regions"][0]["changes"][0]["verdict"]), (&true.into(), &"slower".into()));
}

#[test]
fn a_function_whose_callee_got_slower_is_slower_by_inclusive_times() {
    let of = |mut profile: Profile| {
        let main = profile.locations[1].nodes[1].region;
        let helper = RegionIndex(profile.regions.len());
        profile.regions.push(Region { name: "helper".into(), raw_name: "helper".into(), ..profile.regions[main.0].clone() });
        let all = profile.locations[1].nodes[1].exclusive;
        profile.locations[1].nodes[1].exclusive = TICKS_PER_SECOND;
        let helper = Node { region: helper, parent: Some(1), on_calls: 1, exclusive: all - TICKS_PER_SECOND, ..Node::default() };
        profile.locations[1].nodes.push(helper);
        profile
    };
    let (old, new) = (of(master_and_worker()), of(longer(2)));
    let slower = |times| {
        let document: Value = serde_json::from_str(&compared_by(times, &[&[&old], &[&new]], None, json)).expect("JSON");
        let regions = document["regions"].as_array().expect("regions").iter().filter(|region| region["changes"][0]["verdict"] == "looks slower");
        let mut names: Vec<String> = regions.map(|region| region["name"].as_str().expect("a name").to_string()).collect();
        names.sort();
        (document["times"].as_str().expect("which").to_string(), names)
    };
    assert_eq!(slower(Times::Exclusive), ("exclusive".to_string(), vec!["helper".to_string()]));
    let (times, names) = slower(Times::Inclusive);
    assert_eq!(times, "inclusive");
    assert!(["helper", "main"].iter().all(|name| names.iter().any(|slower| slower == name)), "{names:?}");
    let text = compared_by(Times::Inclusive, &[&[&old], &[&new]], None, |comparison| text(comparison, &Page::default()));
    assert!(text.contains("Inclusive time, mean of the ranks."), "{text}");
}

#[test]
fn what_only_one_side_has_and_what_is_not_to_be_trusted_decide_nothing() {
    let (old, mut new) = (alone_and_lossy(), master_and_worker());
    let text = compared(&[&[&old], &[&new]], Some(1.0), |comparison| text(comparison, &Page::default()));
    assert!(text.lines().any(|line| line.trim_start().starts_with("MPI_Recv") && line.ends_with("new")), "{text}");
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains("The numbers of ranks differ") && !text.contains("000 %"), "{text}");
    let old = master_and_worker();
    new.locations[1].nodes[3].exclusive = -2 * TICKS_PER_SECOND;
    let document: Value = serde_json::from_str(&compared(&[&[&old], &[&new]], None, json)).expect("JSON");
    let regions = document["regions"].as_array().expect("regions");
    let marked = regions.iter().find(|region| region["changes"][0]["mark"].is_string()).expect("a marked region");
    assert_eq!(marked["changes"][0]["verdict"], "not to be trusted");
    assert_eq!((&document["slower"], &document["looks_slower"]), (&false.into(), &false.into()));
}

#[test]
fn levels_that_only_one_run_measured_are_part_of_what_called_them() {
    let (old, mut new) = (master_and_worker(), master_and_worker());
    let main = new.locations[1].nodes[1].region;
    let site = RegionIndex(new.regions.len());
    new.regions.push(Region { kind: RegionKind::CallSite, name: "call 1 of work in main".into(), ..new.regions[main.0].clone() });
    let exclusive = std::mem::take(&mut new.locations[1].nodes[1].exclusive);
    new.locations[1].nodes.push(Node { region: site, parent: Some(1), on_calls: 1, exclusive, ..Node::default() });
    for (before, after) in [(&old, &new), (&new, &old)] {
        let text = compared(&[&[before], &[after]], None, |comparison| text(comparison, &Page { width: 160, ..Page::default() }));
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("different levels: call sites only some of them") && !words.contains("call 1 of"), "{text}");
        let document: Value = serde_json::from_str(&compared(&[&[before], &[after]], None, json)).expect("JSON");
        let regions = document["regions"].as_array().expect("regions");
        assert!(regions.iter().all(|region| region["changes"][0]["verdict"] == "same"), "{document:#}");
    }
    let text = compared(&[&[&old], &[&old]], None, |comparison| text(comparison, &Page::default()));
    assert!(!text.contains("different levels"), "{text}");
}

/// Compares two runs that had these selections, whose probes stood in all regions of their profiles.
fn of_selections<T>(profiles: [&Profile; 2], selections: [&str; 2], with: impl Fn(&Comparison) -> T) -> T {
    let of_run = |(profile, options): (&Profile, &str)| Run {
        selection: Some(Selection { options: options.to_string(), rests_on_costs: options.contains("auto") }),
        probed: Some(profile.regions.clone()),
        ..run()
    };
    let runs: Vec<Run> = profiles.into_iter().zip(selections).map(of_run).collect();
    let results: Vec<Results<'_>> = profiles.into_iter().map(|profile| Results::new(profile, Mode::Parallel)).collect();
    let sides: Vec<Side<'_>> = runs.iter().zip(&results).map(|(run, results)| Side { runs: vec![(run, results)] }).collect();
    with(&Comparison::of(&sides, Times::Exclusive, None).expect("two sides"))
}

#[test]
fn functions_that_only_one_selection_has_are_part_of_what_called_them() {
    let (few, mut many) = (master_and_worker(), master_and_worker());
    let main = many.locations[1].nodes[1].region;
    let helper = RegionIndex(many.regions.len());
    many.regions.push(Region { name: "helper".into(), raw_name: "helper".into(), ..many.regions[main.0].clone() });
    let exclusive = std::mem::take(&mut many.locations[1].nodes[1].exclusive);
    many.locations[1].nodes.push(Node { region: helper, parent: Some(1), on_calls: 1, exclusive, ..Node::default() });
    let document = |profiles, selections| -> Value { serde_json::from_str(&of_selections(profiles, selections, json)).expect("JSON") };
    for selections in [["--preset mpi-path", "--preset all"], ["--preset auto", "--preset auto"]] {
        for (profiles, of) in [([&few, &many], "B"), ([&many, &few], "A")] {
            let text = of_selections(profiles, selections, |comparison| text(comparison, &Page { width: 160, ..Page::default() }));
            assert!(text.contains(&format!("part of what called it: 1 of {of} (helper).")) && !text.contains("Are A and B runs"), "{text}");
            let document = document(profiles, selections);
            let regions = document["regions"].as_array().expect("regions");
            assert!(regions.iter().all(|region| region["changes"][0]["verdict"] == "same"), "{document:#}");
            assert_eq!(document["parts_of_callers"][0]["name"], "helper");
        }
    }
    // The same was asked for, and no costs decided: the function is new in the program.
    let document = document([&few, &many], ["--preset all", "--preset all"]);
    assert_eq!(document["parts_of_callers"].as_array().map(Vec::len), Some(0));
    assert!(document["regions"].as_array().expect("regions").iter().any(|region| region["name"] == "helper" && region["sides"][0].is_null()));
    // It had a probe on the other side as well, and was not called there.
    let mut few = few;
    few.regions.push(many.regions[helper.0].clone());
    let document: Value = serde_json::from_str(&of_selections([&few, &many], ["--preset cc3", "--preset all"], json)).expect("JSON");
    assert!(document["regions"].as_array().expect("regions").iter().any(|region| region["name"] == "helper"));
}

#[test]
fn runs_of_different_programs_are_asked_about() {
    let (one, mut other) = (master_and_worker(), master_and_worker());
    let asks = |one: &Profile, other: &Profile| {
        compared(&[&[one], &[other]], None, |comparison| text(comparison, &Page::default())).contains("Are A and B runs")
    };
    assert!(!asks(&one, &other));
    for region in other.regions.iter_mut().filter(|region| region.kind == RegionKind::Function) {
        region.name = format!("another_{}", region.name).into();
        region.build_id = "another".into();
    }
    assert!(asks(&one, &other));
}
