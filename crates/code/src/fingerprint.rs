//! What the instructions of a function do, in a form that does not change where code and data move.
//!
//! A branch within counts the instructions to its target, and an instruction that does nothing counts nowhere. Of an address outside it
//! counts what stands there: its name, the constant that is read, the text that begins there.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use iced_x86::{Instruction, OpKind, Register};
use tare_image::{Image, Segment, Symbol};

use crate::addresses::{is_in_thread, part};
use crate::callee::Callee;
use crate::decode::{decoder, is_padding};
use crate::program::{Function, JumpTable, Refusal};
use crate::{Program, names};

/// More of a text, or of an object, says no more.
const LONGEST: u64 = 4096;
/// How many symbols in front of an address may be the object that it lies in.
const NEAR: usize = 8;

/// What the instructions of a function do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fingerprint<'a> {
    /// Equal where all instructions are, apart from addresses outside.
    pub code: u64,
    /// What the addresses outside lead to, in order; `None` where there is no symbol.
    pub reached: Vec<Option<Reached<'a>>>,
}

/// Something with a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reached<'a> {
    /// The symbol.
    pub name: &'a str,
    /// Of the place within, and of what stands there where that is constant.
    pub content: u64,
}

impl Program {
    /// What the instructions of a function do.
    #[must_use]
    pub fn fingerprint<'a>(&'a self, image: &Image<'a>, function: &Function) -> Fingerprint<'a> {
        let all = function.parts.iter().flat_map(|part| decoder(image, part).into_iter().collect::<Vec<_>>());
        let code: Vec<Instruction> = all.filter(|one| !is_padding(one) || one.is_invalid()).collect();
        let mut places: Vec<(u64, usize)> = code.iter().enumerate().map(|(index, one)| (one.ip(), index)).collect();
        places.sort_unstable();
        let jumps = self.function_entered_at(function.entry).and_then(|index| self.jumps.get(&index));
        let tables = jumps.map(|jumps| jumps.tables.as_slice()).unwrap_or_default();
        let mut reader = Reader { image, program: self, function, places: &places, tables, hasher: DefaultHasher::new(), reached: Vec::new() };
        code.iter().for_each(|one| reader.instruction(one));
        for table in tables {
            table.reached().iter().for_each(|&target| reader.place(target).hash(&mut reader.hasher));
        }
        // What code of the C library and the compiler in front of `main` compares is where the linker put its own marks.
        let reached = if function.refusal == Some(Refusal::StartUp) { Vec::new() } else { reader.reached };
        Fingerprint { code: reader.hasher.finish(), reached }
    }
}

struct Reader<'a, 'of, 'data> {
    image: &'of Image<'data>,
    program: &'a Program,
    function: &'of Function,
    /// Numbers of the instructions by their addresses, sorted.
    places: &'of [(u64, usize)],
    tables: &'of [JumpTable],
    hasher: DefaultHasher,
    reached: Vec<Option<Reached<'a>>>,
}

impl<'a, 'data: 'a> Reader<'a, '_, 'data> {
    /// The number of the instruction at an address of the function.
    fn place(&self, target: u64) -> Option<usize> {
        let behind = self.places.get(self.places.partition_point(|one| one.0 < target));
        behind.filter(|_| self.function.contains(target)).map(|one| one.1)
    }

    fn instruction(&mut self, one: &Instruction) {
        (one.mnemonic(), one.has_lock_prefix(), one.has_rep_prefix(), one.has_repne_prefix()).hash(&mut self.hasher);
        (one.op_mask(), one.zeroing_masking(), one.is_broadcast(), one.rounding_control()).hash(&mut self.hasher);
        for operand in 0..one.op_count() {
            match one.op_kind(operand) {
                OpKind::Register => one.op_register(operand).hash(&mut self.hasher),
                OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => self.code(one.near_branch_target()),
                OpKind::Memory => self.memory(one),
                kind => {
                    kind.hash(&mut self.hasher);
                    self.number(one, operand);
                }
            }
        }
    }

    /// An immediate, which may be an address.
    fn number(&mut self, one: &Instruction, operand: u32) {
        let Ok(number) = one.try_immediate(operand) else { return };
        if self.is_address(number) {
            self.address(number, 0);
        } else if part(one).is_none() {
            number.hash(&mut self.hasher);
        }
    }

