//! A measurement as a process of its own.

use std::fmt;
use std::process::Command;
use std::str::FromStr;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// Decoding alone.
    Decode,
    /// Everything, with so many threads.
    Analyse(usize),
}

impl fmt::Display for Task {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode => write!(to, "0"),
            Self::Analyse(threads) => write!(to, "{threads}"),
        }
    }
}

impl FromStr for Task {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.parse()? {
            0 => Self::Decode,
            threads => Self::Analyse(threads),
        })
    }
}

/// What a process found.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// Bytes of text.
    pub(crate) text: u64,
    pub(crate) instructions: u64,
    /// Seconds.
    pub(crate) user: f64,
    /// Seconds.
    pub(crate) wall: f64,
    /// Most bytes that were in use.
    pub(crate) peak: f64,
    /// Of all results.
    pub(crate) digest: u64,
}

impl Measured {
    /// Runs this program again for one task.
    pub(crate) fn of(task: &Task, path: &str) -> Self {
        let program = std::env::current_exe().expect("this program");
        let output = Command::new(program).args(["--work", &task.to_string(), path]).output().expect("a process");
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("numbers");
        let mut numbers = text.split_whitespace().map(|number| number.parse::<f64>().expect("a number"));
        let mut next = || numbers.next().expect("six numbers");
        Self { text: next() as u64, instructions: next() as u64, user: next(), wall: next(), peak: next(), digest: next() as u64 }
    }

    /// The lesser of each figure.
    pub(crate) fn least(self, other: Self) -> Self {
        assert_eq!((self.text, self.instructions, self.digest), (other.text, other.instructions, other.digest));
        Self { user: self.user.min(other.user), wall: self.wall.min(other.wall), peak: self.peak.min(other.peak), ..self }
    }
}
