//! From taken-apart instructions to fragments: probes are inserted, branches get their final size.
//!
//! ```text
//! in front of an instruction    what falls in passes   jmp over the arrivals   arrival 0   jmp   arrival 1 …
//!                               (each arrival at an `endbr64` begins with one of its own)
//! then, where branches lead     what everybody passes   the instruction
//! a conditional jump            the opposite condition over: what is passed when it is taken, jmp
//! ```
//! Branches start as short as the original has them and only grow, so that the rounds end; a function needs
//! a handful. Near branches are never shortened: their bytes are copied.

use smallvec::SmallVec;
use tare_code::{Body, ENDBR64, JumpTable};
use tare_image::Image;

use crate::copies::{Arrival, Fixup, Fragment, FunctionCopy, Label, Site, TableCopy, Target, label};
use crate::decode::{Form, Item, Part, Reference};
use crate::insertion::{Insertion, Point};
use crate::points::{Placed, Points, Slot, Way};
use crate::reason::Reason;
use crate::unwind;

/// Bytes of `jmp` with a 32-bit displacement.
const JUMP: u32 = 5;
/// Bytes of a jump with an 8-bit displacement.
const SHORT: u32 = 2;

/// What is inserted into a copy; nothing in the clean one.
#[derive(Clone, Copy)]
pub(crate) struct Probed<'a> {
    pub(crate) points: &'a Points,
    /// One for each place.
    pub(crate) insertions: &'a [Insertion],
}

impl<'a> Probed<'a> {
    fn at(self, item: &Item) -> impl Iterator<Item = (u32, &'a Placed, &'a Insertion)> {
        let places = item.places.0 as usize..item.places.1 as usize;
        let placed = self.points.placed.get(places.clone()).unwrap_or_default();
        let insertions = self.insertions.get(places).unwrap_or_default();
        (item.places.0..).zip(placed).zip(insertions).map(|((index, placed), insertion)| (index, placed, insertion))
    }
}

/// Makes one copy of a function.
pub(crate) fn assemble(image: &Image<'_>, parts: &[Part<'_>], body: &Body, probed: Option<Probed<'_>>) -> Result<FunctionCopy, Reason> {
    let mut fragments = SmallVec::with_capacity(parts.len());
    let mut arranged = Vec::with_capacity(parts.len());
    for part in parts {
        let place = place(part, probed)?;
        fragments.push(Fragment {
            original: part.range.clone(),
            bytes: Vec::new(),
            length: 0,
            fixups: Vec::new(),
            sites: Vec::new(),
            labels: place.labels,
            arrivals: Vec::new(),
            jumps: Vec::new(),
            address: 0,
        });
        arranged.push((place.changes, place.length));
    }
    let mut copy = FunctionCopy { fragments, tables: Vec::new(), frames: SmallVec::new() };
    for ((index, part), (changes, length)) in parts.iter().enumerate().zip(&arranged) {
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let mut writer = Writer { part, number, copy: &copy, tables: &body.tables, probed, written: Written::default() };
        writer.write(changes, *length)?;
        let written = writer.written;
        if let Some(fragment) = copy.fragments.get_mut(index) {
            fragment.length = u32::try_from(written.bytes.len()).unwrap_or(u32::MAX);
            fragment.bytes = written.bytes;
            fragment.fixups = written.fixups;
            fragment.sites = written.sites;
            fragment.arrivals = written.arrivals;
            fragment.jumps = written.jumps;
        }
    }
    let arrival = |way, at| probed.and_then(|probed| probed.points.arrival(way, at));
    copy.tables =
        (0..).zip(&body.tables).map(|(number, table)| table_copy(&copy, parts, body, table, |at| arrival(Way::Table(number), at))).collect();
    copy.frames = unwind::frames::convert(image, &copy, probed)?;
    Ok(copy)
}

