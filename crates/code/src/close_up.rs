//! A function's instructions with all their operands, for estimates: a [`Body`](crate::Body) keeps only what others need.

use iced_x86::Instruction as Decoded;
use tare_image::Image;

use crate::Program;
use crate::decode::decoder;
use crate::program::Function;

/// All of a function's decoded instructions, in the order of its body.
pub struct CloseUp {
    pub(crate) code: Vec<Decoded>,
}

impl Program {
    /// Decodes a function of this program.
    #[must_use]
    pub fn close_up(&self, image: &Image<'_>, function: &Function) -> CloseUp {
        let mut code = Vec::with_capacity(usize::try_from(function.size() / 3).unwrap_or(0));
        for part in &function.parts {
            code.extend(decoder(image, part));
        }
        CloseUp { code }
    }
}
