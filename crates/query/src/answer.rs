//! The answer to a question for sums.

use std::cell::OnceCell;
use std::collections::HashMap;

use tare_compensate::{Compensated, CompensatedLocation, Figure};
use tare_profile::{Location, Process, Profile, RegionIndex, RegionKind, State};

use crate::Puzzle;
use crate::count::{Column, correction, of_peer};
use crate::nothing::{Jump, Nothing, jumps};
use crate::question::{Axis, Kind, Measure, Reduction, Sums};
use crate::subject::Scope;

/// An answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// What was asked for, in order.
    pub measures: Vec<Measure>,
    /// How times of several ranks are to be read.
    pub reduction: Reduction,
    /// What has a row.
    pub axis: Axis,
    /// Ranks, or processes where there are none, that were counted.
    pub ranks: usize,
    /// Processes that still ran when they were read.
    pub running: usize,
    /// Whether it is about the whole program.
    pub is_of_whole: bool,
    /// What it is about, as the question said it.
    pub about: String,
    /// Those with the greatest figure first; ranks, threads and nodes in their order where none are left out by being asked for the top.
    pub rows: Vec<Row>,
    /// Of all rows, where they can be added: those that were left out are in it.
    pub sum: Option<Row>,
    /// Rows that were left out.
    pub left_out: usize,
    /// Calls that became jumps, and so are not where they were asked for.
    pub jumps: Vec<Jump>,
}

/// What a row is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Who {
    /// Everything that was asked about.
    All,
    /// A region; a call site stands for what is called there.
    Region(RegionIndex),
    /// The root: there is no caller.
    NoCaller,
    /// A rank on the other side of messages.
    Peer(u32),
    /// A process: its index in the profile.
    Process(usize),
    /// A location: its index in the profile.
    Location(usize),
    /// A node of the machine.
    Host(String),
}

/// A row of an answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// About what.
    pub who: Who,
    /// The regions it was asked of, if they are one.
    pub region: Option<RegionIndex>,
    /// In the order of the measures; `None` where nothing says it, and in the sum of rows where one may be part of another.
    pub values: Vec<Option<Value>>,
}

/// A figure of an answer, summed over the ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    /// The sum.
    pub sum: Figure,
    /// The greatest of a process, with the index of that in the profile; of a sum of rows it is not known.
    pub most: Option<(usize, Figure)>,
    /// Whether all of it was counted.
    pub is_exact: bool,
}

impl Value {
    /// The figure in the reading of an answer.
    #[must_use]
    pub fn reduced(&self, reduction: Reduction, ranks: usize) -> Figure {
        match reduction {
            Reduction::Total => self.sum,
            Reduction::Mean => self.sum.divided(ranks.max(1) as f64),
            Reduction::Longest => self.most.map_or(Figure::exact(0.0), |(_, most)| most),
        }
    }
}

/// Answers a question for sums.
///
/// # Errors
/// Where nothing has the name, or stands at the place, that was asked about, and where nothing was measured there.
pub fn answer(profile: &Profile, compensated: &Compensated, question: &Sums) -> Result<Answer, Puzzle> {
    let scope = Scope::of(profile, question)?;
    let any_rank = profile.has_ranks();
    let counts = |process: &Process| match (&question.ranks, process.rank) {
        (None, rank) => rank.is_some() || !any_rank || question.axis != Axis::Nothing,
        (Some(ranges), Some(rank)) => ranges.iter().any(|&(from, to)| (from..=to).contains(&rank)),
        (Some(_), None) => false,
    };
    let mut table = Table { question, rows: Vec::new(), places: HashMap::new(), of_regions: Vec::new() };
    for (index, (location, figures)) in profile.locations.iter().zip(&compensated.locations).enumerate() {
        if counts(profile.process_of(location)) {
            table.add(profile, index, location, figures, compensated, &scope);
        }
    }
    if table.rows.is_empty() {
        return Err(Puzzle::Nothing(Nothing::of(profile, question)));
    }
    let counted: Vec<&Process> = profile.processes.iter().filter(|process| counts(process)).collect();
    let ranks = counted.iter().filter(|process| process.rank.is_some() || !any_rank).count();
    let running = counted.iter().filter(|process| process.state == State::Running).count();
    Ok(Answer { jumps: jumps(profile, question), ..table.finish(ranks, running) })
}

