//! A program that stops before each of its system calls, its threads' and its children's too.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// What the file systems can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FileSystem {
    /// Whatever they can.
    Any,
    /// No file without a name.
    NamedFiles,
    /// Nor one with two.
    OneName,
}

/// The program. All that is left of it is killed when this is dropped.
pub(crate) struct Traced {
    on: FileSystem,
    tasks: BTreeSet<libc::pid_t>,
    /// The one that stands.
    stopped: libc::pid_t,
    /// Those that are in a system call.
    inside: BTreeSet<libc::pid_t>,
    steps: usize,
}

impl Traced {
    /// Starts a command, which stops before its first instruction.
    pub(crate) fn start(mut command: Command, on: FileSystem) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        // SAFETY: a single system call, which touches no memory.
        unsafe { command.pre_exec(|| request(libc::PTRACE_TRACEME, 0, 0)) };
        let pid = libc::pid_t::try_from(command.spawn().expect("the program starts").id()).expect("a process id");
        let stopped = wait(pid).expect("it stops").0;
        let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACEFORK | libc::PTRACE_O_TRACECLONE | EXIT_KILL;
        request(libc::PTRACE_SETOPTIONS, stopped, options as usize).expect("it is traced");
        Self { on, tasks: BTreeSet::from([pid]), stopped, inside: BTreeSet::new(), steps: 0 }
    }

    /// Goes on to the next system call; `None` where all has ended. Says which call it is.
    pub(crate) fn step(&mut self) -> Option<i64> {
        let mut signal = 0;
        loop {
            // One that has been killed meanwhile tells so to the next wait.
            let _ = request(libc::PTRACE_SYSCALL, self.stopped, signal);
            let (task, status) = loop {
                let (task, status) = wait(-1)?;
                if libc::WIFSTOPPED(status) {
                    break (task, status);
                }
                self.tasks.remove(&task);
            };
            self.stopped = task;
            let is_new = self.tasks.insert(task);
            signal = match libc::WSTOPSIG(status) {
                STOP_AT_CALL if self.inside.remove(&task) => {
                    self.leave();
                    0
                }
                STOP_AT_CALL => {
                    self.steps += 1;
                    return Some(self.enter());
                }
                libc::SIGTRAP => 0,
                libc::SIGSTOP if is_new => 0,
                other => other as usize,
            };
        }
    }

    /// System calls so far.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    /// Takes a call that the file system cannot do for none; says which it is.
    fn enter(&mut self) -> i64 {
        let mut registers = registers(self.stopped);
        let call = registers.orig_rax.cast_signed();
        let is_unnamed = call == libc::SYS_openat && registers.rdx as i32 & libc::O_TMPFILE == libc::O_TMPFILE;
        let is_refused = match self.on {
            FileSystem::Any => false,
            FileSystem::NamedFiles => is_unnamed,
            FileSystem::OneName => is_unnamed || call == libc::SYS_linkat,
        };
        if is_refused {
            registers.orig_rax = NO_CALL;
            set_registers(self.stopped, &registers);
        }
        self.inside.insert(self.stopped);
        call
    }

    /// Says of a call that was taken for none that it cannot be done.
    fn leave(&self) {
        let mut registers = registers(self.stopped);
        if registers.orig_rax == NO_CALL {
            registers.rax = i64::from(-libc::EOPNOTSUPP).cast_unsigned();
            set_registers(self.stopped, &registers);
        }
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        // SAFETY: sends a signal to a process of this test, which has not been waited for.
        let kill = |task: libc::pid_t| unsafe { libc::syscall(libc::SYS_tkill, task, libc::SIGKILL) };
        for &task in &self.tasks {
            kill(task);
        }
        // One that has only just been made stops first.
        while let Some((task, status)) = wait(-1) {
            if libc::WIFSTOPPED(status) {
                kill(task);
            }
        }
    }
}

/// `PTRACE_O_EXITKILL`: what is traced ends with the test.
const EXIT_KILL: i32 = 1 << 20;
const NO_CALL: u64 = u64::MAX;
const STOP_AT_CALL: i32 = libc::SIGTRAP | 0x80;

/// The next of the traced that stops or ends; `None` where there are none.
fn wait(which: libc::pid_t) -> Option<(libc::pid_t, i32)> {
    let mut status = 0;
    // SAFETY: the status is a live word.
    let task = unsafe { libc::waitpid(which, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
    (task > 0).then_some((task, status))
}

fn request(what: libc::c_uint, task: libc::pid_t, data: usize) -> std::io::Result<()> {
    // SAFETY: these requests take a number, and change nothing of this process.
    let answer = unsafe { libc::ptrace(what, task, 0, data) };
    if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

fn registers(task: libc::pid_t) -> libc::user_regs_struct {
    let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
    // SAFETY: the kernel fills a record of this type.
    unsafe { libc::ptrace(libc::PTRACE_GETREGS, task, 0, registers.as_mut_ptr()) };
    // SAFETY: plain numbers.
    unsafe { registers.assume_init() }
}

fn set_registers(task: libc::pid_t, registers: &libc::user_regs_struct) {
    // SAFETY: the kernel reads a record of this type.
    unsafe { libc::ptrace(libc::PTRACE_SETREGS, task, 0, std::ptr::from_ref(registers)) };
}
