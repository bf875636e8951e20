//! Loops of known shape, and of random graphs held against their definition.

mod common;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use common::{Workshop, function};
use tare_code::{Cfg, Loop, Program};
use tare_image::Image;

/// Assembly of one function: lines, and `label:` where it starts a line.
fn assembly(name: &str, body: &str) -> String {
    format!(".globl {name}\n.type {name}, @function\n.p2align 4\n{name}:\n.cfi_startproc\n{body}\nret\n.cfi_endproc\n.size {name}, . - {name}\n")
}

const SHAPES: [(&str, &str); 8] = [
    ("straight", "nop"),
    ("itself", "1: dec %edi\njne 1b"),
    ("at_entry", "dec %edi\nje 1f\nnop\njmp at_entry + 0\n1:"),
    ("nested", "1: mov $9, %esi\n2: dec %esi\njne 2b\ndec %edi\njne 1b"),
    ("shared", "1: dec %edi\nje 2f\ntest $1, %edi\nje 1b\nnop\njmp 1b\n2:"),
    ("two_ways_in", "test %edi, %edi\nje 2f\n1: inc %esi\n2: dec %edi\njne 1b"),
    ("natural_in_irreducible", "test %edi, %edi\nje 2f\n1: mov $9, %esi\n3: dec %esi\njne 3b\n2: dec %edi\njne 1b"),
    ("broken", "1: dec %edi\nje 2f\ndec %esi\nje 3f\ncall straight\njmp 1b\n3: ret\n2:"),
];

/// Depth, entries, back edges and blocks of each loop, and whether it is irreducible.
fn facts(loops: &[Loop]) -> Vec<(usize, usize, usize, usize, bool)> {
    loops.iter().map(|one| (one.depth, one.entries.len(), one.back_edges.len(), one.blocks.len(), one.is_irreducible)).collect()
}

