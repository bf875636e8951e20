//! Versions of imported symbols: which edition of which library the linker found a name in.

use std::collections::HashMap;

use crate::Map;
use crate::bytes::{text_at, u16_at, u32_at};
use crate::dynamic::Dynamic;
use crate::symbols::Symbol;

const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_VERNEED: u64 = 0x6fff_fffe;
/// The high bit of a version's number says that the symbol is hidden.
const NUMBER: u16 = 0x7fff;
/// Names are no longer than this.
const LONGEST: usize = 256;

/// Which edition of which library the linker found an import in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version<'data> {
    /// The library's own name, such as `libc.so.6`.
    pub library: &'data str,
    /// Such as `GLIBC_2.2.5`.
    pub name: &'data str,
}

/// From the names of imports to their versions. Names without a version are in none.
pub(crate) fn of_imports<'data>(map: &Map<'data>, dynamic: &Dynamic<'data>, symbols: &[Symbol<'data>]) -> HashMap<&'data str, Version<'data>> {
    let needed = needed(map, dynamic);
    let numbers = dynamic.value(DT_VERSYM).and_then(|table| map.bytes_from(table)).unwrap_or_default();
    let numbers = numbers.chunks_exact(2).filter_map(|bytes| u16_at(bytes, 0));
    let imports = symbols.iter().zip(numbers).filter(|(symbol, _)| !symbol.is_defined);
    imports.filter_map(|(symbol, number)| Some((symbol.name, *needed.get(&(number & NUMBER))?))).collect()
}

/// The versions that the image needs of other files, by the numbers that it gives them. A number is used once, so that there are no more entries
/// than numbers.
fn needed<'data>(map: &Map<'data>, dynamic: &Dynamic<'data>) -> HashMap<u16, Version<'data>> {
    let mut found = HashMap::new();
    let table = dynamic.value(DT_VERNEED).and_then(|table| map.bytes_from(table)).unwrap_or_default();
    let strings = map.bytes_from(dynamic.string_table()).unwrap_or_default();
    let text = |place: u32| {
        let rest = strings.get(place as usize..)?;
        text_at(rest.get(..LONGEST.min(rest.len()))?, 0)
    };
    let files = chain(table, 0, 12).filter_map(|file| {
        let first = file.checked_add(u32_at(table, file.checked_add(8)?)? as usize)?;
        Some((text(u32_at(table, file.checked_add(4)?)?)?, first))
    });
    let entries = files.flat_map(|(library, first)| chain(table, first, 12).map(move |one| (library, one)));
    for (library, one) in entries.take(usize::from(NUMBER)) {
        let (Some(number), Some(name)) = (u16_at(table, one.saturating_add(6)), u32_at(table, one.saturating_add(8))) else { break };
        found.extend(text(name).map(|name| (number & NUMBER, Version { library, name })));
    }
    found
}

/// The places of a chain of entries, each of which says how far it is to the next one, or zero.
fn chain(table: &[u8], first: usize, next: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(first), move |&place| {
        let distance = usize::try_from(u32_at(table, place.checked_add(next)?)?).ok()?;
        place.checked_add(distance).filter(|_| distance != 0)
    })
    .take(usize::from(NUMBER))
}
