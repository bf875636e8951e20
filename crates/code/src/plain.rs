//! How long the most usual instructions are, by tables instead of the decoder.
//!
//! Plain are instructions after which control goes on to the next one: four of five. Where only their ends are asked for, and what they
//! refer to relative to themselves, this takes a fifth of the decoder's time. Some of them are quiet besides, and tell nothing of functions. What the tables do not know is left to the decoder; what they know, a test holds against it, every opcode
//! with every operand.

/// What is known of an opcode, bit by bit.
type Bits = u16;

/// The operand is at a distance from the instruction's end.
const DISTANT: Bits = 1 << 10;
/// The opcode is known.
const KNOWN: Bits = 1 << 9;
/// An operand byte follows.
const OPERAND: Bits = 1 << 8;
/// Which instruction it is, or whether it has an immediate, is in the operand byte.
const GROUP: Bits = 1 << 7;
/// A sum, a constant or a far distance: it may name an address.
const NAMES: Bits = 1 << 6;
/// A comparison, of what may be an address.
const COMPARES: Bits = 1 << 5;
/// Whether it is one of those, is in the operand byte.
const MAY_NAME: Bits = 1 << 4;
/// Flags are neither read nor written.
const KEEPS_FLAGS: Bits = 1 << 3;
/// All arithmetic flags are written, and none is read.
const SETS_FLAGS: Bits = 1 << 2;
/// What follows at the end: nothing, a byte, four bytes (two under the prefix for 16 bits), or as many as the register has.
const IMMEDIATE: Bits = 3;
const BYTE: Bits = 1;
const WORD: Bits = 2;
const REGISTER: Bits = 3;

const MODRM: Bits = KNOWN | OPERAND;
/// What only moves values.
const MOVE: Bits = MODRM | KEEPS_FLAGS;

type Table = [Bits; 256];

/// Opcodes of one byte, but for arithmetic.
const ONE: Table = table(&[
    (0x50, 0x5f, KNOWN | KEEPS_FLAGS),
    (0x63, 0x63, MOVE),
    (0x68, 0x68, KNOWN | WORD),
    (0x69, 0x69, MODRM | WORD),
    (0x6a, 0x6a, KNOWN | BYTE),
    (0x6b, 0x6b, MODRM | BYTE),
    (0x80, 0x80, MODRM | MAY_NAME | BYTE),
    (0x81, 0x81, MODRM | MAY_NAME | WORD),
    (0x83, 0x83, MODRM | MAY_NAME | BYTE),
    (0x84, 0x85, MODRM | SETS_FLAGS),
    (0x86, 0x87, MODRM),
    (0x88, 0x8b, MOVE),
    (0x8d, 0x8d, MOVE | GROUP),
    (0x98, 0x99, KNOWN),
    (0xa8, 0xa8, KNOWN | SETS_FLAGS | BYTE),
    (0xa9, 0xa9, KNOWN | SETS_FLAGS | WORD),
    (0xb0, 0xb7, KNOWN | KEEPS_FLAGS | BYTE),
    (0xb8, 0xbf, KNOWN | NAMES | REGISTER),
    (0xc0, 0xc1, MODRM | BYTE),
    (0xc6, 0xc6, MOVE | GROUP | BYTE),
    (0xc7, 0xc7, MODRM | GROUP | NAMES | WORD),
    (0xc9, 0xc9, KNOWN),
    (0xd0, 0xd3, MODRM),
    (0xf6, 0xf6, MODRM | GROUP | BYTE),
    (0xf7, 0xf7, MODRM | GROUP | WORD),
    (0xfe, 0xff, MODRM | GROUP),
]);

