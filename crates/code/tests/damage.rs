//! Code that was changed at random is analysed, or refused, and never makes the analysis panic or hang.

mod common;

use common::Workshop;
use tare_code::Program;
use tare_image::Image;

const SHAPES: &str = include_str!("programs/shapes.c");

#[test]
fn changed_bytes_never_make_it_panic() {
    let shop = Workshop::new();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 16).expect("64-bit")
    };
    for flags in [["-O2", "-pie"], ["-O2", "-no-pie"]] {
        let whole = shop.compile("gcc", "shapes", "c", SHAPES, &flags);
        for round in 0..300 {
            let mut bytes = whole.clone();
            for _ in 0..1 + next() % 12 {
                let at = if round % 4 == 0 { next() % 1024 } else { next() % bytes.len() };
                bytes[at] = u8::try_from(next() & 0xff).expect("a byte");
            }
            let Ok(image) = Image::parse(&bytes) else { continue };
            let Ok(program) = Program::analyse(&image) else { continue };
            for function in program.functions.iter().take(300) {
                let body = program.body(&image, function);
                let _ = program.cfg_with_unwinding(&image, function, &body).loops(&body);
                let _ = program.metrics(&image, function, None);
            }
            let _ = program.leaves(&vec![true; program.functions.len()]);
        }
    }
}
