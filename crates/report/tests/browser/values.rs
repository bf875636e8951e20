//! What the page says: figures, and what changes with the switch of values.

use std::collections::BTreeSet;

use serde_json::json;
use tare_compensate::Mode;
use tare_profile::{Node, Profile, RegionIndex};
use tare_report::Results;
use tare_report::html::script;

use crate::chromium::Browser;
use crate::support::{many, master_and_worker, run};
use crate::{is_quiet, made, with_levels};

#[test]
fn a_line_of_the_source_counts_its_work_once_and_has_its_time_in_mpi() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &with_levels()));
    browser.value("tare.model.selectRegion(5)");
    let cell = |key: &str| {
        format!("[...document.querySelectorAll('#source .vrow')].find((row) => row.id.endsWith('-80')).querySelector('.c-{key}').textContent")
    };
    assert_eq!((browser.text(&cell("line")).as_str(), browser.text(&cell("calls")).as_str()), ("81", "500"));
    assert!(browser.text(&cell("mpi")).starts_with('2'), "mean of 4 s and 0 s: {}", browser.text(&cell("mpi")));
    assert_eq!(browser.text("[...document.querySelectorAll('#source .vhead .c-wait')].length + ''"), "0", "nobody waits");
    // What is offered to be typed is about the function that was selected.
    let lines = "[...document.querySelectorAll('#detail code')].map((code) => code.textContent)";
    let [question, explain] = [0, 1].map(|line| browser.text(&format!("{lines}[{line}]")));
    assert!(question.starts_with("tare query '") && question.ends_with("' 'self, time and count of \"loop 1 of main\"'"), "{question}");
    assert_eq!(explain, "tare select '/home/user/pi' --explain='main'");
    browser.value("tare.model.selectRegion(3)");
    assert_eq!(browser.value(&format!("{lines}.length")), json!(1), "no selection decides on MPI");
    is_quiet(&browser);
}

#[test]
fn a_line_of_the_source_has_its_waiting_and_how_uncertain_it_is() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    browser.value("tare.model.selectRegion(1)");
    let cell = |line: u32, key: &str| {
        format!(
            "[...document.querySelectorAll('#source .vrow')].find((row) => row.id.endsWith('-{}')).querySelector('.c-{key}').textContent",
            line - 1
        )
    };
    // Of the mean of 7.32 s and nothing in MPI 7.2 s are waiting.
    assert_eq!((browser.text(&cell(80, "mpi")).as_str(), browser.text(&cell(80, "wait")).as_str()), ("3.66", "3.60"));
    assert_eq!(browser.text("document.querySelector('#source .vhead .c-wait').textContent"), "Waiting, s");
    assert_eq!(browser.text(&cell(80, "exclusive")), "2.35 ± 0.17", "as in the table of regions");
    // 2.34 s and 3.66 s of 7.54 s, the mean of both ranks.
    assert_eq!(browser.text(&cell(80, "share")), "79.6\u{202f}%", "with its time in MPI");
    browser.picture("source-waiting");
    browser.value("tare.model.selectRanks('1')");
    assert_eq!(
        (browser.text(&cell(80, "wait")).as_str(), browser.text(&cell(80, "exclusive")).contains('…')),
        ("0", false),
        "rank 1 waits for nobody"
    );
    is_quiet(&browser);
}

/// Columns of times in the table of regions with a value that a longer unit would have fewer digits of.
const TOO_SHORT_A_UNIT: &str = "['exclusive', 'inclusive', 'each', 'wait'].filter((key) => { \
    const head = document.querySelector(`#regions .vhead .c-${key}`)?.textContent ?? ', s'; \
    const number = (cell) => Math.abs(parseFloat(cell.textContent.replace(/[≈<\u{202f}]/gu, '').replace('−', '-'))); \
    return !/, s( |$)/.test(head) && [...document.querySelectorAll(`#regions .vrow .c-${key}`)].some((cell) => number(cell) >= 999.5); }).join()";

