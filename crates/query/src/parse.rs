//! Words to a question.

use regex::Regex;

use crate::Puzzle;
use crate::question::{Axis, Depth, Kind, Measure, Named, Question, Reduction, Subject, Sums, Within};
use crate::words::{CALLS, Word, words};

const SUBJECT: &str = "a name, FILE:LINE, or one of program, functions, loops, calls, communication, events, regions";
const MEASURE: &str = "one of time, self, count, waiting, transmission, messages, bytes, measured, correction, where";
const AXIS: &str = "one of region, caller, peer, rank, thread, host";
const CLAUSE: &str = "one of in, under, by, on ranks, top";
const RANKS: &str = "a list of ranks such as 0-3,7";
const NUMBER: &str = "a number of rows";

/// Words that begin a part of a question, so that none of them is a name.
const CLAUSES: [&str; 7] = ["of", "at", "in", "under", "by", "on", "top"];

impl Question {
    /// Reads a question.
    ///
    /// # Errors
    /// Where it is none; the error says which word was not understood and what could stand there.
    pub fn parse(question: &str) -> Result<Self, Puzzle> {
        let words = words(question)?;
        Parser { words: &words }.question()
    }
}

struct Parser<'a> {
    words: &'a [Word],
}

impl Parser<'_> {
    fn question(mut self) -> Result<Question, Puzzle> {
        if self.words.is_empty() {
            return Err(Puzzle::End { wanted: MEASURE });
        }
        if self.takes("where") {
            let ranks = if self.takes("on") { Some(self.ranks()?) } else { None };
            return if self.words.is_empty() { Ok(Question::Where(ranks)) } else { Err(self.puzzle("on ranks")) };
        }
        self.sums().map(Question::Sums)
    }

    fn sums(&mut self) -> Result<Sums, Puzzle> {
        let reduction = self.reduction();
        let measures = self.measures()?;
        if measures.is_empty() && self.begins_clause() {
            return Err(self.puzzle(MEASURE));
        }
        let has_of = self.takes("of");
        let subject = if has_of || (!self.words.is_empty() && !self.begins_clause_of_rest()) { Some(self.subject()?) } else { None };
        let (mut within, mut axis, mut ranks, mut top) = (None, None, None, None);
        while !self.words.is_empty() {
            match () {
                () if self.takes("in") => within = Some(Within { depth: Depth::Direct, subject: self.subject()? }),
                () if self.takes("under") => within = Some(Within { depth: Depth::Below, subject: self.subject()? }),
                () if self.takes("by") => axis = Some(self.axis()?),
                () if self.takes("on") => ranks = Some(self.ranks()?),
                () if self.takes("top") => top = Some(self.number()?),
                () => return Err(self.puzzle(CLAUSE)),
            }
        }
        let subject = match subject {
            Some(subject) => subject,
            None => missing_subject(&measures, axis, &mut within)?,
        };
        let axis = axis.unwrap_or_else(|| default_axis(&subject, &measures, within.is_some()));
        let measures = if measures.is_empty() { default_measures(&subject, axis) } else { measures };
        if let Some(measure) = measures.iter().find(|measure| axis == Axis::Peer && !measure.is_of_peers()) {
            return Err(Puzzle::NotAlong { measure: measure.name(), axis: axis.name() });
        }
        let is_all = matches!(subject, Subject { kind: Kind::Program, .. }) && axis == Axis::Nothing;
        let reduction = reduction.unwrap_or(if is_all { Reduction::Longest } else { Reduction::Mean });
        Ok(Sums { measures, reduction, subject, within, axis, ranks, top })
    }

    fn reduction(&mut self) -> Option<Reduction> {
        let all = [Reduction::Mean, Reduction::Total, Reduction::Longest];
        all.into_iter().find(|reduction| self.takes(reduction.name()))
    }

    /// As many measures as there are. `calls` is a measure where it is of something.
    fn measures(&mut self) -> Result<Vec<Measure>, Puzzle> {
        let mut measures = Vec::new();
        loop {
            let measure = match self.plain() {
                Some(CALLS) if self.goes_on_as_measure() => Measure::Count,
                Some(word) => match Measure::of_word(word) {
                    Some(measure) => measure,
                    None => return Ok(measures),
                },
                None => return Ok(measures),
            };
            self.skip();
            measures.push(measure);
            if (self.takes_comma() || self.takes("and")) && self.words.is_empty() {
                return Err(self.puzzle(MEASURE));
            }
        }
    }

    fn goes_on_as_measure(&self) -> bool {
        match self.words.get(1) {
            Some(Word::Comma) => true,
            Some(Word::Plain(word)) => word == "of" || word == "and",
            _ => false,
        }
    }

    fn subject(&mut self) -> Result<Subject, Puzzle> {
        let kind = self.kind();
        let has_place = self.takes("at") || (!self.words.is_empty() && !self.begins_clause());
        match (kind, has_place) {
            (Some(kind), false) => Ok(Subject { kind, named: None }),
            (kind, _) => Ok(Subject { kind: kind.unwrap_or(Kind::Regions), named: Some(self.named()?) }),
        }
    }

    fn kind(&mut self) -> Option<Kind> {
        let kind = match self.plain()? {
            "program" => Kind::Program,
            "function" | "functions" | "procedure" | "procedures" => Kind::Functions,
            "loop" | "loops" => Kind::Loops,
            "call" | "calls" => Kind::Calls,
            "communication" => Kind::Communication,
            "event" | "events" => Kind::Events,
            "region" | "regions" => Kind::Regions,
            _ => return None,
        };
        self.skip();
        Some(kind)
    }

    fn named(&mut self) -> Result<Named, Puzzle> {
        let named = match self.words.first() {
            Some(Word::Quoted(name)) => Named::Name(name.clone()),
            Some(Word::Expression(text)) => Named::Pattern(Regex::new(text).map_err(|_| Puzzle::Expression(text.clone()))?),
            Some(Word::Plain(word)) if !CLAUSES.contains(&word.as_str()) => match word.rsplit_once(':') {
                Some((file, line)) if !file.ends_with(':') && !file.is_empty() => match line.parse() {
                    Ok(line) => Named::At(file.to_string(), line),
                    Err(_) => Named::Name(word.clone()),
                },
                _ => Named::Name(word.clone()),
            },
            _ => return Err(self.puzzle(SUBJECT)),
        };
        self.skip();
        Ok(named)
    }

    fn axis(&mut self) -> Result<Axis, Puzzle> {
        let axis = self.plain().and_then(Axis::of_word).ok_or_else(|| self.puzzle(AXIS))?;
        self.skip();
        Ok(axis)
    }

    fn number(&mut self) -> Result<usize, Puzzle> {
        let number = self.plain().and_then(|word| word.parse().ok()).ok_or_else(|| self.puzzle(NUMBER))?;
        self.skip();
        Ok(number)
    }

    /// `ranks 0-3,7`, `rank 2`.
    fn ranks(&mut self) -> Result<Vec<(u32, u32)>, Puzzle> {
        let _ = self.takes("ranks") || self.takes("rank");
        let mut ranges = Vec::new();
        while let Some(word) = self.plain().filter(|word| word.starts_with(|first: char| first.is_ascii_digit())) {
            let range = |text: &str| {
                let (from, to) = text.split_once(['-', '–']).unwrap_or((text, text));
                Some((from.parse().ok()?, to.parse().ok()?))
            };
            let more: Option<Vec<(u32, u32)>> = word.split(',').filter(|part| !part.is_empty()).map(range).collect();
            ranges.extend(more.ok_or_else(|| self.puzzle(RANKS))?);
            self.skip();
            self.takes_comma();
        }
        if ranges.is_empty() { Err(self.puzzle(RANKS)) } else { Ok(ranges) }
    }

    fn plain(&self) -> Option<&str> {
        match self.words.first() {
            Some(Word::Plain(word)) => Some(word),
            _ => None,
        }
    }

    fn skip(&mut self) {
        self.words = self.words.get(1..).unwrap_or_default();
    }

    fn takes(&mut self, wanted: &str) -> bool {
        let is_here = self.plain() == Some(wanted);
        if is_here {
            self.skip();
        }
        is_here
    }

    fn takes_comma(&mut self) -> bool {
        let is_here = self.words.first() == Some(&Word::Comma);
        if is_here {
            self.skip();
        }
        is_here
    }

    fn begins_clause(&self) -> bool {
        self.plain().is_some_and(|word| CLAUSES.contains(&word))
    }

    /// A clause that is no subject.
    fn begins_clause_of_rest(&self) -> bool {
        self.begins_clause() && self.plain() != Some("at")
    }

    fn puzzle(&self, wanted: &'static str) -> Puzzle {
        match self.words.first() {
            Some(word) => Puzzle::Word { word: word.shown(), wanted },
            None => Puzzle::End { wanted },
        }
    }
}

