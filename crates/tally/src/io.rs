//! A call that is counted as I/O: of what kind, on which file, how many bytes, how long.

use crate::files;
use crate::words::add;
use core::ffi::{c_int, c_void};
use tare_format::tally::Word;

/// What a call does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Read,
    Write,
    Other,
}

/// What a call works on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject {
    Descriptor(c_int),
    Stream(*mut libc::FILE),
    /// A file that the call opens: its answer tells.
    Opened,
    /// A file that the call closes, or makes another one.
    Closed(c_int),
    /// No file, or several.
    Unknown,
}

/// What a function answers.
pub(crate) trait Answer: Copy {
    /// The answer of one that could not be called.
    const FAILED: Self;

    /// The descriptor that one which opens a file tells; negative where it did not.
    fn opened(self) -> c_int {
        -1
    }
}

impl Answer for c_int {
    const FAILED: Self = -1;

    fn opened(self) -> c_int {
        self
    }
}
impl Answer for isize {
    const FAILED: Self = -1;
}
impl Answer for i64 {
    const FAILED: Self = -1;
}
impl Answer for usize {
    const FAILED: Self = 0;
}
impl Answer for *mut libc::c_char {
    const FAILED: Self = core::ptr::null_mut();
}
impl Answer for *mut libc::FILE {
    const FAILED: Self = core::ptr::null_mut();

    fn opened(self) -> c_int {
        descriptor_of(self)
    }
}

pub(crate) fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has a time-stamp counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Makes a call, and counts it with the bytes that its answer tells.
#[inline]
pub(crate) fn counted<R: Answer>(way: Way, subject: Subject, call: impl FnOnce() -> R, bytes: impl FnOnce(R) -> u64) -> R {
    let file = files::of(subject);
    let begin = ticks();
    let answer = call();
    let took = ticks().wrapping_sub(begin);
    let file = if matches!(subject, Subject::Opened) { files::opened(answer.opened()) } else { file };
    let bytes = bytes(answer);
    add(Word::IoCalls, 1);
    add(Word::IoTicks, took);
    match way {
        Way::Read => {
            add(Word::Reads, 1);
            add(Word::BytesRead, bytes);
        }
        Way::Write => {
            add(Word::Writes, 1);
            add(Word::BytesWritten, bytes);
        }
        Way::Other => {}
    }
    files::count(file, way, bytes, took);
    answer
}

/// The descriptor of a stream; negative where it has none.
pub(crate) fn descriptor_of(stream: *mut libc::FILE) -> c_int {
    unsafe extern "C" {
        fn fileno_unlocked(stream: *mut libc::FILE) -> c_int;
    }
    if stream.is_null() {
        return -1;
    }
    keeping_errno(|| {
        // SAFETY: a stream that the program has passed to stdio.
        unsafe { fileno_unlocked(stream) }
    })
}

/// Runs what may change `errno`, and puts it back.
pub(crate) fn keeping_errno<R>(run: impl FnOnce() -> R) -> R {
    // SAFETY: the thread's `errno`.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    let result = run();
    // SAFETY: as above.
    unsafe { *errno = before };
    result
}

/// A function of I/O that calls the next one of its name: how it counts, its arguments, what it works on, and the bytes that
/// its answer tells.
macro_rules! io {
    ($($way:ident $name:ident($($argument:ident: $kind:ty),* $(,)?) -> $answer:ty, $subject:expr, $bytes:expr;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As in POSIX, C or glibc. It may be left by the cancellation of its thread.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> $answer {
            static NEXT: $crate::next::Next<unsafe extern "C-unwind" fn($($kind),*) -> $answer> =
                // SAFETY: as POSIX, C or glibc have it.
                unsafe { $crate::next::Next::new($crate::next::name(concat!(stringify!($name), "\0"))) };
            let Some(next) = NEXT.get() else { return <$answer as $crate::io::Answer>::FAILED };
            // SAFETY: as the caller vouches.
            $crate::io::counted($crate::io::Way::$way, $subject, || unsafe { next($($argument),*) }, $bytes)
        }
    )*};
}
pub(crate) use io;

/// Bytes that an answer tells which is negative where the call failed.
pub(crate) fn length(answer: isize) -> u64 {
    answer.max(0) as u64
}

/// An answer that tells no bytes.
pub(crate) fn none<R>(_: R) -> u64 {
    0
}

/// Memory that a call reads or writes.
pub(crate) type Memory = *mut c_void;
