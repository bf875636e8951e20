//! What is selected, searched and opened, by clicks and by keys.

use std::process::Command;

use serde_json::json;
use tare_compensate::Mode;
use tare_profile::{Node, RegionIndex};
use tare_query::{Question, answer};
use tare_report::html::{MOST_PATHS, page};
use tare_report::{Results, Run};

use crate::chromium::Browser;
use crate::pictures::choose;
use crate::support::{master_and_worker, run};
use crate::{NOTHING_STICKS_OUT, is_quiet, made, with_levels};

#[test]
fn the_views_are_linked_and_obey_clicks_and_keys() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    browser.picture("pi");
    // The tree is open along the heaviest path; a click selects, and every view follows.
    assert_eq!(browser.text("document.querySelector('.vrow .c-name').textContent.trim()").replace('▾', ""), "program");
    browser.value("[...document.querySelectorAll('.vrow')].find((row) => row.textContent.includes('MPI_Recv')).id = 'aim'");
    browser.click("#aim", (0.1, 0.5));
    assert_eq!(browser.text("document.querySelector('#detail h2').textContent"), "MPI_Recv");
    assert!(browser.text("document.querySelector('#detail').textContent").contains("3.66 (3.58 … 3.72)"));
    assert!(browser.text("document.querySelector('#icicle-line').textContent").starts_with("MPI_Recv"));
    assert!(browser.text("location.hash").contains("region="));
    // Keys alone: to the table, down, open and close.
    browser.key("2");
    assert_eq!(browser.value("document.activeElement === document.querySelector('#regions .vtable')"), json!(true), "arrows move in it at once");
    browser.key("Home");
    assert_eq!(browser.text("document.querySelector('#detail h2').textContent"), "program");
    let rows = "document.querySelectorAll('#regions .vrow').length";
    let before = browser.number(rows);
    browser.key("ArrowLeft");
    assert_eq!(browser.number(rows), 1.0, "closed, the tree is its root");
    browser.key("ArrowRight");
    assert_eq!(browser.number(rows), before);
    // The values change, and what is selected stays.
    browser.key("m");
    assert_eq!(browser.text("document.querySelector('#controls input:checked').value"), "measured");
    assert!(browser.text("document.querySelector('#regions').textContent").contains("Exclusive measured"));
    assert_eq!(browser.text("document.querySelector('#detail h2').textContent"), "program");
    browser.key("m");
    browser.key("m");
    // The source of what is selected.
    browser.value("tare.model.selectRegion(2)");
    let line = browser.text("document.querySelector('#source .vrow.selected').textContent");
    assert!(line.starts_with("12") && line.contains("line 12"), "{line}");
    browser.picture("pi-selected");
    // Escape selects nothing, and help comes and goes.
    browser.value("document.activeElement.blur()");
    browser.key("Escape");
    assert_eq!(browser.value("document.getElementById('detail').hidden"), json!(true));
    browser.key("?");
    assert_eq!(browser.value("document.querySelector('dialog').open"), json!(true));
    browser.key("Escape");
    browser.until("document.querySelector('dialog') === null");
    is_quiet(&browser);
}

