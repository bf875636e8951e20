//! Regions that are off for good: their sites do nothing.
//!
//! A site begins with a `call` (`e8`, four bytes of displacement). With `a9` for its first byte it is a `test` of the
//! same length, which changes flags that are dead there and nothing else. So one byte switches a site, and whoever
//! runs it meanwhile sees the one instruction or the other. Nobody knows the sites of a region beforehand: each is
//! switched by its own probe, when that is called next and finds its region off; what was switched is remembered, to
//! be switched back.
//!
//! Where a site cannot be written (no `/proc` behind a `chroot`, a filter of system calls), its region comes on again and stays on: whoever
//! called it would take the slow path each time.
//!
//! What always holds: a frame is opened for a call only where its entry was not off. Calls that are open when their
//! region is switched off end there and then, as far as the graph is concerned (`Local::retire`); of calls that are open when it
//! is switched on again, and whose entry did nothing, the exit is expected to find no frame.

use crate::arena::Arena;
use crate::graph_file;
use crate::live::{LiveHeader, LiveSwitch, add};
use crate::loaded;
use crate::process::now;
use crate::state::ThreadState;
use crate::sys;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};
use tare_format::graph::{SWITCH_TABLE, SWITCHES, Why};
use tare_format::probe::CALL_LENGTH;

/// First byte of a site that calls its probe.
const CALL: u8 = 0xe8;
/// First byte of a site that is off.
const TEST: u8 = 0xa9;

/// By region id, one of what follows.
static REGIONS: [AtomicU8; graph_file::REGION_CAPACITY as usize] = [const { AtomicU8::new(0) }; graph_file::REGION_CAPACITY as usize];
const NEVER_OFF: u8 = 0;
const OFF: u8 = 1;
const ON_AGAIN: u8 = 2;
/// On again, since a site of it could not be switched.
const STAYS_ON: u8 = 3;
/// Regions that are off.
static REGIONS_OFF: AtomicU32 = AtomicU32::new(0);

/// Sites that were switched: the address of each, with its region.
static SITES: AtomicPtr<Site> = AtomicPtr::new(core::ptr::null_mut());
static SITES_USED: AtomicU32 = AtomicU32::new(0);
/// Sites that are remembered; what is beyond stays on.
const MOST_SITES: u32 = 1 << 20;

#[repr(C)]
#[derive(Debug)]
struct Site {
    address: AtomicU64,
    region: AtomicU32,
    unused: AtomicU32,
}

/// Whether a region is off.
pub(crate) fn is_off(region: u32) -> bool {
    REGIONS_OFF.load(Ordering::Relaxed) != 0 && REGIONS.get(region as usize).is_some_and(|state| state.load(Ordering::Relaxed) == OFF)
}

/// Whether the region is off or has been: a call whose entry did nothing may exit where the region is on again.
pub(crate) fn has_been_off(region: u32) -> bool {
    REGIONS.get(region as usize).is_some_and(|state| state.load(Ordering::Relaxed) != NEVER_OFF)
}

/// Whether a region cannot be switched off.
pub(crate) fn stays_on(region: u32) -> bool {
    REGIONS.get(region as usize).is_some_and(|state| state.load(Ordering::Relaxed) == STAYS_ON)
}

/// Whether any region is off.
pub(crate) fn any_is_off() -> bool {
    REGIONS_OFF.load(Ordering::Relaxed) != 0
}

/// What a region was switched off for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision {
    pub(crate) why: Why,
    /// Calls of the path that led to it; 0 where none did.
    pub(crate) calls: u64,
    /// Time from one of the last ones to the next, in cost units; 0 where that is not known.
    pub(crate) period: u64,
}

impl Decision {
    /// One that does not rest on a path.
    pub(crate) fn asked(why: Why) -> Self {
        Self { why, calls: 0, period: 0 }
    }
}

/// Switches a region off for good, if it was on and may go. Each of its sites goes with the next slow path that it takes: the one whose call
/// led to this at once, others at the next boundary of a path through them, or sooner where nodes are told to ([`look_again`]).
pub(crate) fn off(by: Arena, region: u32, decision: Decision) {
    let Some(state) = REGIONS.get(region as usize) else { return };
    let goes = |state| matches!(state, NEVER_OFF | ON_AGAIN).then_some(OFF);
    if state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, goes).is_ok() {
        REGIONS_OFF.fetch_add(1, Ordering::Relaxed);
        log(by, region, true, decision);
    }
}

/// Switches a region on again, with all its sites.
pub(crate) fn on(by: Arena, region: u32, why: Why) {
    let Some(state) = REGIONS.get(region as usize) else { return };
    let comes = if why == Why::Refused { STAYS_ON } else { ON_AGAIN };
    if state.compare_exchange(OFF, comes, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return;
    }
    REGIONS_OFF.fetch_sub(1, Ordering::Relaxed);
    for site in sites().iter().filter(|site| site.region.load(Ordering::Relaxed) == region) {
        let address = site.address.swap(0, Ordering::Relaxed);
        if address != 0 {
            // A site that cannot be switched back is one whose image has gone.
            replace(address, TEST, CALL);
            count_sites(|header| &header.sites_off, 1_u32.wrapping_neg());
        }
    }
    log(by, region, false, Decision::asked(why));
}

