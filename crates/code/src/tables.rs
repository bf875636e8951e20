//! Jump tables: which indirect jumps go through which, and how far they reach.
//!
//! Tables are copied, never changed, so that the end of a copy need only be far enough: a table ends where the next one
//! begins or where an entry is no address of code. How many of the entries a jump can get at, its guard says (`bounds`). An entry outside of the function does not end it. What cannot be
//! resolved is told from a tail call by the canonical frame address, and by whether the function keeps addresses of its own
//! instructions anywhere else (computed goto through memory), and otherwise refused.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use tare_image::{Image, Segment};

use crate::addresses::{constant_address, indexed_address};
use crate::anchored;
use crate::behind_start;
use crate::bounds::Bounds;
use crate::decode::{AddressSet, RawFlow, has_notrack, is_padding, raw_flow};
use crate::frames::Frames;
use crate::jumps::{JumpKind, Jumps, UNGUARDED};
use crate::noreturn::Never;
use crate::pieces;
use crate::program::{JumpTable, TableForm};
use crate::saved;
use crate::stretch::Stretch;
use crate::sweep::{Pointer, Sweep};
use crate::values::{Value, Values};

/// More entries than any compiler makes.
const MOST_ENTRIES: usize = 1 << 16;

/// What is needed to resolve the jumps of a function.
pub(crate) struct Resolver<'a, 'data> {
    image: &'a Image<'data>,
    starts: &'a AddressSet,
    bases: &'a [u64],
    /// Instructions behind the start of a fragment whose address is loaded or relocated, and those whose address stands in data of an
    /// image that is not moved; sorted.
    labels: [&'a [u64]; 2],
    /// Data addresses that the code names as constants, sorted.
    constants: &'a [u64],
    /// Loaded addresses of code, sorted by the instructions that load them.
    pointers: &'a [Pointer],
    /// Where that is known.
    never: Option<&'a Never>,
}

/// A jump to distances from an own instruction.
struct DistanceJump {
    jump: u64,
    tables: BTreeSet<(u64, TableForm)>,
    /// Whether it goes nowhere else.
    is_all: bool,
}

/// What the walk backwards from a jump tells.
enum Found {
    Kind(JumpKind),
    Table(u64, TableForm),
    /// Through a table that was not seen.
    Open,
    /// To an entry of a table plus something other than the table's address.
    Distance,
    /// Through a pointer whose origin was not seen; whether it may lead out of the function.
    Unseen(bool),
}

impl<'a, 'data> Resolver<'a, 'data> {
    pub(crate) fn new(image: &'a Image<'data>, sweep: &'a Sweep) -> Self {
        Self {
            image,
            starts: &sweep.starts,
            bases: &sweep.bases,
            labels: [&sweep.labels, &sweep.listed],
            constants: &sweep.constants,
            pointers: &sweep.pointers,
            never: None,
        }
    }

    /// The same, knowing what never comes back: no way leads over a call of that.
    pub(crate) const fn knowing(self, never: &'a Never) -> Self {
        Self { never: Some(never), ..self }
    }

    fn stretch(&self, ranges: &[Range<u64>]) -> Stretch {
        Stretch::decode(self.image, ranges, |call| self.never.is_none_or(|never| !never.ends(call)))
    }

    /// Resolves all indirect jumps in `ranges`, whose frames are given.
    ///
    /// Code behind a table may hold further jumps whose registers were set before it: what was found leads on until
    /// nothing new is.
    pub(crate) fn resolve(&self, ranges: &[Range<u64>], frames: &Frames<'_>) -> Jumps {
        let mut stretch = self.stretch(ranges);
        let mut jumps = self.in_rounds(&mut stretch, ranges, frames);
        bound(&mut jumps, &stretch);
        anchored::mark(self.image, &stretch, &mut jumps);
        jumps.strays = self.strays(&jumps, &stretch);
        jumps
    }

