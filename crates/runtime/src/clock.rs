//! Clocks: ticks, the nanoseconds they are tied to, and the core clock beside them.

use crate::live::LiveHeader;
use crate::process::now;
use crate::sys;
use core::sync::atomic::{AtomicU64, Ordering};
use tare_format::graph::CLOCK_ADDITIONS;

/// Ticks between two samples of the core clock: 10 ms or more on processors of up to 4 GHz.
pub(crate) const BETWEEN_SAMPLES: u64 = 40_000_000;

/// When the next sample is due.
static NEXT_SAMPLE: AtomicU64 = AtomicU64::new(0);

/// The time-stamp counter with everything before it done, and nothing after it begun.
#[inline]
pub(crate) fn fenced() -> u64 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { core::arch::x86_64::_mm_lfence() };
    let ticks = now().0;
    // SAFETY: as above.
    unsafe { core::arch::x86_64::_mm_lfence() };
    ticks
}

/// Whether [`refresh`] has something to do at the moment `ticks`.
#[inline]
pub(crate) fn is_due(ticks: u64) -> bool {
    ticks >= NEXT_SAMPLE.load(Ordering::Relaxed)
}

/// Ties ticks to nanoseconds anew and samples the core clock, where the last time is long enough ago at the moment `ticks`.
#[inline]
pub(crate) fn refresh(header: &LiveHeader, ticks: u64) {
    let due = NEXT_SAMPLE.load(Ordering::Relaxed);
    if ticks < due {
        return;
    }
    let next = ticks + BETWEEN_SAMPLES;
    if NEXT_SAMPLE.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        anchor(header);
        sample_core_clock(header);
    }
}

/// Ties ticks to nanoseconds.
pub(crate) fn anchor(header: &LiveHeader) {
    let ns = sys::clock_ns(libc::CLOCK_REALTIME);
    header.last_ticks.store(now().0, Ordering::Relaxed);
    header.last_ns.store(ns, Ordering::Relaxed);
}

/// Ticks for which each sample stands. A core is slower by an order of magnitude for some milliseconds now and then: it is the mean rate that says
/// how much was done, to which such a time adds little, and not the mean of what an addition took.
const WEIGHT: u64 = 1 << 30;
/// Stretches of a sample, and their additions.
const STRETCHES: usize = 5;
const ADDITIONS: u64 = 4000;

/// Takes a sample of the core clock: the middle one of several short stretches, because interrupts, of this machine or of the one that it is a
/// guest of, hit one or two.
pub(crate) fn sample_core_clock(header: &LiveHeader) {
    let mut stretches = [(); STRETCHES].map(|()| dependent_additions());
    stretches.sort_unstable();
    let ticks = (stretches[STRETCHES / 2] * CLOCK_ADDITIONS / ADDITIONS).max(1);
    header.clock_additions.fetch_add(WEIGHT / ticks, Ordering::Relaxed);
    header.clock_ticks.fetch_add(WEIGHT, Ordering::Relaxed);
    header.clock_samples.fetch_add(1, Ordering::Release);
}

/// Ticks that [`ADDITIONS`] additions take when each needs the one before: a core cycle each.
fn dependent_additions() -> u64 {
    let begin = fenced();
    // SAFETY: arithmetic on registers alone.
    unsafe {
        core::arch::asm!(
            "2:", "add {sum}, {count}", "add {sum}, {count}", "add {sum}, {count}", "add {sum}, {count}",
            "add {sum}, {count}", "add {sum}, {count}", "add {sum}, {count}", "add {sum}, {count}",
            "add {sum}, {count}", "add {sum}, {count}", "dec {count}", "jnz 2b",
            sum = inout(reg) 0_u64 => _, count = inout(reg) ADDITIONS / 10 => _, options(nomem, nostack));
    }
    fenced() - begin
}

#[cfg(test)]
mod tests {
    #[test]
    fn additions_that_need_each_other_take_a_cycle_each() {
        let ticks = (0..20).map(|_| super::dependent_additions()).min().expect("samples");
        assert!(ticks > super::ADDITIONS / 10, "{} additions in {ticks} ticks", super::ADDITIONS);
    }
}
