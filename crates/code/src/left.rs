//! What of the text is in no function.

use std::ops::Range;

use iced_x86::Instruction;
use tare_image::Image;

use crate::Program;
use crate::decode::{decoder, is_padding};

impl Program {
    /// Bytes of text that are in no function and do not only fill space: constants among code, or code that was not found.
    #[must_use]
    pub fn left_over(&self, image: &Image<'_>) -> u64 {
        image.text().iter().flat_map(|text| self.gaps(text)).map(|gap| filled(image, gap)).sum()
    }

    /// Where a range of text is in no function, in order.
    fn gaps(&self, text: &Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut behind = text.start;
        for &(start, end, _) in self.owners.iter().filter(|&&(start, end, _)| start < text.end && end > text.start) {
            gaps.extend((behind < start).then_some(behind..start));
            behind = behind.max(end);
        }
        gaps.extend((behind < text.end).then_some(behind..text.end));
        gaps
    }
}

/// Bytes of a range that are neither zero nor of instructions that only fill space.
fn filled(image: &Image<'_>, gap: Range<u64>) -> u64 {
    let plt = |address: u64| image.plt_at(address).is_some();
    let (mut at, mut sum) = (gap.start, 0);
    let mut instruction = Instruction::default();
    while at < gap.end {
        if image.bytes_at(at, 1) == Some(&[0]) {
            at += 1;
            continue;
        }
        let mut decoder = decoder(image, &(at..gap.end));
        if !decoder.can_decode() {
            break;
        }
        decoder.decode_out(&mut instruction);
        let length = instruction.len().max(1) as u64;
        sum += if is_padding(&instruction) || plt(at) { 0 } else { length };
        at += length;
    }
    sum
}
