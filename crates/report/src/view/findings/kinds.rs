//! What is said of each kind of finding: its mark, what it is, what to try.

use tare_compensate::whole::{Cause, InFiles, Shortage};
use tare_profile::{Region, RegionIndex, RegionKind};

use super::super::shortage::had_none;
use super::{CUT_OFF, FAR, OPEN, Words, knows_waiting, numbered, verb};
use crate::number::{byte_size, count, share, time_with_unit};
use crate::shell;

/// Messages of fewer bytes than this cost more by their number than by their size.
const SMALL_MESSAGE: f64 = 1024.0;
/// Files make up most of a sleep from this part of it on.
const MOSTLY_FILES: f64 = 0.5;
/// Sleep in a region is told from this part of its time on.
const LEAST_SLEEP: f64 = 0.01;
/// A function whose calls take less than this is called too often rather than too slow.
const SHORT_CALL_S: f64 = 100e-9;

impl Words<'_> {
    pub(super) fn cut_off(&self, ranks: &[u32], longest: f64) -> (&'static str, String, Option<String>) {
        let (were, time) = (if ranks.len() == 1 { "was" } else { "were" }, time_with_unit(longest, self.glyphs));
        let what = format!("{} {were} still in it when the run was cut off, for {time}", self.ranks(ranks));
        let attempt =
            (!self.run.directory.is_empty()).then(|| format!("`tare query {} where` says what all ranks were in", shell::path(&self.run.directory)));
        (CUT_OFF, what, attempt)
    }

    pub(super) fn open(&self, ranks: &[u32], longest: f64) -> (&'static str, String, Option<String>) {
        let (have, up_to) = if ranks.len() == 1 { ("has", "") } else { ("have", "up to ") };
        let time = time_with_unit(longest, self.glyphs);
        let what = format!("{} {have} been in it for {up_to}{time}; what of that is waiting is known when it returns", self.ranks(ranks));
        let attempt =
            (!self.run.directory.is_empty()).then(|| format!("`tare query {} where` says what all ranks are in", shell::path(&self.run.directory)));
        (OPEN, what, attempt)
    }

    pub(super) fn no_processor(&self, ranks: &[u32], longest: &Shortage, explains: f64) -> String {
        let up_to = if ranks.len() == 1 { "" } else { "up to " };
        let explains =
            if explains > 0.0 { format!(", which may be why ranks wait for {}", time_with_unit(explains, self.glyphs)) } else { String::new() };
        let calls = if self.profile.has_ranks() { "in MPI" } else { "while it waited for other threads" };
        let in_mpi = match longest.is_told_in_mpi() {
            true => format!(", and {calls} for {}", time_with_unit(longest.in_mpi_s, self.glyphs)),
            false => String::new(),
        };
        let (who, outside) = self.of_ranks(ranks);
        let who = if longest.thread > 0 && ranks.len() == 1 { format!("thread {} of {who}", longest.thread) } else { who };
        format!("{who} {}{in_mpi}{explains}", had_none(longest, self.profile, outside, up_to, self.glyphs))
    }

    /// How many threads share how many processors, where these are fewer, and what to try where ranks had none.
    pub(super) fn sharing(&self, sharing: Option<(usize, u32)>) -> (String, &'static str) {
        let Some((threads, processors)) = sharing.filter(|(threads, processors)| *threads > *processors as usize) else {
            return (String::new(), "processors that no other program uses");
        };
        let at_most = if self.profile.has_threads_in_turn() { "at most " } else { "" };
        let processors = if processors == 1 { "a processor".to_string() } else { format!("{processors} processors") };
        (format!("; {at_most}{threads} threads share {processors}"), "as many processors as threads")
    }

    /// These ranks, or the program where there are none, and where what is said of them holds.
    fn of_ranks(&self, ranks: &[u32]) -> (String, &'static str) {
        match self.profile.has_ranks() {
            true => (self.ranks(ranks), " outside MPI"),
            false => ("the program".to_string(), ""),
        }
    }

    pub(super) fn asleep(
        &self,
        ranks: &[u32],
        (longest, outside): (f64, f64),
        within: Option<f64>,
        in_files: Option<InFiles>,
    ) -> (&'static str, String, Option<String>) {
        let time = |seconds| time_with_unit(seconds, self.glyphs);
        let (who, outside_mpi) = self.of_ranks(ranks);
        let up_to = if ranks.len() > 1 { "up to " } else { "" };
        let files = in_files.map(|files| {
            let mostly = files.region.map(|region| format!(", most of it in {}", self.placed(region))).unwrap_or_default();
            format!("; reading and writing files took {}{mostly}", time(files.seconds))
        });
        let waits = if ranks.len() > 1 { "wait" } else { "waits" };
        let there = within.map(|least| format!(", {} of it there at least", time(least))).unwrap_or_default();
        let of = format!("{up_to}{} of {}{outside_mpi}", time(longest), time(outside));
        let what = format!("{who} {waits} for files, timers or other processes, for {of}{there}{}", files.unwrap_or_default());
        let attempt = match in_files {
            None => "`tare profile --metrics io-time,io-calls` tells whether it is files, and which",
            Some(files) if files.seconds >= MOSTLY_FILES * longest => "fewer and larger reads and writes, or other work meanwhile",
            Some(_) => "less that waits for timers or other processes, or other work meanwhile",
        };
        ("F-asleep", what, Some(attempt.to_string()))
    }

    pub(super) fn threads(
        &self,
        operation: &Region,
        threads: usize,
        processes: usize,
        awaited: &[u32],
        cause: Option<&Cause>,
    ) -> (&'static str, String, Option<String>) {
        // At the end of a team who began it waits, and the others, for that and for the next one.
        let is_of_team = operation.ends_team();
        let late = numbered("thread", awaited, self.glyphs);
        let of_processes = if processes == 1 { String::new() } else { format!("in {processes} processes ") };
        let (arrive, are) = (verb(awaited, "arrive"), if awaited.len() == 1 { "is" } else { "are" });
        let what = match (processes, awaited) {
            (1, []) if is_of_team => format!("the threads that are done wait until the last of {threads} is"),
            (_, []) if is_of_team => format!("{of_processes}the threads that are done wait until the last one of their team is"),
            (1, []) if threads == 1 => "a thread waits until the last of the others arrives".to_string(),
            (1, []) => format!("{threads} threads wait in turn until the last one arrives"),
            (_, []) => format!("{threads} threads of {processes} processes wait in turn until the last one of each arrives"),
            (_, [0, ..]) if is_of_team => format!("{of_processes}the others wait, there and for the next team, until {late} {are} done"),
            _ if is_of_team => format!("{of_processes}the thread that began it waits until {late} {are} done"),
            _ => format!("{of_processes}threads wait until {late} {arrive}"),
        };
        let because = cause.map(|cause| self.more(awaited, cause, &numbered("thread", &cause.late, self.glyphs))).unwrap_or_default();
        let is_openmp = operation.name.starts_with("omp");
        let is_first = awaited.first() == Some(&0);
        let attempt = match cause {
            Some(cause) if is_openmp && awaited == [0] && cause.ahead >= FAR => {
                "less that thread 0 does alone, or that divided over the threads".to_string()
            }
            _ if is_openmp && is_first => {
                "work that is divided as it comes, by `schedule(dynamic)`, or more evenly, and less that thread 0 does alone".to_string()
            }
            _ if is_openmp => "work that is divided as it comes, by `schedule(dynamic)`, or more evenly".to_string(),
            Some(cause) => self.moved(cause, &numbered("thread", &cause.late, self.glyphs)),
            None => "work that is divided more evenly over the threads".to_string(),
        };
        ("F-wait-threads", format!("{what}{because}"), Some(attempt))
    }

    pub(super) fn lock(
        &self,
        operation: &str,
        threads: usize,
        processes: usize,
        (waits, each_s): (u64, f64),
    ) -> (&'static str, String, Option<String>) {
        let who = match (threads, processes) {
            (1, _) => "a thread waits".to_string(),
            (_, 1) => format!("{threads} threads wait"),
            _ => format!("{threads} threads of {processes} processes wait"),
        };
        let each = time_with_unit(each_s, self.glyphs);
        let times = if waits == 1 { format!("once, for {each}") } else { format!("{} times for {each} each", count(waits, self.glyphs)) };
        let attempt = match operation.ends_with("critical") {
            true => "less within it, a name of its own for what does not touch the same data, or `reduction` or `omp atomic` instead",
            false => "less that is done with the lock in hand, or several locks for parts of the data",
        };
        ("F-wait-lock", format!("{who} until another thread lets go of the lock, {times}"), Some(attempt.to_string()))
    }

    pub(super) fn hot_spot(
        &self,
        region: RegionIndex,
        (part, asleep_s): (f64, f64),
        calls: u64,
        per_call_s: f64,
    ) -> (&'static str, String, Option<String>) {
        let seconds = calls as f64 * per_call_s;
        let each = if calls == 1 { String::new() } else { format!(" of {} each", time_with_unit(per_call_s, self.glyphs)) };
        let calls = format!("{} {}", self.calls(region, calls), if calls == 1 { "call" } else { "calls" });
        let whose = if self.profile.locations.len() == 1 { "" } else { " of all threads" };
        let is_told = asleep_s > 0.0 && asleep_s >= LEAST_SLEEP * seconds;
        let asleep = if is_told { format!(", of which it may have slept for {}", time_with_unit(asleep_s, self.glyphs)) } else { String::new() };
        let what =
            format!("{} of the time{whose} is spent in it, what it calls unmeasured included, in {calls}{each}{asleep}", share(part, self.glyphs));
        let attempt = match self.profile.regions[region.0].kind {
            _ if let Some(attempt) = self.with_left_out(region) => attempt,
            _ if per_call_s < SHORT_CALL_S => "fewer calls that do more each, or a function that is inlined".to_string(),
            RegionKind::Function if !self.has_loops() => {
                "`tare profile --levels functions,loops` tells which of its loops it is, and `--library NAME` what a library does in it".to_string()
            }
            _ => "less work there, or faster".to_string(),
        };
        ("F-hot-spot", what, Some(attempt))
    }

    /// What to try where functions of a region's image were left out, which may be what the region calls.
    pub(super) fn with_left_out(&self, region: RegionIndex) -> Option<String> {
        let region = &self.profile.regions[region.0];
        let image = self.run.images.iter().find(|image| image.path == region.image && image.selected < image.found)?;
        let left_out = count((image.found - image.selected) as u64, self.glyphs);
        let were = if image.found - image.selected == 1 { "was" } else { "were" };
        Some(format!(
            "`tare profile --preset all`, as it may be what it calls: {left_out} of {} functions {were} left out",
            count(image.found as u64, self.glyphs)
        ))
    }

    /// How many calls of a region there were: at least so many, where not all were counted.
    fn calls(&self, region: RegionIndex, calls: u64) -> String {
        let are_all = self.profile.processes.iter().all(|process| process.counts_all_of(region));
        self.glyphs.bounded(count(calls, self.glyphs), are_all)
    }

    pub(super) fn messages(&self, region: RegionIndex, calls: u64, messages: u64, bytes: u64) -> (&'static str, String, Option<String>) {
        let each = bytes as f64 / messages.max(1) as f64;
        let (operation, number, is_one) = (self.name(region), self.calls(region, calls), calls == 1);
        let calls_that = |does: &str| if is_one { format!("{number} call {does}s") } else { format!("{number} calls {does}") };
        let besides = if knows_waiting(self.run, self.profile) { "time besides waiting" } else { "time; what of it is waiting is not known" };
        if is_asked(operation) {
            let came = if messages > 0 { format!(", with which {} messages came", count(messages, self.glyphs)) } else { String::new() };
            let what = format!("{} whether something has come{came}, which takes {besides}", calls_that("ask"));
            let attempt = "MPI_Wait or MPI_Recv where there is nothing else to do, or fewer questions";
            return ("F-messages", what, Some(attempt.to_string()));
        }
        if messages == 0 {
            let attempt = "fewer of these calls, or non-blocking ones with work beside them";
            return ("F-messages", format!("{} {besides}", calls_that("take")), Some(attempt.to_string()));
        }
        let size = byte_size(each, self.glyphs);
        let what = format!("{} {} messages of {size} on average, which takes {besides}", calls_that("move"), count(messages, self.glyphs));
        let attempt = if each < SMALL_MESSAGE { "fewer and larger messages" } else { "fewer bytes, or non-blocking calls with work beside them" };
        ("F-messages", what, Some(attempt.to_string()))
    }
}