/// Entries that lead to instructions of the function lead to their copies, all others where they did.
fn table_copy(copy: &FunctionCopy, parts: &[Part<'_>], body: &Body, table: &JumpTable, arrival: impl Fn(u64) -> Option<u32>) -> TableCopy {
    let is_instruction = |address: u64| {
        let part = parts.iter().find(|part| part.range.contains(&address));
        let own = part.and_then(|part| body.instructions.get(part.instructions.clone())).unwrap_or_default();
        own.binary_search_by_key(&address, |one| one.address).is_ok()
    };
    let target = |&address: &u64| {
        let label = copy.arrival(address, arrival(address)).filter(|_| is_instruction(address));
        label.unwrap_or(Target::Data(address))
    };
    TableCopy { original: table.address, form: table.form, targets: table.targets.iter().map(target).collect(), address: 0 }
}

struct Arranged {
    labels: Vec<Label>,
    /// Bytes of the copy, but for a jump behind its end.
    length: u32,
    changes: Vec<Change>,
}

/// An item that takes more than its own bytes in the copy: few do.
struct Change {
    /// Index among the part's items.
    item: u32,
    inserted: Inserted,
    /// Whether a branch has more than its eight bits.
    wide: bool,
    /// How much longer the copy is than the original at the item's end.
    grown: u32,
}

impl Change {
    /// Whether the copy ends with the original's bytes.
    const fn is_copied(&self) -> bool {
        !self.wide && self.inserted.taken == 0
    }
}

/// The items of a part, each with its change if it has one, and with how much longer the copy is at its end.
fn with_changes<'a>(part: &'a Part<'_>, changes: &'a [Change]) -> impl Iterator<Item = (u32, &'a Item, Option<&'a Change>, u32)> {
    let mut changes = changes.iter().peekable();
    let mut grown = 0;
    (0..).zip(&part.items).map(move |(index, item)| {
        let own = changes.next_if(|change| change.item == index);
        grown = own.map_or(grown, |change| change.grown);
        (index, item, own, grown)
    })
}

/// Chooses sizes until every short branch reaches its target.
fn place(part: &Part<'_>, probed: Option<Probed<'_>>) -> Result<Arranged, Reason> {
    let limit = u32::MAX / 4;
    if part.bytes.len() as u64 > u64::from(limit) {
        return Err(Reason::TooLarge);
    }
    let mut changes: Vec<Change> = Vec::new();
    for (index, item) in (0..).zip(&part.items) {
        let wide = is_wide_at_once(part, item);
        if wide || item.places.0 != item.places.1 {
            changes.push(Change { item: index, inserted: Inserted::at(item, probed), wide, grown: 0 });
        }
    }
    let mut labels = Vec::with_capacity(2 * changes.len());
    loop {
        let grown = arrange(part, &mut changes, &mut labels);
        let short = too_short(part, &changes, &labels);
        if short.is_empty() {
            let length = u32::try_from(part.bytes.len()).unwrap_or(u32::MAX).saturating_add(grown);
            return Ok(Arranged { labels, length, changes });
        }
        widen(&mut changes, &short);
    }
}

/// Short branches that do not reach their targets.
fn too_short(part: &Part<'_>, changes: &[Change], labels: &[Label]) -> Vec<u32> {
    let mut found = Vec::new();
    let mut level = Level { labels, next: 0 };
    for (index, item, own, grown) in with_changes(part, changes) {
        let is_short = matches!(item.form, Form::Short { .. } | Form::Counter) && own.is_none_or(Change::is_copied);
        // Behind it something may be inserted on the way that falls through, which is no part of it.
        if is_short && !level.keeps_distance(part, item) && !reaches(part, item, labels, item.end() + grown) {
            found.push(index);
        }
    }
    found
}

/// Makes the branches with these indices among the items wide.
fn widen(changes: &mut Vec<Change>, short: &[u32]) {
    let known = changes.len();
    for &item in short {
        match changes.get_mut(..known).and_then(|changes| changes.iter_mut().find(|change| change.item == item)) {
            Some(change) => change.wide = true,
            None => changes.push(Change { item, inserted: Inserted::default(), wide: true, grown: 0 }),
        }
    }
    changes.sort_by_key(|change| change.item);
}

