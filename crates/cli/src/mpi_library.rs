//! Which MPI a program needs, told from the libraries that the dynamic loader would load for it.

use std::path::{Path, PathBuf};
use std::process::Command;

use memchr::memmem;
use tare_image::Image;

use crate::failure::{Code, Failure};
use crate::installation;

/// The MPI ABIs for which there is an interposer.
#[expect(clippy::enum_variant_names, reason = "Open MPI is the library's name")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mpi {
    /// `libmpi.so.40`.
    OpenMpi,
    /// `libmpich.so.12`, and `libmpi.so.12` of the libraries that share its ABI.
    Mpich,
    /// `libmpi_abi.so.1`, of any library that has the standard's ABI.
    Standard,
}

impl Mpi {
    /// Its name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "Open MPI",
            Self::Mpich => "MPICH",
            Self::Standard => "MPI ABI",
        }
    }

    /// The preload library that serves it.
    pub(crate) fn preload(mpi: Option<Self>) -> &'static str {
        match mpi {
            None => "libtare.so",
            Some(Self::OpenMpi) => "libtare_openmpi.so",
            Some(Self::Mpich) => "libtare_mpich.so",
            Some(Self::Standard) => "libtare_mpiabi.so",
        }
    }

    /// The MPI whose `mpirun` comes first in `PATH`, told by the name of the file that it stands for.
    pub(crate) fn of_default_launcher() -> Option<Self> {
        Self::of_launcher(&installation::in_path("mpirun")?)
    }

    /// The MPI that a launcher belongs to, told by the name of the file that it stands for, or by what stands beside it.
    pub(crate) fn of_launcher(launcher: &Path) -> Option<Self> {
        let file = launcher.canonicalize().ok()?;
        let name = file.file_name()?.to_string_lossy();
        let is_beside = |other: &str| ["mpirun", "mpiexec"].contains(&&*name) && file.with_file_name(other).is_file();
        if ["orte", "openmpi", "prte"].iter().any(|part| name.contains(part)) || is_beside("prte") || is_beside("orted") {
            Some(Self::OpenMpi)
        } else if ["hydra", "mpich"].iter().any(|part| name.contains(part)) || is_beside("mpiexec.hydra") {
            Some(Self::Mpich)
        } else {
            None
        }
    }

    /// The MPI whose library has this name.
    fn of_library(name: &str) -> Option<Self> {
        match name {
            "libmpi.so.40" => Some(Self::OpenMpi),
            "libmpich.so.12" | "libmpi.so.12" => Some(Self::Mpich),
            "libmpi_abi.so.1" | "libmpi_abi.so.0" => Some(Self::Standard),
            _ => None,
        }
    }
}

/// A library that a program loads at start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Library {
    /// The name by which it is needed.
    pub(crate) name: String,
    /// The file that the loader finds for it.
    pub(crate) path: Option<PathBuf>,
}

/// The libraries that the loader `interpreter` would load for `program`, in its order.
///
/// It is asked with `--list`, as `ldd` does: search paths and caches are then its business. `$ORIGIN` it takes from the path that it
/// is given, but from the file's own when the system starts a program: links are followed beforehand.
pub(crate) fn libraries(interpreter: &Path, program: &Path) -> Result<Vec<Library>, Failure> {
    let program = program.canonicalize().unwrap_or_else(|_| program.to_path_buf());
    let output = Command::new(interpreter)
        .arg("--list")
        .arg(&program)
        .output()
        .map_err(|error| Failure::io(Code::Unavailable, "ask the dynamic loader", interpreter, &error))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::new(Code::BadInput, format!("{} cannot be loaded: {}", program.display(), why.trim()))
            .remedy("set LD_LIBRARY_PATH so that `ldd` finds all its libraries"));
    }
    Ok(parse_list(&String::from_utf8_lossy(&output.stdout)))
}

/// Lines such as `libc.so.6 => /lib/libc.so.6 (0x0000…)`.
fn parse_list(text: &str) -> Vec<Library> {
    text.lines()
        .filter_map(|line| {
            let (name, rest) = line.trim().split_once(" => ")?;
            Some(Library { name: name.to_string(), path: file_in(rest) })
        })
        .collect()
}

/// The file in what the loader says of a library, such as `/lib/libc.so.6 (0x0000…)`. Relative search paths make relative ones.
pub(crate) fn file_in(said: &str) -> Option<PathBuf> {
    let path = said.split(" (").next().filter(|path| path.contains('/'))?;
    std::path::absolute(path).ok()
}