/// Whether an operation asks whether something has come.
fn is_asked(operation: &str) -> bool {
    (operation.starts_with("MPI_Test") && operation != "MPI_Test_cancelled") || matches!(operation, "MPI_Iprobe" | "MPI_Improbe")
}

#[cfg(test)]
mod tests {
    use tare_compensate::whole::{Certainty, FindingKind};
    use tare_profile::Profile;

    use crate::InstrumentedImage;
    use crate::layout::Glyphs;
    use crate::run::Run;
    use crate::view::findings::tests::in_words;
    use crate::view::findings::{Amount, UNTOLD};

    use super::*;

    fn threads(name: &str) -> Region {
        Region::named(RegionKind::Threads, name, "threads")
    }

    #[test]
    fn who_sleeps_is_told_to_measure_files_and_then_what_they_took() {
        let asleep = |ranks: &[u32], within_s: Option<f64>, in_files| {
            let kind = FindingKind::Asleep { ranks: ranks.to_vec(), longest_s: 1.5, outside_s: 4.0, within_s, in_files };
            let found = in_words(kind, Certainty::Sure, &Run::default());
            assert_eq!((found.id, found.at.as_str()), ("F-asleep", if within_s.is_some() { "Sleep in MPI_Send" } else { "Sleep" }));
            (found.what.replace(Glyphs::UNICODE.thin_space, " "), found.attempt.expect("something to try"))
        };
        let (what, attempt) = asleep(&[2], None, None);
        assert_eq!(what, "rank 2 waits for files, timers or other processes, for 1.50 s of 4.00 s outside MPI");
        assert_eq!(attempt, "`tare profile --metrics io-time,io-calls` tells whether it is files, and which");
        let in_files = |seconds| Some(InFiles { seconds, region: Some(RegionIndex(0)) });
        let (what, attempt) = asleep(&[1, 2], None, in_files(0.7));
        let expected = "ranks 1–2 wait for files, timers or other processes, for up to 1.50 s of 4.00 s outside MPI; reading and writing files took 700 ms, \
             most of it in MPI_Send";
        assert_eq!((what.as_str(), attempt.as_str()), (expected, "less that waits for timers or other processes, or other work meanwhile"));
        assert!(asleep(&[2], None, in_files(1.4)).1.contains("reads and writes"));
        let (what, _) = asleep(&[2], Some(1.2), None);
        assert!(what.ends_with("for 1.50 s of 4.00 s outside MPI, 1.20 s of it there at least"), "{what}");
    }

