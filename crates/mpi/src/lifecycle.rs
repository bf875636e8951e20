//! From `MPI_Init` to `MPI_Finalize`.

use crate::abi::Abi;
use crate::answers;
use crate::board::Board;
use crate::call::{Call, Span};
use crate::communicators::Comm;
use crate::description::describe;
use crate::export::Arguments;
use crate::guard;
use crate::memory::STATUS_WORDS;
use crate::real::{self, Real};
use crate::session::{Handles, Session};
use crate::spawned;
use crate::started_by::Parent;
use crate::table::Id;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::io::Write;
use tare_format::ids::Rank;
use tare_runtime::process::{self, IdBase, Mode};

/// `MPI_Init` and `MPI_Init_thread`: the program proper begins when they return.
pub(crate) fn init(abi: &'static Abi, id: Id, real: Real, arguments: &mut Arguments) -> usize {
    WORLD.store(true, Ordering::Relaxed);
    let mode = process::mode();
    if mode == Mode::None || Session::current().is_some() || is_foreign(abi) {
        return pass(real, arguments);
    }
    let ids = register();
    if mode == Mode::Clock {
        let result = pass(real, arguments);
        if let Some(handles) = Handles::resolve(abi).filter(|_| crate::memory::int(result) == 0) {
            note_rank(abi, handles.comm_world);
            process::span_start();
        }
        return result;
    }
    // A process that cannot record still carries delays: its partners count on it.
    let Some(session) = Session::open(abi, ids.unwrap_or(IdBase(0)), process::delay_model()) else {
        return pass(real, arguments);
    };
    let parent = Parent::here();
    let mut call = Call::begin(session, id, real, arguments);
    if let Some(parent) = &parent {
        session.set_rank(0, parent.first);
        parent.leave_mark();
        call.corrected(parent.delay);
    }
    let span = call.run();
    if span.succeeded() {
        session.set_base(session.handles.comm_world, i32::MAX);
        note_rank(abi, session.handles.comm_world);
        let mut level = 0_i32;
        let asked = session.ask(Id::MPI_Query_thread, [&raw mut level as usize]);
        session.requests.concurrent.store(asked.is_none() || level >= abi.thread_multiple, Ordering::Relaxed);
        session.communicators.add(session, session.handles.comm_world, None);
        if let Some(world) = session.communicators.get(session.handles.comm_world) {
            // Where it fails, messages carry ticks as within one machine, and the library is broken anyway.
            let _ = session.clocks.agree(session, &world);
            session.set_rank(world.rank, session.first());
            session.set_board(Board::share(session, &world));
            world.meet(session, None);
            meet(&mut call, &span, &world, parent.as_ref());
        }
        session.communicators.add(session, session.handles.comm_self, None);
        calibrate(abi);
    } else {
        Session::close();
    }
    let result = call.finish(&span);
    process::span_start();
    result
}

/// The processes of the world have met; now, where they were spawned, they meet their parents.
fn meet(call: &mut Call<'_>, span: &Span, world: &Comm, parent: Option<&Parent>) {
    let session = call.session;
    if let Some(shadow) = world.shadow {
        session.circles.add(session, shadow);
    }
    if let Some(parent) = parent {
        note_rank(session.abi, session.handles.comm_world);
        spawned::meet_parents(call, span, parent, world);
        parent.take_mark();
    }
}

/// Whether the program has loaded another library than the one that this interposer is for, which is then left alone.
fn is_foreign(abi: &Abi) -> bool {
    let is_foreign = !real::is_loaded(abi);
    if is_foreign {
        let name = abi.names[0].to_string_lossy();
        // A program without standard error cannot be told.
        let _ = writeln!(
            std::io::stderr(),
            "tare: this program has loaded another MPI library than {name}, which was expected: its MPI is not measured\n      \
             try: tare run --mpi openmpi, mpich or mpiabi, as the library is"
        );
    }
    is_foreign
}

/// Finds out what a call takes that the readings of its wrapper do not see.
fn calibrate(abi: &'static Abi) {
    let id = Id::MPI_Initialized;
    let (Some(own), Some(real)) = (Real::exported(id), Real::find(abi, id)) else { return };
    let run = |function: Real, calls| {
        let mut flag = 0;
        for _ in 0..calls {
            // SAFETY: the function takes the address of an `int`, at any time.
            unsafe { function.call_with_address(&raw mut flag) };
        }
    };
    guard::as_the_program(|| tare_runtime::wrapper::calibrate(|calls| run(own, calls), |calls| run(real, calls)));
    let Some(handles) = Handles::resolve(abi) else { return };
    let (from, mut to) = ([0_u64; STATUS_WORDS], [0_u64; STATUS_WORDS]);
    // No library has all of these, and each has one.
    let cheap = [
        (Id::MPI_Comm_c2f, [handles.comm_self, 0]),
        (Id::MPI_Comm_toint, [handles.comm_self, 0]),
        (Id::MPI_Status_c2f, [from.as_ptr() as usize, to.as_mut_ptr() as usize]),
    ];
    let found = cheap.into_iter().find_map(|(id, given)| Some((Real::exported(id)?, Real::find(abi, id)?, given)));
    let Some((own, real, given)) = found else { return };
    let run = |function: Real, calls| {
        for _ in 0..calls {
            // SAFETY: the functions take a handle of a communicator, or two places of a status, at any time.
            let _ = unsafe { function.call(given) };
        }
    };
    guard::as_the_program(|| tare_runtime::passing::calibrate(|calls| run(own, calls), |calls| run(real, calls)));
}

