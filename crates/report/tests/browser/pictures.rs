//! What the pictures can be asked for: other widths, colours, rows and scales, and the time of each rank by class.

use serde_json::json;
use tare_profile::{Node, Profile, Region, RegionIndex};

use crate::chromium::Browser;
use crate::support::{alone_and_lossy, many, master_and_worker, run};
use crate::{is_quiet, made, with_levels};

#[test]
fn the_table_of_a_picture_is_saved_for_spreadsheets_and_rows_of_a_tree_say_their_place() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    browser.value(
        "URL.createObjectURL = (blob) => (blob.text().then((text) => (window.saved = text)), 'blob:none'), \
         HTMLAnchorElement.prototype.click = function () { window.savedAs = this.download; }",
    );
    let saved = |browser: &mut Browser, view: &str| {
        assert_eq!(browser.value(&format!("tare.{view}.csv.hidden")), json!(true), "it is the table's");
        browser.value(&format!("window.saved = undefined, tare.{view}.turner.click(), tare.{view}.csv.click()"));
        browser.until("window.saved !== undefined");
        browser.text("window.saved")
    };
    // What is saved has all digits, in seconds, and of a call path all of it.
    let ranks = saved(&mut browser, "heat");
    assert_eq!(browser.text("window.savedAs"), "ranks.csv");
    let received = format!("\r\nMPI_Recv,{},0\r\n", browser.number("tare.heat.value(tare.heat.regions.indexOf(3), 0) / 1e9"));
    assert!(ranks.starts_with("region,rank_0_s,rank_1_s\r\n") && ranks.contains(&received) && received.len() > 24, "{ranks}");
    let paths = saved(&mut browser, "icicle");
    let own = browser.number("tare.model.regionExclusive(3) / 1e9");
    assert!(paths.starts_with("call_path,depth,inclusive_s,exclusive_s\r\n"), "{paths}");
    assert!(paths.contains(&format!("\r\nprogram;main;MPI_Recv,2,{own},{own}\r\n")), "{paths}");
    assert_eq!(
        browser.text("[...document.querySelectorAll('#icicle th[title]')].map((head) => head.title).find((path) => path.endsWith('inside'))"),
        "program;main;inside"
    );
    browser.value("tare.model.selectRegion(3), tare.model.change({ values: 'measured' })");
    let relatives = saved(&mut browser, "sandwich");
    let measured = browser.number("tare.model.regionExclusive(3) / 1e9");
    assert!(relatives.starts_with("region,is,levels_away,time_measured_s,part_of_its_time,file,line\r\n"), "{relatives}");
    assert!(relatives.contains(&format!("\r\nmain,calls it,1,{measured},1,/home/user/pi.c,80\r\n")), "{relatives}");
    let row = "[...document.querySelectorAll('#regions .vrow')].find((row) => row.textContent.includes('inside'))";
    let place = format!("['level', 'posinset', 'setsize'].map((name) => {row}.getAttribute(`aria-${{name}}`)).join()");
    assert_eq!(browser.text(&place), "3,2,3");
    is_quiet(&browser);
}

