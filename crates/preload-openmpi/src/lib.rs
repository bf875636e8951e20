//! Link target of `libtare_openmpi.so`: no logic of its own.
