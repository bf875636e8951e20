//! Names and declarations of entries, which may stand in other units and in the shared file.

use std::collections::HashMap;
use std::sync::Arc;

use addr2line::gimli::{self, AttributeValue, Dwarf, Unit, UnitOffset};

use super::{Entry, file_of};
use crate::debug::Reader;
use crate::lines::Location;

/// The units of a file, by their places in it.
pub(crate) struct Units<'a, 'd> {
    dwarf: &'d Dwarf<Reader<'a>>,
    /// Sorted by offset.
    units: Vec<(usize, Unit<Reader<'a>>)>,
}

impl<'a, 'd> Units<'a, 'd> {
    pub(crate) fn of(dwarf: &'d Dwarf<Reader<'a>>) -> Self {
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Some(offset) = header.debug_info_offset() else { continue };
            units.extend(dwarf.unit(header).ok().map(|unit| (offset.0, unit)));
        }
        Self { dwarf, units }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Unit<Reader<'a>>> {
        self.units.iter().map(|(_, unit)| unit)
    }

    /// The unit that holds an offset, and the place in it.
    fn find(&self, offset: usize) -> Option<(&Unit<Reader<'a>>, UnitOffset)> {
        let behind = self.units.partition_point(|(start, _)| *start <= offset);
        let (_, unit) = self.units.get(behind.checked_sub(1)?)?;
        Some((unit, gimli::DebugInfoOffset(offset).to_unit_offset(&unit.header)?))
    }
}

/// Which file an entry is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Own,
    Shared,
    /// The split file of the unit that is being read.
    Split,
}

/// A unit that an entry stands in.
#[derive(Clone, Copy)]
struct Spot<'a, 's> {
    place: Place,
    dwarf: &'s Dwarf<Reader<'a>>,
    unit: &'s Unit<Reader<'a>>,
}

/// Looks names up, and remembers them.
pub(crate) struct Names<'a, 'd> {
    own: &'d Units<'a, 'd>,
    shared: Option<&'d Units<'a, 'd>>,
    is_split: bool,
    known: HashMap<(Place, usize), Option<Arc<str>>>,
}

/// Chains of references longer than this go round in circles.
const LONGEST_CHAIN: usize = 16;

impl<'a, 'd> Names<'a, 'd> {
    pub(crate) fn new(own: &'d Units<'a, 'd>, shared: Option<&'d Units<'a, 'd>>) -> Self {
        Self { own, shared, is_split: false, known: HashMap::new() }
    }

    /// Offsets in split files mean something within one unit only.
    pub(crate) fn begin_unit(&mut self, is_split: bool) {
        self.is_split = is_split;
        if is_split {
            self.known.retain(|(place, _), _| *place != Place::Split);
        }
    }

    /// The name of the function that an inlined one is a copy of.
    pub(crate) fn of_origin(&mut self, dwarf: &Dwarf<Reader<'a>>, unit: &Unit<Reader<'a>>, entry: &Entry<'a>) -> Option<Arc<str>> {
        let place = if self.is_split { Place::Split } else { Place::Own };
        let origin = entry.attr_value(gimli::DW_AT_abstract_origin)?;
        let key = key(place, unit, &origin)?;
        if let Some(name) = self.known.get(&key) {
            return name.clone();
        }
        let name = self.follow(place, dwarf, unit, &origin, 0).map(|name| Arc::from(name.as_str()));
        self.known.insert(key, name.clone());
        name
    }

    /// The name of the entry that a reference leads to.
    fn follow(
        &self,
        place: Place,
        dwarf: &Dwarf<Reader<'a>>,
        unit: &Unit<Reader<'a>>,
        reference: &AttributeValue<Reader<'a>>,
        steps: usize,
    ) -> Option<String> {
        if steps > LONGEST_CHAIN {
            return None;
        }
        let spot = self.resolve(&Spot { place, dwarf, unit }, reference)?;
        self.name(spot.0.place, spot.0.dwarf, spot.0.unit, spot.1, steps)
    }

