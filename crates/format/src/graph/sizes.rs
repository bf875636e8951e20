//! Sizes of messages: in classes, each eight times as wide as the one before.

/// Classes of sizes.
pub const SIZE_CLASSES: usize = 8;
/// Bytes of the largest message of the first class.
const FIRST: u64 = 64;

/// The class of a message of so many bytes.
#[must_use]
#[inline]
pub const fn size_class(bytes: u64) -> usize {
    let mut class = 0;
    while class + 1 < SIZE_CLASSES && bytes > FIRST << (3 * class) {
        class += 1;
    }
    class
}

/// The most bytes that a message of a class has; `None` for the last one, which has no end.
#[must_use]
pub const fn most_of_class(class: usize) -> Option<u64> {
    if class + 1 < SIZE_CLASSES { Some(FIRST << (3 * class)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_in_the_class_that_ends_next_above_it() {
        let ends: [Option<u64>; SIZE_CLASSES] = core::array::from_fn(most_of_class);
        let kib = |kib: u64| Some(kib << 10);
        assert_eq!(ends, [Some(64), Some(512), kib(4), kib(32), kib(256), kib(2048), kib(16_384), None]);
        for (class, end) in ends.iter().enumerate().filter_map(|(class, end)| Some((class, (*end)?))) {
            assert_eq!((size_class(end), size_class(end + 1)), (class, class + 1), "{end}");
        }
        assert_eq!((size_class(0), size_class(u64::MAX)), (0, SIZE_CLASSES - 1));
    }
}
