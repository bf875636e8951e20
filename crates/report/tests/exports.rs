//! What other tools make of our files: the tools themselves, where Debian has them, and the formats' own rules.

mod support;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use serde_json::Value;
use support::{alone_and_lossy, many, master_and_worker, run};
use tare_compensate::Mode;
use tare_profile::{Location, Node, Profile, RegionIndex};
use tare_report::Results;
use tare_report::export::{Counters, Dialect, Format, TooLarge, cube, document, scraped, tau};

/// Nanoseconds of all exclusive times of the example: two ranks, compensated.
fn all_ns(profile: &Profile) -> u64 {
    let results = Results::new(profile, Mode::Parallel);
    let seconds: f64 = results.shown.locations.iter().flat_map(|location| &location.nodes).map(|node| node.exclusive.value).sum();
    (seconds * 1e9).round() as u64
}

fn bytes(format: Format, profile: &Profile) -> Vec<u8> {
    document(format, &run(), &Results::new(profile, Mode::Parallel)).0
}

fn text(format: Format, profile: &Profile) -> String {
    String::from_utf8(bytes(format, profile)).expect("text")
}

fn near(one: u64, other: u64) {
    assert!(one.abs_diff(other) <= 20, "{one} against {other}");
}

/// Feeds a tool of Debian and returns what it prints.
fn tool(line: &[&str], input: &[u8]) -> String {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("input");
    std::fs::write(&file, input).expect("the file is written");
    let mut child = Command::new(line[0])
        .args(line[1..].iter().map(|word| word.replace("FILE", &file.display().to_string())))
        .env("HOME", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|_| panic!("{} is installed by `make test`", line[0]));
    // A tool that reads the file rather than its stdin may have ended before.
    let _ = child.stdin.take().expect("its stdin").write_all(input);
    let output = child.wait_with_output().expect("its output");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {said}", line[0]);
    said
}

#[test]
fn collapsed_stacks_sum_up_to_all_time() {
    let profile = master_and_worker();
    let text = text(Format::Collapsed, &profile);
    let counts: Vec<(&str, u64)> = text
        .lines()
        .map(|line| line.rsplit_once(' ').expect("a count"))
        .map(|(stack, count)| (stack, count.parse().expect("a whole number")))
        .collect();
    near(counts.iter().map(|(_, count)| count).sum(), all_ns(&profile));
    assert!(counts.iter().any(|(stack, _)| *stack == "program;main;MPI_Recv"), "{text}");
    assert_eq!(counts[0].0, "program");
    assert_eq!(counts[2].0, "program;main;MPI_Recv", "the heaviest first");
}

