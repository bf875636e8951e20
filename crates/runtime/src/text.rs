//! Short texts (paths, names) put together without an allocator.

use core::ffi::CStr;

/// A path or name of at most `N - 1` bytes; what is too long makes it invalid, not shorter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
    complete: bool,
}

/// A path.
pub(crate) type Path = Text<1024>;

impl<const N: usize> Text<N> {
    pub(crate) const EMPTY: Self = Self { bytes: [0; N], length: 0, complete: true };

    /// The same text followed by `part`.
    #[must_use]
    pub(crate) fn then(mut self, part: &[u8]) -> Self {
        let end = self.length + part.len();
        match self.bytes.get_mut(self.length..end) {
            Some(room) if end < N && !part.contains(&0) => {
                room.copy_from_slice(part);
                self.length = end;
            }
            _ => self.complete = false,
        }
        self
    }

    /// The same text followed by a decimal number.
    #[must_use]
    pub(crate) fn number(self, mut value: u64) -> Self {
        let mut digits = [0; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                return self.then(&digits[first..]);
            }
        }
    }

    /// The same text followed by bytes in hexadecimal.
    #[must_use]
    pub(crate) fn hexadecimal(self, bytes: &[u8]) -> Self {
        let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 15)];
        bytes.iter().fold(self, |text, &byte| text.then(&[digit(byte >> 4), digit(byte)]))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }

    /// As the kernel wants it; `None` where something did not fit.
    pub(crate) fn as_c_str(&self) -> Option<&CStr> {
        let bytes = self.bytes.get(..=self.length).filter(|_| self.complete)?;
        CStr::from_bytes_with_nul(bytes).ok()
    }
}

/// The bytes up to the first zero.
pub(crate) fn until_zero(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    bytes.get(..end).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Text, until_zero};

    #[test]
    fn parts_stand_one_behind_the_other() {
        let text = Text::<32>::EMPTY.then(b"/run/").number(0).then(b"-").number(4711).hexadecimal(&[0xa, 0xff]);
        assert_eq!(text.as_c_str(), Some(c"/run/0-47110aff"));
    }

    #[test]
    fn what_does_not_fit_makes_the_text_invalid() {
        assert!(Text::<8>::EMPTY.then(b"1234567").as_c_str().is_some());
        assert!(Text::<8>::EMPTY.then(b"12345678").as_c_str().is_none());
        assert!(Text::<8>::EMPTY.then(b"1\x002").as_c_str().is_none());
    }

    #[test]
    fn a_padded_name_ends_at_its_first_zero() {
        assert_eq!(until_zero(b"node7\0\0"), b"node7");
        assert_eq!(until_zero(b"node7"), b"node7");
    }
}