#[test]
fn keys_copy_questions_turn_pictures_and_lead_back_and_forward() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    let copied = |browser: &mut Browser| {
        browser.value("document.getElementById('status').textContent = ''");
        browser.key("y");
        browser.until("document.getElementById('status').textContent !== ''");
        browser.text("document.getElementById('status').textContent")
    };
    // The question has what the view is about, what is selected, and the values that are shown.
    browser.key("2");
    assert!(copied(&mut browser).ends_with("'self by region top 10'"), "{}", copied(&mut browser));
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('MPI_Recv'))");
    assert!(copied(&mut browser).starts_with("Copied: tare query '"));
    assert!(copied(&mut browser).ends_with("' 'self, time and count of \"MPI_Recv\"'"));
    browser.key("6");
    browser.value("tare.model.selectRanks('0')");
    assert!(copied(&mut browser).ends_with("'messages, bytes, transmission and waiting of \"MPI_Recv\" by peer on ranks 0'"));
    // Where nothing was measured, no question is asked: `inside` sends nothing, and takes no time on rank 0.
    browser.value("tare.model.selectRegion(2)");
    assert!(copied(&mut browser).starts_with("Nothing was measured there"), "{}", copied(&mut browser));
    browser.value("tare.model.selectRanks('1')");
    assert!(copied(&mut browser).ends_with("'self, time and count of \"inside\" on ranks 1'"), "{}", copied(&mut browser));
    browser.value("tare.model.selectRanks('0')");
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('MPI_Recv'))");
    browser.key("4");
    browser.key("m");
    assert!(copied(&mut browser).ends_with("' --compensate off 'self of \"MPI_Recv\" by rank on ranks 0'"));
    // A table in the place of the picture that has the focus, and back.
    browser.key("t");
    assert_eq!(browser.value("[tare.heat.list.hidden, tare.icicle.list.hidden]"), json!([false, true]));
    browser.key("t");
    assert_eq!(browser.value("[tare.heat.list.hidden, tare.icicle.list.hidden]"), json!([true, true]));
    // Zoomed in twice: out by a key, back and forward by others, and by the browser's own way.
    let zoomed = "document.querySelector('#icicle .crumbs').textContent";
    let all = browser.text(zoomed);
    browser.key("3");
    browser.key("Enter");
    let deep = browser.text(zoomed);
    assert!(deep.ends_with("MPI_Recv"), "{deep}");
    assert!(browser.text("location.hash").contains("zoom="));
    browser.key("Backspace");
    let out = browser.text(zoomed);
    assert!(deep.starts_with(&out) && out.len() < deep.len(), "{out}");
    browser.key("[");
    assert_eq!(browser.text(zoomed), deep);
    browser.key("]");
    assert_eq!(browser.text(zoomed), out);
    browser.value("history.back()");
    browser.until(&format!("{zoomed} === {}", json!(deep)));
    browser.value("tare.icicle.zoom(0xffffffff)");
    assert_eq!(browser.text(zoomed), all);
    is_quiet(&browser);
}

#[test]
fn commands_that_are_copied_find_regions_of_any_name() {
    let mut browser = Browser::start();
    // The third word of a command, as a shell takes it.
    let third = |line: &str| {
        let said = Command::new("sh").args(["-c", &format!("tare() {{ printf %s \"$3\"; }}; {line}")]).output().expect("a shell");
        String::from_utf8(said.stdout).expect("text")
    };
    for name in ["f(int)", "it's", "a,b;c \"quoted\" 'x'", "new\nline\ttab", "\u{202e}rtl_override", "größe_\u{1f600}/\\[.]\n'$\""] {
        let mut profile = master_and_worker();
        profile.regions[2].name = name.into();
        browser.open(&made(&run(), &profile));
        browser.value("tare.model.selectRegion(2)");
        let [question, selection] = [0, 1].map(|at| browser.text(&format!("document.querySelectorAll('#detail code')[{at}].textContent")));
        assert!(!question.contains(char::is_control) && !selection.contains(char::is_control), "{question} {selection}");
        let (question, selection) = (third(&question), third(&selection));
        let Ok(Question::Sums(sums)) = Question::parse(&question) else { panic!("{question}") };
        let rows = answer(&profile, &Results::new(&profile, Mode::Parallel).shown, &sums).expect(&question).rows;
        assert_eq!(rows.iter().map(|row| row.region).collect::<Vec<_>>(), [Some(RegionIndex(2))], "{question}");
        let pattern = selection.strip_prefix("--explain=").expect("the option");
        assert!(pattern == name || pattern.starts_with('/') && question.contains(pattern), "{selection}");
    }
    is_quiet(&browser);
}

