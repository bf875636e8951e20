//! How long the most usual instructions are, by tables instead of the decoder.
//!
//! Plain are instructions after which control goes on to the next one, and that refer to nothing relative to themselves: three
//! of four. Where only their ends are asked for, this takes a fifth of the decoder's time. What the tables do not know is left
//! to the decoder; what they know, a test holds against it, every opcode with every operand.

/// The opcode is known.
const KNOWN: u8 = 1 << 7;
/// An operand byte follows.
const OPERAND: u8 = 1 << 6;
/// Which instruction it is, or whether it has an immediate, is in the operand byte.
const GROUP: u8 = 1 << 5;
/// What follows at the end: nothing, a byte, four bytes (two under the prefix for 16 bits), or as many as the register has.
const IMMEDIATE: u8 = 3;
const BYTE: u8 = 1;
const WORD: u8 = 2;
const REGISTER: u8 = 3;

const MODRM: u8 = KNOWN | OPERAND;

type Table = [u8; 256];

/// Opcodes of one byte, but for arithmetic.
const ONE: Table = table(&[
    (0x50, 0x5f, KNOWN),
    (0x63, 0x63, MODRM),
    (0x68, 0x68, KNOWN | WORD),
    (0x69, 0x69, MODRM | WORD),
    (0x6a, 0x6a, KNOWN | BYTE),
    (0x6b, 0x6b, MODRM | BYTE),
    (0x80, 0x80, MODRM | BYTE),
    (0x81, 0x81, MODRM | WORD),
    (0x83, 0x83, MODRM | BYTE),
    (0x84, 0x8b, MODRM),
    (0x8d, 0x8d, MODRM | GROUP),
    (0x98, 0x99, KNOWN),
    (0xa8, 0xa8, KNOWN | BYTE),
    (0xa9, 0xa9, KNOWN | WORD),
    (0xb0, 0xb7, KNOWN | BYTE),
    (0xb8, 0xbf, KNOWN | REGISTER),
    (0xc0, 0xc1, MODRM | BYTE),
    (0xc6, 0xc6, MODRM | GROUP | BYTE),
    (0xc7, 0xc7, MODRM | GROUP | WORD),
    (0xc9, 0xc9, KNOWN),
    (0xd0, 0xd3, MODRM),
    (0xf6, 0xf6, MODRM | GROUP | BYTE),
    (0xf7, 0xf7, MODRM | GROUP | WORD),
    (0xfe, 0xff, MODRM | GROUP),
]);

/// Opcodes behind `0f`, by the prefix in front: none, `66`, `f2`, `f3`.
const TWO: [Table; 4] = [
    table(&[
        (0x10, 0x12, MODRM),
        (0x14, 0x16, MODRM),
        (0x1f, 0x1f, MODRM),
        (0x28, 0x29, MODRM),
        (0x2e, 0x2f, MODRM),
        (0x40, 0x4f, MODRM),
        (0x51, 0x5f, MODRM),
        (0x90, 0x9f, MODRM),
        (0xa3, 0xa3, MODRM),
        (0xa4, 0xa4, MODRM | BYTE),
        (0xa5, 0xa5, MODRM),
        (0xab, 0xab, MODRM),
        (0xac, 0xac, MODRM | BYTE),
        (0xad, 0xad, MODRM),
        (0xaf, 0xaf, MODRM),
        (0xb3, 0xb3, MODRM),
        (0xb6, 0xb7, MODRM),
        (0xba, 0xba, MODRM | GROUP | BYTE),
        (0xbb, 0xbf, MODRM),
        (0xc6, 0xc6, MODRM | BYTE),
        (0xc8, 0xcf, KNOWN),
    ]),
    table(&[
        (0x10, 0x11, MODRM),
        (0x14, 0x15, MODRM),
        (0x1f, 0x1f, MODRM),
        (0x28, 0x29, MODRM),
        (0x2e, 0x2f, MODRM),
        (0x40, 0x4f, MODRM),
        (0x51, 0x51, MODRM),
        (0x54, 0x70, MODRM),
        (0x70, 0x70, BYTE),
        (0x74, 0x76, MODRM),
        (0x7e, 0x7f, MODRM),
        (0xa3, 0xa3, MODRM),
        (0xaf, 0xaf, MODRM),
        (0xb6, 0xb7, MODRM),
        (0xbe, 0xbf, MODRM),
        (0xc6, 0xc6, MODRM | BYTE),
        (0xd2, 0xd6, MODRM),
        (0xd8, 0xe5, MODRM),
        (0xe8, 0xef, MODRM),
        (0xf8, 0xfe, MODRM),
    ]),
    table(&[(0x10, 0x11, MODRM), (0x2a, 0x2a, MODRM), (0x2c, 0x2d, MODRM), (0x51, 0x51, MODRM), (0x58, 0x5a, MODRM), (0x5c, 0x5f, MODRM)]),
    table(&[
        (0x10, 0x11, MODRM),
        (0x2a, 0x2a, MODRM),
        (0x2c, 0x2d, MODRM),
        (0x51, 0x51, MODRM),
        (0x58, 0x5f, MODRM),
        (0x6f, 0x6f, MODRM),
        (0x7e, 0x7f, MODRM),
        (0xb8, 0xb8, MODRM),
        (0xbc, 0xbd, MODRM),
    ]),
];

