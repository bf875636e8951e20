//! The graph file of this process: created, mapped, extended by an arena for each thread.
//!
//! What always holds: no descriptor stays open (a program may close all of them and use their numbers
//! again), so the file is opened by its path whenever it has to grow; nothing is touched before its pages are
//! allocated, so that a full file system is an error here and not a signal in the program.

use crate::arena::{Arena, PAGE};
use crate::draft::Draft;
use crate::kit::Kit;
use crate::live::{LiveHeader, LiveImage};
use crate::loaded;
use crate::names;
use crate::once::Once;
use crate::process::{Mode, now};
use crate::settings::settings;
use crate::sys::{self, Descriptor, Errno};
use crate::text::{Path, Text, until_zero};
use crate::unwritten::{self, Whose};
use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};
use tare_format::graph::{ARENA, HEADER_AREA, IMAGE_TABLE, IMAGES, MAGIC, MAX_LOCATIONS, ProcessState, REQUEST_ENDING, VERSION};
use tare_format::note::RUNTIME_MARK;

/// What the command knows a runtime of its own versions by.
#[used]
static MARK: [u8; RUNTIME_MARK.len()] = RUNTIME_MARK;

/// Region ids that one process can have.
pub(crate) const REGION_CAPACITY: u32 = 1 << 21;
/// What has to be free in node-local memory for a graph file to go there.
const ROOM_IN_MEMORY: u64 = 16 << 20;
/// Graph files of one process id in one run.
const FILES_OF_A_PROCESS: u64 = 10_000;

pub(crate) static HEADER: AtomicPtr<LiveHeader> = AtomicPtr::new(core::ptr::null_mut());
static CREATION: AtomicU32 = AtomicU32::new(NOT_TRIED);
const NOT_TRIED: u32 = 0;
const TRIED: u32 = 1;
/// The arenas of the file that are mapped, by their number.
static ARENAS: [AtomicPtr<u8>; MAX_LOCATIONS as usize] = [const { AtomicPtr::new(core::ptr::null_mut()) }; MAX_LOCATIONS as usize];
static NEXT_REGION: AtomicU32 = AtomicU32::new(0);
/// The next thread but the main one, which is number 0.
static NEXT_LOCATION: AtomicU32 = AtomicU32::new(1);
static PLACE: Once<FilePlace> =
    Once::new(FilePlace { live: Path::EMPTY, request: Path::EMPTY, directory: Path::EMPTY, collected: Path::EMPTY, is_moved: false });

/// Where the graph file stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilePlace {
    /// While the process runs.
    pub(crate) live: Path,
    /// Beside it: what `tare ctl` asks for.
    pub(crate) request: Path,
    /// The directory of that place, with a slash.
    pub(crate) directory: Path,
    /// After its end.
    pub(crate) collected: Path,
    /// Whether these are two places.
    pub(crate) is_moved: bool,
}

/// The header of the graph file, if there is one.
#[inline]
pub(crate) fn header() -> Option<&'static LiveHeader> {
    // SAFETY: null, or the start of the mapped header area, which is never unmapped.
    unsafe { HEADER.load(Ordering::Acquire).as_ref() }
}

/// Where the graph file stands.
pub(crate) fn place() -> Option<&'static FilePlace> {
    PLACE.get()
}

/// The header of the graph file, which is created now if it was never tried.
pub(crate) fn header_or_create() -> Option<&'static LiveHeader> {
    if settings().mode == Mode::None {
        return None;
    }
    if CREATION.compare_exchange(NOT_TRIED, TRIED, Ordering::AcqRel, Ordering::Acquire).is_ok() {
        let (place, mapped) = create().map_err(say_unwritten).ok()?;
        // SAFETY: the exchange lets one thread of this process come here, once.
        unsafe { PLACE.set(place) };
        HEADER.store(mapped.cast().as_ptr(), Ordering::Release);
    }
    header()
}

/// Ids for the regions of one more image: the base, to which the numbers within the image are added.
pub(crate) fn reserve_regions(count: u32) -> Option<u32> {
    let enough = |used: u32| used.checked_add(count).filter(|&end| end < REGION_CAPACITY);
    let base = NEXT_REGION.fetch_update(Ordering::SeqCst, Ordering::SeqCst, enough).ok()?;
    Kit::make_room_for_regions().then_some(base)
}

