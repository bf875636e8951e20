//! A run as text: the summary at its end, and the full report.

mod waits;

use tare_compensate::Mode;

use crate::budget::Spent;
use crate::instrument;
use crate::layout::{Align, Column, Glyphs, NO_BREAK, Page, Writer};
use crate::metrics;
use crate::number::{Column as Unit, count, exact_count, figure_and_time, more, plural, share, time_with_unit};
use crate::run::{Results, Run};
use crate::select::Decision;
use crate::shell;
use crate::short::name_in_words;
use crate::style::Role;
use crate::switches;
use crate::view::{
    self, Doubt, FindingText, LINES, RankRow, RegionRow, Replacement, Size, Time, Trust, Undelayed, Whole, ending, finding_texts, no_finding,
    nothing_measured, rank_rows, region_rows, remedy_for_nothing,
};

/// Ranks that a summary shows one by one.
const RANKS_IN_SUMMARY: usize = 8;
/// Findings that a summary shows.
const FINDINGS_IN_SUMMARY: usize = 3;
/// Reasons for which functions were refused, of all images, that a summary names with the first functions.
const REFUSED_IN_SUMMARY: usize = 4;

/// The summary at the end of a run.
#[must_use]
pub fn summary(run: &Run, results: &Results<'_>, page: &Page) -> String {
    Text { run, results, is_full: false }.write(page)
}

/// The report: findings first, then what takes most time, as far down as the page is asked for.
#[must_use]
pub fn report(run: &Run, results: &Results<'_>, page: &Page) -> String {
    Text { run, results, is_full: true }.write(page)
}

/// What passes outside of MPI's start and end is told from this part of the time between on.
const MUCH_OUTSIDE: f64 = 0.1;
/// Ranks that are apart by less than this part are even.
const EVEN: f64 = 0.005;

struct Text<'a> {
    run: &'a Run,
    results: &'a Results<'a>,
    is_full: bool,
}

