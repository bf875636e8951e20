//! Findings in words: what, where, how much, how sure, what to try.

mod kinds;

use std::borrow::Cow;
use std::collections::BTreeSet;

use tare_compensate::Figure;
use tare_compensate::whole::{Cause, Certainty, Finding, FindingKind, LEAST_PART};
use tare_profile::{Location, Profile, RegionIndex, RegionKind};

use super::{Size, Time, Trust, Whole, place};
use crate::layout::{Glyphs, Page};
use crate::number::{change, share, time_with_unit};
use crate::run::{Results, Run};
use crate::shell;
use crate::short::name_in_words;

/// A finding, ready to be read.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FindingText {
    /// A name that scripts can rely on.
    pub(crate) id: &'static str,
    /// Index of the region in the profile.
    pub(crate) region: usize,
    /// Seconds that could be won at most; of a hot spot all that are spent in it.
    pub(crate) seconds: Figure,
    /// Whether these are told.
    pub(crate) amount: Amount,
    /// The region and its place, `MPI_Recv in main at pi.c:80`.
    pub(crate) at: String,
    /// Whether the line there is that of a function's begin, as the call in it was not measured.
    pub(crate) is_begin: bool,
    /// Who does what to whom.
    pub(crate) what: String,
    /// `Sure`, or why not.
    pub(crate) certainty: String,
    /// One thing to try.
    pub(crate) attempt: Option<String>,
}

/// What is said of what could be won.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Amount {
    /// It is known well enough to be told.
    Told,
    /// It is not: this is said instead.
    Untold(&'static str),
    /// Nothing is to be won, as in a call that was cut off, or nothing is known of it yet.
    None,
}

impl FindingText {
    /// What could be won, with a full stop and a space behind it; `seconds` as the reader has them.
    pub(crate) fn won(&self, seconds: &str) -> String {
        match self.amount {
            Amount::Told => format!("{seconds} could be won at most. "),
            Amount::Untold(why) => format!("{why}. "),
            Amount::None => String::new(),
        }
    }
}

/// Calls that were open when their process was cut off.
const CUT_OFF: &str = "F-cut-off";
/// The region of a whole program.
const MAIN: &str = "main";
/// Calls that are open.
const OPEN: &str = "F-open";
/// A cause that explains less than this part of the waiting is said to be only part of it.
const MOST: f64 = 0.8;

/// Who takes so many times longer than the others takes far longer.
const FAR: f64 = 10.0;

/// What is said where it is not known well enough how much could be won.
const UNTOLD: &str = "What could be won cannot be told in this run";
/// The same of another tool's file, which has no intervals.
const UNTOLD_OF_FILE: &str = "What could be won cannot be told of this file";

/// What the reader of findings has to know of the lines in them.
pub(crate) const LINES: &str = "Lines are those where functions begin; --levels functions,callsites finds those of the calls.";

/// All findings in words. Names are as short as the page wants them; documents, which have no page, have them whole.
pub(crate) fn finding_texts(
    profile: &Profile,
    run: &Run,
    findings: &[Finding],
    trust: &Trust,
    page: Option<&Page>,
    glyphs: &Glyphs,
) -> Vec<FindingText> {
    let words = Words { profile, run, page, glyphs };
    findings.iter().map(|finding| words.finding(finding, trust)).collect()
}

struct Words<'a> {
    profile: &'a Profile,
    run: &'a Run,
    page: Option<&'a Page>,
    glyphs: &'a Glyphs,
}

