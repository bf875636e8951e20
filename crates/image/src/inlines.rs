//! Functions that were inlined, from DWARF 2–5, in split and shared files too.
//!
//! A function that was inlined has no symbol and no entry; what is left of it is code in its host, and an entry of DWARF
//! that says which addresses came from it and which line called it.

pub(crate) mod names;

use std::ops::Range;
use std::sync::Arc;

use addr2line::gimli::{self, Dwarf, Unit};

use crate::debug::{DebugSections, Reader, SplitFiles};
use crate::lines::Location;
use names::{Names, Units};

pub(crate) type Entry<'a> = gimli::DebuggingInformationEntry<Reader<'a>>;

/// A call that was replaced by the code of what it called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InlinedCall {
    /// Name of the function that was inlined: the linkage name, if the compiler wrote one.
    pub name: Arc<str>,
    /// Where the call is in the source.
    pub call: Option<Location>,
    /// Its code, as link addresses.
    pub ranges: Vec<Range<u64>>,
    /// The inlined call that this one is part of; `None` if the host itself called.
    pub within: Option<usize>,
}

impl InlinedCall {
    /// Lowest address of its code.
    fn start(&self) -> u64 {
        self.ranges.iter().map(|range| range.start).min().unwrap_or(u64::MAX)
    }
}

/// All inlined calls of an image.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inlines {
    /// Sorted by the lowest address of their code; a call stands before those within it.
    calls: Vec<InlinedCall>,
    /// Split units whose file was not there.
    missing: usize,
}

impl Inlines {
    /// Reads them all; `None` where the sections say nothing of functions.
    #[must_use]
    pub fn read(sections: &DebugSections<'_>) -> Option<Self> {
        let mut dwarf = sections.dwarf()?;
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let own = Units::of(&dwarf);
        if own.is_empty() {
            return None;
        }
        let shared = dwarf.sup().map(Units::of);
        let files = sections.split_files();
        let mut walk = Walk { main: &dwarf, names: Names::new(&own, shared.as_ref()), calls: Vec::new(), missing: 0 };
        for unit in own.iter() {
            let is_there = in_full(&dwarf, unit, &files, &mut |dwarf, full, is_split| walk.entries(dwarf, full, unit, is_split));
            walk.missing += usize::from(!is_there);
        }
        Some(Self { missing: walk.missing, calls: sorted(walk.calls) })
    }

    /// How many compilation units could not be read because their split file was not there.
    #[must_use]
    pub const fn missing_units(&self) -> usize {
        self.missing
    }

    /// The names of all inlined functions, as often as they were inlined.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().map(|call| &*call.name)
    }

    /// The inlined calls whose code begins in a range of addresses; `within` counts from the first of all.
    #[must_use]
    pub fn beginning_in(&self, range: &Range<u64>) -> &[InlinedCall] {
        let from = self.calls.partition_point(|call| call.start() < range.start);
        let rest = self.calls.get(from..).unwrap_or_default();
        rest.get(..rest.partition_point(|call| call.start() < range.end)).unwrap_or_default()
    }

    /// Index of the first inlined call whose code begins at an address or behind it.
    #[must_use]
    pub fn first_at(&self, address: u64) -> usize {
        self.calls.partition_point(|call| call.start() < address)
    }
}

/// Sorts calls by their lowest address, and renumbers what they say of each other.
fn sorted(calls: Vec<InlinedCall>) -> Vec<InlinedCall> {
    let mut order: Vec<usize> = (0..calls.len()).collect();
    order.sort_by_key(|&index| calls.get(index).map(InlinedCall::start));
    let mut place = vec![0; calls.len()];
    for (new, &old) in order.iter().enumerate() {
        if let Some(place) = place.get_mut(old) {
            *place = new;
        }
    }
    let mut calls: Vec<Option<InlinedCall>> = calls.into_iter().map(Some).collect();
    let in_order = order.iter().filter_map(|&old| calls.get_mut(old)?.take());
    in_order.map(|call| InlinedCall { within: call.within.and_then(|old| place.get(old).copied()), ..call }).collect()
}

/// A walk over all units.
struct Walk<'a, 'u> {
    /// The DWARF that has the line programs, also those of split units.
    main: &'u Dwarf<Reader<'a>>,
    names: Names<'a, 'u>,
    calls: Vec<InlinedCall>,
    missing: usize,
}