/// Rows while they are summed.
struct Table<'a> {
    question: &'a Sums,
    /// In the order in which they were met.
    rows: Vec<(Who, Sum)>,
    places: HashMap<Who, usize>,
    /// The places of rows that are about regions, by number: there are as many look-ups as call paths.
    of_regions: Vec<Option<usize>>,
}

/// A row while it is summed.
struct Sum {
    region: Option<RegionIndex>,
    is_one_region: bool,
    values: Vec<Running>,
}

/// A value while it is summed: processes come one after the other.
#[derive(Clone)]
struct Running {
    sum: Figure,
    process: usize,
    of_process: Figure,
    most: Option<(usize, Figure)>,
    is_exact: bool,
    is_known: bool,
}

impl Table<'_> {
    fn add(&mut self, profile: &Profile, index: usize, location: &Location, figures: &CompensatedLocation, all: &Compensated, scope: &Scope) {
        let question = self.question;
        if question.is_of_whole() {
            if self.has_whole(location) {
                self.add_whole(profile, index, location, figures, all);
            }
            return;
        }
        let hits = scope.nodes(profile, location);
        if question.axis == Axis::Peer {
            return self.add_peers(profile, location, &hits, all);
        }
        let columns: Vec<Column<'_>> = question.measures.iter().map(|measure| Column::of(*measure, profile, location, figures, all.mode)).collect();
        let places = self.places(profile, index, location, &hits);
        let process = profile.process_of(location);
        for node in (0..hits.len()).filter(|&node| hits[node]) {
            let Some(place) = places[node] else { continue };
            let is_within = OnceCell::new();
            let region = location.nodes[node].region;
            let is_exact = !location.nodes[node].overflow && process.counts_all_of(region);
            let sum = self.row(place, Some(region));
            for (value, column) in sum.values.iter_mut().zip(&columns) {
                value.is_exact &= is_exact;
                if let Some(figure) =
                    column.figure(node).filter(|_| !(column.is_inclusive && *is_within.get_or_init(|| nested(location, &places, node))))
                {
                    value.add(location.process.0, &figure);
                }
            }
        }
    }

    /// Whether a location has a part in what is asked of the program: its time is that of the main thread.
    fn has_whole(&self, location: &Location) -> bool {
        location.thread == 0 || self.question.axis == Axis::Thread || !self.question.measures.iter().any(|measure| measure.is_time_of_whole())
    }

    /// All of a location: its times are those of the run, not of its root.
    fn add_whole(&mut self, profile: &Profile, index: usize, location: &Location, figures: &CompensatedLocation, all: &Compensated) {
        let who = match self.question.axis {
            Axis::Rank => Who::Process(location.process.0),
            Axis::Thread => Who::Location(index),
            Axis::Host => Who::Host(profile.process_of(location).host.clone()),
            Axis::Region => Who::Region(location.nodes[0].region),
            Axis::Nothing | Axis::Caller | Axis::Peer => Who::All,
        };
        let of = |measure: Measure| match measure {
            Measure::Time => Some(figures.total),
            Measure::Measured => Some(Figure::exact(figures.measured_s)),
            Measure::Correction => Some(correction(figures.measured_s, &figures.total)),
            measure => Column::of(measure, profile, location, figures, all.mode).figure(0),
        };
        let values: Vec<Option<Figure>> = self.question.measures.iter().map(|measure| of(*measure)).collect();
        let place = self.place(who, None);
        let sum = self.row(place, None);
        for (value, figure) in sum.values.iter_mut().zip(&values) {
            figure.iter().for_each(|figure| value.add(location.process.0, figure));
        }
    }

    fn add_peers(&mut self, profile: &Profile, location: &Location, hits: &[bool], all: &Compensated) {
        let clock = profile.process_of(location).clock;
        // What is below a hit belongs to it; a parent stands before its children.
        let mut inside = hits.to_vec();
        for index in 0..inside.len() {
            inside[index] |= location.nodes[index].parent.is_some_and(|parent| inside[parent]);
        }
        for node in (0..inside.len()).filter(|&node| inside[node]) {
            for peer in &location.nodes[node].exchanged().peers {
                let measures = self.question.measures.clone();
                let region = Some(location.nodes[node].region);
                let place = self.place(Who::Peer(peer.rank), region);
                let sum = self.row(place, region);
                for (value, measure) in sum.values.iter_mut().zip(measures) {
                    if let Some(number) = of_peer(measure, peer, |ticks| clock.seconds(ticks as f64), all.mode) {
                        value.add(location.process.0, &Figure::exact(number));
                    }
                }
            }
        }
    }

    /// Where the rows of a location's nodes stand, of those that were hit.
    fn places(&mut self, profile: &Profile, index: usize, location: &Location, hits: &[bool]) -> Vec<Option<usize>> {
        let all = match self.question.axis {
            Axis::Region | Axis::Caller => None,
            Axis::Nothing | Axis::Peer => Some(Who::All),
            Axis::Rank => Some(Who::Process(location.process.0)),
            Axis::Thread => Some(Who::Location(index)),
            Axis::Host => Some(Who::Host(profile.process_of(location).host.clone())),
        };
        if let Some(who) = all {
            let Some(first) = hits.iter().position(|&hit| hit) else { return vec![None; hits.len()] };
            let place = self.place(who, Some(location.nodes[first].region));
            return hits.iter().map(|hit| hit.then_some(place)).collect();
        }
        let mut of_node = |node: usize| {
            let named = match self.question.axis {
                Axis::Caller => caller(profile, location, node),
                _ => Some(self.named_after(profile, location, node)),
            };
            self.place_of_region(named, location.nodes[node].region)
        };
        (0..hits.len()).map(|node| hits[node].then(|| of_node(node))).collect()
    }

    /// The place of the row that is about a region, or has no caller; it is made of this node's region where there is none.
    fn place_of_region(&mut self, named: Option<RegionIndex>, region: RegionIndex) -> usize {
        let number = named.map_or(0, |named| named.0 + 1);
        if let Some(&Some(place)) = self.of_regions.get(number) {
            return place;
        }
        let place = self.place(named.map_or(Who::NoCaller, Who::Region), Some(region));
        self.of_regions.resize(self.of_regions.len().max(number + 1), None);
        self.of_regions[number] = Some(place);
        place
    }

    /// The region that a row is named after: of calls and communication the statement, where it is known.
    fn named_after(&self, profile: &Profile, location: &Location, node: usize) -> RegionIndex {
        match self.question.subject.kind {
            Kind::Calls | Kind::Communication | Kind::Events => statement(profile, location, node),
            Kind::Program | Kind::Functions | Kind::Loops | Kind::Regions => location.nodes[node].region,
        }
    }

    /// The place of a row; where there is none yet, it begins with this region.
    fn place(&mut self, who: Who, region: Option<RegionIndex>) -> usize {
        *self.places.entry(who).or_insert_with_key(|who| {
            let values = vec![Running::nothing(); self.question.measures.len()];
            self.rows.push((who.clone(), Sum { region, is_one_region: true, values }));
            self.rows.len() - 1
        })
    }

    /// The row at a place, to which something of a region is added.
    fn row(&mut self, place: usize, region: Option<RegionIndex>) -> &mut Sum {
        let (_, sum) = &mut self.rows[place];
        sum.is_one_region &= sum.region == region;
        sum
    }

    fn finish(self, ranks: usize, running: usize) -> Answer {
        let Sums { measures, axis, top, .. } = self.question;
        // A rank, a thread, a node or a partner has its own time, and no mean of it.
        let is_over_ranks = matches!(axis, Axis::Nothing | Axis::Region | Axis::Caller);
        let reduction = if is_over_ranks { self.question.reduction } else { Reduction::Total };
        let mut rows: Vec<Row> = self.rows.into_iter().map(|(who, sum)| sum.finish(who)).collect();
        let is_by_place = top.is_none() && matches!(axis, Axis::Rank | Axis::Thread | Axis::Host);
        let reduced = |row: &Row| row.values.first().and_then(Option::as_ref).map_or(0.0, |value| value.reduced(reduction, ranks).value);
        rows.sort_by(|one, other| {
            let by_figure = if is_by_place { std::cmp::Ordering::Equal } else { reduced(other).total_cmp(&reduced(one)) };
            by_figure.then_with(|| one.who.cmp(&other.who))
        });
        let are_added = |measure: &Measure| !measure.is_inclusive() || self.question.are_rows_apart();
        let has_sum = rows.len() > 1 && reduction != Reduction::Longest && measures.iter().any(are_added);
        let sum = has_sum.then(|| total(&rows, &measures.iter().map(are_added).collect::<Vec<_>>()));
        let left_out = top.map_or(0, |top| rows.len().saturating_sub(top));
        rows.truncate(rows.len() - left_out);
        let (is_of_whole, about) = (self.question.is_of_whole(), self.question.about());
        Answer { measures: measures.clone(), reduction, axis: *axis, ranks, running, is_of_whole, about, rows, sum, left_out, jumps: Vec::new() }
    }
}

