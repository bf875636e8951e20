//! The probe routines, as images reach them.

unsafe extern "C" {
    fn tare_probe_enter();
    fn tare_probe_enter_leaf();
    fn tare_probe_exit();
    fn tare_probe_enter_region();
    fn tare_probe_exit_region();
    fn tare_calibration_loop(pairs: u32);
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
    Routines {
        enter: address(tare_probe_enter),
        enter_leaf: address(tare_probe_enter_leaf),
        exit: address(tare_probe_exit),
        enter_region: address(tare_probe_enter_region),
        exit_region: address(tare_probe_exit_region),
    }
}

/// Runs pairs of an entry and an exit in a hot loop.
pub(crate) fn run_pairs(pairs: u32) {
    // SAFETY: the loop keeps the C calling convention; the routines handle a thread in any state.
    unsafe { tare_calibration_loop(pairs) };
}
