//! The files in a tar, as Cube writes it: plain headers, short names. Checksums are not held: Cube 4.8 wrote wrong ones.

use std::collections::HashMap;
use std::io::Read;

use crate::error::ForeignError;

const BLOCK: usize = 512;
/// What an archive may grow to that is packed as a whole.
const MOST: u64 = 8 << 30;

/// Whether bytes begin as gzip does.
pub(crate) fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// Unpacks gzip.
pub(crate) fn unpacked(part: &str, bytes: &[u8]) -> Result<Vec<u8>, ForeignError> {
    let mut content = Vec::new();
    let read = flate2::read::MultiGzDecoder::new(bytes).take(MOST).read_to_end(&mut content);
    read.map_err(|error| ForeignError::part(part, error.to_string()))?;
    Ok(content)
}

/// The regular files of a tar by their names, without the folders they lie in.
pub(crate) fn files(bytes: &[u8]) -> HashMap<String, &[u8]> {
    let mut files = HashMap::new();
    let mut rest = bytes;
    while let Some((head, after)) = rest.split_at_checked(BLOCK) {
        if head[0] == 0 {
            break;
        }
        let Some(size) = size(&head[124..136]) else { break };
        let Some(content) = after.get(..size) else { break };
        if matches!(head[156], 0 | b'0') {
            let name = head[..100].split(|&byte| byte == 0).next().unwrap_or_default();
            let name = String::from_utf8_lossy(name);
            files.insert(name.rsplit('/').next().unwrap_or_default().to_string(), content);
        }
        rest = after.get(size.next_multiple_of(BLOCK)..).unwrap_or_default();
    }
    files
}

/// A size in octal digits, or above 8 GiB in binary.
fn size(field: &[u8]) -> Option<usize> {
    if field[0] & 0x80 != 0 {
        return field[4..].iter().try_fold(0_usize, |size, &byte| size.checked_mul(256)?.checked_add(byte.into()));
    }
    let digits = field.iter().skip_while(|byte| **byte == b' ').take_while(|byte| byte.is_ascii_digit());
    digits.map(|byte| byte - b'0').try_fold(0_usize, |size, digit| (digit < 8).then(|| size.checked_mul(8)?.checked_add(digit.into()))?)
}
