//! Direct calls, jumps and branches by their bytes: what changes the flow of control most often, without the decoder.
//!
//! Known are the forms that compilers and linkers write, none of them behind a prefix. What is not known here is left to the decoder;
//! what is, a test holds against it.

use crate::decode::RawFlow;

/// A direct call, jump or branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Direct {
    pub(crate) flow: RawFlow,
    pub(crate) length: u8,
}

/// The one that begins some code at a link address; `None` where it is another instruction, or not known here.
#[inline(always)]
pub(crate) fn direct(code: &[u8], address: u64) -> Option<Direct> {
    let (flow, opcode): (fn(u64) -> RawFlow, usize) = match *code.first()? {
        0xe8 => (RawFlow::Call, 1),
        0xe9 | 0xeb => (RawFlow::Jump, 1),
        0x70..=0x7f => (RawFlow::Branch, 1),
        0x0f if code.get(1)? & 0xf0 == 0x80 => (RawFlow::Branch, 2),
        _ => return None,
    };
    let rest = code.get(opcode..)?;
    let (distance, length) = match code.first()? {
        0xeb | 0x70..=0x7f => (i64::from(i8::from_le_bytes(*rest.first_chunk()?)), 2),
        _ => (i64::from(i32::from_le_bytes(*rest.first_chunk()?)), opcode as u8 + 4),
    };
    Some(Direct { flow: flow(address.wrapping_add(u64::from(length)).wrapping_add_signed(distance)), length })
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::{Direct, direct};
    use crate::decode::{RawFlow, raw_flow};

    /// What the decoder says of a direct call, jump or branch.
    fn decoded(code: &[u8], address: u64) -> Option<Direct> {
        let one = Decoder::with_ip(64, code, address, DecoderOptions::NONE).decode();
        let flow = raw_flow(&one);
        let is_direct = matches!(flow, RawFlow::Call(_) | RawFlow::Jump(_) | RawFlow::Branch(_));
        is_direct.then(|| Direct { flow, length: one.len() as u8 })
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