    /// Instructions that tables lead to whose entries are jumped to, though not all is known of the jump.
    fn strays(&self, jumps: &Jumps, stretch: &Stretch) -> Vec<u64> {
        let is_lost = |kind: &JumpKind| matches!(kind, JumpKind::Unknown | JumpKind::TailCall);
        let lost = jumps.kinds.iter().filter(|(_, kind)| is_lost(kind)).filter_map(|(&jump, _)| stretch.index_of(jump));
        let mut values = Values::new(stretch);
        let tables: BTreeSet<(u64, TableForm)> = lost
            .filter_map(|index| match values.of_jump(index) {
                Value::Target(table) => Some((table, TableForm::Relative32)),
                Value::Distance(table, base) => Some((table, TableForm::Distance32 { base })),
                Value::Entry64(table) => Some((table, self.wide_form())),
                _ => None,
            })
            .collect();
        let targets = |(table, form)| self.addresses(table, form).take_while(|&target| self.starts.contains(target));
        tables.into_iter().flat_map(targets).collect()
    }

    /// Whether addresses of own instructions are kept anywhere, or code reads entries of a table that leads into it.
    pub(crate) fn has_labels(&self, ranges: &[Range<u64>]) -> bool {
        if ranges.iter().any(|range| self.labels_in(range).next().is_some()) {
            return true;
        }
        let stretch = self.stretch(ranges);
        !self.loaded_tables(&stretch, &mut Values::new(&stretch), ranges).is_empty()
    }

    fn in_rounds(&self, stretch: &mut Stretch, ranges: &[Range<u64>], frames: &Frames<'_>) -> Jumps {
        self.connect_named(stretch, ranges);
        let mut jumps = self.round(stretch, ranges, frames);
        loop {
            if jumps.tables.is_empty() || jumps.kinds.values().all(|kind| matches!(kind, JumpKind::Table(_))) {
                return jumps;
            }
            for table in &jumps.tables {
                stretch.connect(&table.jumps, &table.targets);
            }
            let next = self.round(stretch, ranges, frames);
            if next == jumps {
                return jumps;
            }
            jumps = next;
        }
    }

    /// Adds ways from jumps to an own instruction that code names: `goto *x` where `x` is known at first. What tables are read behind
    /// it may be named in front of it.
    fn connect_named(&self, stretch: &mut Stretch, ranges: &[Range<u64>]) {
        if ranges.iter().all(|range| self.labels_in(range).next().is_none()) {
            return;
        }
        let mut values = Values::new(stretch);
        let named = stretch.jumps.iter().filter_map(|&index| match values.of_jump(index) {
            Value::Constant(target) if self.is_inside(target, ranges) => Some((stretch.code.get(index)?.ip(), target)),
            _ => None,
        });
        let named: Vec<(u64, u64)> = named.collect();
        named.iter().for_each(|&(jump, target)| stretch.connect(&[jump], &[target]));
    }

