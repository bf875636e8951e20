//! Jump tables: which indirect jumps go through which, and how far they reach.
//!
//! Tables are copied, never changed, so that the end of a copy need only be far enough: a table ends where the next one
//! begins or where an entry is no address of code. How many of the entries a jump can get at, its guard says (`bounds`). An entry outside of the function does not end it. What cannot be
//! resolved is told from a tail call by the canonical frame address, and otherwise refused.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use tare_image::{CfaRows, Image};

use crate::bounds::Bounds;
use crate::decode::{AddressSet, RawFlow, has_notrack, raw_flow};
use crate::program::{JumpTable, TableForm};
use crate::stretch::Stretch;
use crate::sweep::{constant_address, indexed_address};
use crate::values::{Value, Values};

/// More entries than any compiler makes.
const MOST_ENTRIES: usize = 1 << 16;

/// Where an indirect jump goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum JumpKind {
    /// Through tables, by index into [`Jumps::tables`].
    Table(Vec<usize>),
    TailCall,
    /// Into another frame, whose stack pointer was set just before: `longjmp`, `eh_return`.
    Unwinding,
    Unknown,
}

/// The indirect jumps of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Jumps {
    pub(crate) tables: Vec<JumpTable>,
    /// By address of the jump.
    pub(crate) kinds: BTreeMap<u64, JumpKind>,
}

impl Jumps {
    pub(crate) fn has_unwinding(&self) -> bool {
        self.kinds.values().any(|kind| *kind == JumpKind::Unwinding)
    }

    pub(crate) fn has_unknown(&self) -> bool {
        self.kinds.values().any(|kind| *kind == JumpKind::Unknown)
    }
}

/// What is needed to resolve the jumps of a function.
pub(crate) struct Resolver<'a, 'data> {
    pub(crate) image: &'a Image<'data>,
    pub(crate) starts: &'a AddressSet,
    pub(crate) bases: &'a [u64],
}

/// A jump of which the walk backwards could not tell where it goes.
enum Found {
    Kind(JumpKind),
    Table(u64, TableForm),
    Open,
}

impl Resolver<'_, '_> {
    /// Resolves all indirect jumps in `ranges`; `cfa` has the unwind rows of each range, where there are any.
    ///
    /// Code behind a table may hold further jumps whose registers were set before it: what was found leads on until
    /// nothing new is.
    pub(crate) fn resolve(&self, ranges: &[Range<u64>], cfa: &[Option<CfaRows>]) -> Jumps {
        let mut stretch = Stretch::decode(self.image, ranges);
        let mut jumps = self.in_rounds(&mut stretch, ranges, cfa);
        bound(&mut jumps, &stretch);
        jumps
    }

    fn in_rounds(&self, stretch: &mut Stretch, ranges: &[Range<u64>], cfa: &[Option<CfaRows>]) -> Jumps {
        let mut jumps = self.round(stretch, ranges, cfa);
        loop {
            let tables = jumps.kinds.values().filter(|kind| matches!(kind, JumpKind::Table(_))).count();
            if tables == 0 || tables == jumps.kinds.len() {
                return jumps;
            }
            for table in &jumps.tables {
                stretch.connect(&table.jumps, &table.targets);
            }
            let next = self.round(stretch, ranges, cfa);
            if next == jumps {
                return jumps;
            }
            jumps = next;
        }
    }

    fn round(&self, stretch: &Stretch, ranges: &[Range<u64>], cfa: &[Option<CfaRows>]) -> Jumps {
        let mut values = Values::new(stretch);
        let mut tables = self.loaded_tables(stretch, &mut values, ranges);
        let mut jumps = Jumps::default();
        let mut open = Vec::new();
        let mut through: BTreeMap<(u64, TableForm), Vec<u64>> = BTreeMap::new();
        for &index in &stretch.jumps {
            let Some(jump) = stretch.code.get(index) else { continue };
            if leaves_frame(stretch, index) {
                jumps.kinds.insert(jump.ip(), JumpKind::Unwinding);
                continue;
            }
            let at_entry = self.is_at_entry(stretch, index, ranges, cfa);
            match self.jump(&mut values, index, jump, &tables, ranges, at_entry) {
                Found::Kind(kind) => {
                    jumps.kinds.insert(jump.ip(), kind);
                }
                Found::Table(table, form) => {
                    tables.insert((table, form));
                    through.entry((table, form)).or_default().push(jump.ip());
                }
                Found::Open => open.push(jump.ip()),
            }
        }
        if !open.is_empty() {
            tables.extend(self.named_tables(stretch, ranges));
        }
        self.settle(tables, &mut through, &open, &mut jumps, stretch);
        jumps
    }