/// The table with the bits of each range of opcodes, the last one included.
const fn table(ranges: &[(u8, u8, u8)]) -> Table {
    let mut table = [0; 256];
    let mut index = 0;
    while index < ranges.len() {
        let (first, last, bits) = ranges[index];
        let mut opcode = first as usize;
        while opcode <= last as usize {
            table[opcode] |= bits;
            opcode += 1;
        }
        index += 1;
    }
    table
}

/// What is known of opcodes of one byte: of arithmetic, which takes eight for each operation, as well.
const ALONE: Table = alone();

const fn alone() -> Table {
    let mut table = ONE;
    let mut opcode = 0;
    while opcode < 0x40 {
        table[opcode] = match opcode & 7 {
            0..=3 => MODRM,
            4 => KNOWN | BYTE,
            5 => KNOWN | WORD,
            _ => 0,
        };
        opcode += 1;
    }
    table
}

/// What stands between an operand byte and the immediate: how many bytes, or what is to be looked at.
const BEHIND: Table = behind();
/// The next byte says whether four more follow.
const BASE: u8 = 1 << 6;
/// An address relative to the instruction.
const RELATIVE: u8 = 1 << 7;

const fn behind() -> Table {
    let mut table = [0; 256];
    let mut operand = 0;
    while operand < table.len() {
        table[operand] = match (operand >> 6, operand & 7) {
            (0, 4) => BASE,
            (0, 5) => RELATIVE,
            (1, 4) => 2,
            (1, _) => 1,
            (2, 4) => 5,
            (2, _) => 4,
            _ => 0,
        };
        operand += 1;
    }
    table
}

/// Bytes of a plain instruction at the start of some code; `None` where it is another, or not known here.
#[must_use]
#[inline]
pub fn plain_length(code: &[u8]) -> Option<usize> {
    if let Some(bytes) = code.first_chunk::<8>() {
        return length(*bytes).filter(|&length| length <= code.len());
    }
    let mut bytes = [0; 8];
    bytes.get_mut(..code.len())?.copy_from_slice(code);
    length(bytes).filter(|&length| length <= code.len())
}

/// The first bytes of an instruction, one after the other.
struct First {
    left: u64,
    taken: usize,
}

impl First {
    #[inline]
    const fn next(&mut self) -> u8 {
        let byte = self.left as u8;
        self.left >>= 8;
        self.taken += 1;
        byte
    }
}

