//! The screen: what the run does, the table of the page, what stands still, and the keys.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line as Text, Span};
use ratatui::widgets::{Paragraph, Widget};
use tare_compensate::whole::LEAST_PART;
use tare_query::State;
use tare_report::figures::{Glyphs, count, plain_text, plural, share, shortened, time_with_unit, width};

use crate::app::{App, PAGES};
use crate::rows::{Line, Place, Table, dilation};
use crate::snapshot::{PlaceNow, Snapshot};

const GLYPHS: &Glyphs = &Glyphs::UNICODE;
/// Below so many columns or rows the table has no room: a name and a figure, two rows beside head and keys.
const SMALL: (usize, usize) = (44, 8);
/// Below so many rows what stands still and the rules give way to the table.
const LOW: usize = 12;
/// What the screen begins with, where there is room for it, and the columns that the program's name has at least.
const TITLE: &str = "tare top  ";
const LEAST_PROGRAM: usize = 8;
/// A thread without an event for so long stands still, seconds.
const STILL_S: f64 = 2.0;
/// Threads that are named of those that stand still.
const STILL_NAMED: usize = 2;
/// A name is not cut below this while there are columns to leave out.
const LEAST_NAME: usize = 22;
/// Nor is a place below this, while more columns than these are left.
const LEAST_PLACE: usize = 14;
const BESIDE_PLACE: usize = 3;
/// Where a thread is has so much room at least, while other columns than the first can be left out for it.
const LEAST_WHERE: usize = 24;

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);

const HELP: [(&str, &str); 12] = [
    ("1 2 3 4", "regions, ranks, messages, call paths"),
    ("↑ ↓", "move; PgUp PgDn Home End"),
    ("Enter", "to the heaviest path of a region; shows, hides what a path calls"),
    ("← →", "hide, show what a path calls"),
    ("u Esc", "to the caller, then to the regions"),
    ("l", "opens the path that takes longest from here"),
    ("/", "looks for a name or a file; Esc ends that"),
    ("s r", "sorts by the next column; turns the order"),
    ("c", "compensated or measured times"),
    ("space", "freezes the screen"),
    ("+ -", "reads the run twice, or half, as often"),
    ("q", "quits; the program goes on"),
];

/// Draws the view.
pub fn draw(frame: &mut Frame<'_>, app: &App) {
    let area = frame.area();
    frame.render_widget(Paragraph::new(lines(app, usize::from(area.width), usize::from(area.height))), area);
}

/// All lines of a screen.
fn lines(app: &App, columns: usize, rows: usize) -> Vec<Text<'static>> {
    let mut lines = head(app, columns);
    if columns < SMALL.0 || rows < SMALL.1 {
        lines.truncate(rows.saturating_sub(1));
        lines.push(Text::styled(cut(&format!("the table needs {} × {}", SMALL.0, SMALL.1), columns), DIM));
        return lines;
    }
    let is_low = rows < LOW;
    let still = if is_low { Vec::new() } else { still(app.readings.latest(), columns) };
    let rules = usize::from(!is_low);
    lines.extend((0..rules).map(|_| rule(columns)));
    let foot = 1 + rules + usize::from(!still.is_empty()) + still.len();
    let room = rows.saturating_sub(lines.len() + foot);
    let mut body = if app.is_helping { help(room) } else { body(app, columns, room) };
    body.resize(room, Text::default());
    lines.extend(body);
    if !still.is_empty() {
        lines.push(rule(columns));
        lines.extend(still);
    }
    lines.extend((0..rules).map(|_| rule(columns)));
    lines.push(keys(app, columns));
    lines
}

fn rule(columns: usize) -> Text<'static> {
    Text::styled("─".repeat(columns), DIM)
}

