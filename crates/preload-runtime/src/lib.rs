//! Link target of `libtare.so`: no logic of its own.
