//! What calls through pointers may reach: functions whose addresses stand in data or are loaded by code.
//!
//! Three kinds of sets, shared by all calls of a kind. *Pointed*: functions whose address is loaded by code or stands
//! in data outside of tables of virtual functions. *Slot n*: what stands `n` bytes behind the start of such a table.
//! *Every slot*: all of those. A call through a member of something (`call [reg+n]`) may reach slot n and what is
//! pointed at; one whose pointer's origin is not seen, everything. What is left out: addresses that are computed,
//! written by a debugger or the loader of another language, and functions of other images that are not named here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use tare_image::{Image, RelocationKind};

use crate::Program;
use crate::calls::Names;
use crate::program::TableForm;
use crate::quick::QuickMap;
use crate::sweep::Sweep;
use crate::through::Through;

/// Functions that a kind of call may reach.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Targets {
    /// Functions of the image, sorted.
    pub(crate) functions: Vec<usize>,
    /// Imports, sorted.
    pub(crate) imports: Vec<usize>,
}

/// A function or an import.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Callee {
    Function(usize),
    Import(usize),
}

/// All sets of an image; the first two are there always.
pub(crate) struct TargetSets {
    pub(crate) sets: Vec<Targets>,
    by_slot: BTreeMap<u64, usize>,
}

/// Functions left out of a table that stand side by side.
const MOST_ZEROS: u64 = 8;
const POINTED: usize = 0;
const EVERY_SLOT: usize = 1;

impl TargetSets {
    /// Reads tables of virtual functions and other pointers.
    pub(crate) fn find(image: &Image<'_>, program: &Program, sweep: &Sweep, names: &mut Names) -> Self {
        let mut reader = Reader { image, program, names };
        let words = reader.words(sweep);
        let tables = Tables::find(image, sweep, &words);
        let loads = sweep.pointers.iter().filter(|pointer| !program.is_start_up(pointer.at));
        let mut pointed: BTreeSet<Callee> = loads.filter_map(|pointer| reader.callee(pointer.target)).collect();
        let mut slots: BTreeMap<u64, BTreeSet<Callee>> = BTreeMap::new();
        for &(place, callee) in &words {
            match tables.slot(place) {
                Some(slot) => slots.entry(slot).or_default().insert(callee),
                None => pointed.insert(callee),
            };
        }
        let every: BTreeSet<Callee> = slots.values().flatten().copied().collect();
        let mut sets = vec![Targets::of(&pointed), Targets::of(&every)];
        let mut by_slot = BTreeMap::new();
        for (slot, callees) in slots {
            by_slot.insert(slot, sets.len());
            sets.push(Targets::of(&callees));
        }
        Self { sets, by_slot }
    }

    /// The sets that a call may reach.
    pub(crate) fn of(&self, through: Through) -> Vec<usize> {
        match through {
            Through::Nothing => Vec::new(),
            Through::Slot(_) | Through::Code(_) | Through::Pointer => vec![POINTED],
            Through::Member(slot) => std::iter::once(POINTED).chain(self.by_slot.get(&slot).copied()).collect(),
            Through::Unknown => vec![POINTED, EVERY_SLOT],
        }
    }
}

impl Targets {
    pub(crate) fn of(callees: &BTreeSet<Callee>) -> Self {
        let mut targets = Self::default();
        for callee in callees {
            match *callee {
                Callee::Function(function) => targets.functions.push(function),
                Callee::Import(import) => targets.imports.push(import),
            }
        }
        targets
    }
}

/// Finds callees behind addresses.
pub(crate) struct Reader<'a, 'data> {
    pub(crate) image: &'a Image<'data>,
    pub(crate) program: &'a Program,
    pub(crate) names: &'a mut Names,
}

impl Reader<'_, '_> {
    /// What is called by calling a value: a function's entry, a PLT entry, or the import of a slot.
    pub(crate) fn callee(&mut self, value: u64) -> Option<Callee> {
        if let Some(function) = self.program.function_entered_at(value) {
            return Some(Callee::Function(function));
        }
        if let Some(entry) = self.image.plt_at(value) {
            let own = entry.target.and_then(|target| self.program.function_entered_at(target));
            return own.map(Callee::Function).or_else(|| Some(Callee::Import(self.names.id(entry.name?))));
        }
        if let Some(name) = self.image.name_in_slot(value) {
            return Some(Callee::Import(self.names.id(name)));
        }
        let owner = self.program.function_at(value)?;
        let is_entry = self.program.functions.get(owner).is_some_and(|one| one.other_entries.contains(&value));
        is_entry.then_some(Callee::Function(owner))
    }

