//! The beginning and the end: what the dynamic linker calls when it loads the library and when the process exits.
//!
//! What always holds: without a run directory in the environment, and in a program that has no instrumented
//! image, nothing happens but that the environment and the list of images are read.

use crate::executable;
use crate::process::{self, Mode};
use crate::settings::{read_environment, settings};
use crate::{calibration, finish, fork, graph_file, images, thread, vectors};

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

extern "C" fn start() {
    read_environment();
    if settings().mode == Mode::None {
        if executable::is_named() {
            images::look();
        }
        return;
    }
    vectors::choose_mask();
    thread::make_key();
    fork::watch();
    let is_measured = images::connect();
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
