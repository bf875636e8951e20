//! Receives from anywhere that met messages, and locks that met who had them, in an order which virtual times contradict, and where.

use tare_profile::{Location, Profile, RegionKind};

/// Those of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Contradicted {
    /// How many.
    pub(crate) receives: u64,
    /// The places known, those with the most first.
    pub(crate) places: Vec<ContradictedPlace>,
}

/// Receives of one operation in one function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ContradictedPlace {
    /// Index of the operation's region.
    pub(crate) operation: usize,
    /// Index of the region of the function that calls it.
    pub(crate) caller: Option<usize>,
    /// How many.
    pub(crate) receives: u64,
}

impl Contradicted {
    pub(crate) fn of(profile: &Profile) -> Self {
        let mut places: Vec<ContradictedPlace> = Vec::new();
        for location in &profile.locations {
            for (index, node) in location.nodes.iter().enumerate().filter(|(_, node)| node.exchanged().contradicted > 0) {
                let (operation, caller) = (node.region.0, caller(profile, location, index));
                match places.iter_mut().find(|place| (place.operation, place.caller) == (operation, caller)) {
                    Some(place) => place.receives += node.exchanged().contradicted,
                    None => places.push(ContradictedPlace { operation, caller, receives: node.exchanged().contradicted }),
                }
            }
        }
        places.sort_by_key(|place| (std::cmp::Reverse(place.receives), place.operation, place.caller));
        Self { receives: profile.locations.iter().map(|location| location.contradicted).sum(), places }
    }

    /// The first places in words.
    pub(crate) fn first(&self, profile: &Profile, shown: usize) -> String {
        let name = |index: usize| {
            let region = &profile.regions[index];
            let line = if region.line > 0 { format!(":{}", region.line) } else { String::new() };
            let file = region.file.rsplit('/').next().unwrap_or_default();
            if file.is_empty() { region.name.to_string() } else { format!("{} ({file}{line})", region.name) }
        };
        let place = |place: &ContradictedPlace| match place.caller {
            Some(caller) => format!("{} in {}", name(place.operation), name(caller)),
            None => name(place.operation),
        };
        self.places.iter().take(shown).map(place).collect::<Vec<_>>().join(", ")
    }
}

/// The function that calls an operation of MPI.
fn caller(profile: &Profile, location: &Location, index: usize) -> Option<usize> {
    let above = std::iter::successors(location.nodes[index].parent, |&index| location.nodes[index].parent);
    above.take(location.nodes.len()).map(|index| location.nodes[index].region.0).find(|&region| profile.regions[region].kind != RegionKind::Mpi)
}
