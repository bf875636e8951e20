//! Telling the program's calls from those that the MPI library makes inside a function.
//!
//! The guard remembers the stack pointer of the outermost call: what is called inside lies below it. A call
//! from above means that the outermost one was left by `longjmp`, as error handlers do.

use core::sync::atomic::Ordering::Relaxed;
use tare_runtime::wrapper::outermost;

/// Does something that calls MPI functions as the program does.
pub(crate) fn as_the_program(action: impl FnOnce()) {
    let before = outermost().swap(0, Relaxed);
    action();
    outermost().store(before, Relaxed);
}

/// The outermost call of an MPI function on this thread.
#[derive(Debug)]
pub(crate) struct Guard(());

impl Guard {
    /// Enters a function; `None` inside of another one.
    #[inline]
    pub(crate) fn enter() -> Option<Self> {
        let here = stack_pointer();
        let outermost = outermost();
        if here < outermost.load(Relaxed) {
            return None;
        }
        outermost.store(here, Relaxed);
        Some(Self(()))
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        outermost().store(0, Relaxed);
    }
}

#[inline(always)]
fn stack_pointer() -> u64 {
    let here: u64;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mov {}, rsp", out(reg) here, options(nomem, nostack, preserves_flags)) };
    here
}

#[cfg(test)]
mod tests {
    use super::Guard;

    #[inline(never)]
    fn nested() -> bool {
        let room = std::hint::black_box([0_u8; 256]);
        let inside = Guard::enter().is_none();
        std::hint::black_box(room);
        inside
    }

    #[test]
    fn inner_calls_are_told_apart_and_other_threads_are_not_affected() {
        let guard = Guard::enter();
        assert!(guard.is_some());
        assert!(nested());
        assert!(std::thread::spawn(|| !nested()).join().expect("the thread ends"));
        drop(guard);
        assert!(!nested());
    }

    #[test]
    fn a_call_that_was_left_by_a_jump_does_not_stay_open() {
        #[inline(never)]
        fn left_by_a_jump() {
            let room = std::hint::black_box([0_u8; 256]);
            core::mem::forget(Guard::enter());
            std::hint::black_box(room);
        }
        left_by_a_jump();
        assert!(Guard::enter().is_some());
    }
}