#[test]
fn a_name_in_the_table_is_one_text_and_read_whole_where_it_has_no_room() {
    let mut browser = Browser::start();
    let mut profile = master_and_worker();
    let long = "SOLVER_NS::CommunicationBrick::".repeat(4) + "reverse_communication_of_forces()";
    profile.regions[2].name = long.clone().into();
    browser.open(&made(&run(), &profile));
    let texts = "[...document.querySelectorAll('#regions .cut')].every((name) => name.childNodes.length === 1 && name.firstChild.nodeType === Node.TEXT_NODE)";
    assert_eq!(browser.value(texts), json!(true));
    let cell = |name: &str| {
        format!("[...document.querySelectorAll('#regions .vrow .c-name')].find((cell) => cell.querySelector('.cut').title.includes('{name}'))")
    };
    let (read, seen) =
        (browser.text(&format!("{}.ariaLabel", cell("reverse"))), browser.text(&format!("{}.querySelector('.cut').textContent", cell("reverse"))));
    assert!(seen.contains('…') && read == format!("{seen}, {long}"), "{read}: it is found by what is seen of it, too");
    assert_eq!(browser.value(&format!("{}.ariaLabel", cell("MPI_Recv"))), json!(null), "it stands there as it is");
    is_quiet(&browser);
}

#[test]
fn selected_ranks_have_their_times_in_all_views() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    let column = "[document.querySelector('#regions .vhead .c-spread'), \
        [...document.querySelectorAll('#regions .vrow')].find((row) => row.textContent.includes('MPI_Recv')).querySelector('.c-spread')].map((cell) => cell.textContent).join()";
    assert!(browser.text(column).starts_with("Most,"), "{}", browser.text(column));
    let cells = |name: &str| {
        format!(
            "[...[...document.querySelectorAll('#regions .vrow')].find((row) => row.textContent.includes('{name}')).children].map((cell) => cell.textContent).slice(1, 5).join(' | ')"
        )
    };
    let whom = "document.getElementById('of-ranks').textContent";
    let mean = browser.text(&cells("MPI_Recv"));
    assert_eq!(browser.text(whom), "");
    // What each has is its own: the sum of both is that of all.
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('MPI_Recv'))");
    browser.value("tare.model.selectRanks('0')");
    browser.picture("pi-of-rank-0");
    assert!(browser.text("document.querySelector('#regions .vhead').textContent").contains("Exclusive on rank 0, s"));
    assert!(browser.text(&cells("MPI_Recv")).starts_with("7.32 | 98.5\u{202f}%"), "{}", browser.text(&cells("MPI_Recv")));
    let summary = |browser: &mut Browser| {
        let row = "[...document.querySelectorAll('#summary tr[data-region]')].find((row) => row.textContent.includes('MPI_Recv'))";
        let cells = browser.text(&format!("[...{row}.querySelectorAll('td[data-of]')].map((cell) => cell.textContent).join(' | ')"));
        let line = browser.text("document.getElementById('summary-line').textContent");
        (cells, line, browser.number("document.querySelectorAll('#summary .strip rect.selected').length"))
    };
    let (row, line, bars) = summary(&mut browser);
    assert!(row.starts_with("7.32 | 8.90 | 98.5\u{202f}% | "), "{row}");
    assert!(line.starts_with("Rank 0: 7.4") && line.contains("The table of regions is of these") && bars == 1.0, "{line}");
    assert!(browser.text(whom).starts_with("Times of rank 0 alone"), "{}", browser.text(whom));
    assert!(browser.text(column).starts_with("Most,"), "beside it, who has most of all");
    let (line, pane) = ("document.getElementById('icicle-line').textContent", "document.querySelector('#detail dl').textContent");
    assert!(browser.text(line).contains("rank 0 · inclusive 7.32"), "{}", browser.text(line));
    assert!(browser.text(pane).contains("Times ofrank 0") && browser.text(pane).contains("Exclusive7.32"), "{}", browser.text(pane));
    browser.value("tare.model.selectRanks('1')");
    assert!(browser.text(&cells("MPI_Recv")).starts_with("0 | 0"), "{}", browser.text(&cells("MPI_Recv")));
    let total = |browser: &mut Browser| browser.number("tare.model.whole()");
    let of_one = total(&mut browser);
    browser.value("tare.model.selectRanks('0')");
    let of_other = total(&mut browser);
    browser.value("tare.model.selectRanks('')");
    let of_all = total(&mut browser);
    assert!(((of_one + of_other) / 2.0 - of_all).abs() < 1e-3 * of_all, "{of_one} and {of_other}: {of_all}");
    assert_eq!((browser.text(&cells("MPI_Recv")), browser.text(whom)), (mean, String::new()));
    let (row, line, bars) = summary(&mut browser);
    assert!(row.starts_with("3.66 (3.58 … 3.72) | 4."), "{row}");
    assert_eq!((line, bars), (String::new(), 0.0), "the summary is of all again");
    // All of them are all.
    browser.value("tare.model.selectRanks('0-1')");
    assert_eq!(browser.text(column), "On ranks 0-1, s,3.66");
    is_quiet(&browser);
}