#[test]
fn callgrind_annotate_reads_all_of_the_time() {
    let profile = master_and_worker();
    let said = tool(&["callgrind_annotate", "FILE"], &bytes(Format::Callgrind, &profile));
    let total = said.lines().find(|line| line.contains("PROGRAM TOTALS")).expect("totals").replace(',', "");
    near(total.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number"), all_ns(&profile));
    assert!(said.contains("/home/user/pi.c:inside [/home/user/pi]"), "{said}");
    assert!(said.contains("compensated (parallel)"), "{said}");
    let said = tool(&["callgrind_annotate", "--tree=both", "--inclusive=yes", "FILE"], &bytes(Format::Callgrind, &profile));
    let starred: Vec<&str> = said.lines().filter(|line| line.contains("*  /home/user/pi.c:inside")).collect();
    assert_eq!(starred.len(), 1, "each function once: {said}");
    assert!(said.lines().any(|line| line.contains("< /home/user/pi.c:main")), "with its callers: {said}");
}

#[test]
fn a_function_that_calls_itself_never_takes_more_than_all_in_callgrind() {
    let mut profile = master_and_worker();
    let again = |region: usize, parent: usize| Node {
        region: RegionIndex(region),
        parent: Some(parent),
        on_calls: 3,
        exclusive: 2_000_000_000,
        ..Node::default()
    };
    // main → inside → main → inside
    profile.locations[0].nodes.extend([again(2, 1), again(1, 3), again(2, 4)]);
    let said = tool(&["callgrind_annotate", "--inclusive=yes", "FILE"], &bytes(Format::Callgrind, &profile));
    assert!(said.contains("main'2") && said.contains("inside'2"), "{said}");
    for line in said.lines().filter(|line| line.contains("100.")) {
        assert!(line.contains("100.0"), "{line}");
    }
}

#[test]
fn pprof_reads_names_lines_and_all_of_the_time() {
    let profile = master_and_worker();
    let said = tool(&["go", "tool", "pprof", "-raw", "FILE"], &bytes(Format::Pprof, &profile));
    for part in ["calls/count time/nanoseconds[dflt] waiting/nanoseconds measured/nanoseconds", "inside /home/user/pi.c:12", "/home/user/pi", "[FN]"]
    {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    let said = tool(&["go", "tool", "pprof", "-top", "-unit=ns", "FILE"], &bytes(Format::Pprof, &profile));
    assert!(said.contains(&format!("of {}", all_ns(&profile) / 1_000_000_000)), "{said}");
}

#[test]
fn what_a_format_cannot_write_in_a_name_has_the_same_substitute_in_all_of_them() {
    let mut profile = master_and_worker();
    profile.regions[2].name = "new\nline\ttab;\u{202e}\"end\"".into();
    let held = "new?line?tab;?\"end\"";
    let said = tool(&["go", "tool", "pprof", "-top", "FILE"], &bytes(Format::Pprof, &profile));
    assert!(said.lines().any(|line| line.ends_with(&format!("%  {held}"))), "{said}");
    assert!(text(Format::Callgrind, &profile).contains(&format!("\nfn={held}\n")));
    let collapsed = text(Format::Collapsed, &profile);
    assert!(collapsed.lines().any(|line| line.starts_with("program;main;new?line?tab??\"end\" ")), "{collapsed}");
    let results = Results::new(&profile, Mode::Parallel);
    let packed = cube(&run(), &results).expect("a file");
    assert!(String::from_utf8_lossy(&packed).contains("<name>new?line?tab;?&quot;end&quot;</name>"));
    assert!(tau(&run(), &results).0[1].1.contains("\n\"new?line?tab;??end? [{/home/user/pi.c} {12,1}]\" "));
}

#[test]
fn promtool_finds_nothing_to_say() {
    let mut profile = master_and_worker();
    profile.regions[2].name = "f(\"x\\y\"\n)".into();
    let said = tool(&["promtool", "check", "metrics"], &bytes(Format::Prometheus, &profile));
    assert_eq!(said, "");
}

#[test]
fn open_metrics_has_families_without_total_and_an_end() {
    let profile = master_and_worker();
    let open = scraped(&run(), &Results::new(&profile, Mode::Parallel), Dialect::OpenMetrics, &mut Counters::default());
    assert!(open.ends_with("\n# EOF\n") && open.matches("# EOF").count() == 1, "{open}");
    assert!(open.contains("# TYPE tare_region_calls counter\n") && open.contains("\ntare_region_calls_total{"), "{open}");
    let families: Vec<&str> = open.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    assert!(families.iter().all(|family| !family.contains("_total ")), "{families:?}");
    let text = String::from_utf8(bytes(Format::Prometheus, &profile)).expect("text");
    let samples = |text: &str| text.lines().filter(|line| !line.starts_with('#')).map(String::from).collect::<Vec<_>>();
    assert_eq!(samples(&open), samples(&text));
}

#[test]
fn a_counter_that_is_scraped_again_does_not_fall() {
    let mut profile = master_and_worker();
    let mut counters = Counters::default();
    let mut scrape = |profile: &Profile| {
        let text = scraped(&run(), &Results::new(profile, Mode::Parallel), Dialect::Prometheus, &mut counters);
        let value = |line: &str| line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok()).expect("a value");
        let counters = text.lines().filter(|line| line.starts_with("tare_region_measured_seconds_total{"));
        counters.map(value).collect::<Vec<f64>>()
    };
    let first = scrape(&profile);
    profile.locations.iter_mut().flat_map(|location| &mut location.nodes).for_each(|node| node.exclusive = node.exclusive * 9 / 10);
    assert_eq!(scrape(&profile), first);
    profile.locations.iter_mut().flat_map(|location| &mut location.nodes).for_each(|node| node.exclusive *= 2);
    assert!(scrape(&profile).iter().zip(&first).all(|(after, before)| after >= before) && scrape(&profile) != first);
}

#[test]
fn speedscope_has_whole_numbers_that_sum_up() {
    let profile = master_and_worker();
    let file: Value = serde_json::from_slice(&bytes(Format::Speedscope, &profile)).expect("JSON");
    let profiles = file["profiles"].as_array().expect("profiles");
    assert_eq!(profiles.len(), 3, "the sum and two ranks");
    let frames = file["shared"]["frames"].as_array().expect("frames").len() as u64;
    for one in profiles {
        let weights: Vec<u64> = one["weights"].as_array().expect("weights").iter().map(|weight| weight.as_u64().expect("a whole number")).collect();
        let samples = one["samples"].as_array().expect("samples");
        assert_eq!((samples.len(), one["endValue"].as_u64()), (weights.len(), Some(weights.iter().sum())));
        assert!(
            samples.iter().flat_map(|sample| sample.as_array().expect("a stack")).all(|frame| frame.as_u64().is_some_and(|frame| frame < frames))
        );
    }
    near(profiles[0]["endValue"].as_u64().expect("a sum"), all_ns(&profile));
    near(profiles[1]["endValue"].as_u64().unwrap() + profiles[2]["endValue"].as_u64().unwrap(), all_ns(&profile));
}

#[test]
fn the_firefox_profile_has_the_sum_first_and_threads_with_numbers_of_their_own() {
    let profile = master_and_worker();
    let file: Value = serde_json::from_slice(&bytes(Format::Firefox, &profile)).expect("JSON");
    let threads = file["threads"].as_array().expect("threads");
    assert_eq!(threads[0]["processName"], "all processes (sum)");
    let mut numbers: Vec<String> = threads.iter().map(|thread| thread["tid"].to_string()).collect();
    numbers.dedup();
    assert_eq!(numbers.len(), 3);
    assert_eq!(threads[0]["samples"]["weightType"], "tracing-ms");
    let milliseconds: f64 = threads[0]["samples"]["weight"].as_array().expect("weights").iter().filter_map(Value::as_f64).sum();
    assert!((milliseconds - all_ns(&profile) as f64 / 1e6).abs() < 5.0, "{milliseconds}");
    assert_eq!(file["meta"]["symbolicated"], true);
}

/// With a second thread in each process that takes half as long.
fn with_threads(mut profile: Profile) -> Profile {
    let half = |node: &Node| Node { exclusive: node.exclusive / 2, ..node.clone() };
    let second = |location: &Location| Location { thread: 1, nodes: location.nodes.iter().map(half).collect(), ..location.clone() };
    profile.locations = profile.locations.iter().flat_map(|location| [location.clone(), second(location)]).collect();
    profile
}

#[test]
fn threads_stand_one_by_one_below_their_process() {
    let json = |format: Format, profile: &Profile| serde_json::from_slice::<Value>(&bytes(format, profile)).expect("JSON");
    let texts = |list: &Value, name: &str| {
        list.as_array().expect("a list").iter().map(|one| one[name].as_str().unwrap_or_default().to_string()).collect::<Vec<_>>()
    };
    let (several, alone) = (with_threads(master_and_worker()), with_threads(alone_and_lossy()));

    let file = json(Format::Speedscope, &several);
    let ends: Vec<u64> = file["profiles"].as_array().expect("profiles").iter().map(|one| one["endValue"].as_u64().expect("a sum")).collect();
    let of = |rank: u32| [", all 2 threads (sum)", ", thread 0", ", thread 1"].map(|what| format!("rank {rank}{what}"));
    assert_eq!(texts(&file["profiles"], "name")[1..], [of(0), of(1)].concat());
    for (sum, parts) in [(0, [1, 4]), (1, [2, 3]), (4, [5, 6])] {
        near(ends[sum], parts.iter().map(|&part| ends[part]).sum());
    }
    assert_eq!(texts(&json(Format::Speedscope, &alone)["profiles"], "name")[1..], ["process 4710, thread 0", "process 4710, thread 1"]);

    let file = json(Format::Firefox, &several);
    let sum = "all processes (sum)";
    assert_eq!(texts(&file["threads"], "name"), [sum, "thread 0", "thread 1", "thread 0", "thread 1"]);
    let [first, second] = ["rank 00000 on n01", "rank 00001 on n01"];
    assert_eq!(texts(&file["threads"], "processName"), [sum, first, first, second, second]);
    let mut numbers = texts(&file["threads"], "tid");
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 5);
    let milliseconds =
        |thread: usize| file["threads"][thread]["samples"]["weight"].as_array().expect("weights").iter().filter_map(Value::as_f64).sum::<f64>();
    assert!((milliseconds(0) - (1..5).map(milliseconds).sum::<f64>()).abs() < 10.0);
    assert_eq!(texts(&json(Format::Firefox, &alone)["threads"], "name"), ["the process", "thread 0", "thread 1"]);
}

