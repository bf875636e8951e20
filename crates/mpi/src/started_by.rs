//! How processes that the program spawns are started: by `env`, with the variables that this process was given, and one more, [`PARENT`].
//!
//! A process that runs a copy in its original's place lets itself be started anew by what has started it, as [`AGAIN`] says: the same program
//! is measured in children as in their parents. Other programs are started as they are, with the library preloaded.
//!
//! What always holds: a line is changed only where the file that it names is found from here, and no hints say where to look for it or
//! where to run it. So what cannot be started fails as it does unmeasured.

use crate::call::Call;
use crate::export::Arguments;
use crate::memory::{handle, int, read_int};
use crate::session::Session;
use crate::spawning::Spawn;
use crate::table::Id;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU64, Ordering};
use std::ffi::{CString, OsStr};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tare_format::shared::{CHILD, MEMORY};
use tare_runtime::process::now;

/// The variable of a child: `MARK,FIRST,DELAY`, which are the name of marks, the rank of the first child among all of the run, and the delay
/// of its parent in ticks.
const PARENT: &str = "TARE_PARENT";
/// The variable of who runs a copy: `COMMAND:SPEC:ORIGINAL`, of which `COMMAND exec SPEC` starts another one.
const AGAIN: &str = "TARE_AGAIN";
/// What starts children.
const ENV: &str = "/usr/bin/env";
/// Variables of who stands for an original, which is not so of others.
const OF_A_COPY: [&str; 4] = [PARENT, AGAIN, "TARE_EXECUTABLE", "TARE_COPY"];

/// Calls that have spawned so far.
static SPAWNED: AtomicU64 = AtomicU64::new(0);

/// What a child knows of its start.
#[derive(Clone, Debug)]
pub(crate) struct Parent {
    mark: String,
    /// The rank of the first child among all of the run.
    pub(crate) first: u32,
    /// How late who started it was then.
    pub(crate) delay: i64,
}

/// What is handed to the library in place of the program's commands.
#[derive(Debug)]
pub(crate) struct Line {
    parent: Parent,
    commands: Vec<CString>,
    _words: Vec<Vec<CString>>,
    arguments: Vec<Vec<*const c_char>>,
    pointers: [Vec<*const c_char>; 2],
}

impl Parent {
    /// Of this process, if it was spawned by one that is measured.
    pub(crate) fn here() -> Option<Self> {
        let text = std::env::var(PARENT).ok()?;
        let mut words = text.split(',');
        let mark = words.next().filter(|mark| mark.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-'))?;
        Some(Self { mark: mark.to_string(), first: words.next()?.parse().ok()?, delay: words.next()?.parse().ok()? })
    }

    /// Leaves the mark of this process. Where that fails, nobody takes it for measured.
    pub(crate) fn leave_mark(&self) {
        if place().is_some_and(|place| self.mark.starts_with(&place)) {
            let _ = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(self.own_mark());
        }
    }

    /// Takes it away.
    pub(crate) fn take_mark(&self) {
        // Best effort: it is empty.
        let _ = std::fs::remove_file(self.own_mark());
    }

    fn own_mark(&self) -> String {
        format!("{MEMORY}/{}{}", self.marks_begin(), std::process::id())
    }

    fn marks_begin(&self) -> String {
        format!("{CHILD}{}-", self.mark)
    }

    /// How many children have left their marks.
    pub(crate) fn marks(&self) -> i32 {
        let begin = self.marks_begin();
        let names = std::fs::read_dir(MEMORY).into_iter().flatten().flatten();
        names.filter(|entry| entry.file_name().as_bytes().starts_with(begin.as_bytes())).count() as i32
    }
}

impl Line {
    /// How many children have left their marks.
    pub(crate) fn marks(&self) -> i32 {
        self.parent.marks()
    }