#[test]
fn a_column_has_the_unit_of_its_largest_value_whatever_is_shown() {
    let mut browser = Browser::start();
    for (profile, factor) in [(with_levels(), 1.0), (with_levels(), 1e-4), (master_and_worker(), 1e-7)] {
        let mut profile = profile;
        profile.processes.iter_mut().for_each(|process| process.clock.seconds_per_tick *= factor);
        browser.open(&made(&run(), &profile));
        for values in ["value", "measured", "difference"] {
            browser.value(&format!("tare.model.change({{ values: '{values}' }})"));
            for shape in ["flat", "tree", "kind"] {
                browser.value(&format!("tare.table.setShape('{shape}')"));
                assert_eq!(browser.text(TOO_SHORT_A_UNIT), "", "{values} {shape} {factor}");
            }
        }
    }
    browser.value("tare.model.change({ values: 'value' })");
    is_quiet(&browser);
}

#[test]
fn a_short_call_can_be_read_beside_one_of_the_whole_run() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &with_levels()));
    browser.value("tare.table.setShape('flat')");
    let each =
        "[...document.querySelectorAll('#regions .vrow')].find((row) => row.textContent.includes('near_')).querySelector('.c-each').textContent";
    assert!(browser.text("document.querySelector('#regions .vhead .c-each').textContent").ends_with(", s"));
    let each = browser.text(each);
    assert!(each.starts_with("0.00") && each.len() >= 7, "a millisecond, less what its probes cost: {each}");
    is_quiet(&browser);
}

#[test]
fn an_operation_of_mpi_has_the_source_of_what_calls_it_most() {
    let mut browser = Browser::start();
    for (profile, caller, line) in [(with_levels(), "call 1 of MPI_Recv in main", "81"), (master_and_worker(), "main", "80")] {
        browser.open(&made(&run(), &profile));
        browser.value("tare.model.selectRegion(3)");
        let note = browser.text("document.querySelector('#source > p:not(.muted)').textContent");
        let expected = format!(
            "Where MPI_Recv stands in the source is not known; this is {caller}, which of its callers with a place takes most time for it: /home/user/pi.c"
        );
        assert_eq!(note, expected);
        assert_eq!(browser.text("document.querySelector('#source .vrow.selected .c-line').textContent"), line);
    }
    browser.value("tare.model.selectRegion(2)");
    assert_eq!(browser.text("document.querySelector('#source > p:not(.muted)').textContent"), "/home/user/pi.c");
    browser.value("tare.model.selectRegion(0)");
    assert!(browser.text("document.querySelector('#source > p:not(.muted)').textContent").ends_with("is not known."));
    is_quiet(&browser);
}