#[test]
fn loops_of_known_shape_are_as_drawn() {
    let shop = Workshop::new();
    let mut source: String = SHAPES.iter().map(|(name, body)| assembly(name, body)).collect();
    source += &assembly("main", "xor %eax, %eax");
    source += ".section .note.GNU-stack, \"\", @progbits\n";
    let bytes = shop.compile("gcc", "shapes", "s", &source, &[]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let of = |name: &str| {
        let function = function(&program, name);
        let body = program.body(&image, function);
        let cfg = program.cfg(function, &body);
        let loops = cfg.loops(&body);
        (cfg, loops)
    };
    assert_eq!(facts(&of("straight").1), []);
    assert_eq!(facts(&of("itself").1), [(1, 1, 1, 1, false)]);
    let (cfg, loops) = of("at_entry");
    assert_eq!(facts(&loops), [(1, 1, 1, 2, false)]);
    assert_eq!(cfg.edges_into(&loops[0]), [(None, 0)]);
    let (cfg, loops) = of("nested");
    assert_eq!(facts(&loops), [(1, 1, 1, 3, false), (2, 1, 1, 1, false)]);
    assert_eq!((loops[0].parent, loops[1].parent), (None, Some(0)));
    assert_eq!(cfg.edges_into(&loops[1]).len(), 1);
    assert_eq!(cfg.edges_out_of(&loops[1]).len(), 1);
    assert_eq!(facts(&of("shared").1), [(1, 1, 2, 3, false)]);
    assert_eq!(facts(&of("two_ways_in").1), [(1, 2, 1, 2, true)]);
    assert_eq!(facts(&of("natural_in_irreducible").1), [(1, 2, 1, 3, true), (2, 1, 1, 1, false)]);
    let (cfg, loops) = of("broken");
    assert_eq!(facts(&loops), [(1, 1, 1, 3, false)]);
    let out = cfg.edges_out_of(&loops[0]);
    assert_eq!((out.len(), out.iter().filter(|(_, to)| to.is_none()).count()), (2, 0));
}

#[test]
fn a_loop_that_goes_on_by_catching_is_seen_with_unwinding() {
    let shop = Workshop::new();
    let source = r#"
        [[gnu::noinline]] void attempt(int n) { if (n & 1) throw n; }
        [[gnu::noinline]] int again(int n) { for (;;) { try { attempt(n); return n; } catch (int) { n /= 2; } } }
        int main(int c, char **) { return again(c * 7); }
    "#;
    let bytes = shop.compile("g++", "again", "cc", source, &["-O2"]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let again = function(&program, "_Z5againi");
    let body = program.body(&image, again);
    assert!(program.cfg(again, &body).loops(&body).is_empty());
    let cfg = program.cfg_with_unwinding(&image, again, &body);
    let loops = cfg.loops(&body);
    assert_eq!(loops.iter().filter(|one| one.depth == 1).count(), 1, "{loops:?}");
    assert!(cfg.blocks.iter().any(|block| !block.landing_pads.is_empty()));
}

/// Functions of random branches: some irreducible, some with parts that nothing reaches.
fn random_functions(count: u32) -> String {
    let mut state = 0x9e37_79b9_u32;
    let mut below = move |limit: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % limit
    };
    let mut source = String::new();
    for number in 0..count {
        let blocks = 2 + below(12);
        let mut body = String::new();
        for block in 0..blocks {
            let (first, second) = (below(blocks), below(blocks));
            let end = match below(4) {
                0 => format!("je .L{number}_{first}"),
                1 => format!("je .L{number}_{first}\njmp .L{number}_{second}"),
                2 => format!("jmp .L{number}_{first}"),
                _ => format!("ja .L{number}_{first}\njs .L{number}_{second}"),
            };
            _ = write!(body, ".L{number}_{block}: nop\n{end}\n");
        }
        source += &assembly(&format!("f{number}"), &body);
    }
    source
}

#[test]
fn loops_of_random_graphs_are_those_of_the_definition() {
    let shop = Workshop::new();
    let source = random_functions(400) + &assembly("main", "nop") + ".section .note.GNU-stack, \"\", @progbits\n";
    let bytes = shop.compile("gcc", "random", "s", &source, &[]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let (mut natural, mut irreducible) = (0, 0);
    for function in program.functions.iter().filter(|one| one.name.starts_with('f')) {
        let body = program.body(&image, function);
        let cfg = program.cfg(function, &body);
        let loops = cfg.loops(&body);
        check(&cfg, &loops);
        natural += loops.iter().filter(|one| !one.is_irreducible).count();
        irreducible += loops.iter().filter(|one| one.is_irreducible).count();
    }
    assert!(natural > 200 && irreducible > 50, "{natural} {irreducible}");
}

/// Blocks that are reached from some, a set of edges left out, without passing one.
fn reached(cfg: &Cfg, from: &[usize], without: Option<usize>, keep: &dyn Fn(usize, usize) -> bool) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut todo: Vec<usize> = from.iter().copied().filter(|&block| Some(block) != without).collect();
    while let Some(block) = todo.pop() {
        if seen.insert(block) {
            todo.extend(cfg.blocks[block].next().filter(|&to| keep(block, to) && Some(to) != without));
        }
    }
    seen
}

fn check(cfg: &Cfg, loops: &[Loop]) {
    let all = |_: usize, _: usize| true;
    let dominates = |one: usize, other: usize| one == other || !reached(cfg, &cfg.entries, Some(one), &all).contains(&other);
    let blocks: Vec<usize> = (0..cfg.blocks.len()).collect();
    let mut expected: BTreeSet<BTreeSet<usize>> = BTreeSet::new();
    for &header in &blocks {
        let back: Vec<usize> =
            blocks.iter().copied().filter(|&from| cfg.blocks[from].next().any(|to| to == header) && dominates(header, from)).collect();
        if !back.is_empty() {
            let comes = |&block: &usize| block == header || back.iter().any(|end| reached(cfg, &[block], Some(header), &all).contains(end));
            expected.insert(blocks.iter().copied().filter(comes).collect());
        }
    }
    let sets = |wanted: bool| -> BTreeSet<BTreeSet<usize>> {
        loops.iter().filter(|one| one.is_irreducible == wanted).map(|one| one.blocks.iter().copied().collect()).collect()
    };
    assert_eq!(sets(false), expected, "{cfg:?}");
    let forward = |from: usize, to: usize| !dominates(to, from);
    let goes_round = |&block: &usize| {
        let next: Vec<usize> = cfg.blocks[block].next().filter(|&to| forward(block, to)).collect();
        reached(cfg, &next, None, &forward).contains(&block)
    };
    let cyclic: BTreeSet<usize> = blocks.iter().copied().filter(goes_round).collect();
    let covered: BTreeSet<usize> = sets(true).into_iter().flatten().collect();
    assert!(cyclic.is_subset(&covered), "{cfg:?}");
    nested(cfg, loops);
}

fn nested(cfg: &Cfg, loops: &[Loop]) {
    for (index, one) in loops.iter().enumerate() {
        let own: BTreeSet<usize> = one.blocks.iter().copied().collect();
        let around = loops.iter().enumerate().filter(|&(other, around)| other != index && own.iter().all(|&block| around.contains(block)));
        let around: Vec<(usize, &Loop)> = around.collect();
        let smallest = around.iter().min_by_key(|(_, one)| one.blocks.len()).map(|&(other, _)| other);
        assert_eq!((one.parent, one.depth), (smallest, around.len() + 1), "{cfg:?}");
        for other in loops {
            let shared = other.blocks.iter().filter(|block| own.contains(block)).count();
            assert!([0, own.len(), other.blocks.len()].contains(&shared), "{cfg:?}");
        }
        let entered: BTreeSet<usize> = cfg.edges_into(one).into_iter().map(|(_, to)| to).collect();
        let declared: BTreeSet<usize> = one.entries.iter().copied().collect();
        assert_eq!(entered, declared, "{cfg:?}");
        assert_eq!(one.is_irreducible, entered.len() > 1, "{cfg:?}");
    }
}

/// A function of loops within each other, each of which may be left for the function's end.
fn nested_loops(count: usize) -> String {
    let mut body = String::new();
    for number in 0..count {
        _ = write!(body, ".Lloop{number}: test %edi, %edi\nje .Lout\n");
    }
    for number in (0..count).rev() {
        _ = write!(body, "dec %esi\njne .Lloop{number}\n");
    }
    assembly("deep", &(body + ".Lout: nop"))
}

#[test]
fn thousands_of_loops_within_each_other_take_no_more_room_than_their_blocks() {
    const LOOPS: usize = 20_000;
    let shop = Workshop::new();
    let source = nested_loops(LOOPS) + &assembly("main", "nop") + ".section .note.GNU-stack, \"\", @progbits\n";
    let bytes = shop.compile("gcc", "deep", "s", &source, &[]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let deep = function(&program, "deep");
    let body = program.body(&image, deep);
    let cfg = program.cfg(deep, &body);
    let loops = cfg.loops(&body);
    assert_eq!((loops.len(), loops.last().map(|one| one.depth)), (LOOPS, Some(LOOPS)));
    let metrics = program.metrics(&image, deep, None);
    assert_eq!((metrics.loops, metrics.loop_depth), (LOOPS, LOOPS));
    // Each list of blocks is a piece of that of the loop around it.
    for (one, within) in loops.iter().zip(loops.iter().skip(1)) {
        let (around, own) = (one.blocks.as_ptr_range(), within.blocks.as_ptr_range());
        assert!(around.start <= own.start && own.end <= around.end && own != around, "{:#x}", within.header);
    }
    assert_eq!(program.close_up(&image, deep).trips(&body, &cfg, &loops), vec![None; LOOPS]);
}
