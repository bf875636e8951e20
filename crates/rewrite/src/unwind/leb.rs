//! Numbers of variable length, as DWARF has them.

/// Reads an unsigned number and moves on; `None` behind the end.
pub(crate) fn read_unsigned(bytes: &[u8], position: &mut usize) -> Option<u64> {
    let mut value = 0_u64;
    let mut shift = 0_u32;
    loop {
        let byte = *bytes.get(*position)?;
        *position += 1;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        shift = shift.saturating_add(7);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
}

/// Reads a signed number and moves on; `None` behind the end.
pub(crate) fn read_signed(bytes: &[u8], position: &mut usize) -> Option<i64> {
    let start = *position;
    let value = read_unsigned(bytes, position)?;
    let bits = 7 * u32::try_from(*position - start).ok()?;
    let is_negative = bytes.get(*position - 1)? & 0x40 != 0;
    let extension = if is_negative { u64::MAX.checked_shl(bits).unwrap_or(0) } else { 0 };
    Some((value | extension).cast_signed())
}

/// Appends an unsigned number.
pub(crate) fn write_unsigned(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Appends a signed number.
pub(crate) fn write_signed(bytes: &mut Vec<u8>, mut value: i64) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        let is_last = (value == 0 && byte & 0x40 == 0) || (value == -1 && byte & 0x40 != 0);
        bytes.push(if is_last { byte } else { byte | 0x80 });
        if is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_as_written() {
        for value in [0, 1, 63, 64, 127, 128, -1, -64, -65, -128, 1 << 40, i64::MIN, i64::MAX] {
            let mut bytes = Vec::new();
            write_signed(&mut bytes, value);
            write_unsigned(&mut bytes, value.cast_unsigned());
            let mut position = 0;
            assert_eq!(read_signed(&bytes, &mut position), Some(value));
            assert_eq!(read_unsigned(&bytes, &mut position), Some(value.cast_unsigned()));
            assert_eq!(read_unsigned(&bytes, &mut position), None);
        }
    }
}
