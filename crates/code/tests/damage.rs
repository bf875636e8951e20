//! Code that was changed at random is analysed, or refused, and never makes the analysis panic or hang.

mod common;

use common::Workshop;
use tare_code::{Edges, Program};
use tare_image::Image;

const SHAPES: &str = include_str!("programs/shapes.c");

/// Changes bytes at random, those of the headers more often, and looks at everything that can be asked for.
fn damage(whole: &[u8], rounds: usize) {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 16).expect("64-bit")
    };
    for round in 0..rounds {
        let mut bytes = whole.to_vec();
        for _ in 0..1 + next() % 12 {
            let at = if round % 4 == 0 { next() % 1024 } else { next() % bytes.len() };
            bytes[at] = u8::try_from(next() & 0xff).expect("a byte");
        }
        let Ok(image) = Image::parse(&bytes) else { continue };
        let Ok(program) = Program::analyse(&image) else { continue };
        for function in program.functions.iter().take(300) {
            let body = program.body(&image, function);
            let cfg = program.cfg_with_unwinding(&image, function, &body);
            let loops = cfg.loops(&body);
            let _ = program.trips(&image, function, &body, &cfg, &loops);
            let _ = program.metrics(&image, function, None);
        }
        let _ = program.leaves(&vec![true; program.functions.len()]);
        let _ = program.calls().distances_from(&[0], Edges::Possible);
        let _ = program.calls().distances_to(&[0], &mut |name| name.starts_with('e'), Edges::Possible);
    }
}

#[test]
fn changed_bytes_never_make_it_panic() {
    let shop = Workshop::new();
    for flags in [["-O2", "-pie"], ["-O2", "-no-pie"]] {
        damage(&shop.compile("gcc", "shapes", "c", SHAPES, &flags), 300);
    }
}

#[test]
fn changed_bytes_of_programs_of_the_distribution_never_make_it_panic() {
    for path in ["/usr/bin/hpcc", "/bin/ls"] {
        if let Ok(whole) = std::fs::read(path) {
            damage(&whole, 60);
        }
    }
}
