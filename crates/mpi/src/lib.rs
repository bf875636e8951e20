//! The MPI interposer: every function of MPI, timed as a region, with delays carried along messages.
//!
//! A preloaded library exports each function as `MPI_X` and as `PMPI_X` ([`export!`]) and calls the next `PMPI_X`. Both
//! names are needed, because the libraries' Fortran bindings call either; so one set of wrappers serves C,
//! `mpif.h`, `use mpi` and `use mpi_f08`. What the library calls inside a function is told apart by a guard of
//! the thread, so nothing is counted twice.
//!
//! * [`table`]: every function of the standard with what a call means; [`meaning`] says what there is to mean.
//! * [`abi`], [`openmpi`], [`mpich`], [`mpiabi`]: what is to be known of a library's binary interface.
//! * `real`, `absent`, `guard`, `memory`: calling the real function, or having none, telling inner calls apart, reading arguments.
//! * `session`, `lifecycle`, `communicators`, `duplicates`: from `MPI_Init` to `MPI_Finalize`.
//! * `spawned`, `started_by`: processes of other worlds, and how they are started.
//! * `call`: one call of the program: its region, its clock readings, what it did to the thread's delay.
//! * `transport`, `matching`: what travels beside messages, as shadow messages or in the `mail` of a machine; `board`: what processes of one machine see of each other; `holds`: what may hold up an
//!   end besides messages; `answers`: messages that travel back to senders that may wait; `usual`: what our own work takes.
//! * `messages`, `completion`, `probing`, `parted`: what is done for calls of messages; `collective`, `meeting`, `started`, `shadows`, `among`,
//!   `neighbours` of collectives; `windows`, `epochs`, `locks` of one-sided communication; `files` of files.
//!
//! What always holds: the program's arguments reach the real function unchanged, except that an ignored status
//! is replaced by one of ours; the real function's result is returned unchanged; what travels beside a message
//! is told before it is sent, on each communicator that has a shadow and on no other; nobody waits for what belongs to a message that
//! has not arrived; all work of the wrapper is measured and booked as the tool's.
//!
//! What is absent: a wrapper written by hand for any one function.

pub mod abi;
#[doc(hidden)]
pub mod absent;
mod among;
mod answers;
mod board;
mod call;
mod clocks;
mod collective;
mod communicators;
mod completion;
mod description;
mod duplicates;
mod epochs;
mod export;
mod files;
mod guard;
mod holds;
mod lifecycle;
mod locks;
mod mail;
mod matching;
pub mod meaning;
mod meeting;
mod memory;
mod messages;
pub mod mpiabi;
pub mod mpich;
mod neighbours;
pub mod openmpi;
mod parted;
mod passing;
mod probing;
mod real;
mod room;
mod session;
mod shadows;
mod spawned;
pub mod spawning;
mod started;
mod started_by;
pub mod table;
mod transport;
mod usual;
mod waiting;
mod windows;

pub use export::{ARGUMENTS, Arguments, dispatch, dispatch_real};
