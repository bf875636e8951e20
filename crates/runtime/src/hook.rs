//! The hooks that compilers call at entry and exit of functions (`-finstrument-functions`).
//!
//! A hook tells the function's address, from which names are found after the run, and the address that the function returns
//! to. Its stack pointer is that of the body, where inlined functions have the same as the one around; and the hook at the
//! exit may be a tail call with another. So exits are told by the region.
//!
//! What always holds: as in wrappers, frames are claimed before they are filled, and what creates or closes more than
//! the innermost one runs with signals held back.

use crate::duty;
use crate::live::{LiveFrame, add, add_signed};
use crate::local::{Door, Local, stack_pointer};
use crate::names;
use crate::pause;
use crate::process::{self, now};
use crate::request;
use crate::slow;
use crate::state::ThreadState;
use crate::switch;
use crate::sys::SignalsBlocked;
use crate::{clock, graph_file, thread};
use core::sync::atomic::Ordering::Relaxed;
use tare_format::graph::{NODE_HOOK, NODE_USER};

/// Frames in a row of the same function with the same stack pointer beyond which they are not an inlined recursion, but
/// left by `longjmp` each.
const MOST_INLINED: usize = 32;

/// Called by the compiler's code at the entry of a function.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub(crate) extern "C" fn __cyg_profile_func_enter(_function: u64, _returns_to: u64) {
    core::arch::naked_asm!("endbr64", "mov rdx, rsp", "jmp {}", sym enter)
}

/// Called by the compiler's code at the exit of a function.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub(crate) extern "C" fn __cyg_profile_func_exit(_function: u64, _returns_to: u64) {
    core::arch::naked_asm!("endbr64", "mov rdx, rsp", "jmp {}", sym exit)
}

/// As [`__cyg_profile_func_enter`], with the stack pointer at the call.
pub(crate) extern "C" fn enter(function: u64, returns_to: u64, sp: u64) {
    let Some(region) = names::of_function(function).filter(|&region| !switch::is_off(region)) else { return };
    let Some(local) = thread_of_hook() else { return };
    if pause::is_paused() {
        return;
    }
    if local.state.frame().sp.load(Relaxed) <= sp {
        close_dead_frames(local, Place { region, returns_to, sp });
    }
    let node = local.find(local.current(), region).unwrap_or_else(|| {
        let _signals = SignalsBlocked::new();
        local.find_or_create(local.current(), region, Door::Hook).0
    });
    if duty::goes_at_hook(local, node) {
        return;
    }
    if !local.has_room_for_frame() {
        add(&node.calls, 1);
        add_signed(&local.state.overhead, node.cost.load(Relaxed).cast_signed());
        add(&local.arena.location().lost_depth, 1);
        local.state.lost_open.fetch_add(1, Relaxed);
        return;
    }
    local.open(node, sp).0.spare.store(returns_to, Relaxed);
}

/// As [`__cyg_profile_func_exit`], with the stack pointer at the call.
pub(crate) extern "C" fn exit(function: u64, returns_to: u64, sp: u64) {
    let Some(local) = Local::of(ThreadState::current()) else { return };
    let Some(region) = names::of_function(function) else { return };
    let frame = local.state.frame();
    let node = local.arena.node_of(frame);
    if node.region.load(Relaxed) == region && node.flags.load(Relaxed) & NODE_HOOK != 0 {
        let ticks = now().0;
        local.attribute(local.owner(), ticks);
        local.close(ticks);
    } else if switch::is_off(region) || pause::is_paused() {
        // Its entry opened nothing; what it opened before closes where the stack pointer says so.
        return;
    } else {
        exit_of_other(local, Place { region, returns_to, sp });
    }
    look_around(local);
}

/// Follows requests and ties the clocks, now and then.
pub(crate) fn look_around(local: Local) {
    if let Some(header) = graph_file::header() {
        request::follow(local.arena, header);
        clock::refresh(header, now().0);
    }
}