impl Words<'_> {
    fn finding(&self, finding: &Finding, trust: &Trust) -> FindingText {
        let (id, what, attempt) = match &finding.kind {
            FindingKind::LateSender { waiting, awaited, cause } => {
                let whom = if awaited == waiting { "each other".to_string() } else { self.ranks(awaited) };
                let what = format!("{} {} for {whom}{}", self.ranks(waiting), verb(waiting, "wait"), self.because(awaited, cause));
                ("F-wait-late-sender", what, self.attempt(awaited, cause))
            }
            FindingKind::LateReceiver { waiting, awaited, cause } => {
                let whom = if awaited == waiting { "each other".to_string() } else { self.ranks(awaited) };
                let what = format!("{} {} for {whom} to receive{}", self.ranks(waiting), verb(waiting, "wait"), self.because(awaited, cause));
                ("F-wait-late-receiver", what, self.attempt(awaited, cause))
            }
            FindingKind::LateArrival { waiting, .. } if self.run.measured_by.is_some() => {
                let what = format!("{} {}; for whom, the file does not say", self.ranks(waiting), verb(waiting, "wait"));
                ("F-wait", what, Some("`tare profile`, which tells for whom, and what these do longer".to_string()))
            }
            FindingKind::LateArrival { waiting, awaited, cause } if !awaited.is_empty() => {
                let what = format!("{} {} until {} {}", self.ranks(waiting), verb(waiting, "wait"), self.ranks(awaited), verb(awaited, "arrive"));
                ("F-wait-late-arrival", format!("{what}{}", self.because(awaited, cause)), self.attempt(awaited, cause))
            }
            FindingKind::LateArrival { waiting, awaited, cause } => {
                let what = self.in_turn(waiting, self.name(finding.region));
                let attempt = match cause {
                    None => Some("fewer of these calls, or non-blocking ones".to_string()),
                    Some(_) => self.attempt(awaited, cause),
                };
                ("F-wait-in-turn", format!("{what}{}", self.because(awaited, cause)), attempt)
            }
            FindingKind::CutOff { ranks, longest } => self.cut_off(ranks, *longest),
            FindingKind::Open { ranks, longest } => self.open(ranks, *longest),
            FindingKind::NoProcessor { ranks, longest, sharing, explains } => {
                let what = self.no_processor(ranks, longest, *explains);
                let (sharing, attempt) = self.sharing(*sharing);
                ("F-no-processor", format!("{what}{sharing}"), Some(attempt.to_string()))
            }
            FindingKind::Asleep { ranks, longest_s, outside_s, within_s, in_files } => {
                self.asleep(ranks, (*longest_s, *outside_s), *within_s, *in_files)
            }
            FindingKind::Threads { threads, processes, awaited, cause } => {
                self.threads(&self.profile.regions[finding.region.0], *threads, *processes, awaited, cause.as_ref())
            }
            FindingKind::Lock { threads, processes, waits, each_s } => self.lock(self.name(finding.region), *threads, *processes, (*waits, *each_s)),
            FindingKind::HotSpot { part, calls, per_call_s, asleep_s } => self.hot_spot(finding.region, (*part, *asleep_s), *calls, *per_call_s),
            FindingKind::Messages { calls, messages, bytes } => self.messages(finding.region, *calls, *messages, *bytes),
        };
        let what = match finding.queued_s {
            Some(seconds) if seconds >= finding.seconds.value => format!("{what}; having had no processor may make up for all of it"),
            Some(seconds) => format!("{what}; having had no processor may make up for {}", time_with_unit(seconds, self.glyphs)),
            None => what,
        };
        let is_unreturned = matches!(id, CUT_OFF | OPEN);
        let certainty = match (finding.certainty, trust.is_good() || is_unreturned) {
            _ if self.run.measured_by.is_some() => "Not certain: the file does not say how uncertain its times are",
            (Certainty::Open, _) => "Not certain: how much of it passed in MPI is not known",
            (_, false) => "Not certain: trust in this run is limited",
            (Certainty::Sure, _) => "Sure",
            (Certainty::Likely, _) => "Likely",
            (Certainty::Possible, _) => "Possible",
        };
        let attempt = match finding.certainty {
            Certainty::Possible => {
                let who = if matches!(finding.kind, FindingKind::Threads { .. } | FindingKind::Lock { .. }) { "thread" } else { "rank" };
                Some(format!("a run in which each {who} has a processor to itself"))
            }
            _ => attempt,
        };
        FindingText {
            id,
            region: finding.region.0,
            seconds: finding.seconds,
            amount: match finding.certainty {
                _ if is_unreturned || matches!(finding.kind, FindingKind::HotSpot { .. }) => Amount::None,
                _ if self.run.measured_by.is_some() => Amount::Untold(UNTOLD_OF_FILE),
                Certainty::Open => Amount::Untold(UNTOLD),
                _ => Amount::Told,
            },
            at: match &finding.kind {
                FindingKind::NoProcessor { .. } => "Processors".to_string(),
                FindingKind::Asleep { within_s: Some(_), .. } => format!("Sleep in {}", self.placed(finding.region)),
                FindingKind::Asleep { .. } => "Sleep".to_string(),
                FindingKind::Threads { .. } => self.at_team(finding.region, finding.caller),
                _ => self.at(finding.region, finding.caller),
            },
            is_begin: finding
                .caller
                .map(|caller| &self.profile.regions[caller.0])
                .is_some_and(|caller| caller.kind == RegionKind::Function && caller.line > 0),
            what,
            certainty: certainty.to_string(),
            attempt,
        }
    }

    fn name(&self, region: RegionIndex) -> &str {
        &self.profile.regions[region.0].name
    }

    /// A name as it is told.
    fn told(&self, region: RegionIndex) -> Cow<'_, str> {
        let name = self.name(region);
        self.page.map_or(Cow::Borrowed(name), |page| Cow::Owned(name_in_words(name, page)))
    }

    /// `name (file:line)`.
    fn placed(&self, region: RegionIndex) -> String {
        let (name, about) = (self.told(region), &self.profile.regions[region.0]);
        match place(&about.file, about.line) {
            Some(place) => format!("{name} ({place})"),
            None => name.into_owned(),
        }
    }

    fn at(&self, region: RegionIndex, caller: Option<RegionIndex>) -> String {
        match caller {
            Some(caller) => format!("{} in {}", self.told(region), self.placed(caller)),
            None => self.placed(region),
        }
    }

    /// The same of where threads wait: of a parallel region by what its threads run, as what calls it may be another function than the one it stands in,
    /// which ended with that call. What threads run at a barrier are tasks of anywhere.
    fn at_team(&self, region: RegionIndex, caller: Option<RegionIndex>) -> String {
        let mut outlined = BTreeSet::new();
        for location in self.profile.locations.iter().filter(|_| self.profile.regions[region.0].ends_team()) {
            let is_here = |node: usize| location.nodes[node].region == region && self.is_called_by(location, node, caller);
            outlined.extend(location.nodes.iter().filter(|node| node.parent.is_some_and(is_here)).map(|node| node.region));
        }
        outlined.retain(|&one| is_outlined(self.name(one)));
        match outlined.into_iter().collect::<Vec<_>>()[..] {
            [one] => format!("{} of {}", self.told(region), self.placed(one)),
            _ => self.at(region, caller),
        }
    }

    /// Whether a node is called by a region, or from a part of it.
    fn is_called_by(&self, location: &Location, node: usize, caller: Option<RegionIndex>) -> bool {
        let is_part = |region: RegionIndex| self.profile.regions[region.0].kind.is_part();
        let above =
            std::iter::successors(location.nodes[node].parent, |&above| location.nodes[above].parent).map(|above| location.nodes[above].region);
        let mut callers = above.scan(false, |is_whole, region| (!std::mem::replace(is_whole, !is_part(region))).then_some(region));
        callers.any(|region| Some(region) == caller)
    }

    fn ranks(&self, ranks: &[u32]) -> String {
        let all = self.profile.processes.iter().filter(|process| process.rank.is_some()).count();
        match ranks {
            [] => "others".to_string(),
            [one] => format!("rank {one}"),
            _ if ranks.len() == all => "all ranks".to_string(),
            _ => rank_list(ranks, self.glyphs),
        }
    }

    fn in_turn(&self, waiting: &[u32], operation: &str) -> String {
        match waiting {
            _ if operation.starts_with("MPI_Win_lock") => {
                format!("{} {} until others let go of the window", self.ranks(waiting), verb(waiting, "wait"))
            }
            [_] => format!("{} waits until the last of the others arrives", self.ranks(waiting)),
            _ => format!("{} wait in turn until the last one arrives", self.ranks(waiting)),
        }
    }

    fn because(&self, awaited: &[u32], cause: &Option<Cause>) -> String {
        let Some(cause) = cause else { return "; no single region explains it".to_string() };
        self.more(awaited, cause, &self.ranks(&cause.late))
    }

    /// By what part of the others' time those that are late, in words, spend more in a region; where they were named already, without them.
    fn more(&self, awaited: &[u32], cause: &Cause, late: &str) -> String {
        let who = if awaited.is_empty() { format!("; {late}") } else { ", which".to_string() };
        let spends = verb(&cause.late, "spend");
        let by = match cause.ahead {
            part if part < FAR => format!("{} longer", change(part, self.glyphs).trim_start_matches('+')),
            _ => "far longer".to_string(),
        };
        let within = cause.within.map(|within| format!(" within {}", self.told(within))).unwrap_or_default();
        let part = if cause.explains < MOST { format!(", {} of that waiting", share(cause.explains, self.glyphs)) } else { String::new() };
        let caller = cause.caller.map(|caller| format!(", called by {}", self.told(caller))).unwrap_or_default();
        format!("{who} {spends} {by} in {}{caller}{within}{part}", self.placed(cause.region))
    }

    /// Whether loops were asked for.
    fn has_loops(&self) -> bool {
        self.run.selection.as_ref().is_some_and(|selection| selection.options.contains("loops"))
    }

    fn attempt(&self, awaited: &[u32], cause: &Option<Cause>) -> Option<String> {
        match cause {
            // All of a program is no place to change.
            Some(cause) if self.name(cause.region) == MAIN && !self.has_loops() => Some(self.with_left_out(cause.region).unwrap_or_else(|| {
                "`tare profile --levels functions,loops` tells which loop of `main` it is, and `--library NAME` what a library does in it".to_string()
            })),
            Some(cause) => Some(self.moved(cause, &self.ranks(&cause.late))),
            // What is late in one loop, and early in another, is neither over the whole run.
            None if !self.has_loops() => Some("`tare profile --levels functions,loops` tells one loop from another".to_string()),
            None => (!self.run.directory.is_empty()).then(|| {
                let shown = match awaited {
                    [] => "who waits for whom".to_string(),
                    [_] => format!("what {} does meanwhile", self.ranks(awaited)),
                    _ => format!("what {} do meanwhile", self.ranks(awaited)),
                };
                format!("`tare view {}` shows {shown}", shell::path(&self.run.directory))
            }),
        }
    }

    /// What those that are late, in words, may give away.
    fn moved(&self, cause: &Cause, late: &str) -> String {
        // All of a program is no place to change.
        let what = cause.caller.filter(|caller| self.name(*caller) != MAIN).unwrap_or(cause.region);
        format!("move part of `{}` from {late} to others", self.told(self.function_of_call(what)))
    }

    /// The function in which a call site stands; other regions are what they are.
    fn function_of_call(&self, region: RegionIndex) -> RegionIndex {
        let kind = |region: RegionIndex| self.profile.regions[region.0].kind;
        if kind(region) != RegionKind::CallSite {
            return region;
        }
        let of_location = |location: &Location| {
            let node = location.nodes.iter().position(|node| node.region == region)?;
            let mut above = std::iter::successors(location.nodes[node].parent, |&above| location.nodes[above].parent);
            above.find_map(|above| Some(location.nodes[above].region).filter(|&region| kind(region) == RegionKind::Function))
        };
        self.profile.locations.iter().find_map(of_location).filter(|function| self.name(*function) != MAIN).unwrap_or(region)
    }
}

