//! The second decoding: a function's instructions with their flow, now that functions and tables are known.

use iced_x86::{Decoder, Instruction as Decoded};
use tare_image::Image;

use crate::Program;
use crate::decode::{RawFlow, decoder, raw_flow};
use crate::jumps::{JumpKind, Jumps};
use crate::program::{Body, Flow, Function, Instruction, Operand};
use crate::usual::{Usual, usual};

impl Program {
    /// Decodes a function of this program.
    #[must_use]
    pub fn body(&self, image: &Image<'_>, function: &Function) -> Body {
        let jumps = self.jumps_of(function);
        let size = usize::try_from(function.size()).unwrap_or(0);
        let mut body = Body {
            instructions: Vec::with_capacity(size / 3),
            parts: Vec::with_capacity(function.parts.len()),
            tied: Vec::with_capacity(size / 12),
            tables: jumps.map(|jumps| jumps.tables.clone()).unwrap_or_default(),
        };
        let mut decoded = Decoded::default();
        for part in &function.parts {
            let first = body.instructions.len();
            let mut decoder = decoder(image, part);
            let bytes = image.bytes_at(part.start, part.end.saturating_sub(part.start)).unwrap_or_default();
            let mut place = 0;
            while let Some(rest) = bytes.get(place..).filter(|rest| !rest.is_empty()) {
                let address = part.start + place as u64;
                let one = match usual(rest, address) {
                    Some(Usual::Plain { length }) => Instruction { address, length, flow: Flow::Next, operand: Operand::Fixed },
                    Some(Usual::Relative { length, field, target }) => {
                        Instruction { address, length, flow: Flow::Next, operand: Operand::RipRelative { at: field, target } }
                    }
                    Some(Usual::Direct(direct)) => {
                        let flow = self.understood(function, jumps, address, direct.flow());
                        Instruction { address, length: direct.length, flow, operand: Operand::Branch { target: direct.target } }
                    }
                    None => {
                        if decoder.set_position(place).is_err() {
                            break;
                        }
                        decoder.set_ip(address);
                        decoder.decode_out(&mut decoded);
                        self.instruction(function, jumps, &decoder, &decoded)
                    }
                };
                if one.flow != Flow::Next || one.operand != Operand::Fixed {
                    body.tied.push(body.instructions.len() as u32);
                }
                body.instructions.push(one);
                place += usize::from(one.length);
            }
            body.parts.push(first..body.instructions.len());
        }
        body
    }

    /// Decodes the one instruction of a function that begins at an address.
    #[must_use]
    pub fn instruction_at(&self, image: &Image<'_>, function: &Function, address: u64) -> Option<Instruction> {
        let part = function.parts.iter().find(|part| part.contains(&address))?;
        let mut decoder = decoder(image, part);
        decoder.set_position(usize::try_from(address - part.start).ok()?).ok()?;
        decoder.set_ip(address);
        let decoded = decoder.decode();
        Some(self.instruction(function, self.jumps_of(function), &decoder, &decoded))
    }

    fn jumps_of(&self, function: &Function) -> Option<&Jumps> {
        self.function_entered_at(function.entry).and_then(|index| self.jumps.get(&index))
    }

    fn instruction(&self, function: &Function, jumps: Option<&Jumps>, decoder: &Decoder<'_>, decoded: &Decoded) -> Instruction {
        let (address, raw) = (decoded.ip(), raw_flow(decoded));
        let flow = self.understood(function, jumps, address, raw);
        Instruction { address, length: decoded.len() as u8, flow, operand: operand(decoder, decoded, raw) }
    }

    /// The flow of an instruction at an address.
    fn understood(&self, function: &Function, jumps: Option<&Jumps>, address: u64, raw: RawFlow) -> Flow {
        let kind = || jumps.and_then(|jumps| jumps.kinds.get(&address));
        self.flow(function, self.straightened(self.inline.understood(address, raw)), kind)
    }

    /// A branch that leaves out a `lock` prefix as one to the instruction.
    fn straightened(&self, raw: RawFlow) -> RawFlow {
        let is_behind = |target: &u64| !self.behind_lock.is_empty() && self.behind_lock.binary_search(target).is_ok();
        match raw {
            RawFlow::Jump(target) if is_behind(&target) => RawFlow::Jump(target - 1),
            RawFlow::Branch(target) if is_behind(&target) => RawFlow::Branch(target - 1),
            raw => raw,
        }
    }

    pub(crate) fn flow<'a>(&self, function: &Function, raw: RawFlow, kind: impl Fn() -> Option<&'a JumpKind>) -> Flow {
        match raw {
            RawFlow::Next => Flow::Next,
            RawFlow::Call(target) => Flow::Call { target, returns: !self.never.has_code(target) },
            RawFlow::IndirectCall => Flow::IndirectCall,
            RawFlow::Jump(target) if function.contains(target) => Flow::Jump { target },
            RawFlow::Jump(_) if kind() == Some(&JumpKind::Unknown) => Flow::UnknownJump,
            RawFlow::Jump(target) => Flow::TailCall { target },
            RawFlow::Branch(target) if function.contains(target) => Flow::Branch { target },
            RawFlow::Branch(target) => Flow::BranchTailCall { target },
            RawFlow::Return => Flow::Return,
            RawFlow::Stop | RawFlow::Invalid => Flow::Stop,
            RawFlow::IndirectJump => match kind() {
                Some(JumpKind::Table(tables)) => Flow::TableJump { table: tables.first().copied().unwrap_or(0) },
                Some(JumpKind::TailCall | JumpKind::Unwinding) => Flow::IndirectTailCall,
                Some(JumpKind::Saved) => Flow::Stop,
                Some(JumpKind::Unknown) | None => Flow::UnknownJump,
            },
        }
    }
}

fn operand(decoder: &Decoder<'_>, decoded: &Decoded, raw: RawFlow) -> Operand {
    match raw {
        RawFlow::Call(target) | RawFlow::Jump(target) | RawFlow::Branch(target) => Operand::Branch { target },
        _ if decoded.is_ip_rel_memory_operand() => {
            let at = u8::try_from(decoder.get_constant_offsets(decoded).displacement_offset()).unwrap_or(0);
            Operand::RipRelative { at, target: decoded.ip_rel_memory_address() }
        }
        _ => Operand::Fixed,
    }
}
