//! What is known between `MPI_Init` and `MPI_Finalize`.

use crate::abi::Abi;
use crate::board::Board;
use crate::clocks::Clocks;
use crate::communicators::Communicators;
use crate::completion::Requests;
use crate::real::Real;
use crate::room::Room;
use crate::shadows::Late;
use crate::spawned::Circles;
use crate::table::Id;
use crate::transport::Pool;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::sync::OnceLock;
use tare_format::graph::DelayModel;
use tare_runtime::process::IdBase;

static SESSION: OnceLock<Session> = OnceLock::new();
/// Whether calls are recorded: from inside `MPI_Init` to inside `MPI_Finalize`.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// One per process that measures an MPI program.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) abi: &'static Abi,
    pub(crate) ids: IdBase,
    wanted_model: DelayModel,
    pub(crate) clocks: Clocks,
    pub(crate) handles: Handles,
    /// The communicator whose ranks stand for processes: `MPI_COMM_WORLD`, or in a program of sessions alone the first
    /// of the largest that it makes; 0 where there is none.
    base: AtomicUsize,
    /// The most members that one had.
    base_size: AtomicI32,
    pub(crate) communicators: Communicators,
    pub(crate) room: Room,
    /// Windows for one-sided communication, each with the members of its communicator.
    pub(crate) windows: Communicators,
    /// Files that several processes have opened together, each with the members of its communicator.
    pub(crate) files: Communicators,
    /// Processes of this and other worlds that carry delays.
    pub(crate) circles: Circles,
    /// The rank of this process among all of the run, and that of the first of its world.
    rank: AtomicU32,
    first: AtomicU32,
    pub(crate) late: Late,
    pub(crate) requests: Requests,
    pub(crate) pool: Pool,
    /// `None` where no memory is shared.
    board: OnceLock<Option<Board>>,
}

/// Predefined handles as this process has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handles {
    pub(crate) comm_world: usize,
    pub(crate) comm_self: usize,
    pub(crate) comm_null: usize,
    pub(crate) request_null: usize,
    pub(crate) datatype_null: usize,
    pub(crate) file_null: usize,
    pub(crate) win_null: usize,
    pub(crate) info_null: usize,
    pub(crate) byte: usize,
    pub(crate) int64: usize,
    pub(crate) max: usize,
    pub(crate) errors_return: usize,
}

impl Handles {
    pub(crate) fn resolve(abi: &Abi) -> Option<Self> {
        Some(Self {
            comm_world: abi.comm_world.resolve(abi)?,
            comm_self: abi.comm_self.resolve(abi)?,
            comm_null: abi.comm_null.resolve(abi)?,
            request_null: abi.request_null.resolve(abi)?,
            datatype_null: abi.datatype_null.resolve(abi)?,
            file_null: abi.file_null.resolve(abi)?,
            win_null: abi.win_null.resolve(abi)?,
            info_null: abi.info_null.resolve(abi)?,
            byte: abi.byte.resolve(abi)?,
            int64: abi.int64.resolve(abi)?,
            max: abi.max.resolve(abi)?,
            errors_return: abi.errors_return.resolve(abi)?,
        })
    }
}

impl Session {
    /// Begins the session of this process; there is one at most.
    pub(crate) fn open(abi: &'static Abi, ids: IdBase, model: DelayModel) -> Option<&'static Self> {
        let handles = Handles::resolve(abi)?;
        let session = SESSION.get_or_init(|| Self {
            abi,
            ids,
            wanted_model: model,
            clocks: Clocks::default(),
            handles,
            base: AtomicUsize::new(0),
            base_size: AtomicI32::new(0),
            communicators: Communicators::default(),
            room: Room::default(),
            windows: Communicators::default(),
            files: Communicators::default(),
            circles: Circles::default(),
            rank: AtomicU32::new(0),
            first: AtomicU32::new(0),
            late: Late::default(),
            requests: Requests::default(),
            pool: Pool::default(),
            board: OnceLock::new(),
        });
        ACTIVE.store(true, Ordering::Release);
        Some(session)
    }

    /// Ends the session.
    pub(crate) fn close() {
        ACTIVE.store(false, Ordering::Release);
        if let Some(session) = SESSION.get() {
            session.base.store(0, Ordering::Relaxed);
            session.base_size.store(0, Ordering::Relaxed);
        }
    }

    /// The session, while it is open.
    pub(crate) fn current() -> Option<&'static Self> {
        if ACTIVE.load(Ordering::Acquire) { SESSION.get() } else { None }
    }

    /// The communicator whose ranks stand for processes.
    pub(crate) fn base(&self) -> Option<usize> {
        Some(self.base.load(Ordering::Relaxed)).filter(|base| *base != 0)
    }

    /// Says that it may be this one of so many members: where it is larger than those before, or as large and they are gone.
    pub(crate) fn set_base(&self, communicator: usize, members: i32) -> bool {
        let before = self.base_size.fetch_max(members, Ordering::Relaxed);
        let is_it = members > before || members == before && self.base().is_none();
        if is_it {
            self.base.store(communicator, Ordering::Relaxed);
        }
        is_it
    }

    /// The program has freed a communicator.
    pub(crate) fn lose_base(&self, communicator: usize) {
        // It may be another one.
        let _ = self.base.compare_exchange(communicator, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// What the processes of this machine see of each other.
    pub(crate) fn board(&self) -> Option<&Board> {
        self.board.get()?.as_ref()
    }

    /// Shares it.
    pub(crate) fn set_board(&self, board: Option<Board>) {
        self.board.get_or_init(|| board);
    }

    /// Who this process is: its rank in its world, whose ranks begin at `first` among all of the run.
    pub(crate) fn set_rank(&self, rank: i32, first: u32) {
        self.first.store(first, Ordering::Relaxed);
        self.rank.store(first + u32::try_from(rank).unwrap_or(0), Ordering::Relaxed);
    }

    /// The rank of this process among all of the run.
    pub(crate) fn rank(&self) -> u32 {
        self.rank.load(Ordering::Relaxed)
    }

    /// That of the first of its world.
    pub(crate) fn first(&self) -> u32 {
        self.first.load(Ordering::Relaxed)
    }

    /// Whether delays travel.
    pub(crate) fn carries(&self) -> bool {
        self.wanted_model != DelayModel::Off
    }

    /// How delays travel.
    pub(crate) fn model(&self) -> DelayModel {
        self.clocks.model(self.wanted_model)
    }

    /// Calls a function of the library for ourselves; `None` unless it succeeded. Pointers among the arguments are to
    /// our own variables, of the types that the standard says.
    pub(crate) fn ask<const N: usize>(&self, id: Id, arguments: [usize; N]) -> Option<()> {
        let real = Real::find(self.abi, id)?;
        // SAFETY: the callers pass what the standard says this function takes.
        let result = unsafe { real.call(arguments) };
        (result == 0).then_some(())
    }

    /// The class of an error.
    pub(crate) fn error_class(&self, error: i32) -> i32 {
        let mut class = 0_i32;
        let asked = self.ask(Id::MPI_Error_class, [crate::memory::word(error), &raw mut class as usize]);
        if asked.is_some() { class } else { error }
    }
}
