//! Whether the flags are read before they are written again.
//!
//! One way is followed from an instruction on: straight ahead and along unconditional jumps. What is still
//! open after some sixty instructions counts as alive. Calls and returns neither take nor give flags, as at a function's entry
//! and exits.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, RflagsBits};
use tare_image::Image;

use crate::decode::LONGEST;
use crate::quick::QuickMap;

/// The arithmetic flags.
pub(crate) const ARITHMETIC: u32 = RflagsBits::OF | RflagsBits::SF | RflagsBits::ZF | RflagsBits::AF | RflagsBits::CF | RflagsBits::PF;
/// Instructions that are looked at.
const REACH: usize = 64;

/// Answers for one function, each made once.
pub struct Flags<'a, 'data> {
    image: &'a Image<'data>,
    known: QuickMap<u64, bool>,
}

impl<'a, 'data> Flags<'a, 'data> {
    /// Of an image.
    #[must_use]
    pub fn new(image: &'a Image<'data>) -> Self {
        Self { image, known: QuickMap::default() }
    }

    /// Whether they are dead in front of the instruction at a link address.
    pub fn are_dead_at(&mut self, address: u64) -> bool {
        if let Some(&known) = self.known.get(&address) {
            return known;
        }
        let found = self.look(address).unwrap_or(false);
        self.known.insert(address, found);
        found
    }

    fn look(&self, mut address: u64) -> Option<bool> {
        let mut written = 0;
        let mut one = Instruction::default();
        for _ in 0..REACH {
            let text = self.image.text_at(address)?;
            let bytes = self.image.bytes_at(address, LONGEST.min(text.end - address))?;
            Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode_out(&mut one);
            if one.is_invalid() || one.rflags_read() & ARITHMETIC & !written != 0 {
                return Some(false);
            }
            written |= one.rflags_modified() & ARITHMETIC;
            if written == ARITHMETIC {
                return Some(true);
            }
            address = match one.flow_control() {
                FlowControl::Next => one.next_ip(),
                FlowControl::UnconditionalBranch => one.near_branch_target(),
                FlowControl::Call | FlowControl::IndirectCall | FlowControl::Return => return Some(true),
                _ => return Some(false),
            };
        }
        None
    }
}
