//! The MPI interposer: table of functions, ABIs, transport of delays
