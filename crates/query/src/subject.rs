//! Which nodes of a region graph a question is about.

use std::collections::HashSet;

use tare_profile::{Location, Profile, Region, RegionIndex, RegionKind};

use crate::Puzzle;
use crate::nothing::jump_at;
use crate::question::{Depth, Kind, Named, Subject, Sums, Within};
use crate::statements::{calling_functions, calling_mpi, place};

/// For each region whether it is meant.
pub(crate) struct Meant {
    kind: Kind,
    /// By region. Of [`Kind::Communication`] with a place, operations of MPI and statements that call them.
    named: Vec<bool>,
    is_placed: bool,
}

impl Meant {
    /// Finds the regions of a subject.
    pub(crate) fn of(profile: &Profile, subject: &Subject) -> Result<Self, Puzzle> {
        let named: Vec<bool> = match &subject.named {
            None => vec![true; profile.regions.len()],
            Some(named) => names(profile, named, subject.kind),
        };
        if subject.named.is_some() && !named.contains(&true) {
            return Err(jump_at(profile, subject).map_or_else(|| unknown(profile, subject), Puzzle::Nothing));
        }
        Ok(Self { kind: subject.kind, named, is_placed: matches!(subject.named, Some(Named::At(..))) })
    }

    /// For each node of a location whether it is meant.
    pub(crate) fn nodes(&self, profile: &Profile, location: &Location) -> Vec<bool> {
        let region = |index: usize| profile.region_of(&location.nodes[index]);
        let kind = |index: usize| region(index).kind;
        let parent = |index: usize| location.nodes[index].parent;
        // A statement is a call of MPI where what it calls is, and not where a function that it calls ends with a jump to that.
        let mut calls_mpi = vec![false; location.nodes.len()];
        for index in (0..location.nodes.len()).filter(|&index| kind(index) == RegionKind::Mpi) {
            if let Some(parent) = parent(index).filter(|&parent| kind(parent) == RegionKind::CallSite) {
                calls_mpi[parent] = true;
            }
        }
        for index in (0..location.nodes.len()).filter(|&index| matches!(kind(index), RegionKind::Function | RegionKind::User)) {
            if let Some(parent) = parent(index) {
                calls_mpi[parent] = false;
            }
        }
        let by_statement = |index: usize| parent(index).is_some_and(|parent| kind(parent) == RegionKind::CallSite);
        let is_call = |index: usize| match kind(index) {
            RegionKind::CallSite => !calls_mpi[index],
            RegionKind::Function | RegionKind::User => !by_statement(index),
            _ => false,
        };
        let is_kind = |index: usize| match self.kind {
            Kind::Program => parent(index).is_none(),
            Kind::Functions => matches!(kind(index), RegionKind::Function | RegionKind::User),
            Kind::Loops => kind(index) == RegionKind::Loop,
            Kind::Calls => is_call(index),
            Kind::Communication => kind(index) == RegionKind::Mpi,
            Kind::Events => is_call(index) || kind(index).is_wrapped() || kind(index) == RegionKind::Loop,
            Kind::Regions => true,
        };
        let is_named = |index: usize| {
            let is_own = self.named[location.nodes[index].region.0];
            // An operation stands at the statement that calls it, or at what holds that where statements are not measured.
            let is_at_statement = |parent: usize| self.named[location.nodes[parent].region.0];
            is_own || (self.is_placed && kind(index) == RegionKind::Mpi && parent(index).is_some_and(is_at_statement))
        };
        (0..location.nodes.len()).map(|index| is_kind(index) && is_named(index)).collect()
    }
}

/// The nodes that a question is about.
pub(crate) struct Scope {
    subject: Meant,
    within: Option<(Depth, Meant)>,
    kind: Kind,
}

impl Scope {
    pub(crate) fn of(profile: &Profile, question: &Sums) -> Result<Self, Puzzle> {
        let subject = Meant::of(profile, &question.subject)?;
        let within = match &question.within {
            None => None,
            Some(Within { depth, subject }) => Some((*depth, Meant::of(profile, subject)?)),
        };
        Ok(Self { subject, within, kind: question.subject.kind })
    }

    pub(crate) fn nodes(&self, profile: &Profile, location: &Location) -> Vec<bool> {
        let mut hits = self.subject.nodes(profile, location);
        if let Some((depth, around)) = &self.within {
            let around = around.nodes(profile, location);
            // A parent stands before its children.
            let mut inside = vec![false; hits.len()];
            for index in 0..hits.len() {
                let node = &location.nodes[index];
                inside[index] = node.parent.is_some_and(|parent| {
                    around[parent] || (inside[parent] && (*depth == Depth::Below || self.is_passed(profile.region_of(&location.nodes[parent]).kind)))
                });
            }
            hits.iter_mut().zip(inside).for_each(|(hit, inside)| *hit &= inside);
        }
        hits
    }

    /// Whether what stands below a region of this kind is still its caller's own.
    fn is_passed(&self, kind: RegionKind) -> bool {
        match kind {
            RegionKind::Iteration | RegionKind::CallSite | RegionKind::Parameter | RegionKind::Phase => true,
            RegionKind::Loop => matches!(self.kind, Kind::Calls | Kind::Communication | Kind::Functions),
            _ => false,
        }
    }
}

