//! Little-endian reading that answers `None` behind the end.
//!
//! Every number that comes from a file passes through here, so that no position is ever trusted.

/// Bytes from `at`, `length` of them.
pub(crate) fn slice(data: &[u8], at: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(at).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    data.get(start..end)
}

fn array<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..at.checked_add(N)?)?.try_into().ok()
}

pub(crate) fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    array(data, at).map(u16::from_le_bytes)
}

pub(crate) fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    array(data, at).map(u32::from_le_bytes)
}

pub(crate) fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    array(data, at).map(u64::from_le_bytes)
}

/// The zero-terminated text at `at`; `None` where it does not end or is not UTF-8.
pub(crate) fn text_at(data: &[u8], at: u64) -> Option<&str> {
    let rest = data.get(usize::try_from(at).ok()?..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    std::str::from_utf8(rest.get(..end)?).ok()
}

/// A position in bytes that only moves forward.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'data> {
    data: &'data [u8],
    pub(crate) position: usize,
}

impl<'data> Cursor<'data> {
    pub(crate) fn new(data: &'data [u8]) -> Self {
        Self { data, position: 0 }
    }

    pub(crate) fn at(data: &'data [u8], position: usize) -> Self {
        Self { data, position }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.position >= self.data.len()
    }

    pub(crate) fn rest(&self) -> &'data [u8] {
        self.data.get(self.position..).unwrap_or_default()
    }

    pub(crate) fn take(&mut self, length: u64) -> Option<&'data [u8]> {
        let found = slice(self.data, self.position as u64, length)?;
        self.position += found.len();
        Some(found)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Option<u8> {
        let value = *self.data.get(self.position)?;
        self.position += 1;
        Some(value)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        let value = u16_at(self.data, self.position)?;
        self.position += 2;
        Some(value)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        let value = u32_at(self.data, self.position)?;
        self.position += 4;
        Some(value)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        let value = u64_at(self.data, self.position)?;
        self.position += 8;
        Some(value)
    }

    pub(crate) fn text(&mut self) -> Option<&'data str> {
        let found = text_at(self.data, self.position as u64)?;
        self.position += found.len() + 1;
        Some(found)
    }

    /// Unsigned LEB128; bits beyond 64 are lost. Most are one byte.
    #[inline]
    pub(crate) fn uleb(&mut self) -> Option<u64> {
        match self.data.get(self.position) {
            Some(&byte @ ..0x80) => {
                self.position += 1;
                Some(u64::from(byte))
            }
            _ => self.long_uleb(),
        }
    }

    fn long_uleb(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        let mut shift = 0_u32;
        loop {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift = shift.saturating_add(7);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    }

    /// Signed LEB128; bits beyond 64 are lost.
    pub(crate) fn sleb(&mut self) -> Option<i64> {
        let mut value = 0_u64;
        let mut shift = 0_u32;
        loop {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift = shift.saturating_add(7);
            if byte & 0x80 == 0 {
                if byte & 0x40 != 0 {
                    value |= u64::MAX.checked_shl(shift).unwrap_or(0);
                }
                return Some(value.cast_signed());
            }
        }
    }
}
