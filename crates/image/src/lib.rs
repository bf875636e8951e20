//! ELF and DWARF: bytes in, values out.
//!
//! [`Image::parse`] reads what an x86-64 ELF file says of itself: segments, symbols, relocations, PLT entries,
//! unwind and exception tables, needed libraries, notes. [`lines`] reads DWARF line tables on request.
//! What is absent: instructions are not decoded here, files are not opened, and no input makes it panic.

use std::ops::Range;

/// Why a file cannot be worked on. The sentence for people names the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// Not an ELF file; `script` holds the interpreter line if it is a script.
    #[error("not an ELF file")]
    NotElf {
        /// What stands behind `#!`, if anything.
        script: Option<String>,
    },
    /// An ELF file for another machine or class.
    #[error("an ELF file for {machine}, not for x86-64")]
    OtherMachine {
        /// Name of the machine, such as `AArch64` or `32-bit x86`.
        machine: String,
    },
    /// Neither an executable nor a shared library.
    #[error("an ELF {what}, neither an executable nor a shared library")]
    NotLoadable {
        /// `object file`, `core file`.
        what: String,
    },
    /// Ends early or contradicts itself.
    #[error("truncated or damaged: {what}")]
    Damaged {
        /// The part that cannot be read.
        what: String,
    },
}

/// A parsed image. All addresses are link addresses as plain `u64` inside ranges, for arithmetic.
pub struct Image<'data> {
    data: &'data [u8],
}

/// A symbol of `.symtab` or `.dynsym` (or of `.gnu_debugdata`).
pub struct Symbol<'data> {
    /// Raw name, without version.
    pub name: &'data str,
    /// Link address.
    pub address: u64,
    /// Bytes; 0 where unknown.
    pub size: u64,
    /// STT_FUNC; ifunc resolvers are STT_GNU_IFUNC.
    pub is_function: bool,
    /// STT_GNU_IFUNC.
    pub is_ifunc: bool,
    /// Defined here (undefined symbols are reached through the PLT).
    pub is_defined: bool,
}

/// One frame description entry.
pub struct Fde<'data> {
    /// Code covered.
    pub range: Range<u64>,
    /// CFA rule in the first row is rsp + 8: a function start rather than a cold part.
    pub starts_at_entry: bool,
    /// The return address is undefined somewhere (`_start`), or it is a signal frame.
    pub is_special: bool,
    /// Call-frame instructions of the CIE, raw.
    pub cie_instructions: &'data [u8],
    /// Call-frame instructions of the entry, raw.
    pub instructions: &'data [u8],
    /// Factors of the CIE.
    pub code_alignment: u64,
    /// See `code_alignment`.
    pub data_alignment: i64,
    /// Register of the return address.
    pub return_register: u16,
    /// Link address of the personality slot (indirect) or routine, with its encoding byte.
    pub personality: Option<(u8, u64)>,
    /// Link address of the language-specific data.
    pub lsda: Option<u64>,
}
