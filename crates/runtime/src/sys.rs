//! System calls, made directly: libc's wrappers set `errno`, which the program may be about to read, and can be
//! intercepted by other tools.

use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Why the kernel refused: the number that libc would store in `errno`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Errno(pub(crate) i32);

/// A file descriptor that is closed by whoever opened it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Descriptor(i32);

impl Descriptor {
    /// A descriptor by its number.
    pub(crate) fn of(number: i32) -> Self {
        Self(number)
    }

    pub(crate) fn number(self) -> i32 {
        self.0
    }
}

/// One system call.
///
/// # Safety
/// The arguments must be what the call `number` asks for, and its effects must be allowed here.
unsafe fn call(number: i64, arguments: [usize; 6]) -> Result<usize, Errno> {
    let [a, b, c, d, e, f] = arguments;
    let mut answer = number as isize;
    // SAFETY: the caller vouches for the call; the kernel clobbers rcx and r11 and keeps off the red zone.
    unsafe {
        core::arch::asm!("syscall", inlateout("rax") answer, in("rdi") a, in("rsi") b, in("rdx") c,
            in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    if (-4095..0).contains(&answer) { Err(Errno(-answer as i32)) } else { Ok(answer as usize) }
}

/// Calls that read or write no memory of this process but what their arguments own.
fn harmless(number: i64, arguments: [usize; 6]) -> Result<usize, Errno> {
    // SAFETY: every use below passes buffers that outlive the call, with their lengths, or plain numbers.
    unsafe { call(number, arguments) }
}

fn address<T>(value: &T) -> usize {
    core::ptr::from_ref(value).addr()
}

/// Opens a file, with `O_CLOEXEC` added.
pub(crate) fn open(path: &CStr, flags: i32, permissions: u32) -> Result<Descriptor, Errno> {
    let flags = (flags | libc::O_CLOEXEC) as usize;
    let at = libc::AT_FDCWD as isize as usize;
    let number = harmless(libc::SYS_openat, [at, path.as_ptr().addr(), flags, permissions as usize, 0, 0])?;
    Ok(Descriptor(number as i32))
}

pub(crate) fn close(file: Descriptor) {
    let _ = harmless(libc::SYS_close, [file.0 as usize, 0, 0, 0, 0, 0]);
}

/// Allocates a range of a file and extends the file to hold it; never shrinks.
pub(crate) fn allocate(file: Descriptor, offset: u64, length: u64) -> Result<(), Errno> {
    is_allowed(offset + length)?;
    harmless(libc::SYS_fallocate, [file.0 as usize, 0, offset as usize, length as usize, 0, 0]).map(|_| ())
}

/// Writes at a position; returns how many bytes were written.
pub(crate) fn write_at(file: Descriptor, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
    let from = bytes.as_ptr().addr();
    harmless(libc::SYS_pwrite64, [file.0 as usize, from, bytes.len(), offset as usize, 0, 0])
}

/// Writes a text where errors are shown, in one piece; what does not go there is lost.
pub(crate) fn write_to_stderr<const N: usize>(parts: [&[u8]; N]) {
    let pieces = parts.map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
    let _ = harmless(libc::SYS_writev, [libc::STDERR_FILENO as usize, pieces.as_ptr().expose_provenance(), N, 0, 0, 0]);
}

/// Reads at a position; returns how many bytes were read, 0 at the end.
pub(crate) fn read_at(file: Descriptor, bytes: &mut [u8], offset: u64) -> Result<usize, Errno> {
    let to = bytes.as_mut_ptr().expose_provenance();
    harmless(libc::SYS_pread64, [file.0 as usize, to, bytes.len(), offset as usize, 0, 0])
}

/// Sets the length of a file.
pub(crate) fn set_length(file: Descriptor, length: u64) -> Result<(), Errno> {
    is_allowed(length)?;
    harmless(libc::SYS_ftruncate, [file.0 as usize, length as usize, 0, 0, 0, 0]).map(|_| ())
}

/// The start of the next data (`libc::SEEK_DATA`) or hole (`libc::SEEK_HOLE`) at or after `offset`.
pub(crate) fn seek(file: Descriptor, offset: u64, what: i32) -> Result<u64, Errno> {
    let at = harmless(libc::SYS_lseek, [file.0 as usize, offset as usize, what as usize, 0, 0, 0])?;
    Ok(at as u64)
}

pub(crate) fn make_directory(path: &CStr, permissions: u32) -> Result<(), Errno> {
    harmless(libc::SYS_mkdir, [path.as_ptr().addr(), permissions as usize, 0, 0, 0, 0]).map(|_| ())
}

/// Removes a directory, if it is empty.
pub(crate) fn remove_directory(path: &CStr) {
    let _ = harmless(libc::SYS_rmdir, [path.as_ptr().addr(), 0, 0, 0, 0, 0]);
}

pub(crate) fn rename(from: &CStr, to: &CStr) -> Result<(), Errno> {
    harmless(libc::SYS_rename, [from.as_ptr().addr(), to.as_ptr().addr(), 0, 0, 0, 0]).map(|_| ())
}

/// Writes what is in memory of a file to where it lies.
pub(crate) fn flush(file: Descriptor) {
    let _ = harmless(libc::SYS_fdatasync, [file.0 as usize, 0, 0, 0, 0, 0]);
}

/// Gives a file one more name, which must be free; of a symbolic link, the file that it leads to.
pub(crate) fn link(from: &CStr, to: &CStr) -> Result<(), Errno> {
    let at = libc::AT_FDCWD as isize as usize;
    harmless(libc::SYS_linkat, [at, from.as_ptr().addr(), at, to.as_ptr().addr(), libc::AT_SYMLINK_FOLLOW as usize, 0]).map(|_| ())
}

pub(crate) fn unlink(path: &CStr) {
    let _ = harmless(libc::SYS_unlink, [path.as_ptr().addr(), 0, 0, 0, 0, 0]);
}

/// Whether a path names anything.
pub(crate) fn is_there(path: &CStr) -> bool {
    harmless(libc::SYS_access, [path.as_ptr().addr(), libc::F_OK as usize, 0, 0, 0, 0]).is_ok()
}

/// Whether a file can be read by this process.
pub(crate) fn is_readable(path: &CStr) -> bool {
    harmless(libc::SYS_access, [path.as_ptr().addr(), libc::R_OK as usize, 0, 0, 0, 0]).is_ok()
}

/// The target of a symbolic link, cut to the buffer; returns its length.
pub(crate) fn read_link_at(directory: i32, path: &CStr, target: &mut [u8]) -> Result<usize, Errno> {
    let to = target.as_mut_ptr().expose_provenance();
    let directory = directory as isize as usize;
    harmless(libc::SYS_readlinkat, [directory, path.as_ptr().addr(), to, target.len(), 0, 0])
}

/// Owner of a file, not followed where it is a symbolic link, and whether it is a directory.
pub(crate) fn owner(path: &CStr) -> Option<(u32, bool)> {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    let to = status.as_mut_ptr().expose_provenance();
    harmless(libc::SYS_lstat, [path.as_ptr().addr(), to, 0, 0, 0, 0]).ok()?;
    // SAFETY: the call succeeded, so the kernel has filled the whole record.
    let status = unsafe { status.assume_init() };
    Some((status.st_uid, status.st_mode & libc::S_IFMT == libc::S_IFDIR))
}

/// What tells a file from all others, wherever symbolic links lead: device and number.
pub(crate) fn identity(path: &CStr) -> Option<(u64, u64)> {
    status(path).map(|status| (status.st_dev, status.st_ino))
}

/// Whether a path is that of a file which this process may execute.
pub(crate) fn is_executable(path: &CStr) -> bool {
    status(path).is_some_and(|status| status.st_mode & libc::S_IFMT == libc::S_IFREG)
        && harmless(libc::SYS_access, [path.as_ptr().addr(), libc::X_OK as usize, 0, 0, 0, 0]).is_ok()
}

fn status(path: &CStr) -> Option<libc::stat> {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    let to = status.as_mut_ptr().expose_provenance();
    harmless(libc::SYS_stat, [path.as_ptr().addr(), to, 0, 0, 0, 0]).ok()?;
    // SAFETY: the call succeeded, so the kernel has filled the whole record.
    Some(unsafe { status.assume_init() })
}

/// Bytes that this user may still write on the file system of a path.
pub(crate) fn free_bytes(path: &CStr) -> Option<u64> {
    let mut status = core::mem::MaybeUninit::<libc::statfs>::uninit();
    let to = status.as_mut_ptr().expose_provenance();
    harmless(libc::SYS_statfs, [path.as_ptr().addr(), to, 0, 0, 0, 0]).ok()?;
    // SAFETY: the call succeeded, so the kernel has filled the whole record.
    let status = unsafe { status.assume_init() };
    Some(status.f_bavail.saturating_mul(status.f_bsize as u64))
}

/// Refuses lengths for which a signal would end the process.
pub(crate) fn is_allowed(length: u64) -> Result<(), Errno> {
    if length > file_size_limit() { Err(Errno(libc::EFBIG)) } else { Ok(()) }
}

/// The length beyond which this process must not extend a file (a signal would end it).
fn file_size_limit() -> u64 {
    limit(libc::RLIMIT_FSIZE)
}

/// What this process may have of something; [`u64::MAX`] where that is not limited.
fn limit(resource: libc::__rlimit_resource_t) -> u64 {
    let mut limit = [0_u64; 2];
    let to = core::ptr::from_mut(&mut limit).expose_provenance();
    match harmless(libc::SYS_prlimit64, [0, resource as usize, 0, to, 0, 0]) {
        Ok(_) => limit[0],
        Err(_) => u64::MAX,
    }
}

/// Bytes that this process may still map; [`u64::MAX`] of what is not limited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Free {
    /// Of any mappings.
    pub(crate) address_space: u64,
    /// Of private memory that can be written.
    pub(crate) data: u64,
}

/// What limits leave to this process; `None` where that cannot be read.
pub(crate) fn free_memory() -> Option<Free> {
    const PAGE: u64 = 4096;
    let limits = [limit(libc::RLIMIT_AS), limit(libc::RLIMIT_DATA)];
    if limits == [u64::MAX; 2] {
        return Some(Free { address_space: u64::MAX, data: u64::MAX });
    }
    let file = open(c"/proc/self/statm", libc::O_RDONLY, 0).ok()?;
    let mut bytes = [0; 128];
    let read = read_at(file, &mut bytes, 0);
    close(file);
    let text = core::str::from_utf8(bytes.get(..read.ok()?)?).ok()?;
    // Pages of all mappings, and as the sixth number those of private memory.
    let mut numbers = text.split_ascii_whitespace().filter_map(|number| number.parse::<u64>().ok());
    let (all, private) = (numbers.next()?, numbers.nth(4)?);
    let free = |limit: u64, pages: u64| if limit == u64::MAX { limit } else { limit.saturating_sub(pages * PAGE) };
    Some(Free { address_space: free(limits[0], all), data: free(limits[1], private) })
}

pub(crate) fn process_id() -> u32 {
    harmless(libc::SYS_getpid, [0; 6]).unwrap_or(0) as u32
}

pub(crate) fn parent_id() -> u32 {
    harmless(libc::SYS_getppid, [0; 6]).unwrap_or(0) as u32
}

pub(crate) fn thread_id() -> u32 {
    harmless(libc::SYS_gettid, [0; 6]).unwrap_or(0) as u32
}

/// Whether a process has this thread; also where that cannot be said.
pub(crate) fn is_thread(process: u32, thread: u32) -> bool {
    harmless(libc::SYS_tgkill, [process as usize, thread as usize, 0, 0, 0, 0]) != Err(Errno(libc::ESRCH))
}

pub(crate) fn user_id() -> u32 {
    harmless(libc::SYS_geteuid, [0; 6]).unwrap_or(0) as u32
}

/// Lets other threads run.
pub(crate) fn give_way() {
    let _ = harmless(libc::SYS_sched_yield, [0; 6]);
}

/// Sleeps until somebody wakes those who wait for a word of a shared mapping, unless it is another one than `seen`.
pub(crate) fn wait_for_change(word: &AtomicU32, seen: u32) {
    let _ = harmless(libc::SYS_futex, [address(word), libc::FUTEX_WAIT as usize, seen as usize, 0, 0, 0]);
}

/// Starts a thread that libc does not know.
///
/// # Safety
/// Its stack grows down from `stack`, aligned to 16 bytes; `own` begins its thread-local storage. `run` must call nothing of
/// libc, and all that it touches must live as long as the process.
pub(crate) unsafe fn start_thread(stack: NonNull<u8>, own: NonNull<u8>, run: extern "C" fn() -> !) -> Result<(), Errno> {
    const FLAGS: i32 = libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_SIGHAND | libc::CLONE_THREAD | libc::CLONE_SYSVSEM;
    let mut answer = libc::SYS_clone as isize;
    // SAFETY: the new thread leaves for `run` with its own stack; this one goes on as after any call.
    unsafe {
        core::arch::asm!("syscall", "test rax, rax", "jnz 2f", "xor ebp, ebp", "call r12", "ud2", "2:",
            inlateout("rax") answer, in("rdi") (FLAGS | libc::CLONE_SETTLS) as usize, in("rsi") stack.as_ptr(), in("rdx") 0,
            in("r10") 0, in("r8") own.as_ptr(), in("r12") run, lateout("rcx") _, lateout("r11") _);
    }
    if (-4095..0).contains(&answer) { Err(Errno(-answer as i32)) } else { Ok(()) }
}

/// Ends the calling thread, which libc does not know.
pub(crate) fn end_thread() -> ! {
    loop {
        let _ = harmless(libc::SYS_exit, [0; 6]);
    }
}

/// Sleeps for less than a second, unless a signal comes.
pub(crate) fn sleep_ns(nanoseconds: u32) {
    let time = [0_u64, u64::from(nanoseconds)];
    let _ = harmless(libc::SYS_nanosleep, [core::ptr::from_ref(&time).expose_provenance(), 0, 0, 0, 0, 0]);
}

/// Nanoseconds of a clock.
pub(crate) fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = [0_u64; 2];
    let to = core::ptr::from_mut(&mut time).expose_provenance();
    let _ = harmless(libc::SYS_clock_gettime, [clock as usize, to, 0, 0, 0, 0]);
    time[0].wrapping_mul(1_000_000_000).wrapping_add(time[1])
}