/// The run, where its time goes, what measuring does: three lines, on narrow screens four.
fn head(app: &App, columns: usize) -> Vec<Text<'static>> {
    let now = app.readings.latest();
    let what = if now.ranks > 0 { plural(now.ranks, "rank", "ranks", GLYPHS) } else { plural(now.processes, "process", "processes", GLYPHS) };
    let state = match &now.about.ended {
        Some(ended) => ended.clone(),
        None if now.processes == 0 => "starting".to_string(),
        None if now.places.iter().all(|place| place.state != State::Running) => "no process runs on this node".to_string(),
        None => format!("running {}", time_with_unit(now.lifetime_s, GLYPHS)),
    };
    let frozen = if app.is_frozen { "   frozen" } else { "" };
    let dilation = format!("dilation {}", dilation(now.longest.as_ref()));
    let fits = |title: &str, facts: &str| width(title) + LEAST_PROGRAM.min(width(&now.about.program)) + width(facts) <= columns;
    let whole = format!("   {what} × {}   {state}   {dilation}{frozen}", now.threads);
    let is_whole = fits(TITLE, &whole);
    let (title, facts) = if is_whole { (TITLE, whole) } else { ("", format!("   {what}   {state}{frozen}")) };
    let room = columns.saturating_sub(width(title) + width(&facts)).max(LEAST_PROGRAM);
    let first = Text::from(vec![Span::raw(title), Span::styled(shortened(&now.about.program, room), BOLD), Span::raw(facts)]);
    let events = match app.readings.rates().events() {
        Some(events) => format!("{} events/s", count(events.round() as u64, GLYPHS)),
        None => format!("{} events", count(now.events, GLYPHS)),
    };
    let life_s = now.all_s.max(now.measured_s);
    let probes = if life_s > 0.0 { share(now.probes_s / life_s, GLYPHS) } else { GLYPHS.unknown().to_string() };
    // What the first line has no room for.
    let moved = (!is_whole).then_some(dilation);
    let third = [
        events,
        format!("probes take {probes}"),
        format!("nodes {}", count(now.nodes as u64, GLYPHS)),
        format!("off {}", now.off),
        format!("lost {}", count(now.lost, GLYPHS)),
        format!("read in {}", time_with_unit(now.about.took_s, GLYPHS)),
    ];
    let mut head = vec![first];
    head.extend(classes(app, columns).into_iter().map(Text::raw));
    let third: Vec<String> = moved.into_iter().chain(third).collect();
    head.push(Text::raw(fitting(&third, "   ", columns)));
    head
}

/// Where the time goes, with as much of the past as there is room for; on narrow screens in two lines.
fn classes(app: &App, columns: usize) -> Vec<String> {
    let now = app.readings.latest();
    let (classes, all, history) = (&now.classes, now.classes.all_s(), &app.readings.history);
    let share_of = |seconds: f64| share(if all > 0.0 { seconds / all } else { 0.0 }, GLYPHS);
    let in_mpi = classes.messages_s + classes.open_s + classes.start_end_s;
    let named = match () {
        () if now.about.is_foreign && classes.waiting_s == 0.0 => vec![("Outside MPI", classes.useful_s), ("MPI with waits", classes.messages_s)],
        () if now.ranks == 0 && in_mpi == 0.0 => vec![("At work", classes.useful_s), ("Waiting", classes.waiting_s)],
        () => vec![("Outside MPI", classes.useful_s), ("Waiting", classes.waiting_s), ("MPI at work", classes.messages_s)],
    };
    let parts = |past: usize| {
        let blocks = |index: usize| history.iter().skip(history.len() - past).map(|shares| block(shares[index])).collect::<String>();
        let with_past = named
            .iter()
            .enumerate()
            .map(|(index, (name, seconds))| format!("{name} {} {}", share_of(*seconds), blocks(index)).trim_end().to_string());
        let open = (classes.open_s >= LEAST_PART * all && all > 0.0).then(|| format!("MPI, open {}", share_of(classes.open_s)));
        let around = (now.ranks > 0 || in_mpi > 0.0).then(|| format!("MPI start, end {}", share_of(classes.start_end_s)));
        with_past.chain(open).chain(around).collect::<Vec<String>>()
    };
    let most = if now.is_over() { 0 } else { history.len() };
    let fits = |parts: &[String]| width(&parts.join("   ")) <= columns;
    match (0..=most).rev().map(parts).find(|parts| fits(parts)) {
        Some(parts) => vec![parts.join("   ")],
        None => parts(0).chunks(2).map(|two| fitting(two, "   ", columns)).collect(),
    }
}

/// The parts from the first on that fit beside each other.
fn fitting(parts: &[String], between: &str, columns: usize) -> String {
    let mut line = String::new();
    for part in parts {
        let next = if line.is_empty() { part.clone() } else { format!("{line}{between}{part}") };
        if width(&next) > columns {
            break;
        }
        line = next;
    }
    line
}

fn block(part: f64) -> char {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    HEIGHTS[((part * 8.0) as usize).min(7)]
}