/// Opcodes behind `0f`, by the prefix in front: none, `66`, `f2`, `f3`.
const TWO: [Table; 4] = [
    table(&[
        (0x10, 0x12, MOVE),
        (0x14, 0x16, MODRM),
        (0x1f, 0x1f, MODRM),
        (0x28, 0x29, MOVE),
        (0x2e, 0x2f, MODRM),
        (0x40, 0x4f, MODRM),
        (0x51, 0x5f, MODRM),
        (0x90, 0x9f, MODRM),
        (0xa3, 0xa3, MODRM | COMPARES),
        (0xa4, 0xa4, MODRM | BYTE),
        (0xa5, 0xa5, MODRM),
        (0xab, 0xab, MODRM),
        (0xac, 0xac, MODRM | BYTE),
        (0xad, 0xad, MODRM),
        (0xaf, 0xaf, MODRM),
        (0xb3, 0xb3, MODRM),
        (0xb6, 0xb7, MOVE),
        (0xba, 0xba, MODRM | GROUP | MAY_NAME | BYTE),
        (0xbb, 0xbf, MODRM),
        (0xc6, 0xc6, MODRM | BYTE),
        (0xc8, 0xcf, KNOWN),
    ]),
    table(&[
        (0x10, 0x11, MOVE),
        (0x14, 0x15, MODRM),
        (0x1f, 0x1f, MODRM),
        (0x28, 0x29, MOVE),
        (0x2e, 0x2f, MODRM),
        (0x40, 0x4f, MODRM),
        (0x51, 0x51, MODRM),
        (0x54, 0x70, MODRM),
        (0x70, 0x70, BYTE),
        (0x74, 0x76, MODRM),
        (0x7e, 0x7f, MOVE),
        (0xa3, 0xa3, MODRM | COMPARES),
        (0xaf, 0xaf, MODRM),
        (0xb6, 0xb7, MOVE),
        (0xbe, 0xbf, MODRM),
        (0xc6, 0xc6, MODRM | BYTE),
        (0xd2, 0xd6, MODRM),
        (0xd8, 0xe5, MODRM),
        (0xe8, 0xef, MODRM),
        (0xf8, 0xfe, MODRM),
    ]),
    table(&[(0x10, 0x11, MOVE), (0x2a, 0x2a, MODRM), (0x2c, 0x2d, MODRM), (0x51, 0x51, MODRM), (0x58, 0x5a, MODRM), (0x5c, 0x5f, MODRM)]),
    table(&[
        (0x10, 0x11, MOVE),
        (0x2a, 0x2a, MODRM),
        (0x2c, 0x2d, MODRM),
        (0x51, 0x51, MODRM),
        (0x58, 0x5f, MODRM),
        (0x6f, 0x6f, MOVE),
        (0x7e, 0x7f, MOVE),
        (0xb8, 0xb8, MODRM),
        (0xbc, 0xbd, MODRM),
    ]),
];

