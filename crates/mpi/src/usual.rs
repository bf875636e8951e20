//! What our own work usually takes, and what of it is beyond that.
//!
//! Members of a communicator wait for each other in the small collective behind each of the program's. One that loses its processor
//! there holds up all others, and no less would it have held them up in the program's next operation: such time is the program's. What the tool's
//! own work takes is known from most of the times that it was done, so what is many times that is taken for lost processors.

/// So many times what is usual is taken for our own still.
const MANY: u64 = 16;
/// Ticks that are always taken for our own: some 100 µs.
const LEAST: u64 = 1 << 18;

/// What something usually takes after it has taken so many ticks once more; 0 while that is not known.
pub(crate) fn follow(usual: u64, took: u64) -> u64 {
    if usual == 0 { took } else { usual - usual / 8 + took.min(4 * usual) / 8 }
}

/// The ticks beyond what is our own, where so many are usual (0 where that is not known).
pub(crate) fn beyond(usual: u64, took: u64) -> u64 {
    took.saturating_sub((MANY * usual).max(LEAST))
}

#[cfg(test)]
mod tests {
    use super::{LEAST, beyond, follow};

    /// A molecular-dynamics code beside other programs: 16 of 49 ms of its MPI_Allreduce were left, of 210 calls.
    #[test]
    fn what_a_lost_processor_takes_is_not_our_own() {
        let calls = [5_000, 6_000, 4_000, 80_000_000, 5_000, 9_000, 7_000_000];
        let (mut usual, mut lost) = (0, 0);
        for took in calls {
            lost += beyond(usual, took);
            usual = follow(usual, took);
        }
        assert_eq!(lost, 80_000_000 + 7_000_000 - 2 * LEAST);
        assert!(usual < 16_000, "{usual}");
    }

    #[test]
    fn what_is_always_long_is_our_own() {
        let (mut usual, mut lost) = (0, 0);
        for _ in 0..100 {
            lost += beyond(usual, 2_000_000);
            usual = follow(usual, 2_000_000);
        }
        assert_eq!(lost, 2_000_000 - LEAST, "of the first one, of which nothing is known");
    }
}