#[test]
fn tau_profiles_are_flat_and_by_path_without_counting_twice() {
    let profile = master_and_worker();
    let (files, _) = tau(&run(), &Results::new(&profile, Mode::Parallel));
    assert_eq!(files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["profile.0.0.0", "profile.1.0.0"]);
    let mut flat = 0.0;
    for (_, text) in &files {
        let lines: Vec<&str> = text.lines().collect();
        let count: usize = lines[0].strip_suffix(" templated_functions_MULTI_TIME").and_then(|count| count.parse().ok()).expect("a count");
        assert_eq!(lines.len(), count + 3);
        assert!(lines[1].starts_with("# Name Calls Subrs Excl Incl ProfileCalls # <metadata><attribute><name>Metric Name</name><value>TIME</value>"));
        assert!(lines[2].starts_with("\".TAU application\" 1 1 "), "{}", lines[2]);
        assert_eq!(lines[count + 2], "0 aggregates");
        let entries: HashMap<&str, Vec<f64>> = lines[2..count + 2]
            .iter()
            .map(|line| {
                let (name, rest) = line[1..].split_once('"').expect("a name");
                (name, rest.split_whitespace().take(5).map(|word| word.parse().expect("a number")).collect())
            })
            .collect();
        flat += entries.iter().filter(|(name, _)| !name.contains(" => ")).map(|(_, values)| values[2]).sum::<f64>();
        let root = &entries[".TAU application"];
        assert!(entries.values().all(|values| values[3] <= root[3] + 1.0 && values[2] <= values[3] + 1.0));
    }
    assert!((flat * 1e3 - all_ns(&profile) as f64).abs() < 3e3, "{flat}");
}

