//! What is said of each kind of finding: its mark, what it is, what to try.

use tare_compensate::whole::{Cause, Shortage};
use tare_profile::{Region, RegionIndex, RegionKind};

use super::super::shortage::had_none;
use super::{CUT_OFF, FAR, OPEN, Words, knows_waiting, numbered, verb};
use crate::number::{byte_size, count, share, time_with_unit};
use crate::shell;

/// Messages of fewer bytes than this cost more by their number than by their size.
const SMALL_MESSAGE: f64 = 1024.0;
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
        in_files: Option<f64>,
    ) -> (&'static str, String, Option<String>) {
        let time = |seconds| time_with_unit(seconds, self.glyphs);
        let (who, outside_mpi) = self.of_ranks(ranks);
        let up_to = if ranks.len() > 1 { "up to " } else { "" };
        let files = in_files.map(|seconds| format!("; reading and writing files took {}", time(seconds))).unwrap_or_default();
        let waits = if ranks.len() > 1 { "wait" } else { "waits" };
        let there = within.map(|least| format!(", {} of it there at least", time(least))).unwrap_or_default();
        let of = format!("{up_to}{} of {}{outside_mpi}", time(longest), time(outside));
        let what = format!("{who} {waits} for files, timers or other processes, for {of}{there}{files}");
        let attempt = "`tare profile --metrics io-time,io-calls` tells whether it is files, and which";
        ("F-asleep", what, in_files.is_none().then(|| attempt.to_string()))
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
        let each = if calls == 1 { String::new() } else { format!(" of {} each", time_with_unit(per_call_s, self.glyphs)) };
        let calls = format!("{} {}", self.calls(region, calls), if calls == 1 { "call" } else { "calls" });
        let whose = if self.profile.locations.len() == 1 { "" } else { " of all threads" };
        let asleep =
            if asleep_s > 0.0 { format!(", of which it may have slept for {}", time_with_unit(asleep_s, self.glyphs)) } else { String::new() };
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
        format!("{}{}", if are_all { "" } else { self.glyphs.at_least }, count(calls, self.glyphs))
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
            return ("F-messages", format!("{} {besides}", calls_that("take")), None);
        }
        let size = byte_size(each, self.glyphs);
        let what = format!("{} {} messages of {size} on average, which takes {besides}", calls_that("move"), count(messages, self.glyphs));
        let attempt = (each < SMALL_MESSAGE).then(|| "fewer and larger messages".to_string());
        ("F-messages", what, attempt)
    }
}

/// Whether an operation asks whether something has come.
fn is_asked(operation: &str) -> bool {
    (operation.starts_with("MPI_Test") && operation != "MPI_Test_cancelled") || matches!(operation, "MPI_Iprobe" | "MPI_Improbe")
}
