//! The probe routines, as images reach them.

use tare_format::probe::Slots;

use crate::images;
use crate::process::IdBase;
use crate::{metered, metrics, state};

unsafe extern "C" {
    fn tare_probe_enter();
    fn tare_probe_enter_leaf();
    fn tare_probe_exit();
    fn tare_probe_enter_region();
    fn tare_probe_exit_region();
    fn tare_probe_nothing();
    static tare_calibration_slots: Slots;
    fn tare_calibration_loop(pairs: u32);
    fn tare_calibration_counting(calls: u32);
    fn tare_calibration_plain(calls: u32);
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
    /// What stubs take for the thread's state, as its distance from the thread pointer.
    pub state: i64,
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
            state: state::distance_of_none(),
        };
    }
    Routines {
        enter: address(tare_probe_enter),
        enter_leaf: address(tare_probe_enter_leaf),
        exit: address(tare_probe_exit),
        enter_region: address(tare_probe_enter_region),
        exit_region: address(tare_probe_exit_region),
        state: state::distance(),
    }
}

/// Routines that do nothing.
pub(crate) fn no_routines() -> Routines {
    let nothing = tare_probe_nothing as unsafe extern "C" fn() as usize as u64;
    Routines { enter: nothing, enter_leaf: nothing, exit: nothing, enter_region: nothing, exit_region: nothing, state: state::distance_of_none() }
}

/// Lets the hot loops run the routines of this process.
pub(crate) fn choose_for_calibration() {
    let slots = (&raw const tare_calibration_slots).expose_provenance();
    // SAFETY: the slots of this library's own stubs.
    unsafe { images::fill_slots(slots, IdBase(0)) };
}

/// Runs serial work so many times, with a pair of probes around each or without.
pub(crate) fn run_work(times: u32, with_probes: bool) {
    // SAFETY: as below.
    unsafe { tare_calibration_work(times, with_probes.into()) };
}

/// Runs calls of a leaf in a hot loop, whose entry must find a node that is off and counted.
pub(crate) fn run_counting(calls: u32) {
    // SAFETY: as below.
    unsafe { tare_calibration_counting(calls) };
}

/// Runs calls without probes in a hot loop.
pub(crate) fn run_plain(calls: u32) {
    // SAFETY: as below.
    unsafe { tare_calibration_plain(calls) };
}

/// Runs calls with a pair of an entry and an exit in a hot loop.
pub(crate) fn run_pairs(pairs: u32) {
    // SAFETY: the loop keeps the C calling convention; the routines handle a thread in any state.
    unsafe { tare_calibration_loop(pairs) };
}