#[test]
fn of_a_rank_whose_call_paths_have_no_room_the_page_says_so() {
    let mut browser = Browser::start();
    let mut profile = master_and_worker();
    let calls = profile.locations[1].nodes[1].clone();
    profile.locations[1].nodes.extend(std::iter::repeat_n(tare_profile::Node { exclusive: 0, ..calls }, 400_000));
    browser.open(&made(&run(), &profile));
    let whom = "document.getElementById('of-ranks').textContent";
    browser.value("tare.model.selectRanks('0')");
    assert!(browser.text(whom).starts_with("Times of rank 0 alone"), "{}", browser.text(whom));
    browser.value("tare.model.selectRanks('1')");
    let said = browser.text(whom);
    assert!(said.starts_with("Times are of all ranks: this page has the call paths of 1 rank of 2, and not those of 1. tare report '"), "{said}");
    let head = browser.text("document.querySelector('#regions .vhead').textContent");
    assert!(head.contains("Exclusive, s") && head.contains("On rank 1, s"), "{head}");
    is_quiet(&browser);
}

#[test]
fn a_page_of_anothers_file_offers_what_is_known_of_it() {
    let mut browser = Browser::start();
    let theirs = Run { measured_by: Some("TAU 2.31".into()), ..run() };
    browser.open(&page(&theirs, &Results::as_measured(&master_and_worker()), &[], MOST_PATHS));
    let state = "[tare.model.state.values, location.hash, document.querySelectorAll('#controls input:checked').length].join()";
    let before = browser.text(state);
    assert_eq!(before, "measured,,1");
    browser.key("m");
    browser.key("m");
    assert_eq!(browser.text(state), before);
    browser.value("location.hash = '#regions?values=difference'; dispatchEvent(new PopStateEvent('popstate'))");
    assert_eq!(browser.text("tare.model.state.values"), "measured");
    browser.value("tare.model.selectRegion(2)");
    assert_eq!(browser.text("[...document.querySelectorAll('#detail code')].filter((code) => code.textContent.includes('select')).join()"), "");
    assert!(!browser.text("document.getElementById('summary').textContent").contains("MPI_Init"));
    is_quiet(&browser);
}

#[test]
fn rows_stay_where_they_stand_when_their_values_change_and_equal_ones_keep_the_order_before() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &with_levels()));
    browser.value("tare.table.setShape('flat')");
    let names = "[...document.querySelectorAll('#regions .vrow .cut')].map((name) => name.title).join()";
    let sorted = "[...document.querySelectorAll('#regions .vhead [aria-sort]')].filter((head) => head.ariaSort !== 'none').map((head) => head.textContent).join()";
    let before = browser.text(names);
    assert!(browser.text(sorted).contains('▾'));
    browser.key("m");
    browser.key("m");
    assert_eq!(browser.text(names), before);
    assert_eq!(browser.text(sorted), "", "they are not in the order of differences");
    browser.value("tare.table.sortBy('exclusive')");
    assert_ne!(browser.text(names), before);
    // Regions of one call each: they stand as they stood by name.
    browser.value("tare.table.sortBy('name')");
    browser.value("tare.table.sortBy('calls')");
    let once = "tare.table.items.filter((item) => tare.table.of(item, 'calls') === 1).map((item) => tare.table.text(item, 'name'))";
    assert_eq!(browser.value(&format!("{once}.join() === {once}.sort().join() && {once}.length > 50")), json!(true));
    is_quiet(&browser);
}