impl Text<'_> {
    fn write(&self, page: &Page) -> String {
        let mut writer = Writer::new(page);
        self.head(&mut writer);
        writer.blank();
        self.crash(&mut writer);
        self.unended(&mut writer);
        let measured = Time::of(self.results).filter(|_| nothing_measured(self.results, self.run).is_none());
        match measured {
            Some(time) => self.measured(&mut writer, &time),
            None => self.nothing(&mut writer),
        }
        self.selection(&mut writer);
        self.run.notes.iter().for_each(|note| writer.labelled("Note", note));
        writer.blank();
        self.next(&mut writer);
        writer.finish()
    }

    fn head(&self, writer: &mut Writer<'_>) {
        let glyphs = writer.glyphs();
        let size = Size::of(self.results);
        // Blanks of a quoted word are as many as they are.
        let mut parts = vec![self.run.program.replace("  ", &NO_BREAK.repeat(2))];
        if size.processes > 0 {
            parts.push(processes_and_threads(&size, glyphs));
            parts.push(plural(size.hosts, "node", "nodes", glyphs));
        }
        parts.push(self.run.measured_by.as_ref().map_or_else(|| ending(self.run, self.results), |tool| format!("measured by {tool}")));
        writer.words("tare: ", 6, &parts.join(&format!(" {} ", glyphs.dot)));
    }

    fn crash(&self, writer: &mut Writer<'_>) {
        if let Some(name) = self.run.signal() {
            let after = time_with_unit(self.run.wall_s, writer.glyphs());
            let kept = if self.results.profile.processes.is_empty() { "" } else { "; all data up to then is there" };
            writer.labelled("Stopped", &format!("by {name}, {after} after the command began{kept}"));
        }
    }

    fn unended(&self, writer: &mut Writer<'_>) {
        if let Some(words) = view::unended(self.run, self.results, writer.page(), writer.glyphs()) {
            writer.labelled("Cut off", &words);
        }
    }

    fn nothing(&self, writer: &mut Writer<'_>) {
        let reason = nothing_measured(self.results, self.run);
        let reason = reason.unwrap_or_else(|| "the program ended before its first event".to_string());
        writer.labelled("Measured", &format!("nothing: {reason}."));
        writer.labelled("Try", &remedy_for_nothing(self.results, self.run));
    }

    fn measured(&self, writer: &mut Writer<'_>, time: &Time) {
        let whole = Whole::of(self.results);
        let regions = region_rows(self.results, &whole);
        let ranks = rank_rows(self.results);
        let trust = Trust::of(self.run, self.results, &regions, time);
        if !trust.is_good() {
            self.trust(writer, &trust);
        }
        self.time(writer, time);
        if trust.is_good() {
            self.trust(writer, &trust);
        }
        self.efficiency(writer, &whole);
        if let Some(words) = view::without_processor(self.results, writer.glyphs()) {
            writer.labelled("Processors", &words);
        }
        let findings = finding_texts(self.results.profile, self.run, &whole.findings, &trust, Some(writer.page()), writer.glyphs());
        if self.is_full {
            self.findings(writer, &whole, &findings);
        }
        writer.blank();
        self.classes(writer, &whole);
        let limit = writer.page().top.max(1);
        let shown_ranks = ranks.len().min(if self.is_full { limit.max(RANKS_IN_SUMMARY) } else { RANKS_IN_SUMMARY });
        self.ranks(writer, &slowest_first(&ranks, shown_ranks), ranks.len() - shown_ranks);
        writer.blank();
        let top = limit.min(regions.len());
        self.regions(writer, &regions, top);
        self.foot(writer, &regions[..top.min(regions.len())], &ranks);
        if self.is_full {
            self.waits_of_ranks(writer, &view::wait_rows(self.results, &whole), limit);
            self.waits_of_threads(writer, &view::thread_wait_rows(self.results, &whole), limit);
        }
        metrics::tables(writer, self.results.profile, top);
        if !self.is_full {
            self.findings(writer, &whole, &findings);
        }
    }

    fn efficiency(&self, writer: &mut Writer<'_>, whole: &Whole) {
        let glyphs = writer.glyphs();
        if let Some(efficiency) = whole.efficiency {
            let (balance, communication) = (efficiency.load_balance, efficiency.communication);
            let text = format!("{:.2} = load balance {balance:.2} {} communication {communication:.2}", efficiency.parallel(), glyphs.times);
            writer.labelled("Efficiency", &text);
        }
    }

    /// Bars, where there is MPI to tell from the program's own work.
    fn classes(&self, writer: &mut Writer<'_>, whole: &Whole) {
        let rows = view::class_rows(&whole.classes, view::knows_waiting(self.run, self.results.profile));
        if rows.len() < 2 {
            return;
        }
        for row in rows {
            let share = share(row.share, writer.glyphs());
            writer.bar(row.name, &share, row.share);
        }
        writer.blank();
    }

    fn findings(&self, writer: &mut Writer<'_>, whole: &Whole, findings: &[FindingText]) {
        writer.blank();
        if findings.is_empty() {
            let why = no_finding(self.run, self.results, whole, writer.page(), writer.glyphs());
            writer.labelled("Findings", &format!("none: {why}"));
            return;
        }
        let glyphs = writer.glyphs();
        let shown = if self.is_full { findings.len() } else { findings.len().min(FINDINGS_IN_SUMMARY) };
        for (number, finding) in findings[..shown].iter().enumerate() {
            let unit = Unit::for_largest(finding.seconds.value);
            let won = finding.won(&format!("{}{}{}", unit.figure(&finding.seconds, glyphs), glyphs.thin_space, unit.unit.name(glyphs)));
            let attempt = finding.attempt.as_ref().map_or_else(String::new, |attempt| format!(" Try: {attempt}."));
            let text = format!("{won}{}: {}. {}.{attempt}", finding.at, finding.what, finding.certainty);
            writer.numbered(number + 1, &text);
        }
        let hidden = findings.len() - shown;
        if hidden > 0 {
            let what = if hidden == 1 { "finding" } else { "findings" };
            writer.words("  ", 2, &format!("({hidden} more {what} in the report)"));
        }
        if findings[..shown].iter().any(|finding| finding.is_begin) {
            writer.words("  ", 2, LINES);
        }
    }

    fn time(&self, writer: &mut Writer<'_>, time: &Time) {
        let glyphs = writer.glyphs();
        let (shown, beside) = figure_and_time(&time.shown, time.measured_s, glyphs);
        let measured = time_with_unit(time.measured_s, glyphs);
        let so_far = if view::goes_on(self.run, self.results) { " so far" } else { "" };
        let text = match self.results.shown.mode {
            Mode::Off if self.run.was_compensated.is_some() => format!("{measured} compensated, as it was exported"),
            Mode::Off => format!("{measured} measured{so_far}, not compensated"),
            mode => {
                let how = if mode == Mode::Local { "compensated locally" } else { "compensated" };
                format!("{shown} {how}{so_far}, {beside} measured, dilation {}", time.dilation_in_words(glyphs))
            }
        };
        let outside = if time.outside_mpi_s >= MUCH_OUTSIDE * time.measured_s && self.results.profile.has_ranks() {
            format!("; up to {} more before MPI had started and after it had ended", time_with_unit(time.outside_mpi_s, glyphs))
        } else {
            String::new()
        };
        writer.labelled("Time", &format!("{text}{outside}"));
    }

    /// What the times are that were read: an export has them compensated.
    fn read_as(&self) -> &'static str {
        if self.run.was_compensated.is_some() { "exported" } else { "measured" }
    }

    fn trust(&self, writer: &mut Writer<'_>, trust: &Trust) {
        let glyphs = writer.glyphs();
        writer.judged("Trust", &trust_words(trust, glyphs), if trust.is_good() { Role::Good } else { Role::Warn });
        let written = |name: &str, said: &str| name_in_words(name, writer.page()) + said;
        if let Some(switched) = switches::sentence(self.results.profile, glyphs, written) {
            writer.labelled("Off", &switched);
        }
        if let Some(spent) = Spent::of(self.results) {
            writer.labelled("Budget", &spent.sentence(glyphs));
        }
        if let Some(doubt) = trust.doubts.first() {
            writer.labelled("Try", &remedy(doubt, trust, self.run));
        }
    }

    fn ranks(&self, writer: &mut Writer<'_>, ranks: &[&RankRow], hidden: usize) {
        let glyphs = writer.glyphs();
        let largest = |value: &dyn Fn(&RankRow) -> f64| ranks.iter().map(|row| value(row)).fold(0.0, f64::max);
        let unit = Unit::for_largest(largest(&|row| {
            [row.measured_s, row.local.value, row.parallel.value, row.delay_s].map(f64::abs).into_iter().fold(0.0, f64::max)
        }));
        let what = if Size::of(self.results).ranks > 0 { "Rank" } else { "Process" };
        let cells = |cell: &dyn Fn(&RankRow) -> String| ranks.iter().map(|row| cell(row)).collect::<Vec<_>>();
        let names = Column::new(format!("{what}, {}", unit.unit.name(glyphs)), Align::Left, 0, cells(&|row| row.label.clone()));
        let mut columns = vec![Column::new(self.read_as(), Align::Point, 1, cells(&|row| unit.plain(row.measured_s, glyphs)))];
        if self.run.measured_by.is_none() {
            columns.extend([
                Column::new("local", Align::Point, 2, cells(&|row| unit.figure(&row.local, glyphs))),
                Column::new("parallel", Align::Point, 0, cells(&|row| unit.figure(&row.parallel, glyphs))),
                Column::new("delay", Align::Point, 3, cells(&|row| unit.plain(row.delay_s, glyphs))),
                Column::new("lost", Align::Right, 4, cells(&|row| count(row.lost, glyphs))),
            ]);
        }
        writer.table(&names, columns);
        if hidden > 0 {
            let (number, all) = (exact_count(hidden as u64, glyphs), if self.is_full { "--all shows them" } else { "see the report" });
            writer.words("  ", 2, &format!("({number} more that took less time: {all})"));
        }
    }

    fn regions(&self, writer: &mut Writer<'_>, regions: &[RegionRow], top: usize) {
        let glyphs = writer.glyphs();
        let shown = &regions[..top.min(regions.len())];
        let largest = shown.iter().map(|row| row.shown.value.abs().max(row.measured_s.abs())).fold(0.0, f64::max);
        let unit = Unit::for_largest(largest);
        let cells = |cell: &dyn Fn(&RegionRow) -> String| shown.iter().map(cell).collect::<Vec<_>>();
        let names = cells(&|row| match &row.place {
            Some(place) => format!("{}  {place}", row.name),
            None => row.name.clone(),
        });
        let names = Column::new(format!("Region, {}", unit.unit.name(glyphs)), Align::Left, 0, names);
        let mut columns = vec![Column::new(self.read_as(), Align::Point, 1, cells(&|row| unit.plain(row.measured_s, glyphs)))];
        if self.results.shown.mode == Mode::Parallel {
            columns.push(Column::new("local", Align::Point, 2, cells(&|row| unit.plain(row.local_s, glyphs))));
        }
        if self.results.shown.mode != Mode::Off {
            let how = self.results.shown.mode.name();
            columns.push(Column::new(how, Align::Point, 0, cells(&|row| unit.figure(&row.shown, glyphs))));
        }
        columns.push(Column::new("share", Align::Right, 1, cells(&|row| share(row.share, glyphs))));
        columns.push(Column::new("calls", Align::Right, 3, cells(&|row| row.calls_in_words(glyphs))));
        if shown.iter().any(|row| row.waiting_s != 0.0) {
            let waiting = |row: &RegionRow| unit.plain(row.waiting_s, glyphs);
            columns.push(Column::new("waiting", Align::Point, 5, cells(&waiting)));
        }
        if shown.iter().any(|row| row.slowest.is_some()) {
            let slowest = |row: &RegionRow| match row.slowest {
                Some((rank, ahead)) if ahead >= EVEN => format!("{rank} ({})", more(ahead, glyphs)),
                _ => glyphs.unknown.to_string(),
            };
            columns.push(Column::new("slowest rank", Align::Left, 4, cells(&slowest)));
        }
        writer.table(&names, columns);
        let left = &regions[shown.len()..];
        if !left.is_empty() {
            let time: f64 = left.iter().map(|row| row.shown.value).sum();
            let part: f64 = left.iter().map(|row| row.share).sum();
            let number = plural(left.len(), "more region", "more regions", glyphs);
            let text = format!("({number}: {}, {}{})", time_with_unit(time, glyphs), share(part, glyphs), self.how_to_see_all());
            writer.words("  ", 2, &text);
        }
    }

    /// In the report, what shows the rows that are left out; a summary leads to the report.
    fn how_to_see_all(&self) -> &'static str {
        if self.is_full { "; --all shows them" } else { "" }
    }

    /// What the figures mean, said once.
    fn foot(&self, writer: &mut Writer<'_>, regions: &[RegionRow], ranks: &[RankRow]) {
        let glyphs = writer.glyphs();
        let size = Size::of(self.results);
        let mut text = what_times_are(&size, glyphs);
        if size.ranks > 0 && self.run.measured_by.is_none() {
            text.push_str(" Time and ranks are from MPI_Init to MPI_Finalize.");
        }
        if self.results.shown.mode != Mode::Off {
            text.push_str(&format!(" {} is the 95{NO_BREAK}% half-width, without the noise between runs.", glyphs.plus_minus));
        }
        writer.words("  ", 2, &text);
        let marks = regions.iter().map(|row| row.shown.mark).chain(ranks.iter().flat_map(|row| [row.local.mark, row.parallel.mark]));
        for reason in view::reasons(marks) {
            writer.words(&format!("  {} ", glyphs.dagger), 4, &format!("not to be trusted: {reason}"));
        }
    }

    fn selection(&self, writer: &mut Writer<'_>) {
        if self.run.images.is_empty() {
            return;
        }
        let glyphs = writer.glyphs();
        writer.blank();
        let sum = |value: fn(&crate::InstrumentedImage) -> usize| self.run.images.iter().map(value).sum::<usize>() as u64;
        let (found, selected) = (sum(|image| image.found), sum(|image| image.selected));
        let instrumented = sum(|image| image.instrumented);
        let text = format!(
            "{} of {} {} selected, {} instrumented",
            exact_count(selected, glyphs),
            exact_count(found, glyphs),
            if found == 1 { "function" } else { "functions" },
            exact_count(instrumented, glyphs)
        );
        writer.labelled("Functions", &text);
        let expected = |image: &crate::InstrumentedImage| image.expected_dilation;
        // Shares of the images in a run add up to one: none of them makes it longer by more than the greatest.
        if let Some(dilation) = self.run.images.iter().filter_map(expected).reduce(f64::max) {
            writer.labelled("", &expectation(dilation, glyphs));
        }
        self.refused(writer);
    }

    /// Selected functions that could not be instrumented: how many, and the first of each reason and image.
    fn refused(&self, writer: &mut Writer<'_>) {
        let glyphs = writer.glyphs();
        let of_image = |image: &crate::InstrumentedImage| {
            let name = if self.run.images.len() > 1 { format!("{}: ", crate::short::file_name(&image.path)) } else { String::new() };
            let line = |(reason, refused): (&str, Vec<&Decision>)| format!("{name}{}", instrument::refusals(reason, &refused, glyphs));
            instrument::by_reason(&image.refusals).into_iter().map(line).collect::<Vec<_>>()
        };
        let lines: Vec<String> = self.run.images.iter().flat_map(of_image).collect();
        let shown = if self.is_full { lines.len() } else { lines.len().min(REFUSED_IN_SUMMARY) };
        for line in &lines[..shown] {
            writer.labelled("Refused", line);
        }
        if shown < lines.len() {
            writer.labelled("", &format!("{} more reasons in the report", lines.len() - shown));
        }
    }

    fn next(&self, writer: &mut Writer<'_>) {
        for file in &self.results.profile.unreadable {
            writer.labelled("Unreadable", &format!("{}: {}", file.name, file.error));
        }
        if self.run.directory.is_empty() {
            return;
        }
        writer.labelled("Run", &self.run.directory);
        let run = shell::path(&self.run.directory);
        if !self.is_full {
            writer.labelled("Report", &format!("tare view {run} (in the browser), tare report {run}"));
        }
        writer.labelled("As JSON", &format!("tare report {run} --format json"));
    }
}

