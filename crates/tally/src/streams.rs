//! I/O by stdio. What libc itself reads and writes for it does not pass here: calls are those of the program, bytes those
//! that it moved.

use crate::files::forget;
use crate::io::Subject::{self, Closed, Opened, Stream};
use crate::io::{Memory, descriptor_of, io, length, none};
use core::ffi::{c_char, c_int, c_long, c_void};

type File = *mut libc::FILE;
type Text = *mut c_char;
type Arguments = *mut c_void;

unsafe extern "C" {
    static stdin: File;
    static stdout: File;
}

pub(crate) fn input() -> Subject {
    // SAFETY: libc's, which programs may replace but do not move.
    Stream(unsafe { stdin })
}

pub(crate) fn output() -> Subject {
    // SAFETY: as above.
    Stream(unsafe { stdout })
}

/// Bytes of a text that was read or written; none where the pointer is null.
fn text_length(text: *const c_char) -> u64 {
    // SAFETY: a string, as the function that was called says.
    if text.is_null() { 0 } else { unsafe { libc::strlen(text) as u64 } }
}

fn of_text(text: *const c_char, has_succeeded: bool) -> u64 {
    if has_succeeded { text_length(text) } else { 0 }
}

fn character(answer: c_int) -> u64 {
    u64::from(answer >= 0)
}

pub(crate) fn characters(answer: c_int) -> u64 {
    length(answer as isize)
}

io! {
    Read fread(to: Memory, size: usize, count: usize, file: File) -> usize, Stream(file), |items| (items * size) as u64;
    Read fread_unlocked(to: Memory, size: usize, count: usize, file: File) -> usize, Stream(file), |items| (items * size) as u64;
    Read __fread_chk(to: Memory, room: usize, size: usize, count: usize, file: File) -> usize, Stream(file), |items| (items * size) as u64;
    Read fgets(to: Text, size: c_int, file: File) -> Text, Stream(file), |text: Text| text_length(text);
    Read fgets_unlocked(to: Text, size: c_int, file: File) -> Text, Stream(file), |text: Text| text_length(text);
    Read __fgets_chk(to: Text, room: usize, size: c_int, file: File) -> Text, Stream(file), |text: Text| text_length(text);
    Read fgetc(file: File) -> c_int, Stream(file), character;
    Read getc(file: File) -> c_int, Stream(file), character;
    Read _IO_getc(file: File) -> c_int, Stream(file), character;
    Read getchar() -> c_int, input(), character;
    Read getline(to: *mut Text, size: *mut usize, file: File) -> isize, Stream(file), length;
    Read getdelim(to: *mut Text, size: *mut usize, end: c_int, file: File) -> isize, Stream(file), length;
    Read __getdelim(to: *mut Text, size: *mut usize, end: c_int, file: File) -> isize, Stream(file), length;
    Write fwrite(from: Memory, size: usize, count: usize, file: File) -> usize, Stream(file), |items| (items * size) as u64;
    Write fwrite_unlocked(from: Memory, size: usize, count: usize, file: File) -> usize, Stream(file), |items| (items * size) as u64;
    Write fputs(text: Text, file: File) -> c_int, Stream(file), |answer| of_text(text, answer >= 0);
    Write fputs_unlocked(text: Text, file: File) -> c_int, Stream(file), |answer| of_text(text, answer >= 0);
    Write puts(text: Text) -> c_int, output(), |answer| of_text(text, answer >= 0) + u64::from(answer >= 0);
    Write fputc(byte: c_int, file: File) -> c_int, Stream(file), character;
    Write putc(byte: c_int, file: File) -> c_int, Stream(file), character;
    Write _IO_putc(byte: c_int, file: File) -> c_int, Stream(file), character;
    Write putchar(byte: c_int) -> c_int, output(), character;
    Write vprintf(format: Text, arguments: Arguments) -> c_int, output(), characters;
    Write vfprintf(file: File, format: Text, arguments: Arguments) -> c_int, Stream(file), characters;
    Write __vprintf_chk(flag: c_int, format: Text, arguments: Arguments) -> c_int, output(), characters;
    Write __vfprintf_chk(file: File, flag: c_int, format: Text, arguments: Arguments) -> c_int, Stream(file), characters;
    Write vdprintf(file: c_int, format: Text, arguments: Arguments) -> c_int, Subject::Descriptor(file), characters;
    Write __vdprintf_chk(file: c_int, flag: c_int, format: Text, arguments: Arguments) -> c_int, Subject::Descriptor(file), characters;
    Read vscanf(format: Text, arguments: Arguments) -> c_int, input(), none;
    Read vfscanf(file: File, format: Text, arguments: Arguments) -> c_int, Stream(file), none;
    Read __isoc99_vscanf(format: Text, arguments: Arguments) -> c_int, input(), none;
    Read __isoc99_vfscanf(file: File, format: Text, arguments: Arguments) -> c_int, Stream(file), none;
    Other fopen(path: *const c_char, mode: *const c_char) -> File, Opened, none;
    Other fopen64(path: *const c_char, mode: *const c_char) -> File, Opened, none;
    Other freopen(path: *const c_char, mode: *const c_char, file: File) -> File, { forget(descriptor_of(file)); Opened }, none;
    Other freopen64(path: *const c_char, mode: *const c_char, file: File) -> File, { forget(descriptor_of(file)); Opened }, none;
    Other fclose(file: File) -> c_int, Closed(descriptor_of(file)), none;
    Other pclose(file: File) -> c_int, Closed(descriptor_of(file)), none;
    Other fflush(file: File) -> c_int, Stream(file), none;
    Other fflush_unlocked(file: File) -> c_int, Stream(file), none;
    Other fseek(file: File, at: c_long, from: c_int) -> c_int, Stream(file), none;
    Other fseeko(file: File, at: i64, from: c_int) -> c_int, Stream(file), none;
    Other fseeko64(file: File, at: i64, from: c_int) -> c_int, Stream(file), none;
}
