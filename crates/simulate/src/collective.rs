//! Collectives: who has come, and when everything is there for each.
//!
//! Rooted kinds run along a binomial tree, scans along a chain, as libraries build them: a late rank in between holds up
//! those behind it. What a tool knows is only who needs data from whom, which is what `semantic` holds.

use crate::lanes::{Awaited, Possible, Stamp};
use crate::program::Collective;

/// One call of a collective by all members of a group.
#[derive(Debug)]
pub(crate) struct Instance {
    kind: Collective,
    root: usize,
    bytes: u64,
    hop: u64,
    cost: u64,
    entries: Vec<Option<Stamp>>,
    requests: Vec<u32>,
    /// When each is through, in the order of ranks relative to the root.
    through: Vec<Option<Awaited>>,
    entered: usize,
    /// Everybody who has come so far.
    possible: Possible,
    /// Members that have left.
    pub(crate) left: usize,
}

/// What all members of a call must agree on, and the machine's costs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) kind: Collective,
    pub(crate) root: usize,
    pub(crate) bytes: u64,
    /// From one member to the next.
    pub(crate) hop: u64,
    /// What it costs a member to take part.
    pub(crate) cost: u64,
}

/// A member for whom everything is known: its place in the group, its request, what it waits for.
pub(crate) type Ready = (usize, u32, Awaited);

impl Instance {
    pub(crate) fn new(terms: &Terms, members: usize) -> Self {
        Self {
            kind: terms.kind,
            root: terms.root,
            bytes: terms.bytes,
            hop: terms.hop,
            cost: terms.cost,
            entries: vec![None; members],
            requests: vec![0; members],
            through: vec![None; members],
            entered: 0,
            possible: Possible::NOBODY,
            left: 0,
        }
    }

    /// Whether a member calls the same collective as the others.
    pub(crate) fn agrees(&self, terms: &Terms) -> bool {
        self.kind == terms.kind && (self.kind == Collective::All || (self.root, self.bytes) == (terms.root, terms.bytes))
    }

    /// What a member waited for until `end`, as a tool may know it: of rooted kinds not who else held it up, but who may have.
    pub(crate) fn known(&self, awaited: Awaited, end: u64) -> Awaited {
        let members = self.entries.len() as u64;
        let hops = if self.kind == Collective::Prefix { members } else { u64::from(members.next_power_of_two().trailing_zeros()) };
        let longest = hops * (self.hop + self.cost);
        if self.kind == Collective::All { awaited } else { awaited.perhaps(&self.possible, longest, end) }
    }

    /// A member enters; returns all for whom everything is known now.
    pub(crate) fn enter(&mut self, member: usize, entry: Stamp, request: u32) -> Vec<Ready> {
        self.entries[member] = Some(entry);
        self.requests[member] = request;
        self.entered += 1;
        self.possible = self.possible.join(&entry);
        match self.kind {
            Collective::All if self.entered < self.entries.len() => Vec::new(),
            Collective::All => self.all(),
            _ => self.spread(self.place(member)),
        }
    }

    fn all(&self) -> Vec<Ready> {
        let rounds = u64::from(self.entries.len().next_power_of_two().trailing_zeros());
        let entries = self.entries.iter().flatten();
        let last = entries.map(|entry| Awaited::from_other(entry, rounds * self.hop)).fold(Awaited::NOTHING, Awaited::join);
        self.requests.iter().enumerate().map(|(member, &request)| (member, request, last)).collect()
    }

    /// Place of a member relative to the root.
    fn place(&self, member: usize) -> usize {
        (member + self.entries.len() - self.first()) % self.entries.len()
    }

    fn member(&self, place: usize) -> usize {
        (place + self.first()) % self.entries.len()
    }

    fn first(&self) -> usize {
        if self.kind == Collective::Prefix { 0 } else { self.root }
    }

    /// Lets what has become known at a place run on to others.
    fn spread(&mut self, from: usize) -> Vec<Ready> {
        let mut ready = Vec::new();
        let mut open = vec![from];
        while let Some(place) = open.pop() {
            let Some(awaited) = self.awaited(place).filter(|_| self.through[place].is_none()) else { continue };
            let member = self.member(place);
            let Some(entry) = self.entries[member] else { continue };
            let semantic = self.semantic(place);
            self.through[place] = Some(awaited.join(Awaited::from_self(&entry, self.cost)).knowing(&semantic));
            ready.push((member, self.requests[member], awaited.knowing(&semantic)));
            match self.kind {
                Collective::ToRoot if place > 0 => open.push(place & (place - 1)),
                Collective::ToRoot => {}
                Collective::Prefix => open.extend(Some(place + 1).filter(|&next| next < self.entries.len())),
                _ => open.extend(children(place, self.entries.len())),
            }
        }
        ready
    }

    /// What a place waits for, where that is known.
    fn awaited(&self, place: usize) -> Option<Awaited> {
        let after = |other: usize| self.through[other].map(|through| through.later(self.hop));
        match self.kind {
            Collective::ToRoot => children(place, self.entries.len()).try_fold(Awaited::NOTHING, |all, child| Some(all.join(after(child)?))),
            _ if place == 0 => Some(Awaited::NOTHING),
            Collective::Prefix => after(place - 1),
            _ => after(place & (place - 1)),
        }
    }

    /// Those whose data a place needs. A chain has passed on those of all lower ranks.
    fn semantic(&self, place: usize) -> Awaited {
        let entry = |place: usize| self.entries[self.member(place)].map_or(Awaited::NOTHING, |entry| Awaited::from_other(&entry, self.hop));
        match self.kind {
            Collective::FromRoot if place > 0 => entry(0),
            Collective::ToRoot if place == 0 => self.possible.awaited.later(self.hop),
            Collective::Prefix if place > 0 => {
                let before = self.through[place - 1].unwrap_or(Awaited::NOTHING);
                before.join(entry(place - 1))
            }
            _ => Awaited::NOTHING,
        }
    }
}

/// Children of a place in the binomial tree in which a parent's number lacks the lowest bit of its child's.
fn children(place: usize, members: usize) -> impl Iterator<Item = usize> {
    let lowest = if place == 0 { usize::BITS } else { place.trailing_zeros() };
    (0..lowest).map(|bit| 1_usize << bit).take_while(move |bit| place + bit < members).map(move |bit| place + bit)
}