#[test]
fn pictures_answer_clicks_and_have_tables_beside_them() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    // The third row of the icicle begins with the heaviest call path below main.
    browser.click("#icicle canvas", (0.05, 0.83));
    assert_eq!(browser.text("document.querySelector('#detail h2').textContent"), "MPI_Recv");
    browser.value("document.querySelector('#icicle canvas').focus()");
    browser.key("ArrowUp");
    assert_eq!(browser.text("document.querySelector('#detail h2').textContent"), "main");
    browser.key("Enter");
    assert_eq!(browser.number("document.querySelectorAll('#icicle .crumbs button').length"), 3.0);
    browser.key("Escape");
    assert_eq!(browser.number("document.querySelectorAll('#icicle .crumbs button').length"), 2.0);
    browser.value("[...document.querySelectorAll('#icicle button')].find((button) => button.textContent === 'as table').click()");
    assert!(browser.text("document.querySelector('#icicle table').textContent").contains("MPI_Recv"));
    // The heat map: the right half is rank 1.
    browser.click("#ranks canvas", (0.95, 0.1));
    assert_eq!(browser.text("String(tare.model.state.ranks)"), "1");
    assert!(browser.text("document.querySelector('#ranks canvas').getAttribute('aria-label')").contains("2 processes"));
    // With the shift key as far as there.
    let shifted = |part: f64| {
        format!(
            "(() => {{ const canvas = document.querySelector('#ranks canvas'); const box = canvas.getBoundingClientRect(); \
             canvas.dispatchEvent(new MouseEvent('click', {{ clientX: box.left + {part} * box.width, clientY: box.top + 5, shiftKey: true }})); }})()"
        )
    };
    browser.value(&shifted(0.4));
    assert_eq!(browser.text("String(tare.model.state.ranks)"), "0,1");
    // A number above the columns is its rank, and of no region.
    browser.value("tare.model.change({ region: 0xffffffff, path: 0xffffffff })");
    browser.click("#ranks canvas", (0.95, 0.05));
    assert_eq!(browser.text("tare.model.state.ranks + ' ' + tare.model.state.region"), "1 4294967295");
    // The matrix: rank 1 sends to rank 0.
    assert!(browser.text("document.querySelector('#messages table').textContent").contains("1 → 0"));
    is_quiet(&browser);
}

#[test]
fn the_selected_region_is_marked_in_the_summary() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    let marked = "[...document.querySelectorAll('#summary tr.selected')].map((row) => row.dataset.region).join()";
    assert_eq!(browser.text(marked), "");
    browser.click("#summary tr[data-region='2'] .show", (0.5, 0.5));
    assert_eq!(browser.text(marked), "2");
    let ground = |region: u32| format!("getComputedStyle(document.querySelector('#summary tr[data-region=\"{region}\"] td')).backgroundColor");
    let [selected, other] = [2, 3].map(|region| browser.text(&ground(region)));
    assert_ne!(selected, other);
    browser.click("#detail .close", (0.5, 0.5));
    assert_eq!(browser.text(marked), "");
    is_quiet(&browser);
}

#[test]
fn a_link_has_the_figures_that_its_sender_saw() {
    let mut browser = Browser::start();
    let mut profile = with_levels();
    let nodes = &mut profile.locations[0].nodes;
    let far_down = nodes.len() - 1;
    let receive = nodes.iter().find(|node| node.region == RegionIndex(3)).expect("the operation").clone();
    nodes.push(Node { parent: Some(far_down), exclusive: receive.exclusive / 4, ..receive });
    let html = made(&run(), &profile);
    browser.open(&html);
    // The lighter of two paths: far_down is beside the loop.
    let path = "tare.model.ancestry(tare.model.state.path).map((path) => tare.model.pathName(path)).join(' ')";
    for key in ["3", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowDown"] {
        browser.key(key);
    }
    assert_eq!(browser.text(path), "program main far_down MPI_Recv");
    browser.key("Enter");
    let seen = "[document.getElementById('icicle-line').textContent, document.querySelector('#regions .vrow.selected').textContent].join()";
    let sent = browser.text(seen);
    assert!(sent.contains("100.0\u{202f}% of what is shown"), "{sent}");
    let address = browser.text("location.hash");
    browser.visit("about:blank");
    browser.open_at(&html, &address);
    assert_eq!((browser.text(path).as_str(), browser.text(seen)), ("program main far_down MPI_Recv", sent));
    // The region's other path is outside of what is zoomed into.
    browser.value("tare.model.selectPath(tare.model.tree.region.indexOf(3))");
    let line = browser.text("document.getElementById('icicle-line').textContent");
    assert!(line.contains(" · not in what is shown · ") && !line.contains("% of what is shown"), "{line}");
    // What no longer fits the region is left alone.
    browser.open_at(&html, "#regions?region=2&path=0");
    assert_eq!(browser.number("tare.model.state.region"), 2.0);
    is_quiet(&browser);
}

