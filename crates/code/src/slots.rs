//! What stands in words that the loader fills and nothing writes afterwards.

use std::ops::Range;

use iced_x86::{Instruction, InstructionInfoFactory, InstructionInfoOptions, Mnemonic, OpAccess, OpKind, Register};
use tare_image::Image;

/// Sections in which the linker keeps addresses: code reads them there, wherever it takes an address in them.
pub(crate) const LINKERS: [&str; 2] = [".got", ".got.plt"];

/// The code of this image whose address a slot holds for good: by a symbol that is defined here, or, where the word is
/// constant and none of the code is seen to change it, as it was relocated or stands in the file.
pub(crate) fn code_in(image: &Image<'_>, changing: &Changing, slot: u64) -> Option<u64> {
    let stays = || image.is_constant(slot) && !changing.may_change(image, slot);
    let is_for_good = image.name_in_slot(slot).is_some() || stays();
    image.pointer_at(slot).filter(|&target| is_for_good && image.is_code(target))
}

/// What may change among the words that the loader protects: code may take the protection away.
#[derive(Default)]
pub(crate) struct Changing {
    /// Words that code writes, sorted.
    written: Vec<u64>,
    /// Addresses that code or data holds, so that what stands there and behind may be written in ways that are not seen; sorted.
    taken: Vec<u64>,
}

impl Changing {
    /// Notes what an instruction does whose operand names a protected address, alone or beside registers.
    pub(crate) fn note(&mut self, image: &Image<'_>, instruction: &Instruction) {
        let address = instruction.memory_displacement64();
        let is_alone = matches!(instruction.memory_base(), Register::RIP | Register::None) && instruction.memory_index() == Register::None;
        if is_alone && writes_memory(instruction) {
            let size = instruction.memory_size().size().max(1) as u64;
            self.written.extend((address / 8 * 8..address.saturating_add(size)).step_by(8));
        } else if !is_alone && !image.kind().is_position_independent() && (instruction.mnemonic() == Mnemonic::Lea || writes_memory(instruction)) {
            self.taken.push(address);
        }
    }

    /// Notes that code holds an address.
    pub(crate) fn note_taken(&mut self, address: u64) {
        self.taken.push(address);
    }

    pub(crate) fn extend(&mut self, more: Self) {
        self.written.extend(more.written);
        self.taken.extend(more.taken);
    }

    /// Adds what relocated data and others hold (`held`: words of data, and the addresses that code names as constants), and sorts.
    pub(crate) fn settle(&mut self, image: &Image<'_>, protected: &Range<u64>, held: impl Iterator<Item = u64>) {
        let relocated = image.relocations().iter().filter_map(tare_image::Relocation::link_address);
        self.taken.extend(relocated.chain(held).filter(|address| protected.contains(address)));
        for list in [&mut self.written, &mut self.taken] {
            list.sort_unstable();
            list.dedup();
        }
    }

    /// Whether a protected word may change: it is written, or an address in front of it in its object is held, or in its section, where
    /// no symbol tells of objects.
    fn may_change(&self, image: &Image<'_>, slot: u64) -> bool {
        if self.written.binary_search(&slot).is_ok() {
            return true;
        }
        let Some(&held) = self.taken.partition_point(|&one| one <= slot).checked_sub(1).and_then(|last| self.taken.get(last)) else { return false };
        let section = image.sections().iter().find(|one| one.range().contains(&slot));
        if section.is_some_and(|one| LINKERS.contains(&one.name)) {
            return false;
        }
        let start = object_start(image, slot).or_else(|| section.map(|one| one.address));
        start.is_none_or(|start| held >= start)
    }
}

/// Where the object starts in which an address lies, by its symbol.
fn object_start(image: &Image<'_>, address: u64) -> Option<u64> {
    const OBJECT: u8 = 1;
    let symbols = image.symbols();
    let before = symbols.get(..symbols.partition_point(|symbol| symbol.address <= address)).unwrap_or_default();
    let object = before.iter().rev().find(|symbol| symbol.kind == OBJECT && symbol.is_defined)?;
    (address - object.address < object.size).then_some(object.address)
}

/// Whether an instruction may write its memory operand.
fn writes_memory(instruction: &Instruction) -> bool {
    let is_read = match instruction.mnemonic() {
        Mnemonic::Mov => instruction.op0_kind() == OpKind::Register,
        Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push | Mnemonic::Call | Mnemonic::Jmp | Mnemonic::Lea => true,
        _ => false,
    };
    if is_read {
        return false;
    }
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info_options(instruction, InstructionInfoOptions::NO_REGISTER_USAGE);
    let is_stack = |register| register == Register::RSP;
    let mut written = info.used_memory().iter().filter(|one| !matches!(one.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess));
    written.any(|one| !is_stack(one.base()))
}

/// Whether the loader may put the address of a function into a slot.
pub(crate) fn may_hold_callee(image: &Image<'_>, slot: u64) -> bool {
    const OBJECT: u8 = 1;
    let Some(relocation) = image.relocation_at(slot) else { return image.pointer_at(slot).is_some_and(|target| image.text_at(target).is_some()) };
    match relocation.symbol {
        Some(symbol) => symbol.kind != OBJECT,
        None => relocation.link_address().is_some_and(|target| image.text_at(target).is_some()),
    }
}