/// The name of this machine, ended by a zero.
pub(crate) fn host_name() -> [u8; 65] {
    let mut names = [[0_u8; 65]; 6];
    let to = core::ptr::from_mut(&mut names).expose_provenance();
    let _ = harmless(libc::SYS_uname, [to, 0, 0, 0, 0, 0]);
    names[1]
}

/// The alternate signal stack of this thread, if it has one: its lowest address and its end. Whether the thread is on it, the kernel does not
/// know where a slow path asks, which has a stack of its own.
pub(crate) fn signal_stack() -> Option<(u64, u64)> {
    let mut stack = core::mem::MaybeUninit::<libc::stack_t>::uninit();
    let to = stack.as_mut_ptr().expose_provenance();
    harmless(libc::SYS_sigaltstack, [0, to, 0, 0, 0, 0]).ok()?;
    // SAFETY: the call succeeded, so the kernel has filled the whole record.
    let stack = unsafe { stack.assume_init() };
    let low = stack.ss_sp.addr() as u64;
    (stack.ss_flags & libc::SS_DISABLE == 0).then(|| (low, low + stack.ss_size as u64))
}

/// All signals of this thread held back until it is dropped.
#[derive(Debug)]
pub(crate) struct SignalsBlocked {
    before: u64,
}

impl SignalsBlocked {
    pub(crate) fn new() -> Self {
        let all = u64::MAX;
        let mut before = 0_u64;
        let to = core::ptr::from_mut(&mut before).expose_provenance();
        let arguments = [libc::SIG_SETMASK as usize, address(&all), to, size_of::<u64>(), 0, 0];
        let _ = harmless(libc::SYS_rt_sigprocmask, arguments);
        Self { before }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        let arguments = [libc::SIG_SETMASK as usize, address(&self.before), 0, size_of::<u64>(), 0, 0];
        let _ = harmless(libc::SYS_rt_sigprocmask, arguments);
    }
}

