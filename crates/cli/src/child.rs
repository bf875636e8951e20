//! The command under measurement as a child process: signals are passed on, its end is told.
//!
//! The tool outlives Ctrl-C and SIGTERM, so that a run that is interrupted still gets its summary: an interrupt
//! from the terminal reaches the whole process group anyway, one that is sent to the tool alone is passed on.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use crate::failure::{Code, Failure};
use crate::rundir::Exit;

/// The child to which signals are passed on; 0 while there is none.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// A signal that came before the child was known; 0 for none.
static EARLY: AtomicI32 = AtomicI32::new(0);

/// The signal that told the tool to stop; 0 for none.
static STOPPED_BY: AtomicI32 = AtomicI32::new(0);

/// The signal that told the tool to stop while a command ran: a launcher then ends with a status of its own making.
pub(crate) fn stopped_by() -> Option<i32> {
    Some(STOPPED_BY.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
}

const PASSED_ON: [libc::c_int; 5] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// How often a child that has a limit is looked at.
const GLANCE: Duration = Duration::from_millis(2);
/// What a child that is told to stop gets to do so.
const GRACE: Duration = Duration::from_secs(2);

/// Runs a command to its end, or until it takes too long: then it is stopped, and no end returned. Returns the seconds it
/// took as well.
pub(crate) fn run_for(command: Command, limit: Option<Duration>) -> Result<(Option<Exit>, f64), Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let started = Instant::now();
    let mut child = start(command)?;
    let status = wait(&mut child, limit.map(|limit| started + limit));
    CHILD.store(0, Ordering::SeqCst);
    let status = status.map_err(|error| Failure::new(Code::Internal, format!("lost {name}: {error}")))?;
    Ok((status.map(end_of), started.elapsed().as_secs_f64()))
}

/// Runs a command to its end; returns how it ended and the seconds it took.
pub(crate) fn run(command: Command) -> Result<(Exit, f64), Failure> {
    let (exit, wall) = run_for(command, None)?;
    Ok((exit.unwrap_or(Exit::Signal(libc::SIGKILL)), wall))
}

/// Starts a command, to which signals are passed on from now on.
fn start(mut command: Command) -> Result<Child, Failure> {
    for signal in PASSED_ON {
        pass_on(signal);
    }
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command.spawn().map_err(|error| Failure::new(Code::NoInput, format!("cannot start {name}: {error}")))?;
    CHILD.store(child.id().cast_signed(), Ordering::SeqCst);
    let early = EARLY.swap(0, Ordering::SeqCst);
    if early != 0 {
        tell(&child, early);
    }
    Ok(child)
}

/// Waits for a child's end; from `end` on it is told to stop, and `None` returned.
fn wait(child: &mut Child, end: Option<Instant>) -> std::io::Result<Option<ExitStatus>> {
    let Some(end) = end else { return child.wait().map(Some) };
    let mut is_told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((!is_told).then_some(status));
        }
        let now = Instant::now();
        if now > end + GRACE {
            return child.kill().and_then(|()| child.wait()).map(|_| None);
        }
        if now > end && !is_told {
            is_told = true;
            // A launcher that is told stops its ranks; one that is killed cannot.
            tell(child, libc::SIGTERM);
        }
        std::thread::sleep(GLANCE);
    }
}

fn tell(child: &Child, signal: libc::c_int) {
    // SAFETY: the child has not been waited for yet.
    unsafe { libc::kill(child.id().cast_signed(), signal) };
}

fn end_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Status(code),
        (None, signal) => Exit::Signal(signal.unwrap_or(libc::SIGKILL)),
    }
}

/// The status with which the tool ends in the child's place: a signal as 128 + n.
pub(crate) fn exit_code(exit: Exit) -> ExitCode {
    let number = match exit {
        Exit::Status(status) => status,
        Exit::Signal(signal) => 128 + signal,
    };
    ExitCode::from(u8::try_from(number & 0xff).unwrap_or(u8::MAX))
}

/// Passes a signal on from now on, unless it is ignored (as under `nohup`): then the command ignores it as well.
fn pass_on(signal: libc::c_int) {
    // SAFETY: all bit patterns are valid for a struct sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: asks for the present action, into a live value of the right type.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    if asked != 0 || action.sa_sigaction == libc::SIG_IGN {
        return;
    }
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_signal;
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: the action is initialised and its handler calls async-signal-safe functions only.
    unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
}

/// Passes a signal on to the child, unless the kernel sent it to the whole group (Ctrl-C in a terminal).
extern "C" fn on_signal(signal: libc::c_int, about: *mut libc::siginfo_t, _: *mut libc::c_void) {
    if [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].contains(&signal) {
        STOPPED_BY.store(signal, Ordering::SeqCst);
    }
    // SAFETY: the kernel hands a handler with SA_SIGINFO a valid siginfo.
    let from_kernel = unsafe { (*about).si_code } == libc::SI_KERNEL;
    if from_kernel {
        return;
    }
    EARLY.store(signal, Ordering::SeqCst);
    let child = CHILD.load(Ordering::SeqCst);
    if child > 0 && EARLY.swap(0, Ordering::SeqCst) != 0 {
        // SAFETY: kill is async-signal-safe; the child has not been waited for yet.
        unsafe { libc::kill(child, signal) };
    }
}
