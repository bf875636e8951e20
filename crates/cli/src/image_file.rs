//! Image files as the verbs need them: opened, understood, and refused with a remedy where they cannot be used.

use std::path::{Path, PathBuf};

use tare_format::note::NOTE_NAME;
use tare_image::{Foreign, Image, ImageError, Kind};
use tare_report::shell;

use crate::failure::{Code, Failure};
use crate::launch::TWO_STEPS;
use crate::mpi_library::{self, Library, Mpi};
use crate::other_tools;

/// Reads a file whole.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let name = path.display();
    match std::fs::metadata(path) {
        Ok(about) if about.is_dir() => {
            return Err(Failure::new(Code::BadInput, format!("{name} is a directory, not an executable or library")).remedy("name a file in it"));
        }
        // Reading a pipe or a device might never end.
        Ok(about) if !about.is_file() => {
            return Err(
                Failure::new(Code::BadInput, format!("{name} is no regular file")).remedy("name the file of an executable or a shared library")
            );
        }
        _ => {}
    }
    std::fs::read(path).map_err(|error| {
        let remedy = match error.kind() {
            std::io::ErrorKind::NotFound => "check the name; programs are not looked for in PATH here",
            std::io::ErrorKind::PermissionDenied => "ask its owner for the right to read it, or build it yourself",
            _ => "copy it to another place, and name the copy",
        };
        Failure::io(Code::NoInput, "read", path, &error).remedy(remedy)
    })
}

/// Whether no library can be loaded into a program at its start.
pub(crate) fn is_static(image: &Image<'_>) -> bool {
    matches!(image.kind(), Kind::Static | Kind::StaticPie)
}

/// Parses an image; what is wrong with it is said in one sentence with the remedy.
pub(crate) fn parse<'data>(path: &Path, bytes: &'data [u8]) -> Result<Image<'data>, Failure> {
    Image::parse(bytes).map_err(|error| failure(path, &error))
}

/// The sentence for an image that cannot be worked on.
fn failure(path: &Path, error: &ImageError) -> Failure {
    let path = path.display();
    match error {
        ImageError::NotElf { what } => not_elf(&path.to_string(), what),
        ImageError::OtherMachine { machine } => {
            Failure::new(Code::BadInput, format!("{path} is for {machine}, not for x86-64")).remedy("name a program built for x86-64")
        }
        ImageError::NotLoadable { what } => {
            Failure::new(Code::BadInput, format!("{path} is an ELF {what}, neither an executable nor a shared library"))
                .remedy(if what == "core file" { "name the program that it is the memory of" } else { LINK_FIRST })
        }
        _ => Failure::new(Code::BadInput, format!("{path} cannot be read as an ELF file: {error}")).remedy("copy or build the file again"),
    }
}

const LINK_FIRST: &str = "link it first, and name the executable or library that comes out";

/// The sentence for a file that is not ELF.
fn not_elf(path: &str, what: &Foreign) -> Failure {
    let (what, remedy) = match what {
        Foreign::Script(interpreter) => (format!("is a script for {interpreter}, which hides the program that it starts"), TWO_STEPS),
        Foreign::Empty => ("is empty".to_string(), "copy or build the file again"),
        Foreign::Archive => ("is a static library, not an ELF file".to_string(), LINK_FIRST),
        Foreign::Compressed(format) => (format!("is packed with {format}, not an ELF file"), "unpack it first"),
        Foreign::OtherCode(kind) => (format!("is {kind}, not an ELF file"), "name an executable or a shared library for Linux on x86-64"),
        Foreign::Text => ("is a text, not an ELF file".to_string(), "name an executable or a shared library for Linux"),
        _ => ("is not an ELF file".to_string(), "name an executable or a shared library for Linux"),
    };
    Failure::new(Code::BadInput, format!("{path} {what}")).remedy(remedy)
}

/// Refuses an image that carries our note: it is an instrumented copy already.
pub(crate) fn refuse_instrumented(path: &Path, image: &Image<'_>) -> Result<(), Failure> {
    let ours = NOTE_NAME.strip_suffix(b"\0").unwrap_or(NOTE_NAME);
    if image.notes().iter().any(|note| note.owner.as_bytes() == ours) {
        return Err(Failure::new(Code::BadInput, format!("{} is an instrumented copy already", path.display()))
            .remedy(format!("name the original, or run the copy as it is: tare run -- {}", shell::path(path))));
    }
    Ok(())
}

/// What a program needs in order to be measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs {
    /// The MPI that it uses.
    pub(crate) mpi: Option<Mpi>,
    /// The libraries that the loader finds for it.
    pub(crate) libraries: Vec<Library>,
}

impl Needs {
    /// The library of AddressSanitizer, which ends a program in which another library is loaded before it.
    pub(crate) fn sanitizer(&self) -> Option<PathBuf> {
        self.libraries.iter().find(|library| library.name.starts_with("libasan.so"))?.path.clone()
    }
}

