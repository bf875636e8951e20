//! Probes of a run with metrics: as those of any other, written in Rust behind a door that saves what compiled code may
//! touch. What they cannot do alone they leave to the slow path.
//!
//! What always holds: a thread that is cancelled at any instruction here can be unwound. Nothing in these functions has to be dropped and
//! none of them ends unwinding, so that they have no table of landing pads, in which the instruction would be missing; whatever is
//! more than that is the slow path's, where signals are held back.

use crate::batch;
use crate::clock;
use crate::graph_file;
use crate::local::{Local, stack_pointer};
use crate::process::now;
use crate::request;
use crate::state::ThreadState;
use crate::switch;
use core::sync::atomic::Ordering::Relaxed;

/// What the door does next.
const DONE: u32 = 0;
const SLOW: u32 = 1;

core::arch::global_asm!(
    include_str!("probe/saving.s"),
    include_str!("probe/metered.s"),
    ID = const tare_format::probe::ID_AFTER_RETURN,
    LEAF_ID = const tare_format::probe::LEAF_ID_AFTER_RETURN,
    REGION_TOKEN = const tare_format::probe::REGION_TOKEN,
    ENTER = sym enter,
    EXIT = sym exit,
    options(att_syntax)
);

unsafe extern "C" {
    pub(crate) fn tare_metered_enter();
    pub(crate) fn tare_metered_enter_leaf();
    pub(crate) fn tare_metered_exit();
    pub(crate) fn tare_metered_enter_region();
    pub(crate) fn tare_metered_exit_region();
}

/// Called by the door at an entry. No vector register beyond the lower halves may be touched here: nothing is copied.
extern "C-unwind" fn enter(region: u32, sp: u64) -> u32 {
    let Some(local) = Local::of(ThreadState::current()) else { return SLOW };
    let frame = local.state.frame();
    let has_room = core::ptr::from_ref(frame).cast_mut() < local.state.limit.load(Relaxed);
    if frame.sp.load(Relaxed) <= sp || !has_room || switch::is_off(region) || is_time_to_look_around() {
        return SLOW;
    }
    match local.find(local.current(), region) {
        Some(node) if !batch::is_over(node) => {
            local.open(node, sp);
            DONE
        }
        _ => SLOW,
    }
}

/// Whether a request waits, or the clocks are to be tied anew.
fn is_time_to_look_around() -> bool {
    graph_file::header().is_some_and(|header| request::waits(header) || clock::is_due(now().0))
}

/// As [`enter`], at an exit.
extern "C-unwind" fn exit(_region: u32, sp: u64) -> u32 {
    let Some(local) = Local::of(ThreadState::current()) else { return SLOW };
    if stack_pointer(local.state.frame()) != sp {
        return SLOW;
    }
    let ticks = now().0;
    local.attribute(local.owner(), ticks);
    local.close(ticks);
    DONE
}