/// The MPI among the libraries of a program; an MPI that is not known is refused by name.
pub(crate) fn of_libraries(program: &Path, libraries: &[Library]) -> Result<Option<Mpi>, Failure> {
    if let Some(mpi) = libraries.iter().find_map(|library| Mpi::of_library(&library.name)) {
        return Ok(Some(mpi));
    }
    match libraries.iter().find(|library| looks_like_mpi(&library.name)) {
        None => Ok(None),
        Some(library) => Err(Failure::new(
            Code::Unavailable,
            format!("{} uses {}, an MPI library that this version does not know", program.display(), library.name),
        )
        .remedy("build the program with Open MPI 4 or 5 (libmpi.so.40), an MPI of the MPICH ABI (libmpich.so.12, libmpi.so.12) or one of the standard's (libmpi_abi.so.1)")),
    }
}

/// What MPICH and Open MPI say of a wrong `MPI_Init`, which stands in no program but those that they are part of.
const SAYINGS: [&[u8]; 2] = [b"**mpi_init %p %p", b"function was called before MPI_INIT was invoked"];

/// Whether an MPI library is part of a program, linked statically: by its symbols, or where the program has none by its messages.
pub(crate) fn is_inside(image: &Image<'_>) -> bool {
    let mut symbols = image.symbols().iter();
    let says_so = || {
        let data = image.segments().iter().filter(|segment| !segment.is_executable());
        let mut data = data.filter_map(|segment| image.bytes_at(segment.address, segment.file_size));
        data.any(|bytes| SAYINGS.iter().any(|saying| memmem::find(bytes, saying).is_some()))
    };
    symbols.any(|symbol| symbol.is_defined && symbol.is_function && symbol.name == "PMPI_Init") || (image.is_stripped() && says_so())
}

/// Whether a library is an MPI library, or one that comes with it, such as `libmpi_mpifh.so.40`.
pub(crate) fn belongs_to_mpi(name: &str) -> bool {
    ["libmpi.", "libmpi_", "libmpich", "libmpl.", "libpmpi", "libopen-rte.", "libopen-pal."].iter().any(|start| name.starts_with(start))
}

/// `libmpi.so.20`, `libmpi_abi.so.2`, `libmpich.so.10`, `libmpt.so`, but not `libmpi_cxx` or other companions.
fn looks_like_mpi(name: &str) -> bool {
    let stem = name.split(".so").next().unwrap_or(name);
    matches!(stem, "libmpi" | "libmpich" | "libmpi_abi" | "libmpt" | "libmpi_ibm" | "libmpi_mt" | "libmsmpi" | "libfmpich" | "libmpiwrapper")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Vec<Library> {
        names.iter().map(|name| Library { name: (*name).into(), path: None }).collect()
    }

    #[test]
    fn the_list_of_the_loader_is_read() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibmpi.so.40 => /lib/x86_64-linux-gnu/libmpi.so.40 (0x00007f)\n\tlibx.so => not found\n\tliby.so => lib/liby.so (0x7f)\n\t/lib64/ld-linux-x86-64.so.2 (0x7f)\n";
        assert_eq!(
            parse_list(text),
            vec![
                Library { name: "libmpi.so.40".into(), path: Some("/lib/x86_64-linux-gnu/libmpi.so.40".into()) },
                Library { name: "libx.so".into(), path: None },
                Library { name: "liby.so".into(), path: Some(std::env::current_dir().expect("a directory").join("lib/liby.so")) },
            ]
        );
    }

    #[test]
    fn each_abi_is_known_by_its_library() {
        let of = |names: &[&str]| of_libraries(Path::new("app"), &named(names));
        assert_eq!(of(&["libc.so.6", "libmpi_mpifh.so.40", "libmpi.so.40"]).ok().flatten(), Some(Mpi::OpenMpi));
        assert_eq!(of(&["libmpichfort.so.12", "libmpich.so.12"]).ok().flatten(), Some(Mpi::Mpich));
        assert_eq!(of(&["libmpi.so.12"]).ok().flatten(), Some(Mpi::Mpich));
        assert_eq!(of(&["libmpi_abi.so.1"]).ok().flatten(), Some(Mpi::Standard));
        assert!(matches!(of(&["libc.so.6", "libm.so.6"]), Ok(None)));
    }

    #[test]
    fn an_unknown_mpi_is_refused_by_name() {
        let failure = of_libraries(Path::new("app"), &named(&["libmpi.so.20"])).expect_err("must be refused");
        assert!(failure.what.contains("libmpi.so.20"), "{failure}");
        assert!(failure.remedy.is_some());
    }
}
