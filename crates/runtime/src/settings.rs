//! What the environment asks of this process.

use crate::metrics::Metrics;
use crate::once::Once;
use crate::process::{ImitatedClock, Mode};
use crate::sys;
use crate::text::{Path, Text};
use core::ffi::CStr;
use tare_format::graph::DelayModel;

/// The environment of a measured process, as `tare` sets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    /// `TARE_RUN_DIR`: where the run is collected.
    pub(crate) run_directory: Path,
    /// `TARE_RUN_ID`: names the run among those of this user on this machine.
    pub(crate) run_id: Text<64>,
    /// As whom the process began: whose `tare` collects what it leaves in memory.
    pub(crate) user: u32,
    /// `TARE_MODEL`.
    pub(crate) model: DelayModel,
    /// `TARE_EXACT`: no batch is ever off.
    pub(crate) exact: bool,
    /// `TARE_THROTTLE`: paths with more calls than the first number that take fewer nanoseconds than the second are off.
    pub(crate) throttle: Option<Throttle>,
    /// `TARE_DUTY`: the budget of probes.
    pub(crate) budget: Option<Budget>,
    /// `TARE_METRICS`: what is measured beside time.
    pub(crate) metrics: Metrics,
    /// `TARE_IMITATED_CLOCK`: a process whose clock is to be another machine's.
    pub(crate) imitated_clock: Option<ImitatedClock>,
    /// `TARE_EXECUTABLE`: the program whose copy this process may be.
    pub(crate) executable: Path,
    /// `TARE_COPY`: that copy; empty where it is not named.
    pub(crate) copy: Path,
}

/// How much probes may cost, in hundredths of a percent of the time without them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Budget(pub(crate) u64);

impl Budget {
    /// All of the time.
    pub(crate) const WHOLE: u64 = 10_000;

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let parts = core::str::from_utf8(bytes).ok()?.parse().ok()?;
        (1..=100 * Self::WHOLE).contains(&parts).then_some(Self(parts))
    }
}

/// When a path is switched off for good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Throttle {
    /// After more calls than this …
    pub(crate) calls: u64,
    /// … if a call takes less than this.
    pub(crate) nanoseconds: u64,
}

impl Throttle {
    /// From `CALLS,NANOSECONDS`.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut numbers = core::str::from_utf8(bytes).ok()?.split(',').map(str::parse::<u64>);
        let (calls, nanoseconds) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        numbers.next().is_none().then_some(Self { calls, nanoseconds })
    }
}

impl ImitatedClock {
    /// From `RANK,NANOSECONDS,PPM`.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut words = core::str::from_utf8(bytes).ok()?.split(',');
        let imitated = Self { rank: words.next()?.parse().ok()?, ahead_ns: words.next()?.parse().ok()?, ppm: words.next()?.parse().ok()? };
        words.next().is_none().then_some(imitated)
    }
}

static SETTINGS: Once<Settings> = Once::new(Settings::NOTHING);

/// The settings of this process.
pub(crate) fn settings() -> &'static Settings {
    const NOTHING: &Settings = &Settings::NOTHING;
    SETTINGS.get().unwrap_or(NOTHING)
}

/// Reads the environment, once, before the program runs.
pub(crate) fn read_environment() {
    let settings = Settings::from_variables(|name| {
        // SAFETY: called from the constructor, before the program can change the environment.
        let value = unsafe { libc::getenv(name.as_ptr()) };
        // SAFETY: a value that is not null is a string of the environment, which stays.
        (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_bytes())
    });
    // SAFETY: the constructor runs once, in one thread, before any reader.
    unsafe { SETTINGS.set(settings) };
}

impl Settings {
    pub(crate) const NOTHING: Self = Self {
        mode: Mode::None,
        run_directory: Path::EMPTY,
        run_id: Text::EMPTY,
        user: 0,
        model: DelayModel::Virtual,
        exact: false,
        throttle: None,
        budget: None,
        metrics: Metrics::NONE,
        imitated_clock: None,
        executable: Path::EMPTY,
        copy: Path::EMPTY,
    };