/// Maps a range of a file, shared, at an address aligned to `alignment`.
pub(crate) fn map_file(file: Descriptor, offset: u64, length: usize, alignment: usize) -> Result<NonNull<u8>, Errno> {
    map_shared(libc::MAP_SHARED, [file.0 as usize, offset as usize], length, alignment)
}

/// Maps zeroed memory that does not count as data of this process, allocated as it is touched, at an address aligned to `alignment`. A forked child
/// has it in common with its parent, as it has a file.
pub(crate) fn map_scratch(length: usize, alignment: usize) -> Result<NonNull<u8>, Errno> {
    map_shared(SCRATCH, NO_FILE, length, alignment)
}

const SCRATCH: i32 = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
const NO_FILE: [usize; 2] = [usize::MAX, 0];

fn map_shared(kind: i32, file_and_offset: [usize; 2], length: usize, alignment: usize) -> Result<NonNull<u8>, Errno> {
    let place = reserve(length, alignment)?;
    // SAFETY: a mapping of this length that was just reserved for it.
    unsafe { map_over(place, length, kind, file_and_offset) }.map(|()| place).inspect_err(|_| {
        // SAFETY: the reserved place is referred to by nobody.
        unsafe { unmap(place, length) };
    })
}

/// Puts memory for writing in the place of a mapping.
///
/// # Safety
/// The place must be a mapping of ours of this length, and nothing may refer to what is there.
unsafe fn map_over(place: NonNull<u8>, length: usize, kind: i32, file_and_offset: [usize; 2]) -> Result<(), Errno> {
    let flags = (kind | libc::MAP_NORESERVE | libc::MAP_FIXED) as usize;
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let [file, offset] = file_and_offset;
    // SAFETY: as the caller vouches.
    unsafe { call(libc::SYS_mmap, [place.addr().get(), length, protection, flags, file, offset]) }.map(|_| ())
}

