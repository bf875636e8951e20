//! The beginning and the end: what the dynamic linker calls when it loads the library and when the process exits.
//!
//! What always holds: without a run directory in the environment, and in a program that has no instrumented
//! image, nothing happens but that the environment and the list of images are read.

use core::ffi::{c_char, c_int};

use crate::executable;
use crate::process::{self, Mode};
use crate::settings::{read_environment, settings};
use crate::{calibration, finish, fork, graph_file, images, landing, metrics, replace, thread, vectors};

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn(c_int, *const *const c_char, *mut *mut c_char) = start;

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

/// Called by the dynamic linker with what `main` gets.
extern "C" fn start(_count: c_int, words: *const *const c_char, environment: *mut *mut c_char) {
    read_environment();
    if settings().mode == Mode::None {
        if executable::is_named() {
            images::look();
            // SAFETY: the dynamic linker passes words and environment as the kernel laid them out.
            unsafe { executable::name_original(words, environment) };
        }
        return;
    }
    vectors::choose_mask();
    replace::note_start();
    landing::look_up();
    thread::make_key();
    fork::watch();
    metrics::connect();
    let is_measured = images::connect();
    // SAFETY: as above.
    unsafe { executable::name_original(words, environment) };
    if settings().mode == Mode::Clock && executable::is_original() {
        graph_file::header_or_create();
    }
    if is_measured && settings().mode == Mode::Measure {
        calibration::calibrate();
        process::span_start();
    }
}

extern "C" fn end() {
    finish::finish();
}