    fn round(&self, stretch: &Stretch, ranges: &[Range<u64>], frames: &Frames<'_>) -> Jumps {
        let mut values = Values::new(stretch);
        let mut tables = self.loaded_tables(stretch, &mut values, ranges);
        let mut jumps = Jumps::default();
        let (mut open, mut unseen, mut distances) = (Vec::new(), Vec::new(), Vec::new());
        let mut through: BTreeMap<(u64, TableForm), Vec<u64>> = BTreeMap::new();
        for &index in &stretch.jumps {
            let Some(jump) = stretch.code.get(index) else { continue };
            if leaves_frame(stretch, index) {
                let kind = if saved::goes_back(stretch, index) { JumpKind::Saved } else { JumpKind::Unwinding };
                jumps.kinds.insert(jump.ip(), kind);
                continue;
            }
            let found = match self.jump(&mut values, index, jump, &tables, ranges, || frames.is_at_entry(stretch, index)) {
                found @ (Found::Unseen(_) | Found::Distance) => {
                    pieces::of_jump(stretch, index).map_or(found, |(first, size)| Found::Table(first, TableForm::Code { size }))
                }
                found => found,
            };
            match found {
                Found::Kind(kind) => {
                    jumps.kinds.insert(jump.ip(), kind);
                }
                Found::Table(table, form) => {
                    tables.insert((table, form));
                    through.entry((table, form)).or_default().push(jump.ip());
                }
                Found::Open => open.push(jump.ip()),
                Found::Distance => distances.push((index, jump.ip())),
                Found::Unseen(true) if self.skips_code(stretch, index) => _ = jumps.kinds.insert(jump.ip(), JumpKind::Unknown),
                Found::Unseen(may_leave) => unseen.push((jump.ip(), may_leave)),
            }
        }
        for found in self.distances(&mut values, &distances, stretch) {
            if !found.is_all {
                jumps.kinds.insert(found.jump, JumpKind::Unknown);
            }
            for key in found.tables {
                tables.insert(key);
                through.entry(key).or_default().push(found.jump);
            }
        }
        if !open.is_empty() || unseen.iter().any(|(_, may_leave)| !may_leave) {
            tables.extend(self.named_tables(stretch, ranges));
        }
        // Where one jump goes to a distance, another whose registers were not seen may do so as well.
        let has_distances = tables.iter().any(|(_, form)| matches!(form, TableForm::Distance32 { .. }));
        let keeps_labels = self.keeps_labels(&tables, ranges, stretch);
        let closed = || tables.iter().copied().filter(|&(table, _)| self.is_closed(table, stretch)).collect();
        let may_stay = !unseen.is_empty() && (has_distances || keeps_labels || self.keeps_labels(&closed(), ranges, stretch));
        for (jump, may_leave) in unseen {
            match may_leave {
                true if may_stay => jumps.kinds.extend([(jump, JumpKind::Unknown)]),
                true => jumps.kinds.extend([(jump, JumpKind::TailCall)]),
                false if has_distances || keeps_labels => jumps.kinds.extend([(jump, JumpKind::Unknown)]),
                false => open.push(jump),
            }
        }
        open.sort_unstable();
        let is_sure = |key: &(u64, TableForm), jump: u64, values: &mut Values<'_>| {
            self.stays(*key, stretch) && (!keeps_labels || self.is_every_way(values, jump, &tables, stretch))
        };
        for (key, through) in &mut through {
            let unsure: Vec<u64> = through.iter().copied().filter(|&jump| !is_sure(key, jump, &mut values)).collect();
            jumps.kinds.extend(unsure.into_iter().map(|jump| (jump, JumpKind::Unknown)));
        }
        self.settle(tables, &mut through, &open, &mut jumps, stretch);
        jumps
    }

    /// Whether a jump through one of many words stands in front of code that nothing else is known to lead to: `goto` through addresses
    /// that are computed in ways that are not seen. Exceptions lead to code as well.
    fn skips_code(&self, stretch: &Stretch, jump: usize) -> bool {
        let has_index = |one: &Instruction| one.op0_kind() == OpKind::Memory && one.memory_index() != Register::None;
        let Some(one) = stretch.code.get(jump).filter(|one| has_index(one)) else { return false };
        let Some(range) = stretch.ranges.iter().find(|range| range.contains(&one.ip())) else { return false };
        let mut behind = stretch.code.iter().enumerate().skip(jump + 1).take_while(|(_, next)| range.contains(&next.ip()));
        let next = behind.find(|(_, next)| !is_padding(next));
        let has_pads = || self.image.fde_at(one.ip()).is_some_and(|fde| fde.lsda.is_some());
        next.is_some_and(|(next, _)| stretch.predecessors(next).all(|before| (jump + 1..next).contains(&before))) && !has_pads()
    }

    /// Whether a jump that goes through a table of addresses does so wherever control comes from.
    fn is_every_way(&self, values: &mut Values<'_>, jump: u64, tables: &BTreeSet<(u64, TableForm)>, stretch: &Stretch) -> bool {
        let form = self.wide_form();
        let is_entry = |value: &Value| match *value {
            Value::Entry64(table) | Value::Slot(table) => tables.contains(&(table, form)),
            Value::Target(_) | Value::Distance(..) => true,
            _ => false,
        };
        stretch.index_of(jump).is_none_or(|index| values.every_of_jump(index).iter().all(is_entry))
    }

