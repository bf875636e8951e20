//! Frames that are saved to be gone back to, as `__builtin_setjmp` saves them: the frame pointer, the address of an instruction and the stack
//! pointer in three words side by side; and jumps back there, as of `__builtin_longjmp`.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use tare_image::Image;

use crate::decode::{RawFlow, decoder, raw_flow};
use crate::stretch::Stretch;
use crate::through::writes;

/// How many instructions lie between the parts of what is looked for.
const ROOM: usize = 16;
/// Bytes of that many instructions.
const LENGTH: u64 = 15 * ROOM as u64;

/// Whether the instruction at a link address loads the address at which a frame that it saves is gone on with: that is stored, and the
/// stack pointer in the word behind. Whoever has it can only jump there, with that stack pointer.
#[must_use]
pub fn saves_frame(image: &Image<'_>, load: u64) -> bool {
    let Some(text) = image.text_at(load) else { return false };
    let mut code = decoder(image, &(load..text.end.min(load.saturating_add(LENGTH)))).into_iter();
    let Some(first) = code.next().filter(|one| one.mnemonic() == Mnemonic::Lea && one.is_ip_rel_memory_operand()) else { return false };
    let label = first.op0_register();
    // Where either was stored, the other belongs beside it.
    let (mut address, mut pointer): (Option<Word>, Option<Word>) = (None, None);
    for one in code.take(ROOM).take_while(|one| raw_flow(one) == RawFlow::Next) {
        match Word::of(&one).filter(|_| one.mnemonic() == Mnemonic::Mov && one.op0_kind() == OpKind::Memory) {
            Some(word) if one.op1_register() == label => address = Some(word),
            Some(word) if one.op1_register() == Register::RSP => pointer = Some(word),
            _ => {}
        }
        if address.zip(pointer).is_some_and(|(address, pointer)| address.is_in_front_of(pointer)) {
            return true;
        }
        let is_lost = |word: &Word| writes(&one, word.base);
        let moves_stack = one.is_stack_instruction() || writes(&one, Register::RSP);
        if moves_stack && address.is_some() || address.is_none() && writes(&one, label) || address.as_ref().is_some_and(is_lost) {
            return false;
        }
        pointer = pointer.filter(|word| !moves_stack && !is_lost(word));
    }
    false
}

/// Whether a jump, by its index, goes on with a saved frame: it goes to a word that was loaded, and the stack pointer comes from the word
/// behind that.
pub(crate) fn goes_back(stretch: &Stretch, jump: usize) -> bool {
    let Some(one) = stretch.code.get(jump).filter(|one| one.op0_kind() == OpKind::Register) else { return false };
    let target = one.op0_register();
    let (mut address, mut pointer): (Option<Word>, Option<Word>) = (None, None);
    let before = stretch.code.get(jump.saturating_sub(ROOM)..jump).unwrap_or_default();
    for one in before.iter().rev().take_while(|one| raw_flow(one) == RawFlow::Next) {
        let loaded = Word::of(one).filter(|_| one.mnemonic() == Mnemonic::Mov && one.op0_kind() == OpKind::Register);
        // Up to the last load both are counted from one register, which must not change in between.
        if one.is_stack_instruction() || [address, pointer].iter().flatten().any(|word| writes(one, word.base)) {
            return false;
        }
        if address.is_none() && writes(one, target) {
            address = loaded;
            if address.is_none() {
                return false;
            }
        }
        if pointer.is_none() && writes(one, Register::RSP) {
            pointer = loaded;
            if pointer.is_none() {
                return false;
            }
        }
        if let Some((address, pointer)) = address.zip(pointer) {
            return address.is_in_front_of(pointer);
        }
    }
    false
}

/// A word at a distance from a register, or at an address.
#[derive(Clone, Copy)]
struct Word {
    base: Register,
    distance: u64,
}

impl Word {
    /// The memory operand of an instruction that moves a word from or to a register.
    fn of(one: &Instruction) -> Option<Self> {
        let kinds = [one.op0_kind(), one.op1_kind()];
        let register = if kinds == [OpKind::Register, OpKind::Memory] { one.op0_register() } else { one.op1_register() };
        let moves_word = kinds.contains(&OpKind::Memory) && kinds.contains(&OpKind::Register) && register.is_gpr64();
        let is_plain = one.memory_index() == Register::None && one.segment_prefix() == Register::None;
        (moves_word && is_plain).then(|| Self { base: one.memory_base(), distance: one.memory_displacement64() })
    }

    fn is_in_front_of(self, other: Self) -> bool {
        self.base == other.base && self.distance.wrapping_add(8) == other.distance
    }
}
