//! Regions that get their ids while the program runs: functions with compiler hooks, by address, and regions of the
//! program's own making, by name. Their records stand in an arena of the graph file (`tare_format::names`).
//!
//! What always holds: an entry of the index is added by whoever claims its key, with signals held back, and never moves;
//! all threads see the same id for a key; what finds no room in index or arena, or whose thread was lost in a fork before
//! it was written, has the id of all that is beyond the limit.

use crate::arena::Arena;
use crate::calibration;
use crate::graph_file;
use crate::live::{LiveNamed, LiveNames};
use crate::loaded::{self, Loaded};
use crate::process::Mode;
use crate::settings::settings;
use crate::sys::{self, SignalsBlocked};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, Ordering::Relaxed};
use tare_format::description::RegionKind;
use tare_format::names::{BEYOND, MOST_REGIONS, MOST_TEXT, NAMES, NamedRegion, REGIONS, TEXTS};

/// Entries of the index, a power of two: twice as many as there can be regions.
const ENTRIES: usize = 1 << 18;
/// Entries that are looked at before a key counts as absent.
const REACH: usize = 1024;
/// Set in the keys of regions with a name; addresses do not have it.
const OF_TEXT: u64 = 1 << 63;
/// How often another thread is given way for what it has under way, and how often it is slept for after that.
const YIELDS: u32 = 1000;
const NAPS: u32 = 1000;
const NAP_NS: u32 = 1_000_000;

#[repr(C)]
#[derive(Debug)]
struct Entry {
    /// 0 while free.
    key: AtomicU64,
    /// Region id (low half; 0 while its record is written) and the generation of images in which the key was looked up.
    value: AtomicU64,
}

static INDEX: AtomicPtr<Entry> = AtomicPtr::new(core::ptr::null_mut());
static NAMES_ARENA: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
/// The id base of these regions; 0 while there is none.
static BASE: AtomicU32 = AtomicU32::new(NOT_BEGUN);
const NOT_BEGUN: u32 = u32::MAX;
const BEGINNING: u32 = u32::MAX - 1;
/// There are none, for good.
const NONE: u32 = u32::MAX - 2;
/// Counts the times that images have gone.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// What a region of the program's own making is called: kind and name tell it from others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'a> {
    pub(crate) kind: RegionKind,
    pub(crate) name: &'a [u8],
    /// Where it was first met.
    pub(crate) file: &'a [u8],
    pub(crate) line: u32,
    /// What regions have in common of which one takes the place of the other.
    pub(crate) family: u64,
}

/// The region of a function with hooks. `None` while nothing is recorded.
///
/// # Probe-safe
#[inline]
pub(crate) fn of_function(address: u64) -> Option<u32> {
    if let Some(value) = find(address)
        && (value >> 32) as u32 == GENERATION.load(Relaxed)
        && value as u32 != 0
    {
        return Some(value as u32);
    }
    add_function(address)
}

/// The region with this name. `None` while nothing is recorded.
pub(crate) fn of_name(name: &Name<'_>) -> Option<u32> {
    let key = OF_TEXT | hash(name);
    match find(key) {
        Some(value) if value as u32 != 0 => Some(value as u32),
        _ => add(key, |base| write_name(base, name)),
    }
}

/// The family of a region; 0 for those without one.
pub(crate) fn family(region: u32) -> u64 {
    let number = region.wrapping_sub(BASE.load(Relaxed));
    arena().filter(|_| (1..=MOST_REGIONS).contains(&number)).map_or(0, |arena| record(arena, number).bias.load(Relaxed))
}

/// Images may have gone: what was known of an address may be wrong.
pub(crate) fn forget_addresses() {
    GENERATION.fetch_add(1, Relaxed);
}

fn index() -> Option<&'static [Entry]> {
    let start = core::ptr::NonNull::new(INDEX.load(Ordering::Acquire))?;
    // SAFETY: mapped for good with room for all, zeroed, made of atomics.
    Some(unsafe { core::slice::from_raw_parts(start.as_ptr(), ENTRIES) })
}

