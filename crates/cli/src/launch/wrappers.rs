//! The commands that start other commands, and which of their options take values.
//!
//! Sources: the manual pages of Open MPI 4 and 5 (`mpirun`), MPICH 4 (`mpiexec`, Hydra), Slurm (`srun`), coreutils,
//! util-linux and numactl.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A command that starts another command.
#[derive(Debug)]
pub(super) struct Wrapper {
    /// Its names.
    names: &'static [&'static str],
    /// Options with one value in the next word.
    pub(super) one_value: &'static [&'static str],
    /// Options with values in the next two words.
    pub(super) two_values: &'static [&'static str],
    /// Options without value, where the table would otherwise have to guess.
    pub(super) flags: &'static [&'static str],
    /// Options whose value is the working directory of the program.
    pub(super) directory: &'static [&'static str],
    /// Programs are looked for by name in the working directory as well, behind `PATH` (Open MPI).
    pub(super) finds_here: bool,
    /// Options whose value is where programs are looked for by name.
    pub(super) search: &'static [&'static str],
    /// Options whose value is a file or a text that names the programs.
    pub(super) program_files: &'static [&'static str],
    /// Words before the command that are not options.
    pub(super) positionals: usize,
    /// Words that may stand before the command.
    pub(super) optional: &'static [&'static str],
    /// Words of the form NAME=VALUE may stand before the command.
    pub(super) assignments: bool,
    /// Several commands, separated by `:`.
    pub(super) contexts: bool,
    /// Options that the table does not know may have values.
    pub(super) guess: bool,
    /// A shell: what it starts cannot be seen.
    pub(super) hides: bool,
    /// A debugger: it starts the program that stands behind this option, and without it is a program like others.
    pub(super) marker: Option<&'static str>,
    /// It does not run programs on this machine's processor.
    pub(super) emulates: bool,
}

impl Wrapper {
    /// Options that take one value.
    pub(super) fn with_value(&self) -> impl Iterator<Item = &'static str> {
        [self.one_value, self.directory, self.search].into_iter().flatten().copied()
    }

    /// Whether the last of several letters behind one dash has its value in the next word, as in `env -iC DIR`.
    pub(super) fn ends_before_value(&self, option: &str) -> bool {
        let Some(letters) = option.strip_prefix('-').filter(|letters| !letters.starts_with('-')) else { return false };
        let takes_value = |letter: char| self.with_value().any(|option| option.chars().eq(['-', letter]));
        letters.chars().position(takes_value) == letters.chars().count().checked_sub(1)
    }

    /// Whether it starts another program in this line, which begins with it.
    pub(super) fn wraps(&self, line: &[OsString]) -> bool {
        self.marker.is_none_or(|marker| line.iter().any(|word| word == marker))
    }

    /// The value of one of some options at the head of a line: in the next word, behind `=`, or behind the option's letter.
    pub(super) fn value_of<'line>(&self, options: &[&str], line: &'line [OsString]) -> Option<&'line OsStr> {
        let word = line.first()?.as_bytes();
        let is_letter = |option: &str, letter: u8| option.as_bytes() == [b'-', letter];
        let takes_value = |letter: u8| self.one_value.iter().any(|option| is_letter(option, letter));
        let behind = |option: &&str| match word.strip_prefix(option.as_bytes()) {
            Some([]) => line.get(1).map(OsString::as_os_str),
            Some([b'=', value @ ..]) if option.starts_with("--") => Some(OsStr::from_bytes(value)),
            _ => {
                let letters = word.strip_prefix(b"-").filter(|letters| !letters.starts_with(b"-"))?;
                let at = letters.iter().take_while(|&&letter| !takes_value(letter)).position(|&letter| is_letter(option, letter))?;
                let value = letters.get(at + 1..).filter(|value| !value.is_empty()).map(OsStr::from_bytes);
                value.or(line.get(1).map(OsString::as_os_str))
            }
        };
        options.iter().find_map(behind)
    }

    /// The option in a word that names the programs elsewhere: by itself, with its value (`--app=FILE`, `-STEXT`), behind other letters
    /// (`-iS`), or a long one shortened as far as it is clear.
    pub(super) fn program_file(&self, word: &str) -> Option<&'static str> {
        const SHORTEST: usize = "--s".len();
        let name = word.split('=').next().unwrap_or(word);
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
        let is_shortened = |option: &str| name.starts_with("--") && name.len() >= SHORTEST && option.starts_with(name);
        let is_letter = |option: &&&str, letter: char| option.strip_prefix('-').is_some_and(|rest| rest.chars().eq([letter]));
        let before_value = letters.chars().take_while(|&letter| !self.one_value.iter().any(|option| is_letter(&option, letter)));
        let in_letters = before_value.filter_map(|letter| self.program_files.iter().find(|option| is_letter(option, letter))).next();
        let named = self.program_files.iter().find(|option| **option == name || is_shortened(option));
        named.or(in_letters).copied()
    }
}

