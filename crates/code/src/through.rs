//! What an indirect call or jump goes through, as far as the instructions in front of it tell.

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

use crate::addresses::{is_in_thread, slot};
use crate::decode::LONGEST;

/// How many instructions back the load of a pointer is looked for.
const ROOM: usize = 32;

/// Where an indirect call or jump finds its target.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Through {
    /// Not asked for: the instruction is direct.
    Nothing,
    /// A word of known link address.
    Slot(u64),
    /// No word: code at a known link address.
    Code(u64),
    /// A word that lies so many bytes behind where a register points: an entry of a table of virtual functions, or a
    /// member of a structure.
    Member(u64),
    /// Another pointer that was read from memory at a known or computed place.
    Pointer,
    /// Not known.
    Unknown,
}

/// The last instructions of a straight walk. Those that were passed over are decoded when they are asked for.
pub(crate) struct Recent<'data> {
    decoder: Decoder<'data>,
    /// The link address of the code.
    start: u64,
    last: Instruction,
    /// Link addresses of the last instructions, in a ring.
    ring: [u64; ROOM],
    /// Instructions seen so far.
    count: usize,
}

impl<'data> Recent<'data> {
    /// None yet of some code.
    pub(crate) fn of(code: &'data [u8], start: u64) -> Self {
        let decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
        Self { decoder, start, last: Instruction::default(), ring: [0; ROOM], count: 0 }
    }

    /// Decodes the next instruction.
    #[inline]
    pub(crate) fn decode(&mut self, address: u64) -> &Instruction {
        self.pass(address);
        Self::decode_at(&mut self.decoder, self.start, address, &mut self.last);
        &self.last
    }

    /// Passes over the next instruction, which is not the last one that is asked about.
    #[inline]
    pub(crate) const fn pass(&mut self, address: u64) {
        self.ring[self.count % ROOM] = address;
        self.count += 1;
    }

    /// The last instruction.
    #[inline]
    pub(crate) const fn last(&self) -> &Instruction {
        &self.last
    }

    /// The instruction at an address of the code.
    pub(crate) fn at(&mut self, address: u64) -> Instruction {
        let mut one = Instruction::default();
        Self::decode_at(&mut self.decoder, self.start, address, &mut one);
        one
    }

    #[inline]
    fn decode_at(decoder: &mut Decoder<'_>, start: u64, address: u64, to: &mut Instruction) {
        let place = usize::try_from(address.wrapping_sub(start)).unwrap_or(usize::MAX);
        if decoder.set_position(place).is_ok() {
            decoder.set_ip(address);
            decoder.decode_out(to);
        }
    }

    /// The instruction that stands so far from the end: 2 is the one in front of the last one.
    fn before(&mut self, back: usize) -> Instruction {
        self.at(self.ring[self.count.wrapping_sub(back) % ROOM])
    }

    /// The instruction right in front of the last one, if it pushes something.
    pub(crate) fn pushed(&mut self) -> Option<Instruction> {
        let before = (self.count > 1).then(|| self.before(2))?;
        (before.mnemonic() == Mnemonic::Push && before.next_ip() == self.last.ip()).then_some(before)
    }

    /// What the last instruction, a return, goes to, if that was pushed right in front of it, or with nothing but steps between that
    /// leave the stack pointer as it is.
    pub(crate) fn pushed_to_return(&mut self) -> Option<Instruction> {
        let mut behind = self.last;
        for back in 2..=self.count.min(ROOM) {
            let one = self.before(back);
            if one.next_ip() != behind.ip() || one.flow_control() != FlowControl::Next {
                return None;
            }
            if one.mnemonic() == Mnemonic::Push {
                return Some(one);
            }
            if one.is_stack_instruction() || one.op0_register().full_register() == Register::RSP {
                return None;
            }
            behind = one;
        }
        None
    }

    /// Whether the instruction at an address may be among those that are remembered at another.
    pub(crate) const fn reaches(from: u64, address: u64) -> bool {
        from.wrapping_sub(address) <= ROOM as u64 * LONGEST
    }

    /// What the last instruction, an indirect call or jump, goes through.
    pub(crate) fn through(&mut self) -> Through {
        let last = self.last;
        if is_far(&last) {
            return Through::Unknown;
        }
        let Some(register) = self.target_register() else { return self.of_operand(&last, 1) };
        match self.definition_before(register, 1) {
            Some((back, load)) if load.mnemonic() == Mnemonic::Mov && load.op1_kind() == OpKind::Memory => self.of_operand(&load, back),
            _ => Through::Unknown,
        }
    }

    /// Whether the last instruction, an indirect call or jump through a register, goes to a virtual function: by a member of what a
    /// member points at.
    pub(crate) fn goes_to_virtual(&mut self) -> bool {
        let Some(register) = self.target_register() else { return false };
        let Some((back, load)) = self.definition_before(register, 1).filter(|(_, one)| loads_member(one)) else { return false };
        self.definition_before(load.memory_base(), back).is_some_and(|(_, one)| loads_member(&one))
    }

