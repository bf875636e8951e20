//! Reading and writing what the program's arguments point at.
//!
//! All functions here take addresses that the program passed to an MPI function whose standard says what
//! stands there; they are as sound as that call.

use crate::abi::{Abi, StatusRest};
use crate::session::Session;
use crate::table::Id;
use core::mem::MaybeUninit;

/// The `int` in the lower half of an argument.
pub(crate) fn int(argument: usize) -> i32 {
    argument as u32 as i32
}

/// The argument that passes an `int`.
pub(crate) fn word(value: i32) -> usize {
    value as u32 as usize
}

/// Reads an `int`.
pub(crate) fn read_int(address: usize) -> i32 {
    // SAFETY: the standard says that an `int` of the program stands here.
    unsafe { (address as *const i32).read_unaligned() }
}

/// Writes an `int` of the program.
pub(crate) fn write_int(address: usize, value: i32) {
    // SAFETY: the standard says that the function may write an `int` here.
    unsafe { (address as *mut i32).write_unaligned(value) };
}

/// A handle that was passed by value.
pub(crate) fn handle(abi: &Abi, argument: usize) -> usize {
    if abi.handle == 4 { argument as u32 as usize } else { argument }
}

/// Reads the handle number `index` of an array.
pub(crate) fn read_handle(abi: &Abi, address: usize, index: usize) -> usize {
    let at = address.wrapping_add(index.wrapping_mul(abi.handle));
    if abi.handle == 4 {
        // SAFETY: the standard says that so many handles of the program stand here.
        unsafe { (at as *const u32).read_unaligned() as usize }
    } else {
        // SAFETY: as above.
        unsafe { (at as *const usize).read_unaligned() }
    }
}

/// Handles of the program as they were.
#[derive(Debug)]
pub(crate) struct Kept<const N: usize> {
    bytes: [MaybeUninit<usize>; N],
}

impl<const N: usize> Kept<N> {
    /// Keeps `number` handles, of which there is room for `N`.
    #[inline]
    pub(crate) fn read(abi: &Abi, address: usize, number: usize) -> Self {
        let mut kept = Self { bytes: [MaybeUninit::uninit(); N] };
        let length = number.min(N) * abi.handle;
        // SAFETY: the standard says that so many handles of the program stand here, and there is room for them.
        unsafe { core::ptr::copy_nonoverlapping(address as *const u8, kept.bytes.as_mut_ptr().cast::<u8>(), length) };
        kept
    }

    /// Where they stand.
    pub(crate) fn address(&self) -> usize {
        self.bytes.as_ptr() as usize
    }
}

/// Reads a handle that is a pointer in every library: that of a file.
pub(crate) fn read_pointer(address: usize) -> usize {
    // SAFETY: the standard says that such a handle of the program stands here.
    unsafe { (address as *const usize).read_unaligned() }
}

/// Writes a handle of the program.
pub(crate) fn write_handle(abi: &Abi, address: usize, value: usize) {
    if abi.handle == 4 {
        // SAFETY: the standard says that the function may write a handle here.
        unsafe { (address as *mut u32).write_unaligned(value as u32) };
    } else {
        // SAFETY: as above.
        unsafe { (address as *mut usize).write_unaligned(value) };
    }
}

/// A count, which is a `MPI_Count` in functions with large counts.
pub(crate) fn count(large: bool, argument: usize) -> u64 {
    let count = if large { argument as i64 } else { i64::from(int(argument)) };
    u64::try_from(count).unwrap_or(0)
}

/// Statuses: the program's, or our own where it ignores them.
#[derive(Debug)]
pub(crate) struct Statuses {
    address: usize,
    few: [u64; 3 * Self::FEW],
    many: Vec<u64>,
}

impl Statuses {
    const FEW: usize = 4;

    /// Ours; not in use yet.
    pub(crate) fn new() -> Self {
        Self { address: 0, few: [0; 3 * Self::FEW], many: Vec::new() }
    }

    /// Those that stand here.
    pub(crate) fn at(address: usize) -> Self {
        Self { address, ..Self::new() }
    }

    /// Makes `argument` point at `count` statuses: the program's own, or ours where it ignores them.
    pub(crate) fn provide(&mut self, abi: &Abi, argument: &mut usize, count: usize) {
        if *argument == abi.status_ignore {
            let words = count * abi.status.size.div_ceil(8);
            *argument = if words <= self.few.len() {
                self.few.as_mut_ptr() as usize
            } else {
                self.many.resize(words, 0);
                self.many.as_mut_ptr() as usize
            };
        }
        self.address = *argument;
    }

    /// Status number `index`, of those that were provided.
    pub(crate) fn get(&self, abi: &Abi, index: usize) -> Status<'_> {
        let at = (self.address + index * abi.status.size) as *const u8;
        // SAFETY: as many statuses stand here as were provided, or as the program gave.
        Status { bytes: unsafe { core::slice::from_raw_parts(at, abi.status.size) } }
    }
}

/// Words of eight bytes that a status of any library fits into.
pub(crate) const STATUS_WORDS: usize = 8;

/// A status, as the real function left it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Status<'a> {
    bytes: &'a [u8],
}

impl Status<'_> {
    pub(crate) fn stream(self, abi: &Abi) -> (i32, i32) {
        (crate::abi::word(self.bytes, abi.status.source), crate::abi::word(self.bytes, abi.status.tag))
    }

    pub(crate) fn error(self, abi: &Abi) -> i32 {
        crate::abi::word(self.bytes, abi.status.error)
    }

    /// The received bytes.
    pub(crate) fn bytes(self, session: &Session) -> u64 {
        let StatusRest::Known { bytes, .. } = session.abi.status.rest else {
            let mut count = 0_i64;
            let asked = session.ask(Id::MPI_Get_count_c, [self.address(), session.handles.byte, &raw mut count as usize]);
            return asked.and(u64::try_from(count).ok()).unwrap_or(0);
        };
        bytes(self.bytes)
    }

    pub(crate) fn is_cancelled(self, session: &Session) -> bool {
        let StatusRest::Known { cancelled, .. } = session.abi.status.rest else {
            let mut flag = 0_i32;
            return session.ask(Id::MPI_Test_cancelled, [self.address(), &raw mut flag as usize]).is_some() && flag != 0;
        };
        cancelled(self.bytes)
    }

    fn address(self) -> usize {
        self.bytes.as_ptr() as usize
    }
}
