//! Where exceptions and jumps land: `longjmp` and its kin, and what a C++ handler calls first (`__cxa_begin_catch`). The frames that were left are
//! closed at that moment, so that what passes from then on stands with who goes on and not with who was left.
//!
//! What is absent: exceptions of programs that hold the library of C++ themselves, and jumps that compilers make in place
//! (`__builtin_longjmp`), which are noticed at the next probe.

use crate::behind;
use crate::hook;
use crate::linking::next;
use crate::local::Local;
use crate::passing;
use crate::process::now;
use crate::state::ThreadState;
use crate::sys::SignalsBlocked;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Closes the frames that were left: those of what was called with this stack pointer, and of what that has called.
fn land(sp: u64) {
    let Some(local) = Local::of(ThreadState::current()) else { return };
    if !hook::is_left(local, sp) {
        return;
    }
    passing::end(local);
    let before = now().0;
    let _signals = SignalsBlocked::new();
    let ticks = now().0;
    let held_back = ticks - before;
    local.attribute(local.owner(), ticks);
    local.count_tool(local.owner(), held_back);
    local.arena.location().passed.store(0, Relaxed);
    while hook::is_left(local, sp) {
        local.close_skipped(ticks);
    }
    let end = now().0;
    local.attribute(local.owner(), end);
    // To let signals in again takes as long as to hold them back.
    local.count_tool(local.owner(), end - ticks + held_back);
}

/// The function that a handler calls first; its stack pointer at the call is that of the function that catches.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn __cxa_begin_catch(_exception: *mut c_void) -> *mut c_void {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "endbr64",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "lea rdi, [rsp + 8]",
        "mov rsi, [rsp + 8]",
        "call {catches}",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "jmp rax",
        ".cfi_endproc",
        catches = sym catches,
    )
}

/// The real function, of a call that comes back to an address. Some library has thrown what is caught, so there is one.
unsafe extern "C" fn catches(sp: u64, caller: usize) -> *mut c_void {
    land(sp);
    behind::find(c"__cxa_begin_catch", caller, &[c"libstdc++.so.6", c"libc++abi.so.1"])
}

/// Where in a `jmp_buf` of the GNU C library its stack pointer stands (`sysdeps/x86_64/jmpbuf-offsets.h`).
const STACK_POINTER: usize = 6;

/// The stack pointer with which a `jmp_buf` was made, in front of the call that made it.
///
/// # Safety
/// The buffer must be one that `setjmp` has filled.
unsafe fn stack_pointer_of(buffer: *const u64) -> u64 {
    // SAFETY: the place is in the buffer, …
    let place = unsafe { buffer.add(STACK_POINTER) };
    // SAFETY: … which is filled, as the caller vouches.
    let mangled = unsafe { place.read() };
    let guard: u64;
    // SAFETY: the guard of pointers in the thread's control block (`sysdeps/x86_64/nptl/tls.h`), which every thread has.
    unsafe { core::arch::asm!("mov {}, fs:[0x30]", out(reg) guard, options(nostack, preserves_flags, readonly, pure)) };
    (mangled.rotate_right(17) ^ guard).wrapping_sub(8)
}

/// A function that jumps.
struct Jump {
    name: &'static CStr,
    real: AtomicPtr<c_void>,
}

/// # Safety
/// The buffer must be one that `setjmp` has filled.
unsafe extern "C" fn jumps(buffer: *const u64, id: usize) -> *mut c_void {
    // SAFETY: as the caller vouches.
    land(unsafe { stack_pointer_of(buffer) });
    next(&JUMPS[id].real, JUMPS[id].name)
}

/// Looks the real functions up: handlers of signals, which may jump, must not.
pub(crate) fn look_up() {
    JUMPS.iter().for_each(|jump| _ = next(&jump.real, jump.name));
}

macro_rules! jumps {
    ($($name:ident)*) => {
        static JUMPS: [Jump; [$(stringify!($name)),*].len()] = [$(Jump {
            name: match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) { Ok(name) => name, Err(_) => panic!() },
            real: AtomicPtr::new(core::ptr::null_mut()),
        }),*];
        #[allow(non_camel_case_types)]
        enum Id { $($name),* }
        $(
            const _: () = {
                #[unsafe(export_name = stringify!($name))]
                #[unsafe(naked)]
                unsafe extern "C" fn exported(_buffer: *const u64, _value: i32) -> ! {
                    core::arch::naked_asm!(
                        ".cfi_startproc",
                        "endbr64",
                        "push rdi",
                        ".cfi_adjust_cfa_offset 8",
                        "push rsi",
                        ".cfi_adjust_cfa_offset 8",
                        "sub rsp, 8",
                        ".cfi_adjust_cfa_offset 8",
                        "mov esi, {id}",
                        "call {jumps}",
                        "add rsp, 8",
                        ".cfi_adjust_cfa_offset -8",
                        "pop rsi",
                        ".cfi_adjust_cfa_offset -8",
                        "pop rdi",
                        ".cfi_adjust_cfa_offset -8",
                        "jmp rax",
                        ".cfi_endproc",
                        id = const Id::$name as usize, jumps = sym jumps,
                    )
                }
            };
        )*
    };
}

jumps! { longjmp _longjmp siglongjmp __longjmp_chk }
