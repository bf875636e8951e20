//! Counts what a program allocates, reads and writes: functions that stand before libc's, or before those of an allocator
//! that the program brings, call them, and count.
//!
//! * `heap`, `operators`: memory, by libc's names and by those of C++.
//! * `descriptors`, `streams`, `formatted`: I/O by file descriptor, by stdio, and by stdio's variadic functions.
//! * `files`: which file a descriptor is, and what was done with it.
//! * `words`: a thread's tally.
//! * `interface`: what the runtime finds.
//!
//! What always holds: nothing here allocates, locks or prints, or changes `errno`; a function does what the next one of its
//! name does and returns what that returns. This library knows no graph: where a call happened is the runtime's business.

#![no_std]

pub mod descriptors;
pub mod files;
pub mod formatted;
pub mod heap;
pub mod interface;
mod io;
mod next;
pub mod operators;
pub mod streams;
mod words;
