//! The probe routines, as images reach them.

use crate::{metered, metrics};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

unsafe extern "C" {
    fn tare_probe_enter();
    fn tare_probe_enter_leaf();
    fn tare_probe_exit();
    fn tare_probe_enter_region();
    fn tare_probe_exit_region();
    fn tare_probe_nothing();
    static tare_calibration_enter: AtomicU64;
    static tare_calibration_exit: AtomicU64;
    fn tare_calibration_loop(pairs: u32);
    fn tare_calibration_counting(calls: u32);
    fn tare_calibration_work(times: u32, with_probes: u32);
}

/// Load addresses of the routines that an image's slots lead to. They keep no calling convention of a high-level
/// language; see `tare_format::probe`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Routines {
    /// Entry.
    pub enter: u64,
    /// Entry of a leaf that may run without probes.
    pub enter_leaf: u64,
    /// Exit.
    pub exit: u64,
    /// Begin of a region inside a body.
    pub enter_region: u64,
    /// End of a region inside a body.
    pub exit_region: u64,
}

/// The routines of this process.
#[must_use]
pub fn routines() -> Routines {
    let address = |routine: unsafe extern "C" fn()| routine as usize as u64;
    if metrics::are_wanted() {
        return Routines {
            enter: address(metered::tare_metered_enter),
            enter_leaf: address(metered::tare_metered_enter_leaf),
            exit: address(metered::tare_metered_exit),
            enter_region: address(metered::tare_metered_enter_region),
            exit_region: address(metered::tare_metered_exit_region),
        };
    }
    Routines {
        enter: address(tare_probe_enter),
        enter_leaf: address(tare_probe_enter_leaf),
        exit: address(tare_probe_exit),
        enter_region: address(tare_probe_enter_region),
        exit_region: address(tare_probe_exit_region),
    }
}

/// Routines that do nothing.
pub(crate) fn no_routines() -> Routines {
    let nothing = tare_probe_nothing as unsafe extern "C" fn() as usize as u64;
    Routines { enter: nothing, enter_leaf: nothing, exit: nothing, enter_region: nothing, exit_region: nothing }
}

/// Lets the hot loop run the routines of this process.
pub(crate) fn choose_for_calibration() {
    let routines = routines();
    // SAFETY: words of this library that only change here, before any probe runs.
    unsafe { &tare_calibration_enter }.store(routines.enter, Relaxed);
    // SAFETY: as above.
    unsafe { &tare_calibration_exit }.store(routines.exit, Relaxed);
}

/// Runs serial work so many times, with a pair of probes around each or without.
pub(crate) fn run_work(times: u32, with_probes: bool) {
    // SAFETY: as below.
    unsafe { tare_calibration_work(times, with_probes.into()) };
}

/// Runs entries of a leaf in a hot loop, which must find a node that is off and counted.
pub(crate) fn run_counting(calls: u32) {
    // SAFETY: as below.
    unsafe { tare_calibration_counting(calls) };
}

/// Runs pairs of an entry and an exit in a hot loop.
pub(crate) fn run_pairs(pairs: u32) {
    // SAFETY: the loop keeps the C calling convention; the routines handle a thread in any state.
    unsafe { tare_calibration_loop(pairs) };
}
