//! Analysis: functions, control flow, loops, calls and metrics of any image that can be parsed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tare_code::Program;
use tare_image::Image;

fuzz_target!(|bytes: &[u8]| {
    let Ok(image) = Image::parse(bytes) else { return };
    let Ok(program) = Program::analyse(&image) else { return };
    for (index, function) in program.functions.iter().enumerate().take(64) {
        let body = program.body(&image, function);
        let _ = (program.loops(function, &body), program.metrics(&image, function, None));
        let _ = (program.calls().possible_callees(index), program.calls().possible_imports(index));
    }
});