#[test]
fn tables_in_the_place_of_pictures_do_not_depend_on_how_wide_these_are() {
    let mut browser = Browser::start();
    browser.size(1280, 900);
    let mut profile = with_equal_children(60);
    for (number, node) in profile.locations[0].nodes.iter_mut().skip(2).enumerate() {
        node.exclusive = 4_000_000_000 / (number as i64 + 1).pow(2);
    }
    browser.open(&made(&run(), &profile));
    browser.click("#icicle .bar button:not(.crumbs button)", (0.5, 0.5));
    let rows = "document.querySelectorAll('#icicle table tbody tr').length";
    let before = browser.number(rows);
    assert!(before > 50.0, "{before}");
    for width in [700, 2560, 1280] {
        browser.size(width, 900);
        browser.until(&format!("innerWidth === {width}"));
        browser.value("new Promise(requestAnimationFrame)");
        assert_eq!(browser.number(rows), before, "{width}");
    }
    browser.open(&made(&run(), &many(100, 300)));
    browser.click("#ranks .bar > span > button", (0.5, 0.5));
    let table = "document.querySelector('#ranks table').rows[0].innerText + ' ' + document.querySelector('#ranks > p.muted').textContent";
    let before = browser.text(table);
    assert!(before.contains("rank 0\trank 1\t") && !before.contains("A column is"), "{before}");
    let label = "document.querySelector('#ranks canvas').ariaLabel";
    let changes: [&dyn Fn(&mut Browser); 5] = [
        &|browser| browser.click("#summary .show", (0.5, 0.5)),
        &|browser| browser.click("#controls button[aria-label^='Light or dark']", (0.5, 0.5)),
        &|browser| {
            browser.key("r");
            browser.key("1");
            browser.key("Enter");
        },
        &|browser| browser.size(1000, 800),
        &|browser| {
            browser.call("Page.printToPDF", json!({}));
        },
    ];
    for (number, change) in changes.iter().enumerate() {
        browser.value(&format!("{label} = ''"));
        change(&mut browser);
        browser.until(&format!("{label} !== ''"));
        assert_eq!(browser.text(table), before, "{number}");
        assert_eq!(browser.number("tare.heat.records()[0].length"), 301.0, "{number}");
    }
    is_quiet(&browser);
}

/// Chooses in a section what a label offers.
pub(crate) fn choose(browser: &mut Browser, section: &str, label: &str, value: &str) {
    let select =
        format!("[...document.querySelectorAll('#{section} label')].find((at) => at.textContent.startsWith('{label}')).querySelector('select')");
    browser.value(&format!("(({select}).value = '{value}', ({select}).dispatchEvent(new Event('change')))"));
}

#[test]
fn the_icicle_is_as_wide_as_time_or_waiting_and_says_where_its_window_lies() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    let names = "tare.icicle.layout.boxes.map(({ path }) => tare.model.pathName(path)).join()";
    assert!(browser.text(names).contains("inside"));
    assert_eq!(browser.text("document.querySelector('#icicle .legend').textContent"), "piprogramMPI");
    assert_eq!(browser.value("document.querySelector('#icicle .overview').hidden"), json!(true));
    choose(&mut browser, "icicle", "Width", "waiting");
    assert_eq!(browser.text(names), "program,main,MPI_Recv", "only what waits has a width");
    choose(&mut browser, "icicle", "Width", "time");
    choose(&mut browser, "icicle", "Colour", "waiting");
    assert_eq!(browser.text("document.querySelector('#icicle .legend').textContent"), "no waitingall of it waiting");
    browser.value("tare.icicle.hover = () => {}, tare.model.selectRegion(3)");
    assert!(browser.text("document.querySelector('#icicle-line').textContent").contains("waiting 3.6"));
    browser.picture("icicle-waiting");
    // Of the time in main, MPI_Recv is what takes most: its window begins where main does.
    browser.value("tare.icicle.zoom(tare.model.state.path)");
    let window = "document.querySelector('#icicle .overview').getAttribute('aria-label')";
    assert!(browser.text(window).ends_with("of all, from 0\u{202f}% on"), "{}", browser.text(window));
    assert_eq!(browser.value("document.querySelector('#icicle .overview').hidden"), json!(false));
    browser.value("tare.model.selectRegion(2), tare.icicle.zoom(tare.model.state.path)");
    let part = |edge: &str| {
        format!(
            "(({{ {edge} }}, all) => ({edge} - all.left) / all.width)(document.querySelector('#icicle .overview > div').getBoundingClientRect(), document.querySelector('#icicle .overview').getBoundingClientRect())"
        )
    };
    let [left, right] = ["left", "right"].map(|edge| browser.number(&part(edge)));
    let [before, wide] =
        [3, 2].map(|region| browser.number(&format!("tare.model.pathInclusive(tare.model.tree.region.indexOf({region})) / tare.model.whole()")));
    assert!((left - before).abs() < 0.01 && (right - left - wide).abs() < 0.01, "{left} {right} {before} {wide}");
    browser.open(&made(&run(), &with_levels()));
    let mut words: Vec<String> = browser
        .text("[...document.querySelectorAll('#icicle .legend > span')].map((at) => at.textContent).join()")
        .split(',')
        .map(String::from)
        .collect();
    words.sort();
    assert_eq!(words, ["MPI", "call sites", "iterations", "loops", "pi", "program", "small call paths"], "60 that are near are narrow");
    is_quiet(&browser);
}

