//! Functions that come back more often than they are called, told by what they do first, where nothing says what they are called.
//!
//! `setjmp` puts the registers that are its caller's into a buffer, `rbx` first, and with them where it returns to: so it is in glibc,
//! musl and Free Pascal's runtime. Its other names set its second argument and jump there. `vfork` is a system call.

use tare_image::Image;

use crate::decode::ENDBR64;

/// Bytes of the largest of these functions.
const MOST: u64 = 160;
/// `mov %rbx, (%rdi)`.
const KEEPS_RBX: &[u8] = &[0x48, 0x89, 0x1f];
/// `xor %esi, %esi` and `mov $1, %esi`.
const SECOND_ARGUMENTS: [&[u8]; 2] = [&[0x31, 0xf6], &[0xbe, 1, 0, 0, 0]];
/// `mov $58, %eax` and `syscall`.
const VFORK: &[u8] = &[0xb8, 58, 0, 0, 0, 0x0f, 0x05];
/// Bytes in front of the system call.
const FRONT: usize = 12;

/// Whether the function at an entry, of so many bytes, is such a one.
pub(crate) fn comes_back_twice(image: &Image<'_>, entry: u64, size: u64) -> bool {
    if size > MOST {
        return false;
    }
    let code = image.bytes_at(entry, size).unwrap_or_default();
    let start = code.strip_prefix(&ENDBR64).unwrap_or(code);
    let behind = SECOND_ARGUMENTS.iter().find_map(|set| start.strip_prefix(*set));
    let keeps_where = |code: &[u8]| {
        let code = code.strip_prefix(&ENDBR64).unwrap_or(code);
        code.starts_with(KEEPS_RBX) && code.windows(4).any(reads_return_address)
    };
    let target = behind.and_then(|jump| jump_target(jump, entry + (code.len() - jump.len()) as u64));
    let at_target = target.and_then(|target| image.bytes_from(target)).map(|code| code.get(..MOST as usize).unwrap_or(code));
    let is_vfork = start.get(..FRONT + VFORK.len()).unwrap_or(start).windows(VFORK.len()).any(|bytes| bytes == VFORK);
    keeps_where(start) || at_target.is_some_and(keeps_where) || is_vfork
}

/// `mov (%rsp), REGISTER`.
const fn reads_return_address(bytes: &[u8]) -> bool {
    matches!(bytes, [0x48 | 0x4c, 0x8b, field, 0x24] if *field & 0xc7 == 0x04)
}

/// Where code that begins with an unconditional jump goes.
fn jump_target(code: &[u8], address: u64) -> Option<u64> {
    match *code {
        [0xe9, a, b, c, d, ..] => Some((address + 5).wrapping_add_signed(i64::from(i32::from_le_bytes([a, b, c, d])))),
        [0xeb, distance, ..] => Some((address + 2).wrapping_add_signed(i64::from(distance.cast_signed()))),
        _ => None,
    }
}