/// The ranks that took longest, in their usual order.
fn slowest_first(ranks: &[RankRow], shown: usize) -> Vec<&RankRow> {
    let mut order: Vec<usize> = (0..ranks.len()).collect();
    order.sort_by(|&a, &b| ranks[b].parallel.value.total_cmp(&ranks[a].parallel.value).then(a.cmp(&b)));
    order.truncate(shown);
    order.sort_unstable();
    order.into_iter().map(|index| &ranks[index]).collect()
}

/// What the times of regions are, and of what their shares.
pub(crate) fn what_times_are(size: &Size, glyphs: &Glyphs) -> String {
    let threads = if size.threads > 1 { " of all threads together" } else { "" };
    let mean = if size.ranks > 1 { format!(", mean of {} ranks", exact_count(size.ranks as u64, glyphs)) } else { String::new() };
    let whole = match (size.threads > 1, size.processes == 1) {
        (true, _) => "all threads",
        (false, true) => "the process",
        (false, false) => "all processes",
    };
    format!("Exclusive time{threads}{mean}; shares are of the whole time of {whole}.")
}

/// `64 ranks × 4 threads`.
pub(crate) fn processes_and_threads(size: &Size, glyphs: &Glyphs) -> String {
    let processes = match size.ranks {
        0 => plural(size.processes, "process", "processes", glyphs),
        ranks => plural(ranks, "rank", "ranks", glyphs),
    };
    let threads = match usize::try_from(size.begun) {
        Ok(begun) if begun > size.threads => {
            format!("{} threads, at most {} at once", exact_count(size.begun, glyphs), exact_count(size.threads as u64, glyphs))
        }
        _ => plural(size.threads, "thread", "threads", glyphs),
    };
    format!("{processes} {} {threads}", glyphs.times)
}

