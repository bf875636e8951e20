//! Other tools in the same process that wrap functions of MPI, as the profiling interface of the standard allows.
//!
//! Our wrappers stand in front of those of any library and call the MPI library itself, so a tool in a library sees nothing of
//! the program's calls; one in the executable stands in front of ours, and what it calls is measured as the program's.

use std::path::{Path, PathBuf};

use regex::bytes::Regex;
use tare_image::Image;

use crate::mpi_library::{self, Library};

/// Functions that a tool wraps which wraps any.
const WRAPPED: [&str; 4] = ["MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Send"];

/// Names on stderr the tools that a program brings along, in its executable or a library that it loads, and those that are
/// preloaded (as `LD_PRELOAD` lists them).
pub(crate) fn tell(program: &Path, image: &Image<'_>, libraries: &[Library], preloaded: &str) {
    if wraps(image) {
        eprintln!("tare: {} wraps functions of MPI itself: what its wrappers call is measured", program.display());
    }
    let needed = libraries.iter().filter(|library| !mpi_library::belongs_to_mpi(&library.name)).filter_map(|library| library.path.clone());
    let preloaded = preloaded.split([':', ' ']).filter(|path| path.starts_with('/')).map(PathBuf::from);
    for path in needed.chain(preloaded).filter(|path| is_tool(path)) {
        eprintln!("tare: another tool, {}, wraps functions of MPI: in this run its wrappers see none of the program's calls", path.display());
    }
}

/// Whether a library wraps functions of MPI. One that cannot be read is the loader's business.
fn is_tool(path: &Path) -> bool {
    let Ok(bytes) = std::fs::read(path) else { return false };
    // Nearly all libraries do not even name them, and need no parsing. A linker lets one name be the end of another.
    let names_them = Regex::new(&format!(r"(?-u)({})\x00", WRAPPED.join("|"))).is_ok_and(|pattern| pattern.is_match(&bytes));
    names_them && Image::parse(&bytes).is_ok_and(|image| wraps(&image))
}

fn wraps(image: &Image<'_>) -> bool {
    let defines = |name: &str| image.symbols().iter().any(|symbol| symbol.is_defined && symbol.is_function && symbol.name == name);
    WRAPPED.iter().any(|name| defines(name)) && !defines("PMPI_Init")
}
