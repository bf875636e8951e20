//! Direct calls, jumps and branches by their bytes: what changes the flow of control most often, without the decoder.
//!
//! Known are the forms that compilers and linkers write, none of them behind a prefix. What is not known here is left to the decoder;
//! what is, a test holds against it.

use crate::decode::RawFlow;

/// A direct call, jump or branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Direct {
    /// Which of them.
    pub turn: Turn,
    /// Link address.
    pub target: u64,
    /// Bytes.
    pub length: u8,
    /// Where in its bytes the distance to the target begins; it ends them.
    pub field: u8,
}

/// What a direct transfer of control is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// It comes back.
    Call,
    /// Always.
    Jump,
    /// A jump on a condition.
    Branch,
}

impl Direct {
    #[inline(always)]
    pub(crate) const fn flow(self) -> RawFlow {
        match self.turn {
            Turn::Call => RawFlow::Call(self.target),
            Turn::Jump => RawFlow::Jump(self.target),
            Turn::Branch => RawFlow::Branch(self.target),
        }
    }
}

/// The one that begins some code at a link address; `None` where it is another instruction, or not known here.
#[must_use]
#[inline(always)]
pub fn direct(code: &[u8], address: u64) -> Option<Direct> {
    let (turn, field) = match *code.first()? {
        0xe8 => (Turn::Call, 1),
        0xe9 | 0xeb => (Turn::Jump, 1),
        0x70..=0x7f => (Turn::Branch, 1),
        0x0f if code.get(1)? & 0xf0 == 0x80 => (Turn::Branch, 2),
        _ => return None,
    };
    let rest = code.get(usize::from(field)..)?;
    let (distance, length) = match code.first()? {
        0xeb | 0x70..=0x7f => (i64::from(i8::from_le_bytes(*rest.first_chunk()?)), 2),
        _ => (i64::from(i32::from_le_bytes(*rest.first_chunk()?)), field + 4),
    };
    Some(Direct { turn, target: address.wrapping_add(u64::from(length)).wrapping_add_signed(distance), length, field })
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::{Direct, Turn, direct};
    use crate::decode::{RawFlow, raw_flow};

    /// What the decoder says of a direct call, jump or branch.
    fn decoded(code: &[u8], address: u64) -> Option<Direct> {
        let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
        let one = decoder.decode();
        let (turn, target) = match raw_flow(&one) {
            RawFlow::Call(target) => (Turn::Call, target),
            RawFlow::Jump(target) => (Turn::Jump, target),
            RawFlow::Branch(target) => (Turn::Branch, target),
            _ => return None,
        };
        let field = decoder.get_constant_offsets(&one).immediate_offset() as u8;
        Some(Direct { turn, target, length: one.len() as u8, field })
    }

    #[test]
    fn what_is_known_is_what_the_decoder_says() {
        let mut count = 0;
        for opcode in 0..=u16::MAX {
            for distance in [0, 1, -1, 0x7f, -0x80, 0x1234_5678, i32::MIN] {
                let code = [&opcode.to_le_bytes()[..], &distance.to_le_bytes(), &[0x90; 2]].concat();
                for (length, address) in (0..=code.len()).zip([0x40_1000, 5, u64::MAX - 20].into_iter().cycle()) {
                    let code = &code[..length];
                    let Some(found) = direct(code, address) else { continue };
                    assert_eq!(Some(found), decoded(code, address), "{code:02x?}");
                    count += 1;
                }
            }
        }
        assert!(count > 100_000, "{count} are known");
    }
}
