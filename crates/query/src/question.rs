//! What a question can ask.

use regex::Regex;
use tare_compensate::Wanted;
use tare_profile::{Extent, Profile};

/// A question.
#[derive(Clone, Debug)]
pub enum Question {
    /// For sums.
    Sums(Sums),
    /// Where the threads of these ranks stand; of all where `None`.
    Where(Option<Vec<(u32, u32)>>),
}

impl Question {
    /// What of a run its answer is made of.
    #[must_use]
    pub fn extent(&self) -> Extent {
        match self {
            Self::Where(_) => Extent::Open,
            Self::Sums(sums) if sums.follows_no_path() => Extent::Regions,
            Self::Sums(_) => Extent::All,
        }
    }

    /// What is to be read where sums of regions alone have no answer: call paths know what a name may have stood for, and nothing of what
    /// has none.
    #[must_use]
    pub fn extent_of_reasons(&self) -> Extent {
        match self {
            Self::Sums(sums) if sums.subject.named.is_some() => Extent::All,
            _ => self.extent(),
        }
    }

    /// The first rank that is named and that the run does not have; one that has not begun yet is there.
    #[must_use]
    pub fn missing_rank(&self, profile: &Profile) -> Option<u32> {
        let ranges = match self {
            Self::Sums(sums) => &sums.ranks,
            Self::Where(ranks) => ranks,
        };
        let has = |rank: u32| rank < profile.world_size() || profile.processes.iter().any(|process| process.rank == Some(rank));
        ranges.iter().flatten().find_map(|&(from, to)| [from, to].into_iter().find(|&rank| !has(rank)))
    }
}

/// A question for sums.
#[derive(Clone, Debug)]
pub struct Sums {
    /// What is asked for, in order.
    pub measures: Vec<Measure>,
    /// How ranks become one figure.
    pub reduction: Reduction,
    /// About what.
    pub subject: Subject,
    /// Where that is to be.
    pub within: Option<Within>,
    /// What has a row of its own.
    pub axis: Axis,
    /// Ranks that count, from and to; all where `None`.
    pub ranks: Option<Vec<(u32, u32)>>,
    /// Rows that are given.
    pub top: Option<usize>,
}

impl Sums {
    /// What of a compensated profile its answer is made of.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        let wanted = |measure: &Measure| match measure {
            measure if !measure.is_compensated() => Wanted::Nothing,
            measure if self.is_of_whole() && measure.is_time_of_whole() => Wanted::Whole,
            _ => Wanted::Paths,
        };
        self.measures.iter().map(wanted).max().unwrap_or(Wanted::Nothing)
    }

    /// Whether the sums of regions answer it: calls of regions, and what all operations of MPI exchanged and waited.
    fn follows_no_path(&self) -> bool {
        let Subject { kind, named } = &self.subject;
        let is_said = |measure: &Measure| match measure {
            Measure::Count => !matches!(kind, Kind::Calls | Kind::Events) && !matches!(named, Some(Named::At(..))),
            measure => measure.is_of_peers() && matches!(kind, Kind::Program | Kind::Communication) && named.is_none(),
        };
        // Operations have rows of the statements that call them.
        let is_of_statements = *kind == Kind::Communication && self.axis == Axis::Region;
        self.within.is_none() && self.axis != Axis::Caller && !is_of_statements && self.measures.iter().all(is_said)
    }

    /// What it is about, in the words of a question.
    pub(crate) fn about(&self) -> String {
        let within = self.within.as_ref().map_or_else(String::new, |within| {
            let how = if within.depth == Depth::Direct { "in" } else { "under" };
            format!(" {how} {}", within.subject.words())
        });
        self.subject.words() + &within
    }

    /// Whether it asks about all of the program.
    pub(crate) fn is_of_whole(&self) -> bool {
        self.subject.kind == Kind::Program && self.subject.named.is_none()
    }

    /// Whether no row's inclusive time can be part of another's. That of a region may be part of its caller's; calls, loops and
    /// operations that one function makes stand beside each other, and so do ranks.
    pub(crate) fn are_rows_apart(&self) -> bool {
        match (self.axis, self.subject.kind) {
            (Axis::Caller, _) => false,
            (Axis::Nothing | Axis::Region, Kind::Regions | Kind::Functions | Kind::Loops | Kind::Events) => {
                self.within.as_ref().is_some_and(|within| within.depth == Depth::Direct)
            }
            _ => true,
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Inclusive time.
    Time,
    /// Exclusive time.
    Own,
    /// Calls.
    Count,
    /// Time waited for others.
    Waiting,
    /// Time from the begin of sending to the end of receiving, of the messages that were received.
    Transmission,
    /// Messages sent and received.
    Messages,
    /// Bytes sent and received.
    Bytes,
    /// Inclusive time as measured.
    Measured,
    /// What compensation took off the inclusive time.
    Correction,
}

/// Names of measures in questions and documents.
const MEASURES: [(Measure, &str); 9] = [
    (Measure::Time, "time"),
    (Measure::Own, "self"),
    (Measure::Count, "count"),
    (Measure::Waiting, "waiting"),
    (Measure::Transmission, "transmission"),
    (Measure::Messages, "messages"),
    (Measure::Bytes, "bytes"),
    (Measure::Measured, "measured"),
    (Measure::Correction, "correction"),
];

impl Measure {
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        MEASURES.iter().find(|(_, name)| *name == word).map(|(measure, _)| *measure)
    }

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        MEASURES.iter().find(|(measure, _)| *measure == self).map_or("", |(_, name)| name)
    }

    /// What its numbers are.
    #[must_use]
    pub fn reading(self) -> Reading {
        match self {
            Self::Count | Self::Messages => Reading::Count,
            Self::Bytes => Reading::Bytes,
            _ => Reading::Seconds,
        }
    }

    /// Whether a region has that of all below it, too.
    pub(crate) fn is_inclusive(self) -> bool {
        !matches!(self, Self::Own | Self::Count)
    }

    /// Whether it is a time that measuring changes, of which something is taken off.
    pub(crate) fn is_compensated(self) -> bool {
        matches!(self, Self::Time | Self::Own | Self::Measured | Self::Correction)
    }

    /// Whether of the whole program it is the time of the run, and not what its call paths have.
    #[must_use]
    pub fn is_time_of_whole(self) -> bool {
        matches!(self, Self::Time | Self::Measured | Self::Correction)
    }

    /// Whether messages with one partner say it.
    pub(crate) fn is_of_peers(self) -> bool {
        matches!(self, Self::Waiting | Self::Transmission | Self::Messages | Self::Bytes)
    }
}

