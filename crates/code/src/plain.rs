//! How long the most usual instructions are, by tables instead of the decoder.
//!
//! Plain are instructions after which control goes on to the next one: four of five. Where only their ends are asked for, and what they
//! refer to relative to themselves, this is faster than the decoder. Some of them are quiet besides, and tell nothing of functions. What
//! the tables do not know is left to the decoder; what they know, a test holds against it, every opcode with every operand.
//!
//! An instruction begins where the one in front ends, so the way from its first byte to its length is what takes time: one look into
//! both tables at once, no branch but for what is seldom, and an answer that fits a register.

use std::num::NonZero;

/// What is known of an opcode or of an operand byte, bit by bit. What is in both holds of the instruction.
type Bits = u32;

/// Bytes from the opcode on, but for those that the operand byte has behind itself.
const LENGTH: Bits = 0xf;
/// How many bytes stand between operand byte and immediate; in an opcode, all of these bits.
const BEHIND: Bits = 7 << BEHIND_AT;
const BEHIND_AT: u32 = 4;
/// The operand is at a distance from the instruction's end.
const DISTANT: Bits = 1 << 7;
/// The byte behind the operand byte says whether four more follow.
const BASE: Bits = 1 << 8;
/// The operand is a register: an opcode with this takes none.
const REGISTER: Bits = 1 << 9;
/// The register in the operand byte is another than the first: an opcode with this takes none.
const OTHER: Bits = 1 << 10;
/// The opcode is not known, or more of its operand byte must be: it is in all of these.
const LOOK: Bits = 1 << 11;
/// A sum, a constant or a far distance: it may name an address.
const NAMES: Bits = 1 << 12;
/// It names none if the constant is less than all of them.
const CONSTANT: Bits = 1 << 13;
/// A comparison, of what may be an address.
const COMPARES: Bits = 1 << 14;
/// Whether it is one of those, is in the operand byte.
const MAY_NAME: Bits = 1 << 15;
/// Flags are neither read nor written.
const KEEPS_FLAGS: Bits = 1 << 16;
/// All arithmetic flags are written, and none is read.
const SETS_FLAGS: Bits = 1 << 17;
/// What follows at the end: nothing, a byte, four bytes (two under the prefix for 16 bits), or as many as the register has.
const IMMEDIATE: Bits = 3 * BYTE;
const BYTE: Bits = 1 << 18;
const WORD: Bits = 2 * BYTE;
const WHOLE: Bits = 3 * BYTE;

/// The opcode is known: it is itself one byte.
const KNOWN: Bits = 1;
/// An operand byte follows.
const MODRM: Bits = (KNOWN + 1) | BEHIND | DISTANT | BASE;
/// What only moves values.
const MOVE: Bits = MODRM | KEEPS_FLAGS;
/// Which instruction it is, or whether it has an immediate, is in the operand byte.
const GROUP: Bits = LOOK;
/// No instruction is known before these are looked at.
const DOUBTS: Bits = REGISTER | OTHER | LOOK;

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
    (0x8d, 0x8d, MOVE | REGISTER),
    (0x98, 0x99, KNOWN),
    (0xa8, 0xa8, KNOWN | SETS_FLAGS | BYTE),
    (0xa9, 0xa9, KNOWN | SETS_FLAGS | WORD),
    (0xb0, 0xb7, KNOWN | KEEPS_FLAGS | BYTE),
    (0xb8, 0xbf, KNOWN | NAMES | CONSTANT | WHOLE),
    (0xc0, 0xc1, MODRM | BYTE),
    (0xc6, 0xc6, MOVE | OTHER | BYTE),
    (0xc7, 0xc7, MODRM | OTHER | NAMES | WORD),
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

/// What is known of opcodes of one byte: as they are, with a register of 64 bits, and behind `66`; then of those behind `0f`, by the prefix
/// in front: none, `66`, `f2`, `f3`.
static OPCODES: [Table; 7] =
    [sized(&ALONE, 0), sized(&ALONE, WIDE), sized(&ALONE, NARROW), sized(&TWO[0], 0), sized(&TWO[1], 0), sized(&TWO[2], 0), sized(&TWO[3], 0)];
const WIDE: usize = 1;
const NARROW: usize = 2;
const LONG: usize = 3;

/// Bytes of the immediate, by its bits: as it is, with a register of 64 bits, and behind `66`.
const IMMEDIATES: [[Bits; 4]; 3] = [[0, 1, 4, 4], [0, 1, 4, 8], [0, 1, 2, 2]];