impl<'a> Walk<'a, '_> {
    /// The entries of a unit; `lines` is the unit with the line program.
    fn entries(&mut self, dwarf: &Dwarf<Reader<'a>>, unit: &Unit<Reader<'a>>, lines: &Unit<Reader<'a>>, is_split: bool) {
        self.names.begin_unit(is_split);
        let mut open: Vec<(isize, Option<usize>)> = Vec::new();
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            while open.last().is_some_and(|&(depth, _)| depth >= entry.depth()) {
                open.pop();
            }
            match entry.tag() {
                gimli::DW_TAG_subprogram => open.push((entry.depth(), None)),
                gimli::DW_TAG_inlined_subroutine => {
                    let within = open.last().and_then(|&(_, call)| call);
                    if let Some(call) = self.call(dwarf, unit, lines, entry, within) {
                        open.push((entry.depth(), Some(self.calls.len())));
                        self.calls.push(call);
                    }
                }
                _ => {}
            }
        }
    }

    fn call(
        &mut self,
        dwarf: &Dwarf<Reader<'a>>,
        unit: &Unit<Reader<'a>>,
        lines: &Unit<Reader<'a>>,
        entry: &Entry<'a>,
        within: Option<usize>,
    ) -> Option<InlinedCall> {
        let ranges = ranges(dwarf, unit, entry);
        if ranges.is_empty() {
            return None;
        }
        let name = self.names.of_origin(dwarf, unit, entry)?;
        let line = entry.attr_value(gimli::DW_AT_call_line).and_then(|value| u32::try_from(value.udata_value()?).ok());
        let file = file_of(self.main, lines, entry, gimli::DW_AT_call_file);
        Some(InlinedCall { name, call: file.zip(line).map(|(file, line)| Location { file, line }), ranges, within })
    }
}

/// Looks at a unit that has entries, and is told whether it is a split one.
type Visit<'f, 'a> = dyn FnMut(&Dwarf<Reader<'a>>, &Unit<Reader<'a>>, bool) + 'f;

/// Hands over a unit, or those in the split file that it stands for, and whether they are split; false if that file is missing.
pub(crate) fn in_full<'a>(dwarf: &Dwarf<Reader<'a>>, unit: &Unit<Reader<'a>>, files: &SplitFiles<'a>, visit: &mut Visit<'_, 'a>) -> bool {
    let is_split = unit.dwo_name().is_ok_and(|name| name.is_some());
    let Some(id) = unit.dwo_id.filter(|_| is_split) else {
        visit(dwarf, unit, false);
        return true;
    };
    let Some(split) = files.find(id, dwarf) else { return false };
    let mut headers = split.units();
    while let Ok(Some(header)) = headers.next() {
        let Ok(mut own) = split.unit(header) else { continue };
        if own.dwo_id == Some(id) {
            own.copy_relocated_attributes(unit);
            visit(&split, &own, true);
        }
    }
    true
}

/// The code of an entry; what the linker threw away has addresses at the ends of the address space.
pub(crate) fn ranges<'a>(dwarf: &Dwarf<Reader<'a>>, unit: &Unit<Reader<'a>>, entry: &Entry<'a>) -> Vec<Range<u64>> {
    let mut found = Vec::new();
    let Ok(mut ranges) = dwarf.die_ranges(unit, entry) else { return found };
    while let Ok(Some(range)) = ranges.next() {
        if range.begin < range.end && range.begin != 0 {
            found.push(range.begin..range.end);
        }
    }
    found
}

/// The path of the file that an attribute of an entry names; `lines` is the unit with the line program.
pub(crate) fn file_of(dwarf: &Dwarf<Reader<'_>>, lines: &Unit<Reader<'_>>, entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<String> {
    match entry.attr_value(attribute) {
        // Up to DWARF 4, no file has the number 0.
        Some(gimli::AttributeValue::FileIndex(index)) if index > 0 || lines.header.version() >= 5 => file_name(dwarf, lines, index),
        _ => None,
    }
}

/// The path of a file of a unit's line program, put together as [`crate::lines`] has it.
fn file_name(dwarf: &Dwarf<Reader<'_>>, unit: &Unit<Reader<'_>>, index: u64) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    let file = header.file(index)?;
    let text = |value| dwarf.attr_line_string(value).ok().map(|text: Reader<'_>| text.to_string_lossy().into_owned());
    let mut path = unit.comp_dir.map(|directory| directory.to_string_lossy().into_owned()).unwrap_or_default();
    if file.directory_index() != 0 {
        push(&mut path, &file.directory(header).and_then(text)?);
    }
    push(&mut path, &text(file.path_name())?);
    Some(path)
}

fn push(path: &mut String, part: &str) {
    if part.starts_with('/') {
        path.clear();
    } else if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(part);
}