/// Where distances stay as they are, asked in the order of the items.
struct Level<'a> {
    labels: &'a [Label],
    /// The first label behind the item that is asked for.
    next: usize,
}

impl Level<'_> {
    /// Whether nothing between a branch of the part and its target within it changes the distance.
    fn keeps_distance(&mut self, part: &Part<'_>, item: &Item) -> bool {
        let target = offset_of_target(part, item);
        while self.labels.get(self.next).is_some_and(|label| label.from <= item.at) {
            self.next += 1;
        }
        let before = self.next.checked_sub(1).and_then(|last| self.labels.get(last));
        let is_level_behind = self.labels.get(self.next).is_none_or(|label| label.from > target.max(item.end()));
        is_level_behind && before.is_none_or(|label| label.from <= target.min(item.at))
    }
}

fn offset_of_target(part: &Part<'_>, item: &Item) -> u32 {
    u32::try_from(item.target - part.range.start).unwrap_or(u32::MAX)
}

/// Bytes that are inserted at an instruction.
#[derive(Clone, Copy, Default)]
struct Inserted {
    /// On the ways to it.
    head: u32,
    before: u32,
    taken: u32,
}

impl Inserted {
    fn at(item: &Item, probed: Option<Probed<'_>>) -> Self {
        let mut inserted = Self::default();
        let Some(probed) = probed.filter(|_| item.places.0 != item.places.1) else { return inserted };
        let mut last = None;
        for (_, placed, insertion) in probed.at(item) {
            let length = u32::try_from(insertion.bytes.len()).unwrap_or(u32::MAX);
            match placed.slot {
                Slot::Fall => inserted.head += length,
                Slot::Arrival(number) => {
                    inserted.head += length;
                    if last != Some(number) {
                        inserted.head += if last.is_some() || item.is_fallen_into { JUMP } else { 0 };
                        inserted.head += if item.is_mark { ENDBR64.len() as u32 } else { 0 };
                    }
                    last = Some(number);
                }
                Slot::Before => inserted.before += length,
                Slot::Taken => inserted.taken += length,
            }
        }
        inserted
    }
}

/// Lists where distances change; answers how much longer the copy is, but for a jump behind its end.
fn arrange(part: &Part<'_>, changes: &mut [Change], labels: &mut Vec<Label>) -> u32 {
    labels.clear();
    let mut grown = 0;
    for change in changes {
        let Some(item) = part.items.get(change.item as usize) else { continue };
        let own = change.inserted;
        if own.head != 0 {
            let front = item.at + grown;
            grown += own.head;
            labels.push(Label { from: item.at, front, to: item.at + grown });
        }
        let length = u32::from(item.length);
        let size = own.before + size(item, change.wide, own.taken);
        if size != length {
            grown += size;
            grown -= length;
            let end = item.end();
            labels.push(Label { from: end, front: end + grown, to: end + grown });
        }
        change.grown = grown;
    }
    grown
}

/// Whether a short branch within its part that ends at this offset of the copy reaches its target.
fn reaches(part: &Part<'_>, item: &Item, labels: &[Label], end: u32) -> bool {
    i8::try_from(i64::from(label(labels, offset_of_target(part, item))) - i64::from(end)).is_ok()
}

fn is_wide_at_once(part: &Part<'_>, item: &Item) -> bool {
    matches!(item.form, Form::Short { .. } | Form::Counter) && !part.range.contains(&item.target)
}