/// Whether the figures can be believed, in one sentence.
pub(crate) fn trust_words(trust: &Trust, glyphs: &Glyphs) -> String {
    let [trusted, all] = [trust.regions_trusted, trust.regions].map(|number| exact_count(number as u64, glyphs));
    // Where most are not, it is those that take hardly any time.
    let part = match trust.regions_trusted * 2 < trust.regions {
        true => format!(", with {} of the time", share(trust.part_trusted, glyphs)),
        false => String::new(),
    };
    let regions = format!("{trusted} of {all} regions{part}");
    let mut text = match trust.is_good() {
        true => format!("good: {regions}"),
        false => {
            let doubts: Vec<String> = trust.doubts.iter().map(|doubt| sentence(doubt, glyphs)).collect();
            format!("limited: {}; {regions}", doubts.join("; "))
        }
    };
    text.push_str(if trust.is_all_there() { "; nothing lost" } else { "" });
    if trust.off_batches > 0 {
        let batches = if trust.off_batches == 1 { "batch" } else { "batches" };
        text.push_str(&format!("; {} {batches} off for calibration", count(trust.off_batches, glyphs)));
    }
    if let Some(undelayed) = undelayed(&trust.undelayed, glyphs) {
        text.push_str(&format!("; {undelayed}"));
    }
    if trust.clock_doubt_s > 0.0 && !trust.doubts.iter().any(|doubt| matches!(doubt, Doubt::Clocks(_))) {
        text.push_str(&format!("; clocks of machines agree within {}", time_with_unit(trust.clock_doubt_s, glyphs)));
    }
    text
}