#[test]
fn names_in_profiles_of_tau_have_no_braces_beside_those_of_their_places_and_are_read_back() {
    let mut profile = master_and_worker();
    profile.regions[2].name = "solve::{lambda(int)#1}::operator() {\\}%n".into();
    profile.regions[4].file = "/home/user/{a}.c".into();
    let (files, _) = tau(&run(), &Results::new(&profile, Mode::Parallel));
    let entry = |line: &&str| line.starts_with('"');
    for step in files.iter().flat_map(|(_, text)| text.lines().filter(entry)).flat_map(|line| line.split(" => ")) {
        let of_places = step.matches(" [{").count() * 2;
        assert_eq!((step.matches('{').count(), step.matches('}').count()), (of_places, of_places), "{step}");
    }
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    let read = tare_foreign::tau::read(&files).expect("a profile");
    let region = |name: &str| read.profile.regions.iter().find(|region| &*region.name == name).unwrap_or_else(|| panic!("no {name}"));
    let solve = region("solve::?lambda(int)#1?::operator() ?\\?%n");
    assert_eq!((solve.file.as_str(), solve.line), ("/home/user/pi.c", 12));
    assert_eq!(region(&profile.regions[4].name).file, "/home/user/?a?.c");
}

#[test]
fn cube_holds_as_many_values_as_its_index_says() {
    let profile = master_and_worker();
    let packed = cube(&run(), &Results::new(&profile, Mode::Parallel)).expect("a file");
    let mut files: HashMap<String, Vec<u8>> = HashMap::new();
    for entry in tar::Archive::new(packed.as_slice()).entries().expect("a tar") {
        let mut entry = entry.expect("an entry");
        let name = entry.path().expect("a name").display().to_string();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("its content");
        files.insert(name, content);
    }
    let anchor = String::from_utf8(files["anchor.xml"].clone()).expect("text");
    tool(&["xmllint", "--noout", "FILE"], anchor.as_bytes());
    assert_eq!(anchor.matches("<location ").count(), 2);
    for metric in 0..4 {
        let index = &files[&format!("{metric}.index")];
        let rows = u32::from_le_bytes(index[18..22].try_into().expect("four bytes")) as usize;
        assert_eq!(index.len(), 22 + 4 * rows);
        assert_eq!(files[&format!("{metric}.data")].len(), 10 + rows * 2 * 8);
    }
    let root = |place: usize| f64::from_le_bytes(files["1.data"][10 + 8 * place..18 + 8 * place].try_into().expect("eight bytes"));
    near(((root(0) + root(1)) * 1e9).round() as u64, all_ns(&profile));
}

