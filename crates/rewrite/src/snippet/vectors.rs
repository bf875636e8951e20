//! Vector and x87 state, kept around a call without `xsave` and `xrstor`.
//!
//! These two take longer than most hooks do, `xrstor` above all. At entries and exits of functions, on processors with
//! AVX-512, plain stores and loads do as well:
//!
//! * `zmm0` to `zmm31`, `k0` to `k7` and `mxcsr` are stored and loaded, whole. That is all of the vector state that compiled
//!   code can touch. Where the upper parts of `zmm0` to `zmm15` are zero, as they are in programs that use none of them,
//!   they are made zero by `vzeroupper`: loads would leave them in use, which slows legacy SSE instructions down.
//! * The x87 registers are empty; where they are not, as behind a `long double` result, `xsave` is used. They are where the
//!   processor says that their state was never in use (`xgetbv`), and by the tags that `xsave` of that state alone stores
//!   elsewhere: `fxam` takes longer than all else here on some processors, if the register is empty. A function leaves them
//!   empty, and keeps the control word; its exception flags are taken back.
//!
//! Inside of bodies, where condition bits may be alive, this is not done.

use super::assembler::{Assembler, EQUAL, Label, Memory, NOT_EQUAL, RAX, RSP};

/// Where `xsave` stores which x87 registers are not empty.
const TAGS: i32 = 4;
/// Where things lie in the area for the state: behind what `xsave` wants to find zero.
const VECTORS: i32 = 576;
const MASKS: i32 = VECTORS + 32 * 64;
const MXCSR: i32 = MASKS + 8 * 8;
const STATUS: i32 = MXCSR + 4;
const ENVIRONMENT: i32 = STATUS + 4;
/// How the state was kept.
const WAY: i32 = ENVIRONMENT + 28;
const _: () = assert!(WAY < super::compile::STATE_SIZE);

const BY_XSAVE: u8 = 0;
const WHOLE: u8 = 1;
/// The upper parts of `zmm0` to `zmm15` were zero.
const LOWER: u8 = 2;

/// The area's place above the stack pointer.
#[derive(Clone, Copy)]
pub(crate) struct Area(pub(crate) i32);

impl Area {
    const fn at(self, offset: i32) -> Memory {
        Memory::At(RSP, self.0 + offset)
    }

    /// Keeps the state, or goes on at `otherwise` where this cannot be done; `rax`, `rcx` and `rdx` are changed.
    pub(crate) fn save(self, code: &mut Assembler, may: Memory, otherwise: Label) {
        code.store_byte(self.at(WAY), BY_XSAVE);
        code.compare_byte(may, 1);
        code.jump_if(NOT_EQUAL, otherwise);
        let is_empty = code.label();
        // mov $1, %ecx; xgetbv; test $1, %al: whether the x87 state is in use
        code.raw(&[0xb9, 1, 0, 0, 0, 0x0f, 0x01, 0xd0, 0xa8, 1]);
        code.jump_if(EQUAL, is_empty);
        // mov $1, %eax; xor %edx, %edx
        code.raw(&[0xb8, 1, 0, 0, 0, 0x31, 0xd2]);
        code.state(4, self.at(0));
        code.compare_byte(self.at(TAGS), 0);
        code.jump_if(NOT_EQUAL, otherwise);
        code.bind(is_empty);
        // fnstsw %ax
        code.raw(&[0xdf, 0xe0]);
        code.store_sized(self.at(STATUS), RAX, 4);
        code.status(3, self.at(MXCSR));
        (0..32).for_each(|number| self.whole(code, number, STORE));
        (0..8).for_each(|number| self.mask(code, number, STORE));
        let (is_lower, end) = (code.label(), code.label());
        upper_parts(code);
        code.jump_if(EQUAL, is_lower);
        code.store_byte(self.at(WAY), WHOLE);
        code.jump(end);
        code.bind(is_lower);
        code.store_byte(self.at(WAY), LOWER);
        code.bind(end);
        code.raw(VZEROUPPER);
    }

    /// Takes the state back, or goes on at `otherwise` where `xsave` has kept it; `rax` is changed.
    pub(crate) fn restore(self, code: &mut Assembler, otherwise: Label) {
        let (lower, end) = (code.label(), code.label());
        code.compare_byte(self.at(WAY), BY_XSAVE);
        code.jump_if(EQUAL, otherwise);
        self.exception_flags(code);
        (16..32).for_each(|number| self.whole(code, number, LOAD));
        (0..8).for_each(|number| self.mask(code, number, LOAD));
        code.compare_byte(self.at(WAY), LOWER);
        code.jump_if(EQUAL, lower);
        (0..16).for_each(|number| self.whole(code, number, LOAD));
        code.jump(end);
        code.bind(lower);
        code.raw(VZEROUPPER);
        (0..16).for_each(|number| self.lowest(code, number));
        code.bind(end);
        code.status(2, self.at(MXCSR));
    }

