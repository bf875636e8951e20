//! Telling the program's calls from those that the MPI library makes inside a function.
//!
//! The guard remembers the stack pointer of the outermost call: what is called inside lies below it. A call
//! from above means that the outermost one was left by `longjmp`, as error handlers do.

use core::cell::Cell;

thread_local! {
    /// Stack pointer of the outermost call; 0 outside of MPI.
    static OUTERMOST: Cell<usize> = const { Cell::new(0) };
}

/// Does something that calls MPI functions as the program does.
pub(crate) fn as_the_program(action: impl FnOnce()) {
    let outermost = OUTERMOST.try_with(|outermost| outermost.replace(0)).unwrap_or(0);
    action();
    let _ = OUTERMOST.try_with(|all| all.set(outermost));
}

/// The outermost call of an MPI function on this thread.
#[derive(Debug)]
pub(crate) struct Guard(());

impl Guard {
    /// Enters a function; `None` inside of another one.
    #[inline]
    pub(crate) fn enter() -> Option<Self> {
        let here = stack_pointer();
        OUTERMOST
            .try_with(|outermost| {
                if here < outermost.get() {
                    return None;
                }
                outermost.set(here);
                Some(Self(()))
            })
            .ok()
            .flatten()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = OUTERMOST.try_with(|outermost| outermost.set(0));
    }
}

#[inline(always)]
fn stack_pointer() -> usize {
    let here: usize;
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
