//! Launch lines: where in a command stand the programs that are to be measured.
//!
//! A line is a nest of wrappers (`mpirun -n 4 env A=1 taskset -c 0 ./app args`), in which a launcher may start
//! several programs (`mpirun -n 1 ./a : -n 3 ./b`). [`programs`] walks through the wrappers that [`wrappers`]
//! describes and returns the position of each program. What is not an ELF file in the end is refused by name.

mod wrappers;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::failure::{Code, Failure};
use crate::mpi_library::Mpi;
use wrappers::{Wrapper, wrapper_named};

/// A program in a launch line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Program {
    /// Its position in the line.
    pub(crate) position: usize,
    /// The file that it names.
    pub(crate) path: PathBuf,
    /// The position of the debugger that starts it.
    pub(crate) debugger: Option<usize>,
    /// The MPI whose launcher starts it.
    pub(crate) launched_by: Option<Mpi>,
}

/// What stands in the line for a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// The program itself.
    Program,
    /// More options of its debugger.
    Debugger,
}

/// Why the programs of a line cannot be told.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    #[error("no command: nothing stands behind `--`")]
    Empty,
    #[error("no executable in the command: `{0}` ends before it names a program")]
    NoProgram(String),
    #[error("`{0}` is neither a file nor a command in PATH")]
    NotFound(String),
    #[error("`{0}` is no command in PATH, but a file in this directory")]
    Here(String),
    #[error("`{0}` is a directory, not a program")]
    Directory(String),
    #[error("`{0}` is not executable")]
    NotExecutable(String),
    #[error("`{script}` is a script, which hides the program that it starts")]
    Script { script: String },
    #[error("`{0}` runs programs on a processor of its own, whose time says nothing of this machine's")]
    Emulator(String),
    #[error("`{0}` runs with its owner's rights (set-user-ID or set-group-ID): an instrumented copy has none, and does something else")]
    OwnRights(String),
    #[error("`{wrapper} {option}` names its programs in a file or a text, which hides them")]
    ProgramFile { wrapper: String, option: String },
}

/// The error with its remedy, for people.
pub(crate) fn failure(error: &LaunchError) -> Failure {
    let code = match error {
        LaunchError::Empty | LaunchError::NoProgram(_) => Code::Usage,
        LaunchError::NotFound(_) | LaunchError::Here(_) => Code::NoInput,
        LaunchError::Directory(_)
        | LaunchError::NotExecutable(_)
        | LaunchError::Script { .. }
        | LaunchError::Emulator(_)
        | LaunchError::OwnRights(_)
        | LaunchError::ProgramFile { .. } => Code::BadInput,
    };
    let remedy = match error {
        LaunchError::Empty | LaunchError::NoProgram(_) => "name the command as you would start it without us: tare profile -- mpirun -n 2 ./app",
        LaunchError::Here(_) => "a program in this directory is called ./NAME",
        LaunchError::NotFound(_) | LaunchError::Directory(_) => "check the name; a program in this directory is called ./NAME",
        LaunchError::NotExecutable(_) => "chmod +x, or name the program itself",
        LaunchError::Emulator(_) => "leave it out of the command",
        LaunchError::OwnRights(_) => "measure a copy without that bit (`cp` leaves it out) as the user whose rights it takes",
        LaunchError::Script { .. } | LaunchError::ProgramFile { .. } => TWO_STEPS,
    };
    Failure::new(code, error.to_string()).remedy(remedy)
}

/// What to do about programs that cannot be seen in the line.
pub(crate) const TWO_STEPS: &str = "two steps: `tare instrument PROGRAM -o PROGRAM.tare`, let the script start PROGRAM.tare, \
     then `tare run -- SCRIPT`";

/// Finds the programs of a launch line, in order.
pub(crate) fn programs(line: &[OsString]) -> Result<Vec<Program>, LaunchError> {
    if line.is_empty() {
        return Err(LaunchError::Empty);
    }
    let mut found = Vec::new();
    walk(line, 0, &Place::default(), &mut found)?;
    Ok(found)
}