    /// Tables whose address the function takes, far from where entries are read: most of their entries lead into it.
    fn named_tables(&self, stretch: &Stretch, ranges: &[Range<u64>]) -> BTreeSet<(u64, TableForm)> {
        let form = TableForm::Relative32;
        let is_own = |table: u64| {
            let targets = self.targets(table, form);
            let own = targets.iter().filter(|&&target| self.is_inside(target, ranges)).count();
            own >= 2 && own * 2 > targets.len()
        };
        let addresses = stretch.code.iter().filter(|one| one.mnemonic() == Mnemonic::Lea).filter_map(constant_address);
        let tables: BTreeSet<u64> = addresses.filter(|&table| self.is_table(table, form, ranges)).collect();
        tables.into_iter().filter(|&table| is_own(table)).map(|table| (table, form)).collect()
    }

    /// Gives every table its jumps: a table whose jump was not found serves the open ones, or the next one behind its load.
    fn settle(
        &self,
        tables: BTreeSet<(u64, TableForm)>,
        through: &mut BTreeMap<(u64, TableForm), Vec<u64>>,
        open: &[u64],
        jumps: &mut Jumps,
        stretch: &Stretch,
    ) {
        for jump in open {
            let kind = if tables.is_empty() { JumpKind::Unknown } else { JumpKind::Table(Vec::new()) };
            jumps.kinds.insert(*jump, kind);
        }
        for key in tables {
            let references = stretch.references(key.0);
            let mut through = through.remove(&key).unwrap_or_default();
            if through.is_empty() {
                through = open.to_vec();
            }
            let index = jumps.tables.len();
            for jump in &through {
                let kind = jumps.kinds.entry(*jump).or_insert_with(|| JumpKind::Table(Vec::new()));
                if let JumpKind::Table(list) = kind {
                    list.push(index);
                }
            }
            let targets = self.targets(key.0, key.1);
            jumps.tables.push(JumpTable { address: key.0, form: key.1, reach: targets.len(), targets, references, jumps: through });
        }
        if jumps.kinds.values().any(|kind| *kind == JumpKind::Table(Vec::new())) {
            let every: Vec<usize> = (0..jumps.tables.len()).collect();
            for kind in jumps.kinds.values_mut().filter(|kind| **kind == JumpKind::Table(Vec::new())) {
                *kind = JumpKind::Table(every.clone());
            }
            for table in &mut jumps.tables {
                table.jumps.extend(open.iter().filter(|jump| !table.jumps.contains(jump)).copied().collect::<Vec<_>>());
            }
        }
    }

    /// Where a jump goes; `known` are tables.
    fn jump(
        &self,
        values: &mut Values<'_>,
        index: usize,
        jump: &Instruction,
        known: &BTreeSet<(u64, TableForm)>,
        ranges: &[Range<u64>],
        at_entry: bool,
    ) -> Found {
        let is_table = |table, form| known.contains(&(table, form)) || self.is_table(table, form, ranges);
        let may_be_tail_call = at_entry && !has_notrack(self.image, jump);
        let form = self.wide_form();
        match values.of_jump(index) {
            Value::Target(table) if is_table(table, TableForm::Relative32) => Found::Table(table, TableForm::Relative32),
            Value::Entry64(table) if is_table(table, form) => Found::Table(table, form),
            Value::Entry64(_) if may_be_tail_call => Found::Kind(JumpKind::TailCall),
            Value::Slot(slot) if self.is_lone_entry(slot, ranges) => Found::Table(slot, form),
            Value::Target(_) | Value::Refused => Found::Kind(JumpKind::Unknown),
            Value::Entry32(_) => Found::Open,
            _ if may_be_tail_call => Found::Kind(JumpKind::TailCall),
            Value::Unknown | Value::Constant(_) => Found::Open,
            Value::Entry64(_) | Value::Slot(_) => Found::Kind(JumpKind::Unknown),
        }
    }

    /// Tables that the function reads entries of, whatever becomes of them.
    fn loaded_tables(&self, stretch: &Stretch, values: &mut Values<'_>, ranges: &[Range<u64>]) -> BTreeSet<(u64, TableForm)> {
        let mut found = BTreeSet::new();
        for (index, one) in stretch.code.iter().enumerate().filter(|(_, one)| may_load_entry(one)) {
            let (table, form) = match values.of_load(index) {
                Value::Entry32(Some(table)) => (table, TableForm::Relative32),
                Value::Entry64(table) => (table, self.wide_form()),
                _ => continue,
            };
            let is_known = found.contains(&(table, form));
            if !is_known && one.op1_kind() == OpKind::Memory && self.is_table(table, form, ranges) {
                found.insert((table, form));
            }
        }
        found
    }

    const fn wide_form(&self) -> TableForm {
        if self.image.kind().is_position_independent() { TableForm::Relocated64 } else { TableForm::Absolute64 }
    }

