//! A file with debug information, and the names of the files that belong to it.

use object::{Object as _, ObjectSection as _};

use super::Inflation;
use crate::Symbol;
use crate::bytes::{text_at, u16_at, u32_at};
use crate::symbols;

/// A file that may hold debug information: an image, its separate debug file, a shared or a split one.
///
/// Unlike an [`crate::Image`] it need not hold the bytes of its segments.
pub struct DebugFile<'data> {
    data: &'data [u8],
    pub(super) object: object::File<'data>,
}

/// The name of a separate debug file (`.gnu_debuglink`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DebugLink<'data> {
    /// A file name without directory.
    pub name: &'data str,
    /// CRC-32 of the whole file.
    pub crc: u32,
}

/// The file that holds what several debug files have in common (`.gnu_debugaltlink` of dwz, `.debug_sup` of DWARF 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedFile<'data> {
    /// Its path; a relative one starts where the debug file is.
    pub path: &'data str,
    /// Its build id.
    pub build_id: &'data [u8],
}

impl<'data> DebugFile<'data> {
    /// Reads the headers; `None` if it is not an ELF file with sections.
    #[must_use]
    pub fn parse(data: &'data [u8]) -> Option<Self> {
        let object = object::File::parse(data).ok()?;
        Some(Self { data, object })
    }

    /// The whole file.
    #[must_use]
    pub const fn data(&self) -> &'data [u8] {
        self.data
    }

    /// Its build id: a debug file has that of its image.
    #[must_use]
    pub fn build_id(&self) -> Option<&'data [u8]> {
        self.object.build_id().ok()?
    }

    /// The name of its own debug file.
    #[must_use]
    pub fn debug_link(&self) -> Option<DebugLink<'data>> {
        let section = self.section(".gnu_debuglink")?;
        let name = text_at(section, 0).filter(|name| !name.is_empty())?;
        let crc = u32_at(section, (name.len() + 1).next_multiple_of(4))?;
        Some(DebugLink { name, crc })
    }

    /// The file that it shares with others.
    #[must_use]
    pub fn shared_file(&self) -> Option<SharedFile<'data>> {
        self.shared_by_dwz().or_else(|| self.shared_by_standard())
    }

    fn shared_by_dwz(&self) -> Option<SharedFile<'data>> {
        let section = self.section(".gnu_debugaltlink")?;
        let path = text_at(section, 0)?;
        Some(SharedFile { path, build_id: section.get(path.len() + 1..)? })
    }

    /// DWARF 5, section 7.3.6: version, whether this is the shared file itself, name, length and bytes of the checksum.
    fn shared_by_standard(&self) -> Option<SharedFile<'data>> {
        let section = self.section(".debug_sup")?;
        let is_shared = *section.get(2)? != 0;
        if u16_at(section, 0)? != 5 || is_shared {
            return None;
        }
        let path = text_at(section, 3)?;
        let length = usize::from(*section.get(4 + path.len())?);
        Some(SharedFile { path, build_id: section.get(5 + path.len()..)?.get(..length)? })
    }

    /// Why its compressed debug sections are not read, if they are not.
    #[must_use]
    pub fn inflation(&self) -> Option<Inflation> {
        super::inflation(&self.object)
    }

    /// Whether it has DWARF of its own.
    #[must_use]
    pub fn has_dwarf(&self) -> bool {
        self.object.section_by_name(".debug_info").is_some() || self.object.section_by_name(".debug_line").is_some()
    }

    /// Its symbols (`.symtab`).
    #[must_use]
    pub fn symbols(&self) -> Vec<Symbol<'data>> {
        let entries = self.section(".symtab").unwrap_or_default();
        let strings = self.section(".strtab").unwrap_or_default();
        symbols::table(entries, strings, false)
    }

    pub(super) fn section(&self, name: &str) -> Option<&'data [u8]> {
        self.object.section_by_name(name)?.data().ok()
    }
}
