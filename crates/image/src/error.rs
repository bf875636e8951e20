//! Why a file cannot be worked on.

use crate::foreign::Foreign;

/// Why a file cannot be worked on. The sentence for people names the remedy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// Not an ELF file.
    #[error("not an ELF file")]
    NotElf {
        /// What it is instead.
        what: Foreign,
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

impl ImageError {
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged { what: what.into() }
    }
}