    /// The settings that a set of variables makes. Without an absolute run directory there is nothing to do.
    fn from_variables<'a>(value: impl Fn(&CStr) -> Option<&'a [u8]>) -> Self {
        let path = |name| value(name).map_or(Path::EMPTY, |path| Path::EMPTY.then(path));
        let (executable, copy) = (path(c"TARE_EXECUTABLE"), path(c"TARE_COPY"));
        let directory = value(c"TARE_RUN_DIR").filter(|path| path.first() == Some(&b'/'));
        let Some(run_directory) = directory.map(|path| Path::EMPTY.then(path)) else {
            return Self { executable, copy, ..Self::NOTHING };
        };
        let metrics = value(c"TARE_METRICS").map_or(Metrics::NONE, Metrics::from_bytes);
        let id = value(c"TARE_RUN_ID").filter(|id| !id.is_empty() && id.iter().all(u8::is_ascii_alphanumeric));
        Self {
            mode: if value(c"TARE_MODE") == Some(b"clock") { Mode::Clock } else { Mode::Measure },
            run_directory,
            run_id: Text::EMPTY.then(id.unwrap_or(b"0")),
            user: sys::user_id(),
            model: match value(c"TARE_MODEL") {
                Some(b"off") => DelayModel::Off,
                Some(b"delay") => DelayModel::Delay,
                _ => DelayModel::Virtual,
            },
            // Metrics are read at each event: a probe that is off would leave them to its caller.
            exact: value(c"TARE_EXACT") == Some(b"1") || metrics.count > 0,
            budget: value(c"TARE_DUTY").and_then(Budget::from_bytes).filter(|_| metrics.count == 0),
            metrics,
            throttle: value(c"TARE_THROTTLE").and_then(Throttle::from_bytes),
            imitated_clock: value(c"TARE_IMITATED_CLOCK").and_then(ImitatedClock::from_bytes),
            executable,
            copy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, Settings, Throttle};
    use crate::process::{ImitatedClock, Mode};
    use tare_format::graph::DelayModel;

    fn settings(variables: &[(&'static core::ffi::CStr, &'static [u8])]) -> Settings {
        Settings::from_variables(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value))
    }

    #[test]
    fn without_an_absolute_run_directory_there_is_nothing_to_do() {
        assert_eq!(settings(&[]).mode, Mode::None);
        assert_eq!(settings(&[(c"TARE_RUN_DIR", b"runs/7")]).mode, Mode::None);
        assert_eq!(settings(&[(c"TARE_RUN_DIR", b"/runs/7")]).mode, Mode::Measure);
    }

    #[test]
    fn each_variable_says_what_it_says() {
        let settings = settings(&[
            (c"TARE_RUN_DIR", b"/runs/7"),
            (c"TARE_RUN_ID", b"c0ffee01"),
            (c"TARE_MODEL", b"delay"),
            (c"TARE_EXACT", b"1"),
            (c"TARE_THROTTLE", b"100000,10000"),
            (c"TARE_DUTY", b"200"),
            (c"TARE_MODE", b"clock"),
            (c"TARE_EXECUTABLE", b"/usr/bin/app"),
            (c"TARE_COPY", b"/cache/app"),
            (c"TARE_IMITATED_CLOCK", b"1,-7000000000,40"),
        ]);
        assert_eq!((settings.mode, settings.model, settings.exact), (Mode::Clock, DelayModel::Delay, true));
        assert_eq!((settings.run_id.bytes(), settings.executable.bytes()), (&b"c0ffee01"[..], &b"/usr/bin/app"[..]));
        assert_eq!(settings.copy.bytes(), b"/cache/app");
        assert_eq!(settings.imitated_clock, Some(ImitatedClock { rank: 1, ahead_ns: -7_000_000_000, ppm: 40 }));
        assert_eq!(settings.budget, Some(Budget(200)));
        assert_eq!(settings.throttle, Some(Throttle { calls: 100_000, nanoseconds: 10_000 }));
    }

    #[test]
    fn a_run_id_cannot_lead_out_of_its_directory() {
        let settings = settings(&[(c"TARE_RUN_DIR", b"/runs/7"), (c"TARE_RUN_ID", b"../../etc")]);
        assert_eq!(settings.run_id.bytes(), b"0");
    }
}