fn sentence(doubt: &Doubt, glyphs: &Glyphs) -> String {
    let some = |number: u64, one: &str, many: &str| format!("{} {}", count(number, glyphs), if number == 1 { one } else { many });
    match doubt {
        Doubt::Lost(calls) => some(*calls, "call is not at its place", "calls are not at their place"),
        Doubt::Beyond(calls) => {
            let calls = some(*calls, "call is", "calls are");
            format!("{calls} on call paths beyond the limit, counted by region without their callers")
        }
        Doubt::Roomless(threads) => some(*threads, "thread found no room for its calls", "threads found no room for their calls"),
        Doubt::Refused(calls) => {
            let calls = some(*calls, "call is", "calls are");
            format!("{calls} missing, of threads for which there was no memory")
        }
        Doubt::Skipped(seconds, part) => {
            let time = time_with_unit(*seconds, glyphs);
            let part = share(*part, glyphs);
            format!(
                "{part} of the time passed behind exceptions, longjmp or a switch of stacks: {time} stand with the functions that were left, and may be those of the ones that went on"
            )
        }
        Doubt::Unconnected(times) => {
            some(*times, "library was opened for which there was no room", "times a library was opened for which there was no room")
        }
        Doubt::Unmeasured(children) => some(*children, "forked process could write nothing", "forked processes could write nothing"),
        Doubt::Replaced(number, first) => replaced(*number, first, glyphs),
        Doubt::Wide(part) => format!("the time is uncertain by {}", share(*part, glyphs)),
        Doubt::Crowded(part, threads, processors, is_at_most) => {
            let at_most = if *is_at_most { "at most " } else { "" };
            let processors = some(u64::from(*processors), "processor", "processors");
            format!("the time is uncertain by {}, as {at_most}{threads} threads share {processors}", share(*part, glyphs))
        }
        Doubt::Queued(part, queued) => {
            let (part, queued) = (share(*part, glyphs), share(*queued, glyphs));
            format!("the time is uncertain by {part}, as a process could run and had no processor for {queued} of its time")
        }
        Doubt::Marked(mark) => format!("the time is not to be trusted: {}", mark.reason()),
        Doubt::Regions(part) => format!("regions with {} of the time are not to be trusted", share(*part, glyphs)),
        Doubt::Prior(part) => format!("only {} of the overhead, of probes and wrappers, was measured in place", share(*part, glyphs)),
        Doubt::Unreadable(files) => some(*files as u64, "file cannot be read", "files cannot be read"),
        Doubt::MissingRanks(ranks) => some(*ranks as u64, "rank left no data", "ranks left no data"),
        Doubt::Undelayed(what) => undelayed(what, glyphs).unwrap_or_default(),
        Doubt::Contradicted(receives, places) => {
            let receives = some(*receives, "receive", "receives");
            let places = if places.is_empty() { String::new() } else { format!(": {places}") };
            format!("{receives} from anywhere, or locks, met others in an order that virtual times contradict{places}")
        }
        Doubt::Foreign(tool) => format!("measured by {tool}, whose overhead is in all times and not known"),
        Doubt::Exported => "an export, in which the overhead is taken off, without how uncertain that is".to_string(),
        Doubt::Clocks(doubt) => {
            format!("clocks of machines differ by up to {}, so delays were carried by the delay model", time_with_unit(*doubt, glyphs))
        }
        Doubt::Damaged(records) => some(*records, "record is damaged or missing", "records are damaged or missing"),
    }
}

