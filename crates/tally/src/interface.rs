//! What the runtime finds under [`SYMBOL`](tare_format::tally::SYMBOL), where this library is preloaded beside it.

use crate::io::{self, Subject, Way, ticks};
use crate::{files, heap, words};
use core::ffi::c_void;
use tare_format::graph::COST_UNIT;
use tare_format::tally::{Interface, Room, VERSION};

static INTERFACE: Interface = Interface { version: VERSION, size: size_of::<Interface>() as u32, words: own_words, sees_heap, costs, keep_files };

/// The functions of this library, for the runtime.
#[unsafe(no_mangle)]
pub extern "C" fn tare_tally() -> *const Interface {
    &raw const INTERFACE
}

extern "C" fn own_words() -> *mut u64 {
    words::words()
}

/// Whoever asks for `malloc` first gets ours, or the one that the program itself defines.
extern "C" fn sees_heap() -> u32 {
    // SAFETY: a lookup by name.
    let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"malloc".as_ptr()) };
    let own: *const Interface = &raw const INTERFACE;
    u32::from(image_of(first.cast_const()) == image_of(own.cast()))
}

/// Where the image begins that holds an address; null where none does.
fn image_of(address: *const c_void) -> *mut c_void {
    let mut found = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: a record to be filled; any address may be asked for.
    unsafe { libc::dladdr(address, found.as_mut_ptr()) };
    // SAFETY: all of it is pointers, which are null where nothing was found.
    unsafe { found.assume_init() }.dli_fbase
}

extern "C" fn keep_files(room: Option<Room>) {
    files::keep(room);
}

/// Pairs, or calls, of a round.
const CALLS: u64 = 64;
/// Rounds, of which the middle one counts.
const ROUNDS: usize = 9;
/// Bytes of an allocation that every allocator has at hand.
const SIZE: usize = 48;

extern "C" fn costs(costs: &mut [u64; 2]) {
    let through = middle(|| heap::pair_through(SIZE));
    let past = middle(|| heap::pair_past(SIZE));
    let call = middle(|| {
        io::counted(Way::Other, Subject::Unknown, || core::hint::black_box(0), io::none);
    });
    *costs = [through.saturating_sub(past) / 2, call];
}

/// What a call takes in the middle round, in cost units.
fn middle(call: impl Fn()) -> u64 {
    let mut rounds = [0; ROUNDS];
    rounds.fill_with(|| {
        let begin = ticks();
        (0..CALLS).for_each(|_| call());
        ticks().wrapping_sub(begin)
    });
    rounds.sort_unstable();
    rounds[ROUNDS / 2] * COST_UNIT / CALLS
}