    fn memory(&mut self, one: &Instruction) {
        (one.memory_size(), one.segment_prefix(), one.memory_index(), one.memory_index_scale()).hash(&mut self.hasher);
        let (is_relative, is_thread) = (one.is_ip_rel_memory_operand(), is_in_thread(one));
        let displacement = one.memory_displacement64();
        if is_relative || !is_thread && self.is_address(displacement) {
            let is_alone = is_relative || one.memory_base() == Register::None && one.memory_index() == Register::None;
            let is_read = is_alone && one.mnemonic() != iced_x86::Mnemonic::Lea;
            (if is_relative { Register::None } else { one.memory_base() }).hash(&mut self.hasher);
            return self.address(displacement, if is_read { one.memory_size().size() as u64 } else { 0 });
        }
        one.memory_base().hash(&mut self.hasher);
        if !is_thread || one.memory_base() != Register::None {
            displacement.hash(&mut self.hasher);
        }
    }

    /// Whether a number is an address, as in images that are not moved.
    fn is_address(&self, number: u64) -> bool {
        !self.image.kind().is_position_independent() && self.segment(number).is_some()
    }

    /// The segment in which an address lies, or whose end it is.
    fn segment(&self, address: u64) -> Option<&'_ Segment> {
        self.image.segment_at(address).or_else(|| self.image.segment_at(address.checked_sub(1)?))
    }

    /// An address of which so many bytes are read; none where it is taken alone.
    fn address(&mut self, address: u64, read: u64) {
        if self.image.is_code(address) || self.image.is_in_plt(address) {
            return self.code(address);
        }
        if self.tables.iter().any(|table| table.address == address) {
            return;
        }
        let is_writable = self.segment(address).is_none_or(Segment::is_writable);
        is_writable.hash(&mut self.hasher);
        if !is_writable && read > 0 {
            self.constant(address, read).hash(&mut self.hasher);
        } else if !is_writable && self.may_be_text(address) {
            self.text(address).hash(&mut self.hasher);
        } else if read == 8 && self.image.is_constant(address) {
            self.pointed(address).and_then(|target| self.text(target)).hash(&mut self.hasher);
        }
        let reached = self.in_slot(address).or_else(|| self.object(address));
        self.reached.push(reached);
    }

    /// The text at an address, if one stands there.
    fn text(&self, address: u64) -> Option<&'data [u8]> {
        let is_written = self.segment(address).is_none_or(Segment::is_writable);
        if is_written || !self.may_be_text(address) { None } else { self.image.bytes_from(address).and_then(text) }
    }

    /// Where a word points that stays as it is.
    fn pointed(&self, place: u64) -> Option<u64> {
        match self.image.relocation_at(place) {
            Some(relocation) => relocation.link_address(),
            None => self.image.u64_at(place).filter(|&word| self.is_address(word)),
        }
    }

    /// What stands in a constant object: of a word that points somewhere, the name or the text of what it points at.
    fn hash_object(&self, object: &Range<u64>, hasher: &mut DefaultHasher) {
        for place in object.clone().step_by(8) {
            match self.pointed(place) {
                Some(target) => (self.in_slot(place).map(|one| one.name), self.text(target)).hash(hasher),
                None if self.image.relocation_at(place).is_some() => self.image.name_in_slot(place).hash(hasher),
                None => self.image.bytes_at(place, (object.end - place).min(8)).hash(hasher),
            }
        }
    }

    /// Whether it is no address and no table of unwinding that stands there.
    fn may_be_text(&self, address: u64) -> bool {
        let section = self.image.sections().iter().find(|one| one.is_loaded() && one.range().contains(&address));
        section.is_none_or(|one| one.name.contains("rodata")) && self.constant(address, 1).is_some()
    }

    fn code(&mut self, target: u64) {
        let place = self.place(target);
        place.hash(&mut self.hasher);
        if place.is_some() {
            return;
        }
        let name = match self.program.callee_at(self.image, target) {
            Callee::Function(index) => {
                self.program.functions.get(index).filter(|one| one.entry == target || self.image.is_in_plt(target)).and_then(named)
            }
            Callee::Import(name) => Some(name),
            Callee::Unknown => None,
        };
        self.reached.push(name.map(|name| Reached { name, content: 0 }));
    }

    /// What a slot that the loader fills for good will point at.
    fn in_slot(&self, slot: u64) -> Option<Reached<'a>> {
        let relocation = self.image.relocation_at(slot)?;
        let name = match self.image.name_in_slot(slot) {
            Some(name) => Some(name),
            None => {
                let target = relocation.link_address()?;
                let function = self.program.function_entered_at(target).and_then(|index| self.program.functions.get(index));
                function.and_then(named).or_else(|| self.symbol(target).map(|symbol| symbol.name))
            }
        };
        name.filter(|_| self.image.is_constant(slot)).map(|name| Reached { name, content: 0 })
    }

    /// The object that an address lies in.
    fn object(&self, address: u64) -> Option<Reached<'a>> {
        let symbol = self.symbol(address)?;
        let mut hasher = DefaultHasher::new();
        (address - symbol.address).hash(&mut hasher);
        if self.image.is_constant(address) {
            self.hash_object(&(symbol.address..symbol.address.saturating_add(symbol.size.min(LONGEST))), &mut hasher);
        }
        Some(Reached { name: symbol.name, content: hasher.finish() })
    }

    fn symbol(&self, address: u64) -> Option<Symbol<'data>> {
        const OBJECT: u8 = 1;
        let all = self.image.symbols();
        let behind = all.partition_point(|symbol| symbol.address <= address);
        let near = all.get(behind.saturating_sub(NEAR)..behind).unwrap_or_default();
        let holding = near.iter().filter(|symbol| symbol.kind == OBJECT && symbol.is_defined && address - symbol.address < symbol.size.max(1));
        holding.max_by_key(|symbol| (symbol.address, std::cmp::Reverse(names::plainness(symbol.name)))).copied()
    }

    /// Bytes that are no addresses.
    fn constant(&self, address: u64, size: u64) -> Option<&'data [u8]> {
        let mut words = (address / 8 * 8..address.saturating_add(size)).step_by(8).chain([address]);
        let holds_address =
            |place: u64| self.image.relocation_at(place).is_some() || self.image.u64_at(place).is_some_and(|word| self.is_address(word));
        if words.any(holds_address) { None } else { self.image.bytes_at(address, size) }
    }
}

