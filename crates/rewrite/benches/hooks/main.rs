//! What a pair of empty hooks costs in a rewritten program, held against `-finstrument-functions` with the same hooks in
//! the same shared library. All programs run in turn; what is printed are medians and their ratio.

use std::path::{Path, PathBuf};
use std::process::Command;

use tare_code::Program;
use tare_image::Image;
use tare_rewrite::adapter::{Adapter, Libraries, Snippets, Subject, Wanted, shipped};
use tare_rewrite::{Request, Selection, instrument};

const RUNS: usize = 9;
const ROUNDS: &str = "4000000";

fn main() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let folder = directory.path();
    compile(folder, "hooks.c", "-O2 -shared -fPIC", "libhooks.so");
    let linked = "-L. -Wl,-rpath,$ORIGIN -Wl,--no-as-needed -lhooks";
    let bare = compile(folder, "loop.c", &format!("-O2 {linked}"), "bare");
    let hooked = compile(folder, "loop.c", &format!("-O2 -finstrument-functions {linked}"), "hooked");
    let rewritten = [true, false].map(|is_known| rewrite(&bare, &folder.join("libhooks.so"), is_known));
    let programs = [&bare, &hooked, &rewritten[0], &rewritten[1]];
    let mut times = programs.map(|_| Vec::with_capacity(RUNS));
    for _ in 0..RUNS {
        for (program, times) in programs.iter().zip(&mut times) {
            times.push(run(program));
        }
    }
    let [bare, hooked, known, unknown] = times.map(median);
    println!("empty hooks in a shared library, enter and exit, over the bare call ({bare:.2} ns):");
    println!("  -finstrument-functions            {:6.2} ns", hooked - bare);
    println!("  rewritten, hooks at hand          {:6.2} ns   ratio {:.2}", known - bare, (known - bare) / (hooked - bare));
    println!("  rewritten, hooks not at hand      {:6.2} ns   ratio {:.2}", unknown - bare, (unknown - bare) / (hooked - bare));
}

fn compile(folder: &Path, source: &str, flags: &str, name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/hooks").join(source);
    let mut command = Command::new("gcc");
    command.current_dir(folder).arg(&source).arg("-o").arg(name).args(flags.split_whitespace());
    assert!(command.status().expect("gcc starts").success());
    folder.join(name)
}

/// Puts the hooks around the small function and the one that calls it, so that the call leads to the moved code as it does
/// in a program that is instrumented as a whole; what hooks touch can be found out only where the library is at hand.
fn rewrite(program: &Path, library: &Path, is_known: bool) -> PathBuf {
    let data = std::fs::read(program).expect("the program");
    let hooks = std::fs::read(library).expect("the library");
    let image = Image::parse(&data).expect("an image");
    let code = Program::analyse(&image).expect("code");
    let adapter = Adapter::parse(shipped("cyg-profile").expect("it is shipped")).expect("an adapter");
    let small = code.functions.iter().position(|function| function.name == "small").expect("the function");
    let main = code.functions.iter().position(|function| function.name == "main").expect("the function");
    let wanted = [main, small].map(|function| Wanted { function, functions: Some("function".into()), ..Wanted::default() });
    let images = [Image::parse(&hooks).expect("a library")];
    let libraries = Libraries { images: if is_known { &images } else { &[] }, are_all: false };
    let subject = Subject { image: &image, program: &code, lines: None, path: "", libraries };
    let snippets = Snippets::new(&adapter, subject, &wanted).expect("it can be applied");
    let mut selected = [main, small].map(|function| Selection { levels: snippets.levels(function), ..Selection::of(function) });
    selected.sort_by_key(|one| one.function);
    let request = Request { selected: &selected, ..Request::default() };
    let output = instrument(&image, &code, &request, &snippets).expect("it can be instrumented");
    let copy = program.with_extension(if is_known { "known" } else { "unknown" });
    std::fs::write(&copy, output.bytes).expect("room for the copy");
    std::fs::set_permissions(&copy, std::fs::metadata(program).expect("the program").permissions()).expect("a mode can be set");
    copy
}

/// Nanoseconds of a call.
fn run(program: &Path) -> f64 {
    let done = Command::new(program).arg(ROUNDS).output().expect("it starts");
    String::from_utf8_lossy(&done.stdout).trim().parse().expect("a number")
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
