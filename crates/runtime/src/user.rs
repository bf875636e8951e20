//! Regions, parameters and phases that the program itself names, through `tare.h` and what is built on it.
//!
//! A region's frame has the stack pointer of the region around less two, or the very one where that is the program's own
//! as well: it lives as long as the function in which it began. Ends are told by the region.

use crate::hook;
use crate::live::add;
use crate::local::{Door, Local, WRAPPED, may_miss_its_other_half, stack_pointer};
use crate::names::{self, Name};
use crate::pause;
use crate::process::now;
use crate::switch;
use crate::sys::SignalsBlocked;
use core::ffi::{CStr, c_char, c_uint};
use core::sync::atomic::Ordering::Relaxed;
use tare_format::description::RegionKind;
use tare_format::graph::{NODE_ENDS_WITH_PARENT, NODE_USER};

/// The functions that programs reach through `tare_api`; the first two words say which are there.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Api {
    version: c_uint,
    size: c_uint,
    region: unsafe extern "C" fn(kind: c_uint, name: *const c_char, file: *const c_char, line: c_uint) -> c_uint,
    begin: extern "C" fn(region: c_uint),
    end: extern "C" fn(region: c_uint),
    parameter: unsafe extern "C" fn(name: *const c_char, value: *const c_char),
    parameter_number: unsafe extern "C" fn(name: *const c_char, value: i64),
    record: extern "C" fn(on: c_uint),
}

static API: Api =
    Api { version: 1, size: size_of::<Api>() as c_uint, region, begin: begin_region, end: end_region, parameter, parameter_number, record };

/// Where programs find the runtime: they look this function up by name, and do nothing where it is not.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tare_api() -> *const Api {
    &raw const API
}

/// Kinds of regions, as programs say them.
const PHASE: c_uint = 1;

/// A text of the program's.
///
/// # Safety
/// Null or a string.
unsafe fn text<'a>(text: *const c_char) -> &'a [u8] {
    if text.is_null() {
        return b"";
    }
    // SAFETY: as the caller vouches.
    unsafe { CStr::from_ptr(text) }.to_bytes()
}

unsafe extern "C" fn region(kind: c_uint, name: *const c_char, file: *const c_char, line: c_uint) -> c_uint {
    let kind = if kind == PHASE { RegionKind::Phase } else { RegionKind::User };
    // SAFETY: the interface asks for strings.
    let (name, file) = (unsafe { text(name) }, unsafe { text(file) });
    names::of_name(&Name { kind, name, file, line, family: 0 }).unwrap_or(0)
}

extern "C" fn begin_region(region: c_uint) {
    if region != 0 && !pause::is_paused() && !switch::is_off(region) {
        begin(region, 0, hook::stack_pointer_here());
    }
}

extern "C" fn end_region(region: c_uint) {
    if region != 0 && !pause::is_paused() {
        let sp = hook::stack_pointer_here();
        end(region, sp);
        if let Some(local) = hook::thread_here(sp) {
            hook::look_around(local);
        }
    }
}

unsafe extern "C" fn parameter(name: *const c_char, value: *const c_char) {
    // SAFETY: the interface asks for strings.
    let (name, value) = (unsafe { text(name) }, unsafe { text(value) });
    set_parameter(name, value);
}

unsafe extern "C" fn parameter_number(name: *const c_char, value: i64) {
    let mut digits = crate::text::Text::<24>::EMPTY;
    if value < 0 {
        digits = digits.then(b"-");
    }
    // SAFETY: the interface asks for strings.
    let name = unsafe { text(name) };
    set_parameter(name, digits.number(value.unsigned_abs()).bytes());
}

extern "C" fn record(on: c_uint) {
    pause::set(on == 0, hook::stack_pointer_here());
}

/// Longer texts are cut.
const LONGEST: usize = 200;

fn set_parameter(name: &[u8], value: &[u8]) {
    if pause::is_paused() {
        return;
    }
    let cut = |text: &'_ [u8]| text.get(..LONGEST).map_or(text.len(), <[u8]>::len);
    let family = family_of(name);
    let text = crate::text::Text::<512>::EMPTY.then(&name[..cut(name)]).then(b" = ").then(&value[..cut(value)]);
    let named = Name { kind: RegionKind::Parameter, name: text.bytes(), file: b"", line: 0, family };
    if let Some(region) = names::of_name(&named) {
        replace(region, family);
    }
}

