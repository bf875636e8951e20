//! Link target of `libtare_mpich.so`: no logic of its own.