/// Bytes of an instruction's copy, with so many that are inserted on its taken side.
fn size(item: &Item, wide: bool, taken: u32) -> u32 {
    let length = u32::from(item.length);
    match item.form {
        Form::Near { condition: Some(_) } | Form::Short { condition: Some(_) } if taken != 0 => {
            over(taken) + u32::from(!is_short(taken)) + taken + JUMP
        }
        Form::Counter | Form::Transaction if taken != 0 => length + over(taken) + taken + JUMP,
        Form::Short { condition: Some(_) } if wide => JUMP + 1,
        Form::Short { condition: None } if wide => JUMP,
        Form::Counter if wide => length + SHORT + JUMP,
        _ => length,
    }
}

/// Whether a short jump leads over a taken side.
const fn is_short(taken: u32) -> bool {
    taken + JUMP <= 0x7f
}

/// Bytes of the unconditional jump over a taken side; a conditional one takes a byte more where it is not short.
const fn over(taken: u32) -> u32 {
    if is_short(taken) { SHORT } else { JUMP }
}

#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    fixups: Vec<Fixup>,
    sites: Vec<Site>,
    arrivals: Vec<Arrival>,
    jumps: Vec<u32>,
}

struct Writer<'a, 'data> {
    part: &'a Part<'data>,
    /// Which of the function's parts it is.
    number: u32,
    copy: &'a FunctionCopy,
    tables: &'a [JumpTable],
    probed: Option<Probed<'a>>,
    written: Written,
}

impl Writer<'_, '_> {
    fn write(&mut self, changes: &[Change], length: u32) -> Result<(), Reason> {
        self.reserve(changes, length);
        let mut done = 0;
        for change in changes {
            let Some(item) = self.part.items.get(change.item as usize) else { continue };
            self.copy_bytes(done, item.at);
            self.ways_to(item);
            self.insert_all(item, Slot::Before, size(item, change.wide, change.inserted.taken));
            if change.is_copied() || matches!(item.form, Form::Counter | Form::Transaction) {
                self.copy_bytes(item.at, item.end());
            }
            if !change.is_copied() {
                self.changed(item, change)?;
            }
            done = item.end();
        }
        self.copy_bytes(done, u32::try_from(self.part.bytes.len()).unwrap_or(u32::MAX));
        self.fields(changes)?;
        if self.part.runs_over {
            self.jump(self.code(self.part.range.end));
        }
        Ok(())
    }

    /// Makes room for what the copy has, and hardly more.
    fn reserve(&mut self, changes: &[Change], length: u32) {
        let behind = u32::from(self.part.runs_over);
        let wide = changes.iter().filter(|change| change.wide || change.inserted.taken != 0).count();
        self.written.bytes.reserve_exact((length + behind * JUMP) as usize);
        self.written.fixups.reserve_exact(self.part.fields + wide + behind as usize);
        if self.probed.is_some() {
            let changed = changes.iter().filter_map(|change| self.part.items.get(change.item as usize));
            self.written.sites.reserve_exact(changed.map(|item| (item.places.1 - item.places.0) as usize).sum());
        }
    }

    /// The fields of all instructions whose bytes were copied.
    fn fields(&mut self, changes: &[Change]) -> Result<(), Reason> {
        let (part, copy) = (self.part, self.copy);
        let own = copy.fragments.get(self.number as usize).map_or(&[][..], |fragment| &fragment.labels);
        let mut level = Level { labels: own, next: 0 };
        for (_, item, change, grown) in with_changes(part, changes) {
            if change.is_some_and(|change| !change.is_copied()) {
                continue;
            }
            let end = item.end() + grown;
            match item.form {
                Form::Plain => {}
                Form::Memory { field, what } => self.memory(item, end, field, what)?,
                Form::Call => self.field(end, Target::Code(item.target)),
                Form::Near { .. } | Form::Transaction if item.is_exit || !part.range.contains(&item.target) => {
                    let target = self.branch_target(item)?;
                    self.field(end, target);
                }
                Form::Near { .. } | Form::Short { .. } | Form::Counter | Form::Transaction if level.keeps_distance(part, item) => {}
                Form::Near { .. } | Form::Transaction => {
                    self.field(end, Target::Label { part: self.number, offset: label(own, offset_of_target(part, item)) })
                }
                Form::Short { .. } | Form::Counter => self.short(end, label(own, offset_of_target(part, item)))?,
            }
        }
        Ok(())
    }

