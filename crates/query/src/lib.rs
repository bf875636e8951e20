//! Questions to a run, and their answers: from "how long did all of it take" down to one statement and one partner.
//!
//! The phases, each a file: `words` takes a question apart, `parse` makes a [`Question`] of the words, [`answer()`] finds what it
//! asks about in the region graphs and sums it; [`places()`] says where each thread stands.
//!
//! ```text
//! question  = [measures] [subject] {"in" | "under" subject} {"by" axis} {"on ranks" list} {"top" number} | "where" ["on ranks" list]
//! measures  = ["total" | "mean" | "longest"] measure {("," | "and") measure} ["of"]
//! measure   = time | self | count | waiting | transmission | messages | bytes | measured | correction
//! subject   = kind | [kind] ["at"] place
//! kind      = program | functions | loops | calls | communication | events | regions
//! place     = NAME | "NAME" | /REGEX/ | FILE:LINE
//! axis      = region | caller | peer | rank | thread | host
//! ```
//!
//! What always holds: a call within a call of the same subject counts its time once; sums are those of unrounded values.
//!
//! What is absent: no file, no clock, no text for people but what is wrong with a question.

mod answer;
mod count;
mod nothing;
mod parse;
mod places;
mod question;
mod statements;
mod subject;
mod words;

pub use answer::{Answer, Row, Value, Who, answer};
pub use nothing::{Jump, Nothing};
pub use places::{Place, State, places};
pub use question::{Axis, Depth, Kind, Measure, Named, Question, Reading, Reduction, Subject, Sums, Within};

/// What is wrong with a question.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Puzzle {
    /// A word that cannot stand where it stands.
    #[error("`{word}` is not understood here: {wanted} is expected")]
    Word {
        /// The word; empty at the end.
        word: String,
        /// What could stand there.
        wanted: &'static str,
    },
    /// The question ends too early.
    #[error("the question ends where {wanted} is expected")]
    End {
        /// What could stand there.
        wanted: &'static str,
    },
    /// A quotation mark or a slash that nothing closes.
    #[error("`{0}` is opened and never closed")]
    Open(char),
    /// No regular expression.
    #[error("/{0}/ is no regular expression")]
    Expression(String),
    /// Nothing has this name or stands at this place.
    #[error("nothing that was measured is {what}")]
    Unknown {
        /// What was asked about.
        what: String,
        /// Names that have it in them, at most five.
        near: Vec<String>,
    },
    /// It is known what is meant, and nothing of it was measured.
    #[error("{0}")]
    Nothing(Nothing),
    /// A rank that the run does not have.
    #[error("there is no rank {0}")]
    Rank(u32),
    /// A measure under something, with nothing said of what: of that alone, or of all it calls?
    #[error("say of what: `{measure} of NAME` is that of NAME alone, `{measure} of regions under NAME` that of all that it calls")]
    OneOrAll {
        /// What was asked for.
        measure: &'static str,
    },
    /// A measure that is not known along an axis.
    #[error("`{measure}` is not known by {axis}")]
    NotAlong {
        /// What was asked for.
        measure: &'static str,
        /// By what.
        axis: &'static str,
    },
}