const NOTHING: Wrapper = Wrapper {
    names: &[],
    one_value: &[],
    two_values: &[],
    flags: &[],
    directory: &[],
    search: &[],
    finds_here: false,
    program_files: &[],
    positionals: 0,
    optional: &[],
    assignments: false,
    contexts: false,
    guess: false,
    hides: false,
    marker: None,
    emulates: false,
};

/// Open MPI's and MPICH's launchers share the name `mpirun`, so that one table serves both.
const MPIRUN: Wrapper = Wrapper {
    names: &[
        "mpirun",
        "mpiexec",
        "orterun",
        "prterun",
        "mpirun.openmpi",
        "mpiexec.openmpi",
        "mpirun.mpich",
        "mpiexec.mpich",
        "mpiexec.hydra",
        "mpirun.hydra",
        "hydra",
        "ibrun",
        "mpirun_rsh",
    ],
    one_value: &[
        "-n",
        "-np",
        "--np",
        "-c",
        "-N",
        "-x",
        "-H",
        "-host",
        "--host",
        "-hosts",
        "-hostfile",
        "--hostfile",
        "-machinefile",
        "--machinefile",
        "-f",
        "-map-by",
        "--map-by",
        "-rank-by",
        "--rank-by",
        "-bind-to",
        "--bind-to",
        "-am",
        "--am",
        "-tune",
        "--tune",
        "-prefix",
        "--prefix",
        "-rf",
        "--rankfile",
        "-rankfile",
        "-cpu-set",
        "--cpu-set",
        "-cpu-list",
        "--cpu-list",
        "-output-filename",
        "--output-filename",
        "-stdin",
        "--stdin",
        "-timeout",
        "--timeout",
        "-npernode",
        "--npernode",
        "-npersocket",
        "--npersocket",
        "-ppn",
        "-genvlist",
        "-envlist",
        "-launcher",
        "-launcher-exec",
        "-rmk",
        "-iface",
        "-bootstrap",
        "-membind",
        "-prepend-pattern",
        "-outfile-pattern",
        "-errfile-pattern",
        "-usize",
        "-arch",
        "-soft",
        "-info",
        "-genvexcl",
        "-ofi-provider",
        "--personality",
        "--dvm",
        "--rtos",
        "-perhost",
    ],
    two_values: &["-mca", "--mca", "-gmca", "--gmca", "--pmixmca", "--prtemca", "--omca", "-genv", "-env"],
    flags: &[
        "-q",
        "--quiet",
        "-v",
        "--verbose",
        "-V",
        "--version",
        "--oversubscribe",
        "-oversubscribe",
        "--allow-run-as-root",
        "--report-bindings",
        "-l",
        "-tag-output",
        "--tag-output",
        "--nooversubscribe",
        "--display-map",
        "--display-allocation",
        "-genvall",
        "-genvnone",
        "-envall",
        "-envnone",
        "-prepend-rank",
        "-print-all-exitcodes",
        "-verbose",
        "--pernode",
        "-pernode",
        "--bynode",
        "--byslot",
        "--enable-recovery",
        "--continuous",
        "-disable-auto-cleanup",
        "-enable-x",
        "-disable-x",
        "--use-hwthread-cpus",
        "--do-not-launch",
        "--get-stack-traces",
        "--report-child-jobs-separately",
    ],
    directory: &["-wdir", "--wdir", "-wd", "--wd"],
    search: &["-path", "--path"],
    finds_here: true,
    program_files: &["-app", "--app", "-configfile", "--configfile"],
    contexts: true,
    guess: true,
    ..NOTHING
};

