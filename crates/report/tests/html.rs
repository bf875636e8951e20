//! The page as text: what stands without a script, what is escaped, what is never asked for.

mod support;

use support::{alone_and_lossy, master_and_worker, run};
use tare_compensate::Mode;
use tare_profile::{Profile, RegionIndex, Switch, Why};
use tare_report::html::{MOST_PATHS, Source, page, script, wanted_sources};
use tare_report::{Exit, Results, Run};

fn made(run: &Run, profile: &Profile) -> String {
    page(run, &Results::new(profile, Mode::Parallel), &[], MOST_PATHS)
}

/// What a reader without scripts sees: the page up to its data.
fn still(html: &str) -> &str {
    html.split("<script").next().expect("the beginning")
}

#[test]
fn trust_shows_how_far_the_cost_of_a_pair_differs_between_call_paths() {
    let trust = |profile: &Profile| {
        let html = made(&run(), profile);
        html.split("<section id=\"trust\"").nth(1).and_then(|rest| rest.split("</section>").next()).expect("the section").to_string()
    };
    let shown = trust(&master_and_worker());
    let [own, of_caller] = shown.split("<figure class=\"costs\">").skip(1).collect::<Vec<_>>().try_into().expect("a picture of each part");
    assert!(own.contains("α, in the region's own time: least ") && of_caller.contains("β, in its caller's time: least "), "{shown}");
    // `inside` was measured in place; `main` and `emplace_hint` have what that cost.
    assert!(own.contains("class=\"in-place\"") && own.contains("class=\"prior\""), "{own}");
    assert!(
        shown.contains("parts of the 90.0\u{202f}M calls whose probes were on, without those of wrappers; 100.0\u{202f}% of these calls"),
        "{shown}"
    );
    // With no batches at all it is the wrappers alone that were measured in place, and both places say how much.
    let mut unmeasured = master_and_worker();
    unmeasured.locations.iter_mut().flat_map(|location| &mut location.nodes).for_each(|node| node.batches = None);
    unmeasured.locations[0].nodes[2].tool_ticks = 600_000_000;
    let shown = trust(&unmeasured);
    let part = shown.split("only ").nth(1).and_then(|rest| rest.split(" of the overhead, of probes and wrappers, was measured in place").next());
    let part = part.unwrap_or_else(|| panic!("{shown}"));
    assert!(part.ends_with('%') && part != "0\u{202f}%", "{part}");
    assert!(shown.contains("; 0\u{202f}% of these calls have a cost"), "{shown}");
    assert!(shown.contains(&format!("and what wrappers took, {part} was measured in place: on such")), "{shown}");
    let mut off = master_and_worker();
    off.locations.iter_mut().flat_map(|location| &mut location.nodes).for_each(|node| node.on_calls = 0);
    assert!(!trust(&off).contains("class=\"costs\""), "nobody paid");
}

#[test]
fn trust_shows_what_was_taken_off_ranks_and_regions_with_its_interval() {
    let html = page(&run(), &Results::new(&master_and_worker(), Mode::Parallel), &[], MOST_PATHS);
    let trust = html.split("<section id=\"trust\"").nth(1).and_then(|rest| rest.split("</section>").next()).expect("the section");
    let [ranks, regions] = trust.split("<figure class=\"dumbbells\">").skip(1).collect::<Vec<_>>().try_into().expect("two pictures");
    assert!(ranks.contains("data-rank=\"0\"") && ranks.contains("data-rank=\"1\""), "{ranks}");
    let circles = |text: &str| (text.matches("class=\"measured\"").count(), text.matches("class=\"compensated\"").count());
    assert_eq!((circles(ranks), circles(regions)), ((2, 2), (3, 3)));
    assert!(
        regions.contains(">inside<title>inside</title>") && regions.contains(">MPI_Recv<title>") && regions.contains(">main<title>"),
        "{regions}"
    );
    assert!(!regions.contains(">program<"), "nothing was taken off it: {regions}");
    let as_measured = page(&run(), &Results::new(&master_and_worker(), Mode::Off), &[], MOST_PATHS);
    assert!(!as_measured.contains("circle class=\"measured\""), "nothing is taken off");
}