    fn exception_flags(self, code: &mut Assembler) {
        let same = code.label();
        // fnstsw %ax
        code.raw(&[0xdf, 0xe0]);
        code.exclude(RAX, self.at(STATUS));
        // test $0x7f, %al
        code.raw(&[0xa8, 0x7f]);
        code.jump_if(EQUAL, same);
        code.environment(6, self.at(ENVIRONMENT));
        code.load_sized(RAX, self.at(STATUS), 4, false);
        code.store_sized(self.at(ENVIRONMENT + 4), RAX, 1);
        code.environment(4, self.at(ENVIRONMENT));
        code.bind(same);
    }

    /// `vmovups` of a register of 512 bits.
    fn whole(self, code: &mut Assembler, number: u8, direction: u8) {
        let high = 0x61 | (!number & 8) << 4 | (!number & 16);
        code.raw(&[0x62, high, 0x7c, 0x48, direction]);
        self.operand(code, number, VECTORS + 64 * i32::from(number));
    }

    /// `vmovups` of a register of 128 bits: the rest becomes zero.
    fn lowest(self, code: &mut Assembler, number: u8) {
        code.raw(&[0xc5, 0x78 | (!number & 8) << 4, LOAD]);
        self.operand(code, number, VECTORS + 64 * i32::from(number));
    }

    /// `kmovq`.
    fn mask(self, code: &mut Assembler, number: u8, direction: u8) {
        code.raw(&[0xc4, 0xe1, 0xf8, direction | 0x80]);
        self.operand(code, number, MASKS + 8 * i32::from(number));
    }

    /// A register's lowest three bits and a place in the area.
    fn operand(self, code: &mut Assembler, number: u8, offset: i32) {
        code.raw(&[0x84 | (number & 7) << 3, 0x24]);
        code.raw(&(self.0 + offset).to_le_bytes());
    }
}

const STORE: u8 = 0x11;
const LOAD: u8 = 0x10;
const VZEROUPPER: &[u8] = &[0xc5, 0xf8, 0x77];

/// "Equal" where the upper parts of `zmm0` to `zmm15` are zero; changes `zmm0`, `k1` and `rax`, which are kept already.
fn upper_parts(code: &mut Assembler) {
    for number in 1..16_u8 {
        let high = 0xd1 | (!number & 8) << 2;
        // vporq %zmm, %zmm0, %zmm0
        code.raw(&[0x62, high, 0xfd, 0x48, 0xeb, 0xc0 | number & 7]);
    }
    // vptestmq %zmm0, %zmm0, %k1; kmovw %k1, %eax; test $0xfc, %al: all but the lowest two of eight words
    code.raw(&[0x62, 0xf2, 0xfd, 0x48, 0x27, 0xc8, 0xc5, 0xf8, 0x93, 0xc1, 0xa8, 0xfc]);
}

/// `CPUID` leaf 7, ebx: AVX-512 F and BW.
const WIDE: u32 = 1 << 16 | 1 << 30;

/// Sets a byte to 1 where the processor has AVX-512 and the system has switched it on; `xgetbv` must be there. Changes
/// `rax`, `rbx`, `rcx` and `rdx`.
pub(crate) fn detect(code: &mut Assembler, may: Memory) {
    let end = code.label();
    // xor %ecx, %ecx; xgetbv; and $0xe6, %eax; cmp $0xe6, %eax
    code.raw(&[0x31, 0xc9, 0x0f, 0x01, 0xd0, 0x25, 0xe6, 0, 0, 0, 0x3d, 0xe6, 0, 0, 0]);
    code.jump_if(NOT_EQUAL, end);
    code.set(RAX, 7);
    // xor %ecx, %ecx; cpuid; not %ebx; test $WIDE, %ebx
    code.raw(&[0x31, 0xc9, 0x0f, 0xa2, 0xf7, 0xd3, 0xf7, 0xc3]);
    code.raw(&WIDE.to_le_bytes());
    code.jump_if(NOT_EQUAL, end);
    code.set(RAX, 13);
    // mov $1, %ecx; cpuid; test $4, %al: `xgetbv` of what is in use
    code.raw(&[0xb9, 1, 0, 0, 0, 0x0f, 0xa2, 0xa8, 4]);
    code.jump_if(EQUAL, end);
    code.store_byte(may, 1);
    code.bind(end);
}