    /// Whether what a jump goes to is set to code elsewhere wherever control comes from.
    fn leaves_on_every_way(&self, values: &mut Values<'_>, jump: usize, ranges: &[Range<u64>]) -> bool {
        let is_elsewhere = |value: &Value| matches!(*value, Value::Constant(target) if self.image.is_code(target) && !self.is_inside(target, ranges));
        let every = values.every_of_jump(jump);
        !every.is_empty() && every.iter().all(is_elsewhere)
    }

    /// The tables that jumps to distances from an own instruction go through; these are not all where a way is not
    /// understood, nor where the address of that instruction is loaded for something else as well.
    fn distances(&self, values: &mut Values<'_>, jumps: &[(usize, u64)], stretch: &Stretch) -> Vec<DistanceJump> {
        let every: Vec<(u64, Vec<Value>)> = jumps.iter().map(|&(index, jump)| (jump, values.every_of_jump(index))).collect();
        let named = every.iter().flat_map(|(_, values)| values).filter_map(|value| match *value {
            Value::Distance(table, base) if self.is_distance_table(table, base, stretch) => Some((table, base)),
            _ => None,
        });
        let known: BTreeSet<(u64, u64)> = named.collect();
        let bases: BTreeSet<u64> = known.iter().map(|&(_, base)| base).collect();
        let holders: BTreeSet<u64> = bases.iter().flat_map(|&base| values.holders(base)).collect();
        let mut pointers = stretch.ranges.iter().flat_map(|range| self.pointers_in(range)).filter(|pointer| bases.contains(&pointer.target));
        let is_only_added = pointers.all(|pointer| holders.contains(&pointer.at)) && !values.stores_any(&bases);
        let table_of = |value: &Value| match *value {
            Value::Distance(table, base) => known.get(&(table, base)),
            Value::Target(table) => known.range((table, 0)..=(table, u64::MAX)).next(),
            _ => None,
        };
        let own = |&(jump, ref values): &(u64, Vec<Value>)| {
            let tables: BTreeSet<(u64, TableForm)> =
                values.iter().filter_map(table_of).map(|&(table, base)| (table, TableForm::Distance32 { base })).collect();
            let is_all = is_only_added && !tables.is_empty() && values.iter().all(|value| table_of(value).is_some());
            DistanceJump { jump, tables, is_all }
        };
        every.iter().map(own).collect()
    }

    fn pointers_in(&self, range: &Range<u64>) -> &[Pointer] {
        let first = self.pointers.partition_point(|pointer| pointer.at < range.start);
        let end = self.pointers.partition_point(|pointer| pointer.at < range.end);
        self.pointers.get(first..end.max(first)).unwrap_or_default()
    }

    /// Whether a table whose address the code names holds distances from an own instruction.
    fn is_distance_table(&self, table: u64, base: u64, stretch: &Stretch) -> bool {
        let is_named = self.bases.binary_search(&table).is_ok() && self.image.text_at(table).is_none();
        is_named && stretch.index_of(base).is_some() && self.targets(table, TableForm::Distance32 { base }, stretch).len() >= 2
    }

    /// Tables whose address the function takes, far from where entries are read: most of their entries lead into it.
    fn named_tables(&self, stretch: &Stretch, ranges: &[Range<u64>]) -> BTreeSet<(u64, TableForm)> {
        let form = TableForm::Relative32;
        let is_own = |table: u64| {
            let targets = self.entries(table, form);
            let own = targets.iter().filter(|&&target| self.is_inside(target, ranges)).count();
            own >= 2 && own * 2 > targets.len()
        };
        let addresses = stretch.code.iter().filter(|one| one.mnemonic() == Mnemonic::Lea).filter_map(constant_address);
        let tables: BTreeSet<u64> = addresses.filter(|&table| self.is_table(table, form, ranges)).collect();
        tables.into_iter().filter(|&table| is_own(table)).map(|table| (table, form)).collect()
    }