/// The highest region id so far.
pub(crate) fn regions() -> u32 {
    NEXT_REGION.load(Ordering::SeqCst)
}

/// Counts images for which there is no room in the header's full table: readers see a number beyond its length.
pub(crate) fn count_lost_images(number: u32) {
    if let Some(header) = header() {
        let beyond = |images: u32| (images as usize >= IMAGES).then(|| images.saturating_add(number));
        // Nothing to count while there is room.
        let _ = header.images.fetch_update(Ordering::Relaxed, Ordering::Relaxed, beyond);
    }
}

/// Where the ids of an image begin that has been loaded before, at whatever place.
pub(crate) fn known_image(identity: &[u8; 16]) -> Option<u32> {
    let header = header()?;
    let count = (header.images.load(Ordering::Acquire) as usize).min(IMAGES);
    let is_same = |image: &&LiveImage| {
        let bytes = image.identity.each_ref().map(|byte| byte.load(Ordering::Relaxed));
        bytes == *identity
    };
    let found = (0..count).filter_map(image_record).find(is_same)?;
    Some(found.id_base.load(Ordering::Relaxed))
}

fn image_record(index: usize) -> Option<&'static LiveImage> {
    let first = NonNull::new(HEADER.load(Ordering::Relaxed)).filter(|_| index < IMAGES)?;
    let offset = IMAGE_TABLE as usize + index * size_of::<LiveImage>();
    // SAFETY: the table lies in the mapped header area.
    let record = unsafe { first.cast::<u8>().add(offset) };
    // SAFETY: aligned, mapped for good, and made of atomics.
    Some(unsafe { record.cast::<LiveImage>().as_ref() })
}

/// Enters an image into the header's table. Says whether there was room.
pub(crate) fn record_image(id_base: u32, regions: u32, bias: u64, identity: &[u8; 16]) -> bool {
    let _signals = sys::SignalsBlocked::new();
    // One at a time, whichever threads enter images.
    loaded::while_images_stay(|| record_alone(id_base, regions, bias, identity)).unwrap_or(false)
}

fn record_alone(id_base: u32, regions: u32, bias: u64, identity: &[u8; 16]) -> bool {
    let Some(header) = header() else { return false };
    let index = header.images.load(Ordering::Relaxed) as usize;
    if index >= IMAGES {
        count_lost_images(1);
        return false;
    }
    let Some(image) = image_record(index) else { return false };
    image.id_base.store(id_base, Ordering::Relaxed);
    image.regions.store(regions, Ordering::Relaxed);
    image.bias.store(bias, Ordering::Relaxed);
    store_bytes(&image.identity, identity);
    header.images.store(index as u32 + 1, Ordering::Release);
    true
}

/// A fresh arena for the calling thread, whose id this is, in the file, and its number; `None` where there is no room for one.
pub(crate) fn new_arena(thread: u32) -> Option<(u32, Arena)> {
    let header = header()?;
    let is_main = thread == header.pid.load(Ordering::Relaxed);
    let index = if is_main { 0 } else { next_location()? };
    let place = place()?;
    let made = map_arena(place, index).and_then(|arena| if arena.allocate_first() { Ok(arena) } else { Err(Errno(libc::ENOSPC)) });
    let arena = made.map_err(|why| unwritten::say(Whose::Threads, None, &place.directory, why)).ok()?;
    know_arena(index, arena);
    header.locations.fetch_max(index + 1, Ordering::Release);
    Some((index, arena))
}

/// A fresh arena in the file that is no thread's graph; `None` where there is no room for one.
pub(crate) fn new_extra_arena() -> Option<Arena> {
    let (header, index) = (header()?, next_location()?);
    let arena = map_arena(place()?, index).ok()?;
    header.locations.fetch_max(index + 1, Ordering::Release);
    Some(arena)
}

fn next_location() -> Option<u32> {
    let next = |index: u32| (index < MAX_LOCATIONS).then_some(index + 1);
    NEXT_LOCATION.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
}

/// Counts a thread whose calls are not in the file.
pub(crate) fn count_lost_thread() {
    if let Some(header) = header() {
        header.lost_threads.fetch_add(1, Ordering::Relaxed);
    }
}

