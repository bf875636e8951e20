//! Split DWARF: units whose information is in a file of its own (`.dwo`), or in a package of many (`.dwp`).

use addr2line::gimli::{self, Dwarf, DwarfPackage, DwoId};

use super::{DebugFile, DebugSections, Reader, SPLIT_SECTIONS, Sections};

/// A compilation unit whose information is elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SplitUnit {
    /// What ties it to its file.
    pub id: u64,
    /// Path of the file as the compiler recorded it; a relative one starts in `directory`.
    pub path: String,
    /// Directory of the compilation.
    pub directory: String,
}

impl SplitUnit {
    /// Whether a split file holds this unit. One of another build has a unit with another id, a damaged one none.
    #[must_use]
    pub fn is_in(&self, file: &DebugFile<'_>) -> bool {
        let sections = Sections::of(&file.object, SPLIT_SECTIONS);
        split_dwarf(&sections).is_some_and(|dwarf| first_id(&dwarf) == Some(DwoId(self.id)))
    }
}

impl DebugSections<'_> {
    /// The units whose information is in split files.
    #[must_use]
    pub fn split_units(&self) -> Vec<SplitUnit> {
        let Some(dwarf) = self.dwarf() else { return Vec::new() };
        let mut found = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            found.extend(split_unit(&dwarf, header));
        }
        found
    }

    /// The split files that were added.
    pub(crate) fn split_files(&self) -> SplitFiles<'_> {
        let mut files = SplitFiles { packages: Vec::new(), loose: Vec::new() };
        for sections in &self.split {
            if sections.0.contains_key(".debug_cu_index") {
                let load = |id: gimli::SectionId| Ok::<_, gimli::Error>(sections.bytes(id.dwo_name().unwrap_or_default()));
                files.packages.extend(DwarfPackage::load(load, sections.bytes("")).ok());
            } else {
                files.loose.extend(split_dwarf(sections).and_then(|dwarf| Some((first_id(&dwarf)?, sections))));
            }
        }
        files
    }
}

fn split_dwarf<'a>(sections: &'a Sections<'_>) -> Option<Dwarf<Reader<'a>>> {
    Dwarf::load(|id| Ok::<_, gimli::Error>(sections.bytes(id.dwo_name().unwrap_or_default()))).ok()
}

fn split_unit(dwarf: &Dwarf<Reader<'_>>, header: gimli::UnitHeader<Reader<'_>>) -> Option<SplitUnit> {
    let unit = dwarf.unit(header).ok()?;
    let id = unit.dwo_id?.0;
    let name = unit.dwo_name().ok()??;
    let path = dwarf.attr_string(&unit, name).ok()?.to_string_lossy().into_owned();
    let directory = unit.comp_dir.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    Some(SplitUnit { id, path, directory })
}

fn first_id(dwarf: &Dwarf<Reader<'_>>) -> Option<DwoId> {
    let mut headers = dwarf.units();
    while let Some(header) = headers.next().ok()? {
        if let Some(id) = dwarf.unit(header).ok().and_then(|unit| unit.dwo_id) {
            return Some(id);
        }
    }
    None
}

/// Split files, ready to be looked into.
pub(crate) struct SplitFiles<'a> {
    packages: Vec<DwarfPackage<Reader<'a>>>,
    loose: Vec<(DwoId, &'a Sections<'a>)>,
}

impl<'a> SplitFiles<'a> {
    /// The DWARF of a split unit; `parent` holds the unit that names it.
    pub(crate) fn find(&self, id: DwoId, parent: &Dwarf<Reader<'a>>) -> Option<Dwarf<Reader<'a>>> {
        let packed = self.packages.iter().find_map(|package| package.find_cu(id, parent).ok().flatten());
        packed.or_else(|| {
            let (_, sections) = self.loose.iter().find(|(other, _)| *other == id)?;
            let mut dwarf = split_dwarf(sections)?;
            dwarf.make_dwo(parent);
            Some(dwarf)
        })
    }
}
