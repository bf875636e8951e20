//! Which file a descriptor is, and what was done with it.
//!
//! A descriptor is named when it is opened or first used, by the kernel's own word for it, and forgotten when it is closed. Records are
//! found by a hash of the name; a new one is begun where no thread has one yet. Any thread adds to a record, in locked
//! instructions: a call of the kernel's costs more.

use crate::io::{Subject, Way, descriptor_of, keeping_errno, ticks};
use crate::words::add;
use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering, Ordering::Relaxed};
use tare_format::tally::{FileRecord, MOST_FILES, Room, Word};

/// Descriptors whose file is remembered; others are named each time.
const REMEMBERED: usize = 4096;
/// For each descriptor the number of its file plus one; 0 where it is not known.
static FILE_OF: [AtomicU32; REMEMBERED] = [const { AtomicU32::new(0) }; REMEMBERED];
/// For each file the hash of its name; 0 while it is free.
static HASHES: [AtomicU64; MOST_FILES as usize] = [const { AtomicU64::new(0) }; MOST_FILES as usize];
/// Files begun.
static FILES: AtomicU32 = AtomicU32::new(0);
/// The function that gives room for records; null where files are not counted.
static ROOM: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
/// For each file its record; null until one is made.
static RECORDS: [AtomicPtr<LiveFile>; MOST_FILES as usize] = [const { AtomicPtr::new(core::ptr::null_mut()) }; MOST_FILES as usize];

/// The file that stands for all beyond the limit, and for streams without a descriptor.
const OTHERS: u32 = 0;
const NAME_OF_OTHERS: &[u8] = b"[others]";

/// A [`FileRecord`] as it is written.
#[repr(C)]
#[derive(Debug)]
struct LiveFile {
    name_length: AtomicU32,
    reserved: AtomicU32,
    /// For reads, writes and other calls: their number, bytes, ticks; others have no bytes.
    counts: [AtomicU64; 8],
    name: [AtomicU8; 440],
}

const _: () = assert!(size_of::<LiveFile>() == FileRecord::SIZE);
const _: () = assert!(core::mem::offset_of!(LiveFile, name) == core::mem::offset_of!(FileRecord, name));

/// Counts by file from now on, into records for which `room` finds a place; nowhere with `None`.
pub(crate) fn keep(room: Option<Room>) {
    FILE_OF.iter().for_each(|file| file.store(0, Relaxed));
    HASHES.iter().for_each(|hash| hash.store(0, Relaxed));
    RECORDS.iter().for_each(|record| record.store(core::ptr::null_mut(), Relaxed));
    FILES.store(0, Relaxed);
    ROOM.store(room.map_or(core::ptr::null_mut(), |room| room as *mut ()), Ordering::Release);
    if room.is_some() {
        begin(NAME_OF_OTHERS);
    }
}

fn room() -> Option<Room> {
    let room = ROOM.load(Ordering::Acquire);
    // SAFETY: what `keep` was given.
    (!room.is_null()).then(|| unsafe { core::mem::transmute::<*mut (), Room>(room) })
}

/// The file that a call works on. `None` where there is none, or files are not counted.
pub(crate) fn of(subject: Subject) -> Option<u32> {
    let descriptor = match subject {
        Subject::Unknown | Subject::Opened => return None,
        Subject::Closed(descriptor) => return forget(descriptor),
        Subject::Descriptor(descriptor) => descriptor,
        Subject::Stream(stream) => descriptor_of(stream),
    };
    room()?;
    let Ok(number) = usize::try_from(descriptor) else { return Some(OTHERS) };
    let remembered = FILE_OF.get(number);
    if let Some(file) = remembered.and_then(|file| file.load(Relaxed).checked_sub(1)) {
        return Some(file);
    }
    let begin = ticks();
    let file = keeping_errno(|| find(descriptor));
    if let Some(remembered) = remembered {
        remembered.store(file + 1, Relaxed);
    }
    add(Word::OwnTicks, ticks().wrapping_sub(begin));
    Some(file)
}

/// The file that has just been opened, whatever the descriptor was before.
pub(crate) fn opened(descriptor: c_int) -> Option<u32> {
    forget(descriptor);
    if descriptor < 0 { None } else { of(Subject::Descriptor(descriptor)) }
}

