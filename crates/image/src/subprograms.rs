//! Where functions are declared in the source, from DWARF 2–5, in split and shared files too.
//!
//! The rows of a line program at a function's entry say nothing sure of the function: in optimised code they are those of
//! what was inlined there.

use std::collections::HashMap;

use addr2line::gimli::{self, AttributeValue, Dwarf, DwoId, Unit};

use crate::debug::{DebugSections, Reader};
use crate::inlines::names::{Names, Units};
use crate::inlines::{Entry, in_full, ranges};
use crate::lines::Location;

/// The declarations of all functions that have code, or were inlined.
#[derive(Default)]
pub(crate) struct Declarations {
    /// By the link addresses at which their code starts.
    with_code: HashMap<u64, Location>,
    /// By what stands for all copies.
    inlined: HashMap<Origin, Location>,
}

/// An entry by its place in the file, or in the split file of a unit.
#[derive(PartialEq, Eq, Hash)]
struct Origin(Option<DwoId>, usize);

impl Origin {
    /// What a reference in a unit leads to.
    fn of(unit: &Unit<Reader<'_>>, reference: &AttributeValue<Reader<'_>>) -> Option<Self> {
        match reference {
            AttributeValue::UnitRef(offset) => Some(Self(unit.dwo_id, offset.to_debug_info_offset(&unit.header)?.0)),
            AttributeValue::DebugInfoRef(offset) => Some(Self(unit.dwo_id, offset.0)),
            _ => None,
        }
    }
}

impl Declarations {
    /// Reads them all in one pass.
    pub(crate) fn read(sections: &DebugSections<'_>) -> Self {
        let Some(mut dwarf) = sections.dwarf() else { return Self::default() };
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let own = Units::of(&dwarf);
        let shared = dwarf.sup().map(Units::of);
        let files = sections.split_files();
        let mut names = Names::new(&own, shared.as_ref());
        let mut declared = Self::default();
        for unit in own.iter() {
            in_full(&dwarf, unit, &files, &mut |with_unit, full, is_split| {
                names.begin_unit(is_split);
                let mut entries = full.entries();
                while let Ok(Some(entry)) = entries.next_dfs() {
                    if entry.tag() != gimli::DW_TAG_subprogram {
                        continue;
                    }
                    let code = ranges(with_unit, full, entry);
                    let is_inlined = entry.attr_value(gimli::DW_AT_inline).is_some();
                    if code.is_empty() && !is_inlined {
                        continue;
                    }
                    let Some(place) = names.declaration(with_unit, full, (&dwarf, unit), entry) else { continue };
                    for range in code {
                        declared.with_code.entry(range.start).or_insert_with(|| place.clone());
                    }
                    let origin = Origin::of(full, &AttributeValue::UnitRef(entry.offset())).filter(|_| is_inlined);
                    declared.inlined.extend(origin.map(|origin| (origin, place)));
                }
            });
        }
        declared
    }

    /// Where the function whose code starts at a link address is declared.
    pub(crate) fn at(&self, start: u64) -> Option<&Location> {
        self.with_code.get(&start)
    }

    /// Where the function is declared that an entry with code is of, be it its own or that of a call that was replaced by it.
    pub(crate) fn of<'a>(&self, dwarf: &Dwarf<Reader<'a>>, unit: &Unit<Reader<'a>>, entry: &Entry<'a>) -> Option<&Location> {
        if entry.tag() == gimli::DW_TAG_inlined_subroutine {
            let origin = entry.attr_value(gimli::DW_AT_abstract_origin)?;
            return self.inlined.get(&Origin::of(unit, &origin)?);
        }
        self.at(ranges(dwarf, unit, entry).first()?.start)
    }
}