#[test]
fn trust_names_what_was_switched_off_as_tables_do() {
    let mut profile = master_and_worker();
    let name = "void std::vector<std::pair<int, double>, std::allocator<std::pair<int, double>>>::_M_realloc_insert<int&, double&>(int&, double&)";
    profile.regions[2].name = name.into();
    let why = Some(Why::Rule);
    profile.processes[0].switches = vec![Switch { region: RegionIndex(2), off: true, why, at_s: 1e-10, calls: 100_000, period_s: None }];
    let html = made(&run(), &profile);
    let (_, off) = still(&html).split_once("<p>Switched off: ").expect("the sentence");
    let (off, _) = off.split_once("</p>").expect("its end");
    let title = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    assert!(
        off.starts_with(&format!(
            "<span title=\"{title}\">std::<wbr>vector&lt;<wbr>…&gt;::<wbr>_<wbr>M_<wbr>realloc_<wbr>insert&lt;<wbr>…&gt;</span> by the throttle after"
        )),
        "{off}"
    );
    assert!(!off.contains("at <"), "no figure is markup: {off}");
}

#[test]
fn the_summary_is_whole_without_a_script() {
    let html = made(&run(), &master_and_worker());
    let still = still(&html);
    for part in [
        "7.42 (7.26 … 7.54)",
        "dilation 21.3",
        "good: 5 of 5 regions",
        "load balance 0.51",
        "rank 0 waits for rank 1",
        "MPI_Recv",
        "emplace_hint",
        "pi.c:12",
        "short entry",
        "<noscript>",
    ] {
        assert!(still.contains(part), "{part} is not in\n{still}");
    }
}

#[test]
fn waiting_is_not_denied_where_it_is_not_known() {
    let mut profile = master_and_worker();
    for node in profile.locations.iter_mut().flat_map(|location| &mut location.nodes) {
        node.exchanged = None;
    }
    let ours = made(&run(), &profile);
    let theirs = Run { measured_by: Some("TAU 2.31".into()), ..run() };
    let theirs = page(&theirs, &Results::as_measured(&profile), &[], MOST_PATHS);
    let denied = "No rank waited for another.";
    assert!(still(&ours).contains(denied) && !still(&theirs).contains(denied));
    assert!(still(&theirs).contains("what of it is waiting is not known") && !still(&theirs).contains("besides waiting"));
    assert!(still(&ours).contains("beside the compensated ones") && !still(&theirs).contains("beside the compensated ones"));
}

#[test]
fn a_program_without_ranks_is_not_told_of_ranks_and_its_processes_are_called_so() {
    let mut profile = master_and_worker();
    profile.processes.iter_mut().for_each(|process| (process.rank, process.world_size) = (None, None));
    let pid = profile.processes[0].pid;
    profile.locations.iter_mut().flat_map(|location| &mut location.nodes).for_each(|node| node.exchanged = None);
    let html = made(&run(), &profile);
    for said in ["No thread waited for another.", "the delays that other threads passed on", "Time of each process"] {
        assert!(still(&html).contains(said), "{said}");
    }
    for not_said in ["No rank waited", "that came with messages", "of each rank", "(rank "] {
        assert!(!still(&html).contains(not_said), "{not_said}");
    }
    assert!(still(&html).contains(&format!("data-rank=\"{pid}\">process {pid}</text>")));
    assert!(still(&made(&run(), &master_and_worker())).matches("data-rank=\"1\">rank 1</text>").count() >= 2, "in trust and classes");
}

#[test]
fn a_column_without_a_value_has_the_unit_of_those_beside_it_and_others_that_of_their_longest() {
    let mut profile = master_and_worker();
    for exchanged in profile.locations.iter_mut().flat_map(|location| &mut location.nodes).filter_map(|node| node.exchanged.as_mut()) {
        exchanged.peers.clear();
        exchanged.wait_ticks /= 1000;
        exchanged.virtual_wait_ticks = 0;
    }
    let html = made(&run(), &profile);
    assert!(still(&html).contains(">Waiting, ms</th>") && still(&html).contains(">For whom, ms</th>"), "{}", still(&html));
}