/// Gives the functions of MPI their ids.
fn register() -> Option<IdBase> {
    let description = describe();
    let regions = u32::try_from(description.regions.len()).unwrap_or(0);
    process::register_pseudo_image(&description.to_bytes(), regions, description.identity)
}

/// `MPI_Finalize`: the program proper ends when it is entered.
pub(crate) fn finalize(id: Id, real: Real, arguments: &mut Arguments) -> usize {
    process::span_end();
    let Some(session) = Session::current() else { return pass(real, arguments) };
    let mut call = Call::begin(session, id, real, arguments);
    answers::close(session);
    session.late.close(session);
    session.windows.close(session);
    session.files.close(session);
    session.circles.close(session);
    session.communicators.close(session);
    session.pool.close(session);
    Session::close();
    let span = call.run();
    call.finish(&span)
}

/// `MPI_Abort`: the program proper ends here, and the graph file stays as it is.
pub(crate) fn abort(id: Id, real: Real, arguments: &mut Arguments) -> usize {
    process::span_end();
    timed(id, real, arguments)
}

/// `MPI_Pcontrol`: what it asks for begins when it has returned.
pub(crate) fn control(id: Id, real: Real, arguments: &mut Arguments) -> usize {
    let level = crate::memory::int(arguments[0]);
    let result = timed(id, real, arguments);
    tare_runtime::user::control(level);
    result
}

/// A call that is timed, where anything is recorded.
fn timed(id: Id, real: Real, arguments: &mut Arguments) -> usize {
    let Some(session) = Session::current() else { return pass(real, arguments) };
    let mut call = Call::begin(session, id, real, arguments);
    let span = call.run();
    call.finish(&span)
}

fn pass(real: Real, arguments: &Arguments) -> usize {
    // SAFETY: these are the arguments with which the program called this function, which returns an `int`.
    unsafe { real.invoke(false, arguments) }
}

/// Whether the program has called `MPI_Init`; sessions mean nothing then.
static WORLD: AtomicBool = AtomicBool::new(false);
/// Sessions of the program that are open, where it began with one.
static SESSIONS: AtomicUsize = AtomicUsize::new(0);

/// Whether the program has an `MPI_COMM_WORLD`.
pub(crate) fn has_world() -> bool {
    WORLD.load(Ordering::Relaxed)
}

/// `MPI_Session_init`: where a program begins with sessions, the program proper begins when the first has begun.
pub(crate) fn open_session(abi: &'static Abi, id: Id, real: Real, arguments: &mut Arguments) -> usize {
    let others = SESSIONS.load(Ordering::Relaxed);
    if process::mode() == Mode::None || has_world() || is_foreign(abi) {
        return timed(id, real, arguments);
    }
    SESSIONS.fetch_add(1, Ordering::Relaxed);
    if others > 0 {
        return timed(id, real, arguments);
    }
    if process::mode() == Mode::Clock {
        let result = pass(real, arguments);
        // The graph file is made with it.
        let _ = register();
        process::span_start();
        return result;
    }
    let Some(session) = Session::open(abi, register().unwrap_or(IdBase(0)), process::delay_model()) else {
        return pass(real, arguments);
    };
    let mut call = Call::begin(session, id, real, arguments);
    let span = call.run();
    session.requests.concurrent.store(true, Ordering::Relaxed);
    if span.succeeded() {
        calibrate(abi);
    }
    let result = call.finish(&span);
    process::span_start();
    result
}

/// `MPI_Session_finalize`: the program proper ends when the last session does.
pub(crate) fn close_session(id: Id, real: Real, arguments: &mut Arguments) -> usize {
    let counted = SESSIONS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| open.checked_sub(1));
    if counted == Ok(1) { finalize(id, real, arguments) } else { timed(id, real, arguments) }
}

/// Tells the graph file who we are, by a communicator of all processes.
pub(crate) fn note_rank(abi: &'static Abi, communicator: usize) {
    let of_all = |id| {
        let mut value = 0_i32;
        let real = Real::find(abi, id)?;
        // SAFETY: both functions take a communicator and the address of an `int`.
        let result = unsafe { real.call([communicator, &raw mut value as usize]) };
        u32::try_from(value).ok().filter(|_| result == 0)
    };
    if let (Some(rank), Some(size)) = (of_all(Id::MPI_Comm_rank), of_all(Id::MPI_Comm_size)) {
        let first = Session::current().map_or(0, Session::first);
        process::set_rank(Rank(first + rank), first + size, abi.library);
    }
}
