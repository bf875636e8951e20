//! From taken-apart instructions to fragments: probe sites are inserted, branches get their final size.
//!
//! Branches start as short as the original has them and only grow, so that the rounds end; a function needs
//! a handful. Near branches are never shortened: their bytes are copied.

use tare_code::{Body, JumpTable};
use tare_image::Image;

use crate::copies::{Fixup, Fragment, FunctionCopy, Site, SiteKind, TableCopy, Target, label};
use crate::decode::{Form, Item, Part, Reference};
use crate::reason::Reason;
use crate::unwind;

/// Which probes a copy gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Probes {
    /// None: the clean copy.
    None,
    /// At the entry, of this kind, and at every exit.
    All(SiteKind),
}

/// Bytes of `jmp` with a 32-bit displacement.
const JUMP: u32 = 5;
/// Bytes of the short jump over a conditional exit's site.
const OVER: u32 = 2;
const EXIT: u32 = SiteKind::Exit.length() as u32;

/// Makes one copy of a function.
pub(crate) fn assemble(image: &Image<'_>, parts: &[Part<'_>], body: &Body, probes: Probes) -> Result<FunctionCopy, Reason> {
    let mut fragments = Vec::with_capacity(parts.len());
    let mut wide = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let head = match probes {
            Probes::All(kind) if index == 0 => u32::try_from(kind.length()).unwrap_or(0),
            _ => 0,
        };
        let place = place(part, head, probes != Probes::None)?;
        fragments.push(Fragment {
            original: part.range.clone(),
            bytes: Vec::new(),
            fixups: Vec::new(),
            sites: Vec::new(),
            labels: place.labels,
            address: 0,
        });
        wide.push(place.wide);
    }
    let mut copy = FunctionCopy { fragments, tables: Vec::new(), frames: Vec::new() };
    for ((index, part), wide) in parts.iter().enumerate().zip(&wide) {
        let mut writer = Writer { part, copy: &copy, tables: &body.tables, probes, written: Written::default() };
        writer.write(index == 0, wide)?;
        let written = writer.written;
        if let Some(fragment) = copy.fragments.get_mut(index) {
            fragment.bytes = written.bytes;
            fragment.fixups = written.fixups;
            fragment.sites = written.sites;
        }
    }
    copy.tables = body.tables.iter().map(|table| table_copy(&copy, parts, body, table)).collect();
    copy.frames = unwind::frames::convert(image, &copy)?;
    Ok(copy)
}

/// Entries that lead to instructions of the function lead to their copies, all others where they did.
fn table_copy(copy: &FunctionCopy, parts: &[Part<'_>], body: &Body, table: &JumpTable) -> TableCopy {
    let is_instruction = |address: u64| {
        let part = parts.iter().find(|part| part.range.contains(&address));
        let own = part.and_then(|part| body.instructions.get(part.instructions.clone())).unwrap_or_default();
        own.binary_search_by_key(&address, |one| one.address).is_ok()
    };
    let target = |&address: &u64| {
        let label = copy.label(address).filter(|_| is_instruction(address));
        label.unwrap_or(Target::Data(address))
    };
    TableCopy { original: table.address, form: table.form, targets: table.targets.iter().map(target).collect(), address: 0 }
}

struct Placed {
    labels: Vec<(u32, u32)>,
    wide: Vec<bool>,
}

/// Chooses sizes until every short branch reaches its target.
fn place(part: &Part<'_>, head: u32, has_probes: bool) -> Result<Placed, Reason> {
    let limit = u32::MAX / 4;
    if part.bytes.len() as u64 > u64::from(limit) {
        return Err(Reason::TooLarge);
    }
    let mut wide: Vec<bool> = part.items.iter().map(|item| is_wide_at_once(part, item, has_probes)).collect();
    let mut labels = Vec::new();
    loop {
        arrange(part, head, has_probes, &wide, &mut labels);
        let mut has_grown = false;
        for (item, wide) in part.items.iter().zip(&mut wide) {
            if !*wide && matches!(item.form, Form::Short { .. } | Form::Counter) && !reaches(part, item, &labels) {
                *wide = true;
                has_grown = true;
            }
        }
        if !has_grown {
            return Ok(Placed { labels, wide });
        }
    }
}

/// Lists where distances change.
fn arrange(part: &Part<'_>, head: u32, has_probes: bool, wide: &[bool], labels: &mut Vec<(u32, u32)>) {
    labels.clear();
    labels.push((0, head));
    let mut grown = head;
    for (item, &wide) in part.items.iter().zip(wide) {
        let length = u32::from(item.length);
        let size = size(item, wide, has_probes);
        if size != length {
            grown += size;
            grown -= length;
            labels.push((item.at + length, item.at + length + grown));
        }
    }
}

/// Whether a short branch within its part reaches its target.
fn reaches(part: &Part<'_>, item: &Item, labels: &[(u32, u32)]) -> bool {
    let target = u32::try_from(item.target - part.range.start).unwrap_or(u32::MAX);
    let end = label(labels, item.at + u32::from(item.length));
    i8::try_from(i64::from(label(labels, target)) - i64::from(end)).is_ok()
}

fn is_wide_at_once(part: &Part<'_>, item: &Item, has_probes: bool) -> bool {
    match item.form {
        Form::Short { .. } => (item.is_exit && has_probes) || !part.range.contains(&item.target),
        Form::Counter => !part.range.contains(&item.target),
        _ => false,
    }
}

/// Bytes of an instruction's copy, its site included.
fn size(item: &Item, wide: bool, has_probes: bool) -> u32 {
    let length = u32::from(item.length);
    let is_exit = item.is_exit && has_probes;
    match item.form {
        Form::Near { condition: Some(_) } | Form::Short { condition: Some(_) } if is_exit => OVER + EXIT + JUMP,
        Form::Short { condition: Some(_) } if wide => JUMP + 1,
        Form::Short { condition: None } if is_exit => EXIT + JUMP,
        Form::Short { condition: None } if wide => JUMP,
        Form::Counter if wide => length + OVER + JUMP,
        _ if is_exit => EXIT + length,
        _ => length,
    }
}

#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    fixups: Vec<Fixup>,
    sites: Vec<Site>,
}