impl Running {
    fn nothing() -> Self {
        let nothing = Figure::exact(0.0);
        Self { sum: nothing, process: usize::MAX, of_process: nothing, most: None, is_exact: true, is_known: false }
    }

    fn add(&mut self, process: usize, figure: &Figure) {
        if self.process != process {
            self.settle();
            (self.process, self.of_process) = (process, Figure::exact(0.0));
        }
        self.is_known = true;
        self.sum = self.sum.added(figure);
        self.of_process = self.of_process.added(figure);
    }

    /// A process has been summed.
    fn settle(&mut self) {
        if self.process != usize::MAX && self.most.is_none_or(|(_, most)| self.of_process.value > most.value) {
            self.most = Some((self.process, self.of_process));
        }
    }
}

impl Sum {
    fn finish(self, who: Who) -> Row {
        let value = |mut running: Running| {
            running.settle();
            running.is_known.then_some(Value { sum: running.sum, most: running.most, is_exact: running.is_exact })
        };
        Row { who, region: self.region.filter(|_| self.is_one_region), values: self.values.into_iter().map(value).collect() }
    }
}

/// The sums of the measures that can be added.
fn total(rows: &[Row], are_added: &[bool]) -> Row {
    let of = |measure: usize| {
        let values = || rows.iter().filter_map(|row| row.values[measure].as_ref());
        let sum = values().fold(Figure::exact(0.0), |sum, value| sum.added(&value.sum));
        let is_known = are_added[measure] && values().next().is_some();
        is_known.then(|| Value { sum, most: None, is_exact: values().all(|value| value.is_exact) })
    };
    Row { who: Who::All, region: None, values: (0..are_added.len()).map(of).collect() }
}