/// `process 12 replaced itself by /bin/echo, which is not measured, after 18.6 ms`; of several processes, their number as well.
fn replaced(number: usize, first: &Replacement, glyphs: &Glyphs) -> String {
    let which = first.rank.map_or_else(|| format!("process {}", first.process), |rank| format!("rank {rank}"));
    let (by, after) = (shell::path(&first.by), time_with_unit(first.after_s, glyphs));
    match number {
        1 => format!("{which} replaced itself by {by}, which is not measured, after {after}"),
        _ => {
            let number = count(number as u64, glyphs);
            format!("{number} processes replaced themselves by other programs, which are not measured: {which} by {by} after {after}")
        }
    }
}

/// `1200 MPI calls carried no delay, 3 messages arrived without theirs`; `None` where all carried theirs.
fn undelayed(what: &Undelayed, glyphs: &Glyphs) -> Option<String> {
    let some =
        |number: u64, one: &str, many: &str| (number > 0).then(|| format!("{} {}", count(number, glyphs), if number == 1 { one } else { many }));
    let calls = some(what.calls, "MPI call carried no delay", "MPI calls carried no delay");
    let messages = some(what.messages, "message arrived without its delay", "messages arrived without their delay");
    let waits = some(what.waits, "wait for a thread carried no delay", "waits for threads carried no delay");
    let parts: Vec<String> = [calls, messages, waits].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What the reader can do about a doubt.
fn remedy(doubt: &Doubt, trust: &Trust, run: &Run) -> String {
    let fewer = fewer_functions(run);
    let text = match doubt {
        Doubt::Skipped(..) => "--levels functions,callsites, which sees where functions go on",
        Doubt::Lost(_) | Doubt::Beyond(_) => {
            return fewer.map_or("a filter that leaves functions out (docs/filters.md)".into(), |presets| format!("fewer functions: {presets}"));
        }
        Doubt::Undelayed(_) => {
            let fewer = fewer.map_or_else(String::new, |presets| format!(": {presets}"));
            return format!("fewer functions, so that there is less delay to carry{fewer}");
        }
        Doubt::Wide(_) | Doubt::Marked(_) | Doubt::Regions(_) | Doubt::Prior(_) if trust.is_of_wrappers && !trust.has_ranks => {
            "more work between locks and barriers: what so many waits of threads take that are as short as what times them is not known better"
        }
        Doubt::Wide(_) | Doubt::Marked(_) | Doubt::Regions(_) | Doubt::Prior(_) if trust.is_of_wrappers => {
            "fewer, larger messages: what so many operations of MPI take that are as short as what times them is not known better"
        }
        Doubt::Wide(_) | Doubt::Marked(_) | Doubt::Regions(_) | Doubt::Prior(_) => {
            return fewer.map_or("a longer run".into(), |presets| format!("a longer run, or fewer short functions: {presets}"));
        }
        Doubt::Contradicted(..) => "fewer functions, so that the order of messages is closer to that of the unmeasured program",
        Doubt::Crowded(..) => "as many processors as threads, or fewer ranks: who queues behind the overhead of others cannot be told exactly",
        Doubt::Queued(..) => "processors that no other program uses: who queues behind others cannot be told from overhead exactly",
        Doubt::Clocks(_) => "a time service on all machines (chrony, PTP)",
        Doubt::Foreign(_) => "measure it with `tare profile` to have the overhead taken off",
        Doubt::Exported => "the run that it was made from, where it is still there",
        Doubt::Roomless(_) => "fewer threads at once, or more room in /dev/shm: up to 1,024 of a process have a graph of their own",
        Doubt::Refused(_) => {
            "a higher limit of memory (ulimit -v, ulimit -d): a thread takes 80 MB of addresses, and at most an eighth of those that are free"
        }
        Doubt::Unconnected(_) => "fewer instrumented libraries: a process has room for some 700",
        Doubt::Unmeasured(_) => "a program that does not leave the directories of its run (chroot, another user)",
        Doubt::Replaced(_, first) => return format!("to measure the other program: tare profile -- {}", shell::path(&first.by)),
        Doubt::Unreadable(_) | Doubt::MissingRanks(_) | Doubt::Damaged(_) => "look whether a process was killed or the disk is full",
    };
    text.to_string()
}

/// What a selection was expected to cost. Where it is more than the program itself, that is too short for such an estimate.
pub(crate) fn expectation(dilation: f64, glyphs: &Glyphs) -> String {
    if dilation > 1.0 {
        return "probes were expected to take longer than the program, which looks too short for an estimate".to_owned();
    }
    format!("probes were expected to take {}", share(dilation, glyphs))
}

/// Presets of fewer functions than were chosen; `None` where those are chosen already.
fn fewer_functions(run: &Run) -> Option<&'static str> {
    let options = run.selection.as_ref().map_or("", |selection| selection.options.as_str());
    let preset = options.split_once("--preset ").map_or("", |(_, rest)| rest.split(' ').next().unwrap_or_default());
    let has = |name: &str| preset.split('+').any(|part| part == name);
    match (has("cc3"), has("mpi-path")) {
        (true, true) => None,
        (true, false) | (false, true) => Some("--preset mpi-path+cc3"),
        (false, false) => Some("--preset cc3 or --preset mpi-path"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_take_the_places_of_others_are_counted_and_how_many_there_were_at_once_is_a_bound() {
        let glyphs = &Glyphs::ASCII;
        let one = Size { ranks: 0, processes: 1, threads: 67, begun: 67, hosts: 1 };
        assert_eq!(processes_and_threads(&one, glyphs), "1 process x 67 threads");
        assert_eq!(processes_and_threads(&Size { begun: 1001, ..one }, glyphs), "1 process x 1001 threads, at most 67 at once");
    }
}
