//! Symbols that a stripped image keeps: a small ELF file in xz, in the section `.gnu_debugdata`.

use std::io::Read as _;

use lzma_rust2::XzReader;

use super::DebugFile;

/// Why embedded symbols cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddedError {
    /// Not xz, or damaged.
    #[error("{reason}")]
    Damaged {
        /// What the decompressor says.
        reason: String,
    },
    /// Larger than any table of symbols.
    #[error("more than {limit} bytes")]
    TooLarge {
        /// The greatest size that is read.
        limit: u64,
    },
}

/// Greatest size of the file that comes out; symbols of the largest programs take a tenth of it.
const GREATEST_SIZE: u64 = 1 << 28;
/// Memory for the decompressor: twice what the strongest preset of xz needs.
const MEMORY_KIB: u32 = 128 << 10;

/// The file that is embedded in an image, decompressed; `None` where there is none.
///
/// # Errors
/// If it cannot be decompressed within limits that no honest file reaches.
pub fn embedded_symbols(file: &DebugFile<'_>) -> Option<Result<Vec<u8>, EmbeddedError>> {
    let packed = file.section(".gnu_debugdata")?;
    Some(unpacked(packed))
}

fn unpacked(packed: &[u8]) -> Result<Vec<u8>, EmbeddedError> {
    let mut bytes = Vec::new();
    let mut reader = XzReader::new_mem_limit(packed, false, MEMORY_KIB).take(GREATEST_SIZE + 1);
    reader.read_to_end(&mut bytes).map_err(|error| EmbeddedError::Damaged { reason: error.to_string() })?;
    if bytes.len() as u64 > GREATEST_SIZE {
        return Err(EmbeddedError::TooLarge { limit: GREATEST_SIZE });
    }
    Ok(bytes)
}