/// The stack pointer here; every frame of a function that is still open is above it.
#[inline]
pub(crate) fn stack_pointer_here() -> u64 {
    let pointer: u64;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

/// The calling thread, without the frames that were left without their exit: those at or below this stack pointer.
pub(crate) fn thread_here(sp: u64) -> Option<Local> {
    let local = thread_of_hook()?;
    if local.state.frame().sp.load(Relaxed) <= sp {
        let _signals = SignalsBlocked::new();
        let ticks = now().0;
        local.attribute_before_closing(ticks);
        slow::close_dead_frames(local, sp, ticks);
    }
    Some(local)
}

/// Runs pairs of hooks for a function in a hot loop.
pub(crate) fn run_pairs(function: u64, pairs: u32) {
    for _ in 0..pairs {
        core::hint::black_box(__cyg_profile_func_enter as extern "C" fn(u64, u64))(function, 1);
        core::hint::black_box(__cyg_profile_func_exit as extern "C" fn(u64, u64))(function, 1);
    }
}

fn thread_of_hook() -> Option<Local> {
    let state = ThreadState::current();
    Local::of(state).or_else(|| {
        let _signals = SignalsBlocked::new();
        process::is_measuring().then(|| thread::ready(state, now().0)).flatten()
    })
}

/// Where a hook was called.
#[derive(Clone, Copy, Debug)]
struct Place {
    region: u32,
    returns_to: u64,
    sp: u64,
}

/// An exit of a function that is not the innermost open region: what lies above was skipped.
#[cold]
fn exit_of_other(local: Local, place: Place) {
    let _signals = SignalsBlocked::new();
    let ticks = now().0;
    local.attribute_before_closing(ticks);
    let depth = local.arena.frame_index(local.state.frame());
    // Its own stack pointer is no higher than the function's entry, and no lower than that of anything left below.
    let is_own = |frame: &LiveFrame| {
        let node = local.arena.node_of(frame);
        node.region.load(Relaxed) == place.region && node.flags.load(Relaxed) & NODE_HOOK != 0 && frame.spare.load(Relaxed) == place.returns_to
    };
    match (1..=depth).rev().find(|&index| is_own(local.arena.frame(index))) {
        Some(own) => {
            (own..depth).for_each(|_| local.close_skipped(ticks));
            local.close(ticks);
        }
        None => local.count_unmatched(place.region),
    }
}

/// Closes the frames that were left without their exit: those below the stack pointer. A frame at the same stack pointer
/// is that of a function into which this one was inlined, if both return to the same place.
#[cold]
fn close_dead_frames(local: Local, place: Place) {
    let _signals = SignalsBlocked::new();
    let ticks = now().0;
    if slow::is_elsewhere(local, place.sp) {
        slow::close_dead_frames(local, place.sp, ticks);
        return;
    }
    local.attribute_before_closing(ticks);
    let is_stuck = inlined_in_a_row(local, place) > MOST_INLINED;
    while is_dead(local, place, is_stuck) {
        local.close_skipped(ticks);
    }
}

fn is_dead(local: Local, place: Place, is_stuck: bool) -> bool {
    let (frame, is_of_hook) = function_frame(local);
    let sp = stack_pointer(frame);
    sp < place.sp || sp == place.sp && (is_stuck || !is_of_hook || frame.spare.load(Relaxed) != place.returns_to)
}

/// Whether the innermost frame was left, where the function that goes on calls with this stack pointer: hooks are called with it, too, by that one itself.
pub(crate) fn is_left(local: Local, sp: u64) -> bool {
    let (frame, is_of_hook) = function_frame(local);
    stack_pointer(frame) < sp || stack_pointer(frame) == sp && !is_of_hook
}

/// The innermost frame of a function, and whether a hook opened it: a region of the program's own is as dead as the function in which it began.
fn function_frame(local: Local) -> (&'static LiveFrame, bool) {
    let mut index = local.arena.frame_index(local.state.frame());
    let flags = |index: u64| local.arena.node_of(local.arena.frame(index)).flags.load(Relaxed);
    while index > 0 && flags(index) & NODE_USER != 0 {
        index -= 1;
    }
    (local.arena.frame(index), flags(index) & NODE_HOOK != 0)
}

fn inlined_in_a_row(local: Local, place: Place) -> usize {
    let depth = local.arena.frame_index(local.state.frame());
    let frames = (1..=depth).rev().map(|index| local.arena.frame(index));
    let is_same = |frame: &&LiveFrame| {
        local.arena.node_of(frame).region.load(Relaxed) == place.region
            && stack_pointer(frame) == place.sp
            && frame.spare.load(Relaxed) == place.returns_to
    };
    frames.take_while(is_same).take(MOST_INLINED + 1).count()
}
