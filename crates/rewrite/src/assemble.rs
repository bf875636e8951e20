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
    let mut fragments = Vec::with_capacity(parts.len());
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
        arranged.push((place.sizes, place.length));
    }
    let mut copy = FunctionCopy { fragments, tables: Vec::new(), frames: Vec::new() };
    for ((index, part), (sizes, length)) in parts.iter().enumerate().zip(&arranged) {
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let mut writer = Writer { part, number, copy: &copy, tables: &body.tables, probed, written: Written::default() };
        writer.write(sizes, *length)?;
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
fn table_copy(copy: &FunctionCopy, parts: &[Part<'_>], body: &Body, table: &JumpTable, arrival: impl Fn(u64) -> Option<u16>) -> TableCopy {
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
    /// Bytes of the copy, at least.
    length: u32,
    /// Of each item.
    sizes: Vec<Size>,
}

/// What an item takes in the copy.
struct Size {
    inserted: Inserted,
    /// Whether a branch has more than its eight bits.
    wide: bool,
    /// Where it ends.
    end: u32,
}

impl Size {
    /// Whether the copy begins with the original's bytes.
    const fn is_copied(&self, item: &Item) -> bool {
        match item.form {
            Form::Short { condition } => !self.wide && (condition.is_none() || self.inserted.taken == 0),
            Form::Near { condition } => condition.is_none() || self.inserted.taken == 0,
            _ => true,
        }
    }
}

/// Chooses sizes until every short branch reaches its target.
fn place(part: &Part<'_>, probed: Option<Probed<'_>>) -> Result<Arranged, Reason> {
    let limit = u32::MAX / 4;
    if part.bytes.len() as u64 > u64::from(limit) {
        return Err(Reason::TooLarge);
    }
    let size = |item| Size { inserted: Inserted::at(item, probed), wide: is_wide_at_once(part, item), end: 0 };
    let mut sizes: Vec<Size> = part.items.iter().map(size).collect();
    let mut labels = Vec::new();
    loop {
        let length = arrange(part, &mut sizes, &mut labels);
        let mut has_grown = false;
        for (item, own) in part.items.iter().zip(&mut sizes) {
            let is_short = matches!(item.form, Form::Short { .. } | Form::Counter) && own.inserted.taken == 0;
            if is_short && !own.wide && !reaches(part, item, &labels, own.end) {
                own.wide = true;
                has_grown = true;
            }
        }
        if !has_grown {
            labels.shrink_to_fit();
            return Ok(Arranged { labels, sizes, length });
        }
    }
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

/// Lists where distances change, and where in the copy each item ends; answers the bytes of the copy, but for a jump behind
/// its end.
fn arrange(part: &Part<'_>, sizes: &mut [Size], labels: &mut Vec<Label>) -> u32 {
    labels.clear();
    let mut grown = 0;
    for (item, Size { inserted: own, wide, end: behind }) in part.items.iter().zip(sizes) {
        if own.head != 0 {
            let front = item.at + grown;
            grown += own.head;
            labels.push(Label { from: item.at, front, to: item.at + grown });
        }
        let length = u32::from(item.length);
        let size = own.before + size(item, *wide, own.taken);
        if size != length {
            grown += size;
            grown -= length;
            let end = item.at + length;
            labels.push(Label { from: end, front: end + grown, to: end + grown });
        }
        *behind = item.at + length + grown;
    }
    u32::try_from(part.bytes.len()).unwrap_or(u32::MAX).saturating_add(grown)
}

/// Whether a short branch within its part that ends at this offset of the copy reaches its target. Behind it something may be
/// inserted on the way that falls through, which is no part of it.
fn reaches(part: &Part<'_>, item: &Item, labels: &[Label], end: u32) -> bool {
    let target = u32::try_from(item.target - part.range.start).unwrap_or(u32::MAX);
    i8::try_from(i64::from(label(labels, target)) - i64::from(end)).is_ok()
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
        Form::Counter if taken != 0 => length + over(taken) + taken + JUMP,
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
    fn write(&mut self, sizes: &[Size], length: u32) -> Result<(), Reason> {
        let behind = u32::from(self.part.runs_over);
        let is_near = |item: &Item| matches!(item.form, Form::Short { .. } | Form::Counter | Form::Near { .. });
        let stays = |item: &Item| is_near(item) && !item.is_exit && self.part.range.contains(&item.target);
        let has_field =
            |(item, own): (&Item, &Size)| !stays(item) && (own.wide || !matches!(item.form, Form::Plain | Form::Short { .. } | Form::Counter));
        self.written.bytes.reserve_exact((length + behind * JUMP) as usize);
        self.written.fixups.reserve_exact(behind as usize + self.part.items.iter().zip(sizes).filter(|one| has_field(*one)).count());
        if self.probed.is_some() {
            self.written.sites.reserve_exact(self.part.items.iter().map(|item| (item.places.1 - item.places.0) as usize).sum());
        }
        let mut done = 0;
        for (item, own) in self.part.items.iter().zip(sizes) {
            let end = item.at + u32::from(item.length);
            let kept = if own.is_copied(item) { end } else { item.at };
            if item.places.0 == item.places.1 {
                self.copy_bytes(done, kept);
            } else {
                self.copy_bytes(done, item.at);
                self.ways_to(item);
                self.insert_all(item, Slot::Before, size(item, own.wide, own.inserted.taken));
                self.copy_bytes(item.at, kept);
            }
            self.item(item, own)?;
            done = end;
        }
        self.copy_bytes(done, u32::try_from(self.part.bytes.len()).unwrap_or(u32::MAX));
        if self.part.runs_over {
            self.jump(self.code(self.part.range.end));
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

    /// Writes an instruction whose bytes are not copied, and the field of one whose are.
    fn item(&mut self, item: &Item, own: &Size) -> Result<(), Reason> {
        let (wide, taken) = (own.wide, own.inserted.taken);
        match item.form {
            Form::Near { condition: Some(code) } | Form::Short { condition: Some(code) } if taken != 0 => {
                self.skip_conditionally(code ^ 1, taken);
                self.taken_side(item)?;
            }
            Form::Counter if taken != 0 => {
                self.last_byte(over(taken) as u8);
                self.skip(taken);
                self.taken_side(item)?;
            }
            Form::Plain => {}
            Form::Memory { field, what } => self.memory(item, field, what)?,
            Form::Call | Form::Near { .. } => {
                let target = self.branch_target(item)?;
                self.field_at_end(target);
            }
            Form::Short { condition: Some(code) } if wide => {
                let target = self.branch_target(item)?;
                self.written.bytes.extend([0x0f, 0x80 | code, 0, 0, 0, 0]);
                self.field_at_end(target);
            }
            Form::Short { condition: None } if wide => {
                let target = self.branch_target(item)?;
                self.jump(target);
            }
            Form::Counter if wide => {
                let target = self.branch_target(item)?;
                self.last_byte(SHORT as u8);
                self.written.bytes.extend([0xeb, JUMP as u8]);
                self.jump(target);
            }
            Form::Short { .. } | Form::Counter => self.short(item)?,
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

    /// A branch within its fragment, at the distance that the labels give.
    fn short(&mut self, item: &Item) -> Result<(), Reason> {
        let Target::Label { offset, .. } = self.branch_target(item)? else { return Err(Reason::StrayBranch) };
        let distance = i64::from(offset) - self.written.bytes.len() as i64;
        let distance = i8::try_from(distance).map_err(|_| Reason::StrayBranch)?;
        self.last_byte(distance.cast_unsigned());
        Ok(())
    }

    fn last_byte(&mut self, value: u8) {
        if let Some(last) = self.written.bytes.last_mut() {
            *last = value;
        }
    }

    fn memory(&mut self, item: &Item, field: u8, what: Reference) -> Result<(), Reason> {
        let (is_absolute, target) = match what {
            Reference::Data => (false, Target::Data(item.target)),
            Reference::Table(table) => (false, self.table(table, item.target)?),
            Reference::AbsoluteTable(table) => (true, self.table(table, item.target)?),
        };
        let tail = item.length - field;
        self.written.fixups.push(Fixup { at: self.position() - u32::from(tail), tail, is_absolute, target });
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
        self.field_at_end(target);
    }

    /// Within a fragment distances are known: what is left are fields that depend on addresses.
    fn field_at_end(&mut self, target: Target) {
        let end = self.position();
        let at = end - 4;
        if let Target::Label { part, offset } = target
            && part == self.number
            && let Some(field) = self.written.bytes.last_chunk_mut()
        {
            *field = offset.wrapping_sub(end).to_le_bytes();
            return;
        }
        self.written.fixups.push(Fixup { at, tail: 4, is_absolute: false, target });
    }

    fn position(&self) -> u32 {
        u32::try_from(self.written.bytes.len()).unwrap_or(u32::MAX)
    }
}
