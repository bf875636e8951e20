//! Where debug information is: in sections of the image, in a file of its own, in a supplementary file that several
//! images share, in split files of single compilation units.
//!
//! [`DebugFile`] reads any of these files and says which others belong to it; nothing is opened here. What they hold is
//! gathered in [`DebugSections`], from which [`crate::lines`] and [`crate::inlines`] read.

mod embedded;
mod file;
mod split;

use std::borrow::Cow;
use std::collections::HashMap;

use addr2line::gimli::{self, Dwarf, EndianSlice, LittleEndian};
use object::{CompressionFormat, Object as _, ObjectSection as _};

use crate::Image;

pub use embedded::{EmbeddedError, embedded_symbols};
pub use file::{DebugFile, DebugLink, SharedFile};
pub(crate) use split::SplitFiles;
pub use split::SplitUnit;

/// How DWARF sections are read.
pub(crate) type Reader<'a> = EndianSlice<'a, LittleEndian>;

/// The debug sections of an image, wherever they are.
#[derive(Default)]
pub struct DebugSections<'data> {
    own: Sections<'data>,
    shared: Option<Sections<'data>>,
    split: Vec<Sections<'data>>,
}

impl<'data> DebugSections<'data> {
    /// Those of `image` itself; empty if it has none.
    #[must_use]
    pub fn of(image: &Image<'data>) -> Self {
        DebugFile::parse(image.data()).map(|file| Self::in_file(&file)).unwrap_or_default()
    }

    /// Those of a separate debug file.
    #[must_use]
    pub fn in_file(file: &DebugFile<'data>) -> Self {
        Self { own: Sections::of(&file.object, SECTIONS), shared: None, split: Vec::new() }
    }

    /// Adds the file that these sections share with those of other images.
    pub fn add_shared(&mut self, file: &DebugFile<'data>) {
        self.shared = Some(Sections::of(&file.object, SECTIONS));
    }

    /// Adds a split file (`.dwo`) or a package of them (`.dwp`).
    pub fn add_split(&mut self, file: &DebugFile<'data>) {
        self.split.push(Sections::of(&file.object, SPLIT_SECTIONS));
    }

    /// Whether there are no lines to look up.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.own.0.contains_key(".debug_line")
    }

    /// The sections as DWARF, with the shared file's behind them.
    pub(crate) fn dwarf(&self) -> Option<Dwarf<Reader<'_>>> {
        let mut dwarf = self.own.dwarf()?;
        if let Some(shared) = &self.shared {
            let mut shared = shared.dwarf()?;
            shared.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
            dwarf.set_sup(shared);
        }
        Some(dwarf)
    }
}

/// The bytes of debug sections, decompressed where they were compressed.
#[derive(Default)]
struct Sections<'data>(HashMap<&'static str, Cow<'data, [u8]>>);

impl<'data> Sections<'data> {
    fn of(file: &object::File<'data>, names: &[&'static str]) -> Self {
        let fits = inflation(file).is_none();
        let bytes = |name: &&'static str| Some((*name, contents(&file.section_by_name(name)?, fits)?));
        Self(names.iter().filter_map(bytes).collect())
    }

    fn bytes(&self, name: &str) -> Reader<'_> {
        EndianSlice::new(self.0.get(name).map_or(&[], |bytes| bytes), LittleEndian)
    }

    fn dwarf(&self) -> Option<Dwarf<Reader<'_>>> {
        Dwarf::load(|id| Ok::<_, gimli::Error>(self.bytes(id.name()))).ok()
    }
}

/// Compressed debug sections of a file that become larger than any real ones: none of them is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("its compressed debug sections of {stored} bytes would become {promised} bytes, and no more than {most} are read")]
pub struct Inflation {
    /// Bytes in the file.
    pub stored: u64,
    /// Bytes as their headers say.
    pub promised: u64,
    /// Bytes that are read of a file like it.
    pub most: u64,
}

/// What the compressed debug sections of a file may become in any case, in bytes.
const FREE: u64 = 1 << 28;
/// How many times as large they may become: real ones grow to two to ten times their size.
const GROWTH: u64 = 64;

/// Whether, and by how much, compressed debug sections of a file become too large.
fn inflation(file: &object::File<'_>) -> Option<Inflation> {
    let (mut stored, mut promised) = (0_u64, 0_u64);
    for section in file.sections().filter(|section| section.name().is_ok_and(is_debug)) {
        let Ok(compressed) = section.compressed_data() else { continue };
        if compressed.format != CompressionFormat::None {
            stored = stored.saturating_add(compressed.data.len() as u64);
            promised = promised.saturating_add(compressed.uncompressed_size);
        }
    }
    let most = stored.saturating_mul(GROWTH).max(FREE);
    (promised > most).then_some(Inflation { stored, promised, most })
}

fn is_debug(name: &str) -> bool {
    name.starts_with(".debug_") || name.starts_with(".zdebug_")
}

/// The bytes of a section; `None` for a compressed one that cannot be read, or if such do not fit.
fn contents<'data>(section: &object::Section<'data, '_>, fits: bool) -> Option<Cow<'data, [u8]>> {
    let stored = section.compressed_data().ok()?;
    if stored.format != CompressionFormat::None && !fits { None } else { stored.decompress().ok() }
}

const SECTIONS: &[&str] = &[
    ".debug_abbrev",
    ".debug_addr",
    ".debug_aranges",
    ".debug_info",
    ".debug_line",
    ".debug_line_str",
    ".debug_ranges",
    ".debug_rnglists",
    ".debug_str",
    ".debug_str_offsets",
];

/// All of them: the index of a package speaks of its sections whether they are read or not.
const SPLIT_SECTIONS: &[&str] = &[
    ".debug_abbrev.dwo",
    ".debug_cu_index",
    ".debug_info.dwo",
    ".debug_line.dwo",
    ".debug_loc.dwo",
    ".debug_loclists.dwo",
    ".debug_macinfo.dwo",
    ".debug_macro.dwo",
    ".debug_rnglists.dwo",
    ".debug_str.dwo",
    ".debug_str_offsets.dwo",
    ".debug_tu_index",
    ".debug_types.dwo",
];
