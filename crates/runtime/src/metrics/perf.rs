//! Counters of the kernel's (`perf_event_open`), read in user space where the kernel's page allows it.
//!
//! The events of a thread are one group, which the kernel schedules as a whole. Of its descriptors only the leader's stays
//! open, at a high number, where the program's own do not come; mappings keep the other events alive. Reading by the
//! descriptor ends for good when it fails: the program may have closed it.
//!
//! `private` of the thread's record: word 0 the leader's descriptor plus one, words 1 to 8 addresses of the pages.

use crate::live::LiveMetrics;
use crate::metrics::{Metrics, Source};
use crate::sys::{self, Descriptor};
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering, Ordering::Relaxed};
use tare_format::metrics::MOST;

/// What the kernel keeps of an event in its page: the parts that are read (`struct perf_event_mmap_page`).
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Page {
    version: AtomicU32,
    compatible_version: AtomicU32,
    /// Odd while the kernel writes, and another number when it has written.
    lock: AtomicU32,
    /// Number of the counter plus one; 0 while the event has none.
    index: AtomicU32,
    /// What is added to the counter's value.
    offset: AtomicU64,
    enabled: AtomicU64,
    running: AtomicU64,
    capabilities: AtomicU64,
    /// Bits of the counter.
    width: AtomicU16,
}

/// Bit of `capabilities`: the counter can be read in user space.
const USER_READ: u64 = 1 << 2;
/// How often a page that is being written is read again.
const ATTEMPTS: usize = 64;

/// The event's count, from its page; `None` where that does not allow it, or the event has no counter at this moment.
pub(crate) fn count(page: &Page, read_counter: impl Fn(u32) -> u64) -> Option<u64> {
    for _ in 0..ATTEMPTS {
        let lock = page.lock.load(Ordering::Acquire);
        let index = page.index.load(Relaxed);
        let width = page.width.load(Relaxed);
        if page.capabilities.load(Relaxed) & USER_READ == 0 || index == 0 || !(1..=64).contains(&width) {
            return None;
        }
        let unused = 64 - u32::from(width);
        let value = (read_counter(index - 1) << unused).cast_signed() >> unused;
        let count = page.offset.load(Relaxed).wrapping_add_signed(value);
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
        if page.lock.load(Ordering::Acquire) == lock && lock.is_multiple_of(2) {
            return Some(count);
        }
    }
    None
}

fn read_counter(number: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: the kernel's page says that this counter may be read.
    unsafe { core::arch::asm!("rdpmc", in("ecx") number, out("eax") low, out("edx") high, options(nomem, nostack)) };
    u64::from(high) << 32 | u64::from(low)
}

/// Opens the events of the calling thread. One that the kernel refuses is missing.
pub(crate) fn open(head: &LiveMetrics, metrics: &Metrics) {
    let mut leader: Option<Descriptor> = None;
    for (index, source) in metrics.all() {
        let Source::Perf { kind, config } = source else { continue };
        let opened = sys::open_event(kind, config, leader).and_then(|file| {
            let page = sys::map_page(file);
            match (page, leader) {
                (Err(error), Some(_)) => {
                    sys::close(file);
                    Err(error)
                }
                (page, _) => Ok((file, page.ok())),
            }
        });
        match opened {
            Ok((file, page)) => {
                if let Some(word) = head.private.get(1 + index) {
                    word.store(page.map_or(0, |page| page.addr().get() as u64), Relaxed);
                }
                match leader {
                    Some(_) => sys::close(file),
                    None => leader = Some(sys::move_high(file)),
                }
            }
            Err(_) => {
                head.missing.fetch_or(1 << index, Relaxed);
            }
        }
    }
    if let Some(word) = head.private.first() {
        word.store(leader.map_or(0, |leader| leader.number() as u64 + 1), Relaxed);
    }
}

fn page(head: &LiveMetrics, index: usize) -> Option<&'static Page> {
    let address = head.private.get(1 + index)?.load(Relaxed);
    // SAFETY: 0, or the address of a page of the kernel's that this thread has mapped.
    unsafe { core::ptr::with_exposed_provenance::<Page>(address as usize).as_ref() }
}

fn leader(head: &LiveMetrics) -> Option<Descriptor> {
    let word = head.private.first()?.load(Relaxed);
    word.checked_sub(1).map(|number| Descriptor::of(number as i32))
}

