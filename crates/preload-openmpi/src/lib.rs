//! `libtare_openmpi.so`: the runtime and the MPI interposer for the ABI of one family of MPI libraries.
//!
//! Nothing stands here but the choice of the ABI; the crates `tare-runtime` and `tare-mpi` do the work.

extern crate tare_runtime as _;
extern crate tare_threads as _;

tare_mpi::export!(tare_mpi::openmpi::ABI);