/// The name of a function that has a symbol.
fn named(function: &Function) -> Option<&str> {
    function.has_name().then(|| function.plainest_name())
}

/// The text at the start of some bytes with its end, if they are one: in letters of one byte, two (`u"…"`) or four (`L"…"`).
fn text(bytes: &[u8]) -> Option<&[u8]> {
    match bytes {
        [_, 0, 0, 0, ..] => text_of(bytes, 4).filter(|text| text.len() > 8).or_else(|| text_of(bytes, 1)),
        [_, 0, _, 0, ..] => text_of(bytes, 2).filter(|text| text.len() > 4).or_else(|| text_of(bytes, 1)),
        _ => text_of(bytes, 1),
    }
}

fn text_of(bytes: &[u8], width: usize) -> Option<&[u8]> {
    const ESCAPE: char = '\x1b';
    let bytes = bytes.get(..bytes.len().min(LONGEST as usize))?;
    let end = width * bytes.chunks_exact(width).position(|unit| unit.iter().all(|&byte| byte == 0))?;
    let text = bytes.get(..end)?;
    let units = || text.chunks_exact(width);
    let is_letter = |one: char| !one.is_ascii_control() || one.is_ascii_whitespace() || one == ESCAPE;
    let is_text = match width {
        4 => units().all(|unit| unit.try_into().ok().and_then(|unit| char::from_u32(u32::from_le_bytes(unit))).is_some_and(is_letter)),
        2 => char::decode_utf16(units().filter_map(|unit| Some(u16::from_le_bytes(unit.try_into().ok()?)))).all(|one| one.is_ok_and(is_letter)),
        _ => std::str::from_utf8(text).is_ok_and(|text| text.chars().all(is_letter)),
    };
    is_text.then_some(text)
}