#[test]
fn where_nothing_was_measured_no_view_says_what_ranks_did() {
    let html = page(&run(), &Results::new(&tare_profile::Profile::default(), Mode::Parallel), &[], MOST_PATHS);
    assert!(still(&html).matches("Nothing was measured").count() >= 3 && !still(&html).contains("No rank waited"), "{}", still(&html));
}

#[test]
fn the_page_asks_for_nothing_outside_of_itself() {
    let html = made(&run(), &master_and_worker());
    assert!(html.contains("default-src 'none'"));
    for link in ["http://", "https://", "src=\"", "@import", "url("] {
        assert!(!html.contains(link), "{link} is in the page");
    }
    let targets = html.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap_or_default());
    assert!(targets.into_iter().all(|target| target.starts_with('#')));
}

#[test]
fn a_name_never_becomes_markup() {
    let mut profile = master_and_worker();
    let nasty = "f<script>alert(1)</script><!--\u{202e}\"'&";
    profile.regions[2].name = nasty.into();
    profile.regions[1].name = format!("std::vector<{}>", "T, ".repeat(1500)).into();
    profile.regions[2].file = "/a/</script>.c".into();
    profile.processes[0].host = "</script>".into();
    let run = Run { program: nasty.into(), command: vec![nasty.into()], directory: nasty.into(), ..run() };
    let sources = [Source { path: "/a/</script>.c".into(), text: "</script><b>".into() }];
    let html = page(&run, &Results::new(&profile, Mode::Parallel), &sources, MOST_PATHS);
    assert_eq!(html.matches("<script").count(), 2, "the data and the script");
    assert_eq!(html.matches("</script>").count(), 2);
    assert!(!html.contains("<!--") && !html.contains('\u{202e}'));
}

#[test]
fn functions_that_were_refused_are_folded_where_they_are_many() {
    let mut run = run();
    let one = run.images[0].refusals[0].clone();
    run.images[0].refusals.extend((0..9).map(|number| tare_report::select::Decision { shown: format!("f{number}"), ..one.clone() }));
    let html = made(&run, &master_and_worker());
    let path = &run.images[0].path;
    assert!(html.contains(&format!("<details><summary>10 of {path}, unknown jump</summary><span>tangle</span> at 0x5000, <span>f0</span> at")));
    assert!(html.contains(&format!("<dd>2 of {path}, short entry: <span>a</span> at 0x5100, <span>b</span> at 0x5104</dd>")));
}

#[test]
fn runs_that_failed_say_so_first() {
    let crashed = Run { exit: Exit::Signal("SIGSEGV".into()), wall_s: 12.4, ..run() };
    let html = made(&crashed, &master_and_worker());
    assert!(still(&html).contains("Stopped by SIGSEGV, 12.4"));
    let html = made(&Run { images: Vec::new(), ..run() }, &Profile::default());
    assert!(still(&html).contains("Nothing was measured: no program under this command"));
    let html = made(&run(), &alone_and_lossy());
    assert!(still(&html).contains("are not at their place"));
    assert!(!still(&html).contains("load balance"));
}

#[test]
fn sources_are_wanted_of_regions_that_take_time() {
    let profile = master_and_worker();
    assert_eq!(wanted_sources(&Results::new(&profile, Mode::Parallel)), ["/home/user/pi.c"]);
    // Of what calls others, also where it takes no time itself.
    let mut profile = master_and_worker();
    profile.regions[1].file = "/home/user/main.c".into();
    profile.locations.iter_mut().for_each(|location| location.nodes[1].exclusive = 0);
    assert_eq!(wanted_sources(&Results::new(&profile, Mode::Parallel)), ["/home/user/pi.c", "/home/user/main.c"]);
}

#[test]
fn the_script_and_the_style_stay_small() {
    assert!(script().len() < 200_000, "{}", script().len());
    assert!(!script().contains("innerHTML") && !script().contains("eval("));
    let html = made(&run(), &Profile::default());
    assert!(html.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).is_some_and(|style| style.len() < 30_000));
}
