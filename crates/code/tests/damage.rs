//! Code that was changed at random is analysed, or refused, and never makes the analysis panic or hang.

mod common;

use common::{SHAPES, Workshop};
use tare_code::{Edges, Program};
use tare_image::Image;
use tare_image::debug::DebugSections;
use tare_image::lines::Lines;

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
        let sections = DebugSections::of(&image);
        let lines = Lines::new(&sections);
        for function in program.functions.iter().take(300) {
            let body = program.body(&image, function);
            let cfg = program.cfg_with_unwinding(&image, function, &body);
            let loops = cfg.loops(&body);
            let _ = program.close_up(&image, function).trips(&body, &cfg, &loops);
            let _ = program.metrics(&image, function, lines.as_ref());
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

/// Cold parts split off with and without landing pads, thunks, computed goto, and lines.
#[test]
fn changed_bytes_of_split_functions_and_thunks_never_make_it_panic() {
    let source = r#"
        #include <stdexcept>
        #include <cstdio>
        __attribute__((noinline, cold)) void fail(int x) { if (x > 3) throw std::runtime_error("x"); std::puts("no"); }
        struct Guard { ~Guard() { std::puts("gone"); } };
        __attribute__((noinline)) int work(const unsigned char *p, int (*f)(int)) {
            static void *const t[] = {&&A, &&B, &&C};
            Guard guard;
            int s = 0;
            if (__builtin_expect(p[0] > 100, 0)) { fail(p[0]); s = f(3); std::puts("cold"); }
            goto *t[*p % 3];
            A: s += f(s); goto *t[*++p % 3];
            B: s *= 3; goto *t[*++p % 3];
            C: try { fail(s); } catch (const std::exception &) { s = f(2); }
            return s;
        }
        __attribute__((noinline)) int twice(int x) { switch (x) { case 0: return 3; case 1: std::puts("a"); return 5; case 2: return 7;
            case 3: std::puts("b"); return 1; case 4: return 9; default: return x * 2; } }
        int main(int, char **v) { return work(reinterpret_cast<unsigned char *>(v[0]), twice); }
    "#;
    let shop = Workshop::new();
    for flags in [["-O2", "-g", "-s"], ["-O2", "-g", "-mindirect-branch=thunk"], ["-O2", "-g", "-no-pie"]] {
        let whole = shop.compile("g++", "split", "cpp", source, &flags);
        damage(&whole, 150);
        damage(&common::without_section_headers(&whole), 50);
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
