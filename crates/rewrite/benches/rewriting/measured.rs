//! A measurement as a process of its own.

use std::process::Command;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// Decoding alone.
    Decode,
    /// Analysis and rewriting, with so many threads.
    Rewrite(usize),
}

impl Task {
    /// A task from the number that stands for it: none is decoding, others are threads.
    pub(crate) fn of(text: &str) -> Option<Self> {
        match text.parse().ok()? {
            0 => Some(Self::Decode),
            threads => Some(Self::Rewrite(threads)),
        }
    }

    fn number(self) -> usize {
        match self {
            Self::Decode => 0,
            Self::Rewrite(threads) => threads,
        }
    }
}

/// What a process found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// Bytes of text.
    pub(crate) text: u64,
    pub(crate) instructions: u64,
    /// Seconds of user time in the analysis.
    pub(crate) analysis: f64,
    /// Seconds of user time in the task itself.
    pub(crate) user: f64,
    /// Most bytes that were in use.
    pub(crate) peak: f64,
    /// Bytes of the image and of the copy.
    pub(crate) input: u64,
    pub(crate) output: u64,
    /// Of the copy.
    pub(crate) digest: u64,
}

impl Measured {
    /// Runs this program again for one task.
    pub(crate) fn of(task: Task, path: &str) -> Self {
        let program = std::env::current_exe().expect("this program");
        let output = Command::new(program).args(["--work", &task.number().to_string(), path]).output().expect("a process");
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("numbers");
        let mut numbers = text.split_whitespace().map(|number| number.parse::<f64>().expect("a number"));
        let mut next = || numbers.next().expect("eight numbers");
        Self {
            text: next() as u64,
            instructions: next() as u64,
            analysis: next(),
            user: next(),
            peak: next(),
            input: next() as u64,
            output: next() as u64,
            digest: next() as u64,
        }
    }

    /// The lesser of each figure.
    pub(crate) fn least(self, other: Self) -> Self {
        assert_eq!((self.text, self.instructions, self.digest), (other.text, other.instructions, other.digest));
        Self { analysis: self.analysis.min(other.analysis), user: self.user.min(other.user), peak: self.peak.min(other.peak), ..self }
    }
}