#[inline]
fn places(key: u64) -> impl Iterator<Item = usize> {
    let first = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
    (0..REACH).map(move |step| (first + step) & (ENTRIES - 1))
}

#[inline]
fn find(key: u64) -> Option<u64> {
    let index = index()?;
    for place in places(key) {
        let entry = index.get(place)?;
        match entry.key.load(Relaxed) {
            found if found == key => return Some(entry.value.load(Ordering::Acquire)),
            0 => return None,
            _ => {}
        }
    }
    None
}

fn hash(name: &Name<'_>) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let start = step(0xcbf2_9ce4_8422_2325, name.kind as u8);
    name.name.iter().fold(start, |hash, &byte| step(hash, byte))
}

#[cold]
fn add_function(address: u64) -> Option<u32> {
    let known = find(address).map(|value| value as u32).filter(|&region| region != 0);
    let _signals = SignalsBlocked::new();
    if let Some(region) = known {
        return Some(look_again(address, region));
    }
    add(address, |base| {
        let image = loaded::image_of(address);
        write_function(base, address, image.as_ref())
    })
}

/// A function whose address was looked up before images went: the same one, or another that is there now.
fn look_again(address: u64, region: u32) -> u32 {
    let base = BASE.load(Relaxed);
    let image = loaded::image_of(address);
    let number = region.wrapping_sub(base);
    let is_same = |arena: Arena, image: &Loaded| {
        let record = record(arena, number);
        record.bias.load(Relaxed) == image.bias && text_is(arena, record.image.load(Relaxed), record.image_length.load(Relaxed), image.path.bytes())
    };
    let stays = number > MOST_REGIONS || arena().zip(image.as_ref()).is_some_and(|(arena, image)| is_same(arena, image));
    let region = if stays { region } else { write_function(base, address, image.as_ref()) };
    if let (Some(index), Some(place)) = (index(), place_of(address)) {
        let value = u64::from(GENERATION.load(Relaxed)) << 32 | u64::from(region);
        index.get(place).inspect(|entry| entry.value.store(value, Ordering::Release));
    }
    region
}

fn place_of(key: u64) -> Option<usize> {
    let index = index()?;
    places(key).find(|&place| index.get(place).is_some_and(|entry| entry.key.load(Relaxed) == key))
}

/// Adds a key, unless another thread does at this moment; `write` makes its record and returns its id.
fn add(key: u64, write: impl FnOnce(u32) -> u32) -> Option<u32> {
    let base = begin()?;
    let _signals = SignalsBlocked::new();
    let index = index()?;
    for place in places(key) {
        let entry = index.get(place)?;
        match entry.key.compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Some(decide(entry, write(base))),
            Err(found) if found == key => {
                let written = await_value(|| entry.value.load(Ordering::Acquire) != 0);
                return Some(if written { entry.value.load(Ordering::Acquire) as u32 } else { decide(entry, base + BEYOND) });
            }
            Err(_) => {}
        }
    }
    Some(base + BEYOND)
}

/// Gives an entry its region, unless a thread that no longer waited gave it another; returns the one that it has.
fn decide(entry: &Entry, region: u32) -> u32 {
    let value = u64::from(GENERATION.load(Relaxed)) << 32 | u64::from(region);
    entry.value.compare_exchange(0, value, Ordering::AcqRel, Ordering::Acquire).map_or_else(|decided| decided as u32, |_| region)
}

/// Waits for what another thread is about to write, and says whether it came. It never comes if the thread was lost in a fork.
fn await_value(is_there: impl Fn() -> bool) -> bool {
    (0..YIELDS + NAPS).any(|round| {
        if is_there() {
            return true;
        }
        match round {
            0..YIELDS => sys::give_way(),
            _ => sys::sleep_ns(NAP_NS),
        }
        false
    })
}