    /// The unit that a reference leads to, and the place in it.
    fn resolve<'s>(&'s self, from: &Spot<'a, 's>, reference: &AttributeValue<Reader<'a>>) -> Option<(Spot<'a, 's>, UnitOffset)> {
        let units = match (from.place, reference) {
            (_, AttributeValue::UnitRef(offset)) => return Some((*from, *offset)),
            (Place::Own, AttributeValue::DebugInfoRef(_)) => self.own,
            (Place::Shared, AttributeValue::DebugInfoRef(_)) | (_, AttributeValue::DebugInfoRefSup(_)) => self.shared?,
            _ => return None,
        };
        let (AttributeValue::DebugInfoRef(offset) | AttributeValue::DebugInfoRefSup(offset)) = reference else { return None };
        let (unit, at) = units.find(offset.0)?;
        let place = if std::ptr::eq(units, self.own) { Place::Own } else { Place::Shared };
        Some((Spot { place, dwarf: units.dwarf, unit }, at))
    }

    /// Where a function is declared: its own entry speaks first, then what it is an instance of and what that specifies.
    ///
    /// `lines` are the DWARF and the unit with the line program, also those of a split unit.
    pub(crate) fn declaration(
        &self,
        dwarf: &Dwarf<Reader<'a>>,
        unit: &Unit<Reader<'a>>,
        lines: (&Dwarf<Reader<'a>>, &Unit<Reader<'a>>),
        entry: &Entry<'a>,
    ) -> Option<Location> {
        let place = if self.is_split { Place::Split } else { Place::Own };
        let mut spot = Spot { place, dwarf, unit };
        let mut entry = entry.clone();
        let (mut file, mut line) = (None, None);
        for _ in 0..LONGEST_CHAIN {
            let (with_files, files) = if spot.place == Place::Split { lines } else { (spot.dwarf, spot.unit) };
            file = file.or_else(|| file_of(with_files, files, &entry, gimli::DW_AT_decl_file));
            line = line.or_else(|| u32::try_from(entry.attr_value(gimli::DW_AT_decl_line)?.udata_value()?).ok());
            if let (Some(file), Some(line)) = (&file, line) {
                return Some(Location { file: file.clone(), line }).filter(|_| line > 0);
            }
            let origin = entry.attr_value(gimli::DW_AT_abstract_origin).or_else(|| entry.attr_value(gimli::DW_AT_specification))?;
            let (next, at) = self.resolve(&spot, &origin)?;
            entry = next.unit.entry(at).ok()?;
            spot = next;
        }
        None
    }

    /// The linkage name of an entry, or of one that it refers to; where there is none, the plain name.
    fn name(&self, place: Place, dwarf: &Dwarf<Reader<'a>>, unit: &Unit<Reader<'a>>, at: UnitOffset, steps: usize) -> Option<String> {
        let entry = unit.entry(at).ok()?;
        let text = |attribute| {
            let text = dwarf.attr_string(unit, entry.attr_value(attribute)?).ok()?;
            Some(text.to_string_lossy().into_owned()).filter(|text| !text.is_empty())
        };
        let follow = |attribute| self.follow(place, dwarf, unit, &entry.attr_value(attribute)?, steps + 1);
        text(gimli::DW_AT_linkage_name)
            .or_else(|| text(gimli::DW_AT_MIPS_linkage_name))
            .or_else(|| follow(gimli::DW_AT_specification))
            .or_else(|| follow(gimli::DW_AT_abstract_origin))
            .or_else(|| text(gimli::DW_AT_name))
    }
}

/// Where a reference leads, as far as it is needed to remember its name.
fn key(place: Place, unit: &Unit<Reader<'_>>, reference: &AttributeValue<Reader<'_>>) -> Option<(Place, usize)> {
    match reference {
        AttributeValue::UnitRef(offset) => {
            let start = unit.header.debug_info_offset().map_or(0, |start| start.0);
            Some((place, start.checked_add(offset.0)?))
        }
        AttributeValue::DebugInfoRef(offset) => Some((place, offset.0)),
        AttributeValue::DebugInfoRefSup(offset) => Some((Place::Shared, offset.0)),
        _ => None,
    }
}
