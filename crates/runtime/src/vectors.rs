//! Which vector registers the slow path saves: those of this processor.

use core::arch::x86_64::{__cpuid, _xgetbv};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

unsafe extern "C" {
    static tare_xsave_mask: AtomicU64;
}

/// x87, SSE, AVX, AVX-512: what compiled code may touch. Not the matrix tiles, which would need 8 KiB more.
const SAVED: u64 = 0b1110_0111;
/// `CPUID` leaf 1, ecx: the system has switched `xsave` on.
const OSXSAVE: u32 = 1 << 27;

/// Sets the mask for `xsave`. Until then, and without `xsave`, the slow path uses `fxsave`.
pub(crate) fn choose_mask() {
    if __cpuid(1).ecx & OSXSAVE == 0 {
        return;
    }
    // SAFETY: the system supports `xgetbv`, as just checked.
    let enabled = unsafe { enabled() };
    // SAFETY: a word of this library that only changes here.
    unsafe { &tare_xsave_mask }.store(enabled & SAVED, Relaxed);
}

/// The state components that the system has switched on.
///
/// # Safety
/// The processor must support `xsave`.
#[target_feature(enable = "xsave")]
unsafe fn enabled() -> u64 {
    // SAFETY: register 0 always exists.
    unsafe { _xgetbv(0) }
}