    /// Whether the addresses of own instructions are kept where no table is known: jumps through memory may lead to them.
    fn keeps_labels(&self, tables: &BTreeSet<(u64, TableForm)>, ranges: &[Range<u64>], stretch: &Stretch) -> bool {
        let mut own: BTreeSet<u64> = ranges.iter().flat_map(|range| self.labels_in(range)).collect();
        for &(table, form) in tables {
            if own.is_empty() {
                break;
            }
            self.targets(table, form, stretch).iter().for_each(|target| _ = own.remove(target));
        }
        !own.is_empty()
    }

    /// Own instructions behind the start of a range whose addresses are kept anywhere.
    fn labels_in(&self, range: &Range<u64>) -> impl Iterator<Item = u64> {
        self.labels.into_iter().flat_map(|labels| behind_start(labels, range)).copied()
    }

    /// Whether code loads the address of an own instruction behind the entry.
    fn loads_labels(&self, ranges: &[Range<u64>]) -> bool {
        ranges.iter().flat_map(|range| self.pointers_in(range)).any(|pointer| pointer.at != pointer.target && self.is_inside(pointer.target, ranges))
    }

    /// Whether nothing but jumps gets at the entries of a table: nothing holds its address, and what is read of it is jumped to.
    fn is_closed(&self, table: u64, stretch: &Stretch) -> bool {
        self.constants.binary_search(&table).is_err() && stretch.references(table).iter().all(|&one| is_read_to_jump(stretch, one))
    }

    /// Whether the entries of a table stay what they are in the file: they are constant, or no code has an address to write there.
    fn stays(&self, (table, form): (u64, TableForm), stretch: &Stretch) -> bool {
        let is_wide = matches!(form, TableForm::Relocated64 | TableForm::Absolute64);
        !is_wide || self.image.is_constant(table) || !self.loads_labels(&stretch.ranges)
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
            let targets = self.targets(key.0, key.1, stretch);
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
        is_at_entry: impl Fn() -> bool,
    ) -> Found {
        let is_table = |table, form| known.contains(&(table, form)) || self.is_table(table, form, ranges);
        let may_be_tail_call = || is_at_entry() && !has_notrack(self.image, jump);
        let form = self.wide_form();
        match values.of_jump(index) {
            Value::Target(table) if is_table(table, TableForm::Relative32) => Found::Table(table, TableForm::Relative32),
            Value::Entry64(table) if known.contains(&(table, form)) || self.leads_inside(table, form, ranges) => Found::Table(table, form),
            Value::Entry64(first) if may_be_tail_call() && !self.is_lone_entry(first, ranges) => Found::Unseen(true),
            Value::Slot(slot) if self.is_lone_entry(slot, ranges) => Found::Table(slot, form),
            Value::Slot(slot) if may_be_tail_call() && self.is_set_for_good(slot) => Found::Kind(JumpKind::TailCall),
            Value::Slot(_) if may_be_tail_call() => Found::Unseen(true),
            Value::Constant(target) if self.is_inside(target, ranges) => Found::Unseen(false),
            Value::Computed => Found::Unseen(false),
            Value::Constant(_) if may_be_tail_call() && self.leaves_on_every_way(values, index, ranges) => Found::Kind(JumpKind::TailCall),
            Value::Member(first) if may_be_tail_call() && !self.is_lone_entry(first, ranges) && !self.leads_inside(first, form, ranges) => {
                Found::Unseen(true)
            }
            Value::Target(_) | Value::Distance(..) => Found::Distance,
            Value::Sum(base) if ranges.iter().any(|range| range.contains(&base)) => Found::Distance,
            Value::Refused | Value::Entry64(_) | Value::Member(_) | Value::Slot(_) => Found::Kind(JumpKind::Unknown),
            Value::Entry32(_) => Found::Open,
            // The index alone is in a register: a word behind an address that leads into the function.
            Value::Unknown | Value::Sum(_) if jump.op0_kind() == OpKind::Memory && self.is_lone_entry(jump.memory_displacement64(), ranges) => {
                Found::Kind(JumpKind::Unknown)
            }
            Value::Unknown | Value::Constant(_) | Value::Part(_) | Value::Sum(_) => Found::Unseen(may_be_tail_call()),
        }
    }