    #[test]
    fn sleep_in_a_hot_spot_is_told_where_it_is_more_than_a_hundredth() {
        let profile = Profile { regions: vec![Region::named(RegionKind::Function, "main", "/bin/app")], ..Profile::default() };
        let words = Words { profile: &profile, run: &Run::default(), page: None, glyphs: &Glyphs::ASCII };
        let is_told = |asleep_s| words.hot_spot(RegionIndex(0), (0.8, asleep_s), 10, 0.2).1.contains("may have slept");
        assert_eq!([0.0, 0.01, 0.03].map(is_told), [false, false, true]);
    }

    /// Of a function the time of what it calls and was left out cannot be told from its own.
    #[test]
    fn what_was_left_out_may_be_where_the_time_is() {
        let profile = Profile { regions: vec![Region::named(RegionKind::Function, "main", "/bin/app")], ..Profile::default() };
        let image = |selected| InstrumentedImage { path: "/bin/app".into(), found: 3, selected, ..InstrumentedImage::default() };
        let attempt = |selected| {
            let run = Run { images: vec![image(selected)], ..Run::default() };
            let words = Words { profile: &profile, run: &run, page: None, glyphs: &Glyphs::ASCII };
            words.hot_spot(RegionIndex(0), (0.8, 0.0), 1, 2.0).2.expect("something to try")
        };
        assert_eq!(attempt(1), "`tare profile --preset all`, as it may be what it calls: 2 of 3 functions were left out");
        assert!(attempt(3).contains("--levels functions,loops"));
    }