    /// Whether entries of a table lead into the function: two or more entries, of which one is an own instruction.
    fn is_table(&self, table: u64, form: TableForm, ranges: &[Range<u64>]) -> bool {
        if self.image.text_at(table).is_some() || self.bases.binary_search(&table).is_err() {
            return false;
        }
        let targets = self.targets(table, form);
        targets.len() >= 2 && targets.iter().any(|&target| self.is_inside(target, ranges))
    }

    fn is_lone_entry(&self, slot: u64, ranges: &[Range<u64>]) -> bool {
        self.image.pointer_at(slot).is_some_and(|target| self.is_inside(target, ranges))
    }

    /// An instruction of the function, but not its entry.
    fn is_inside(&self, target: u64, ranges: &[Range<u64>]) -> bool {
        let is_start = ranges.first().is_some_and(|first| first.start == target);
        !is_start && self.starts.contains(target) && ranges.iter().any(|range| range.contains(&target))
    }

    fn targets(&self, table: u64, form: TableForm) -> Vec<u64> {
        let behind = self.bases.partition_point(|&base| base <= table);
        let limit = self.bases.get(behind).copied().unwrap_or(u64::MAX);
        let limit = limit.min(self.image.segment_at(table).map_or(0, |segment| segment.file_range().end));
        let size = form.entry_size();
        let room = usize::try_from(limit.saturating_sub(table) / size).unwrap_or(0).min(MOST_ENTRIES);
        let mut targets = Vec::new();
        for index in 0..room as u64 {
            match self.target(table, table + index * size, form) {
                Some(target) if self.is_code(target) => targets.push(target),
                _ => break,
            }
        }
        targets
    }

    /// An address in text or behind its last byte: an unreachable case may lead to an empty block at the end.
    fn is_code(&self, target: u64) -> bool {
        self.image.text_at(target).is_some() || target.checked_sub(1).is_some_and(|last| self.image.text_at(last).is_some())
    }

    fn target(&self, table: u64, entry: u64, form: TableForm) -> Option<u64> {
        match form {
            TableForm::Relative32 => {
                let bytes = self.image.bytes_at(entry, 4)?.try_into().ok()?;
                Some(table.wrapping_add_signed(i64::from(i32::from_le_bytes(bytes))))
            }
            TableForm::Absolute64 | TableForm::Relocated64 => self.image.pointer_at(entry),
        }
    }

    /// Whether the stack is as at the entry, so that a jump may leave the function.
    fn is_at_entry(&self, stretch: &Stretch, index: usize, ranges: &[Range<u64>], cfa: &[Option<CfaRows>]) -> bool {
        let Some(address) = stretch.code.get(index).map(Instruction::ip) else { return false };
        let range = ranges.iter().position(|range| range.contains(&address));
        match range.and_then(|range| cfa.get(range)?.as_ref()) {
            Some(rows) => rows.at(address).is_some_and(tare_image::Cfa::is_entry),
            None => stretch.is_at_entry_depth(index),
        }
    }
}

/// Says how far tables reach whose every jump is guarded.
fn bound(jumps: &mut Jumps, stretch: &Stretch) {
    let mut entered: Vec<u64> = jumps.tables.iter().flat_map(|table| &table.targets).copied().collect();
    entered.sort_unstable();
    let bounds = Bounds { stretch, entered: &entered };
    for table in &mut jumps.tables {
        let most = table.jumps.iter().map(|&jump| bounds.entries(jump)).try_fold(0, |most, entries| entries.map(|entries| most.max(entries)));
        table.reach = most.filter(|&most| most > 0).map_or(table.targets.len(), |most| most.min(table.targets.len()));
    }
}

/// Whether one of the last instructions in front of a jump takes the stack pointer from a register that is not the frame's.
fn leaves_frame(stretch: &Stretch, jump: usize) -> bool {
    let before = stretch.code.get(jump.saturating_sub(3)..jump).unwrap_or_default();
    let straight = before.iter().rev().take_while(|one| raw_flow(one) == RawFlow::Next);
    straight.into_iter().any(|one| {
        let is_move = one.mnemonic() == Mnemonic::Mov && one.op0_kind() == OpKind::Register && one.op1_kind() == OpKind::Register;
        is_move && one.op0_register() == Register::RSP && one.op1_register() != Register::RBP
    })
}

fn may_load_entry(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Movsxd | Mnemonic::Mov)
        && instruction.op0_kind() == OpKind::Register
        && instruction.op1_kind() == OpKind::Memory
        && instruction.memory_index() != iced_x86::Register::None
        && matches!(instruction.memory_index_scale(), 1 | 4 | 8)
        && (instruction.memory_displacement64() == 0 || indexed_address(instruction).is_some())
        && instruction.op0_register().size() >= 4
}
