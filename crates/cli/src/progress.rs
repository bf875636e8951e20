//! Progress on stderr for anything that may take over a second: a bar on a terminal, a line per finished step elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Does a step of work.
pub(crate) fn during<T>(what: impl Into<String>, work: impl FnOnce() -> T) -> T {
    let _step = Step::begin(what);
    work()
}

/// A step that is under way; it is done when dropped.
pub(crate) struct Step {
    what: String,
    started: Instant,
    bar: Option<ProgressBar>,
    is_told: bool,
}

impl Step {
    /// Begins a step.
    pub(crate) fn begin(what: impl Into<String>) -> Self {
        let what = what.into();
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner().with_message(what.clone());
            if let Ok(style) = ProgressStyle::with_template("tare: {msg} {spinner} {elapsed}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Self { what, started: Instant::now(), bar, is_told: false }
    }

    /// Ends the step without a line: whoever ends it has more to say.
    pub(crate) fn end(mut self) {
        self.is_told = true;
    }

    /// Says how far the step has come.
    pub(crate) fn says(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{}: {text}", self.what));
        }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let took = self.started.elapsed();
        if took >= Duration::from_secs(1) && !self.is_told {
            eprintln!("tare: {} took {:.1} s", self.what, took.as_secs_f64());
        }
    }
}
