//! Call-frame instructions, one at a time, with their bytes.
//!
//! A rewriter copies the bytes of every instruction but those that advance the location; analysis asks where the
//! canonical frame address (CFA) is. Both read the same iterator.

use std::ops::Range;

use crate::bytes::Cursor;

/// DWARF number of the stack pointer.
const RSP: u64 = 7;
/// `DW_CFA_undefined`.
const UNDEFINED: u8 = 0x07;

/// What a call-frame instruction does, as far as others need it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CfiOp {
    /// Advances the location by so many units of the code alignment factor.
    Advance(u64),
    /// The CFA is a register plus an offset in bytes.
    DefCfa {
        /// DWARF register number.
        register: u64,
        /// Bytes.
        offset: i64,
    },
    /// The register of the CFA changes.
    DefCfaRegister(u64),
    /// The offset of the CFA changes, in bytes.
    DefCfaOffset(i64),
    /// The CFA is computed.
    DefCfaExpression,
    /// So many bytes of arguments are on the stack, which a landing pad finds taken off (`DW_CFA_GNU_args_size`).
    ArgumentsSize(u64),
    /// Pushes the row.
    RememberState,
    /// Pops the row.
    RestoreState,
    /// The register's value is lost.
    Undefined(u64),
    /// Fills space.
    Nop,
    /// Anything else that does not concern the CFA.
    Other,
}

/// A call-frame instruction and its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CfiInstruction<'data> {
    /// As they stand in the file.
    pub bytes: &'data [u8],
    /// What they mean.
    pub op: CfiOp,
}

/// Iterates over raw call-frame instructions. An instruction that is unknown, or cannot be moved
/// (`DW_CFA_set_loc`), ends it, and [`CfiInstructions::is_damaged`] says so.
#[derive(Clone, Debug)]
pub struct CfiInstructions<'data> {
    cursor: Cursor<'data>,
    data_alignment: i64,
    damaged: bool,
}

impl<'data> CfiInstructions<'data> {
    /// Over `bytes`, under the data alignment factor of their CIE.
    #[must_use]
    pub fn new(bytes: &'data [u8], data_alignment: i64) -> Self {
        Self { cursor: Cursor::new(bytes), data_alignment, damaged: false }
    }

    /// Whether the iteration ended at something that cannot be understood.
    #[must_use]
    pub const fn is_damaged(&self) -> bool {
        self.damaged
    }

    #[inline]
    fn decode(&mut self) -> Option<CfiOp> {
        let cursor = &mut self.cursor;
        let code = cursor.u8()?;
        Some(match code {
            0x40..=0x7f => CfiOp::Advance(u64::from(code & 0x3f)),
            0x80..=0xbf => cursor.uleb().map(|_| CfiOp::Other)?,
            0xc0..=0xff => CfiOp::Other,
            0x00 => CfiOp::Nop,
            0x02 => CfiOp::Advance(u64::from(cursor.u8()?)),
            0x03 => CfiOp::Advance(u64::from(cursor.u16()?)),
            0x04 => CfiOp::Advance(u64::from(cursor.u32()?)),
            0x1d => CfiOp::Advance(cursor.u64()?),
            0x2e => CfiOp::ArgumentsSize(cursor.uleb()?),
            0x06 | 0x08 => cursor.uleb().map(|_| CfiOp::Other)?,
            0x05 | 0x09 | 0x14 | 0x2f => cursor.uleb().and_then(|_| cursor.uleb()).map(|_| CfiOp::Other)?,
            0x11 | 0x15 => cursor.uleb().and_then(|_| cursor.sleb()).map(|_| CfiOp::Other)?,
            UNDEFINED => CfiOp::Undefined(cursor.uleb()?),
            0x0a => CfiOp::RememberState,
            0x0b => CfiOp::RestoreState,
            0x0c => CfiOp::DefCfa { register: cursor.uleb()?, offset: cursor.uleb()?.cast_signed() },
            0x0d => CfiOp::DefCfaRegister(cursor.uleb()?),
            0x0e => CfiOp::DefCfaOffset(cursor.uleb()?.cast_signed()),
            0x0f => Self::block(cursor).map(|()| CfiOp::DefCfaExpression)?,
            0x10 | 0x16 => cursor.uleb().and_then(|_| Self::block(cursor)).map(|()| CfiOp::Other)?,
            0x12 => CfiOp::DefCfa { register: cursor.uleb()?, offset: cursor.sleb()?.wrapping_mul(self.data_alignment) },
            0x13 => CfiOp::DefCfaOffset(cursor.sleb()?.wrapping_mul(self.data_alignment)),
            0x2d => CfiOp::Other,
            _ => return None,
        })
    }

    fn block(cursor: &mut Cursor<'data>) -> Option<()> {
        let length = cursor.uleb()?;
        cursor.take(length).map(|_| ())
    }
}

impl<'data> Iterator for CfiInstructions<'data> {
    type Item = CfiInstruction<'data>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.damaged || self.cursor.is_empty() {
            return None;
        }
        let rest = self.cursor.rest();
        let before = self.cursor.position;
        match self.decode() {
            Some(op) => Some(CfiInstruction { bytes: rest.get(..self.cursor.position - before)?, op }),
            None => {
                self.damaged = true;
                None
            }
        }
    }
}

/// Where the canonical frame address is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cfa {
    /// A register plus an offset.
    Register {
        /// DWARF register number.
        register: u64,
        /// Bytes.
        offset: i64,
    },
    /// Computed by an expression, or unknown.
    Expression,
}

