//! Real programs under the interposer, on both MPI libraries: the same output as without, and exact counts.

mod support;

use support::{Mpi, Program};

macro_rules! on_both {
    ($($name:ident $file:literal;)*) => {
        mod on_openmpi { $(#[test] fn $name() { super::Program::compile(super::Mpi::OpenMpi, $file).check(&[]); })* }
        mod on_mpich { $(#[test] fn $name() { super::Program::compile(super::Mpi::Mpich, $file).check(&[]); })* }
    };
}

on_both! {
    messages_of_every_kind "p2p.c";
    collectives_and_communicators "collectives.c";
    files "io.c";
    fortran_2008 "f08.f90";
    fortran_77 "mpifh.f90";
    edges_of_the_interface "edges.c";
    threads "threads.c";
}