/// What is asked about where that is not said before `in` or `under`: `time in P3` is the time of `P3`, and `waiting in P3` that of communication there;
/// who asks for both asks about `P3`.
fn missing_subject(measures: &[Measure], axis: Option<Axis>, within: &mut Option<Within>) -> Result<Subject, Puzzle> {
    let others = measures.iter().any(|measure| !measure.is_of_peers());
    let of_messages = measures.iter().any(|measure| measure.is_of_peers()) && !(others && within.is_some());
    let subject = default_subject(of_messages, axis);
    match within.take_if(|_| subject.kind == Kind::Program) {
        None => Ok(subject),
        Some(Within { depth: Depth::Direct, subject }) => Ok(subject),
        Some(Within { depth: Depth::Below, subject }) => match measures.iter().find(|measure| !measure.is_inclusive()) {
            None => Ok(subject),
            Some(measure) => Err(Puzzle::OneOrAll { measure: measure.name() }),
        },
    }
}

/// What is asked about where nothing is said.
fn default_subject(of_messages: bool, axis: Option<Axis>) -> Subject {
    let is_by_region = matches!(axis, Some(Axis::Region | Axis::Caller));
    let kind = match (of_messages || axis == Some(Axis::Peer), is_by_region) {
        (true, _) => Kind::Communication,
        (_, true) => Kind::Regions,
        _ => Kind::Program,
    };
    Subject { kind, named: None }
}