fn cut(text: &str, columns: usize) -> String {
    let mut used = 0;
    let fits = |character: &char| {
        used += width(character.encode_utf8(&mut [0; 4]));
        used <= columns
    };
    text.chars().take_while(fits).collect()
}

fn body(app: &App, columns: usize, rows: usize) -> Vec<Text<'static>> {
    let table = app.table();
    let cursor = app.cursor(&table.lines);
    let shown = rows.saturating_sub(1);
    // The cursor is in the middle of what does not fit.
    let first = cursor.saturating_sub(shown / 2).min(table.lines.len().saturating_sub(shown));
    let lines = &table.lines[first..table.lines.len().min(first + shown)];
    let columns_shown = Widths::of(&table, lines, columns);
    let mut body = vec![columns_shown.heads(&table)];
    if table.lines.is_empty() {
        let text = match (app.filter.is_empty(), app.readings.latest().is_over()) {
            (false, _) => "nothing has that in its name",
            (true, false) => "nothing yet",
            (true, true) => "nothing was measured",
        };
        body.push(Text::styled(format!("  {text}"), DIM));
    }
    body.extend(lines.iter().enumerate().map(|(row, line)| columns_shown.row(line, first + row == cursor)));
    body
}

/// How wide the columns are; those that do not fit are left out from the right.
struct Widths {
    name: usize,
    cells: Vec<usize>,
    place: usize,
}

impl Widths {
    fn of(table: &Table, lines: &[Line], columns: usize) -> Self {
        let cell = |index: usize| {
            let longest = lines.iter().map(|line| width(&line.cells[index])).max().unwrap_or(0);
            longest.max(width(&table.heads[index + 1]) + usize::from(table.sorted_by == index + 1))
        };
        let mut cells: Vec<usize> = (0..table.heads.len() - 1).map(cell).collect();
        let used = |cells: &[usize]| cells.iter().map(|cell| cell + 2).sum::<usize>();
        let place = lines.iter().map(|line| width(&line.place.whole())).max().unwrap_or(0);
        if !table.place_head.is_empty() {
            let longest = lines.iter().map(|line| width(&line.name)).max().unwrap_or(0);
            let name = 1 + longest.max(width(&table.heads[0]) + 1).min(LEAST_NAME);
            let least_place = place.max(width(table.place_head)).min(LEAST_WHERE) + 2;
            while used(&cells) + name + least_place > columns && cells.len() > 1 {
                cells.pop();
            }
            return Self { name, place: columns.saturating_sub(used(&cells) + name), cells };
        }
        let least_place = if place > 0 { place.min(LEAST_PLACE) + 2 } else { 0 };
        while used(&cells) + LEAST_NAME + least_place > columns && cells.len() > BESIDE_PLACE
            || used(&cells) + LEAST_NAME > columns && cells.len() > 1
        {
            cells.pop();
        }
        let room = columns.saturating_sub(used(&cells));
        let place = if place > 0 { (place + 2).min((room / 2).max(room.saturating_sub(2 * LEAST_NAME))) } else { 0 };
        Self { name: room.saturating_sub(place), cells, place }
    }

    fn heads(&self, table: &Table) -> Text<'static> {
        let mark = |index: usize| if table.sorted_by == index { "▼" } else { "" };
        let name = format!(" {}{}", table.heads[0], mark(0));
        let mut text = if table.place_head.is_empty() {
            padded(&name, self.name + self.place)
        } else {
            format!("{}{}", padded(&name, self.name), padded(&format!("  {}", table.place_head), self.place))
        };
        for (index, &room) in self.cells.iter().enumerate() {
            text.push_str(&format!("  {}", right(&format!("{}{}", mark(index + 1), table.heads[index + 1]), room)));
        }
        Text::styled(text, BOLD)
    }

    fn row(&self, line: &Line, is_chosen: bool) -> Text<'static> {
        let fold = match line.is_open {
            Some(true) => "▾ ",
            Some(false) => "▸ ",
            None if line.indent > 0 => "  ",
            None => "",
        };
        let mark = if is_chosen { ">" } else { " " };
        let indent = " ".repeat(line.indent.min(self.name / 3));
        let front = format!("{mark}{indent}{fold}");
        let room = self.name.saturating_sub(width(&front));
        let mut spans = vec![Span::raw(padded(&format!("{front}{}", shortened(&line.name, room)), self.name))];
        if self.place > 0 {
            let room = self.place - 2;
            spans.push(Span::styled(format!("  {}", padded(&line.place.fitting(room), room)), DIM));
        }
        for (cell, &room) in line.cells.iter().zip(&self.cells) {
            spans.push(Span::raw(format!("  {}", right(cell, room))));
        }
        let text = Text::from(spans);
        if is_chosen { text.style(CHOSEN) } else { text }
    }
}

