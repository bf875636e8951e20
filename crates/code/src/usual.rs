//! The most usual instructions without the decoder: where they end, and the one place that each refers to.

use crate::direct::{Direct, direct};
use crate::plain::plain;

/// An instruction that is told by its first bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Usual {
    /// Control goes on behind it, and nothing in it depends on where it stands.
    Plain {
        /// Bytes.
        length: u8,
    },
    /// The same, but for an operand in memory at a distance of four bytes from its end.
    Relative {
        /// Bytes.
        length: u8,
        /// Where in its bytes the distance is.
        field: u8,
        /// Link address of the operand.
        target: u64,
    },
    /// A direct call, jump or branch.
    Direct(Direct),
}

/// The one that begins some code at a link address; `None` where it is another, or not known here.
#[must_use]
#[inline(always)]
pub fn usual(code: &[u8], address: u64) -> Option<Usual> {
    let Some(plain) = plain(code) else { return direct(code, address).map(Usual::Direct) };
    let length = plain.length() as u8;
    let Some(field) = plain.distance() else { return Some(Usual::Plain { length }) };
    let distance = i32::from_le_bytes(*code.get(usize::from(field)..)?.first_chunk()?);
    let target = address.wrapping_add(u64::from(length)).wrapping_add_signed(i64::from(distance));
    Some(Usual::Relative { length, field, target })
}