/// Whether a node above is a hit of the same row.
fn nested(location: &Location, places: &[Option<usize>], node: usize) -> bool {
    let above = std::iter::successors(location.nodes[node].parent, |&index| location.nodes[index].parent);
    above.into_iter().any(|index| places[index] == places[node])
}

/// The statement at which an operation is called, where that is known.
fn statement(profile: &Profile, location: &Location, node: usize) -> RegionIndex {
    let region = |index: usize| profile.region_of(&location.nodes[index]);
    let site = location.nodes[node].parent.filter(|&parent| region(parent).kind == RegionKind::CallSite);
    match site {
        Some(site) if region(node).kind == RegionKind::Mpi => location.nodes[site].region,
        _ => location.nodes[node].region,
    }
}

/// The nearest region above that can call: loops and statements are parts of it.
fn caller(profile: &Profile, location: &Location, node: usize) -> Option<RegionIndex> {
    let above = std::iter::successors(location.nodes[node].parent, |&index| location.nodes[index].parent);
    let region = |index: usize| location.nodes[index].region;
    let calls = |index: &usize| {
        !matches!(
            profile.region_of(&location.nodes[*index]).kind,
            RegionKind::Loop | RegionKind::Iteration | RegionKind::CallSite | RegionKind::Program
        )
    };
    { above }.find(calls).map(region)
}