    /// Words of data that hold the address of a function, sorted by place.
    fn words(&mut self, sweep: &Sweep) -> Vec<(u64, Callee)> {
        let image = self.image;
        let mut words = Vec::new();
        let arrays = [".init_array", ".fini_array", ".preinit_array"].map(|name| image.section(name).map(tare_image::Section::range));
        let is_array = |place: u64| arrays.iter().flatten().any(|range| range.contains(&place));
        for relocation in image.relocations().iter().filter(|one| !is_array(one.address)) {
            let callee = match (relocation.kind, relocation.symbol) {
                (RelocationKind::JumpSlot | RelocationKind::GlobDat | RelocationKind::Irelative, _) => None,
                (RelocationKind::Absolute64, Some(symbol)) if !symbol.is_defined => {
                    (symbol.kind != 1).then(|| Callee::Import(self.names.id(symbol.name)))
                }
                _ => relocation.link_address().and_then(|address| self.callee(address)),
            };
            words.extend(callee.map(|callee| (relocation.address, callee)));
        }
        if !image.kind().is_position_independent() {
            self.plain_words(&sweep.words, &mut words);
            words.retain(|word| !is_array(word.0));
            words.sort_unstable();
            words.dedup_by_key(|word| word.0);
        }
        words
    }

    /// In an image that is not moved, pointers stand in data as they are; jump tables are no pointers to functions.
    fn plain_words(&mut self, plain: &[(u64, u64)], words: &mut Vec<(u64, Callee)>) {
        let image = self.image;
        let jump_tables = self.jump_tables();
        let may_be_code = |value: u64| image.text_at(value).is_some() || image.plt_at(value).is_some();
        for &(place, value) in plain.iter().filter(|word| may_be_code(word.1)) {
            let behind = jump_tables.partition_point(|table| table.start <= place);
            let is_entry = behind.checked_sub(1).and_then(|table| jump_tables.get(table)).is_some_and(|table| table.contains(&place));
            if !is_entry {
                words.extend(self.callee(value).map(|callee| (place, callee)));
            }
        }
    }

    fn jump_tables(&self) -> Vec<Range<u64>> {
        let all = self.program.jumps.values().flat_map(|jumps| &jumps.tables).filter(|table| !matches!(table.form, TableForm::Code { .. }));
        let ranges = all.map(|table| table.address..table.address + table.form.entry_size() * table.targets.len() as u64);
        let mut ranges: Vec<Range<u64>> = ranges.collect();
        ranges.sort_unstable_by_key(|range| range.start);
        ranges
    }
}

/// Tables of virtual functions, as the C++ ABI of Itanium lays them out: the offset to the top of the object, the type's
/// description (zero without RTTI), and the functions.
struct Tables {
    /// Address points and ends, sorted.
    ranges: Vec<Range<u64>>,
}

/// How a table of virtual functions is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// By the description of its type.
    Type,
    /// By the zeros in front, and as the code names it.
    Zeros,
}

impl Tables {
    fn find(image: &Image<'_>, sweep: &Sweep, words: &[(u64, Callee)]) -> Self {
        let is_cpp = image.symbols().iter().any(|symbol| symbol.name.starts_with("_Z")) || image.section(".gcc_except_table").is_some();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut known: QuickMap<u64, bool> = QuickMap::default();
        let mut last = Evidence::Zeros;
        let borders = borders(image, sweep);
        let is_border = |place: u64| borders.binary_search(&place).is_ok();
        let goes_on = |pair: &[(u64, Callee)]| matches!(pair, [one, next] if one.0 + 8 == next.0 && !is_border(next.0));
        let mut rest = if is_cpp { words } else { &[] };
        while let Some(&(start, _)) = rest.first() {
            let length = rest.windows(2).take_while(|pair| goes_on(pair)).count() + 1;
            let end = start + length as u64 * 8;
            rest = rest.get(length..).unwrap_or_default();
            match (head(image, sweep, start, &mut known), ranges.last_mut()) {
                (Some((point, evidence)), _) => {
                    ranges.push(point..end);
                    last = evidence;
                }
                (None, Some(table)) if last == Evidence::Type && !is_border(start) && is_gap(image, &(table.end..start)) => table.end = end,
                _ => {}
            }
        }

        Self { ranges }
    }