/// Zeroes a mapping of [`map_scratch`], and has it in common with no other process any more.
///
/// # Safety
/// It must be of this length, and nobody in this process may use it meanwhile.
pub(crate) unsafe fn clear_scratch(start: NonNull<u8>, length: usize) -> Result<(), Errno> {
    // SAFETY: as the caller vouches.
    unsafe { map_over(start, length, SCRATCH, NO_FILE) }
}

/// Addresses without memory behind them, from one on that is aligned to `alignment` (a power of two).
fn reserve(length: usize, alignment: usize) -> Result<NonNull<u8>, Errno> {
    let start = map_addresses(length + alignment)?;
    let before = start.align_offset(alignment).min(alignment);
    // SAFETY: within the mapping, which is longer by `alignment`.
    let place = unsafe { start.add(before) };
    if before > 0 {
        // SAFETY: the part before the place, referred to by nobody.
        unsafe { unmap(start, before) };
    }
    if before < alignment {
        // SAFETY: the end of the place is within the mapping.
        let rest = unsafe { place.add(length) };
        // SAFETY: the part behind the place, referred to by nobody.
        unsafe { unmap(rest, alignment - before) };
    }
    Ok(place)
}

/// Maps addresses that [`make_writable`] puts memory behind: until then they count as no data.
pub(crate) fn map_addresses(length: usize) -> Result<NonNull<u8>, Errno> {
    map_private(length, libc::PROT_NONE)
}

