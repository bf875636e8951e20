//! Distances as instructions and tables hold them.

/// The 32-bit displacement from the end of an instruction to its target.
pub(crate) fn displacement(target: u64, end: u64) -> Option<[u8; 4]> {
    let distance = target.wrapping_sub(end).cast_signed();
    i32::try_from(distance).ok().map(i32::to_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::displacement;

    #[test]
    fn what_is_too_far_is_said() {
        assert_eq!(displacement(0, 0x8000_0000), Some([0, 0, 0, 0x80]));
        assert_eq!(displacement(0, 0x8000_0001), None);
    }
}