fn padded(text: &str, room: usize) -> String {
    let text = cut(text, room);
    let space = room.saturating_sub(width(&text));
    format!("{text}{}", " ".repeat(space))
}

fn right(text: &str, room: usize) -> String {
    format!("{}{text}", " ".repeat(room.saturating_sub(width(text))))
}

/// Threads that stand still, those in MPI first.
fn still(now: &Snapshot, columns: usize) -> Vec<Text<'static>> {
    let mut still: Vec<&PlaceNow> =
        now.places.iter().filter(|place| place.state == State::Running && place.since_s.is_some_and(|since| since >= STILL_S)).collect();
    still.sort_by(|one, other| other.is_in_mpi.cmp(&one.is_in_mpi).then_with(|| other.since_s.unwrap_or(0.0).total_cmp(&one.since_s.unwrap_or(0.0))));
    let more = still.len().saturating_sub(STILL_NAMED);
    let line = |(row, place): (usize, &&PlaceNow)| {
        let more = if row + 1 == STILL_NAMED && more > 0 { format!(" (and {more} more)") } else { String::new() };
        let text = format!(" {}: no event for {}{more}", place.name, time_with_unit(place.since_s.unwrap_or(0.0), GLYPHS));
        let at = match place.within.is_empty() {
            true => String::new(),
            false => Place::Within(", in ", place.within.clone()).fitting(columns.saturating_sub(width(&text))),
        };
        Text::raw(cut(&plain_text(&format!("{text}{at}")), columns))
    };
    still.iter().take(STILL_NAMED).enumerate().map(line).collect()
}

fn keys(app: &App, columns: usize) -> Text<'static> {
    if app.is_typing {
        return Text::from(vec![Span::styled("/", BOLD), Span::raw(format!("{}▏", app.filter))]);
    }
    let mut spans = Vec::new();
    for (number, (page, name)) in PAGES.iter().enumerate() {
        let style = if *page == app.page { BOLD.add_modifier(Modifier::UNDERLINED) } else { Style::new() };
        spans.extend([Span::styled(format!("{} {name}", number + 1), style), Span::raw(" ")]);
    }
    let values = if app.is_measured { "measured" } else { "compensated" };
    let looked_for = if app.filter.is_empty() { "/ find".to_string() } else { format!("/{} (Esc)", app.filter) };
    let rest = ["q quit".to_string(), "? help".to_string(), looked_for, "s sort".to_string(), format!("c {values}")];
    let used: usize = spans.iter().map(Span::width).sum();
    spans.push(Span::raw(format!(" {}", fitting(&rest, " ", columns.saturating_sub(used + 1)))));
    Text::from(spans)
}

/// The keys; where there is no room for all of them, how many are left out.
fn help(room: usize) -> Vec<Text<'static>> {
    let row = |(key, text): &(&str, &str)| Text::from(vec![Span::styled(format!("  {key:<10}"), BOLD), Span::raw((*text).to_string())]);
    if HELP.len() <= room {
        return HELP.iter().map(row).collect();
    }
    let shown = room.saturating_sub(1);
    let more = Text::styled(format!("  {} more on a higher screen", HELP.len() - shown), DIM);
    HELP[..shown].iter().map(row).chain([more]).collect()
}

/// The view as text, without blanks at the ends of lines.
#[must_use]
pub fn text(app: &App, columns: u16, rows: u16) -> String {
    let mut screen = Buffer::empty(Rect::new(0, 0, columns, rows));
    lines(app, usize::from(columns), usize::from(rows)).into_iter().zip(screen.area.rows()).for_each(|(line, row)| line.render(row, &mut screen));
    let mut text = String::new();
    for row in screen.area.rows() {
        let line: String = (row.left()..row.right()).filter_map(|x| screen.cell((x, row.y)).map(ratatui::buffer::Cell::symbol)).collect();
        let line = line.trim_end();
        if !line.is_empty() || !text.ends_with("\n\n") {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}
