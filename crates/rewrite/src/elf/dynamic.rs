//! Changes to the dynamic section: search paths and the relocation table.
//!
//! Entries are changed where they stand. A string that the original does not have is placed in the new segment;
//! its position counts from the string table's start all the same, since loaders add the two.

use tare_image::{Image, SearchPath};

use crate::copies::Target;
use crate::emit::own_address_of;
use crate::insertion::Additions;
use crate::layout::{Layout, RELOCATION_SIZE};
use crate::plan::Moved;

pub(crate) const DT_RELA: u64 = 7;
pub(crate) const DT_RELASZ: u64 = 8;
pub(crate) const DT_RELACOUNT: u64 = 0x6fff_fff9;
const GLOB_DAT: u64 = 6;
/// `R_X86_64_TPOFF64`; without a symbol, of the image itself.
const TPOFF64: u64 = 18;
/// `R_X86_64_RELATIVE`.
pub(crate) const RELATIVE: u64 = 8;

/// Eight bytes at a position in the file.
pub(crate) type Patch = (u64, u64);

/// Where nothing is ever found. It keeps an `$ORIGIN` in a search path that had one: glibc finds out the directory of a program
/// when it meets the word, and `dlinfo` with `RTLD_DI_ORIGIN` fails where it has met none.
pub(crate) const NOWHERE: &str = ":/dev/null/$ORIGIN";

/// Search paths with the original's directory in the place of `$ORIGIN`, as strings to be added and the entries
/// that will point at them.
#[derive(Default)]
pub(crate) struct Paths {
    pub(crate) strings: Vec<u8>,
    /// Position of the value in the file, and position of the string in `strings`.
    entries: Vec<(u64, u64)>,
}

impl Paths {
    /// Replaces `$ORIGIN` in both kinds of search path.
    pub(crate) fn new(image: &Image<'_>, origin: Option<&str>) -> Self {
        let mut paths = Self::default();
        let Some(origin) = origin else { return paths };
        for path in [image.dynamic().rpath(), image.dynamic().runpath()].into_iter().flatten() {
            paths.add(&path, origin);
        }
        paths
    }

    fn add(&mut self, path: &SearchPath<'_>, origin: &str) {
        let replaced = path.text.replace("${ORIGIN}", origin).replace("$ORIGIN", origin);
        if replaced != path.text {
            self.entries.push((path.entry.value_offset, self.strings.len() as u64));
            self.strings.extend(replaced.bytes().chain(NOWHERE.bytes()));
            self.strings.push(0);
        }
    }

    /// The changed values, for strings and the table of strings at link addresses.
    pub(crate) fn patches(&self, strings: u64, table: u64) -> Vec<Patch> {
        self.entries.iter().map(|&(value, at)| (value, (strings + at).wrapping_sub(table))).collect()
    }
}

/// Bytes of the relocation table, where it can be extended.
pub(crate) fn relocation_table_size(image: &Image<'_>) -> Option<u64> {
    let dynamic = image.dynamic();
    let table = dynamic.value(DT_RELA)?;
    let size = dynamic.value(DT_RELASZ)?;
    let is_usual = size % RELOCATION_SIZE == 0 && image.bytes_at(table, size).is_some();
    is_usual.then_some(size)
}

/// Link address of the relocation table.
pub(crate) fn relocation_table(image: &Image<'_>) -> Option<u64> {
    image.dynamic().value(DT_RELA)
}

/// The relocation table with entries for our relocated jump tables, the initial bytes of threads and pointers to routines in
/// front, as relative ones come first, and with entries for imported functions at its end: the index of the symbol of each;
/// and for a distance from the thread pointer.
pub(crate) fn relocations(image: &Image<'_>, moved: &[Moved], layout: &Layout, additions: &Additions, symbols: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for copy in moved.iter().flat_map(Moved::copies) {
        let tables = copy.tables.iter().filter(|table| table.form == tare_code::TableForm::Relocated64);
        for table in tables {
            for (&target, address) in table.targets.iter().zip((table.address..).step_by(8)) {
                let target: Target = target;
                bytes.extend(address.to_le_bytes());
                bytes.extend(RELATIVE.to_le_bytes());
                bytes.extend(own_address_of(copy, target).to_le_bytes());
            }
        }
    }
    let of_threads = layout.thread_locals.iter().flat_map(|own| own.relocated(layout.thread_image));
    for (at, value) in of_threads.chain(layout.pointers(additions)) {
        bytes.extend([at, RELATIVE, value].into_iter().flat_map(u64::to_le_bytes));
    }
    let dynamic = image.dynamic();
    let original = dynamic.value(DT_RELA).zip(dynamic.value(DT_RELASZ));
    bytes.extend(original.and_then(|(table, size)| image.bytes_at(table, size)).unwrap_or_default());
    let thread = layout.block_distance(additions).map(|(slot, at)| [slot, TPOFF64, at]);
    bytes.extend(thread.into_iter().flatten().flat_map(u64::to_le_bytes));
    for (import, &symbol) in additions.imports.iter().zip(symbols) {
        let slot = layout.shared_variables + u64::from(import.slot);
        bytes.extend(slot.to_le_bytes());
        bytes.extend((u64::from(symbol) << 32 | GLOB_DAT).to_le_bytes());
        bytes.extend(0_u64.to_le_bytes());
    }
    bytes
}

/// The dynamic section's values for the extended relocation table, so many of whose new entries are not relative.
pub(crate) fn relocation_patches(image: &Image<'_>, layout: &Layout, others: u64) -> Vec<Patch> {
    let size = layout.relocations.end - layout.relocations.start;
    if size == 0 {
        return Vec::new();
    }
    let added = (size - relocation_table_size(image).unwrap_or(0)) / RELOCATION_SIZE - others;
    let entries = image.dynamic().entries().iter();
    entries
        .filter_map(|entry| match entry.tag {
            DT_RELA => Some((entry.value_offset, layout.relocations.start)),
            DT_RELASZ => Some((entry.value_offset, size)),
            DT_RELACOUNT => Some((entry.value_offset, entry.value + added)),
            _ => None,
        })
        .collect()
}
