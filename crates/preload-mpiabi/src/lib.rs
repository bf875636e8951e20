//! `libtare_mpiabi.so`: the runtime and the MPI interposer for the ABI of the standard, MPI 5 and later.
//!
//! Nothing stands here but the choice of the ABI; the crates `tare-runtime` and `tare-mpi` do the work.

extern crate tare_runtime as _;
extern crate tare_threads as _;

tare_mpi::export!(tare_mpi::mpiabi::ABI);