/// The id base, after the index, the ids and the arena have been made.
fn begin() -> Option<u32> {
    let _signals = match BASE.load(Ordering::Acquire) {
        NOT_BEGUN | BEGINNING => SignalsBlocked::new(),
        NONE => return None,
        base => return Some(base),
    };
    if settings().mode != Mode::Measure {
        return None;
    }
    let base = match BASE.compare_exchange(NOT_BEGUN, BEGINNING, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => make().unwrap_or(NONE),
        Err(_) if await_value(|| BASE.load(Ordering::Acquire) != BEGINNING) => return begin(),
        Err(_) => NONE,
    };
    let decided = BASE.compare_exchange(BEGINNING, base, Ordering::AcqRel, Ordering::Acquire).map_or_else(|decided| decided, |_| base);
    (decided != NONE).then_some(decided)
}

/// Makes what the regions need.
fn make() -> Option<u32> {
    graph_file::header_or_create()?;
    let base = graph_file::reserve_regions(BEYOND)?;
    let entries = sys::map_memory(ENTRIES * size_of::<Entry>()).ok()?;
    INDEX.store(entries.cast().as_ptr(), Ordering::Release);
    if !graph_file::record_image(base, BEYOND, 0, &[0; 16]) {
        return None;
    }
    let stand_in = make as fn() -> Option<u32> as usize as u64;
    if let Some(entry) = places(stand_in).next().and_then(|place| index()?.get(place)) {
        entry.key.store(stand_in, Relaxed);
        entry.value.store(u64::from(base + BEYOND), Ordering::Release);
        calibration::calibrate_hooks(stand_in);
    }
    if let Some(arena) = graph_file::new_extra_arena() {
        names(arena).state.store(NAMES, Ordering::Release);
        NAMES_ARENA.store(arena.start().as_ptr(), Ordering::Release);
    }
    Some(base)
}

/// The arena with names.
pub(crate) fn arena() -> Option<Arena> {
    let start = core::ptr::NonNull::new(NAMES_ARENA.load(Ordering::Acquire))?;
    // SAFETY: an arena, mapped for good.
    Some(unsafe { Arena::at(start) })
}

/// There are no names any more: their arena is another process's.
pub(crate) fn give_up() {
    NAMES_ARENA.store(core::ptr::null_mut(), Ordering::Release);
}

/// Bytes from the arena's start, and how many, that are in use.
pub(crate) fn ranges_in_use(arena: Arena) -> [(u64, u64); 3] {
    let names = names(arena);
    let regions = u64::from(names.regions.load(Relaxed).min(MOST_REGIONS)) * NamedRegion::SIZE as u64;
    [(0, crate::arena::PAGE), (REGIONS, regions), (TEXTS, u64::from(names.text.load(Relaxed).min(MOST_TEXT)))]
}

fn names(arena: Arena) -> &'static LiveNames {
    // SAFETY: stands at the arena's start, made of atomics.
    unsafe { arena.start().cast::<LiveNames>().as_ref() }
}

/// The record of a region, whose number is from 1 to the limit.
fn record(arena: Arena, number: u32) -> &'static LiveNamed {
    let offset = REGIONS + u64::from(number.clamp(1, MOST_REGIONS) - 1) * NamedRegion::SIZE as u64;
    // SAFETY: within the arena's table.
    let record = unsafe { arena.start().add(offset as usize) };
    // SAFETY: aligned, mapped for good, made of atomics.
    unsafe { record.cast::<LiveNamed>().as_ref() }
}

/// A fresh record with its number, whose pages are there.
fn fresh() -> Option<(Arena, u32, &'static LiveNamed)> {
    let arena = arena()?;
    let next = |number: u32| (number < MOST_REGIONS).then_some(number + 1);
    let number = 1 + names(arena).regions.fetch_update(Ordering::AcqRel, Relaxed, next).ok()?;
    let offset = REGIONS + u64::from(number - 1) * NamedRegion::SIZE as u64;
    allocate(arena, offset, NamedRegion::SIZE as u64).then(|| (arena, number, record(arena, number)))
}