    /// How far behind the start of its table a place is.
    fn slot(&self, place: u64) -> Option<u64> {
        let behind = self.ranges.partition_point(|range| range.start <= place);
        let table = self.ranges.get(behind.checked_sub(1)?)?;
        table.contains(&place).then(|| place - table.start)
    }
}

/// Where something of its own begins in data: no table runs over it.
fn borders(image: &Image<'_>, sweep: &Sweep) -> Vec<u64> {
    let objects = image.symbols().iter().filter(|symbol| symbol.is_defined && symbol.kind == 1).map(|symbol| symbol.address);
    let pointed = image.relocations().iter().filter_map(tare_image::Relocation::link_address);
    let mut borders: Vec<u64> = objects.chain(pointed).chain(sweep.constants.iter().copied()).collect();
    borders.sort_unstable();
    borders.dedup();
    borders
}

/// The address point of the table whose first function stands at `start`; functions that are left out leave zeros in front.
fn head(image: &Image<'_>, sweep: &Sweep, start: u64, known: &mut QuickMap<u64, bool>) -> Option<(u64, Evidence)> {
    for zeros in 0..MOST_ZEROS {
        let point = start.checked_sub(zeros * 8)?;
        let description = point.checked_sub(8)?;
        let is_top = is_small_number(image, point.checked_sub(16)?);
        let mut has_type = || pointed(image, description).is_some_and(|info| *known.entry(info).or_insert_with(|| is_type_info(image, info)));
        if is_top && (names_type(image, description) || has_type()) {
            return Some((point, Evidence::Type));
        }
        if !is_zero(image, description) {
            return None;
        }
        if is_top && sweep.constants.binary_search(&point).is_ok() {
            return Some((point, Evidence::Zeros));
        }
    }
    None
}

/// Zeros between functions of one table: functions that are left out.
fn is_gap(image: &Image<'_>, range: &Range<u64>) -> bool {
    let words = range.end.saturating_sub(range.start) / 8;
    (1..MOST_ZEROS).contains(&words) && range.clone().step_by(8).all(|place| is_zero(image, place))
}

/// The word that a place holds in a running process, where it is an address of this image.
fn pointed(image: &Image<'_>, place: u64) -> Option<u64> {
    image.pointer_at(place).filter(|&address| image.segment_at(address).is_some())
}

fn is_relocated(image: &Image<'_>, place: u64) -> bool {
    image.relocation_at(place).is_some()
}

fn is_zero(image: &Image<'_>, place: u64) -> bool {
    image.u64_at(place) == Some(0) && !is_relocated(image, place)
}

fn is_small_number(image: &Image<'_>, place: u64) -> bool {
    let number = image.u64_at(place).map(u64::cast_signed);
    number.is_some_and(|number| number % 8 == 0 && number <= 0 && number > -(1 << 24)) && !is_relocated(image, place)
}

/// A relocation with the symbol of a type's description in another image.
fn names_type(image: &Image<'_>, place: u64) -> bool {
    image.relocation_at(place).and_then(|one| one.symbol).is_some_and(|symbol| symbol.name.starts_with("_ZTI"))
}

/// A type's description: a table of virtual functions of the ABI's own classes, then the type's mangled name.
fn is_type_info(image: &Image<'_>, info: u64) -> bool {
    let Some(name) = info.checked_add(8).and_then(|place| pointed(image, place)) else { return false };
    let has_class = is_relocated(image, info) || pointed(image, info).is_some();
    let text = image.bytes_from(name).unwrap_or_default();
    let length = text.iter().take(4096).position(|&byte| byte == 0).unwrap_or(0);
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'*' | b'.' | b'$');
    has_class && length > 0 && text.iter().take(length).all(is_letter)
}
