//! What is wrong with a file.

/// Why a profile of another tool cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForeignError {
    /// There is nothing of the kind.
    #[error("there is no profile in it")]
    Nothing,
    /// A line of a profile of TAU makes no sense.
    #[error("{file}, line {line}: {what}")]
    Line {
        /// Name of the file.
        file: String,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// It counts something else than time.
    #[error("{file} counts {metric}, not time")]
    NoTime {
        /// Name of the file.
        file: String,
        /// What it counts.
        metric: String,
    },
    /// A part of an archive is missing.
    #[error("it has no {0}")]
    Missing(String),
    /// A part of an archive makes no sense.
    #[error("{part}: {what}")]
    Part {
        /// Its name.
        part: String,
        /// What is wrong.
        what: String,
    },
}

impl ForeignError {
    pub(crate) fn part(part: &str, what: impl Into<String>) -> Self {
        Self::Part { part: part.to_string(), what: what.into() }
    }
}