/// For each region whether it has the name, and is of a kind that the question can mean by it.
pub(crate) fn names(profile: &Profile, named: &Named, kind: Kind) -> Vec<bool> {
    // Where statements are measured, a place of a call is that of the statement.
    let is_at_place = matches!(named, Named::At(..));
    let has_statements = profile.regions.iter().any(|region| region.kind == RegionKind::CallSite);
    let can_be = |region: &Region| match kind {
        Kind::Loops => region.kind == RegionKind::Loop,
        Kind::Functions => matches!(region.kind, RegionKind::Function | RegionKind::User),
        Kind::Communication => matches!(region.kind, RegionKind::Mpi | RegionKind::CallSite) || (is_at_place && !has_statements),
        Kind::Calls => !is_at_place || !has_statements || region.kind == RegionKind::CallSite,
        _ => true,
    };
    let has = |region: &Region| match named {
        // A part has the raw name of the function that it is in.
        Named::Name(name) => region.raw_name == *name && !region.kind.is_part() || can_read(region, name) && region.name == *name,
        Named::Pattern(pattern) => pattern.is_match(&region.name),
        Named::At(file, line) => region.line == *line && ends_with(&region.file, file),
    };
    let exact: Vec<bool> = profile.regions.iter().map(|region| can_be(region) && has(region)).collect();
    match named {
        Named::Name(name) if !exact.contains(&true) => profile.regions.iter().map(|region| can_be(region) && bare(&region.name) == name).collect(),
        _ => exact,
    }
}

/// Whether a region can read so. A function of C++ always reads with its parameters: without them its name need not be made. Rust's
/// older names begin as those of C++ and have a hash, `17h…`.
fn can_read(region: &Region, name: &str) -> bool {
    name.contains('(') || region.kind != RegionKind::Function || !region.raw_name.starts_with("_Z") || region.raw_name.contains("17h")
}

/// A name without its parameters.
fn bare(name: &str) -> &str {
    match name.find('(') {
        Some(at) if at > 0 && !name[..at].ends_with("operator") => &name[..at],
        _ => name,
    }
}

/// Whether a path ends with another, whole directories compared.
pub(crate) fn ends_with(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/') || end.starts_with('/'))
}

/// Names that are told where nothing was found.
const NEAR: usize = 5;

fn unknown(profile: &Profile, subject: &Subject) -> Puzzle {
    let (what, part) = match &subject.named {
        Some(Named::Name(name)) => (format!("called `{name}`"), name.as_str()),
        Some(Named::Pattern(pattern)) => (format!("like /{}/", pattern.as_str()), ""),
        Some(Named::At(file, line)) => (format!("at {file}:{line}"), file.as_str()),
        None => (String::new(), ""),
    };
    let mut near: Vec<String> = match &subject.named {
        Some(Named::At(..)) => {
            let of_kind = of_kind(profile, subject.kind);
            let there = profile.regions.iter().zip(of_kind).filter(|(region, of_kind)| *of_kind && ends_with(&region.file, part));
            there.filter_map(|(region, _)| place(region)).collect()
        }
        _ => profile.regions.iter().filter(|region| !part.is_empty() && contains(&region.name, part)).map(|region| region.name.to_string()).collect(),
    };
    if let Some(Named::At(_, line)) = &subject.named {
        let of = |at: &String| at.rsplit(':').next().and_then(|found| found.parse::<u32>().ok()).unwrap_or(0);
        // Two statements of one line stand side by side, whatever is as near.
        near.sort_by_key(|at| (of(at).abs_diff(*line), at.clone()));
        near.dedup();
    } else {
        near.sort_by(|one, other| one.len().cmp(&other.len()).then_with(|| one.cmp(other)));
    }
    near.truncate(NEAR);
    Puzzle::Unknown { what, near }
}

/// For each region whether a question for this kind of event finds it by its place.
fn of_kind(profile: &Profile, kind: Kind) -> Vec<bool> {
    let of_mpi = if matches!(kind, Kind::Calls | Kind::Communication) { calling_mpi(profile) } else { HashSet::new() };
    let of_functions = if kind == Kind::Calls { calling_functions(profile) } else { HashSet::new() };
    let is_of_mpi_alone = |site: &RegionIndex| of_mpi.contains(site) && !of_functions.contains(site);
    let has_statements = profile.regions.iter().any(|region| region.kind == RegionKind::CallSite);
    let is_function = |region: &Region| matches!(region.kind, RegionKind::Function | RegionKind::User);
    let is_of_kind = |(index, region): (usize, &Region)| match kind {
        Kind::Calls if has_statements => region.kind == RegionKind::CallSite && !is_of_mpi_alone(&RegionIndex(index)),
        Kind::Calls | Kind::Functions => is_function(region),
        Kind::Loops => region.kind == RegionKind::Loop,
        Kind::Communication => of_mpi.contains(&RegionIndex(index)),
        Kind::Program | Kind::Events | Kind::Regions => true,
    };
    profile.regions.iter().enumerate().map(is_of_kind).collect()
}

fn contains(name: &str, part: &str) -> bool {
    name.to_lowercase().contains(&part.to_lowercase())
}
