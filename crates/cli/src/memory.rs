//! How the command takes memory from the system, and when it gives it back.
//!
//! The allocator is one that analysis and rewriting, which take and give back many small pieces, are a tenth faster with than with
//! the C library's. What is said to it, and to the system about its memory, changes how long things take and how much memory they
//! hold, never what they do.

use std::fs;
use std::ops::Range;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// After how many milliseconds memory that is free is given back.
const PURGE_DELAY: libc::c_int = 15;
/// As that delay: never.
const NEVER: libc::c_long = -1;

/// Gives free memory back after ten milliseconds instead of a second: analysis and rewriting take that long, and what one phase
/// gave back the next one need not have on top.
pub(crate) fn give_back_soon() {
    set(PURGE_DELAY, 10);
}

/// For an answer that takes milliseconds: free memory is kept, and what is taken comes in large pages where the system has them.
/// A page of 4 KiB that is touched first costs more than to read a call path into it, and there are thousands.
pub(crate) fn answer_soon() {
    set(PURGE_DELAY, NEVER);
    let piece = Box::new(0_u8);
    if let Some(mapping) = mapping_of(std::ptr::from_ref(&*piece).addr()) {
        let start = std::ptr::without_provenance_mut(mapping.start);
        // SAFETY: advice on how to back a mapping of this process changes nothing of what is in it.
        unsafe { libc::madvise(start, mapping.len(), libc::MADV_HUGEPAGE) };
    }
}

fn set(option: libc::c_int, value: libc::c_long) {
    unsafe extern "C" {
        fn mi_option_set(option: libc::c_int, value: libc::c_long);
    }
    // SAFETY: an option of the allocator, which is linked in; it may be set at any time.
    unsafe { mi_option_set(option, value) };
}

/// The mapping of this process that an address lies in.
fn mapping_of(address: usize) -> Option<Range<usize>> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let range = |line: &str| {
        let (from, to) = line.split_once(' ')?.0.split_once('-')?;
        Some(usize::from_str_radix(from, 16).ok()?..usize::from_str_radix(to, 16).ok()?)
    };
    maps.lines().filter_map(range).find(|range| range.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::mapping_of;

    #[test]
    fn the_heap_lies_in_a_mapping_and_the_first_page_in_none() {
        let piece = Box::new(0_u8);
        let address = std::ptr::from_ref(&*piece).addr();
        assert!(mapping_of(address).is_some_and(|mapping| mapping.contains(&address)));
        assert_eq!(mapping_of(16), None);
    }
}
