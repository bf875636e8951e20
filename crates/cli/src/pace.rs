//! How often a run that goes on is read: so that nobody who looks at it costs it time that could be measured.
//!
//! Where every processor belongs to the program, a reader takes its time from one rank, and the others wait for that one. A reading is
//! therefore followed by a pause in which the reader takes at most [`MOST`] of one processor, however large the run is.

use std::time::Duration;

/// The part of one processor that reading takes at most.
const MOST: f64 = 0.005;

/// The pause after a reading that took this much of a processor; never below `least`.
pub(crate) fn pause(taken: Duration, least: Duration) -> Duration {
    least.max(taken.div_f64(MOST))
}

/// The processor time that this process has taken so far.
pub(crate) fn taken() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live value that the call fills.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_takes_no_more_than_its_part_of_a_processor() {
        let second = Duration::from_secs(1);
        assert_eq!(pause(Duration::from_millis(2), second), second);
        assert_eq!(pause(Duration::from_millis(50), second), 10 * second);
    }

    #[test]
    fn what_is_computed_is_counted() {
        let before = taken();
        while taken() == before {
            std::hint::black_box(before);
        }
    }
}