#[test]
fn cube_with_a_value_for_each_of_many_paths_on_each_of_many_ranks_is_refused_with_its_size() {
    let profile = many(20_000, 2_000);
    let refused = cube(&run(), &Results::new(&profile, Mode::Off)).expect_err("it is too large");
    let TooLarge { bytes, most } = refused;
    assert!(bytes > most && bytes % (2_000 * 8) == 0, "{refused:?}");
    let alone = profile.only(|process| process.0 == 7);
    assert!(cube(&run(), &Results::new(&alone, Mode::Off)).is_ok_and(|file| file.len() < 20_000_000));
}

#[test]
fn csv_has_a_row_for_each_node_and_quotes_what_must_be() {
    let mut profile = master_and_worker();
    profile.regions[2].name = "f<a, b>(\"x\")".into();
    let text = text(Format::Csv, &profile);
    let rows: Vec<&str> = text.split_terminator("\r\n").collect();
    assert_eq!(rows.len(), 1 + 3 + 4);
    assert!(rows.iter().any(|row| row.contains("\"f<a, b>(\"\"x\"\")\"")), "{text}");
    assert!(
        rows.iter()
            .filter(|row| !row.contains("f<a"))
            .all(|row| row.matches(',').count() == rows[0].matches(',').count() + usize::from(row.contains("string, ")))
    );
}

#[test]
fn what_is_not_to_be_trusted_stands_in_one_entry() {
    let mut profile = master_and_worker();
    profile.locations[1].nodes[3].exclusive = -2_000_000_000;
    let (bytes, removed) = document(Format::Collapsed, &run(), &Results::new(&profile, Mode::Parallel));
    let text = String::from_utf8(bytes).expect("text");
    assert_eq!(removed, 1);
    assert!(!text.contains("emplace_hint") && !text.contains('-'), "{text}");
}