/// What the wrappers before a command say of it.
#[derive(Default)]
struct Place<'line> {
    /// The working directory that it is given, if not our own.
    directory: PathBuf,
    /// Where it is looked for by name, if not in our own `PATH`.
    search: Option<&'line OsStr>,
    /// Whether it is looked for by name in the working directory as well.
    finds_here: bool,
    /// The position of the debugger that starts it.
    debugger: Option<usize>,
    /// The MPI whose launcher starts it.
    launched_by: Option<Mpi>,
}

/// Follows the command that begins at `start`; a launcher's contexts are followed one by one.
fn walk<'line>(line: &'line [OsString], start: usize, place: &Place<'line>, found: &mut Vec<Program>) -> Result<(), LaunchError> {
    let command = &line[start];
    let path = resolve(command, place)?;
    match wrapper_named(&path).filter(|wrapper| wrapper.wraps(&line[start..]) && !is_of_the_user(&path)) {
        None if takes_rights(&path) => return Err(LaunchError::OwnRights(command.to_string_lossy().into())),
        None => found.push(Program { position: start, path, debugger: place.debugger, launched_by: place.launched_by }),
        Some(wrapper) if wrapper.emulates => return Err(LaunchError::Emulator(command.to_string_lossy().into())),
        Some(wrapper) if wrapper.hides => {
            return Err(LaunchError::Script {
                script: line[start..].iter().take(3).map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "),
            });
        }
        Some(wrapper) => {
            let mut at = start + 1;
            loop {
                let (position, given) = skip_options(line, at, wrapper, command)?;
                let debugger = wrapper.marker.map(|_| start).or(place.debugger);
                let directory = place.directory.join(given.directory);
                let launched_by = Mpi::of_launcher(&path).or(place.launched_by);
                let inner = Place { directory, search: given.search.or(place.search), finds_here: wrapper.finds_here, debugger, launched_by };
                walk(line, position, &inner, found)?;
                match next_context(line, position, wrapper) {
                    Some(next) => at = next,
                    None => break,
                }
            }
        }
    }
    Ok(())
}

/// Whether the system runs a program with rights that its caller does not have.
fn takes_rights(path: &Path) -> bool {
    let Ok(about) = path.metadata() else { return false };
    // SAFETY: asks who this is.
    let user = unsafe { libc::geteuid() };
    // SAFETY: as above.
    let group = unsafe { libc::getegid() };
    let has = |bit: libc::mode_t| about.mode() & bit != 0;
    has(libc::S_ISUID) && about.uid() != user || has(libc::S_ISGID) && has(libc::S_IXGRP) && about.gid() != group
}

/// Whether a file with the name of a wrapper is a program of the user's own, as a test program `./timeout` is: machine code that
/// neither lies where programs are installed (`…/bin`, …) nor is found by its name.
fn is_of_the_user(path: &Path) -> bool {
    let Ok(file) = path.canonicalize() else { return false };
    let folder = file.parent();
    let is_installed = folder.and_then(Path::file_name).is_some_and(|name| ["bin", "sbin", "libexec"].iter().any(|known| name == *known));
    let search = std::env::var_os("PATH").unwrap_or_default();
    let is_found = || std::env::split_paths(&search).any(|known| known.canonicalize().is_ok_and(|known| Some(&*known) == folder));
    !is_installed && !is_found() && is_machine_code(&file)
}

fn is_machine_code(file: &Path) -> bool {
    let mut magic = [0; 4];
    let read = std::fs::File::open(file).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut magic));
    read.is_ok() && magic == *b"\x7fELF"
}

/// The position behind the next `:` of a launcher that knows several programs.
fn next_context(line: &[OsString], from: usize, wrapper: &Wrapper) -> Option<usize> {
    if !wrapper.contexts {
        return None;
    }
    line[from..].iter().position(|word| word == ":").map(|colon| from + colon + 1)
}