#[test]
fn the_matrix_follows_an_operation_and_says_what_its_messages_do_not_tell() {
    let mut browser = Browser::start();
    let mut profile = master_and_worker();
    let region = RegionIndex(profile.regions.len());
    profile.regions.push(tare_profile::Region { name: "MPI_Send".into(), ..profile.regions[3].clone() });
    let mut send = Node { region, parent: Some(1), on_calls: 1_000, exclusive: 1_000_000, ..Node::default() };
    send.exchanged_mut().peers = vec![tare_profile::Peer { rank: 0, sent: 1_000, bytes: 8_000_000, ..Default::default() }];
    profile.locations[1].nodes.push(send);
    browser.open(&made(&run(), &profile));
    let line = "document.getElementById('messages-line').textContent";
    assert!(browser.text(line).starts_with("1 pair; from"), "{}", browser.text(line));
    let cells = "[...document.querySelectorAll('#messages tbody td')].map((cell) => cell.textContent).slice(2).join()";
    let known = browser.text(cells);
    assert!(!known.contains('–'), "{known}");
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('MPI_Send'))");
    assert_eq!(browser.text(cells), "–,–,0", "only where a message is received it is known how long it took");
    assert!(browser.text(line).starts_with("Messages in MPI_Send; from"), "{}", browser.text(line));
    choose(&mut browser, "messages", "Shown", "transmission");
    assert_eq!(browser.text(line), "Messages in MPI_Send; nothing is known there of transmission time");
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('MPI_Recv'))");
    assert_eq!(browser.text(cells), known);
    is_quiet(&browser);
}

#[test]
fn a_region_that_the_selected_ranks_were_never_in_is_found_without_any_time() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    let state = "[document.getElementById('hits').textContent, document.getElementById('search-wrong').textContent, \
        tare.table.items.filter((item) => tare.table.isHit(item)).length].join('|')";
    for shape in ["tree", "flat"] {
        browser.value(&format!("tare.table.setShape('{shape}')"));
        browser.key("/");
        "inside".chars().for_each(|key| browser.key(&key.to_string()));
        browser.key("Enter");
        assert!(browser.text(state).ends_with("% of the time||1"), "{}", browser.text(state));
        browser.value("tare.model.selectRanks('0')");
        browser.value("tare.table.arrange()");
        assert_eq!(browser.text(state), "1 region matches, 0\u{202f}% of the time||1", "{shape}");
        browser.value("tare.model.selectRanks(''), tare.model.change({ query: '' })");
    }
    is_quiet(&browser);
}

#[test]
fn regions_of_the_page_that_a_reader_jumps_to_have_names_of_their_own() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    browser.value("tare.model.selectRegion(2)");
    browser
        .value("[...document.querySelectorAll('button')].filter((button) => button.textContent === 'as table').forEach((button) => button.click())");
    assert_eq!(browser.number("[...document.querySelectorAll('[role=region]')].filter((part) => part.checkVisibility() && part.ariaLabel.endsWith(' as a table')).length"), 3.0);
    let names = "[...document.querySelectorAll('section, [role=region]')].filter((part) => part.checkVisibility())\
        .map((part) => part.ariaLabel ?? document.getElementById(part.getAttribute('aria-labelledby'))?.textContent).filter(Boolean)";
    let twice = format!("{names}.filter((name, place, all) => all.indexOf(name) !== place).join()");
    assert_eq!(browser.text(&twice), "");
    is_quiet(&browser);
}