/// Makes the first bytes of a mapping of [`map_addresses`], whole pages, memory of this process alone, zeroed where they were not yet.
pub(crate) fn make_writable(start: NonNull<u8>, length: usize) -> Result<(), Errno> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    harmless(libc::SYS_mprotect, [start.addr().get(), length, protection, 0, 0, 0]).map(|_| ())
}

/// Maps memory of this process alone, zeroed, allocated as it is touched.
pub(crate) fn map_memory(length: usize) -> Result<NonNull<u8>, Errno> {
    map_private(length, libc::PROT_READ | libc::PROT_WRITE)
}

fn map_private(length: usize, protection: i32) -> Result<NonNull<u8>, Errno> {
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    let start = harmless(libc::SYS_mmap, [0, length, protection as usize, flags, usize::MAX, 0])?;
    NonNull::new(core::ptr::with_exposed_provenance_mut(start)).ok_or(Errno(libc::ENOMEM))
}

/// Has the kernel empty private memory in every forked child, from Linux 4.14 on.
pub(crate) fn empty_in_children(start: NonNull<u8>, length: usize) -> Result<(), Errno> {
    harmless(libc::SYS_madvise, [start.addr().get(), length, libc::MADV_WIPEONFORK as usize, 0, 0, 0]).map(|_| ())
}

