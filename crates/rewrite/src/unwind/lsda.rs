//! Exception tables of moved parts.
//!
//! Call sites are written anew with 32-bit fields, actions and exception specifications are copied, the type
//! table is made relative to its new place. Call sites that come to cover probes are harmless, since a probe
//! never throws; gaps between call sites, which end the program, stay gaps.

use std::ops::Range;

use tare_image::{CallSite, Fde, Image, Lsda};

use crate::copies::{FunctionCopy, Target};
use crate::points::Points;
use crate::reason::Reason;
use crate::unwind::leb::{read_signed, read_unsigned, write_unsigned};

const OMITTED: u8 = 0xff;
const RELATIVE: u8 = 0x10;
const APPLICATION: u8 = 0x70;
/// The entry is the address of a slot.
const INDIRECT: u8 = 0x80;
const UDATA4: u8 = 0x03;
/// Relative to the field, four bytes, signed.
const PCREL_SDATA4: u8 = 0x1b;

/// An exception table and its address-dependent fields.
#[derive(Debug)]
pub(crate) struct ExceptionTable {
    pub(crate) bytes: Vec<u8>,
    /// Field that says what landing pads are relative to, where that is not the start of the frame.
    pub(crate) base_at: Option<u32>,
    /// Landing pads relative to that base: field, and place in the copy.
    pub(crate) landings: Vec<(u32, Target)>,
    /// Types: field, and link address that it refers to.
    pub(crate) types: Vec<(u32, u64)>,
    /// Given by the layout.
    pub(crate) address: u64,
}

/// Converts the exception table of an entry whose code is part number `part` of a copy.
pub(crate) fn convert(image: &Image<'_>, copy: &FunctionCopy, points: Option<&Points>, fde: &Fde<'_>, part: u32) -> Result<ExceptionTable, Reason> {
    let lsda = image.lsda(fde).ok_or(Reason::ExceptionTable)?;
    let extents = extents(image, &lsda).ok_or(Reason::ExceptionTable)?;
    let type_encoding = type_encoding(image, &lsda, &extents).ok_or(Reason::ExceptionTable)?;
    let sites = call_sites(copy, points, fde, part, &lsda)?;
    let mut table = ExceptionTable {
        bytes: Vec::with_capacity(16 + sites.len() * 14 + extents.actions.len() + extents.specifications.len()),
        base_at: None,
        landings: Vec::new(),
        types: Vec::new(),
        address: 0,
    };
    let is_own = |site: &Site| match site.landing {
        Some(Target::Label { part: other, offset }) => other == part && offset > site.frame,
        _ => true,
    };
    let is_plain = sites.iter().all(is_own);
    table.head(is_plain);
    let (calls, landings) = call_site_table(&sites, is_plain);
    let mut length = Vec::new();
    write_unsigned(&mut length, calls.len() as u64);
    let types_size = if is_relative(&lsda) { extents.types.len() / extents.type_size * 4 } else { extents.types.len() };
    let behind = 1 + length.len() + calls.len() + extents.actions.len() + types_size;
    table.bytes.push(type_encoding);
    if lsda.type_encoding != OMITTED {
        write_unsigned(&mut table.bytes, behind as u64);
    }
    table.bytes.push(UDATA4);
    table.bytes.extend(length);
    let start = table.position();
    table.bytes.extend(calls);
    table.landings.extend(landings.into_iter().map(|(at, target)| (start + at, target)));
    table.bytes.extend(extents.actions);
    types(&mut table, &lsda, &extents);
    table.bytes.extend(extents.specifications);
    Ok(table)
}

impl ExceptionTable {
    fn head(&mut self, is_plain: bool) {
        if is_plain {
            self.bytes.push(OMITTED);
        } else {
            self.bytes.push(PCREL_SDATA4);
            self.base_at = Some(self.position());
            self.bytes.extend([0; 4]);
        }
    }

    fn position(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
    }
}

struct Site {
    /// Offset of the frame in its fragment, which call sites count from.
    frame: u32,
    start: u32,
    length: u32,
    landing: Option<Target>,
    action: u64,
}

fn call_sites(copy: &FunctionCopy, points: Option<&Points>, fde: &Fde<'_>, part: u32, lsda: &Lsda<'_>) -> Result<Vec<Site>, Reason> {
    let fragment = copy.fragments.get(part as usize).ok_or(Reason::ExceptionTable)?;
    let frame = fragment.edge(fde.range.start);
    let mut sites = Vec::with_capacity(lsda.call_sites.len());
    for site in &lsda.call_sites {
        if site.range.start < fde.range.start || site.range.end > fde.range.end {
            return Err(Reason::ExceptionTable);
        }
        for (range, arrival) in pieces(points, site) {
            let landing = match site.landing_pad {
                Some(address) => Some(copy.arrival(address, arrival).ok_or(Reason::ExceptionTable)?),
                None => None,
            };
            let start = fragment.edge(range.start);
            let length = fragment.edge(range.end).saturating_sub(start);
            sites.push(Site { frame, start: start - frame, length, landing, action: site.action });
        }
    }
    Ok(sites)
}