/// Whether it is known where ranks waited: other tools' files do not say it, but for those that were ours and have kept it.
pub(crate) fn knows_waiting(run: &Run, profile: &Profile) -> bool {
    run.measured_by.is_none() || profile.locations.iter().flat_map(|location| &location.nodes).any(|node| node.exchanged().wait_ticks > 0)
}

/// What is said where there is no finding. A place where ranks wait for a noteworthy part of the time is none where that is too uncertain.
pub(crate) fn no_finding(run: &Run, results: &Results<'_>, whole: &Whole, page: &Page, glyphs: &Glyphs) -> String {
    let profile = results.profile;
    if !knows_waiting(run, profile) {
        return "where ranks waited is not known of this file".to_string();
    }
    if !profile.is_described() {
        return "where ranks waited is not known, as descriptions of regions are missing, damaged or not to be opened".to_string();
    }
    if Size::of(results).ranks < 2 {
        return "no waiting that is known to cost a noteworthy part of the time, and no function or loop that is known to take a good part of it"
            .to_string();
    }
    let words = Words { profile, run, page: Some(page), glyphs };
    let (ranks, time) = (Size::of(results).ranks.max(1) as f64, Time::of(results).map_or(0.0, |time| time.shown.value));
    match whole.places.iter().find(|place| place.wait_s > 0.0 && place.wait_s / ranks >= LEAST_PART * time) {
        Some(place) => {
            let seconds = time_with_unit(place.wait_s / ranks, glyphs);
            format!("the {seconds} for which ranks wait in {} are not known to a half", words.at(place.operation, place.caller))
        }
        None => "no place where waiting or messages are known to cost a noteworthy part of the time".to_string(),
    }
}

