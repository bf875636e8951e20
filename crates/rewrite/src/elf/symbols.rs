//! `.symtab`: the original's symbols, and names for routines and moved code.
//!
//! Copies are called as their originals, so that a debugger that is asked to stop in `name` stops in all of them;
//! further parts have `.cold` behind that. Names that are there already are used again. A stripped image gets a table of these alone.

use tare_code::Program;
use tare_image::{Image, Section};

use crate::copies::FunctionCopy;
use crate::elf::threads::STT_TLS;
use crate::insertion::Additions;
use crate::layout::Layout;
use crate::plan::Moved;

const SHT_SYMTAB: u32 = 2;
const GLOBAL_FUNCTION: u8 = 0x12;
const LOCAL_FUNCTION: u8 = 0x02;
/// Bytes of an `Elf64_Sym`.
pub(crate) const SYMBOL_SIZE: u64 = 24;

/// The symbol table of the output, its strings, and the index of its first global symbol.
pub(crate) struct SymbolTable {
    pub(crate) symbols: Vec<u8>,
    pub(crate) strings: Vec<u8>,
    pub(crate) first_global: u32,
}

impl SymbolTable {
    /// Makes the table. Our symbols refer to the section with index `section`.
    pub(crate) fn new(image: &Image<'_>, program: &Program, moved: &[Moved], additions: &Additions, layout: &Layout, section: u16) -> Self {
        let mut table = Self::original(image);
        table.shift_thread_locals(layout.thread_locals.as_ref().map_or(0, |own| own.shift));
        let is_new = table.symbols.is_empty();
        let own = strings(image).unwrap_or_default();
        let mut writer = Writer { image, own, section, binding: GLOBAL_FUNCTION, table: &mut table };
        if is_new {
            writer.table.symbols.resize(SYMBOL_SIZE as usize, 0);
            writer.table.strings.push(0);
            writer.binding = LOCAL_FUNCTION;
        }
        for routine in &additions.routines {
            let length = routine.range.end.saturating_sub(routine.range.start);
            let name = writer.add(&[&routine.name]);
            writer.push(name, layout.routines() + u64::from(routine.range.start), u64::from(length));
        }
        for one in moved {
            let Some(function) = program.functions.get(one.function) else { continue };
            let entry = one.probed.fragments.first().map_or(function.entry, |fragment| fragment.original.start);
            let name = writer.known(&[&function.name], entry).unwrap_or_else(|| writer.add(&[&function.name]));
            for copy in one.copies() {
                writer.push_copy(name, &function.name, copy);
            }
        }
        if is_new {
            table.first_global = u32::try_from(table.symbols.len() as u64 / SYMBOL_SIZE).unwrap_or(0);
        }
        table
    }

    fn original(image: &Image<'_>) -> Self {
        let empty = Self { symbols: Vec::new(), strings: Vec::new(), first_global: 0 };
        let Some(table) = section(image) else { return empty };
        let (Some(symbols), Some(strings)) = (content(image, table), strings(image)) else { return empty };
        Self { symbols: symbols.to_vec(), strings: strings.to_vec(), first_global: table.info }
    }
}

impl SymbolTable {
    /// Values of such symbols count from the start of the block, in which these variables are now so much farther.
    fn shift_thread_locals(&mut self, shift: u64) {
        for symbol in self.symbols.chunks_exact_mut(SYMBOL_SIZE as usize) {
            let is_defined = symbol.get(6..8).is_some_and(|section| section != [0, 0]);
            let is_variable = symbol.get(4).is_some_and(|info| info & 0x0f == STT_TLS);
            let value = symbol.get_mut(8..16).filter(|_| is_defined && is_variable).and_then(|value| value.first_chunk_mut::<8>());
            if let Some(value) = value {
                *value = u64::from_le_bytes(*value).wrapping_add(shift).to_le_bytes();
            }
        }
    }
}

fn section<'a>(image: &'a Image<'_>) -> Option<&'a Section<'a>> {
    image.sections().iter().find(|section| section.kind == SHT_SYMTAB)
}

/// The strings of the original's table.
fn strings<'data>(image: &Image<'data>) -> Option<&'data [u8]> {
    content(image, image.sections().get(section(image)?.link as usize)?)
}

/// The bytes of a section in the file.
pub(crate) fn content<'data>(image: &Image<'data>, section: &Section<'_>) -> Option<&'data [u8]> {
    let start = usize::try_from(section.offset).ok()?;
    image.data().get(start..start.checked_add(usize::try_from(section.size).ok()?)?)
}

struct Writer<'a, 'data> {
    image: &'a Image<'data>,
    /// The original's strings, with which the new ones begin.
    own: &'data [u8],
    section: u16,
    binding: u8,
    table: &'a mut SymbolTable,
}

impl Writer<'_, '_> {
    /// Symbols of a copy; `known` is where the name is among the strings.
    fn push_copy(&mut self, known: u32, name: &str, copy: &FunctionCopy) {
        for (index, fragment) in copy.fragments.iter().enumerate() {
            let cold = [name, ".cold"];
            let position = if index == 0 { known } else { self.known(&cold, fragment.original.start).unwrap_or_else(|| self.add(&cold)) };
            self.push(position, fragment.address, u64::from(fragment.length()));
        }
    }

    /// Where a name is among the original's strings, if a symbol at a link address has it.
    fn known(&self, name: &[&str], address: u64) -> Option<u32> {
        let is_it = |bytes: &[u8]| {
            let rest = name.iter().try_fold(bytes, |bytes, part| bytes.strip_prefix(part.as_bytes()));
            rest.is_some_and(|rest| rest.first() == Some(&0))
        };
        let start = self.own.as_ptr().addr();
        let mut places = self.image.symbols_at(address).map(|symbol| symbol.name.as_ptr().addr().wrapping_sub(start));
        let place = places.find(|&place| self.own.get(place..).is_some_and(is_it))?;
        u32::try_from(place).ok()
    }

    /// Appends a name to the strings; answers where.
    fn add(&mut self, name: &[&str]) -> u32 {
        let position = u32::try_from(self.table.strings.len()).unwrap_or(0);
        for part in name {
            self.table.strings.extend(part.bytes());
        }
        self.table.strings.push(0);
        position
    }

    fn push(&mut self, name: u32, address: u64, size: u64) {
        let symbols = &mut self.table.symbols;
        symbols.extend(name.to_le_bytes());
        symbols.extend([self.binding, 0]);
        symbols.extend(self.section.to_le_bytes());
        symbols.extend(address.to_le_bytes());
        symbols.extend(size.to_le_bytes());
    }
}
