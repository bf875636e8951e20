//! What is asked of an image: functions and their parts, control flow, loops, trip counts, lines, calls, numbers, estimates.

use tare_code::{Program, Threads};
use tare_image::Image;
use tare_image::debug::DebugSections;
use tare_image::lines::Lines;
use tare_select::budget::Estimates;

pub(crate) fn ask(bytes: &[u8]) {
    let Ok(image) = Image::parse(bytes) else { return };
    let Ok(program) = Program::analyse_on(&image, Threads::of(1)) else { return };
    let sections = DebugSections::of(&image);
    let lines = Lines::new(&sections);
    for (index, function) in program.functions.iter().enumerate().take(64) {
        let body = program.body(&image, function);
        let cfg = program.cfg_with_unwinding(&image, function, &body);
        let loops = cfg.loops(&body);
        let close = program.close_up(&image, function);
        let _ = (close.trips(&body, &cfg, &loops), close.efforts(), program.metrics(&image, function, lines.as_ref()));
        let _ = program.fingerprint(&image, function);
        let _ = (program.calls().possible_callees(index), program.calls().possible_imports(index));
    }
    if program.functions.len() < 256 {
        let _ = Estimates::on(&program, &image, Threads::of(1));
    }
}