/// The table with the bits of each range of opcodes, the last one included.
const fn table(ranges: &[(u8, u8, Bits)]) -> Table {
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

/// What is known of opcodes, by the prefix in front: of one byte, and of those behind `0f`.
static OPCODES: [Table; 8] = [ALONE, ALONE, [0; 256], [0; 256], TWO[0], TWO[1], TWO[2], TWO[3]];

/// What is known of opcodes of one byte: of arithmetic, which takes eight for each operation, as well.
const ALONE: Table = alone();

const fn alone() -> Table {
    const ADD_IMMEDIATE: usize = 0x05;
    const COMPARE: usize = 0x38;
    const COMPARE_IMMEDIATE: usize = 0x3d;
    let mut table = ONE;
    let mut opcode = 0;
    while opcode < 0x40 {
        let names = match opcode {
            ADD_IMMEDIATE => NAMES,
            COMPARE..=COMPARE_IMMEDIATE => COMPARES,
            _ => 0,
        };
        let flags = if takes_carry(opcode as u8 >> 3) { 0 } else { SETS_FLAGS };
        table[opcode] = match opcode & 7 {
            0..=3 => MODRM | names | flags,
            4 => KNOWN | names | flags | BYTE,
            5 => KNOWN | names | flags | WORD,
            _ => 0,
        };
        opcode += 1;
    }
    table
}

/// Whether it is addition or subtraction with the carry flag, by the number of the operation.
const fn takes_carry(operation: u8) -> bool {
    matches!(operation, 2 | 3)
}

/// What stands between an operand byte and the immediate: how many bytes, or what is to be looked at.
const BEHIND: [u8; 256] = behind();
/// The next byte says whether four more follow.
const BASE: u8 = 1 << 6;
/// An address relative to the instruction.
const RELATIVE: u8 = 1 << 7;
/// Bytes of a distance that may be an address.
const FAR: u8 = 4;
/// A distance that is less is none.
pub(crate) const NEAR: u64 = 1 << 10;

const fn behind() -> [u8; 256] {
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

/// A plain instruction that also names no address, of which `least` is the least: it adds and loads no constant that may be one, and its
/// operand lies [near](NEAR) where registers point.
#[inline(always)]
pub(crate) fn quiet(code: &[u8], least: u64) -> Option<Plain> {
    plain(code, least).filter(|plain| plain.known & (NAMES | DISTANT) == 0)
}

/// What is known of a plain instruction, or of one that would be but for an operand at a distance from its end.
pub(crate) struct Plain {
    length: u8,
    /// Bytes in front of distance and immediate.
    front: u8,
    /// Of its opcode and operand.
    known: Bits,
}

/// What is left behind an instruction of the flags that came along, for all that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    /// All: they are neither read nor written.
    All,
    /// None is asked for any more: they are written and not read, or control turns elsewhere.
    None,
    Unknown,
}

impl Plain {
    /// Bytes.
    #[inline]
    pub(crate) const fn length(&self) -> usize {
        self.length as usize
    }

    /// Where in its bytes the distance of an operand from its end begins, if it has one.
    #[inline]
    pub(crate) const fn distance(&self) -> Option<u8> {
        if self.known & DISTANT == 0 { None } else { Some(self.front) }
    }

    /// Whether it compares values.
    #[inline]
    pub(crate) const fn compares(&self) -> bool {
        self.known & COMPARES != 0
    }

    #[inline]
    pub(crate) const fn flags(&self) -> Taken {
        match self.known & (KEEPS_FLAGS | SETS_FLAGS) {
            KEEPS_FLAGS => Taken::All,
            SETS_FLAGS => Taken::None,
            _ => Taken::Unknown,
        }
    }
}

/// The one at the start of some code; `None` where it is another, or not known here. Addresses begin at `least`.
#[inline(always)]
pub(crate) fn plain(code: &[u8], least: u64) -> Option<Plain> {
    if let Some(bytes) = code.first_chunk::<8>() {
        return beginning(*bytes, least).filter(|plain| plain.length() <= code.len());
    }
    short(code, least)
}

/// The same of less than eight bytes.
#[cold]
fn short(code: &[u8], least: u64) -> Option<Plain> {
    let mut bytes = [0; 8];
    bytes.get_mut(..code.len())?.copy_from_slice(code);
    beginning(bytes, least).filter(|plain| plain.length() <= code.len())
}

/// The first bytes of an instruction, one after the other.
struct First {
    left: u64,
    taken: u8,
}

impl First {
    #[inline]
    const fn byte(&self) -> u8 {
        self.left as u8
    }

    /// Goes to the next byte, if so.
    #[inline]
    const fn skip(&mut self, is_taken: bool) -> bool {
        self.left >>= if is_taken { 8 } else { 0 };
        self.taken += is_taken as u8;
        is_taken
    }

    /// Whether the four bytes that end behind so many are a distance that is near.
    #[inline]
    const fn has_near(&self, behind: u8) -> bool {
        let distance = (self.left >> (8 * (behind - FAR))) as u32 as i32;
        self.taken + behind <= 8 && (distance.unsigned_abs() as u64) < NEAR
    }

    #[inline]
    const fn next(&mut self) -> u8 {
        let byte = self.byte();
        self.skip(true);
        byte
    }
}

/// Bytes of the immediate, by its bits: as it is, behind `66`, and with a register of 64 bits.
const IMMEDIATES: [[u8; 4]; 3] = [[0, 1, 4, 4], [0, 1, 2, 2], [0, 1, 4, 8]];

/// The plain instruction that begins so. All but distance and immediate are within six bytes: prefix, REX, `0f`, opcode, operand, base.
#[inline(always)]
fn beginning(first: [u8; 8], least: u64) -> Option<Plain> {
    match first[0] {
        0x66 => prefixed::<1>(first, least),
        0xf2 => prefixed::<2>(first, least),
        0xf3 => prefixed::<3>(first, least),
        _ => behind_prefix::<0>(first, least),
    }
}

/// Prefixes are seldom, and those that wait for no answer are faster without.
#[inline(never)]
fn prefixed<const PREFIX: usize>(first: [u8; 8], least: u64) -> Option<Plain> {
    behind_prefix::<PREFIX>(first, least)
}

/// The same, with the number of the prefix in front.
#[inline(always)]
fn behind_prefix<const PREFIX: usize>(first: [u8; 8], least: u64) -> Option<Plain> {
    let mut first = First { left: u64::from_le_bytes(first), taken: 0 };
    first.skip(PREFIX != 0);
    let is_wide = first.byte() & 0xf8 == 0x48;
    first.skip(first.byte() & 0xf0 == 0x40);
    let is_long = first.skip(first.byte() == 0x0f);
    let opcode = first.next();
    let mut known = *OPCODES.get(PREFIX + if is_long { 4 } else { 0 })?.get(usize::from(opcode))?;
    // Both prefixes at once are rare.
    if known & KNOWN == 0 || PREFIX == 1 && is_wide && !is_long {
        return None;
    }
    let mut immediate = known & IMMEDIATE;
    let mut distance = 0;
    if known & OPERAND != 0 {
        let operand = first.next();
        if known & (GROUP | MAY_NAME) != 0 {
            let register = operand >> 3 & 7;
            known |= if known & MAY_NAME == 0 { 0 } else { arithmetic(is_long, register, immediate) };
            match (is_long, opcode) {
                _ if known & GROUP == 0 => {}
                (false, 0x8d) if operand >> 6 != 3 => {}
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
            RELATIVE => {
                known |= DISTANT;
                4
            }
            BASE if first.next() & 7 == 5 => {
                known |= NAMES;
                4
            }
            BASE => 0,
            behind => {
                known |= if behind < FAR || first.has_near(behind) { 0 } else { NAMES };
                behind
            }
        };
    } else if immediate == REGISTER && !is_wide && u64::from(first.left as u32) < least {
        known &= !NAMES;
    }
    let size = if PREFIX == 1 { 1 } else { 2 * usize::from(is_wide) };
    let front = first.taken;
    let length = front + distance + IMMEDIATES.get(size)?.get(usize::from(immediate))?;
    Some(Plain { length, front, known })
}

/// What is known of an operation by its operand byte's register: `cmp`, `add` of four bytes and others, or, behind `0f`, `bt` and its kin.
const fn arithmetic(is_long: bool, register: u8, immediate: Bits) -> Bits {
    match (is_long, register) {
        (false, 0) if immediate == WORD => NAMES | SETS_FLAGS,
        (false, 7) => COMPARES | SETS_FLAGS,
        (false, _) if !takes_carry(register) => SETS_FLAGS,
        (true, 4) => COMPARES,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{NEAR, Taken, plain, quiet};
    use crate::addresses::{added_address, constant_address, indexed_address, loaded_slot, stored_address};
    use crate::flags::ARITHMETIC;
    use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};

    /// What the decoder says of an instruction after which control goes on: its length, and where its operand's distance is.
    fn decoded(code: &[u8]) -> Option<(usize, Option<u8>)> {
        let mut decoder = Decoder::with_ip(64, code, 0x1000, DecoderOptions::NONE);
        let one = decoder.decode();
        let goes_on = !one.is_invalid() && one.flow_control() == FlowControl::Next && one.code() != Code::Hlt;
        let field = || decoder.get_constant_offsets(&one).displacement_offset() as u8;
        goes_on.then(|| (one.len(), one.is_ip_rel_memory_operand().then(field)))
    }

    /// All instructions by their prefixes, opcodes and operands, with the bytes that hold them.
    fn all(mut look: impl FnMut(&[u8])) {
        let prefixes = [&[][..], &[0x66], &[0xf2], &[0xf3]];
        let wides = (0x40..=0x4f_u8).map(Some).chain([None]);
        for (prefix, wide) in prefixes.into_iter().flat_map(|prefix| wides.clone().map(move |wide| (prefix, wide))) {
            for (is_long, opcode) in [false, true].into_iter().flat_map(|is_long| (0..=255_u8).map(move |opcode| (is_long, opcode))) {
                for operand in 0..=255_u8 {
                    for (scaled, far) in [0x00, 0x05, 0x25, 0xe5].into_iter().zip([0, 2, 0xff, 2]) {
                        let mut code = prefix.to_vec();
                        code.extend(wide);
                        code.extend(is_long.then_some(0x0f));
                        code.extend([opcode, operand, scaled, 1, far, far, far, 5, 6, 7, 8, 9]);
                        look(&code);
                    }
                }
            }
        }
    }

    #[test]
    fn lengths_and_distances_are_those_of_the_decoder() {
        let (mut count, mut distant) = (0_u32, 0_u32);
        all(|code| {
            let Some(plain) = plain(code, 0) else { return };
            assert_eq!(decoded(code), Some((plain.length(), plain.distance())), "{code:02x?}");
            count += 1;
            distant += u32::from(plain.distance().is_some());
        });
        assert!(count > 1_000_000 && distant > 10_000, "{count} are known, {distant} with a distance");
    }

    #[test]
    fn quiet_instructions_name_no_address_and_say_of_flags_what_the_decoder_says() {
        const LEAST: u64 = 0x0100_0000;
        let names = [constant_address, stored_address, added_address, indexed_address, loaded_slot];
        let is_far = |one: &Instruction| one.memory_displacement64().cast_signed().unsigned_abs() >= NEAR;
        let mut counts = [0_u32; 4];
        all(|code| {
            let Some(quiet) = quiet(code, LEAST) else { return };
            let one = Decoder::with_ip(64, code, 0x1000, DecoderOptions::NONE).decode();
            let named = names.iter().find_map(|name| name(&one)).filter(|&address| address.cast_signed().unsigned_abs() >= NEAR);
            assert!(!is_far(&one) && named.is_none_or(|address| address < LEAST), "{code:02x?}");
            assert!(quiet.compares() || !matches!(one.mnemonic(), Mnemonic::Cmp | Mnemonic::Bt), "{code:02x?}");
            let (read, written) = (one.rflags_read(), one.rflags_modified());
            assert!(quiet.flags() != Taken::All || read == 0 && written == 0, "{code:02x?}");
            assert!(quiet.flags() != Taken::None || read == 0 && written == ARITHMETIC, "{code:02x?}");
            let told = [true, named.is_some(), quiet.flags() != Taken::Unknown, one.memory_displ_size() > 1];
            counts.iter_mut().zip(told).for_each(|(count, is_told)| *count += u32::from(is_told));
        });
        assert!(counts.iter().zip([500_000, 500, 100_000, 10_000]).all(|(count, least)| *count > least), "{counts:?}");
    }

    #[test]
    fn what_ends_early_is_left_to_the_decoder() {
        let code = [0x48, 0x81, 0x84, 0x24, 1, 2, 3, 4, 5, 6, 7, 8];
        let length = |code: &[u8]| plain(code, 0).map(|plain| plain.length());
        assert_eq!(length(&code), Some(12));
        assert!((0..12).all(|end| length(code.get(..end).unwrap_or_default()).is_none()));
    }
}