#[test]
fn every_view_follows_what_is_selected_and_says_where_it_has_nothing() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    let marked = "[...document.querySelectorAll('#waits tr.selected')].map((row) => row.querySelector('th').textContent).join()";
    // An operation: its waits, its messages, and what was taken off it.
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('MPI_Recv'))");
    assert!(browser.text(marked).starts_with("MPI_Recv"), "{}", browser.text(marked));
    assert!(browser.text("document.getElementById('waits-line').textContent").contains("1 of 1 places"));
    assert_eq!(browser.text("document.querySelector('#messages caption').textContent"), "The heaviest pairs in MPI_Recv");
    assert!(browser.text("document.querySelector('#messages table').textContent").contains("1 → 0"));
    let trust = browser.text("document.getElementById('trust-line').textContent");
    assert!(trust.starts_with("MPI_Recv: measured 4.45") && trust.contains("3.66 (3.58 … 3.72)") && trust.ends_with("trusted."), "{trust}");
    browser.picture("pi-selected-everywhere");
    // What calls it has its waits and messages, too; another function has none, and the views say so.
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('main'))");
    assert!(browser.text(marked).contains("in main"));
    assert_eq!(browser.text("document.querySelector('#messages caption').textContent"), "The heaviest pairs in main");
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('inside'))");
    assert_eq!(browser.text(marked), "");
    assert!(browser.text("document.getElementById('waits-line').textContent").starts_with("None of 1 places"));
    assert!(browser.text("document.querySelector('#messages caption').textContent").starts_with("No messages were measured in inside"));
    // A rank is selected by a key; the views and the address follow.
    browser.value("tare.model.change({ region: 0xffffffff, path: 0xffffffff })");
    browser.value("document.activeElement.blur()");
    browser.key("r");
    browser.key("0");
    browser.key("Enter");
    assert_eq!(browser.text("tare.model.rankText()"), "rank 0");
    assert_eq!(browser.text("document.getElementById('status').textContent"), "rank 0 selected");
    assert!(browser.text("location.hash").contains("ranks=0"));
    assert!(browser.text(marked).starts_with("MPI_Recv"), "rank 0 waits there");
    assert_eq!(browser.text("document.querySelector('.dumbbells text.selected').textContent"), "rank 0");
    assert_eq!(browser.text("document.querySelector('#messages caption').textContent"), "The heaviest pairs of rank 0");
    browser.value("tare.model.selectRanks('1')");
    assert_eq!(browser.text(marked), "", "rank 1 waits for nobody");
    assert_eq!(browser.text("tare.model.selectRanks('7')"), "there is no 7");
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('inside'))");
    assert!(browser.text("document.getElementById('detail').textContent").contains("rank 1: "));
    // The ranks that are slowest in the selected region.
    assert_eq!(browser.text("tare.model.selectRanks('slowest 1')"), "");
    assert_eq!(browser.text("tare.model.rankText()"), "rank 1", "rank 0 was never in it");
    assert_eq!(browser.text("tare.model.selectRanks('slowest 2')"), "", "no more than have been in it");
    assert_eq!(browser.text("tare.model.rankText()"), "rank 1");
    assert!(browser.text("tare.model.selectRanks('slowest 99')").starts_with("slowest 1 to 2"));
    browser.value("tare.model.change({ region: 0xffffffff, path: 0xffffffff })");
    assert_eq!(browser.text("tare.model.selectRanks('slowest 2')"), "slowest is of a region: select one");
    // A row of the summary is about all call paths of its region.
    browser.value("document.querySelector('#summary tr[data-region] .show').click()");
    assert_eq!(browser.text("document.querySelector('#regions select').value"), "flat");
    is_quiet(&browser);
}