    /// What is inserted on the ways to an instruction.
    fn ways_to(&mut self, item: &Item) {
        let Some(probed) = self.probed.filter(|_| item.places.0 != item.places.1) else { return };
        let here = self.code(self.part.range.start + u64::from(item.at));
        let mut last = None;
        for (index, placed, insertion) in probed.at(item) {
            match placed.slot {
                Slot::Fall => self.insert(index, placed, insertion, 0),
                Slot::Arrival(number) => {
                    if last != Some(number) {
                        if last.is_some() || item.is_fallen_into {
                            self.written.jumps.push(self.position());
                            self.jump(here);
                        }
                        let to = self.position();
                        self.written.arrivals.push(Arrival { from: item.at, number, to });
                        if item.is_mark {
                            self.written.bytes.extend(ENDBR64);
                        }
                        last = Some(number);
                    }
                    self.insert(index, placed, insertion, 0);
                }
                Slot::Before | Slot::Taken => {}
            }
        }
    }

    /// What everybody passes in front of an instruction of this length, or what is passed when its jump is taken.
    fn insert_all(&mut self, item: &Item, slot: Slot, length: u32) {
        let Some(probed) = self.probed.filter(|_| item.places.0 != item.places.1) else { return };
        for (index, placed, insertion) in probed.at(item).filter(|(_, placed, _)| placed.slot == slot) {
            self.insert(index, placed, insertion, length);
        }
    }

    fn insert(&mut self, index: u32, placed: &Placed, insertion: &Insertion, length: u32) {
        if insertion.bytes.is_empty() {
            return;
        }
        let at = self.position();
        self.written.bytes.extend_from_slice(&insertion.bytes);
        let end = self.position();
        let behind = if placed.place.point == Point::FunctionExit { end + length } else { end };
        let point = placed.place.point;
        self.written.sites.push(Site { at, length: end - at, end: behind, point, slot: placed.slot, region: placed.region, insertion: index });
    }

    /// Writes a branch with something on its taken side, or with more than eight bits.
    fn changed(&mut self, item: &Item, change: &Change) -> Result<(), Reason> {
        let taken = change.inserted.taken;
        match item.form {
            Form::Near { condition: Some(code) } | Form::Short { condition: Some(code) } if taken != 0 => {
                self.skip_conditionally(code ^ 1, taken);
                self.taken_side(item)?;
            }
            Form::Counter | Form::Transaction if taken != 0 => {
                match item.form {
                    Form::Counter => self.end_with([over(taken) as u8]),
                    _ => self.end_with(over(taken).to_le_bytes()),
                }
                self.skip(taken);
                self.taken_side(item)?;
            }
            Form::Short { condition: Some(code) } => {
                let target = self.branch_target(item)?;
                self.written.bytes.extend([0x0f, 0x80 | code, 0, 0, 0, 0]);
                self.field(self.position(), target);
            }
            Form::Short { condition: None } => {
                let target = self.branch_target(item)?;
                self.jump(target);
            }
            Form::Counter => {
                let target = self.branch_target(item)?;
                self.end_with([SHORT as u8]);
                self.written.bytes.extend([0xeb, JUMP as u8]);
                self.jump(target);
            }
            // Such have no taken side, and are as wide as they get.
            Form::Plain | Form::Memory { .. } | Form::Call | Form::Near { .. } | Form::Transaction => return Err(Reason::StrayBranch),
        }
        Ok(())
    }

    fn taken_side(&mut self, item: &Item) -> Result<(), Reason> {
        let target = self.branch_target(item)?;
        self.insert_all(item, Slot::Taken, JUMP);
        self.jump(target);
        Ok(())
    }

