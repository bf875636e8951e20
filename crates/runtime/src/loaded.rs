//! The images that are loaded: which one holds an address.

use crate::images::{find_build_id, memory};
use crate::settings::settings;
use crate::sys;
use crate::text::{Path, Text};
use core::ffi::{CStr, c_void};

/// An image that holds an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded {
    pub(crate) path: Path,
    /// In hexadecimal; empty where it has none.
    pub(crate) build_id: Text<80>,
    /// Load address minus link address.
    pub(crate) bias: u64,
    /// It names directories in which the libraries that it opens are looked for first.
    pub(crate) has_search_path: bool,
}

/// Does something while no image comes or goes: the dynamic linker neither lists nor unmaps one meanwhile, whatever thread asks it to.
/// With signals held back. `None` where it lists none.
pub(crate) fn while_images_stay<R>(work: impl FnOnce() -> R) -> Option<R> {
    let mut task = Task { work: Some(work), result: None };
    // SAFETY: the callback gets the pointer to `task`, of this type, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(carry_out(&task)), (&raw mut task).cast()) };
    task.result
}

struct Task<F, R> {
    work: Option<F>,
    result: Option<R>,
}

type Visit = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> i32;

/// What the dynamic linker calls to have a task of this type done.
fn carry_out<F: FnOnce() -> R, R>(_task: &Task<F, R>) -> Visit {
    unsafe extern "C" fn visit<F: FnOnce() -> R, R>(_info: *mut libc::dl_phdr_info, _size: usize, task: *mut c_void) -> i32 {
        // SAFETY: `while_images_stay` passes a pointer to such a task, that nobody else uses meanwhile.
        let task = unsafe { &mut *task.cast::<Task<F, R>>() };
        task.result = task.work.take().map(|work| work());
        1
    }
    visit::<F, R>
}

/// Whether an image holds an address.
pub(crate) fn is_loaded(address: u64) -> bool {
    image_of(address).is_some()
}

struct Search {
    address: u64,
    is_first: bool,
    found: Option<Loaded>,
}

/// The image that holds an address. With signals held back.
pub(crate) fn image_of(address: u64) -> Option<Loaded> {
    let mut search = Search { address, is_first: true, found: None };
    // SAFETY: the callback gets the pointer to `search`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> i32 {
    // SAFETY: `image_of` passes a pointer to a `Search` that nobody else uses meanwhile.
    let search = unsafe { &mut *search.cast::<Search>() };
    // SAFETY: the dynamic linker passes a valid record.
    let info = unsafe { &*info };
    // SAFETY: as many program headers as the record says stand at that address.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let is_program = core::mem::replace(&mut search.is_first, false);
    let holds = |header: &libc::Elf64_Phdr| {
        let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
        header.p_type == libc::PT_LOAD && search.address.wrapping_sub(start) < header.p_memsz
    };
    if !headers.iter().any(holds) {
        return 0;
    }
    let mut build_id = Text::EMPTY;
    for header in headers.iter().filter(|header| header.p_type == libc::PT_NOTE) {
        // SAFETY: a note segment is mapped for reading with its memory size.
        let bytes = unsafe { memory((info.dlpi_addr + header.p_vaddr) as usize, header.p_memsz as usize) };
        if let Some(id) = find_build_id(bytes, if header.p_align == 8 { 8 } else { 4 }) {
            build_id = Text::EMPTY.hexadecimal(id);
        }
    }
    let path = if is_program { own_path() } else { name(info.dlpi_name) };
    let has_search_path = headers.iter().filter(|header| header.p_type == libc::PT_DYNAMIC).any(|header| {
        // SAFETY: the dynamic section is mapped for reading with its memory size.
        has_search_path(unsafe { memory((info.dlpi_addr + header.p_vaddr) as usize, header.p_memsz as usize) })
    });
    search.found = Some(Loaded { path, build_id, bias: info.dlpi_addr, has_search_path });
    1
}

/// Whether a dynamic section has an entry `DT_RPATH` or `DT_RUNPATH`.
fn has_search_path(section: &[u8]) -> bool {
    const END: u64 = 0;
    const PATHS: [u64; 2] = [15, 29];
    let tags = section.chunks_exact(16).filter_map(|entry| Some(u64::from_le_bytes(entry.get(..8)?.try_into().ok()?)));
    tags.take_while(|&tag| tag != END).any(|tag| PATHS.contains(&tag))
}

fn name(text: *const core::ffi::c_char) -> Path {
    if text.is_null() {
        return Path::EMPTY;
    }
    // SAFETY: the dynamic linker names images by strings that stay as long as they do.
    Path::EMPTY.then(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// The path of the program: of the original where it is a copy.
fn own_path() -> Path {
    if crate::executable::is_copy() {
        return settings().executable;
    }
    let mut link = [0; 1023];
    let length = sys::read_link_at(libc::AT_FDCWD, c"/proc/self/exe", &mut link).unwrap_or(0);
    Path::EMPTY.then(link.get(..length).unwrap_or(&[]))
}

#[cfg(test)]
mod tests {
    use super::has_search_path;

    #[test]
    fn search_paths_stand_before_the_end_of_a_dynamic_section() {
        let section = |tags: &[u64]| tags.iter().flat_map(|&tag| [tag, 7]).flat_map(u64::to_le_bytes).collect::<std::vec::Vec<u8>>();
        assert!(has_search_path(&section(&[1, 29, 0])) && has_search_path(&section(&[15])));
        assert!(!has_search_path(&section(&[1, 0, 29])) && !has_search_path(&section(&[])));
    }
}