/// A table with the immediates in its lengths, and marks at what is not known.
const fn sized(table: &Table, size: usize) -> Table {
    let mut sized = *table;
    let mut opcode = 0;
    while opcode < sized.len() {
        let known = table[opcode];
        sized[opcode] = match known {
            0 => LOOK,
            known => known + IMMEDIATES[size][((known & IMMEDIATE) / BYTE) as usize],
        };
        if size == WIDE {
            // A constant of eight bytes may be any address.
            sized[opcode] &= !CONSTANT;
        }
        opcode += 1;
    }
    sized
}

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

/// A distance that is less is none.
pub(crate) const NEAR: u64 = 1 << 10;
/// Bytes of a distance that may be an address.
const FAR: Bits = 4;

/// What is known of operand bytes.
static OPERANDS: Table = operands();

const fn operands() -> Table {
    let mut table = [LOOK; 256];
    let mut operand = 0;
    while operand < table.len() {
        table[operand] |= match (operand >> 6, operand & 7) {
            (0, 4) => 1 << BEHIND_AT | BASE,
            (0, 5) => FAR << BEHIND_AT | DISTANT,
            (1, 4) => 2 << BEHIND_AT,
            (1, _) => 1 << BEHIND_AT,
            (2, 4) => (1 + FAR) << BEHIND_AT,
            (2, _) => FAR << BEHIND_AT,
            (3, _) => REGISTER,
            _ => 0,
        };
        table[operand] |= if operand >> 3 & 7 == 0 { 0 } else { OTHER };
        operand += 1;
    }
    table
}

/// A plain instruction that also names no address, of which `least` is the least: it adds and loads no constant that may be one, and its
/// operand lies [near](NEAR) where registers point.
#[inline(always)]
pub(crate) fn quiet(code: &[u8], least: u64) -> Option<Plain> {
    at_start::<true>(code, least).filter(|plain| plain.known() & (NAMES | DISTANT) == 0)
}

/// What is known of a plain instruction, or of one that would be but for an operand at a distance from its end: its whole length, and
/// instead of the bytes behind its operand byte those in front of what stands there.
#[derive(Clone, Copy)]
pub(crate) struct Plain(NonZero<Bits>);

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
    #[inline]
    const fn known(self) -> Bits {
        self.0.get()
    }

    /// Bytes.
    #[inline]
    pub(crate) const fn length(self) -> usize {
        (self.known() & LENGTH) as usize
    }

    /// Where in its bytes the distance of an operand from its end begins, if it has one.
    #[inline]
    pub(crate) const fn distance(self) -> Option<u8> {
        if self.known() & DISTANT == 0 { None } else { Some(((self.known() & BEHIND) >> BEHIND_AT) as u8) }
    }

    /// Whether it compares values.
    #[inline]
    pub(crate) const fn compares(self) -> bool {
        self.known() & COMPARES != 0
    }

    #[inline]
    pub(crate) const fn flags(self) -> Taken {
        match self.known() & (KEEPS_FLAGS | SETS_FLAGS) {
            KEEPS_FLAGS => Taken::All,
            SETS_FLAGS => Taken::None,
            _ => Taken::Unknown,
        }
    }
}

/// The one at the start of some code; `None` where it is another, or not known here.
#[inline(always)]
pub(crate) fn plain(code: &[u8]) -> Option<Plain> {
    at_start::<false>(code, 0)
}

/// The same; whether it names an address is only known where that is `ASKED`.
#[inline(always)]
fn at_start<const ASKED: bool>(code: &[u8], least: u64) -> Option<Plain> {
    if let Some(bytes) = code.first_chunk() {
        return beginning::<ASKED>(*bytes, least).filter(|plain| plain.length() <= code.len());
    }
    short::<ASKED>(code, least)
}

/// The same of less than eight bytes.
#[cold]
fn short<const ASKED: bool>(code: &[u8], least: u64) -> Option<Plain> {
    let mut bytes = [0; 8];
    bytes.get_mut(..code.len())?.copy_from_slice(code);
    beginning::<ASKED>(bytes, least).filter(|plain| plain.length() <= code.len())
}

/// The plain instruction that begins so. All but distance and immediate are within six bytes: prefix, REX, `0f`, opcode, operand, base.
#[inline(always)]
fn beginning<const ASKED: bool>(first: [u8; 8], least: u64) -> Option<Plain> {
    let first = u64::from_le_bytes(first);
    let extended = Extended::of(first);
    let code = Code::of(if extended.is_wide { WIDE } else { 0 }, extended.left, extended.taken)?;
    match code.opcode() {
        _ if code.both & DOUBTS == 0 => code.plain::<ASKED, false>(least),
        0x0f => code.long::<ASKED>(0, least),
        0x66 if extended.taken == 0 => prefixed::<ASKED>(1, first, least),
        0xf2 if extended.taken == 0 => prefixed::<ASKED>(2, first, least),
        0xf3 if extended.taken == 0 => prefixed::<ASKED>(3, first, least),
        _ => code.group::<ASKED>(least),
    }
}

