//! The tally of a thread: words of thread-local storage that only it writes, signal handlers that run on it included.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tare_format::tally::{WORDS, Word};

/// The word behind the last one of the tally: not 0 while the thread looks up a function, which may allocate.
const LOOKING_UP: usize = WORDS;

core::arch::global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".globl tare_tally_words",
    ".hidden tare_tally_words",
    ".type tare_tally_words, @tls_object",
    ".balign 64",
    "tare_tally_words: .zero {size}",
    ".size tare_tally_words, {size}",
    ".text",
    size = const 8 * (WORDS + 1),
);

/// The words of the calling thread.
#[inline]
pub(crate) fn words() -> *mut u64 {
    let address: *mut u64;
    // SAFETY: reads the offset of an initial-exec thread-local and the thread pointer, no memory else.
    unsafe {
        core::arch::asm!("mov {0}, qword ptr [rip + tare_tally_words@GOTTPOFF]", "add {0}, qword ptr fs:[0]",
            out(reg) address, options(nostack, readonly, pure));
    }
    address
}

fn at(index: usize) -> &'static AtomicU64 {
    // SAFETY: callers name an index below that of the end.
    let word = unsafe { words().add(index) };
    // SAFETY: an aligned word of the thread's storage, handed out to the thread alone, which outlives its use.
    unsafe { AtomicU64::from_ptr(word) }
}

pub(crate) fn of(word: Word) -> &'static AtomicU64 {
    at(word as usize)
}

/// Adds in one instruction: a handler that comes between loses nothing.
#[inline]
pub(crate) fn add(word: Word, amount: u64) {
    // SAFETY: an aligned word that only this thread writes.
    unsafe {
        core::arch::asm!("add qword ptr [{word}], {amount}", word = in(reg) of(word).as_ptr(), amount = in(reg) amount, options(nostack));
    }
}

/// Whether the thread is looking up a function.
pub(crate) fn is_looking_up() -> bool {
    at(LOOKING_UP).load(Relaxed) != 0
}

pub(crate) fn set_looking_up(is_looking_up: bool) {
    at(LOOKING_UP).store(u64::from(is_looking_up), Relaxed);
}