/// Several things asked for at once have a row each; measures of the whole of them one together.
fn default_axis(subject: &Subject, measures: &[Measure], is_within: bool) -> Axis {
    let are_several = matches!(subject.named, None | Some(Named::Pattern(_))) && subject.kind != Kind::Program;
    let is_whole = subject.kind == Kind::Communication && !measures.is_empty() && !is_within;
    if are_several && !is_whole { Axis::Region } else { Axis::Nothing }
}

fn default_measures(subject: &Subject, axis: Axis) -> Vec<Measure> {
    match (subject.kind, axis) {
        (_, Axis::Peer) => vec![Measure::Waiting, Measure::Transmission, Measure::Messages, Measure::Bytes],
        (Kind::Communication, _) => vec![Measure::Time, Measure::Waiting, Measure::Transmission, Measure::Count],
        (Kind::Program, _) => vec![Measure::Time],
        (Kind::Regions, Axis::Region) if subject.named.is_none() => vec![Measure::Own, Measure::Time, Measure::Count],
        _ => vec![Measure::Time, Measure::Count],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_profile::Extent;

    fn sums(question: &str) -> Sums {
        match Question::parse(question) {
            Ok(Question::Sums(sums)) => sums,
            other => panic!("{question}: {other:?}"),
        }
    }

    #[test]
    fn what_follows_no_path_is_answered_by_the_sums_of_regions() {
        let extent = |question: &str| Question::parse(question).expect("a question").extent();
        for question in [
            "count by region",
            "count of P3",
            "count by region top 10",
            "waiting",
            "waiting by rank",
            "total transmission",
            "messages and bytes by rank",
        ] {
            assert_eq!(extent(question), Extent::Regions, "{question}");
        }
        for question in
            ["time", "self by region", "time and count of P3", "waiting by region", "waiting of MPI_Recv", "count of calls in P3", "count by caller"]
        {
            assert_eq!(extent(question), Extent::All, "{question}");
        }
        assert_eq!(extent("communication at app.c:12 by peer"), Extent::All);
        assert_eq!(extent("where"), Extent::Open);
    }

    #[test]
    fn the_questions_of_the_paper_are_understood() {
        let asked = |question: &str| {
            let Sums { measures, subject, axis, reduction, .. } = sums(question);
            (measures, subject.kind, axis, reduction)
        };
        assert_eq!(asked("time"), (vec![Measure::Time], Kind::Program, Axis::Nothing, Reduction::Longest));
        assert_eq!(asked("total transmission"), (vec![Measure::Transmission], Kind::Communication, Axis::Nothing, Reduction::Total));
        assert_eq!(asked("total waiting of program").1, Kind::Program);
        assert_eq!(asked("time of calls in main"), (vec![Measure::Time], Kind::Calls, Axis::Region, Reduction::Mean));
        assert_eq!(asked("time of call at app.c:5"), (vec![Measure::Time], Kind::Calls, Axis::Nothing, Reduction::Mean));
        assert_eq!(asked("time and count of P3"), (vec![Measure::Time, Measure::Count], Kind::Regions, Axis::Nothing, Reduction::Mean));
        assert_eq!(asked("calls of P3").0, [Measure::Count]);
        assert_eq!(asked("communication at app.c:12 by peer").0[0], Measure::Waiting);
        assert_eq!(asked("events in loop at app.c:11"), (vec![Measure::Time, Measure::Count], Kind::Events, Axis::Region, Reduction::Mean));
        assert!(matches!(sums("loop at app.c:11").subject.named, Some(Named::At(file, 11)) if file == "app.c"));
        assert!(
            matches!(sums("time of 'a::b(int)' on ranks 0-3, 7 top 4"), Sums { top: Some(4), ranks: Some(ranks), .. } if ranks == [(0, 3), (7, 7)])
        );
        assert_eq!(asked("self,count by region"), asked("self, count by region"));
        assert_eq!(asked("time,calls of P3"), asked("time and calls of P3"));
        // What the page copies.
        for measures in ["self, time and count", "correction and count", "messages, bytes, transmission and waiting"] {
            assert_eq!(sums(&format!("{measures} of \"MPI_Recv\" on ranks 0-3,7")).axis, Axis::Nothing, "{measures}");
        }
        assert_eq!(sums("messages, bytes, transmission and waiting of \"f(int)\" by peer on ranks 1").axis, Axis::Peer);
        for measure in ["self", "correction"] {
            assert_eq!(sums(&format!("{measure} by region top 10")).axis, Axis::Region);
            assert_eq!(sums(&format!("{measure} of \"f(int)\" by rank")).axis, Axis::Rank);
        }
        assert!(matches!(Question::parse("where on rank 3"), Ok(Question::Where(Some(ranks))) if ranks == [(3, 3)]));
        assert!(matches!(sums("time of std::sort").subject.named, Some(Named::Name(name)) if name == "std::sort"));
    }

    #[test]
    fn a_measure_in_something_is_that_of_it() {
        for question in [
            "time in P3",
            "self in P3",
            "count in P3",
            "time under P3",
            "time in P3 by rank",
            "time in a.c:3",
            "self, waiting in P3",
            "transmission and time under P3",
        ] {
            let Sums { subject, within, .. } = sums(question);
            assert!(subject.named.is_some() && subject.kind == Kind::Regions && within.is_none(), "{question}");
        }
        for question in ["waiting in P3", "self by region in P3", "self by region under P3", "time of calls in P3"] {
            assert!(sums(question).within.is_some(), "{question}");
        }
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let wrong = |question: &str| Question::parse(question).expect_err(question).to_string();
        assert!(wrong("time of P3 at a.c:3").starts_with("`at` is not understood here: one of in, under"), "{}", wrong("time of P3 at a.c:3"));
        assert!(wrong("time by colour").contains("`colour`"));
        assert!(wrong("").starts_with("the question ends where"));
        assert!(wrong("time of").starts_with("the question ends where a name"));
        assert!(wrong("time and").starts_with("the question ends where") && wrong("time,").starts_with("the question ends where"));
        assert!(wrong("by rank").contains("`by`"));
        assert!(wrong("time by peer").contains("`time` is not known by peer"));
        assert!(wrong("time of /(/").contains("no regular expression"));
        assert!(wrong("where now").contains("`now`"));
        assert!(wrong("self under P3").contains("`self of NAME`"));
        assert!(wrong("time and count under P3").contains("`count of regions under NAME`"));
        assert!(wrong("time on ranks x").contains("0-3,7"));
    }
}