/// Finds out what a program needs; `None` for a script, whose program cannot be seen.
pub(crate) fn needs(path: &Path) -> Result<Option<Needs>, Failure> {
    let bytes = read(path)?;
    match Image::parse(&bytes) {
        Err(ImageError::NotElf { what: Foreign::Script(_) }) => Ok(None),
        Err(error) => Err(failure(path, &error)),
        Ok(image) => needs_of(path, &image).map(Some),
    }
}

/// Finds out what a program needs; one that cannot be measured is refused with the remedy.
pub(crate) fn needs_of(path: &Path, image: &Image<'_>) -> Result<Needs, Failure> {
    let name = path.display();
    if image.kind() == Kind::SharedLibrary {
        return Err(Failure::new(Code::BadInput, format!("{name} is a shared library, not a program"))
            .remedy("name the program that loads it, with --library for the library"));
    }
    let defines_mpi = mpi_library::is_inside(image);
    let Some(interpreter) = image.interpreter().filter(|_| matches!(image.kind(), Kind::Pie | Kind::NonPie)) else {
        let what = if defines_mpi { "statically linked, with its MPI" } else { "statically linked" };
        return Err(Failure::new(Code::Unavailable, format!("{name} is {what}: the runtime cannot be loaded into it"))
            .remedy("link the program dynamically (without -static)"));
    };
    if let Some(library) = other_c_library(interpreter) {
        return Err(Failure::new(Code::Unavailable, format!("{name} is linked with {library}: the runtime needs the GNU C library"))
            .remedy("link it with the GNU C library, or bring code of your own: tare instrument --adapter FILE"));
    }
    let libraries = mpi_library::libraries(Path::new(interpreter), path)?;
    let mpi = mpi_library::of_libraries(path, &libraries)?;
    if mpi.is_none() && defines_mpi {
        return Err(Failure::new(Code::Unavailable, format!("{name} has its MPI linked statically: messages cannot be followed"))
            .remedy("link the program with the shared MPI library (libmpi.so or libmpich.so)"));
    }
    if mpi.is_some() {
        other_tools::tell(path, image, &libraries);
    }
    Ok(Needs { mpi, libraries })
}

/// The C library of a program whose loader is not that of the GNU C library.
fn other_c_library(interpreter: &str) -> Option<&'static str> {
    let loader = Path::new(interpreter).file_name()?.to_str()?;
    let known = [("ld-musl-", "musl"), ("ld-uClibc", "uClibc"), ("ld64-uClibc", "uClibc"), ("linker64", "Android's C library")];
    known.into_iter().find(|(begin, _)| loader.starts_with(begin)).map(|(_, library)| library)
}

/// Says which libraries a program finds by a search path of the older kind: that goes before all others, so that their copies are not loaded.
pub(crate) fn tell_of_hidden(program: &Path, image: &Image<'_>, libraries: &[(String, PathBuf)]) {
    let path = image.dynamic().rpath().filter(|_| image.dynamic().runpath().is_none());
    let Some(path) = path else { return };
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let origin = whole(program).parent().unwrap_or(Path::new("/")).display().to_string();
    let folders: Vec<PathBuf> =
        path.text.split(':').map(|one| whole(Path::new(&one.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin)))).collect();
    for (name, file) in libraries {
        if file.parent().is_some_and(|parent| folders.contains(&whole(parent))) {
            eprintln!(
                "tare: {} finds {name} by a search path of the older kind (DT_RPATH), which goes before all others: its instrumented copy is not loaded\n      \
                 try: link with -Wl,--enable-new-dtags, or `patchelf --set-rpath '{}' {}`, which makes it one of the newer kind",
                program.display(),
                path.text,
                program.display()
            );
        }
    }
}

/// Name and file of each library whose name contains one of the patterns; a pattern that matches nothing is refused.
pub(crate) fn libraries_named(
    program: &Path,
    image: &Image<'_>,
    libraries: &[Library],
    patterns: &[String],
) -> Result<Vec<(String, PathBuf)>, Failure> {
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for pattern in patterns {
        let matching: Vec<&Library> = libraries.iter().filter(|library| library.name.contains(pattern.as_str())).collect();
        if let Some(path) = image.needed().into_iter().find(|name| matching.is_empty() && name.contains('/') && name.contains(pattern.as_str())) {
            return Err(Failure::new(Code::BadInput, format!("{} needs {path} by its path, where the loader looks for no copy", program.display()))
                .remedy("link with a library that has a name of its own (-Wl,-soname,NAME), or `patchelf --replace-needed`"));
        }
        if matching.is_empty() {
            let names: Vec<&str> = libraries.iter().map(|library| library.name.as_str()).collect();
            return Err(Failure::new(Code::NoInput, format!("{} loads no library whose name contains `{pattern}`", program.display())).remedy(
                format!(
                    "it loads {}; one that it opens later has a copy by `tare instrument LIBRARY -o DIR/LIBRARY`, found by LD_LIBRARY_PATH=DIR",
                    names.join(", ")
                ),
            ));
        }
        for library in matching {
            let path = library.path.clone().ok_or_else(|| Failure::new(Code::NoInput, format!("the loader does not find {}", library.name)))?;
            if !found.iter().any(|(name, _)| *name == library.name) {
                found.push((library.name.clone(), path));
            }
        }
    }
    Ok(found)
}
