//! Instrumented images in this process: found by their note, given ids, connected to the probe routines.
//!
//! An image is connected where its own slots say so: one that is unmapped and mapped again, maybe at the same place, has none that are
//! filled. Whatever reads or writes images that another thread may close does so while the dynamic linker lists them, which it
//! does not while it maps or unmaps one.

use crate::graph_file;
use crate::loaded;
use crate::pause;
use crate::probe::{self, Routines};
use crate::process::{IdBase, Mode};
use crate::settings::settings;
use crate::sys::{self, Errno};
use crate::text::Path;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use tare_format::description;
use tare_format::note::{ImageNote, NOTE_NAME, NOTE_TYPE, NOTE_VERSION};
use tare_format::probe::slot_offset;

/// Images that are looked at in one process.
const MOST: usize = tare_format::graph::IMAGES;

/// Whether the program itself (not one of its libraries) is an instrumented image.
static PROGRAM_IS_IMAGE: AtomicBool = AtomicBool::new(false);

/// Whether the program itself is an instrumented image.
pub(crate) fn program_is_image() -> bool {
    PROGRAM_IS_IMAGE.load(Ordering::Relaxed)
}

/// An image as the dynamic linker lists it.
#[derive(Clone, Copy, Debug)]
struct Image {
    note: ImageNote,
    /// Address of the note's descriptor.
    at: usize,
    bias: u64,
    /// The link address behind all that is loaded of it.
    end: u64,
    /// It is the program itself, not a library.
    is_program: bool,
}

struct Search<'a> {
    listed: usize,
    work: &'a mut dyn FnMut(&Image),
}

/// Remembers whether the program is an instrumented image.
pub(crate) fn look() {
    each(&mut |_| ());
}

/// Does something with each instrumented image among those that are loaded, which stay so meanwhile, and remembers whether the program
/// is one. With signals held back where other threads may run.
fn each(work: &mut dyn FnMut(&Image)) {
    let mut search = Search { listed: 0, work };
    // SAFETY: the callback gets the pointer to `search`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
}

/// Connects each instrumented image that is not connected yet to the graph file, which is created for the first one. Says whether there
/// is any.
pub(crate) fn connect() -> bool {
    let _signals = sys::SignalsBlocked::new();
    let mut any = false;
    each(&mut |image| {
        any |= match settings().mode {
            Mode::Measure => connect_one(image),
            Mode::Clock => graph_file::header_or_create().is_some(),
            Mode::None => false,
        };
    });
    any
}

/// With the image staying.
fn is_connected(image: &Image) -> bool {
    let entry = core::ptr::with_exposed_provenance::<AtomicU64>(slots_of(image) + slot_offset::ENTER as usize);
    // SAFETY: within the slots of an image that stays loaded, aligned.
    unsafe { &*entry }.load(Ordering::Acquire) != 0
}

fn slots_of(image: &Image) -> usize {
    image.at.wrapping_add_signed(image.note.slots as isize)
}

/// Forgets the slots of images that are gone.
pub(crate) fn forget_gone() {
    let _signals = sys::SignalsBlocked::new();
    loaded::while_images_stay(|| {
        for slots in CONNECTED.iter().map(|known| &known.slots).filter(|slots| slots.load(Ordering::Relaxed) != 0) {
            if !loaded::is_loaded(slots.load(Ordering::Relaxed) as u64) {
                slots.store(0, Ordering::Relaxed);
            }
        }
    });
}