    /// Tables that the function reads entries of, whatever becomes of them.
    fn loaded_tables(&self, stretch: &Stretch, values: &mut Values<'_>, ranges: &[Range<u64>]) -> BTreeSet<(u64, TableForm)> {
        let mut found = BTreeSet::new();
        for (index, one) in stretch.code.iter().enumerate().filter(|(_, one)| may_load_entry(one) || stretch.has_parts && loads_plainly(one)) {
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

    /// Whether a table whose address the code names leads into the function.
    fn is_table(&self, table: u64, form: TableForm, ranges: &[Range<u64>]) -> bool {
        self.bases.binary_search(&table).is_ok() && self.leads_inside(table, form, ranges)
    }

    /// Whether entries lead into the function: two or more entries, of which one is an own instruction.
    fn leads_inside(&self, table: u64, form: TableForm, ranges: &[Range<u64>]) -> bool {
        if self.image.text_at(table).is_some() {
            return false;
        }
        let mut targets = self.addresses(table, form).take_while(|&target| self.is_code(target)).enumerate();
        let mut is_inside = false;
        targets.any(|(index, target)| {
            is_inside |= self.is_inside(target, ranges);
            is_inside && index > 0
        })
    }

    /// Whether a word stays what it is in the file, or what the loader puts there.
    fn is_set_for_good(&self, slot: u64) -> bool {
        self.image.name_in_slot(slot).is_some() || self.image.is_constant(slot)
    }

    fn is_lone_entry(&self, slot: u64, ranges: &[Range<u64>]) -> bool {
        self.image.pointer_at(slot).is_some_and(|target| self.is_inside(target, ranges))
    }

    /// An instruction of the function, but not its entry.
    fn is_inside(&self, target: u64, ranges: &[Range<u64>]) -> bool {
        let is_start = ranges.first().is_some_and(|first| first.start == target);
        !is_start && self.starts.contains(target) && ranges.iter().any(|range| range.contains(&target))
    }

    /// Where the entries of a table of a function lead.
    fn targets(&self, table: u64, form: TableForm, stretch: &Stretch) -> Vec<u64> {
        match form {
            TableForm::Code { size } => pieces::starts(stretch, table, size),
            // What stands behind such a table would lead near its base: only own instructions tell it from entries.
            TableForm::Distance32 { .. } => self.addresses(table, form).take_while(|&target| stretch.index_of(target).is_some()).collect(),
            _ => self.entries(table, form),
        }
    }

    fn entries(&self, table: u64, form: TableForm) -> Vec<u64> {
        self.addresses(table, form).take_while(|&target| self.is_code(target)).collect()
    }

    /// What the words from the start of a table on mean, up to what may be the next one.
    fn addresses(&self, table: u64, form: TableForm) -> impl Iterator<Item = u64> + '_ {
        let behind = self.bases.partition_point(|&base| base <= table);
        let limit = self.bases.get(behind).copied().unwrap_or(u64::MAX);
        let limit = limit.min(self.image.segment_at(table).map_or(0, |segment| segment.file_range().end));
        let size = form.entry_size();
        let room = usize::try_from(limit.saturating_sub(table) / size).unwrap_or(0).min(MOST_ENTRIES);
        let is_plain = self.image.relocations_in(&(table..table.saturating_add(room as u64 * size))).is_empty();
        (0..room as u64).map_while(move |index| self.target(table, table + index * size, form, is_plain))
    }

    /// An address in text or behind its last byte: an unreachable case may lead to an empty block at the end. Without section headers it is not
    /// known where the linker's own code ends, so that cold parts of functions may lie in what is taken for it.
    fn is_code(&self, target: u64) -> bool {
        let is_text = |address| self.image.text_at(address).is_some();
        let is_executable = || self.image.segment_at(target).is_some_and(Segment::is_executable);
        is_text(target) || target.checked_sub(1).is_some_and(is_text) || self.image.sections().is_empty() && is_executable()
    }

    /// Where an entry leads; the loader fills in none of a table that `is_plain`.
    fn target(&self, table: u64, entry: u64, form: TableForm, is_plain: bool) -> Option<u64> {
        if let Some(origin) = form.origin(table) {
            let bytes = self.image.bytes_at(entry, 4)?.try_into().ok()?;
            return Some(origin.wrapping_add_signed(i64::from(i32::from_le_bytes(bytes))));
        }
        match form {
            TableForm::Code { .. } => None,
            _ if is_plain => self.image.plain_pointer_at(entry),
            _ => self.image.pointer_at(entry),
        }
    }
}

/// Says how far tables reach whose every jump is guarded.
fn bound(jumps: &mut Jumps, stretch: &Stretch) {
    let mut entered: Vec<u64> = jumps.tables.iter().flat_map(|table| &table.targets).copied().collect();
    entered.sort_unstable();
    let bounds = Bounds { stretch, entered: &entered };
    for table in jumps.tables.iter_mut().filter(|table| !matches!(table.form, TableForm::Code { .. })) {
        let most = table.jumps.iter().map(|&jump| bounds.entries(jump)).try_fold(0, |most, entries| entries.map(|entries| most.max(entries)));
        table.reach = most.filter(|&most| most > 0).map_or(UNGUARDED, |most| most.min(table.targets.len()));
    }
}

/// Whether one of the last instructions in front of a jump takes the stack pointer from a register that is not the frame's, or, in front of
/// one through a register, from memory outside of the frame, as `__builtin_longjmp` does.
fn leaves_frame(stretch: &Stretch, jump: usize) -> bool {
    let before = stretch.code.get(jump.saturating_sub(3)..jump).unwrap_or_default();
    let straight = before.iter().rev().take_while(|one| raw_flow(one) == RawFlow::Next);
    let is_through_register = stretch.code.get(jump).is_some_and(|jump| jump.op0_kind() == OpKind::Register);
    straight.into_iter().any(|one| {
        let is_set = one.mnemonic() == Mnemonic::Mov && one.op0_kind() == OpKind::Register && one.op0_register() == Register::RSP;
        is_set
            && match one.op1_kind() {
                OpKind::Register => one.op1_register() != Register::RBP,
                OpKind::Memory => is_through_register && !matches!(one.memory_base(), Register::RSP | Register::RBP),
                _ => false,
            }
    })
}

/// Whether an instruction jumps through a table, or loads an entry of it for the jump that comes next.
fn is_read_to_jump(stretch: &Stretch, address: u64) -> bool {
    let Some(index) = stretch.index_of(address) else { return false };
    let Some([one, behind @ ..]) = stretch.code.get(index..) else { return false };
    if raw_flow(one) == RawFlow::IndirectJump {
        return true;
    }
    let is_load = may_load_entry(one) && one.op0_register().is_gpr64();
    let next = behind.iter().find(|next| !matches!(next.mnemonic(), Mnemonic::Nop | Mnemonic::Endbr64));
    is_load
        && next.is_some_and(|jump| {
            raw_flow(jump) == RawFlow::IndirectJump && jump.op0_kind() == OpKind::Register && jump.op0_register() == one.op0_register()
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

/// A load of 64 bits from where one register points: so the large model reads entries where it is not optimised.
fn loads_plainly(instruction: &Instruction) -> bool {
    let has_lone_base = instruction.memory_base() != Register::None && instruction.memory_index() == Register::None;
    instruction.mnemonic() == Mnemonic::Mov
        && instruction.op0_kind() == OpKind::Register
        && instruction.op1_kind() == OpKind::Memory
        && instruction.op0_register().is_gpr64()
        && has_lone_base
        && instruction.memory_displacement64() == 0
}
