//! A program as the machine executes it: a list of steps with jumps, the same for all ranks.

use crate::expression::{Arithmetic, Expression, Variables};
use crate::random::Random;
use crate::settings::{Probe, Settings};

/// A described program.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// The machine.
    pub settings: Settings,
    pub(crate) steps: Vec<Step>,
    pub(crate) regions: Vec<Probe>,
    /// Groups of processes: their colour for each rank. The first one is everybody.
    pub(crate) groups: Vec<Expression>,
    /// Names of requests.
    pub(crate) requests: usize,
    pub(crate) variables: usize,
}

/// An instruction and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Step {
    pub(crate) line: u32,
    pub(crate) instruction: Instruction,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Instruction {
    Compute(Expression),
    /// So many calls of a region, of so much work each.
    Call {
        region: usize,
        times: Expression,
        work: Expression,
    },
    Enter(usize),
    Exit(usize),
    Set(usize, Expression),
    JumpUnless(Expression, usize),
    Jump(usize),
    Send {
        to: Expression,
        tag: Expression,
        bytes: Expression,
        mode: Mode,
        request: Option<usize>,
    },
    Receive {
        from: Option<Expression>,
        tag: Option<Expression>,
        request: Option<usize>,
    },
    /// Completes requests of these names.
    Complete {
        which: Which,
        names: Vec<usize>,
        every: Option<Expression>,
    },
    Probe {
        from: Option<Expression>,
        tag: Option<Expression>,
        every: Option<Expression>,
    },
    Collective {
        kind: Collective,
        root: Expression,
        bytes: Expression,
        group: usize,
        request: Option<usize>,
    },
}

/// When a send may end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Large messages wait for their receiver.
    Standard,
    /// All messages wait for their receiver.
    Synchronous,
    /// None does.
    Buffered,
}

/// Which requests a step completes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    All,
    Any,
    Some,
}

/// Who waits for whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Collective {
    /// All for all.
    All,
    /// Along a binomial tree from the root.
    FromRoot,
    /// Along a binomial tree to the root.
    ToRoot,
    /// Along a chain of ranks.
    Prefix,
}

impl Program {
    /// Number of the variable that holds the rank.
    pub(crate) const RANK: usize = 0;
    /// Number of the variable that holds the number of ranks.
    pub(crate) const SIZE: usize = 1;
    /// Number of the first free variable.
    pub(crate) const FIRST_FREE: usize = 2;

    /// How many costs the tool may be wrong about, on all ranks together.
    pub(crate) fn uncertain(&self) -> u64 {
        let asks = |step: &Step| matches!(step.instruction, Instruction::Complete { every: Some(_), .. } | Instruction::Probe { every: Some(_), .. });
        let questions = self.steps.iter().any(asks).then_some(&self.settings.probe);
        let regions = self.regions.iter().chain(questions).filter(|probe| probe.is_uncertain()).count();
        regions as u64 * u64::from(self.settings.ranks)
    }

    /// The variables of a rank before the first step.
    pub(crate) fn variables_of(&self, rank: u32) -> Variables {
        let mut values = vec![0; self.variables];
        values[Self::RANK] = rank.into();
        values[Self::SIZE] = self.settings.ranks.into();
        Variables { values, random: Random::new(self.settings.seed ^ (u64::from(rank) + 1).wrapping_mul(0xd134_2543_de82_ef95)) }
    }

    /// The colour of a rank in a group.
    pub(crate) fn colour(&self, group: usize, rank: u32) -> Result<i64, Arithmetic> {
        self.groups[group].value(&mut self.variables_of(rank))
    }
}
