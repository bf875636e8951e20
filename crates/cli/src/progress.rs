//! Progress on stderr for anything that may take over a second: a bar on a terminal as soon as it does not end at once, a line per finished step elsewhere.

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What is done before that has no bar.
const SOON: Duration = Duration::from_millis(500);

/// Does a step of work.
pub(crate) fn during<T>(what: impl Into<String>, work: impl FnOnce() -> T) -> T {
    let _step = Step::begin(what);
    work()
}

/// A step that is under way; it is done when dropped.
pub(crate) struct Step {
    what: String,
    started: Instant,
    bar: Option<Bar>,
    is_told: bool,
}

/// A bar that is shown where the step is not done soon.
struct Bar {
    bar: ProgressBar,
    /// Closed when the step is done, which ends the wait for it.
    under_way: Option<Sender<()>>,
    wait: Option<JoinHandle<()>>,
}

impl Bar {
    fn begin(what: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()).with_message(what.to_string());
        if let Ok(style) = ProgressStyle::with_template("tare: {msg} {spinner} {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        let (under_way, done) = channel();
        let shown = bar.clone();
        let wait = std::thread::spawn(move || {
            if done.recv_timeout(SOON) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
            }
        });
        Self { bar, under_way: Some(under_way), wait: Some(wait) }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.under_way = None;
        let _ = self.wait.take().map(JoinHandle::join);
        self.bar.finish_and_clear();
    }
}

impl Step {
    /// Begins a step.
    pub(crate) fn begin(what: impl Into<String>) -> Self {
        let what = what.into();
        let bar = std::io::stderr().is_terminal().then(|| Bar::begin(&what));
        Self { what, started: Instant::now(), bar, is_told: false }
    }

    /// Ends the step without a line: whoever ends it has more to say.
    pub(crate) fn end(mut self) {
        self.is_told = true;
    }

    /// Says how far the step has come.
    pub(crate) fn says(&self, text: &str) {
        if let Some(Bar { bar, .. }) = &self.bar {
            bar.set_message(format!("{}: {text}", self.what));
        }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.bar = None;
        let took = self.started.elapsed();
        if took >= Duration::from_secs(1) && !self.is_told {
            eprintln!("tare: {} took {:.1} s", self.what, took.as_secs_f64());
        }
    }
}