/// A main function that calls so many others, which take equal times and together nearly all.
fn with_equal_children(children: usize) -> Profile {
    let mut profile = alone_and_lossy();
    let nodes = &mut profile.locations[0].nodes;
    nodes.truncate(2);
    nodes[1].exclusive = 1_000_000;
    for number in 0..children {
        profile.regions.push(Region { name: format!("child_{number}").into(), ..profile.regions[1].clone() });
        let region = RegionIndex(profile.regions.len() - 1);
        nodes.push(Node { region, parent: Some(1), on_calls: 1, exclusive: 1_000_000, ..Node::default() });
    }
    profile
}

#[test]
fn neighbours_that_are_too_narrow_for_the_icicle_are_drawn_together() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &with_equal_children(8000)));
    let width = browser.number("tare.icicle.canvas.clientWidth");
    let together = "tare.icicle.layout.together";
    assert_eq!(browser.number(&format!("{together}.length")), 1.0);
    assert_eq!(browser.number(&format!("{together}[0].count")), 8000.0);
    assert!(browser.number(&format!("{together}[0].width")) > 0.9 * width);
    let name = "tare.icicle.canvas.getAttribute('aria-label')";
    assert!(browser.text(name).contains("and, drawn together, 8000 narrow ones"), "{}", browser.text(name));
    assert!(browser.text("document.querySelector('#icicle .legend').textContent").contains("small call paths"));
    browser.value("(({ left, top }) => tare.icicle.hover({ clientX: left + 100, clientY: top + 50 }))(tare.icicle.canvas.getBoundingClientRect())");
    let line = browser.text("document.querySelector('#icicle-line').textContent");
    assert!(line.starts_with("8000 call paths side by side, each narrower than half a pixel · together inclusive "), "{line}");
    assert_eq!(browser.text("tare.icicle.canvas.title"), "8000 call paths");
    browser.picture("icicle-narrow");
    // Those of a large run are one box beside the one that takes time, at once.
    let mut profile = with_equal_children(100_000);
    profile.locations[0].nodes[50_002].exclusive = 100_000_000_000;
    browser.open(&made(&run(), &profile));
    assert_eq!(browser.value(&format!("{together}.map(({{ count }}) => count)")), json!([99_999]));
    let time = browser.number("((then) => (tare.icicle.draw(), performance.now() - then))(performance.now())");
    assert!(time < 500.0, "drawn after {time} ms");
    is_quiet(&browser);
}

#[test]
fn the_heat_map_has_those_first_that_take_most_time_where_that_is_asked_for() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    let means = "tare.heat.regions.map((_, row) => tare.heat.mean(row))";
    let regions = "tare.heat.regions.join()";
    let carried = browser.text(regions);
    choose(&mut browser, "ranks", "Rows", "time");
    assert_eq!(browser.value(&format!("((means) => means.every((mean, row) => row === 0 || means[row - 1] >= mean))({means})")), json!(true));
    let most = browser.number("tare.heat.regions[0]");
    let is_most = format!("tare.model.regions.value.every((value) => value <= tare.model.regions.value[{most}])");
    assert_eq!(browser.value(&is_most), json!(true));
    // A click selects what stands in the row that is seen.
    browser.value("tare.model.selectRegion(tare.heat.regions[1])");
    assert!(browser.text("document.querySelector('#ranks-line').textContent").starts_with(&browser.text("tare.model.name(tare.heat.regions[1])")));
    choose(&mut browser, "ranks", "Rows", "differ");
    assert_eq!(browser.text(regions), carried);
    is_quiet(&browser);
}

#[test]
fn the_heat_map_has_those_first_that_take_most_on_the_selected_ranks() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    let first = "tare.model.name(tare.heat.regions[0])";
    choose(&mut browser, "ranks", "Rows", "chosen");
    let unchosen = browser.text(first);
    browser.value("tare.model.selectRanks('1')");
    assert_eq!(browser.text(first), "main");
    browser.value("tare.model.selectRanks('0')");
    assert_eq!(browser.text(first), "MPI_Recv");
    browser.value("tare.model.selectRanks('')");
    assert_eq!(browser.text(first), unchosen, "with none selected as they are carried");
    is_quiet(&browser);
}