fn allocate(arena: Arena, offset: u64, length: u64) -> bool {
    let start = offset / crate::arena::PAGE * crate::arena::PAGE;
    arena.allocate(start, (offset + length).next_multiple_of(crate::arena::PAGE) - start)
}

/// Keeps a text; its place and length, which are 0 where there is no room.
fn keep(arena: Arena, bytes: &[u8]) -> (u32, u32) {
    let length = bytes.len() as u32;
    let next = |used: u32| used.checked_add(length).filter(|&end| end <= MOST_TEXT);
    let Ok(start) = names(arena).text.fetch_update(Ordering::AcqRel, Relaxed, next) else { return (0, 0) };
    let offset = TEXTS + u64::from(start);
    if length == 0 || !allocate(arena, offset, u64::from(length)) {
        return (0, 0);
    }
    // SAFETY: within the arena, and its pages are there.
    let place = unsafe { arena.start().add(offset as usize) };
    // SAFETY: nobody else has this stretch of the texts.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), place.as_ptr(), bytes.len()) };
    (start, length)
}

fn text_is(arena: Arena, start: u32, length: u32, bytes: &[u8]) -> bool {
    if length as usize != bytes.len() || u64::from(start) + u64::from(length) > u64::from(MOST_TEXT) {
        return false;
    }
    // SAFETY: within the arena.
    let place = unsafe { arena.start().add((TEXTS + u64::from(start)) as usize) };
    // SAFETY: a text that was kept is not written again.
    (unsafe { core::slice::from_raw_parts(place.as_ptr(), bytes.len()) }) == bytes
}

fn write_name(base: u32, name: &Name<'_>) -> u32 {
    let Some((arena, number, record)) = fresh() else { return base + BEYOND };
    let (text, file) = (keep(arena, name.name), keep(arena, name.file));
    record.line.store(name.line, Relaxed);
    record.name.store(text.0, Relaxed);
    record.name_length.store(text.1, Relaxed);
    record.file.store(file.0, Relaxed);
    record.file_length.store(file.1, Relaxed);
    record.bias.store(name.family, Relaxed);
    record.kind.store(name.kind as u32 + 1, Ordering::Release);
    base + number
}

fn write_function(base: u32, address: u64, image: Option<&Loaded>) -> u32 {
    let Some((arena, number, record)) = fresh() else { return base + BEYOND };
    if let Some(image) = image {
        let (path, build) = image_texts(arena, number, image);
        record.image.store(path.0, Relaxed);
        record.image_length.store(path.1, Relaxed);
        record.build.store(build.0, Relaxed);
        record.build_length.store(build.1, Relaxed);
    }
    let bias = image.map_or(0, |image| image.bias);
    record.address.store(address.wrapping_sub(bias), Relaxed);
    record.bias.store(bias, Relaxed);
    record.kind.store(RegionKind::Function as u32 + 1, Ordering::Release);
    base + number
}

type Place = (u32, u32);

/// Where path and build id of an image stand: as one of the latest regions has them, or kept now.
fn image_texts(arena: Arena, number: u32, image: &Loaded) -> (Place, Place) {
    const LATEST: usize = 64;
    for record in (1..number).rev().take(LATEST).map(|number| record(arena, number)) {
        let path = (record.image.load(Relaxed), record.image_length.load(Relaxed));
        let is_written = record.kind.load(Ordering::Acquire) != 0;
        if is_written && record.bias.load(Relaxed) == image.bias && text_is(arena, path.0, path.1, image.path.bytes()) {
            return (path, (record.build.load(Relaxed), record.build_length.load(Relaxed)));
        }
    }
    (keep(arena, image.path.bytes()), keep(arena, image.build_id.bytes()))
}
