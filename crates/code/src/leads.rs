//! Where fragments lead: found once, for all who ask of it.

use crate::fragments::Fragments;
use crate::quick::QuickSet;
use crate::record::FlowRecord;
use crate::sweep::Sweep;

/// A call, or a jump or branch that may leave its fragment. There are half as many as blocks: it is kept small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lead {
    /// Its record in [`Sweep::flows`].
    flow: u32,
    /// The fragment that holds its target; [`NONE`] if none does or it is indirect.
    to: u32,
    pub(crate) kind: Kind,
    /// Whether the target is the start of that fragment.
    pub(crate) is_to_start: bool,
}

/// How it leads there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Call,
    Jump,
    Branch,
    Indirect,
}

const NONE: u32 = u32::MAX;

impl Lead {
    /// The fragment that holds its target.
    #[inline]
    pub(crate) const fn to(self) -> Option<usize> {
        if self.to == NONE { None } else { Some(self.to as usize) }
    }

    /// The fragment at whose start it leads.
    #[inline]
    pub(crate) const fn to_start(self) -> Option<usize> {
        if self.is_to_start { self.to() } else { None }
    }

    pub(crate) fn record(self, sweep: &Sweep) -> Option<&FlowRecord> {
        sweep.flows.get(self.flow as usize)
    }
}

/// The leads of all fragments.
#[derive(Default)]
pub(crate) struct Leads {
    all: Vec<Lead>,
    /// Where those of each fragment end.
    ends: Vec<usize>,
    /// Fragments into the middle of whose instructions someone branches, and those that do.
    pub(crate) torn: QuickSet<usize>,
}

impl Leads {
    /// Finds them, once all fragments are swept.
    pub(crate) fn find(fragments: &Fragments, sweep: &Sweep) -> Self {
        let room = sweep.flows.len() / 8 * 5;
        let mut leads = Self { all: Vec::with_capacity(room), ends: Vec::with_capacity(fragments.list.len()), torn: QuickSet::default() };
        for (index, fragment) in fragments.list.iter().enumerate() {
            let stretch = sweep.starts.stretch_of(fragment.range.start);
            for (flow, record) in fragment.flows.clone().zip(sweep.flows_of(fragment)) {
                let Some(kind) = record.kind_of_lead() else { continue };
                let target = record.direct_target();
                let is_own = target.is_some_and(|target| fragment.range.contains(&target));
                let to = if is_own { Some(index) } else { target.and_then(|target| fragments.at(target)) };
                if let (Some(to), Some(target)) = (to, record.branch_target())
                    && !sweep.starts.has_near(stretch, target)
                {
                    leads.torn.extend([index, to]);
                }
                if is_own && kind != Kind::Call {
                    continue;
                }
                let start = to.and_then(|to| fragments.list.get(to)).map(|to| to.range.start);
                let number = |index: usize| u32::try_from(index).unwrap_or(NONE);
                leads.all.push(Lead { flow: number(flow), to: to.map_or(NONE, number), kind, is_to_start: start.is_some() && start == target });
            }
            leads.ends.push(leads.all.len());
        }
        leads
    }

    /// Those of a fragment, in the order of their addresses.
    pub(crate) fn of(&self, fragment: usize) -> &[Lead] {
        let start = fragment.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(fragment).and_then(|&end| self.all.get(start..end)).unwrap_or_default()
    }

    /// Those of all fragments, with the fragment of each in front.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Lead)> {
        (0..self.ends.len()).flat_map(|fragment| self.of(fragment).iter().map(move |lead| (fragment, lead)))
    }
}