/// Whether a compiler made a function of this name of a parallel region: GCC, Clang.
fn is_outlined(name: &str) -> bool {
    name.contains("._omp_fn.") || name.contains(".omp_outlined")
}

fn verb(subjects: &[u32], verb: &str) -> String {
    if subjects.len() == 1 { format!("{verb}s") } else { verb.to_string() }
}

/// `ranks 0–7, 12`; more than five ranges are counted: `27 ranks, first 3`.
pub(crate) fn rank_list(ranks: &[u32], glyphs: &Glyphs) -> String {
    numbered("rank", ranks, glyphs)
}

/// As [`rank_list`], of whatever has numbers.
pub(super) fn numbered(what: &str, numbers: &[u32], glyphs: &Glyphs) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    if ranges.len() > 5 {
        return format!("{} {what}s, first {},", numbers.len(), numbers[0]);
    }
    let text = |&(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}{}{last}", glyphs.to) };
    let more = if numbers.len() == 1 { "" } else { "s" };
    format!("{what}{more} {}", ranges.iter().map(text).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use tare_profile::Region;

    use super::*;

    #[test]
    fn ranks_are_ranges_and_many_ranges_are_counted() {
        assert_eq!(rank_list(&[0, 1, 2, 7, 9, 10], &Glyphs::UNICODE), "ranks 0–2, 7, 9–10");
        assert_eq!(rank_list(&[4], &Glyphs::UNICODE), "rank 4");
        assert_eq!(rank_list(&[3, 5, 7, 9, 11, 13], &Glyphs::UNICODE), "6 ranks, first 3,");
    }

    /// A finding on a profile of four ranks, in words.
    pub(super) fn in_words(kind: FindingKind, certainty: Certainty, run: &Run) -> FindingText {
        let mut profile = Profile::default();
        profile.regions.push(Region::named(RegionKind::Mpi, "MPI_Send", "MPI"));
        let of_rank = |rank| tare_profile::Process { rank: Some(rank), ..tare_profile::Process::default() };
        profile.processes.extend((0..4).map(of_rank));
        let trust = Trust {
            regions: 0,
            regions_trusted: 0,
            part_trusted: 0.0,
            doubts: Vec::new(),
            lost: 0,
            off_batches: 0,
            undelayed: super::super::Undelayed::default(),
            clock_doubt_s: 0.0,
            is_of_wrappers: false,
            has_ranks: true,
        };
        let finding = Finding { kind, region: RegionIndex(0), caller: None, seconds: Figure::exact(1.0), certainty, queued_s: None };
        Words { profile: &profile, run, page: None, glyphs: &Glyphs::UNICODE }.finding(&finding, &trust)
    }

    #[test]
    fn for_what_ranks_wait_is_not_said_of_files_that_do_not_say_it() {
        let late = || FindingKind::LateArrival { waiting: vec![0, 1], awaited: Vec::new(), cause: None };
        let foreign = Run { measured_by: Some("Cube".into()), ..Run::default() };
        let found = in_words(late(), Certainty::Sure, &foreign);
        assert_eq!((found.id, found.attempt.as_deref()), ("F-wait", Some("`tare profile`, which tells for whom, and what these do longer")));
        assert_eq!(found.what, "ranks 0–1 wait; for whom, the file does not say");
        assert_eq!(found.certainty, "Not certain: the file does not say how uncertain its times are");
        assert_eq!(found.won("1 s"), "What could be won cannot be told of this file. ");
        assert_eq!(in_words(late(), Certainty::Sure, &Run::default()).id, "F-wait-in-turn");
    }

    #[test]
    fn what_may_come_of_processors_alone_is_possible_and_asks_for_a_run_in_which_it_cannot() {
        let run = Run { directory: "runs/1".into(), ..Run::default() };
        let late = FindingKind::LateSender { waiting: vec![0], awaited: vec![1], cause: None };
        let found = in_words(late, Certainty::Possible, &run);
        assert_eq!((found.id, found.certainty.as_str(), found.amount), ("F-wait-late-sender", "Possible", Amount::Told));
        assert_eq!(found.attempt.as_deref(), Some("a run in which each rank has a processor to itself"));
    }

    #[test]
    fn whatever_is_found_there_is_something_to_try() {
        let shortage = tare_compensate::whole::Shortage {
            process: 0,
            thread: 0,
            queued_s: 0.2,
            in_all_s: 0.2,
            in_mpi_s: 0.0,
            stalled_s: 0.0,
            waited_s: 0.0,
            outside_s: 0.4,
            unsure_s: 0.0,
        };
        let asleep = |in_files_s: Option<f64>| {
            let in_files = in_files_s.map(|seconds| tare_compensate::whole::InFiles { seconds, region: None });
            FindingKind::Asleep { ranks: vec![0], longest_s: 1.0, outside_s: 2.0, within_s: None, in_files }
        };
        let messages = |messages, bytes| FindingKind::Messages { calls: 9, messages, bytes };
        let kinds = || {
            let mut kinds = vec![
                FindingKind::CutOff { ranks: vec![0], longest: 0.5 },
                FindingKind::Open { ranks: vec![0], longest: 0.5 },
                FindingKind::NoProcessor { ranks: vec![0], longest: shortage, sharing: None, explains: 0.0 },
                FindingKind::Threads { threads: 2, processes: 1, awaited: Vec::new(), cause: None },
                FindingKind::Lock { threads: 2, processes: 1, waits: 9, each_s: 0.1 },
                FindingKind::HotSpot { part: 0.9, calls: 1, per_call_s: 1.0, asleep_s: 0.0 },
            ];
            kinds.extend([None, Some(0.1), Some(0.9)].map(asleep));
            kinds.extend([(0, 0), (9, 90), (9, 90 << 20)].map(|(number, bytes)| messages(number, bytes)));
            for awaited in [vec![], vec![1], vec![1, 2]] {
                let (waiting, cause) = (vec![0, 3], None);
                kinds.push(FindingKind::LateSender { waiting: waiting.clone(), awaited: awaited.clone(), cause: cause.clone() });
                kinds.push(FindingKind::LateReceiver { waiting: waiting.clone(), awaited: awaited.clone(), cause: cause.clone() });
                kinds.push(FindingKind::LateArrival { waiting, awaited, cause });
            }
            kinds
        };
        let with_loops = crate::run::Selection { options: "--levels functions,loops".into(), rests_on_costs: false };
        for (selection, measured_by) in [(None, None), (Some(with_loops), None), (None, Some("Cube".to_string()))] {
            let run = Run { directory: "runs/1".into(), selection, measured_by, ..Run::default() };
            for kind in kinds() {
                let found = in_words(kind, Certainty::Sure, &run);
                assert!(found.attempt.is_some_and(|attempt| !attempt.is_empty() && !attempt.ends_with('.')), "{}: {}", found.id, found.what);
            }
        }
    }

    #[test]
    fn of_a_call_that_was_cut_off_nothing_is_to_be_won() {
        let found = in_words(FindingKind::CutOff { ranks: vec![0], longest: 0.5 }, Certainty::Sure, &Run::default());
        assert_eq!((found.id, found.won("507 ms").as_str()), (CUT_OFF, ""));
    }

    #[test]
    fn of_a_call_that_is_open_it_is_said_that_what_of_it_is_waiting_is_not_known_yet() {
        let found = in_words(FindingKind::Open { ranks: vec![1], longest: 7.9 }, Certainty::Sure, &Run::default());
        assert_eq!((found.id, found.won("7.90 s").as_str()), (OPEN, ""));
        let what = found.what.replace(Glyphs::UNICODE.thin_space, " ");
        assert_eq!(what, "rank 1 has been in it for 7.90 s; what of that is waiting is known when it returns");
    }

    /// An operation of threads.
    #[test]
    fn a_parallel_region_is_named_by_what_its_threads_run() {
        let function = |name: &str, line| Region { line, file: "/src/uneven.c".into(), ..Region::named(RegionKind::Function, name, "a") };
        let node = |region, parent| tare_profile::Node { region: RegionIndex(region), parent, ..tare_profile::Node::default() };
        let nodes = vec![node(0, None), node(1, Some(0)), node(2, Some(1))];
        let parallel = Region::named(RegionKind::Threads, "omp parallel", "threads");
        let mut profile = Profile {
            regions: vec![function("main", 9), parallel, function("triangle._omp_fn.0", 6)],
            locations: vec![tare_profile::Location { nodes, ..tare_profile::Location::default() }],
            ..Profile::default()
        };
        let at = |profile: &Profile| {
            let words = Words { profile, run: &Run::default(), page: None, glyphs: &Glyphs::UNICODE };
            words.at_team(RegionIndex(1), Some(RegionIndex(0)))
        };
        assert_eq!(at(&profile), "omp parallel of triangle._omp_fn.0 (uneven.c:6)");
        profile.regions[1].name = "omp barrier".into();
        assert_eq!(at(&profile), "omp barrier in main (uneven.c:9)", "what runs at a barrier is a task of anywhere");
        profile.regions[1].name = "omp parallel".into();
        profile.locations[0].nodes.pop();
        assert_eq!(at(&profile), "omp parallel in main (uneven.c:9)");
    }

    #[test]
    fn one_rank_alone_does_not_wait_in_turn() {
        let (profile, run) = (Profile::default(), Run::default());
        let words = Words { profile: &profile, run: &run, page: None, glyphs: &Glyphs::UNICODE };
        assert_eq!(words.in_turn(&[0], "MPI_Barrier"), "rank 0 waits until the last of the others arrives");
        assert_eq!(words.in_turn(&[0, 1, 2], "MPI_Barrier"), "ranks 0–2 wait in turn until the last one arrives");
        assert_eq!(words.in_turn(&[0], "MPI_Win_lock"), "rank 0 waits until others let go of the window");
    }
}
