//! I/O by file descriptor.

use crate::files::forget;
use crate::io::Subject::{Closed, Descriptor, Opened, Unknown};
use crate::io::{Memory, io, length, none};
use core::ffi::{c_char, c_int, c_uint};

type Vectors = *const libc::iovec;

io! {
    Read read(file: c_int, to: Memory, size: usize) -> isize, Descriptor(file), length;
    Read __read_chk(file: c_int, to: Memory, size: usize, room: usize) -> isize, Descriptor(file), length;
    Read pread(file: c_int, to: Memory, size: usize, at: i64) -> isize, Descriptor(file), length;
    Read pread64(file: c_int, to: Memory, size: usize, at: i64) -> isize, Descriptor(file), length;
    Read __pread_chk(file: c_int, to: Memory, size: usize, at: i64, room: usize) -> isize, Descriptor(file), length;
    Read __pread64_chk(file: c_int, to: Memory, size: usize, at: i64, room: usize) -> isize, Descriptor(file), length;
    Read readv(file: c_int, to: Vectors, count: c_int) -> isize, Descriptor(file), length;
    Read preadv(file: c_int, to: Vectors, count: c_int, at: i64) -> isize, Descriptor(file), length;
    Read preadv64(file: c_int, to: Vectors, count: c_int, at: i64) -> isize, Descriptor(file), length;
    Read preadv2(file: c_int, to: Vectors, count: c_int, at: i64, flags: c_int) -> isize, Descriptor(file), length;
    Read preadv64v2(file: c_int, to: Vectors, count: c_int, at: i64, flags: c_int) -> isize, Descriptor(file), length;
    Write write(file: c_int, from: Memory, size: usize) -> isize, Descriptor(file), length;
    Write pwrite(file: c_int, from: Memory, size: usize, at: i64) -> isize, Descriptor(file), length;
    Write pwrite64(file: c_int, from: Memory, size: usize, at: i64) -> isize, Descriptor(file), length;
    Write writev(file: c_int, from: Vectors, count: c_int) -> isize, Descriptor(file), length;
    Write pwritev(file: c_int, from: Vectors, count: c_int, at: i64) -> isize, Descriptor(file), length;
    Write pwritev64(file: c_int, from: Vectors, count: c_int, at: i64) -> isize, Descriptor(file), length;
    Write pwritev2(file: c_int, from: Vectors, count: c_int, at: i64, flags: c_int) -> isize, Descriptor(file), length;
    Write pwritev64v2(file: c_int, from: Vectors, count: c_int, at: i64, flags: c_int) -> isize, Descriptor(file), length;
    Write sendfile(file: c_int, from: c_int, at: *mut i64, size: usize) -> isize, Descriptor(file), length;
    Write sendfile64(file: c_int, from: c_int, at: *mut i64, size: usize) -> isize, Descriptor(file), length;
    Write copy_file_range(from: c_int, at: *mut i64, file: c_int, to: *mut i64, size: usize, flags: c_uint) -> isize, Descriptor(file), length;
    Other open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int, Opened, none;
    Other open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int, Opened, none;
    Other __open_2(path: *const c_char, flags: c_int) -> c_int, Opened, none;
    Other __open64_2(path: *const c_char, flags: c_int) -> c_int, Opened, none;
    Other openat(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int, Opened, none;
    Other openat64(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int, Opened, none;
    Other creat(path: *const c_char, mode: c_uint) -> c_int, Opened, none;
    Other creat64(path: *const c_char, mode: c_uint) -> c_int, Opened, none;
    Other close(file: c_int) -> c_int, Closed(file), none;
    Other lseek(file: c_int, at: i64, from: c_int) -> i64, Descriptor(file), none;
    Other lseek64(file: c_int, at: i64, from: c_int) -> i64, Descriptor(file), none;
    Other fsync(file: c_int) -> c_int, Descriptor(file), none;
    Other fdatasync(file: c_int) -> c_int, Descriptor(file), none;
    Other ftruncate(file: c_int, length: i64) -> c_int, Descriptor(file), none;
    Other ftruncate64(file: c_int, length: i64) -> c_int, Descriptor(file), none;
    Other dup2(file: c_int, to: c_int) -> c_int, { forget(to); Descriptor(file) }, none;
    Other dup3(file: c_int, to: c_int, flags: c_int) -> c_int, { forget(to); Descriptor(file) }, none;
    Other close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int, { crate::files::forget_range(first, last); Unknown }, none;
}
