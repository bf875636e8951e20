//! Threads that are started: each begins with the delay of who starts it.
//!
//! What the real `pthread_create` is given to start is a short routine of ours, which takes note of that delay and then jumps to the
//! program's: nothing of ours is on the stack of the thread.

use crate::join;
use crate::operations;
use crate::real::Real;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use tare_runtime::process::is_measuring;
use tare_runtime::wrapper::{begins_with, current_delay};

type Create = unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, usize, usize) -> c_int;
// SAFETY: the type of libc's function of this name.
static CREATE: Real<Create> = unsafe { Real::new(c"pthread_create") };

/// What a thread that is about to begin is to know.
struct Birth {
    is_taken: AtomicBool,
    routine: AtomicUsize,
    argument: AtomicUsize,
    delay: AtomicI64,
}

/// Threads that may be between their start and their first instruction at once. Others begin without delay.
const BIRTHS: usize = 128;
static BORN: [Birth; BIRTHS] = [const { Birth::none() }; BIRTHS];

impl Birth {
    const fn none() -> Self {
        Self { is_taken: AtomicBool::new(false), routine: AtomicUsize::new(0), argument: AtomicUsize::new(0), delay: AtomicI64::new(0) }
    }

    fn take(routine: usize, argument: usize) -> Option<&'static Self> {
        let free = |birth: &&Self| !birth.is_taken.load(Relaxed) && !birth.is_taken.swap(true, Acquire);
        let birth = BORN.iter().find(free)?;
        birth.routine.store(routine, Relaxed);
        birth.argument.store(argument, Relaxed);
        birth.delay.store(current_delay(), Relaxed);
        Some(birth)
    }

    fn give_back(&self) {
        self.is_taken.store(false, Release);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(thread: *mut libc::pthread_t, attributes: *const libc::pthread_attr_t, routine: usize, argument: usize) -> c_int {
    let Some(create) = CREATE.get() else { return libc::EAGAIN };
    let Some(birth) = is_measuring().then(|| Birth::take(routine, argument)).flatten() else {
        // SAFETY: the program's arguments.
        return unsafe { create(thread, attributes, routine, argument) };
    };
    join::make_key();
    operations::make_known();
    // SAFETY: the program's arguments, but for what is started: a routine that takes what a thread begins with.
    let result = unsafe { create(thread, attributes, begin as unsafe extern "C" fn() as usize, core::ptr::from_ref(birth).addr()) };
    if result != 0 {
        birth.give_back();
    }
    result
}

/// What a thread begins with: the routine of the program, and its argument.
#[repr(C)]
struct Routine {
    address: usize,
    argument: usize,
}

#[unsafe(naked)]
unsafe extern "C" fn begin() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "endbr64",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {own}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "mov rdi, rdx",
        "jmp rax",
        ".cfi_endproc",
        own = sym note_begin,
    )
}

extern "C" fn note_begin(birth: &'static Birth) -> Routine {
    let routine = Routine { address: birth.routine.load(Relaxed), argument: birth.argument.load(Relaxed) };
    begins_with(birth.delay.load(Relaxed));
    birth.give_back();
    join::expect_end();
    routine
}