/// The same, with the number of the prefix in front. Prefixes are seldom.
#[inline(never)]
fn prefixed<const ASKED: bool>(prefix: usize, first: u64, least: u64) -> Option<Plain> {
    let extended = Extended::of(first >> 8);
    let code = Code::of(NARROW, extended.left, extended.taken + 1)?;
    match code.opcode() {
        0x0f => code.long::<ASKED>(prefix, least),
        // Both prefixes at once are rare.
        _ if prefix != 1 || extended.is_wide => None,
        _ if code.both & DOUBTS == 0 => code.plain::<ASKED, false>(least),
        _ => code.group::<ASKED>(least),
    }
}

/// First bytes behind a REX prefix, if they have one.
struct Extended {
    left: u64,
    taken: Bits,
    is_wide: bool,
}

impl Extended {
    #[inline(always)]
    const fn of(first: u64) -> Self {
        let is_there = first & 0xf0 == 0x40;
        Self { left: first >> if is_there { 8 } else { 0 }, taken: is_there as Bits, is_wide: first & 0xf8 == 0x48 }
    }
}

/// An opcode and its operand byte.
struct Code {
    /// The bytes from it on, as far as they are known.
    left: u64,
    /// Bytes in front of it.
    front: Bits,
    known: Bits,
    /// What is known of both.
    both: Bits,
}

impl Code {
    /// What a table knows of the opcode that comes next.
    #[inline(always)]
    fn of(table: usize, left: u64, front: Bits) -> Option<Self> {
        let known = *OPCODES.get(table)?.get(usize::from(left as u8))?;
        let operand = *OPERANDS.get(usize::from((left >> 8) as u8))?;
        Some(Self { left, front, known, both: known & operand })
    }

    const fn opcode(&self) -> u8 {
        self.left as u8
    }

    /// The register in the operand byte.
    const fn register(&self) -> u8 {
        (self.left >> 11) as u8 & 7
    }

    /// The instruction, of which all is known that its operand byte says.
    #[inline(always)]
    fn plain<const ASKED: bool, const IS_LONG: bool>(&self, least: u64) -> Option<Plain> {
        let behind = (self.both & BEHIND) >> BEHIND_AT;
        let has_distance = self.both & BASE != 0 && (self.left >> 16) & 7 == 5;
        let mut known = self.known;
        if ASKED {
            known |= if known & MAY_NAME == 0 { 0 } else { arithmetic(IS_LONG, self.register(), known & IMMEDIATE) };
            let is_far = behind >= FAR && self.both & DISTANT == 0 && !self.has_near(behind);
            known |= if is_far || has_distance { NAMES } else { 0 };
            known &= if known & CONSTANT != 0 && u64::from((self.left >> 8) as u32) < least { !NAMES } else { !0 };
        }
        let named = known & !(BEHIND | DISTANT) | self.both & DISTANT | (self.front + 2) << BEHIND_AT;
        NonZero::new(named + self.front + behind + if has_distance { FAR } else { 0 }).map(Plain)
    }

    /// Whether the four bytes that end so many behind the operand byte are a distance that is near, and all known.
    #[inline]
    const fn has_near(&self, behind: Bits) -> bool {
        let distance = (self.left >> 16 >> (8 * (behind - FAR))) as u32 as i32;
        self.front + 2 + behind <= 8 && (distance.unsigned_abs() as u64) < NEAR
    }

    /// What the operand byte makes of an opcode that is one of a group.
    #[inline(always)]
    fn group<const ASKED: bool>(&self, least: u64) -> Option<Plain> {
        let known = match (self.opcode(), self.register()) {
            (0xf6 | 0xf7 | 0xfe | 0xff, 0 | 1) | (0xff, 6) => self.known,
            (0xf6 | 0xf7, _) => MODRM,
            _ => return None,
        };
        Self { known, ..*self }.plain::<ASKED, false>(least)
    }

    /// What stands behind `0f`, with the number of the prefix in front.
    #[inline(always)]
    fn long<const ASKED: bool>(&self, prefix: usize, least: u64) -> Option<Plain> {
        let code = Self::of(LONG + prefix, self.left >> 8, self.front + 1)?;
        let is_known = code.both & DOUBTS == 0 || code.opcode() == 0xba && prefix == 0 && code.register() >= 4;
        if is_known { code.plain::<ASKED, true>(least) } else { None }
    }
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
            let Some(plain) = plain(code) else { return };
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
        let length = |code: &[u8]| plain(code).map(|plain| plain.length());
        assert_eq!(length(&code), Some(12));
        assert!((0..12).all(|end| length(code.get(..end).unwrap_or_default()).is_none()));
    }
}