    /// The constant of 64 bits in the sum that the last instruction, an indirect call or jump, goes to: in the large model the
    /// distance of a PLT entry from the global offset table.
    pub(crate) fn distance(&mut self) -> Option<u64> {
        let (back, add) = self.definition_before(self.target_register()?, 1)?;
        if add.code() != Code::Add_r64_rm64 && add.code() != Code::Add_rm64_r64 {
            return None;
        }
        self.constant_before(add.op0_register(), back).or_else(|| self.constant_before(add.op1_register(), back))
    }

    /// The constant of 64 bits that the last instruction, an indirect call or jump, goes to: in the large model an address.
    pub(crate) fn constant(&mut self) -> Option<u64> {
        self.constant_before(self.target_register()?, 1)
    }

    /// The register in which the last instruction, an indirect call or jump, finds its target.
    fn target_register(&self) -> Option<Register> {
        let last = self.last();
        (last.op0_kind() == OpKind::Register).then(|| last.op0_register())
    }

    /// The constant of 64 bits that a register holds in front of the instruction that stands `behind` from the end.
    fn constant_before(&mut self, register: Register, behind: usize) -> Option<u64> {
        let (_, one) = self.definition_before(register, behind)?;
        (one.code() == Code::Mov_r64_imm64).then(|| one.immediate64())
    }

    /// The last instruction in front of the last one that writes a register, wherever control came from.
    pub(crate) fn definition(&mut self, register: Register) -> Option<Instruction> {
        self.definition_before(register, 1).map(|(_, definition)| definition)
    }

    /// The same in front of the instruction that stands `behind` from the end (1 is the last), and where it stands.
    fn definition_before(&mut self, register: Register, behind: usize) -> Option<(usize, Instruction)> {
        let register = register.full_register();
        for back in behind + 1..=ROOM.min(self.count) {
            let one = self.before(back);
            let is_lost = one.mnemonic() == Mnemonic::Call && !is_kept_by_calls(register);
            if is_lost || one.flow_control() == FlowControl::Return {
                return None;
            }
            if writes(&one, register) {
                return Some((back, one));
            }
        }
        None
    }

    /// Where a pointer that is read from memory stands; code that is not optimised adds a constant to the base first.
    fn of_operand(&mut self, instruction: &Instruction, back: usize) -> Through {
        match of_operand(instruction) {
            Through::Member(offset) => match self.definition_before(instruction.memory_base(), back) {
                Some((_, add)) if add.mnemonic() == Mnemonic::Add => match add.op1_kind() {
                    OpKind::Register | OpKind::Memory => Through::Unknown,
                    _ => Through::Member(offset.wrapping_add(add.immediate(1))),
                },
                _ => Through::Member(offset),
            },
            other => other,
        }
    }
}

fn of_operand(instruction: &Instruction) -> Through {
    if instruction.is_ip_rel_memory_operand() || is_in_thread(instruction) {
        let jumps_through = instruction.op0_kind() == OpKind::Memory;
        return slot(instruction).filter(|_| jumps_through).map_or(Through::Pointer, Through::Slot);
    }
    match (instruction.memory_base(), instruction.memory_index()) {
        (Register::RSP | Register::RBP, _) => Through::Unknown,
        (Register::None, _) => Through::Pointer,
        (_, Register::None) => Through::Member(instruction.memory_displacement64()),
        _ => Through::Unknown,
    }
}

fn loads_member(one: &Instruction) -> bool {
    one.code() == Code::Mov_r64_rm64 && one.op1_kind() == OpKind::Memory && matches!(of_operand(one), Through::Member(_))
}

/// Whether a call or jump reads a segment beside the address.
pub(crate) fn is_far(one: &Instruction) -> bool {
    one.is_call_far_indirect() || one.is_jmp_far_indirect()
}

pub(crate) const fn is_kept_by_calls(register: Register) -> bool {
    matches!(register, Register::RBX | Register::RBP | Register::R12 | Register::R13 | Register::R14 | Register::R15)
}

/// Whether an instruction writes a register, all of it or a part.
pub(crate) fn writes(instruction: &Instruction, register: Register) -> bool {
    let is_operand = |kind: OpKind, operand: Register| kind == OpKind::Register && operand.full_register() == register;
    if is_operand(instruction.op0_kind(), instruction.op0_register()) {
        return !matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push);
    }
    match instruction.mnemonic() {
        Mnemonic::Xchg | Mnemonic::Xadd => is_operand(instruction.op1_kind(), instruction.op1_register()),
        Mnemonic::Mul | Mnemonic::Div | Mnemonic::Idiv | Mnemonic::Cdqe | Mnemonic::Cqo | Mnemonic::Cpuid | Mnemonic::Rdtsc | Mnemonic::Syscall => {
            matches!(register, Register::RAX | Register::RBX | Register::RCX | Register::RDX | Register::R11)
        }
        Mnemonic::Imul => instruction.op_count() == 1 && matches!(register, Register::RAX | Register::RDX),
        _ => false,
    }
}
