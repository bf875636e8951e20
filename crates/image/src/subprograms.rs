//! Where functions are declared in the source, from DWARF 2–5, in split and shared files too.
//!
//! The rows of a line program at a function's entry say nothing sure of the function: in optimised code they are those of
//! what was inlined there.

use std::collections::HashMap;

use addr2line::gimli::{self, Dwarf, Unit};

use crate::debug::{DebugSections, Reader};
use crate::inlines::names::{Names, Units};
use crate::inlines::{Entry, in_full, ranges};
use crate::lines::Location;

/// The declarations of all functions that have code.
#[derive(Default)]
pub(crate) struct Declarations(HashMap<u64, Location>);

impl Declarations {
    /// Reads them all in one pass.
    pub(crate) fn read(sections: &DebugSections<'_>) -> Self {
        let Some(mut dwarf) = sections.dwarf() else { return Self::default() };
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let own = Units::of(&dwarf);
        let shared = dwarf.sup().map(Units::of);
        let files = sections.split_files();
        let mut names = Names::new(&own, shared.as_ref());
        let mut found = HashMap::new();
        for unit in own.iter() {
            in_full(&dwarf, unit, &files, &mut |with_unit, full, is_split| {
                names.begin_unit(is_split);
                let mut entries = full.entries();
                while let Ok(Some(entry)) = entries.next_dfs() {
                    if entry.tag() != gimli::DW_TAG_subprogram {
                        continue;
                    }
                    let code = ranges(with_unit, full, entry);
                    if code.is_empty() {
                        continue;
                    }
                    let Some(place) = names.declaration(with_unit, full, (&dwarf, unit), entry) else { continue };
                    for range in code {
                        found.entry(range.start).or_insert_with(|| place.clone());
                    }
                }
            });
        }
        Self(found)
    }

    /// Where the function whose code starts at a link address is declared.
    pub(crate) fn at(&self, start: u64) -> Option<&Location> {
        self.0.get(&start)
    }

    /// Where the function with an entry is declared, which has code.
    pub(crate) fn of<'a>(&self, dwarf: &Dwarf<Reader<'a>>, unit: &Unit<Reader<'a>>, entry: &Entry<'a>) -> Option<&Location> {
        self.at(ranges(dwarf, unit, entry).first()?.start)
    }
}
