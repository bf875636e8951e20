//! Delays between the threads of a process: functions by which threads start and wait for one another, which stand before those of libc
//! and of OpenMP's libraries, call them, and let the delay of who is waited for travel to who waits.
//!
//! * `start`, `join`: a thread begins with the delay of who starts it, and who joins it waits for its end.
//! * `condition`, `semaphore`, `barrier`: condition variables, semaphores and barriers of POSIX threads; `signals`: what lets the first two go on.
//! * `lock`: mutexes, reader-writer locks and spin locks; `places`: what is waited for at once.
//! * `gomp`, `ompt`: parallel regions and barriers of OpenMP, by the entry points of GCC's library and by the tools interface that LLVM's
//!   library has; `team`: the threads of such a region.
//! * `wait`: a wait under way, a region of its own; `operations`: what these regions are called. `phases`, `real`: what all build on.
//!
//! What always holds: the program's arguments reach the real function unchanged, but for what a thread or a member of a team starts with, and
//! its result is returned unchanged; nothing here waits for anything that the program does not wait for; where a process is not measured,
//! everything is passed on.
//!
//! What is absent: spinning, and waits by system calls of the program's own.

mod barrier;
mod condition;
mod gomp;
mod join;
mod lock;
mod ompt;
mod operations;
mod phases;
mod places;
mod real;
mod semaphore;
mod signals;
mod start;
mod team;
mod wait;