#[test]
fn a_time_that_is_not_to_be_trusted_is_marked_wherever_it_stands() {
    let mut browser = Browser::start();
    let mut profile = master_and_worker();
    // The hint takes less than its probes may.
    (profile.locations[1].nodes[3].exclusive, profile.locations[1].nodes[3].on_calls) = (40_000, 2_000);
    browser.open(&made(&run(), &profile));
    browser.value("[...document.querySelectorAll('#regions .vrow')].find((row) => row.textContent.includes('emplace_hint')).id = 'aim'");
    browser.click("#aim", (0.1, 0.5));
    let inside = |what: &str| format!("document.querySelector('{what}').textContent");
    let exclusive = |text: &str| text.split("xclusive").nth(1).unwrap_or_default().trim_start().split('†').next().unwrap_or_default().to_string();
    let panel = exclusive(&browser.text(&inside("#detail dl")));
    assert!(panel.starts_with("≈\u{202f}"), "{panel}");
    let line = browser.text(&inside("#icicle-line"));
    assert_eq!(exclusive(&line), panel, "{line}");
    let said = browser.text(&inside("#status"));
    assert!(said.ends_with(&format!("exclusive {}, not to be trusted", panel.trim().replace("≈\u{202f}", "about "))), "{said}");
    let heat = browser.text(&inside("#ranks-line"));
    assert_eq!((heat.matches('≈').count(), heat.matches('†').count()), (2, 2), "{heat}");
    browser.click("#ranks .bar > span > button", (0.5, 0.5));
    let cells = "[...[...document.querySelectorAll('#ranks tbody tr')].find((row) => row.textContent.includes('emplace')).querySelectorAll('td')].every((cell) => cell.textContent.endsWith('†'))";
    assert_eq!(browser.value(cells), json!(true));
    // The icicle's table has as much as a row of the call tree.
    browser.value("tare.icicle.turner.click()");
    let tabled = "[...document.querySelectorAll('#icicle tbody tr')].find((row) => row.textContent.includes('emplace')).lastChild.textContent";
    assert!(browser.text(tabled).ends_with('†'), "{}", browser.text(tabled));
    browser.value("tare.icicle.turner.click()");
    // Of its rank alone, too; as measured it is what was measured.
    let row = inside("#regions .vrow.selected .c-exclusive");
    browser.value("tare.model.selectRanks('1')");
    assert!(browser.text(&row).ends_with('†') && browser.text(&inside("#detail dl")).contains('†'), "{}", browser.text(&row));
    browser.value("tare.model.selectRanks('')");
    browser.key("m");
    let (row, line) = (browser.text(&row), browser.text(&inside("#icicle-line")));
    assert!(!row.contains('†') && !line.contains('†'), "{row} {line}");
    is_quiet(&browser);
}

#[test]
fn how_far_a_rank_is_above_the_mean_is_the_same_everywhere() {
    let mut browser = Browser::start();
    let mut profile = many(200, 2);
    // Just below where the last digit turns.
    for number in 1..12_usize {
        let ahead = 0.01 * number as f64 + 0.000_49;
        let first = profile.locations[0].nodes[number].exclusive as f64;
        profile.locations[1].nodes[number].exclusive = (first * (1.0 + ahead) / (1.0 - ahead)) as i64;
    }
    browser.open(&made(&run(), &profile));
    let rows = "[...document.querySelectorAll('#summary tr[data-region]')].map((row) => [Number(row.dataset.region), row.querySelector('[data-of=slowest]').textContent])";
    let rows = browser.value(rows);
    let rows: Vec<(u64, &str)> = { rows.as_array().expect("a list").iter() }
        .filter_map(|row| Some((row[0].as_u64()?, row[1].as_str()?.strip_prefix("1 (")?.strip_suffix(')')?)))
        .collect();
    assert!(rows.len() >= 10, "{rows:?}");
    browser.value("tare.table.setShape('flat')");
    browser.click("#ranks .bar > button", (0.5, 0.5));
    for (region, ahead) in rows {
        browser.value(&format!("tare.model.change({{ ranks: [] }}), tare.model.selectRegion({region})"));
        assert_eq!(browser.text("document.querySelector('#regions .vrow.selected .c-spread').textContent"), format!("1 ({ahead})"));
        browser.value("tare.model.selectRanks('1')");
        let line = browser.text("document.getElementById('ranks-line').textContent");
        assert!(line.contains(&format!(", {ahead} against the mean")), "{line}: {ahead}");
    }
    is_quiet(&browser);
}

/// Texts that the heat map writes above its columns, and where each begins and ends.
const ABOVE_THE_HEAT_MAP: &str = "(() => { const { prototype } = CanvasRenderingContext2D; const real = prototype.fillText; const found = []; \
    prototype.fillText = function (text, x, y, ...more) { const wide = this.measureText(text).width; \
    const from = x - { left: 0, start: 0, center: wide / 2, right: wide }[this.textAlign]; \
    if (y === 10) found.push({ text, from, to: from + wide }); real.call(this, text, x, y, ...more); }; \
    tare.heat.draw(); prototype.fillText = real; return found.sort((one, other) => one.from - other.from); })()";