/// Puts the counts of all events into their places.
///
/// # Probe-safe
pub(crate) fn read(head: &LiveMetrics, metrics: &Metrics, now: &mut [u64; MOST]) {
    let missing = head.missing.load(Relaxed);
    let events = || metrics.all().filter(|&(index, source)| matches!(source, Source::Perf { .. }) && missing & 1 << index == 0);
    let mut by_descriptor = false;
    for (index, _) in events() {
        let (Some(now), count) = (now.get_mut(index), page(head, index).and_then(|page| count(page, read_counter))) else { return };
        match count {
            Some(count) => *now = count,
            None => by_descriptor = true,
        }
    }
    if !by_descriptor {
        return;
    }
    let group = leader(head).and_then(|leader| sys::read_group(leader).ok());
    for (number, (index, _)) in events().enumerate() {
        let known = head.last.get(index).map_or(0, |last| last.load(Relaxed));
        if let Some(now) = now.get_mut(index) {
            *now = group.as_ref().and_then(|group| group.values.get(number).copied()).unwrap_or(known);
        }
    }
    if group.is_none() {
        head.missing.fetch_or(events().fold(0, |bits, (index, _)| bits | 1 << index), Relaxed);
    }
}

/// Notes for how long the events were wanted, and for how long they counted.
pub(crate) fn note_times(head: &LiveMetrics) {
    if let Some(group) = leader(head).and_then(|leader| sys::read_group(leader).ok()) {
        head.enabled.store(group.enabled, Relaxed);
        head.running.store(group.running, Relaxed);
    }
}

/// Lets the events of the calling thread go.
pub(crate) fn close(head: &LiveMetrics) {
    for word in head.private.iter().skip(1).take(MOST) {
        if let Some(page) = core::ptr::NonNull::new(core::ptr::with_exposed_provenance_mut::<u8>(word.swap(0, Relaxed) as usize)) {
            // SAFETY: a page that was mapped for this thread alone.
            unsafe { sys::unmap(page, crate::arena::PAGE as usize) };
        }
    }
    close_copies(head);
    if let Some(word) = head.private.first() {
        word.store(0, Relaxed);
    }
}

/// In a forked child: the descriptor is a copy of the parent's, and what is in the record is the parent's.
pub(crate) fn close_copies(head: &LiveMetrics) {
    if let Some(leader) = leader(head) {
        sys::close(leader);
    }
}

#[cfg(test)]
mod tests {
    use super::{Page, USER_READ, count};
    use core::cell::Cell;
    use core::sync::atomic::Ordering::Relaxed;

    fn page(index: u32, offset: u64, width: u16) -> Page {
        let page = Page::default();
        page.index.store(index, Relaxed);
        page.offset.store(offset, Relaxed);
        page.width.store(width, Relaxed);
        page.capabilities.store(USER_READ, Relaxed);
        page
    }

    #[test]
    fn a_count_is_offset_and_counter() {
        assert_eq!(count(&page(3, 1000, 48), |number| u64::from(number) * 10), Some(1020));
    }

    #[test]
    fn a_counter_is_signed_in_its_width() {
        // As the kernel sets a counter of 48 bits that is to overflow after 2^47 events.
        assert_eq!(count(&page(1, (1 << 47) - 1, 48), |_| (1 << 47) + 5), Some(4));
        assert_eq!(count(&page(1, 7, 40), |_| (1 << 40) - 1), Some(6));
        assert_eq!(count(&page(1, 7, 64), |_| u64::MAX), Some(6));
    }

    #[test]
    fn an_event_without_a_counter_is_not_read() {
        assert_eq!(count(&page(0, 7, 48), |_| unreachable!("there is no counter")), None);
        assert_eq!(count(&page(1, 7, 0), |_| unreachable!("there is no counter")), None);
        let page = page(1, 7, 48);
        page.capabilities.store(0, Relaxed);
        assert_eq!(count(&page, |_| unreachable!("it may not be read")), None);
    }

    #[test]
    fn what_is_written_meanwhile_is_read_again() {
        let page = page(1, 100, 48);
        let reads = Cell::new(0);
        let counted = count(&page, |_| {
            reads.set(reads.get() + 1);
            if reads.get() == 1 {
                // The kernel gives the event another counter.
                page.lock.store(2, Relaxed);
                page.offset.store(500, Relaxed);
                return 1;
            }
            2
        });
        assert_eq!((counted, reads.get()), (Some(502), 2));
        page.lock.store(3, Relaxed);
        assert_eq!(count(&page, |_| 1), None, "the kernel is writing");
    }
}