/// Called by the dynamic linker for each image; the first one is the program.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> i32 {
    // SAFETY: `each` passes a pointer to a `Search` that nobody else uses meanwhile.
    let search = unsafe { &mut *search.cast::<Search<'_>>() };
    // SAFETY: the dynamic linker passes a valid record.
    let info = unsafe { &*info };
    // SAFETY: as many program headers as the record says stand at that address.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let image = headers.iter().filter(|header| header.p_type == libc::PT_NOTE).find_map(|header| {
        let start = (info.dlpi_addr + header.p_vaddr) as usize;
        // SAFETY: a note segment is mapped for reading with its memory size.
        let bytes = unsafe { memory(start, header.p_memsz as usize) };
        let (offset, note) = find_note(bytes, if header.p_align == 8 { 8 } else { 4 })?;
        let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let end = loaded.map(|header| header.p_vaddr + header.p_memsz).max().unwrap_or(0);
        Some(Image { note, at: start + offset, bias: info.dlpi_addr, end, is_program: search.listed == 0 })
    });
    if search.listed == 0 && image.is_some() {
        PROGRAM_IS_IMAGE.store(true, Ordering::Relaxed);
    }
    search.listed += 1;
    if let Some(image) = image {
        (search.work)(&image);
    }
    0
}

/// Memory of a loaded image.
///
/// # Safety
/// It must be mapped for reading and stay so.
pub(crate) unsafe fn memory(start: usize, length: usize) -> &'static [u8] {
    // SAFETY: as the caller vouches.
    unsafe { core::slice::from_raw_parts(core::ptr::with_exposed_provenance(start), length) }
}

/// Our note among those of a segment, with the offset of its descriptor.
fn find_note(bytes: &[u8], alignment: usize) -> Option<(usize, ImageNote)> {
    let (offset, descriptor) = find_named(bytes, alignment, NOTE_NAME, NOTE_TYPE)?;
    let note = ImageNote::from_bytes(descriptor)?;
    (note.version == NOTE_VERSION).then_some((offset, note))
}

/// The build id among the notes of a segment.
pub(crate) fn find_build_id(bytes: &[u8], alignment: usize) -> Option<&[u8]> {
    const BUILD_ID: u32 = 3;
    find_named(bytes, alignment, b"GNU\0", BUILD_ID).map(|(_, id)| id)
}