fn family_of(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Phases that `MPI_Pcontrol` names by numbers: one ends where the next one begins.
pub(crate) fn numbered_phase(number: u64) {
    const FAMILY: u64 = 1;
    let text = crate::text::Text::<64>::EMPTY.then(b"MPI_Pcontrol ").number(number);
    let named = Name { kind: RegionKind::Phase, name: text.bytes(), file: b"", line: 0, family: FAMILY };
    if let Some(region) = names::of_name(&named) {
        replace(region, FAMILY);
    }
}

/// Begins a region that ends with the one around it, in the place of one of its family that is open there: between the two are none but such.
fn replace(region: u32, family: u64) {
    let sp = hook::stack_pointer_here();
    if let Some(local) = hook::thread_here(sp) {
        let _signals = SignalsBlocked::new();
        let ticks = now().0;
        local.attribute(local.owner(), ticks);
        let depth = local.arena.frame_index(local.state.frame());
        let node = |index: u64| local.arena.node_of(local.arena.frame(index));
        let own = (1..=depth).rev().take_while(|&index| node(index).flags.load(Relaxed) & NODE_ENDS_WITH_PARENT != 0);
        let before = { own }.find(|&index| names::family(node(index).region.load(Relaxed)) == family);
        if let Some(before) = before {
            (before..=depth).for_each(|_| local.close_skipped(ticks));
        }
    }
    if !switch::is_off(region) {
        begin(region, NODE_ENDS_WITH_PARENT, sp);
    }
}

/// Begins a region below the innermost open one.
pub(crate) fn begin(region: u32, more_flags: u8, sp: u64) {
    let Some(local) = hook::thread_here(sp) else { return };
    if !local.has_room_for_frame() {
        add(&local.arena.location().lost_depth, 1);
        return;
    }
    let around = local.state.frame();
    let is_own = local.arena.node_of(around).flags.load(Relaxed) & NODE_USER != 0;
    let node = local.find(local.current(), region).unwrap_or_else(|| {
        let _signals = SignalsBlocked::new();
        let node = local.find_or_create(local.current(), region, Door::User).0;
        node.flags.fetch_or(more_flags, Relaxed);
        node
    });
    local.open(node, stack_pointer(around).wrapping_add(if is_own { 0 } else { WRAPPED }));
}

/// Ends the innermost region of this kind that is open; those of the program's own that it holds end with it.
pub(crate) fn end(region: u32, sp: u64) {
    let Some(local) = hook::thread_here(sp) else { return };
    let ticks = now().0;
    let is_behind_skipped = is_behind_skipped(local);
    let top = local.arena.frame_index(local.state.frame());
    let node = |index: u64| local.arena.node_of(local.arena.frame(index));
    if top > 0 && node(top).region.load(Relaxed) == region {
        local.attribute(local.owner(), ticks);
        local.close(ticks);
        return;
    }
    let _signals = SignalsBlocked::new();
    local.attribute_before_closing(ticks);
    let own = (1..=top).rev().take_while(|&index| node(index).flags.load(Relaxed) & NODE_USER != 0);
    match { own }.find(|&index| node(index).region.load(Relaxed) == region) {
        Some(found) => {
            (found..top).for_each(|_| local.close_skipped(ticks));
            local.close(ticks);
        }
        // It ended with the function in which it began, never began, or began while it was off.
        None if may_miss_its_other_half(region) => {}
        // A function that ends a region last jumps there, behind its own end: both are where they belong.
        None if is_behind_skipped => _ = local.arena.location().skipped_frames.fetch_sub(1, Relaxed),
        None => add(&local.arena.location().unmatched_exits, 1),
    }
}

/// Whether nothing has come since a function ended in which a region was open.
fn is_behind_skipped(local: Local) -> bool {
    let state = local.state;
    state.skipped_at.load(Relaxed) != 0 && state.last.load(Relaxed) == state.counted.load(Relaxed)
}

/// What `MPI_Pcontrol` asks for: 0 that nothing is recorded, 1 that it is again, other numbers a phase of that number, which
/// ends where the next one begins.
pub fn control(level: i32) {
    match u64::try_from(level) {
        Err(_) => {}
        Ok(0) => pause::set(true, hook::stack_pointer_here()),
        Ok(1) => pause::set(false, hook::stack_pointer_here()),
        Ok(number) if !pause::is_paused() => numbered_phase(number),
        Ok(_) => {}
    }
}
