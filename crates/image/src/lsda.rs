//! Language-specific data areas: which calls lead to which landing pads (the exception tables of C++, Rust, Ada, …).

use std::ops::Range;

use crate::bytes::Cursor;
use crate::unwind::{Fde, OMITTED, Pointer};
use crate::{Image, Map};

/// One call site of an exception table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallSite {
    /// Instructions covered.
    pub range: Range<u64>,
    /// Link address of the landing pad, if there is one.
    pub landing_pad: Option<u64>,
    /// Position of its first action plus one; 0 is a cleanup.
    pub action: u64,
}

/// An exception table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lsda<'data> {
    /// What the landing pads are relative to.
    pub landing_start: u64,
    /// Call sites, in order.
    pub call_sites: Vec<CallSite>,
    /// Encoding of the type table's entries (`DW_EH_PE_…`; 0xff if there is none).
    pub type_encoding: u8,
    /// Link address behind the type table: entries are counted backwards from here.
    pub type_base: Option<u64>,
    /// Link address of the action table, which starts behind the call sites.
    pub actions: u64,
    /// From the action table on, up to the type base where one is given: actions, types; exception
    /// specifications follow the type base.
    pub action_bytes: &'data [u8],
}

pub(crate) fn parse<'data>(image: &Image<'data>, fde: &Fde<'data>) -> Option<Lsda<'data>> {
    let start = fde.lsda?;
    let map: &Map<'data> = &image.map;
    let bytes = map.bytes_from(start)?;
    let mut cursor = Cursor::new(bytes);
    let pointer = Pointer { base: start, header: None, function: fde.range.start };
    let encoding = cursor.u8()?;
    let landing_start = if encoding == OMITTED { fde.range.start } else { pointer.read(&mut cursor, encoding)? };
    let type_encoding = cursor.u8()?;
    let type_base = if type_encoding == OMITTED {
        None
    } else {
        let distance = cursor.uleb()?;
        Some(start.checked_add(cursor.position as u64)?.checked_add(distance)?)
    };
    let encoding = cursor.u8()? & 0x0f;
    let length = usize::try_from(cursor.uleb()?).ok()?;
    let end = cursor.position.checked_add(length)?;
    let plain = Pointer { base: 0, header: None, function: 0 };
    let mut call_sites = Vec::new();
    while cursor.position < end {
        let first = fde.range.start.wrapping_add(plain.read(&mut cursor, encoding)?);
        let size = plain.read(&mut cursor, encoding)?;
        let pad = plain.read(&mut cursor, encoding)?;
        call_sites.push(CallSite {
            range: first..first.wrapping_add(size),
            landing_pad: (pad != 0).then(|| landing_start.wrapping_add(pad)),
            action: cursor.uleb()?,
        });
    }
    let actions = start.checked_add(end as u64)?;
    let action_end = type_base.and_then(|base| usize::try_from(base.checked_sub(start)?).ok());
    let action_bytes = bytes.get(end..action_end.unwrap_or(end)).unwrap_or_default();
    Some(Lsda { landing_start, call_sites, type_encoding, type_base, actions, action_bytes })
}