#[test]
fn the_heat_map_has_numbers_of_ranks_above_its_columns() {
    let mut browser = Browser::start();
    for (profile, some) in
        [(master_and_worker(), vec!["rank", "0", "1"]), (many(200, 64), vec!["rank", "0", "2", "62"]), (many(200, 3000), vec!["rank", "0"])]
    {
        browser.open(&made(&run(), &profile));
        let written = browser.value(ABOVE_THE_HEAT_MAP);
        let written = written.as_array().expect("a list");
        let texts: Vec<&str> = written.iter().filter_map(|one| one["text"].as_str()).collect();
        assert!(some.iter().all(|text| texts.contains(text)), "{some:?} in {texts:?}");
        assert!(texts.len() > 2, "{texts:?}");
        assert!(written.windows(2).all(|pair| pair[0]["to"].as_f64() < pair[1]["from"].as_f64()), "none lies on another: {written:?}");
        browser.picture(&format!("heat-{}", profile.processes.len()));
    }
    is_quiet(&browser);
}

/// Rows of the heat map whose greatest column has not the colour that it should, by what stands on the screen.
const HOT_COLUMNS_UNSEEN: &str = "(() => { const { heat } = tare; const { width } = heat.canvas; const scale = width / heat.canvas.clientWidth; \
    const wide = (heat.canvas.clientWidth - 230) / heat.columns; const context = heat.canvas.getContext('2d'); \
    const colour = (row, column) => String(context.getImageData(scale * (230 + (column + 0.5) * wide), scale * (20 + 18 * row + 9), 1, 1).data); \
    const unseen = []; for (let row = 0; row < heat.shown(); row++) { const hot = heat.slowest(row); \
    const values = Array.from({ length: heat.columns }, (_, column) => heat.value(row, column)); const cold = values.indexOf(Math.min(...values)); \
    if (values[hot] > 2 * values[cold] && colour(row, hot) === colour(row, cold)) unseen.push(row); } return unseen.length; })()";
/// The greatest of each row over all bins and ranks that are carried, less that over the columns that are drawn.
const GREATEST_LOST: &str = "(() => { const { heat } = tare; let lost = 0; for (let row = 0; row < heat.shown(); row++) { \
    const from = heat.order[row] * heat.stride; const all = heat.cells.most_value.subarray(from, from + heat.stride).reduce((one, other) => Math.max(one, other)); \
    const drawn = Array.from({ length: heat.columns }, (_, column) => heat.value(row, column, 'most')).reduce((one, other) => Math.max(one, other)); \
    lost += Math.abs(all - drawn); } return lost; })()";

#[test]
fn the_heat_map_loses_no_greatest_value_where_there_are_more_bins_than_pixels() {
    let mut browser = Browser::start();
    let mut profile = many(60_000, 3_000);
    // On one rank alone is a region that takes long: its bin has to be seen.
    let lone = profile.locations[1_501].nodes.len() - 1;
    profile.locations[1_501].nodes[lone].exclusive += 20_000_000_000;
    browser.open(&made(&run(), &profile));
    for (width, ranks) in [(1280, "A column is 6 ranks, their mean"), (2400, "A column is 3 ranks, their mean")] {
        browser.size(width, 900);
        browser.value("tare.heat.draw()");
        assert!(browser.text("document.querySelector('#ranks').textContent").contains(ranks), "{width}");
        assert_eq!(browser.value("tare.heat.columns <= tare.heat.canvas.clientWidth - 230"), json!(true), "{width}");
        assert_eq!(browser.number(GREATEST_LOST), 0.0, "{width}");
        assert_eq!(browser.number(HOT_COLUMNS_UNSEEN), 0.0, "{width}");
    }
    browser.size(1280, 900);
    browser.value("tare.heat.set('which', 'most')");
    assert!(browser.text("document.querySelector('#ranks').textContent").contains("A column is 6 ranks, their greatest"));
    assert_eq!(browser.number(HOT_COLUMNS_UNSEEN), 0.0);
    browser.value("tare.model.selectRanks('1500')");
    let line = browser.text("document.getElementById('ranks-line').textContent");
    assert!(line.contains("ranks 1500–1505: greatest ") && line.contains("; their mean is "), "{line}");
    is_quiet(&browser);
}