/// Moves a mapping over another.
///
/// # Safety
/// Both must be ours and of this length, and nothing may refer to the first any more.
pub(crate) unsafe fn move_mapping(from: NonNull<u8>, to: NonNull<u8>, length: usize) -> Result<(), Errno> {
    let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
    let arguments = [from.addr().get(), length, length, flags, to.addr().get(), 0];
    // SAFETY: as the caller vouches.
    unsafe { call(libc::SYS_mremap, arguments) }.map(|_| ())
}

/// Gives a mapping back.
///
/// # Safety
/// Nothing may refer to it any more.
pub(crate) unsafe fn unmap(start: NonNull<u8>, length: usize) {
    // SAFETY: as the caller vouches.
    let _ = unsafe { call(libc::SYS_munmap, [start.addr().get(), length, 0, 0, 0, 0]) };
}

/// Bytes that are zeroed by writing: less work than new pages, of which other processors have to be told and which come one
/// by one (a quarter of a millisecond on a virtual machine).
const WRITTEN: usize = 1 << 20;

/// Zeroes a mapping of [`map_memory`], of which only the first `used` bytes may be other than zero; where they are many, by giving
/// all pages back.
///
/// # Safety
/// It must be ours alone, and nobody may use it meanwhile.
pub(crate) unsafe fn clear(start: NonNull<u8>, length: usize, used: usize) -> Result<(), Errno> {
    if used <= WRITTEN {
        // SAFETY: as the caller vouches; a mapping is aligned and longer than its used part.
        let words = unsafe { core::slice::from_raw_parts(start.cast::<AtomicU64>().as_ptr(), used.div_ceil(size_of::<AtomicU64>())) };
        words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        return Ok(());
    }
    // SAFETY: as the caller vouches.
    unsafe { map_over(start, length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, NO_FILE) }
}

/// Allocates the pages of a mapped range for writing. An error, not a signal, where there is no space.
pub(crate) fn populate(start: NonNull<u8>, length: usize) -> Result<(), Errno> {
    /// `MADV_POPULATE_WRITE`, from Linux 5.14 on.
    const POPULATE_WRITE: usize = 23;
    harmless(libc::SYS_madvise, [start.addr().get(), length, POPULATE_WRITE, 0, 0, 0]).map(|_| ())
}

/// What the kernel has counted for the calling thread.
pub(crate) fn thread_usage() -> libc::rusage {
    let mut usage = core::mem::MaybeUninit::<libc::rusage>::zeroed();
    let to = usage.as_mut_ptr().expose_provenance();
    let _ = harmless(libc::SYS_getrusage, [libc::RUSAGE_THREAD as usize, to, 0, 0, 0, 0]);
    // SAFETY: all of it is numbers, which are zero where the kernel refuses.
    unsafe { usage.assume_init() }
}