/// What the numbers of a measure are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// Seconds, with an interval.
    Seconds,
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
}

/// How the times of several ranks become one figure. Counts are always sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reduction {
    /// Their mean.
    Mean,
    /// Their sum.
    Total,
    /// The longest.
    Longest,
}

impl Reduction {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Total => "total",
            Self::Longest => "longest",
        }
    }
}

/// A kind of event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// All of the program.
    Program,
    /// Functions, and regions that the program names itself.
    Functions,
    /// Loops.
    Loops,
    /// Procedure calls: statements where call sites are measured, otherwise by what is called.
    Calls,
    /// Operations of MPI.
    Communication,
    /// Calls, loops and communication.
    Events,
    /// Whatever is measured.
    Regions,
}

/// What a question is about.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Of this kind.
    pub kind: Kind,
    /// Of this name or place, if any is asked for.
    pub named: Option<Named>,
}

impl Subject {
    /// As a question has it.
    fn words(&self) -> String {
        let kind = match self.kind {
            Kind::Program => "program",
            Kind::Functions => "functions",
            Kind::Loops => "loops",
            Kind::Calls => "calls",
            Kind::Communication => "communication",
            Kind::Events => "events",
            Kind::Regions => "regions",
        };
        match (&self.named, self.kind) {
            (None, _) => kind.to_string(),
            (Some(Named::Name(name)), _) => name.clone(),
            (Some(Named::Pattern(pattern)), _) => format!("/{}/", pattern.as_str()),
            (Some(Named::At(file, line)), Kind::Regions) => format!("{file}:{line}"),
            (Some(Named::At(file, line)), _) => format!("{kind} at {file}:{line}"),
        }
    }
}

/// A name or a place.
#[derive(Clone, Debug)]
pub enum Named {
    /// A name: shown, raw, or shown without parameters.
    Name(String),
    /// A regular expression that the shown name has.
    Pattern(Regex),
    /// A file, by the end of its path, and a line.
    At(String, u32),
}

/// Where something is to be.
#[derive(Clone, Debug)]
pub struct Within {
    /// How far down.
    pub depth: Depth,
    /// Below what.
    pub subject: Subject,
}

/// How far below something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// Its own statements.
    Direct,
    /// Anywhere on paths from it.
    Below,
}

/// What has a row of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Axis {
    /// Everything together.
    Nothing,
    /// Each region; of calls and communication at a known statement, the statement.
    Region,
    /// What called it.
    Caller,
    /// The rank on the other side of messages.
    Peer,
    /// Each rank, or process where there are none.
    Rank,
    /// Each thread.
    Thread,
    /// Each node of the machine.
    Host,
}

/// Names of axes in questions and documents.
const AXES: [(Axis, &str); 6] =
    [(Axis::Region, "region"), (Axis::Caller, "caller"), (Axis::Peer, "peer"), (Axis::Rank, "rank"), (Axis::Thread, "thread"), (Axis::Host, "host")];

impl Axis {
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        AXES.iter().find(|(_, name)| *name == word).map(|(axis, _)| *axis)
    }

    /// The word for it; empty for [`Axis::Nothing`].
    #[must_use]
    pub fn name(self) -> &'static str {
        AXES.iter().find(|(axis, _)| *axis == self).map_or("", |(_, name)| name)
    }
}