#[test]
fn the_matrix_has_the_scale_that_fits_or_is_chosen() {
    let mut browser = Browser::start();
    let mut profile = master_and_worker();
    let back = tare_profile::Peer { rank: 0, received: 10, bytes: 4_000_000, ..tare_profile::Peer::default() };
    profile.locations[1].nodes[1].exchanged_mut().peers = vec![back];
    browser.open(&made(&run(), &profile));
    let line = "document.querySelector('#messages-line').textContent";
    assert!(browser.text(line).ends_with("from dark 0 to bright 7.63\u{202f}MiB, on a linear scale"), "{}", browser.text(line));
    choose(&mut browser, "messages", "Scale", "logarithmic");
    assert!(browser.text(line).ends_with("from dark 3.81\u{202f}MiB to bright 7.63\u{202f}MiB, on a logarithmic scale"), "{}", browser.text(line));
    choose(&mut browser, "messages", "Scale", "fitting");
    choose(&mut browser, "messages", "Shown", "messages");
    assert!(browser.text(line).contains("logarithmic"), "1000 messages and 10");
    assert!(browser.number("document.querySelector('#messages canvas').clientHeight") < 200.0, "two ranks need no large matrix");
    let wide = browser.number("document.querySelector('#messages canvas').clientWidth");
    browser.click("#messages canvas", (0.02 + 40.0 / wide, 0.9));
    assert!(browser.text("document.querySelector('#messages caption').textContent").contains("in the chosen cell"));
    is_quiet(&browser);
}

#[test]
fn a_cell_of_the_matrix_is_chosen_by_keys_and_outlined() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    let line = "document.getElementById('messages-line').textContent";
    let said = "document.getElementById('status').textContent";
    let caption = "document.querySelector('#messages caption').textContent";
    let all = browser.text(line);
    // The colour in the middle of the upper edge of the cell in which rank 1 sends to rank 0.
    let edge = "(() => { const canvas = document.querySelector('#messages canvas'); const scale = canvas.width / canvas.clientWidth; \
        const side = (canvas.clientHeight - 40) / 2; \
        return [...canvas.getContext('2d').getImageData(scale * (31 + side / 2), scale * (41 + side), 1, 1).data].slice(0, 3).join(); })()";
    let ink = "getComputedStyle(document.body).color.match(/[\\d.]+/g).slice(0, 3).join()";
    let ink = browser.text(ink);
    assert_ne!(browser.text(edge), ink);
    browser.key("6");
    assert_eq!(browser.text("document.activeElement.tagName"), "CANVAS");
    browser.key("ArrowRight");
    assert_eq!(browser.text(line), "rank 0 → rank 0: nothing");
    browser.key("ArrowDown");
    assert_eq!(browser.text(line), "rank 1 → rank 0: 7.63\u{202f}MiB");
    assert_eq!(browser.text(said), browser.text(line));
    browser.key("ArrowDown");
    browser.key("ArrowLeft");
    assert_eq!(browser.text(line), "rank 1 → rank 0: 7.63\u{202f}MiB", "no further than the last one");
    assert_eq!(browser.text(caption), "The heaviest pairs");
    browser.key("Enter");
    assert_eq!(browser.text(caption), "The heaviest pairs, in the chosen cell all");
    assert!(browser.text(said).ends_with("; chosen"), "{}", browser.text(said));
    assert_eq!(browser.text(edge), ink);
    browser.picture("matrix-chosen");
    browser.key("Escape");
    assert_eq!((browser.text(caption), browser.text(line)), ("The heaviest pairs".into(), all.clone()));
    assert_ne!(browser.text(edge), ink);
    // A click chooses it, too; then the key that lets go of it lets go of nothing else.
    browser.value("tare.model.selectRegion(3)");
    let wide = browser.number("document.querySelector('#messages canvas').clientWidth");
    browser.click("#messages canvas", (0.02 + 40.0 / wide, 0.9));
    assert_eq!(browser.text(edge), ink);
    browser.key("Escape");
    assert_eq!(browser.number("tare.model.state.region"), 3.0);
    browser.key("Escape");
    assert_eq!(browser.value("tare.model.state.region === 0xffffffff"), json!(true));
    browser.key("?");
    assert!(browser.text("document.querySelector('dialog').textContent").contains("among messages it chooses the pair"));
    is_quiet(&browser);
}