#[test]
fn a_budget_stands_in_trust() {
    let mut browser = Browser::start();
    let mut profile = master_and_worker();
    let trust = "document.getElementById('trust').textContent.replaceAll(/\\s/g, ' ')";
    browser.open(&made(&run(), &profile));
    assert!(!browser.text(trust).contains("Budget"));
    profile.processes[0].budget = Some(0.02);
    browser.open(&made(&run(), &profile));
    assert!(browser.text(trust).contains("Budget: 2.0 % allowed, probes took "), "{}", browser.text(trust));
    is_quiet(&browser);
}

/// `main` and `inside` call each other and themselves; with what a call of `inside` costs taken off, in one process.
fn within_one_another() -> Profile {
    let mut profile = master_and_worker();
    let nodes = &mut profile.locations[1].nodes;
    let (main, inside) = (nodes[1].clone(), nodes[2].clone());
    nodes.truncate(3);
    nodes.push(Node { region: RegionIndex(1), parent: Some(2), on_calls: 7, exclusive: 1_000_000_000, ..main });
    nodes.push(Node { parent: Some(3), ..inside });
    profile
}

#[test]
fn the_switch_of_values_holds_for_inclusive_times_in_all_shapes_and_groups_count_what_is_within_once() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &within_one_another()));
    let of = |shape: &str, values: &str, name: &str, key: &str| {
        format!(
            "(() => {{ const {{ table, model }} = tare; table.setShape('{shape}'); model.change({{ values: '{values}' }}); \
             const item = table.items.find((item) => item.group === '{name}' || (item.region !== undefined && model.name(item.region) === '{name}')); \
             return table.of(item, '{key}'); }})()"
        )
    };
    let mut number = |shape: &str, values: &str, name: &str, key: &str| browser.number(&of(shape, values, name, key));
    let near = |one: f64, other: f64| (one - other).abs() <= 1e-6 * one.abs().max(1.0);
    for (shape, name) in [("flat", "main"), ("flat", "inside"), ("file", "/home/user/pi.c"), ("image", "/home/user/pi"), ("kind", "function")] {
        let [value, measured, difference] = ["value", "measured", "difference"].map(|values| number(shape, values, name, "inclusive"));
        assert!(measured > value + 1e8 && near(difference, measured - value), "{shape} {name}: {value} {measured} {difference}");
        // All of a group is below one region.
        let top = if shape == "flat" {
            name
        } else if shape == "image" {
            "program"
        } else {
            "main"
        };
        assert!(near(value, number("flat", "value", top, "inclusive")), "{shape} {name}");
        let each = number(shape, "value", name, "exclusive") * 2.0 / number(shape, "value", name, "calls");
        assert!(near(each, number(shape, "value", name, "each")), "{shape} {name}");
    }
    // A call in a call of the same pair counts once.
    for (values, column) in [("value", "inclusive"), ("measured", "measured_inclusive")] {
        browser.value(&format!("tare.model.change({{ values: '{values}' }})"));
        let callers = browser.number("tare.detail.callers(2)[0][1]");
        assert!(near(callers, browser.number(&format!("tare.model.regions.{column}[2] / 2"))), "{callers} {values}");
    }
    is_quiet(&browser);
}