    #[test]
    fn what_was_queued_for_in_mpi_is_named_and_no_amount_where_it_is_not_known() {
        let longest = Shortage {
            process: 0,
            thread: 0,
            queued_s: 0.2,
            in_all_s: 5.2,
            in_mpi_s: 5.0,
            stalled_s: 4.0,
            waited_s: 0.0,
            outside_s: 0.37,
            unsure_s: 0.05,
        };
        let none = || FindingKind::NoProcessor { ranks: vec![1], longest, sharing: None, explains: 0.0 };
        let found = in_words(none(), Certainty::Open, &Run::default());
        let what = found.what.replace(Glyphs::UNICODE.thin_space, " ");
        assert_eq!(what, "rank 1 could run outside MPI and had none for 200 ms of 370 ms, and in MPI for 5.00 s");
        assert_eq!(found.amount, Amount::Untold(UNTOLD));
        assert_eq!(in_words(none(), Certainty::Likely, &Run::default()).amount, Amount::Told);
    }

    #[test]
    fn of_threads_that_took_the_places_of_others_it_is_known_how_many_share_processors_at_most() {
        let what = |on_calls: u64, most_threads: Option<usize>| {
            let root = tare_profile::Node { on_calls, ..tare_profile::Node::default() };
            let thread = tare_profile::Location { thread: 1, nodes: vec![root], ..tare_profile::Location::default() };
            let process = tare_profile::Process { most_threads, ..tare_profile::Process::default() };
            let profile = Profile { processes: vec![process], locations: vec![thread], ..Profile::default() };
            let words = Words { profile: &profile, run: &Run::default(), page: None, glyphs: &Glyphs::ASCII };
            words.sharing(Some((3, 2))).0
        };
        assert_eq!([what(1, None), what(20, Some(3))], ["; 3 threads share 2 processors"; 2]);
        assert_eq!(what(20, None), "; at most 3 threads share 2 processors", "nobody has counted how many there were at once");
    }

