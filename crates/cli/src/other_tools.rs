//! Other tools in the same process that wrap functions of MPI, as the profiling interface of the standard allows.
//!
//! Our wrappers stand in front of those of any library and call the MPI library itself, so a tool in a library sees nothing of
//! the program's calls; one in the executable stands in front of ours, and what it calls is measured as the program's.

use std::ffi::OsString;
use std::path::Path;

use regex::bytes::Regex;
use tare_image::Image;

use crate::mpi_library::{self, Library};

/// Names on stderr the tools that a program of MPI brings along, in its executable or a library that it loads.
pub(crate) fn tell(program: &Path, image: &Image<'_>, libraries: &[Library]) {
    if wraps(image) {
        eprintln!("tare: {} wraps functions of MPI itself: what its wrappers call is measured", program.display());
    }
    let needed = libraries.iter().filter(|library| !mpi_library::belongs_to_mpi(&library.name));
    needed.filter_map(|library| library.path.as_deref()).for_each(tell_of);
}

/// Names those that are preloaded, by the environment or by what stands in a launch line (`env LD_PRELOAD=…`, `-x LD_PRELOAD=…`,
/// `-genv LD_PRELOAD …`).
pub(crate) fn tell_of_preloaded(line: &[OsString]) {
    let mut words = line.iter().map(|word| word.to_string_lossy());
    let mut lists: Vec<String> = std::env::var("LD_PRELOAD").into_iter().collect();
    while let Some(word) = words.next() {
        let list = if word == "LD_PRELOAD" { words.next() } else { word.strip_prefix("LD_PRELOAD=").map(|list| list.to_owned().into()) };
        lists.extend(list.map(|list| list.into_owned()));
    }
    let paths = lists.iter().flat_map(|list| list.split([':', ' '])).filter(|path| path.contains('/'));
    paths.map(Path::new).for_each(tell_of);
}

/// Names a library if it is a tool.
fn tell_of(library: &Path) {
    if is_tool(library) {
        eprintln!("tare: another tool, {}, wraps functions of MPI: in this run its wrappers see none of the program's calls", library.display());
    }
}

/// Whether a library wraps functions of MPI. One that cannot be read is the loader's business.
fn is_tool(path: &Path) -> bool {
    let Ok(bytes) = std::fs::read(path) else { return false };
    // Nearly all libraries do not even name them, and need no parsing. A linker lets one name be the end of another.
    let names_them = Regex::new(r"(?-u)MPI_[A-Z][A-Za-z_]+\x00").is_ok_and(|pattern| pattern.is_match(&bytes));
    names_them && Image::parse(&bytes).is_ok_and(|image| wraps(&image))
}

fn wraps(image: &Image<'_>) -> bool {
    let is_of_mpi = |name: &str| name.strip_prefix("MPI_").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()));
    let defines = |is_it: &dyn Fn(&str) -> bool| image.symbols().iter().any(|symbol| symbol.is_defined && symbol.is_function && is_it(symbol.name));
    defines(&is_of_mpi) && !defines(&|name| name == "PMPI_Init")
}