#[test]
fn the_switch_of_values_holds_for_what_ranks_spend() {
    let mut browser = Browser::start();
    let profile = master_and_worker();
    browser.open(&made(&run(), &profile));
    browser.value("tare.model.selectRegion(2)");
    let results = Results::new(&profile, Mode::Parallel);
    let own = |rank: usize, is_measured: bool| -> f64 {
        let nodes = profile.locations[rank].nodes.iter().zip(&results.shown.locations[rank].nodes).filter(|(node, _)| node.region.0 == 2);
        nodes.map(|(_, figures)| if is_measured { figures.measured_exclusive_s } else { figures.exclusive.value }).sum()
    };
    let of = |rank: usize, values: &str| match values {
        "value" => own(rank, false),
        "measured" => own(rank, true),
        _ => own(rank, true) - own(rank, false),
    };
    let row = browser.number("tare.heat.rows.region.indexOf(2)");
    let mut seen = BTreeSet::new();
    for values in ["value", "measured", "difference"] {
        browser.value(&format!("tare.model.change({{ values: '{values}' }})"));
        for rank in 0..2 {
            let cell = browser.number(&format!("tare.heat.value({row}, {rank})")) / 1e9;
            assert!((cell - of(rank, values)).abs() <= 2e-4 * of(rank, values).abs() + 1e-9, "{cell} on {rank}, {values}");
        }
        let most = browser.number("tare.model.spread().most[2]") / 1e9;
        let expected = of(0, values).max(of(1, values));
        assert!((most - expected).abs() <= 2e-4 * expected.abs(), "{most} {values}");
        seen.insert(browser.text("document.getElementById('ranks-line').textContent"));
        let share = if values == "difference" { "1 (0.447)" } else { "(+100\u{202f}%" };
        assert!(browser.text("tare.table.most(2)").contains(share), "{values}: {}", browser.text("tare.table.most(2)"));
        let ranks = "[...document.querySelectorAll('#detail dt')].find((one) => one.textContent === 'Ranks').nextSibling.textContent";
        seen.insert(browser.text(ranks));
    }
    assert_eq!(seen.len(), 6, "each value reads otherwise: {seen:?}");
    is_quiet(&browser);
}

#[test]
fn a_tree_is_sorted_by_the_column_that_has_the_arrow() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &with_levels()));
    let names = |browser: &mut Browser| {
        browser.text(
            "tare.table.items.filter(({ path }) => tare.model.tree.parent[path] === 1).map(({ path }) => tare.model.pathName(path)).slice(0, 3).join()",
        )
    };
    let sorted = browser.text("document.querySelector('#regions [aria-sort=descending]').textContent");
    assert!(sorted.starts_with("Inclusive"), "{sorted}");
    let heaviest = names(&mut browser);
    for key in ["inclusive", "exclusive", "calls", "name"] {
        let seen = |browser: &mut Browser| {
            browser.value(&format!("tare.table.sortBy('{key}')"));
            browser.text(&format!(
                "(() => {{ const {{ table, model }} = tare; const rows = table.items.filter(({{ path }}) => model.tree.parent[path] === 1); \
                 const keys = rows.map((row) => '{key}' === 'name' ? table.text(row) : table.of(row, '{key}')); \
                 const sign = table.isDescending ? -1 : 1; \
                 return String(rows.length > 1 && keys.every((one, at) => at === 0 || (sign > 0 ? keys[at - 1] <= one : keys[at - 1] >= one))); }})()"
            ))
        };
        assert_eq!(seen(&mut browser), "true", "{key}");
        assert_eq!(seen(&mut browser), "true", "{key}, the other way round");
    }
    browser.value("tare.table.sortBy('inclusive'); if (!tare.table.isDescending) tare.table.sortBy('inclusive')");
    assert_eq!(names(&mut browser), heaviest);
    is_quiet(&browser);
}