    #[test]
    fn at_the_end_of_a_team_those_wait_that_are_done() {
        let (profile, run) = (Profile::default(), Run::default());
        let words = Words { profile: &profile, run: &run, page: None, glyphs: &Glyphs::UNICODE };
        let what = |operation: &str, processes: usize, awaited: &[u32]| words.threads(&threads(operation), 4, processes, awaited, None).1;
        assert_eq!(what("omp parallel", 1, &[]), "the threads that are done wait until the last of 4 is");
        assert_eq!(what("omp parallel", 2, &[]), "in 2 processes the threads that are done wait until the last one of their team is");
        assert_eq!(what("omp barrier", 1, &[]), "4 threads wait in turn until the last one arrives");
        assert_eq!(words.threads(&threads("pthread_barrier_wait"), 1, 1, &[], None).1, "a thread waits until the last of the others arrives");
        assert_eq!(what("omp barrier", 1, &[3]), "threads wait until thread 3 arrives");
        assert_eq!(what("omp barrier", 2, &[2, 3]), "in 2 processes threads wait until threads 2–3 arrive");
        assert_eq!(what("omp parallel", 1, &[3]), "the thread that began it waits until thread 3 is done");
        assert_eq!(what("omp parallel", 1, &[0]), "the others wait, there and for the next team, until thread 0 is done");
    }

    #[test]
    fn what_one_thread_does_alone_is_not_divided_by_a_schedule() {
        let profile = Profile { regions: vec![Region::named(RegionKind::Function, "master_only", "a")], ..Profile::default() };
        let run = Run::default();
        let words = Words { profile: &profile, run: &run, page: None, glyphs: &Glyphs::ASCII };
        let attempt = |ahead, late: u32| {
            let cause = Cause { late: vec![late], region: RegionIndex(0), within: None, caller: None, ahead, explains: 1.0 };
            words.threads(&threads("omp barrier"), 2, 1, &[late], Some(&cause)).2.expect("something to try")
        };
        assert_eq!(attempt(f64::INFINITY, 0), "less that thread 0 does alone, or that divided over the threads");
        assert!(attempt(1.0, 0).contains("schedule") && attempt(1.0, 0).ends_with("less that thread 0 does alone"));
        assert!(attempt(f64::INFINITY, 1).ends_with("or more evenly"));
    }

    #[test]
    fn who_waits_for_a_lock_is_told_how_often_and_for_how_long() {
        let (profile, run) = (Profile::default(), Run::default());
        let words = Words { profile: &profile, run: &run, page: None, glyphs: &Glyphs::ASCII };
        let (_, what, attempt) = words.lock("contended omp critical", 4, 1, (1200, 0.0005));
        assert_eq!(what.replace('\u{a0}', " "), "4 threads wait until another thread lets go of the lock, 1200 times for 500 us each");
        assert!(attempt.expect("something to try").contains("`omp atomic`"));
        let (_, what, attempt) = words.lock("contended pthread_mutex_lock", 1, 1, (1, 0.5));
        assert_eq!(what.replace('\u{a0}', " "), "a thread waits until another thread lets go of the lock, once, for 500 ms");
        assert!(attempt.expect("something to try").contains("several locks"));
    }
}