/// The descriptor of a note with this name and type, with its offset.
fn find_named<'a>(bytes: &'a [u8], alignment: usize, name: &[u8], wanted: u32) -> Option<(usize, &'a [u8])> {
    let mut at = 0;
    loop {
        let word = |offset: usize| {
            let word = bytes.get(at + offset..at + offset + 4)?;
            Some(u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        };
        let (name_length, length, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let descriptor = (at + 12 + name_length).next_multiple_of(alignment);
        if kind == wanted && bytes.get(at + 12..at + 12 + name_length) == Some(name) {
            return Some((descriptor, bytes.get(descriptor..descriptor + length)?));
        }
        at = (descriptor + length).next_multiple_of(alignment);
    }
}

/// Gives an image its ids, its description to the run directory, and the routines to its slots. With the image staying.
fn connect_one(image: &Image) -> bool {
    let note = &image.note;
    let start = image.at.wrapping_add_signed(note.description as isize);
    // SAFETY: the note says where its description is mapped, and how long it is.
    let description = unsafe { memory(start, note.description_length as usize) };
    let slots = slots_of(image);
    if is_connected(image) {
        return true;
    }
    let Some(base) = register(description, note.regions, &note.identity, image.bias) else { return false };
    know(image, slots, description);
    // SAFETY: the note says where its slots are, in a writable segment; they hold no other word there.
    unsafe { fill_slots(slots, base) };
    if pause::is_paused() {
        // SAFETY: as above.
        unsafe { lead_to(slots, probe::no_routines()) };
    }
    true
}

/// Enters an image among those that are connected. One that was where it is now has gone.
fn know(image: &Image, slots: usize, description: &[u8]) {
    let overlaps = |known: &&Connected| {
        let bias = known.bias.load(Ordering::Relaxed);
        bias < image.bias + image.end && image.bias < bias + known.end.load(Ordering::Relaxed)
    };
    for gone in CONNECTED.iter().filter(|known| known.slots.load(Ordering::Relaxed) != 0).filter(overlaps) {
        gone.slots.store(0, Ordering::Relaxed);
    }
    if let Some(free) = CONNECTED.iter().find(|known| known.slots.load(Ordering::Relaxed) == 0) {
        free.bias.store(image.bias, Ordering::Relaxed);
        free.end.store(image.end, Ordering::Relaxed);
        free.is_program.store(image.is_program, Ordering::Relaxed);
        free.description.0.store(description.as_ptr().expose_provenance(), Ordering::Relaxed);
        free.description.1.store(description.len(), Ordering::Relaxed);
        free.slots.store(slots, Ordering::Release);
    }
}

/// Enters a description's regions into the graph file. See [`crate::process::register_pseudo_image`].
pub(crate) fn register(description: &[u8], regions: u32, identity: &[u8; 16], bias: u64) -> Option<IdBase> {
    graph_file::header_or_create()?;
    if let Some(base) = graph_file::known_image(identity) {
        return Some(IdBase(base));
    }
    let base = graph_file::reserve_regions(regions)?;
    copy_description(description, identity);
    graph_file::record_image(base, regions, bias, identity).then_some(IdBase(base))
}

/// Connects an image: the id base first, what stubs work on and the way in last.
///
/// # Safety
/// `slots` must be the address of an image's slots.
pub(crate) unsafe fn fill_slots(slots: usize, base: IdBase) {
    let id_base = core::ptr::with_exposed_provenance_mut::<AtomicU32>(slots + slot_offset::ID_BASE as usize);
    // SAFETY: within the slots, aligned.
    unsafe { &*id_base }.store(base.0, Ordering::Release);
    // SAFETY: as the caller vouches.
    unsafe { lead_to(slots, probe::routines()) };
}

/// Lets an image's slots lead to these routines.
///
/// # Safety
/// `slots` must be the address of an image's slots.
unsafe fn lead_to(slots: usize, routines: Routines) {
    let state = core::ptr::with_exposed_provenance_mut::<AtomicI64>(slots + slot_offset::STATE as usize);
    // SAFETY: as below.
    unsafe { &*state }.store(routines.state, Ordering::Release);
    let ways = [
        (slot_offset::EXIT_REGION, routines.exit_region),
        (slot_offset::ENTER_REGION, routines.enter_region),
        (slot_offset::EXIT, routines.exit),
        (slot_offset::ENTER_LEAF, routines.enter_leaf),
        (slot_offset::ENTER, routines.enter),
    ];
    for (offset, routine) in ways {
        let word = core::ptr::with_exposed_provenance_mut::<AtomicU64>(slots + offset as usize);
        // SAFETY: within the slots, aligned.
        unsafe { &*word }.store(routine, Ordering::Release);
    }
}

/// An image that is connected.
struct Connected {
    /// Address of its slots; 0 where it has gone, or none was here.
    slots: AtomicUsize,
    bias: AtomicU64,
    /// The link address behind all that is loaded of it.
    end: AtomicU64,
    is_program: AtomicBool,
    /// Address and length of its description.
    description: (AtomicUsize, AtomicUsize),
}

impl Connected {
    const fn none() -> Self {
        Self {
            slots: AtomicUsize::new(0),
            bias: AtomicU64::new(0),
            end: AtomicU64::new(0),
            is_program: AtomicBool::new(false),
            description: (AtomicUsize::new(0), AtomicUsize::new(0)),
        }
    }

    /// Its description.
    ///
    /// # Safety
    /// The image must stay loaded while the answer is used: the description goes with it.
    unsafe fn description(&self) -> &'static [u8] {
        let (start, length) = &self.description;
        // SAFETY: as the caller vouches.
        unsafe { memory(start.load(Ordering::Relaxed), length.load(Ordering::Relaxed)) }
    }
}

static CONNECTED: [Connected; MOST] = [const { Connected::none() }; MOST];

/// Whether a call that comes back to this address asks MPI in passing whether something is complete.
pub(crate) fn is_asked_in_passing(returns_to: u64) -> bool {
    let Some((known, address)) = connected(returns_to) else { return false };
    // SAFETY: the call is in the image.
    description::is_question(unsafe { known.description() }, address)
}

/// The directory of the original of the connected image that holds an address.
///
/// # Safety
/// The image must stay loaded while the answer is used.
pub(crate) unsafe fn folder_of_original(address: u64) -> Option<&'static [u8]> {
    let (known, _) = connected(address)?;
    // SAFETY: as the caller vouches.
    let path = description::path_in(unsafe { known.description() })?;
    let last = path.iter().rposition(|&byte| byte == b'/')?;
    path.get(..last.max(1))
}