    /// Puts it in the place of the program's own.
    pub(crate) fn put_into(&self, arguments: &mut Arguments, spawn: Spawn) {
        let is_one = spawn.count.is_none();
        arguments[spawn.command] = if is_one { self.commands[0].as_ptr() as usize } else { self.pointers[0].as_ptr() as usize };
        arguments[spawn.arguments()] = if is_one { self.arguments[0].as_ptr() as usize } else { self.pointers[1].as_ptr() as usize };
    }
}

/// The line of what a call is to spawn, of which this process is the root; `None` where it is better left as it is.
pub(crate) fn line(call: &mut Call<'_>, spawn: Spawn) -> Option<Line> {
    let session = call.session;
    let number = spawn.count.map_or(1, |count| usize::try_from(int(call.arguments[count])).unwrap_or(0));
    let most: Vec<i32> = (0..number)
        .map(|index| if spawn.count.is_none() { int(call.arguments[spawn.most()]) } else { read_int(call.arguments[spawn.most()] + 4 * index) })
        .collect();
    let programs = (0..number).map(|index| Program::of(session, call.arguments, spawn, index)).collect::<Option<Vec<_>>>()?;
    let all = most.iter().map(|most| u32::try_from(*most).ok()).sum::<Option<u32>>().filter(|all| *all > 0)?;
    let serial = SPAWNED.fetch_add(1, Ordering::Relaxed);
    let mark = format!("{}-{:x}-{serial:x}-{:x}", place()?, std::process::id(), now().0);
    let first = numbered(session, all)?;
    let parent = Parent { mark, first, delay: call.moment().delay };
    let words = programs.iter().map(|program| program.words(&parent)).collect::<Option<Vec<_>>>()?;
    let arguments: Vec<Vec<*const c_char>> =
        words.iter().map(|words| words.iter().map(|word| word.as_ptr()).chain([core::ptr::null()]).collect()).collect();
    let commands: Vec<CString> = words.iter().map(|_| CString::new(ENV)).collect::<Result<_, _>>().ok()?;
    let pointers = [commands.iter().map(|command| command.as_ptr()).collect(), arguments.iter().map(|words| words.as_ptr().cast()).collect()];
    Some(Line { parent, commands, _words: words, arguments, pointers })
}

/// A program that is to be spawned.
struct Program {
    name: CString,
    arguments: Vec<CString>,
    file: PathBuf,
}

impl Program {
    fn of(session: &Session, arguments: &Arguments, spawn: Spawn, index: usize) -> Option<Self> {
        let given = |position: usize| if spawn.count.is_none() { arguments[position] } else { pointer(arguments[position], index) };
        let info = if spawn.count.is_none() {
            handle(session.abi, arguments[spawn.info()])
        } else {
            crate::memory::read_handle(session.abi, arguments[spawn.info()], index)
        };
        if [c"wdir", c"path"].iter().any(|key| is_hinted(session, info, key)) {
            return None;
        }
        let name = text(given(spawn.command))?;
        let list = if spawn.count.is_some() && arguments[spawn.arguments()] == 0 { 0 } else { given(spawn.arguments()) };
        let words = (0..).map_while(|at| if list == 0 { None } else { text(pointer(list, at)) });
        let file = found(OsStr::from_bytes(name.to_bytes()))?;
        Some(Self { name, arguments: words.collect(), file })
    }

    /// What `env` gets.
    fn words(&self, parent: &Parent) -> Option<Vec<CString>> {
        let mut words = vec![format!("{PARENT}={},{},{}", parent.mark, parent.first, parent.delay).into_bytes()];
        let again = std::env::var(AGAIN).ok();
        let again = again.as_deref().and_then(|text| {
            let mut words = text.splitn(3, ':');
            Some((words.next()?, words.next()?, words.next()?))
        });
        match again.filter(|(_, _, original)| Path::new(original).canonicalize().is_ok_and(|original| original == self.file)) {
            Some((command, spec, _)) => words.extend([command, "exec", spec].map(|word| word.as_bytes().to_vec())),
            None => {
                words.extend(variables());
                words.push(self.name.to_bytes().to_vec());
            }
        }
        words.extend(self.arguments.iter().map(|argument| argument.to_bytes().to_vec()));
        words.into_iter().map(|word| CString::new(word).ok()).collect()
    }
}

/// The variables by which a process is measured, as this one has them.
fn variables() -> impl Iterator<Item = Vec<u8>> {
    let is_ours = |name: &OsStr| {
        let name = name.to_string_lossy();
        name == "LD_PRELOAD" || name.starts_with("TARE_") && !OF_A_COPY.contains(&&*name)
    };
    std::env::vars_os().filter(move |(name, _)| is_ours(name)).map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat())
}

/// Whether hints have a key.
fn is_hinted(session: &Session, info: usize, key: &CStr) -> bool {
    let (mut length, mut flag) = (0_i32, 0_i32);
    // Asking for the value itself ends a program of MPICH where there is no room for all of it.
    let places = [info, key.as_ptr() as usize, &raw mut length as usize, &raw mut flag as usize];
    info != session.handles.info_null && (session.ask(Id::MPI_Info_get_valuelen, places).is_none() || flag != 0)
}

/// The file of a command: where a path names it from here, or the first of this name in `PATH`.
fn found(name: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
    let path = if name.as_bytes().contains(&b'/') {
        Some(PathBuf::from(name)).filter(is_program)
    } else {
        std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(is_program)
    };
    path.filter(|_| Path::new(ENV).is_file())?.canonicalize().ok()
}

/// Names the memory files that this process sees: those of its machine, as it is mounted here.
fn place() -> Option<String> {
    let folder = std::fs::metadata(MEMORY).ok()?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{}-{:x}", boot.get(..8)?, folder.dev()))
}

/// Numbers so many children behind all processes of the run; the rank of the first. A file of the run directory counts them.
fn numbered(session: &Session, children: u32) -> Option<u32> {
    let world = session.communicators.get(session.handles.comm_world)?;
    let path = Path::new(&std::env::var_os("TARE_RUN_DIR")?).join("ranks");
    let mut file: File = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).ok()?;
    // SAFETY: the file is open. The lock ends with it.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } != 0 {
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    let first = text.trim().parse().unwrap_or(0_u32).max(session.first() + u32::try_from(world.size).ok()?);
    file.seek(SeekFrom::Start(0)).ok()?;
    writeln!(file, "{}", first + children).ok()?;
    Some(first)
}

/// The pointer number `index` of an array of the program's.
fn pointer(list: usize, index: usize) -> usize {
    crate::memory::read_pointer(list + index * size_of::<usize>())
}

/// A text of the program's.
fn text(address: usize) -> Option<CString> {
    // SAFETY: the standard says that a terminated text of the program stands here.
    (address != 0).then(|| unsafe { CStr::from_ptr(address as *const c_char) }.to_owned())
}