/// A call site in pieces, where calls in it have ways of their own to the landing pad.
fn pieces(points: Option<&Points>, site: &CallSite) -> Vec<(Range<u64>, Option<u32>)> {
    let mut pieces = Vec::new();
    let mut next = site.range.start;
    let ways = points.filter(|_| site.landing_pad.is_some()).map_or(&[][..], |points| points.landings.as_slice());
    let first = ways.partition_point(|way| way.0.start < site.range.start);
    let own = ways.get(first..).unwrap_or_default().iter().take_while(|way| way.0.end <= site.range.end);
    for (call, _, arrival) in own.filter(|way| Some(way.1) == site.landing_pad) {
        if next < call.start {
            pieces.push((next..call.start, None));
        }
        pieces.push((call.clone(), Some(*arrival)));
        next = call.end;
    }
    if next < site.range.end || pieces.is_empty() {
        pieces.push((next..site.range.end, None));
    }
    pieces
}

/// The call-site table, and its landing pads that are relative to the explicit base.
fn call_site_table(sites: &[Site], is_plain: bool) -> (Vec<u8>, Vec<(u32, Target)>) {
    let mut bytes = Vec::with_capacity(sites.len() * 13);
    let mut landings = Vec::new();
    for site in sites {
        bytes.extend(site.start.to_le_bytes());
        bytes.extend(site.length.to_le_bytes());
        let landing = match site.landing {
            Some(Target::Label { offset, .. }) if is_plain => offset - site.frame,
            Some(target) => {
                landings.push((u32::try_from(bytes.len()).unwrap_or(u32::MAX), target));
                0
            }
            None => 0,
        };
        bytes.extend(landing.to_le_bytes());
        write_unsigned(&mut bytes, site.action);
    }
    (bytes, landings)
}

/// The tables behind the call sites, as far as anything refers to them.
struct Extents<'data> {
    actions: &'data [u8],
    types: &'data [u8],
    type_size: usize,
    specifications: &'data [u8],
}

fn extents<'data>(image: &Image<'data>, lsda: &Lsda<'data>) -> Option<Extents<'data>> {
    let actions = image.bytes_from(lsda.actions).unwrap_or_default();
    let specifications = lsda.type_base.and_then(|base| image.bytes_from(base)).unwrap_or_default();
    let mut action_end = 0;
    let mut specification_end = 0;
    let mut types = 0_u64;
    for site in lsda.call_sites.iter().filter(|site| site.action != 0) {
        let mut at = usize::try_from(site.action - 1).ok()?;
        // A chain is shorter than the table that it runs through; a longer one is a cycle.
        for _ in 0..=actions.len() {
            let mut position = at;
            let filter = read_signed(actions, &mut position)?;
            let link = position;
            let next = read_signed(actions, &mut position)?;
            action_end = action_end.max(position);
            match u64::try_from(filter) {
                Ok(index) => types = types.max(index),
                Err(_) => {
                    let mut position = usize::try_from(filter.checked_add(1)?.checked_neg()?).ok()?;
                    while let index @ 1.. = read_unsigned(specifications, &mut position)? {
                        types = types.max(index);
                    }
                    specification_end = specification_end.max(position);
                }
            }
            if next == 0 {
                break;
            }
            at = usize::try_from(i64::try_from(link).ok()?.checked_add(next)?).ok()?;
        }
    }
    let type_size = type_size(lsda.type_encoding);
    let type_bytes = usize::try_from(types).ok()?.checked_mul(type_size)?;
    let types = match lsda.type_base {
        // An empty table may end with its segment.
        _ if types == 0 => &[],
        Some(base) => image.bytes_at(base.checked_sub(type_bytes as u64)?, type_bytes as u64)?,
        None => return None,
    };
    Some(Extents { actions: actions.get(..action_end)?, types, type_size, specifications: specifications.get(..specification_end)? })
}

const fn type_size(encoding: u8) -> usize {
    match encoding & 0x0f {
        0x02 | 0x0a => 2,
        0x03 | 0x0b => 4,
        _ => 8,
    }
}

/// Appends the type table. One relative to its entries gets entries of four bytes, which reach everything in an image.
fn types(table: &mut ExceptionTable, lsda: &Lsda<'_>, extents: &Extents<'_>) {
    if !is_relative(lsda) {
        return table.bytes.extend(extents.types);
    }
    let base = lsda.type_base.unwrap_or(0) - extents.types.len() as u64;
    for (entry, at) in extents.types.chunks_exact(extents.type_size).zip((base..).step_by(extents.type_size)) {
        let value = match *entry {
            [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
            _ => entry.try_into().map_or(0, i64::from_le_bytes),
        };
        if value != 0 {
            table.types.push((table.position(), at.wrapping_add_signed(value)));
        }
        table.bytes.extend([0; 4]);
    }
}

/// The encoding of a type table as it is written, if types can be written anew.
fn type_encoding(image: &Image<'_>, lsda: &Lsda<'_>, extents: &Extents<'_>) -> Option<u8> {
    let encoding = lsda.type_encoding;
    match encoding & APPLICATION {
        _ if extents.types.is_empty() => Some(encoding),
        RELATIVE if matches!(extents.type_size, 4 | 8) => Some(encoding & INDIRECT | PCREL_SDATA4),
        0 if !image.kind().is_position_independent() => Some(encoding),
        _ => None,
    }
}

/// Whether the types are distances from where they stand.
fn is_relative(lsda: &Lsda<'_>) -> bool {
    lsda.type_encoding & APPLICATION == RELATIVE
}