/// Adds a call to its file.
pub(crate) fn count(file: Option<u32>, way: Way, bytes: u64, took: u64) {
    let record = file.and_then(|file| RECORDS.get(file as usize)).map_or(core::ptr::null_mut(), |record| record.load(Ordering::Acquire));
    // SAFETY: null, or a record that the runtime has given, for good.
    let Some(record) = (unsafe { record.as_ref() }) else { return };
    let [reads, bytes_read, read_ticks, writes, bytes_written, write_ticks, others, other_ticks] = &record.counts;
    let (calls, moved, time) = match way {
        Way::Read => (reads, Some(bytes_read), read_ticks),
        Way::Write => (writes, Some(bytes_written), write_ticks),
        Way::Other => (others, None, other_ticks),
    };
    calls.fetch_add(1, Relaxed);
    time.fetch_add(took, Relaxed);
    moved.map(|moved| moved.fetch_add(bytes, Relaxed));
}

/// A descriptor is about to be closed, or to be another file. Tells which it was, where that is known.
pub(crate) fn forget(descriptor: c_int) -> Option<u32> {
    let file = usize::try_from(descriptor).ok().and_then(|number| FILE_OF.get(number))?;
    file.swap(0, Relaxed).checked_sub(1)
}

/// As [`forget`], for a range of them, its end included.
pub(crate) fn forget_range(first: c_uint, last: c_uint) {
    let (first, last) = (first as usize, (last as usize).min(REMEMBERED - 1));
    if let Some(files) = FILE_OF.get(first..=last.max(first)) {
        files.iter().for_each(|file| file.store(0, Relaxed));
    }
}

/// The file of a descriptor, by its name.
fn find(descriptor: c_int) -> u32 {
    let mut link = [0_u8; 1024];
    let path = Link::of(descriptor);
    // SAFETY: a string, and a buffer with its length.
    let length = unsafe { libc::readlink(path.text.as_ptr().cast(), link.as_mut_ptr().cast(), link.len()) };
    let name = usize::try_from(length).ok().and_then(|length| link.get(..length)).unwrap_or(NAME_OF_OTHERS);
    let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
    // Sockets and pipes have a number each, which nobody knows.
    let name = name.iter().position(|&byte| byte == b':').filter(|_| name.first() != Some(&b'/')).map_or(name, |colon| &name[..colon]);
    let hash = hash_of(name);
    let begun = (FILES.load(Relaxed) as usize).min(HASHES.len());
    let known = HASHES.iter().take(begun).position(|known| known.load(Relaxed) == hash);
    known.map_or_else(|| begin(name), |index| index as u32)
}

/// A new record; that of all others where there is no room.
fn begin(name: &[u8]) -> u32 {
    let next = |files: u32| (files < MOST_FILES).then_some(files + 1);
    let Ok(number) = FILES.fetch_update(Relaxed, Relaxed, next) else { return OTHERS };
    let record = room().map_or(core::ptr::null_mut(), |room| room(number)).cast::<LiveFile>();
    // SAFETY: null, or room for a record, made of atomics, for good.
    let Some(live) = (unsafe { record.as_ref() }) else { return OTHERS };
    let cut = name.get(name.len().saturating_sub(live.name.len())..).unwrap_or(name);
    live.name.iter().zip(cut).for_each(|(to, &from)| to.store(from, Relaxed));
    live.name_length.store(cut.len() as u32, Ordering::Release);
    let (Some(place), Some(hash)) = (RECORDS.get(number as usize), HASHES.get(number as usize)) else { return OTHERS };
    place.store(record, Ordering::Release);
    hash.store(hash_of(name), Ordering::Release);
    number
}

/// FNV-1a; not 0.
fn hash_of(name: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.iter().fold(0xcbf2_9ce4_8422_2325, step).max(1)
}

/// `/proc/self/fd/N`, ended by a zero.
struct Link {
    text: [u8; 32],
}

impl Link {
    fn of(descriptor: c_int) -> Self {
        let mut text = [0; 32];
        let mut digits = [0; 10];
        let (mut rest, mut first) = (descriptor.unsigned_abs(), digits.len());
        loop {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let parts = b"/proc/self/fd/".iter().chain(&digits[first..]);
        text.iter_mut().zip(parts).for_each(|(to, &from)| *to = from);
        Self { text }
    }
}