#[test]
fn figures_of_the_page_read_as_those_of_the_terminal() {
    let mut browser = Browser::start();
    browser.load(&made(&run(), &Profile::default()));
    let pure = script().split("// Reads the data that the page carries").next().map(String::from).expect("the modules before the last");
    browser.value(&format!(
        "(() => {{ {pure}; window.numbers = {{ shortName, alone, share, count, byteSize, plain, figure, columnFor }}; return 0; }})()"
    ));
    for (expression, wanted) in [
        ("shortName('LAMMPS_NS::PairLJCut::compute(int, int)', 22)", "…PairLJCut::compute"),
        ("shortName('LAMMPS_NS::FixNVE::initial_integrate(int)', 20)", "FixNVE::in…integrate"),
        ("shortName('loop 2 of LAMMPS_NS::FixNVE::initial_integrate', 20)", "loop 2 of …integrate"),
        ("shortName('std::vector<int, std::allocator<int> >::push_back(int const&)', 40)", "std::vector<…>::push_back(int const&)"),
        ("shortName('CalcFBHourglassForceForElems', 16)", "CalcFBHo…orElems"),
        ("shortName('operator<<(std::ostream&)', 12)", "operator<<"),
        ("shortName('Pair::operator()(std::ostream&) const', 20)", "Pair::operator()"),
        ("shortName('void std::__introsort_loop<A, B>(A, long).isra.0', 30)", "std::__introsort_loop<…>"),
        ("shortName('iteration of loop 12 of a_long_function', 20)", "iteration …_function"),
        ("alone(12.345e6, 0.4e6, 0.4e6)", "12.3 ± 0.4 ms"),
        ("alone(84.3123e9, 0.1234e9, 0.1234e9)", "84.31 ± 0.12 s"),
        ("alone(9.6e6, 0.96e6, 0.96e6)", "9.6 ± 1.0 ms"),
        ("alone(21.41e9, 0.0912e9, 0.0912e9)", "21.41 ± 0.09 s"),
        ("alone(12.3e6, 0.4e6, 1.3e6)", "12.3 (11.9 … 13.6) ms"),
        ("figure(4.0047e9, 1.7e6, 2.4e6, false, columnFor(4e9))", "4.005 ± 0.002"),
        ("figure(4e5, 9e5, 9e5, false, columnFor(4e9))", "<0.001"),
        ("alone(3e6, 1e6, 1e6, true)", "≈ 3.00 ms †"),
        ("share(0.0004)", "<0.1 %"),
        ("share(0.486)", "48.6 %"),
        ("count(76800)", "76.8 k"),
        ("count(1200000)", "1.20 M"),
        ("count(999500)", "1.00 M"),
        ("byteSize(1536)", "1.50 KiB"),
        ("plain(-12345e9, columnFor(2e13))", "−12 345"),
    ] {
        assert_eq!(
            browser.text(&format!("numbers.{}", expression.replace("columnFor", "numbers.columnFor"))).replace('\u{202f}', " "),
            wanted,
            "{expression}"
        );
    }
}

#[test]
fn what_a_search_says_is_of_the_values_that_are_shown() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    let said = "document.getElementById('hits').textContent";
    let (search, switch) = ("tare.model.change({ query: 'mpi_' })", "tare.model.change({ values: 'difference' })");
    browser.value(search);
    let compensated = browser.text(said);
    assert!(compensated.ends_with("of the time"), "{compensated}");
    browser.value(switch);
    let afterwards = browser.text(said);
    assert!(afterwards.ends_with("taken off") && afterwards.contains(" of ") && !afterwards.contains('%'), "{afterwards}");
    browser.value("tare.model.change({ query: '' })");
    browser.value(search);
    assert_eq!(browser.text(said), afterwards, "in whichever order");
    browser.value("tare.model.change({ query: 'inside' })");
    assert_ne!(browser.text(said), afterwards);
    browser.value("tare.model.change({ values: 'value', query: 'mpi_' })");
    assert_eq!(browser.text(said), compensated);
    browser.value("tare.model.selectRanks('0')");
    assert_ne!(browser.text(said), compensated, "of the ranks that are shown");
    is_quiet(&browser);
}

#[test]
fn the_summary_says_which_values_it_has_where_others_are_chosen() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    let heading = "[...document.querySelectorAll('#summary h3')].find((one) => one.textContent.startsWith('Regions')).innerText";
    assert_eq!(browser.text(heading), "Regions that take most time");
    browser.value("tare.model.change({ values: 'difference' })");
    assert_eq!(browser.text(heading), "Regions that take most time – compensated beside measured; their difference stands in Regions");
    browser.value("tare.model.change({ values: 'value' })");
    assert_eq!(browser.text(heading), "Regions that take most time");
    is_quiet(&browser);
}
