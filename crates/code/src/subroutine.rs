//! What code calls in its own middle: a subroutine, which comes back, or a way to learn where it runs (`call` and `pop`, a call over data).

use std::ops::Range;

use iced_x86::{Instruction, Register};
use tare_image::Image;

use crate::carried::Carried;
use crate::decode::{RawFlow, decoder, raw_flow};
use crate::stretch::stack_depth_behind;

/// The frame pointer holds something else: no operand is so far away.
const NO_FRAME: i64 = i64::MIN / 2;

/// Whether a subroutine begins with a range of code: it neither reads nor drops its return address, and takes registers
/// alone. It is followed straight on, to where it must leave.
pub(crate) fn begins_subroutine(image: &Image<'_>, range: &Range<u64>) -> bool {
    let mut carried = Carried::at_start();
    let mut frame = NO_FRAME;
    let mut depth = Some(0);
    for one in decoder(image, range) {
        let flow = raw_flow(&one);
        let is_level = match flow {
            RawFlow::Return => return depth.is_none_or(|depth| depth == 0),
            RawFlow::Jump(_) | RawFlow::IndirectJump | RawFlow::Stop => return true,
            RawFlow::Invalid => return false,
            _ => !carried.step(&one, flow),
        };
        if !is_level || depth.is_some_and(|depth| names_return_address(&one, depth, frame)) {
            return false;
        }
        depth = depth.and_then(|depth| stack_depth_behind(&one, depth, &mut frame));
        if depth.is_some_and(i64::is_negative) {
            return false;
        }
    }
    true
}

/// Whether an operand is the word that the call pushed; `depth` bytes were pushed since, and `frame` before the frame pointer was set.
fn names_return_address(one: &Instruction, depth: i64, frame: i64) -> bool {
    let offset = match one.memory_base() {
        Register::RSP => depth,
        Register::RBP => frame,
        _ => return false,
    };
    one.memory_index() == Register::None && one.memory_displacement64().cast_signed() == offset
}