#[test]
fn sizes_of_messages_follow_cell_region_and_ranks() {
    let mut browser = Browser::start();
    let mut profile = master_and_worker();
    let back = tare_profile::Peer { rank: 0, received: 10, received_sizes: [0, 9, 0, 0, 0, 0, 0, 0], ..tare_profile::Peer::default() };
    profile.locations[1].nodes[1].exchanged_mut().peers = vec![back];
    profile.locations[0].nodes[2].exchanged_mut().peers[0].received_sizes = [0, 0, 0, 600, 0, 400, 0, 0];
    browser.open(&made(&run(), &profile));
    let sizes = "[...document.querySelectorAll('#messages .sizes caption, #messages .sizes tr')].map((part) => \
         [...part.children].map((cell) => cell.textContent).join(' ') || part.textContent).join('; ')";
    let shown = |browser: &mut Browser| browser.text(sizes).replace(['\u{202f}', '\u{a0}'], " ");
    let head = "Size Messages Share";
    assert_eq!(
        shown(&mut browser),
        format!(
            "Sizes of messages; {head}; 64 B to 512 B 9 0.9 %; 512 B to 4.00 KiB 0 0 %; 4.00 KiB to 32.0 KiB 600 59.4 %; 32.0 KiB to 256 KiB 0 0 %; \
             256 KiB to 2.00 MiB 400 39.6 %; not counted 1 0.1 %"
        )
    );
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('main'))");
    assert!(shown(&mut browser).contains("Sizes of messages in main"), "{}", shown(&mut browser));
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('MPI_Recv'))");
    assert_eq!(
        shown(&mut browser),
        format!("Sizes of messages in MPI_Recv; {head}; 4.00 KiB to 32.0 KiB 600 60.0 %; 32.0 KiB to 256 KiB 0 0 %; 256 KiB to 2.00 MiB 400 40.0 %")
    );
    browser.value("tare.model.change({ region: 0xffffffff, path: 0xffffffff })");
    browser.value("tare.model.selectRanks('1')");
    assert!(shown(&mut browser).starts_with("Sizes of messages of rank 1;"), "{}", shown(&mut browser));
    browser.value("tare.model.selectRanks('')");
    let wide = browser.number("document.querySelector('#messages canvas').clientWidth");
    browser.click("#messages canvas", (0.02 + 40.0 / wide, 0.9));
    assert!(shown(&mut browser).starts_with("Sizes of messages, in the chosen cell;"), "{}", shown(&mut browser));
    is_quiet(&browser);
}

#[test]
fn every_rank_has_a_bar_of_its_classes_and_beyond_a_few_every_bin() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    assert_eq!(browser.number("document.querySelectorAll('#classes [data-rank]').length"), 2.0);
    let text = browser.text("document.querySelector('#classes table').innerText");
    for part in ["Outside MPI", "Waiting", "MPI at work", "rank 0", "rank 1", "until others came"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let [first, second] =
        [0, 1].map(|rank| browser.text(&format!("document.querySelectorAll('#classes rect.class-waiting title')[{rank}].textContent")));
    assert!(first.starts_with("Waiting 9") || first.starts_with("Waiting 8"), "the master waits: {first}");
    assert_eq!(second, "Waiting 0\u{202f}%");
    browser.key("7");
    assert_eq!(browser.text("document.activeElement.id"), "classes");
    browser.open(&made(&run(), &many(100, 100)));
    assert!(browser.number("document.querySelectorAll('#classes [data-rank]').length") <= 32.0);
    assert!(browser.text("document.querySelector('#classes figcaption').textContent").contains("mean of 4 ranks"));
    browser.picture("classes");
    is_quiet(&browser);
}