struct Writer<'a, 'data> {
    part: &'a Part<'data>,
    copy: &'a FunctionCopy,
    tables: &'a [JumpTable],
    probes: Probes,
    written: Written,
}

impl Writer<'_, '_> {
    fn write(&mut self, is_entry: bool, wide: &[bool]) -> Result<(), Reason> {
        self.written.bytes.reserve(self.part.bytes.len() + self.part.bytes.len() / 8 + 32);
        self.written.fixups.reserve(self.part.items.len());
        if let (true, Probes::All(kind)) = (is_entry, self.probes) {
            self.site(kind, 0);
        }
        let mut done = 0;
        for (item, &wide) in self.part.items.iter().zip(wide) {
            self.copy_bytes(done, item.at);
            self.item(item, wide)?;
            done = item.at + u32::from(item.length);
        }
        self.copy_bytes(done, u32::try_from(self.part.bytes.len()).unwrap_or(u32::MAX));
        if self.part.runs_over {
            self.jump(self.code(self.part.range.end));
        }
        Ok(())
    }

    fn item(&mut self, item: &Item, wide: bool) -> Result<(), Reason> {
        let is_exit = item.is_exit && self.probes != Probes::None;
        match item.form {
            Form::Near { condition: Some(code) } | Form::Short { condition: Some(code) } if is_exit => {
                self.written.bytes.extend([0x70 | (code ^ 1), (EXIT + JUMP) as u8]);
                self.site(SiteKind::Exit, JUMP);
                self.jump(self.code(item.target));
                return Ok(());
            }
            Form::Short { condition: None } if is_exit => self.site(SiteKind::Exit, JUMP),
            _ if is_exit => self.site(SiteKind::Exit, u32::from(item.length)),
            _ => {}
        }
        match item.form {
            Form::Plain => self.copy_item(item),
            Form::Memory { field, what } => self.memory(item, field, what)?,
            Form::Call | Form::Near { .. } => {
                let target = self.branch_target(item)?;
                self.copy_item(item);
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
                self.copy_item(item);
                self.last_byte(OVER as u8);
                self.written.bytes.extend([0xeb, JUMP as u8]);
                self.jump(target);
            }
            Form::Short { .. } | Form::Counter => self.short(item)?,
        }
        Ok(())
    }

    fn copy_item(&mut self, item: &Item) {
        self.copy_bytes(item.at, item.at + u32::from(item.length));
    }

    fn copy_bytes(&mut self, start: u32, end: u32) {
        let bytes = self.part.bytes.get(start as usize..end as usize).unwrap_or_default();
        self.written.bytes.extend_from_slice(bytes);
    }

    /// A branch within its fragment, at the distance that the labels give.
    fn short(&mut self, item: &Item) -> Result<(), Reason> {
        let Target::Label { offset, .. } = self.branch_target(item)? else { return Err(Reason::StrayBranch) };
        self.copy_item(item);
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
        let start = self.position();
        self.copy_item(item);
        let (is_absolute, target) = match what {
            Reference::Data => (false, Target::Data(item.target)),
            Reference::Table(table) => (false, self.table(table, item.target)?),
            Reference::AbsoluteTable(table) => (true, self.table(table, item.target)?),
        };
        let at = start + u32::from(field);
        self.written.fixups.push(Fixup { at, tail: item.length - field, is_absolute, target });
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

    /// Appends a site in front of an instruction of this length.
    fn site(&mut self, kind: SiteKind, length: u32) {
        let at = self.position();
        let end = at + kind.template().len() as u32 + length;
        self.written.sites.push(Site { at, end, kind });
        self.written.bytes.extend_from_slice(kind.template());
    }

    fn jump(&mut self, target: Target) {
        self.written.bytes.extend([0xe9, 0, 0, 0, 0]);
        self.field_at_end(target);
    }

    fn field_at_end(&mut self, target: Target) {
        let at = self.position() - 4;
        self.written.fixups.push(Fixup { at, tail: 4, is_absolute: false, target });
    }

    fn position(&self) -> u32 {
        u32::try_from(self.written.bytes.len()).unwrap_or(u32::MAX)
    }
}