/// The position of the command that a wrapper starts, and what the wrapper says of it.
fn skip_options<'line>(line: &'line [OsString], from: usize, wrapper: &Wrapper, command: &OsStr) -> Result<(usize, Place<'line>), LaunchError> {
    let mut at = from;
    let mut positionals = wrapper.positionals;
    let mut place = Place::default();
    while let Some(word) = line.get(at) {
        let text = word.to_string_lossy();
        if text == "--" {
            at += 1;
        } else if let Some(option) = wrapper.program_file(&text) {
            return Err(LaunchError::ProgramFile { wrapper: command.to_string_lossy().into(), option: option.into() });
        } else if text.len() > 1 && text.starts_with('-') {
            place.directory = wrapper.value_of(wrapper.directory, &line[at..]).map_or(place.directory, PathBuf::from);
            place.search = wrapper.value_of(wrapper.search, &line[at..]).or(place.search);
            at += 1 + values_of(wrapper, &text, line.get(at + 1));
        } else if wrapper.assignments && text.contains('=') {
            place.search = word.as_bytes().strip_prefix(b"PATH=").map(OsStr::from_bytes).or(place.search);
            at += 1;
        } else if wrapper.optional.contains(&&*text) {
            at += 1;
        } else if positionals > 0 {
            positionals -= 1;
            at += 1;
        } else {
            return Ok((at, place));
        }
    }
    Err(LaunchError::NoProgram(command.to_string_lossy().into()))
}

/// How many of the following words belong to an option. One that the table does not know takes the next
/// word as its value unless that word is the path of an executable file.
fn values_of(wrapper: &Wrapper, option: &str, next: Option<&OsString>) -> usize {
    if wrapper.two_values.contains(&option) {
        return 2;
    }
    if wrapper.with_value().any(|one| one == option) {
        return 1;
    }
    if wrapper.flags.contains(&option) || option.contains('=') || !wrapper.guess {
        return usize::from(!wrapper.guess && wrapper.ends_before_value(option));
    }
    let is_program = next.is_none_or(|word| {
        let text = word.as_bytes();
        text.starts_with(b"-") || resolve(word, &Place::default()).is_ok()
    });
    usize::from(!is_program)
}

/// The file that a command names: by path, or by name in `PATH`. Relative ones are those of the directory that it is started in.
fn resolve(command: &OsStr, place: &Place<'_>) -> Result<PathBuf, LaunchError> {
    let name = command.to_string_lossy().into_owned();
    if command.as_bytes().contains(&b'/') {
        return check(&place.directory.join(command), name);
    }
    let search = place.search.map(OsStr::to_os_string).or_else(|| std::env::var_os("PATH"));
    search
        .iter()
        .flat_map(std::env::split_paths)
        .map(|folder| place.directory.join(folder))
        .chain(place.finds_here.then(|| place.directory.clone()))
        .map(|folder| folder.join(command))
        .find(|path| check(path, String::new()).is_ok())
        .ok_or_else(|| match std::fs::metadata(place.directory.join(command)) {
            Ok(about) if about.is_dir() => LaunchError::Directory(name),
            Ok(_) => LaunchError::Here(name),
            Err(_) => LaunchError::NotFound(name),
        })
}

fn check(path: &Path, name: String) -> Result<PathBuf, LaunchError> {
    match std::fs::metadata(path) {
        Err(_) => Err(LaunchError::NotFound(name)),
        Ok(about) if about.is_dir() => Err(LaunchError::Directory(name)),
        Ok(about) if about.permissions().mode() & 0o111 == 0 => Err(LaunchError::NotExecutable(name)),
        Ok(_) => Ok(path.to_path_buf()),
    }
}

