//! Unwind entries and exception tables for moved code.
//!
//! Holds for the result: every moved part whose original has an unwind entry has one of its own, in CIEs of our
//! own making; entries of the original are repeated, so that one table serves all code of the image.

pub(crate) mod frames;
pub(crate) mod leb;
pub(crate) mod lsda;
pub(crate) mod table;
