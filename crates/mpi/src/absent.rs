//! Functions that the library behind us does not have.
//!
//! A program may ask whether there is one, by a weak reference or `dlsym`, and do without where there is none: what is absent
//! there must not be found here. Which library it is shows when the program is loaded, or when it loads it. Then the symbols of these
//! functions are struck from our own table, which the dynamic linker reads at each look-up. (What a program refers to weakly and is linked
//! to was looked up before.)

use crate::abi::Abi;
use crate::real::{self, own_handle};
use crate::table::FUNCTIONS;
use core::ffi::{CStr, c_char, c_void};

const RTLD_DI_LINKMAP: i32 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_GNU_HASH: i64 = 0x6fff_fef5;

/// The begin of glibc's `struct link_map`.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
    dynamic: *const [i64; 2],
}

/// Our own table of symbols.
struct Symbols {
    first: *mut libc::Elf64_Sym,
    names: *const c_char,
    number: usize,
}

/// Strikes what the library lacks, if one is loaded. For constructors.
pub fn strike(abi: &'static Abi) {
    if real::is_any_loaded(abi) {
        strike_now(abi);
    }
}

/// Strikes what the library lacks, which is loaded. Each function is looked for once, under the name of its profiling interface.
pub(crate) fn strike_now(abi: &Abi) {
    let behind = real::Behind::of(abi);
    let names = FUNCTIONS.iter().map(|function| function.profiling_name);
    let mut absent: Vec<&[u8]> = names.filter(|name| !behind.has(name)).map(|name| without_p(name.to_bytes())).collect();
    absent.sort_unstable();
    let Some(symbols) = Symbols::own().filter(|_| !absent.is_empty()) else { return };
    let is_absent = |name: &CStr| absent.binary_search(&without_p(name.to_bytes())).is_ok();
    let indices: Vec<usize> = (0..symbols.number).filter(|&index| symbols.defined(index).is_some_and(is_absent)).collect();
    symbols.erase(&indices);
}

/// The name `MPI_X` of a function, of that or of `PMPI_X`.
fn without_p(name: &[u8]) -> &[u8] {
    name.strip_prefix(b"P").unwrap_or(name)
}

impl Symbols {
    /// `None` where the dynamic linker does not say where it is.
    fn own() -> Option<Self> {
        let mut map: *const LinkMap = core::ptr::null();
        let own = own_handle()?;
        // SAFETY: the handle is open, and there is room for the answer.
        if unsafe { libc::dlinfo(own, RTLD_DI_LINKMAP, (&raw mut map).cast()) } != 0 || map.is_null() {
            return None;
        }
        // SAFETY: this is the map of our own library, which stays.
        let mut entry = unsafe { (*map).dynamic };
        let (mut first, mut names, mut hash) = (0, 0, 0);
        loop {
            // SAFETY: the array ends with a zero.
            let [tag, value] = unsafe { *entry };
            match tag {
                0 => break,
                DT_STRTAB => names = value as usize,
                DT_SYMTAB => first = value as usize,
                DT_GNU_HASH => hash = value as usize,
                _ => {}
            }
            entry = entry.wrapping_add(1);
        }
        let is_whole = first != 0 && names != 0 && hash != 0;
        // SAFETY: a table of hashes of our own library.
        is_whole.then(|| Self { first: first as *mut _, names: names as *const c_char, number: unsafe { hashed(hash as *const u32) } })
    }

    /// The name of a symbol that is defined.
    fn defined(&self, index: usize) -> Option<&'static CStr> {
        // SAFETY: the table has so many entries.
        let symbol = unsafe { self.first.wrapping_add(index).read() };
        if symbol.st_shndx == 0 {
            return None;
        }
        // SAFETY: the names of our own symbols, terminated, which stay.
        Some(unsafe { CStr::from_ptr(self.names.wrapping_add(symbol.st_name as usize)) })
    }

    /// Makes entries some of symbols that are not defined.
    fn erase(&self, indices: &[usize]) {
        let (Some(&low), Some(&high)) = (indices.first(), indices.last()) else { return };
        // SAFETY: the call has no preconditions.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let (low, high) = (self.first.wrapping_add(low) as usize & !(page - 1), self.first.wrapping_add(high + 1) as usize);
        // SAFETY: these pages are of our own image, which stays, and have been readable only.
        let protect = |how| unsafe { libc::mprotect(low as *mut c_void, high - low, how) };
        if protect(libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return;
        }
        for &index in indices {
            let symbol = self.first.wrapping_add(index);
            // SAFETY: an entry of the table, which can be read at any time.
            let erased = libc::Elf64_Sym { st_shndx: 0, st_value: 0, ..unsafe { symbol.read() } };
            // SAFETY: it can be written now; whoever looks meanwhile finds it, or not.
            unsafe { symbol.write_volatile(erased) };
        }
        protect(libc::PROT_READ);
    }
}

/// How many symbols there are, by the table of their hashes: behind the last one that a bucket begins with, up to the end of its chain.
///
/// # Safety
/// Such a table must stand there.
unsafe fn hashed(table: *const u32) -> usize {
    // SAFETY: as the caller vouches.
    let at = |index: usize| unsafe { table.wrapping_add(index).read() } as usize;
    let (buckets, offset, bloom) = (at(0), at(1), at(2));
    let first_bucket = 4 + 2 * bloom;
    let chains = first_bucket + buckets;
    let last = (0..buckets).map(|bucket| at(first_bucket + bucket)).max().unwrap_or(0);
    if last < offset {
        return offset;
    }
    let more = (0..).find(|more| at(chains + last - offset + more) & 1 != 0).unwrap_or(0);
    last + more + 1
}