#[test]
fn callers_stand_above_the_selected_region_and_callees_below_over_all_its_call_paths() {
    let mut browser = Browser::start();
    let mut profile = with_levels();
    // A second way to the operation: far_down calls it, too, and itself.
    let receive = profile.locations[0].nodes.iter().find(|node| node.region == RegionIndex(3)).expect("the operation").clone();
    let far_down = profile.locations[0].nodes.len() - 1;
    let again = Node { region: profile.locations[0].nodes[far_down].region, parent: Some(far_down), ..profile.locations[0].nodes[far_down].clone() };
    profile.locations[0].nodes.push(again);
    profile.locations[0].nodes.push(Node { parent: Some(far_down + 1), exclusive: receive.exclusive / 4, ..receive });
    browser.open(&made(&run(), &profile));
    let line = "document.getElementById('sandwich-line').textContent";
    let shown = "document.querySelector('#sandwich canvas').checkVisibility()";
    assert_eq!(browser.value(shown), json!(false), "nothing is selected");
    browser.value("tare.model.selectRegion(tare.model.strings.names.indexOf('MPI_Recv'))");
    let boxes = "tare.sandwich.layout.boxes.map(({ region, level, weight }) => `${level} ${tare.model.name(region)} ${(100 * weight / tare.sandwich.layout.boxes[0].weight).toFixed(0)}`).sort().join()";
    assert_eq!(
        browser.text(boxes),
        "-1 call 1 of MPI_Recv in main 80,-1 far_down 20,-2 far_down 20,-2 iteration of loop 1 of main 80,-3 loop 1 of main 80,-3 main 20,-4 main 80,-4 program 20,-5 program 80,0 MPI_Recv 100"
    );
    assert!(browser.text(line).contains("MPI_Recv · inclusive") && browser.text(line).contains("on 2 call paths"), "{}", browser.text(line));
    // Arrows go to the widest above and to those beside; what is entered stands in the middle.
    browser.value("document.querySelector('#sandwich canvas').focus()");
    browser.key("ArrowUp");
    assert!(browser.text(line).starts_with("call 1 of MPI_Recv in main · pi.c:81 · calls it: "), "{}", browser.text(line));
    browser.key("ArrowRight");
    assert!(browser.text(line).starts_with("far_down") && browser.text(line).contains("20.0\u{202f}%"), "{}", browser.text(line));
    browser.picture("sandwich");
    browser.key("Enter");
    assert_eq!(browser.text("tare.model.name(tare.model.state.region)"), "far_down");
    // A call within a call of the same region is part of it; what it calls keeps its own time.
    let of_level = |level: i32| {
        format!("tare.sandwich.layout.boxes.filter((box) => box.level === {level}).map(({{ region }}) => tare.model.name(region)).join()")
    };
    let levels: Vec<String> = (-2..=2).map(|level| browser.text(&of_level(level))).collect();
    assert_eq!(levels, ["program", "main", "far_down", "far_down", "MPI_Recv"]);
    let middle = browser.number("tare.sandwich.layout.boxes[0].weight");
    let counted = browser.number("tare.model.regions.inclusive[tare.model.state.region]");
    assert!((middle - counted).abs() <= 1e-6 * counted, "{middle} {counted}");
    // A click does the same, and a table says it in words.
    browser.click("#sandwich canvas", (0.5, 0.9));
    assert_eq!(browser.text("tare.model.name(tare.model.state.region)"), "MPI_Recv");
    browser.value("tare.sandwich.turner.click()");
    let table = browser.text("document.querySelector('#sandwich table').innerText");
    assert!(table.contains("calls it") && table.contains("itself") && table.contains("pi.c:81"), "{table}");
    browser.size(390, 800);
    assert_eq!(browser.value(NOTHING_STICKS_OUT), json!(true));
    is_quiet(&browser);
}

#[test]
fn rows_of_the_summary_are_called_by_their_name_once() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    let tree = browser.call("Accessibility.getFullAXTree", json!({}));
    let nodes = tree["nodes"].as_array().expect("a list");
    let names = |role: &str| -> Vec<&str> {
        { nodes.iter() }.filter(|node| node["role"]["value"] == role).filter_map(|node| node["name"]["value"].as_str()).collect()
    };
    let (heads, buttons) = (names("rowheader"), names("button"));
    assert!(heads.contains(&"MPI_Recv") && heads.iter().all(|name| !name.contains("show ")), "{heads:?}");
    assert!(buttons.contains(&"show MPI_Recv"), "{buttons:?}");
    is_quiet(&browser);
}