/// One thread more has a location, or the only one that a forked child begins with.
pub(crate) fn count_thread() {
    if let Some(header) = header() {
        let threads = header.threads.fetch_add(1, Ordering::Relaxed) + 1;
        header.most_threads.fetch_max(threads, Ordering::Relaxed);
    }
}

/// A thread has ended that had a location.
pub(crate) fn count_end_of_thread() {
    if let Some(header) = header() {
        header.threads.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts a call of a thread for which there was no memory.
pub(crate) fn count_refused_call() {
    if let Some(header) = header() {
        header.refused_calls.fetch_add(1, Ordering::Relaxed);
    }
}

fn know_arena(index: u32, arena: Arena) {
    if let Some(place) = ARENAS.get(index as usize) {
        place.store(arena.start().as_ptr(), Ordering::Release);
    }
}

/// Arenas of the file.
pub(crate) fn locations() -> u32 {
    header().map_or(0, |header| header.locations.load(Ordering::Relaxed))
}

/// An arena of the file, of whichever thread.
pub(crate) fn arena_of(index: u32) -> Option<Arena> {
    let start = NonNull::new(ARENAS.get(index as usize)?.load(Ordering::Acquire))?;
    // SAFETY: the arena was mapped when it was entered, and is not unmapped while the process lives.
    Some(unsafe { Arena::at(start) })
}

/// After a fork: the only arena of the new file is this one, if any.
pub(crate) fn know_only(arena: Option<Arena>) {
    ARENAS.iter().for_each(|place| place.store(core::ptr::null_mut(), Ordering::Relaxed));
    if let Some(arena) = arena {
        know_arena(0, arena);
    }
}

/// Extends the file by arena `index` and maps it; its first page is allocated and says its number.
pub(crate) fn map_arena(place: &FilePlace, index: u32) -> Result<Arena, Errno> {
    let offset = HEADER_AREA + u64::from(index) * ARENA;
    sys::is_allowed(offset + ARENA)?;
    let path = place.live.as_c_str().ok_or(Errno(libc::ENAMETOOLONG))?;
    let file = sys::open(path, libc::O_RDWR, 0)?;
    let start = allocate(file, offset, PAGE)
        .and_then(|()| allocate(file, offset + ARENA - PAGE, PAGE))
        .and_then(|()| sys::map_file(file, offset, ARENA as usize, ARENA as usize));
    sys::close(file);
    // SAFETY: just mapped and aligned; arenas are not unmapped while the process lives.
    let arena = unsafe { Arena::at(start?) };
    arena.location().thread.store(index, Ordering::Relaxed);
    Ok(arena)
}

/// Allocates a range of an arena in the file, for kernels that cannot do it through the mapping.
pub(crate) fn allocate_in_file(arena: Arena, offset: u64, length: u64) -> bool {
    let index = arena.location().thread.load(Ordering::Relaxed);
    if index == SCRATCH {
        return true;
    }
    let path = place().and_then(|place| place.live.as_c_str());
    let Some(file) = path.and_then(|path| sys::open(path, libc::O_RDWR, 0).ok()) else {
        return false;
    };
    let done = allocate(file, HEADER_AREA + u64::from(index) * ARENA + offset, length).is_ok();
    sys::close(file);
    done
}

/// The number of an arena that is not in the file.
pub(crate) const SCRATCH: u32 = u32::MAX;

/// Memory that looks like an arena and is not in the file: for threads beyond the room, and for calibration.
pub(crate) fn scratch_arena() -> Option<Arena> {
    let start = sys::map_scratch(ARENA as usize, ARENA as usize).ok()?;
    Some(scratch_arena_at(start))
}

/// A scratch arena in memory that [`scratch_arena`] has reserved and that is zeroed again.
pub(crate) fn scratch_arena_at(start: NonNull<u8>) -> Arena {
    // SAFETY: mapped for good, as long as an arena and aligned like one.
    let arena = unsafe { Arena::at(start) };
    arena.location().thread.store(SCRATCH, Ordering::Relaxed);
    arena
}

/// Allocates a range of a file, by writing zeros where the file system knows no other way.
fn allocate(file: Descriptor, offset: u64, length: u64) -> Result<(), Errno> {
    match sys::allocate(file, offset, length) {
        Err(Errno(libc::EOPNOTSUPP | libc::ENOSYS)) => {}
        result => return result,
    }
    let zeros = [0; 512];
    let mut at = offset;
    while at < offset + length {
        at += sys::write_at(file, &zeros, at)?.max(1) as u64;
    }
    Ok(())
}

/// Creates a graph file with its header, and maps its header area: in memory of this machine, or else in the run directory.
pub(crate) fn create() -> Result<(FilePlace, NonNull<u8>), Errno> {
    let begin = now().0;
    let in_run = directory_of_run();
    let mut why = Errno(libc::ENOSPC);
    for is_moved in [true, false] {
        // Not every file system has files without names, and not every process can name them.
        for open in [Draft::without_name, Draft::named] {
            // The last process of the run takes that directory away, maybe while this one begins: it is made afresh for each try.
            let Some(directory) = (if is_moved { directory_in_memory() } else { Some(in_run) }) else { continue };
            match create_in(&directory, &in_run, begin, open) {
                Ok(made) => return Ok(made),
                Err(error) => why = error,
            }
        }
    }
    Err(why)
}

/// Says that this process has no graph file.
pub(crate) fn say_unwritten(why: Errno) {
    unwritten::say(Whose::Process, directory_in_memory().as_ref(), &directory_of_run(), why);
}

fn create_in(directory: &Path, in_run: &Path, begin: u64, open: fn(&Path) -> Result<Draft, Errno>) -> Result<(FilePlace, NonNull<u8>), Errno> {
    let host = sys::host_name();
    let stem = Text::<256>::EMPTY.then(until_zero(&host)).then(b"-").number(u64::from(sys::process_id()));
    let draft = open(&directory.then(stem.bytes()))?;
    let made = begin_header(draft.file, begin).and_then(|mapped| {
        publish(&draft, directory, in_run, stem.bytes()).map(|place| (place, mapped)).inspect_err(|_| {
            // SAFETY: nobody knows of the mapping yet.
            unsafe { sys::unmap(mapped, HEADER_AREA as usize) };
        })
    });
    if made.is_err() {
        draft.discard();
    }
    sys::close(draft.file);
    made
}

/// Makes room for the header area of an empty file, maps it, and fills the header.
fn begin_header(file: Descriptor, begin: u64) -> Result<NonNull<u8>, Errno> {
    allocate(file, 0, HEADER_AREA)?;
    let mapped = sys::map_file(file, 0, HEADER_AREA as usize, PAGE as usize)?;
    // SAFETY: just mapped, long enough, aligned, and made of atomics.
    fill(unsafe { mapped.cast::<LiveHeader>().as_ref() }, begin);
    Ok(mapped)
}

/// Gives a file the first name that neither the directory nor the run directory has.
fn publish(draft: &Draft, directory: &Path, in_run: &Path, stem: &[u8]) -> Result<FilePlace, Errno> {
    const TOO_LONG: Errno = Errno(libc::ENAMETOOLONG);
    let is_moved = directory.bytes() != in_run.bytes();
    for number in 0..FILES_OF_A_PROCESS {
        let name = Text::<256>::EMPTY.then(stem).then(b"-").number(number).then(b".graph");
        let live = directory.then(name.bytes());
        let collected = in_run.then(name.bytes());
        // Left by an earlier process of this id, whose place in memory is free again.
        if is_moved && sys::is_there(collected.as_c_str().ok_or(TOO_LONG)?) {
            continue;
        }
        let path = live.as_c_str().ok_or(TOO_LONG)?;
        match draft.publish(path) {
            Ok(()) => return Ok(FilePlace { live, request: live.then(REQUEST_ENDING.as_bytes()), directory: *directory, collected, is_moved }),
            Err(Errno(libc::EEXIST)) => mark_replaced(path),
            Err(error) => return Err(error),
        }
    }
    Err(Errno(libc::EEXIST))
}

/// A file of this process id that was not closed is that of the program which this one has replaced.
fn mark_replaced(path: &CStr) {
    let Ok(file) = sys::open(path, libc::O_RDWR, 0) else { return };
    let mut state = [0; 4];
    let at = core::mem::offset_of!(LiveHeader, state) as u64;
    let is_open = sys::read_at(file, &mut state, at).is_ok() && state == (ProcessState::Running as u32).to_le_bytes();
    if is_open {
        // What cannot be marked reads as a process that was killed.
        let _ = sys::write_at(file, &(ProcessState::Replaced as u32).to_le_bytes(), at);
    }
    sys::close(file);
}

/// The directory of this run, with a slash.
fn directory_of_run() -> Path {
    settings().run_directory.then(b"/")
}

/// The directory of this run in memory, with a slash: ours alone, and with room.
fn directory_in_memory() -> Option<Path> {
    let user = settings().user;
    let directory = Path::EMPTY.then(b"/dev/shm/tare-").number(u64::from(user));
    let directory = directory.then(b"-").then(settings().run_id.bytes());
    let path = directory.as_c_str()?;
    let is_same_user = sys::user_id() == user;
    match if is_same_user { sys::make_directory(path, 0o700) } else { Ok(()) } {
        Ok(()) | Err(Errno(libc::EEXIST)) => {}
        Err(_) => return None,
    }
    let is_ours = sys::owner(path) == Some((user, true));
    let has_room = sys::free_bytes(path).is_some_and(|free| free >= ROOM_IN_MEMORY);
    (is_ours && has_room).then(|| directory.then(b"/"))
}

/// Fills a fresh header.
fn fill(header: &LiveHeader, begin: u64) {
    let settings = settings();
    header.version.store(VERSION, Ordering::Relaxed);
    header.state.store(ProcessState::Running as u32, Ordering::Relaxed);
    header.pid.store(sys::process_id(), Ordering::Relaxed);
    header.parent_pid.store(sys::parent_id(), Ordering::Relaxed);
    header.model.store(settings.model as u32, Ordering::Relaxed);
    header.flags.store(u32::from(settings.exact), Ordering::Relaxed);
    if let Some(budget) = settings.budget {
        header.budget.store(budget.0 as u32, Ordering::Relaxed);
    }
    if let Some(throttle) = settings.throttle {
        header.throttle_calls.store(throttle.calls, Ordering::Relaxed);
        header.throttle_ns.store(throttle.nanoseconds, Ordering::Relaxed);
    }
    store_bytes(&header.host, until_zero(&sys::host_name()));
    let mut link = [0; 1024];
    let path = if settings.executable.bytes().is_empty() || !crate::executable::is_copy() {
        let length = sys::read_link_at(libc::AT_FDCWD, c"/proc/self/exe", &mut link).unwrap_or(0);
        link.get(..length).unwrap_or(&[])
    } else {
        settings.executable.bytes()
    };
    store_path(&header.executable, path);
    crate::clock::anchor(header);
    let (ticks, ns) = (header.last_ticks.load(Ordering::Relaxed), header.last_ns.load(Ordering::Relaxed));
    header.start_ticks.store(ticks, Ordering::Relaxed);
    header.start_ns.store(ns, Ordering::Relaxed);
    header.span_start.store(ticks, Ordering::Relaxed);
    crate::clock::sample_core_clock(header);
    header.setup_ticks.store(now().0 - begin, Ordering::Relaxed);
    store_bytes(&header.magic, &MAGIC);
}

/// Fills a field that was empty with a path, cut at the front if too long.
pub(crate) fn store_path(field: &[AtomicU8], path: &[u8]) {
    store_bytes(field, path.get((path.len() + 1).saturating_sub(field.len())..).unwrap_or(path));
}

fn store_bytes(field: &[AtomicU8], bytes: &[u8]) {
    for (word, &byte) in field.iter().zip(bytes) {
        word.store(byte, Ordering::Relaxed);
    }
}

/// The mapped header area.
pub(crate) fn header_area() -> Option<NonNull<u8>> {
    NonNull::new(HEADER.load(Ordering::Relaxed)).map(NonNull::cast)
}

/// After a fork: the header area is that of this other file, in which no thread but the main one is yet; or
/// there is none.
///
/// # Safety
/// No other thread may run.
pub(crate) unsafe fn replace(place: Option<FilePlace>) {
    let has_names = names::arena().is_some();
    NEXT_LOCATION.store(if has_names { 2 } else { 1 }, Ordering::Relaxed);
    match place {
        // SAFETY: nobody else runs, and no reference to the old value is kept.
        Some(place) => unsafe { PLACE.set(place) },
        None => HEADER.store(core::ptr::null_mut(), Ordering::Relaxed),
    }
}