/// Switches off the site of the probe under way, whose return address stands there.
pub(crate) fn switch_site(region: u32, return_address: u64) {
    // SAFETY: the probe that called the slow path has not returned.
    let returns_to = unsafe { *core::ptr::with_exposed_provenance::<u64>(return_address as usize) };
    let address = returns_to - CALL_LENGTH as u64;
    // SAFETY: a site's call was just executed there.
    let first = unsafe { &*core::ptr::with_exposed_provenance::<AtomicU8>(address as usize) };
    if first.load(Ordering::Relaxed) != CALL {
        return;
    }
    if remember(address, region) && replace(address, CALL, TEST) {
        count_sites(|header| &header.sites_off, 1);
        return;
    }
    if let Some(by) = ThreadState::current().arena() {
        on(by, region, Why::Refused);
    }
}

fn count_sites(counter: impl Fn(&LiveHeader) -> &AtomicU32, amount: u32) {
    if let Some(header) = graph_file::header() {
        counter(header).fetch_add(amount, Ordering::Relaxed);
    }
}

/// Replaces one byte of code, through the kernel, so that no page is ever writable and executable at once. Does nothing where neither
/// stands: the image has gone, and something else may be there.
fn replace(address: u64, old: u8, new: u8) -> bool {
    let Ok(memory) = sys::open(c"/proc/self/mem", libc::O_RDWR, 0) else { return false };
    let mut found = [0];
    // Another thread may have been here before.
    let is_site = sys::read_at(memory, &mut found, address) == Ok(1) && [[old], [new]].contains(&found);
    let replaced = is_site && sys::write_at(memory, &[new], address) == Ok(1);
    sys::close(memory);
    replaced
}

fn sites() -> &'static [Site] {
    let used = SITES_USED.load(Ordering::Acquire).min(MOST_SITES) as usize;
    match NonNull::new(SITES.load(Ordering::Acquire)) {
        // SAFETY: the table is mapped for good with room for all, zeroed, and made of atomics.
        Some(table) => unsafe { core::slice::from_raw_parts(table.as_ptr(), used) },
        None => &[],
    }
}

fn remember(address: u64, region: u32) -> bool {
    if SITES.load(Ordering::Acquire).is_null() {
        let Ok(table) = sys::map_memory(MOST_SITES as usize * size_of::<Site>()) else { return false };
        let fresh = table.cast::<Site>().as_ptr();
        if SITES.compare_exchange(core::ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: nobody knows this table; another thread was first.
            unsafe { sys::unmap(table, MOST_SITES as usize * size_of::<Site>()) };
        }
    }
    let index = SITES_USED.fetch_add(1, Ordering::AcqRel);
    let Some(site) = sites().get(index as usize) else {
        SITES_USED.store(MOST_SITES, Ordering::Relaxed);
        return false;
    };
    site.region.store(region, Ordering::Relaxed);
    site.address.store(address, Ordering::Release);
    true
}

/// Forgets the sites of images that are gone.
pub(crate) fn forget_gone() {
    for site in sites() {
        let address = site.address.load(Ordering::Relaxed);
        if address != 0 && !loaded::is_loaded(address) && site.address.compare_exchange(address, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            count_sites(|header| &header.sites_off, 1_u32.wrapping_neg());
        }
    }
}

/// Lets the probes of all nodes whose regions are off take the slow path at their next call that is on, in all threads.
pub(crate) fn look_again(header: &LiveHeader) {
    for index in 0..header.locations.load(Ordering::Acquire) {
        let Some(arena) = graph_file::arena_of(index) else { continue };
        for index in 1..arena.location().nodes.load(Ordering::Acquire) {
            let node = arena.node(index);
            if is_off(node.region.load(Ordering::Relaxed)) {
                node.until.store(node.calls.load(Ordering::Relaxed) as u32, Ordering::Relaxed);
            }
        }
    }
}

/// Writes into the log of switches.
fn log(by: Arena, region: u32, off: bool, decision: Decision) {
    let Some(header) = graph_file::header() else { return };
    let index = header.switches.fetch_add(1, Ordering::Relaxed) as usize;
    if index >= SWITCHES {
        return;
    }
    let Some(area) = graph_file::header_area() else { return };
    // SAFETY: the log lies in the mapped header area.
    let place = unsafe { area.add(SWITCH_TABLE as usize + index * size_of::<LiveSwitch>()) };
    // SAFETY: aligned, mapped for good, and made of atomics.
    let record = unsafe { place.cast::<LiveSwitch>().as_ref() };
    record.off.store(u8::from(off), Ordering::Relaxed);
    record.why.store(decision.why as u8, Ordering::Relaxed);
    record.thread.store(by.location().thread.load(Ordering::Relaxed) as u16, Ordering::Relaxed);
    record.ticks.store(now().0, Ordering::Relaxed);
    add(&record.calls, decision.calls);
    add(&record.period, decision.period);
    record.region.store(region, Ordering::Release);
}