/// Bytes of a plain instruction that begins so. All but distance and immediate are within six bytes: prefix, REX, `0f`, opcode, operand, base.
#[inline]
fn length(first: [u8; 8]) -> Option<usize> {
    let mut first = First { left: u64::from_le_bytes(first), taken: 0 };
    let mut byte = first.next();
    let prefix = match byte {
        0x66 => 1,
        0xf2 => 2,
        0xf3 => 3,
        _ => 0,
    };
    if prefix != 0 {
        byte = first.next();
    }
    let is_wide = byte & 0xf8 == 0x48;
    if byte & 0xf0 == 0x40 {
        byte = first.next();
    }
    let is_long = byte == 0x0f;
    let known = match (is_long, prefix) {
        (true, _) => {
            byte = first.next();
            *TWO.get(prefix)?.get(usize::from(byte))?
        }
        (false, 0) => *ALONE.get(usize::from(byte))?,
        // Both prefixes at once are rare.
        (false, 1) if !is_wide => *ALONE.get(usize::from(byte))?,
        (false, _) => 0,
    };
    if known & KNOWN == 0 {
        return None;
    }
    let mut immediate = known & IMMEDIATE;
    let mut distance = 0;
    if known & OPERAND != 0 {
        let operand = first.next();
        if known & GROUP != 0 {
            let (mode, register) = (operand >> 6, operand >> 3 & 7);
            match (is_long, byte) {
                (false, 0x8d) if mode != 3 => {}
                (false, 0xc6 | 0xc7) if register == 0 => {}
                (false, 0xf6 | 0xf7) if register < 2 => {}
                (false, 0xf6 | 0xf7) => immediate = 0,
                (false, 0xfe) if register < 2 => {}
                (false, 0xff) if register < 2 || register == 6 => {}
                (true, 0xba) if register >= 4 => {}
                _ => return None,
            }
        }
        distance = match *BEHIND.get(usize::from(operand))? {
            RELATIVE => return None,
            behind if behind & BASE != 0 => {
                if first.next() & 7 == 5 {
                    4
                } else {
                    0
                }
            }
            behind => behind,
        };
    }
    let immediate = match (immediate, prefix) {
        (0, _) => 0,
        (BYTE, _) => 1,
        (_, 1) => 2,
        (REGISTER, _) if is_wide => 8,
        _ => 4,
    };
    Some(first.taken + usize::from(distance) + immediate)
}

#[cfg(test)]
mod tests {
    use super::plain_length;
    use iced_x86::{Code, Decoder, DecoderOptions, FlowControl};

    /// What the decoder says: the length of an instruction that is plain.
    fn decoded(code: &[u8]) -> Option<usize> {
        let one = Decoder::with_ip(64, code, 0x1000, DecoderOptions::NONE).decode();
        let is_plain = !one.is_invalid() && one.flow_control() == FlowControl::Next && one.code() != Code::Hlt && !one.is_ip_rel_memory_operand();
        is_plain.then(|| one.len())
    }

    /// All instructions by their prefixes, opcodes and operands, with the bytes that hold them.
    fn all(mut look: impl FnMut(&[u8])) {
        let prefixes = [&[][..], &[0x66], &[0xf2], &[0xf3]];
        let wides = (0x40..=0x4f_u8).map(Some).chain([None]);
        for (prefix, wide) in prefixes.into_iter().flat_map(|prefix| wides.clone().map(move |wide| (prefix, wide))) {
            for (is_long, opcode) in [false, true].into_iter().flat_map(|is_long| (0..=255_u8).map(move |opcode| (is_long, opcode))) {
                for operand in 0..=255_u8 {
                    for scaled in [0x00, 0x05, 0x25, 0xe5] {
                        let mut code = prefix.to_vec();
                        code.extend(wide);
                        code.extend(is_long.then_some(0x0f));
                        code.extend([opcode, operand, scaled, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
                        look(&code);
                    }
                }
            }
        }
    }

    #[test]
    fn lengths_are_those_of_the_decoder() {
        let mut count = 0_u32;
        all(|code| {
            let Some(length) = plain_length(code) else { return };
            assert_eq!(decoded(code), Some(length), "{code:02x?}");
            count += 1;
        });
        assert!(count > 1_000_000, "{count} are known");
    }

    #[test]
    fn what_ends_early_is_left_to_the_decoder() {
        let code = [0x48, 0x81, 0x84, 0x24, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(plain_length(&code), Some(12));
        assert!((0..12).all(|length| plain_length(code.get(..length).unwrap_or_default()).is_none()));
    }
}
