//! What valgrind must be told. It takes a stack pointer that moves up by less than two megabytes for one that takes words off its
//! stack, and what is left below for lost: the state of a thread whose stack for slow paths stands right above its own.

use core::ptr::NonNull;

/// `VG_USERREQ__STACK_REGISTER` of valgrind's `valgrind.h`.
const STACK_REGISTER: usize = 0x1501;

/// Says that a stack of this many bytes begins here, which is never given back. Does nothing outside of valgrind.
pub(crate) fn register_stack(start: NonNull<u8>, length: usize) {
    let first = start.addr().get();
    request([STACK_REGISTER, first, first + length - 1, 0, 0, 0]);
}

/// A client request of valgrind's for x86-64: four rotations that together leave `rdi` as it was, and an exchange of a register with
/// itself. The answer, in `rdx`, is not needed.
fn request(words: [usize; 6]) {
    // SAFETY: nothing but `rdx` and the flags is changed; valgrind reads the words.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") words.as_ptr(),
            inout("rdx") 0usize => _,
            options(nostack),
        );
    }
}