/// The line with each program replaced by the words that `replacement` gives for it, and more words behind its debugger.
pub(crate) fn substitute(line: &[OsString], programs: &[Program], replacement: impl Fn(usize, Part) -> Vec<OsString>) -> Vec<OsString> {
    let mut words = Vec::with_capacity(line.len() + 2 * programs.len());
    for (position, word) in line.iter().enumerate() {
        match programs.iter().position(|program| program.position == position) {
            Some(index) => words.extend(replacement(index, Part::Program)),
            None => words.push(word.clone()),
        }
        if let Some(index) = programs.iter().position(|program| program.debugger == Some(position)) {
            words.extend(replacement(index, Part::Debugger));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(line: &str) -> Result<Vec<usize>, LaunchError> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        programs(&words).map(|found| found.iter().map(|program| program.position).collect())
    }

    #[test]
    fn a_bare_program_is_found() {
        assert_eq!(positions("/bin/true a b"), Ok(vec![0]));
        assert_eq!(positions("true"), Ok(vec![0]));
    }

    #[test]
    fn small_wrappers_are_passed() {
        assert_eq!(positions("env -u X A=1 B=/bin/ls /bin/true"), Ok(vec![5]));
        assert_eq!(positions("nice -n 5 /bin/true"), Ok(vec![3]));
        assert_eq!(positions("timeout -s INT 10 /bin/true x"), Ok(vec![4]));
        assert_eq!(positions("taskset -c 0,1 env A=1 /bin/true"), Ok(vec![5]));
        assert_eq!(positions("taskset 0x3 /bin/true"), Ok(vec![2]));
        assert_eq!(positions("nohup nice /bin/true"), Ok(vec![2]));
        assert_eq!(positions("stdbuf --output L /bin/true"), Ok(vec![3]));
        assert_eq!(positions("prlimit --nofile=64 -c0 /bin/true"), Ok(vec![3]));
        assert_eq!(positions("unshare -r --wd /tmp /bin/true"), Ok(vec![4]));
        assert_eq!(positions("flock -w 1 /tmp/lock /bin/true -c"), Ok(vec![4]));
        assert_eq!(behind("hwloc-bind", "--cpubind core:0 -- ./app"), Some(3));
    }

    #[test]
    fn a_program_of_the_user_s_own_may_have_the_name_of_a_wrapper() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let path = |folder: &str| place.path().join(folder).join("timeout").display().to_string();
        for folder in ["work", "bin"] {
            std::fs::create_dir(place.path().join(folder)).expect("a writable directory");
            std::fs::copy("/bin/true", path(folder)).expect("a file to copy");
        }
        assert_eq!(positions(&format!("nice {} 5 /bin/true", path("work"))), Ok(vec![1]));
        assert_eq!(positions(&format!("nice {} 5 /bin/true", path("bin"))), Ok(vec![3]));
        std::fs::write(path("work"), "#!/bin/sh\n").expect("a writable file");
        assert_eq!(positions(&format!("nice {} 5 /bin/true", path("work"))), Ok(vec![3]));
    }

    #[test]
    fn a_program_is_looked_for_where_its_wrappers_have_it_started() {
        let path = |line: &str| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            programs(&words).map(|found| found.into_iter().map(|program| program.path).collect::<Vec<_>>())
        };
        for line in [
            "env PATH=/nowhere:/bin true",
            "env -i -C / PATH=/usr/bin:bin env PATH=bin true",
            "nice env -iC/bin A=1 env ./true",
            "env -C / env --chdir=bin ./true",
        ] {
            assert_eq!(path(line), Ok(vec![PathBuf::from("/bin/true")]), "{line}");
        }
        let place = Place { directory: PathBuf::from("/bin"), search: Some(OsStr::new("/nowhere")), ..Place::default() };
        assert!(resolve(OsStr::new("true"), &place).is_err());
        assert_eq!(resolve(OsStr::new("true"), &Place { finds_here: true, ..place }), Ok(PathBuf::from("/bin/true")));
        assert_eq!(path("env PATH=/nowhere true"), Err(LaunchError::NotFound("true".into())));
        assert!(path("env -C /nowhere bin/true").is_err());
    }

    #[test]
    fn a_debugger_is_passed_where_it_is_given_a_program_to_start() {
        let line: Vec<OsString> = "nice /bin/true : -x f --args /bin/false x".split_whitespace().map(OsString::from).collect();
        let gdb = wrapper_named(Path::new("gdb")).expect("gdb is known");
        assert!(gdb.wraps(&line) && !gdb.wraps(&line[..4]));
        assert_eq!(behind("gdb", "-q -batch -ex run -x file --args ./app -n 3"), Some(7));
        let found = [Program { position: 2, path: PathBuf::new(), debugger: Some(0), launched_by: None }];
        let out = substitute(&["gdb", "--args", "./app"].map(OsString::from), &found, |_, part| vec![format!("{part:?}").into()]);
        assert_eq!(out.join(OsStr::new(" ")), "gdb Debugger --args Program");
    }

    #[test]
    fn tracers_are_passed_and_emulators_refused() {
        assert_eq!(behind("strace", "-f -e trace=read -o out ./app x"), Some(5));
        assert_eq!(behind("perf", "stat -e cycles -r 3 ./app"), Some(5));
        let valgrind = wrapper_named(Path::new("/usr/bin/valgrind")).expect("valgrind is known");
        assert!(valgrind.emulates);
    }

    #[test]
    fn a_program_with_rights_of_its_own_is_refused() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let program = place.path().join("program");
        std::fs::copy("/bin/true", &program).expect("a program");
        let line = [program.clone().into_os_string()];
        let with_mode = |mode| {
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).expect("a mode can be set");
            programs(&line)
        };
        assert!(with_mode(0o4755).is_ok(), "the caller's own rights are no others");
        // Only who may give files away can have one of somebody else's.
        if std::os::unix::fs::chown(&program, Some(65_534), Some(65_534)).is_ok() {
            assert!(matches!(with_mode(0o4755), Err(LaunchError::OwnRights(_))));
            assert!(matches!(with_mode(0o2755), Err(LaunchError::OwnRights(_))));
            assert!(with_mode(0o755).is_ok());
        }
    }

    #[test]
    fn what_hides_a_program_is_refused_by_name() {
        for line in ["sh -c true", "env bash ./x", "chroot / /bin/true", "script -c true"] {
            assert!(matches!(positions(line), Err(LaunchError::Script { .. })), "{line}");
        }
        assert_eq!(positions(""), Err(LaunchError::Empty));
        assert_eq!(positions("env A=1"), Err(LaunchError::NoProgram("env".into())));
        for line in ["env -S ./app", "env -S./app", "env -iS ./app", "env -ivSA=1 x", "env --split-string=./app", "env --split ./app"] {
            assert!(matches!(positions(line), Err(LaunchError::ProgramFile { .. })), "{line}");
        }
        assert_eq!(positions("env -uS -iC/tmp /bin/true"), Ok(vec![3]));
        assert!(matches!(positions("flock -w 1 /tmp/x -c true"), Err(LaunchError::ProgramFile { .. })));
        assert_eq!(positions("/nowhere/app"), Err(LaunchError::NotFound("/nowhere/app".into())));
        assert_eq!(positions("/tmp"), Err(LaunchError::Directory("/tmp".into())));
        assert_eq!(positions("/etc/passwd"), Err(LaunchError::NotExecutable("/etc/passwd".into())));
    }

    /// Options are tested on the tables themselves, as no launcher need be installed.
    fn behind(wrapper: &str, line: &str) -> Option<usize> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let wrapper = wrapper_named(Path::new(wrapper)).expect("a wrapper that is known");
        skip_options(&words, 0, wrapper, OsStr::new("launcher")).ok().map(|(position, _)| position)
    }

    #[test]
    fn launchers_are_passed_with_their_options() {
        assert_eq!(behind("mpirun", "-n 4 ./app -n 3"), Some(2));
        assert_eq!(behind("mpirun.openmpi", "--mca btl self,vader --map-by node -np 2 -x PATH --oversubscribe ./app"), Some(10));
        assert_eq!(behind("mpiexec.hydra", "-ppn 2 -genv A 1 -genvall -bind-to core -n 2 ./app"), Some(10));
        assert_eq!(behind("srun", "-N 2 --ntasks=4 --mpi=pmix -c 2 --exclusive ./app"), Some(7));
        assert_eq!(behind("mpirun", "--some-new-option value -n 2 ./app"), Some(4));
        assert_eq!(behind("mpirun", "-n 4"), None);
    }

    #[test]
    fn several_programs_in_one_line_are_all_found() {
        let words: Vec<OsString> = "mpirun -n 1 ./a : -n 3 ./b x".split_whitespace().map(OsString::from).collect();
        let wrapper = wrapper_named(Path::new("mpirun")).expect("mpirun is known");
        assert_eq!(next_context(&words, 3, wrapper), Some(5));
        assert_eq!(next_context(&words, 7, wrapper), None);
    }

    #[test]
    fn substitution_touches_the_programs_alone() {
        let words: Vec<OsString> = "mpirun -n 1 ./a : -n 3 ./b x".split_whitespace().map(OsString::from).collect();
        let found = [3, 7].map(|position| Program { position, path: PathBuf::new(), debugger: None, launched_by: None });
        let out = substitute(&words, &found, |index, _| vec!["tare".into(), "exec".into(), index.to_string().into()]);
        assert_eq!(out.join(OsStr::new(" ")), "mpirun -n 1 tare exec 0 : -n 3 tare exec 1 x");
    }
}
