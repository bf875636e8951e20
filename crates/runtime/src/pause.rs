//! Stretches in which the program asks for nothing to be recorded.
//!
//! The thread that asks opens a region of its own for the stretch, which gets its time. Probes of instrumented images
//! lead to a routine that does nothing; hooks and wrappers look here. Regions that end meanwhile are closed when their thread
//! next records something, by their stack pointers.

use crate::images;
use crate::names::{self, Name};
use crate::user;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tare_format::description::RegionKind;

static STATE: AtomicU32 = AtomicU32::new(NEVER);
const NEVER: u32 = 0;
const PAUSED: u32 = 1;
const OVER: u32 = 2;

const NAME: Name<'static> = Name { kind: RegionKind::Pause, name: b"[not recorded]", file: b"", line: 0, family: 0 };

/// Whether nothing is recorded now.
#[inline]
pub(crate) fn is_paused() -> bool {
    STATE.load(Relaxed) == PAUSED
}

/// Whether nothing was recorded for some time: exits may then miss their entries.
pub(crate) fn has_been() -> bool {
    STATE.load(Relaxed) != NEVER
}

/// Begins or ends a stretch; what is so already stays so.
pub(crate) fn set(is_to_pause: bool, sp: u64) {
    let wanted = if is_to_pause { PAUSED } else { OVER };
    if is_to_pause == is_paused() {
        return;
    }
    let Some(region) = names::of_name(&NAME) else { return };
    if is_to_pause {
        user::begin(region, 0, sp);
        STATE.store(wanted, Relaxed);
        images::silence(true);
    } else {
        // Before, so that an image which another thread opens now is not silenced for good.
        STATE.store(wanted, Relaxed);
        images::silence(false);
        user::end(region, sp);
    }
}