    /// A jump with this condition over a taken side.
    fn skip_conditionally(&mut self, code: u8, taken: u32) {
        if is_short(taken) {
            self.written.bytes.extend([0x70 | code, (taken + JUMP) as u8]);
        } else {
            self.written.bytes.extend([0x0f, 0x80 | code]);
            self.written.bytes.extend((taken + JUMP).to_le_bytes());
        }
    }

    fn skip(&mut self, taken: u32) {
        if is_short(taken) {
            self.written.bytes.extend([0xeb, (taken + JUMP) as u8]);
        } else {
            self.written.bytes.push(0xe9);
            self.written.bytes.extend((taken + JUMP).to_le_bytes());
        }
    }

    fn copy_bytes(&mut self, start: u32, end: u32) {
        let bytes = self.part.bytes.get(start as usize..end as usize).unwrap_or_default();
        self.written.bytes.extend_from_slice(bytes);
    }

    /// The distance of a short branch that ends at an offset from another one.
    fn short(&mut self, end: u32, target: u32) -> Result<(), Reason> {
        let distance = i8::try_from(i64::from(target) - i64::from(end)).map_err(|_| Reason::StrayBranch)?;
        let place = self.written.bytes.get_mut(end as usize - 1).ok_or(Reason::StrayBranch)?;
        *place = distance.cast_unsigned();
        Ok(())
    }

    /// Overwrites the last bytes.
    fn end_with<const N: usize>(&mut self, bytes: [u8; N]) {
        if let Some(last) = self.written.bytes.last_chunk_mut() {
            *last = bytes;
        }
    }

    /// The field of an instruction that ends at an offset and refers to memory.
    fn memory(&mut self, item: &Item, end: u32, field: u8, what: Reference) -> Result<(), Reason> {
        let (is_absolute, target) = match what {
            Reference::Data => (false, Target::Data(item.target)),
            Reference::Label => (false, self.copy.label(item.target).ok_or(Reason::LabelAddress)?),
            Reference::Table(table) => (false, self.table(table, item.target)?),
            Reference::AbsoluteTable(table) => (true, self.table(table, item.target)?),
        };
        let tail = item.length - field;
        self.written.fixups.push(Fixup { at: end - u32::from(tail), tail, is_absolute, target });
        Ok(())
    }

    fn table(&self, table: u32, target: u64) -> Result<Target, Reason> {
        let address = self.tables.get(table as usize).ok_or(Reason::TableReference)?.address;
        let delta = i32::try_from(target.wrapping_sub(address).cast_signed()).map_err(|_| Reason::TableReference)?;
        Ok(Target::Table { table, delta })
    }

    /// Where a call or branch goes: calls leave by the callee's entry, even their own; branches may stay within.
    fn branch_target(&self, item: &Item) -> Result<Target, Reason> {
        if item.form == Form::Call || item.is_exit {
            return Ok(Target::Code(item.target));
        }
        self.copy.label(item.target).ok_or(Reason::StrayBranch)
    }

    /// A place that control goes to, in this copy where it is one of its own.
    fn code(&self, address: u64) -> Target {
        self.copy.label(address).unwrap_or(Target::Code(address))
    }

    fn jump(&mut self, target: Target) {
        self.written.bytes.extend([0xe9, 0, 0, 0, 0]);
        self.field(self.position(), target);
    }

    /// The four bytes in front of an offset: within a fragment distances are known, what is left are fields that depend on addresses.
    fn field(&mut self, end: u32, target: Target) {
        let at = end - 4;
        if let Target::Label { part, offset } = target
            && part == self.number
            && let Some(field) = self.written.bytes.get_mut(at as usize..end as usize)
        {
            field.copy_from_slice(&offset.wrapping_sub(end).to_le_bytes());
            return;
        }
        self.written.fixups.push(Fixup { at, tail: 4, is_absolute: false, target });
    }

    fn position(&self) -> u32 {
        u32::try_from(self.written.bytes.len()).unwrap_or(u32::MAX)
    }
}