/// On how many processors the calling thread may run, and the first of them; 0 where the kernel does not say.
pub(crate) fn allowed_processors() -> (u32, u32) {
    let mut mask = [0_u64; 128];
    let to = mask.as_mut_ptr().expose_provenance();
    if harmless(libc::SYS_sched_getaffinity, [0, size_of_val(&mask), to, 0, 0, 0]).is_err() {
        return (0, 0);
    }
    let first = (0_u32..).zip(&mask).find(|(_, word)| **word != 0).map_or(0, |(index, word)| 64 * index + word.trailing_zeros());
    (mask.iter().map(|word| word.count_ones()).sum(), first)
}

/// The first words of `struct perf_event_attr` (version 0), which is all that is asked for.
#[repr(C)]
#[derive(Default)]
struct EventAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
}

/// Opens an event of the calling thread, in the group of a leader. What happens in the kernel is not counted where it need
/// not be.
pub(crate) fn open_event(kind: u32, config: u64, leader: Option<Descriptor>) -> Result<Descriptor, Errno> {
    const SOFTWARE: u32 = 1;
    const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 1 << 5 | 1 << 6;
    const TIMES_AND_GROUP: u64 = 1 | 2 | 8;
    const CLOSE_ON_EXEC: usize = 8;
    let attributes = EventAttributes {
        kind,
        size: size_of::<EventAttributes>() as u32,
        config,
        read_format: TIMES_AND_GROUP,
        flags: if kind == SOFTWARE { 0 } else { EXCLUDE_KERNEL_AND_HYPERVISOR },
        ..EventAttributes::default()
    };
    let group = leader.map_or(usize::MAX, |leader| leader.0 as usize);
    let number = harmless(libc::SYS_perf_event_open, [address(&attributes), 0, usize::MAX, group, CLOSE_ON_EXEC, 0])?;
    Ok(Descriptor(number as i32))
}

/// Maps the kernel's page of an event, for reading.
pub(crate) fn map_page(file: Descriptor) -> Result<NonNull<u8>, Errno> {
    const PAGE: usize = 4096;
    let start = harmless(libc::SYS_mmap, [0, PAGE, libc::PROT_READ as usize, libc::MAP_SHARED as usize, file.0 as usize, 0])?;
    NonNull::new(core::ptr::with_exposed_provenance_mut(start)).ok_or(Errno(libc::ENOMEM))
}

/// Counts of a group of events.
#[repr(C)]
pub(crate) struct Group {
    count: u64,
    pub(crate) enabled: u64,
    pub(crate) running: u64,
    pub(crate) values: [u64; 8],
}

/// Reads the counts of a leader's group.
pub(crate) fn read_group(leader: Descriptor) -> Result<Group, Errno> {
    let mut group = Group { count: 0, enabled: 0, running: 0, values: [0; 8] };
    let to = core::ptr::from_mut(&mut group).expose_provenance();
    let read = harmless(libc::SYS_read, [leader.0 as usize, to, size_of::<Group>(), 0, 0, 0])?;
    let is_whole = read >= 3 * size_of::<u64>() && group.count <= 8 && read == (3 + group.count as usize) * size_of::<u64>();
    if is_whole { Ok(group) } else { Err(Errno(libc::EBADF)) }
}

/// Gives a descriptor a number at the upper end of those that the process may have, where it can.
pub(crate) fn move_high(file: Descriptor) -> Descriptor {
    const ROOM: u64 = 256;
    let lowest = limit(libc::RLIMIT_NOFILE).min(1 << 20).saturating_sub(ROOM) as usize;
    match harmless(libc::SYS_fcntl, [file.0 as usize, libc::F_DUPFD_CLOEXEC as usize, lowest, 0, 0, 0]) {
        Ok(number) => {
            close(file);
            Descriptor(number as i32)
        }
        Err(_) => file,
    }
}