/// The path of the original of the connected library that holds an address; `None` in the program itself.
///
/// # Safety
/// The library must stay loaded while the answer is used.
pub(crate) unsafe fn original_library(address: u64) -> Option<&'static CStr> {
    let (known, _) = connected(address).filter(|(known, _)| !known.is_program.load(Ordering::Relaxed))?;
    // SAFETY: as the caller vouches.
    description::terminated_path_in(unsafe { known.description() })
}

/// The connected image that holds an address, and the link address.
fn connected(address: u64) -> Option<(&'static Connected, u64)> {
    CONNECTED.iter().filter(|known| known.slots.load(Ordering::Acquire) != 0).find_map(|known| {
        let address = address.wrapping_sub(known.bias.load(Ordering::Relaxed));
        (address < known.end.load(Ordering::Relaxed)).then_some((known, address))
    })
}

/// Lets the probes of all images do nothing, or what they do otherwise.
pub(crate) fn silence(is_silent: bool) {
    let _signals = sys::SignalsBlocked::new();
    let routines = if is_silent { probe::no_routines() } else { probe::routines() };
    each(&mut |image| {
        if is_connected(image) {
            // SAFETY: the slots of an image that stays meanwhile.
            unsafe { lead_to(slots_of(image), routines) };
        }
    });
}

/// Copies a description to the run directory, under its identity, whole or not at all.
fn copy_description(description: &[u8], identity: &[u8; 16]) -> Option<()> {
    let directory = settings().run_directory.then(b"/");
    let path: Path = directory.hexadecimal(identity).then(b".regions");
    if sys::is_readable(path.as_c_str()?) {
        return Some(());
    }
    let draft = directory.then(b".").hexadecimal(identity).then(b"-").number(u64::from(sys::process_id()));
    let draft = draft.then(b".draft");
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
    let file = sys::open(draft.as_c_str()?, flags, 0o644).ok()?;
    let written = write_all(file, description);
    sys::close(file);
    let placed =
        written.and_then(|()| sys::rename(draft.as_c_str().ok_or(Errno(libc::ENAMETOOLONG))?, path.as_c_str().ok_or(Errno(libc::ENAMETOOLONG))?));
    if placed.is_err() {
        sys::unlink(draft.as_c_str()?);
    }
    placed.ok()
}

fn write_all(file: sys::Descriptor, bytes: &[u8]) -> Result<(), Errno> {
    sys::is_allowed(bytes.len() as u64)?;
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        match sys::write_at(file, rest, done as u64)? {
            0 => return Err(Errno(libc::ENOSPC)),
            written => done += written,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::find_note;
    use std::vec::Vec;
    use tare_format::note::{ImageNote, NOTE_TYPE, NOTE_VERSION};

    fn note(name: &[u8], kind: u32, descriptor: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [name.len() as u32, descriptor.len() as u32, kind] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(name);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(descriptor);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn our_note_is_found_behind_others() {
        let ours = ImageNote { version: NOTE_VERSION, regions: 3, description: 64, description_length: 500, slots: 4096, identity: [1; 16] };
        let mut bytes = note(b"GNU\0", 3, &[7; 20]);
        let place = bytes.len() + 24;
        bytes.extend(note(b"Tareweight\0", NOTE_TYPE, &ours.to_bytes()));
        assert_eq!(find_note(&bytes, 4), Some((place, ours)));
        for length in 0..bytes.len() {
            assert_eq!(find_note(&bytes[..length], 4), None, "of {length} bytes");
        }
    }
}
