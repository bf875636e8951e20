//! Groups of processes, and the calls of collectives in each.

use crate::collective::{Instance, Terms};
use crate::expression::Arithmetic;
use crate::program::Program;
use std::collections::{HashMap, VecDeque};

/// All groups of a program, each divided by colour.
#[derive(Debug)]
pub(crate) struct Groups {
    /// By group and rank.
    places: Vec<Vec<Place>>,
    parts: Vec<Vec<Part>>,
}

/// Where a rank stands in a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    part: usize,
    pub(crate) member: usize,
}

/// Those of one colour, in the order of their ranks.
#[derive(Debug, Default)]
struct Part {
    members: Vec<u32>,
    /// Calls that every member has made.
    calls: Vec<u64>,
    /// Calls that not all members have left.
    open: VecDeque<Instance>,
    /// Number of the first one of these.
    first: u64,
}

/// Names a call of a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CallId {
    group: usize,
    part: usize,
    number: u64,
}

impl Groups {
    pub(crate) fn of(program: &Program) -> Result<Self, Arithmetic> {
        let mut groups = Self { places: Vec::new(), parts: Vec::new() };
        for group in 0..program.groups.len() {
            let (mut places, mut parts, mut colours) = (Vec::new(), Vec::<Part>::new(), HashMap::new());
            for rank in 0..program.settings.ranks {
                let part = *colours.entry(program.colour(group, rank)?).or_insert(parts.len());
                if part == parts.len() {
                    parts.push(Part::default());
                }
                places.push(Place { part, member: parts[part].members.len() });
                parts[part].members.push(rank);
            }
            parts.iter_mut().for_each(|part| part.calls = vec![0; part.members.len()]);
            groups.places.push(places);
            groups.parts.push(parts);
        }
        Ok(groups)
    }

    pub(crate) fn size(&self, group: usize, rank: u32) -> usize {
        self.parts[group][self.places[group][rank as usize].part].members.len()
    }

    /// A rank calls a collective: which call that is of it; `None` where others call another one.
    pub(crate) fn call(&mut self, group: usize, rank: u32, terms: &Terms) -> Option<(CallId, Place)> {
        let place = self.places[group][rank as usize];
        let part = &mut self.parts[group][place.part];
        let number = part.calls[place.member];
        part.calls[place.member] += 1;
        let index = usize::try_from(number - part.first).ok()?;
        if index == part.open.len() {
            part.open.push_back(Instance::new(terms, part.members.len()));
        }
        let agrees = part.open.get(index)?.agrees(terms);
        agrees.then_some((CallId { group, part: place.part, number }, place))
    }

    pub(crate) fn instance(&mut self, call: CallId) -> Option<&mut Instance> {
        let part = &mut self.parts[call.group][call.part];
        part.open.get_mut(usize::try_from(call.number.checked_sub(part.first)?).ok()?)
    }

    pub(crate) fn rank(&self, call: CallId, member: usize) -> u32 {
        self.parts[call.group][call.part].members[member]
    }

    /// A member has left a call.
    pub(crate) fn leave(&mut self, call: CallId) {
        if let Some(instance) = self.instance(call) {
            instance.left += 1;
        }
        let part = &mut self.parts[call.group][call.part];
        while part.open.front().is_some_and(|oldest| oldest.left == part.members.len()) {
            part.open.pop_front();
            part.first += 1;
        }
    }
}
