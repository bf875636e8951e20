//! Which functions are worth measuring, and why