const WRAPPERS: &[Wrapper] = &[
    MPIRUN,
    Wrapper {
        names: &["srun", "aprun", "jsrun", "flux", "lrun"],
        one_value: &[
            "-n", "-N", "-c", "-p", "-t", "-A", "-J", "-w", "-x", "-o", "-e", "-i", "-m", "-r", "-S", "-d", "-C", "-q", "-M", "-G", "-L", "-T", "-P",
            "-b", "-W", "-a", "-g",
        ],
        flags: &["-l", "-u", "-v", "-Q", "-K", "--exclusive", "--overlap", "--label", "--unbuffered", "--exact", "--pty", "-s", "-k", "-X"],
        directory: &["-D", "--chdir"],
        program_files: &["--multi-prog"],
        contexts: true,
        guess: true,
        ..NOTHING
    },
    Wrapper {
        names: &["env"],
        one_value: &["-u", "--unset"],
        directory: &["-C", "--chdir"],
        assignments: true,
        program_files: &["-S", "--split-string"],
        ..NOTHING
    },
    Wrapper { names: &["nice"], one_value: &["-n", "--adjustment"], ..NOTHING },
    Wrapper { names: &["ionice"], one_value: &["-c", "--class", "-n", "--classdata"], ..NOTHING },
    Wrapper { names: &["nohup", "setsid", "catchsegv"], ..NOTHING },
    Wrapper { names: &["time"], one_value: &["-f", "--format", "-o", "--output"], ..NOTHING },
    Wrapper { names: &["timeout"], one_value: &["-s", "--signal", "-k", "--kill-after"], positionals: 1, ..NOTHING },
    Wrapper { names: &["stdbuf"], one_value: &["-i", "-o", "-e", "--input", "--output", "--error"], ..NOTHING },
    Wrapper { names: &["taskset"], positionals: 1, ..NOTHING },
    Wrapper { names: &["chrt"], one_value: &["-T", "-P", "-D"], positionals: 1, ..NOTHING },
    Wrapper {
        names: &["numactl"],
        one_value: &[
            "-i",
            "-p",
            "-P",
            "-N",
            "-m",
            "-C",
            "-w",
            "--interleave",
            "--preferred",
            "--cpubind",
            "--cpunodebind",
            "--membind",
            "--physcpubind",
        ],
        ..NOTHING
    },
    Wrapper { names: &["prlimit", "eatmydata"], ..NOTHING },
    Wrapper {
        names: &["unshare"],
        one_value: &["-R", "--root", "-S", "--setuid", "-G", "--setgid", "--propagation", "--setgroups", "--map-user", "--map-group"],
        directory: &["-w", "--wd"],
        ..NOTHING
    },
    Wrapper { names: &["setpriv"], guess: true, ..NOTHING },
    Wrapper { names: &["choom"], one_value: &["-n", "--adjust"], ..NOTHING },
    Wrapper { names: &["cgexec"], one_value: &["-g"], ..NOTHING },
    Wrapper {
        names: &["flock"],
        one_value: &["-w", "--wait", "--timeout", "-E", "--conflict-exit-code"],
        program_files: &["-c", "--command"],
        positionals: 1,
        ..NOTHING
    },
    Wrapper { names: &["hwloc-bind"], one_value: &["--mempolicy", "--restrict"], positionals: 1, ..NOTHING },
    Wrapper { names: &["setarch"], optional: &["x86_64", "linux64", "linux32", "i386", "i686"], ..NOTHING },
    Wrapper { names: &["linux64", "x86_64"], ..NOTHING },
    Wrapper {
        names: &["gdb"],
        one_value: &[
            "-ex",
            "--ex",
            "-eval-command",
            "--eval-command",
            "-x",
            "--x",
            "-command",
            "--command",
            "-iex",
            "--iex",
            "-ix",
            "--ix",
            "-cd",
            "--cd",
            "-d",
            "-directory",
            "--directory",
            "-s",
            "-symbols",
            "--symbols",
            "-tty",
            "--tty",
            "-b",
            "-l",
            "-D",
            "-data-directory",
            "--data-directory",
            "-i",
            "-interpreter",
            "--interpreter",
            "-ui",
            "--ui",
        ],
        marker: Some("--args"),
        ..NOTHING
    },
    Wrapper {
        names: &["strace", "ltrace"],
        one_value: &["-e", "-o", "-s", "-a", "-E", "-u", "-I", "-O", "-S", "-X", "-b", "-P", "-U", "-A", "-F", "-l", "-n", "-x", "-w"],
        ..NOTHING
    },
    Wrapper {
        names: &["perf"],
        one_value: &[
            "-e",
            "--event",
            "-o",
            "--output",
            "-r",
            "--repeat",
            "-F",
            "--freq",
            "-c",
            "--count",
            "-g",
            "-I",
            "-x",
            "-C",
            "--cpu",
            "--call-graph",
        ],
        flags: &["-a", "-v", "-d", "-q"],
        positionals: 1,
        ..NOTHING
    },
    Wrapper { names: &["valgrind", "qemu-x86_64", "qemu-x86_64-static", "rr"], emulates: true, ..NOTHING },
    Wrapper {
        names: &[
            "sh",
            "bash",
            "dash",
            "zsh",
            "ksh",
            "csh",
            "tcsh",
            "fish",
            "busybox",
            "make",
            "xargs",
            "parallel",
            "ssh",
            "sudo",
            "su",
            "doas",
            "runuser",
            "chroot",
            "nsenter",
            "script",
            "watch",
            "fakeroot",
            "faketime",
            "firejail",
            "bwrap",
            "xvfb-run",
            "xterm",
            "screen",
            "systemd-run",
            "docker",
            "podman",
            "apptainer",
            "singularity",
            "salloc",
            "sbatch",
        ],
        hides: true,
        ..NOTHING
    },
];

/// The wrapper that a file is by its name.
pub(super) fn wrapper_named(path: &Path) -> Option<&'static Wrapper> {
    let name = path.file_name()?.to_str()?;
    WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name))
}