impl Cfa {
    /// As at a function's entry, and at its returns and tail calls: `rsp + 8`.
    #[must_use]
    pub fn is_entry(self) -> bool {
        self == Self::Register { register: RSP, offset: 8 }
    }
}

/// Rows of the unwind table, as far as the CFA goes, and arguments on the stack.
#[derive(Clone, Debug, Default)]
pub struct CfaRows {
    rows: Vec<(u64, Cfa)>,
    /// From which addresses on so many bytes of arguments are on the stack.
    arguments: Vec<(u64, u64)>,
}

impl CfaRows {
    /// The CFA at an address; `None` in front of the first row.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<Cfa> {
        let behind = self.rows.partition_point(|row| row.0 <= address);
        self.rows.get(behind.checked_sub(1)?).map(|row| row.1)
    }

    /// Bytes of arguments that the unwinder takes off the stack when it lands in a function by a call at an address.
    #[must_use]
    pub fn arguments_at(&self, address: u64) -> u64 {
        let behind = self.arguments.partition_point(|row| row.0 <= address);
        behind.checked_sub(1).and_then(|last| self.arguments.get(last)).map_or(0, |row| row.1)
    }

    /// First addresses of the rows and their CFA, in order.
    #[must_use]
    pub fn rows(&self) -> &[(u64, Cfa)] {
        &self.rows
    }

    /// Runs a CIE's and an FDE's instructions.
    pub(crate) fn run(initial: &[u8], own: &[u8], range: &Range<u64>, code: u64, data: i64) -> Self {
        let mut state = State { cfa: Cfa::Expression, saved: Vec::new() };
        for instruction in CfiInstructions::new(initial, data) {
            state.apply(instruction.op);
        }
        let mut rows = Vec::with_capacity(own.len() / 2 + 1);
        let mut arguments = Vec::new();
        let mut address = range.start;
        let mut instructions = CfiInstructions::new(own, data);
        for instruction in instructions.by_ref() {
            match instruction.op {
                CfiOp::Advance(units) => {
                    push(&mut rows, address, state.cfa);
                    address = address.saturating_add(units.saturating_mul(code));
                }
                CfiOp::ArgumentsSize(size) => arguments.push((address, size)),
                op => state.apply(op),
            }
        }
        push(&mut rows, address, if instructions.is_damaged() { Cfa::Expression } else { state.cfa });
        Self { rows, arguments }
    }
}

fn push(rows: &mut Vec<(u64, Cfa)>, address: u64, cfa: Cfa) {
    match rows.last_mut() {
        Some(last) if last.0 == address => last.1 = cfa,
        Some(last) if last.1 == cfa => {}
        _ => rows.push((address, cfa)),
    }
}

/// What an entry's first row says of the CFA, and whether any row loses the return address.
#[derive(Clone, Debug)]
pub(crate) struct Beginning {
    pub(crate) cfa: Cfa,
    pub(crate) undefines_return: bool,
}

impl Default for Beginning {
    fn default() -> Self {
        Self { cfa: Cfa::Expression, undefines_return: false }
    }
}

impl Beginning {
    /// Of a CIE's instructions, under its data alignment factor and its register of the return address.
    pub(crate) fn of(instructions: &[u8], data: i64, return_register: u64) -> Self {
        let mut state = State { cfa: Cfa::Expression, saved: Vec::new() };
        CfiInstructions::new(instructions, data).for_each(|one| state.apply(one.op));
        Self { cfa: state.cfa, undefines_return: undefines(instructions, data, return_register) }
    }

    /// Of an FDE's instructions behind those of its CIE.
    pub(crate) fn then(&self, instructions: &[u8], data: i64, return_register: u64) -> Self {
        let mut state = State { cfa: self.cfa, saved: Vec::new() };
        let mut own = CfiInstructions::new(instructions, data);
        let is_first_row = |op: &CfiOp| !matches!(op, CfiOp::Advance(units) if *units > 0);
        own.by_ref().map(|one| one.op).take_while(is_first_row).for_each(|op| state.apply(op));
        let cfa = if own.is_damaged() { Cfa::Expression } else { state.cfa };
        Self { cfa, undefines_return: self.undefines_return || undefines(instructions, data, return_register) }
    }
}

/// Whether a register is lost. Hardly any entry has the bytes of such an instruction: only those are read.
fn undefines(instructions: &[u8], data: i64, register: u64) -> bool {
    // The number of the stack pointer looks like such an instruction; a register stands behind it, in one byte or more.
    let names_it = |next: u8| next & 0x80 != 0 || u64::from(next) == register;
    let mut pairs = instructions.iter().zip(instructions.iter().skip(1));
    instructions.contains(&UNDEFINED)
        && pairs.any(|(&code, &next)| code == UNDEFINED && names_it(next))
        && CfiInstructions::new(instructions, data).any(|one| one.op == CfiOp::Undefined(register))
}

struct State {
    cfa: Cfa,
    saved: Vec<Cfa>,
}

impl State {
    fn apply(&mut self, op: CfiOp) {
        self.cfa = match (op, self.cfa) {
            (CfiOp::DefCfa { register, offset }, _) => Cfa::Register { register, offset },
            (CfiOp::DefCfaRegister(register), Cfa::Register { offset, .. }) => Cfa::Register { register, offset },
            (CfiOp::DefCfaOffset(offset), Cfa::Register { register, .. }) => Cfa::Register { register, offset },
            (CfiOp::DefCfaExpression, _) => Cfa::Expression,
            (CfiOp::RememberState, cfa) => {
                self.saved.push(cfa);
                cfa
            }
            (CfiOp::RestoreState, _) => self.saved.pop().unwrap_or(Cfa::Expression),
            (_, cfa) => cfa,
        };
    }
}
