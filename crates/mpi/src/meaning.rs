//! What a call of an MPI function means to us, and where its arguments stand.

use crate::spawning::Spawn;
use tare_delay::visits::Look;

/// Position of an argument, counted from 0.
pub type Position = usize;

/// What a call means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// Passed through without a region: conversions of handles, which the libraries' Fortran bindings call for
    /// every call of the program, and the tools interface.
    Silent,
    /// Timed, nothing else.
    Plain,
    /// Timed; synchronises, but carries no delay: counted.
    Uncovered,
    /// `MPI_Abi_get_version`, timed: a library that has no such function has no ABI of the standard, and that is its answer.
    AbiVersion,
    /// `MPI_Pcontrol`: what is recorded from now on.
    Control,
    /// `MPI_Init` and `MPI_Init_thread`.
    Init,
    /// `MPI_Finalize`.
    Finalize,
    /// `MPI_Session_init`.
    OpenSession,
    /// `MPI_Session_finalize`.
    CloseSession,
    /// `MPI_Abort`.
    Abort,
    /// A message is sent, now or later.
    Send(Stage, Mode, Message),
    /// A message is received, now or later; the status or the request stands behind the communicator.
    Receive(Stage, Message),
    /// A message is sent and one received.
    Exchange(Exchange),
    /// A probe.
    Probe(Probe),
    /// Starts persistent requests: position of their number, where there are several, and of the first.
    Start(Option<Position>, Position),
    /// Completes requests.
    Complete(Complete),
    /// Asks whether requests are complete, and leaves them as they are: positions of their number, where there may be several, of the
    /// first (of the only one: of its handle), and of the answer.
    Ask(Option<Position>, Position, Position),
    /// `MPI_Request_free`.
    FreeRequest,
    /// `MPI_Cancel`.
    Cancel,
    /// A blocking collective that carries delays.
    Collective(Collective),
    /// The same, started; the request stands behind the communicator.
    StartCollective(Collective),
    /// The same, prepared; the request stands behind the hints.
    PrepareCollective(Collective),
    /// A message whose parts the sender releases one by one is prepared; the request stands behind the hints.
    PrepareParts(Parts),
    /// Parts of such a message are released: position of the request.
    Release(Released, Position),
    /// A collective among neighbours in the topology of the communicator at this position.
    Neighbours(Stage, Position),
    /// A window for one-sided communication is made: position of the communicator and of its handle.
    CreateWindow(Position, Position),
    /// All members of the window at this position wait for each other; the assertion stands at the other one.
    Fence(Position, Position),
    /// A window ends, and its members wait for each other.
    FreeWindow,
    /// This process lets the members of a group reach its part of a window: positions of the group and of the window.
    Expose(Position, Position),
    /// This process is about to reach the parts of a group's members: positions of the group and of the window.
    Reach(Position, Position),
    /// It does so no more, as far as the window at this position is concerned.
    EndReach(Position),
    /// Nobody reaches its part any more: position of the window, and of the flag where the call does not wait for that.
    EndExposure(Position, Option<Position>),
    /// A part of a window is locked, or all are: positions of the rank, of the kind of lock, and of the window.
    Lock(Option<Position>, Option<Position>, Position),
    /// What was done on a locked part of a window, or on all, is completed: positions of the rank and of the window.
    Flush(Option<Position>, Position),
    /// A part of a window is unlocked, or all are: positions of the rank and of the window.
    Unlock(Option<Position>, Position),
    /// Another's part of a window is read or written.
    Access(Access),
    /// A file is opened: positions of the communicator and of the handle.
    OpenFile(Position, Position),
    /// A file is closed.
    CloseFile,
    /// A collective operation on the file at position 0, or a part of it.
    Joint(Part, Option<Buffer>),
    /// This process alone reads from a file, or writes to it.
    Transfer(Buffer),
    /// A communicator is made: position of its handle.
    Create(Position, Origin),
    /// Processes are spawned.
    Spawn(Spawn),
    /// This process, and perhaps others with it, is connected with processes elsewhere: position of the handle of what connects them.
    Meet(Position),
    /// The making of a communicator is started: positions of its handle and of the request.
    CreateLater(Position, Position),
    /// A communicator ends.
    FreeComm,
}

impl Meaning {
    /// What every library looks for during such a call, unless what the call is for is complete. In calls that start something, none
    /// looks for more than the message that a receive asks for.
    #[must_use]
    pub const fn looks_for(self) -> Option<Look> {
        match self {
            Self::Receive(stage, _) | Self::Exchange(Exchange { stage, .. }) => match stage {
                Stage::Blocking => Some(Look::Everything),
                Stage::Started => Some(Look::Found),
                Stage::Prepared => None,
            },
            Self::Start(..) => Some(Look::Found),
            Self::Neighbours(Stage::Blocking, _) => Some(Look::Everything),
            Self::Probe(_) | Self::Complete(_) | Self::Ask(..) | Self::Collective(_) | Self::Create(..) | Self::FreeComm | Self::Finalize => {
                Some(Look::Everything)
            }
            Self::Spawn(_) | Self::Meet(_) => Some(Look::Everything),
            Self::Lock(..) | Self::Flush(..) | Self::Unlock(..) => Some(Look::Everything),
            Self::OpenFile(..) | Self::CloseFile | Self::Joint(Part::Whole | Part::Second, _) => Some(Look::Everything),
            Self::CreateWindow(..) | Self::Fence(..) | Self::FreeWindow | Self::EndReach(_) | Self::EndExposure(..) => Some(Look::Everything),
            _ => None,
        }
    }
}

/// Whether a send may wait for its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// If the message is large.
    Standard,
    /// Never.
    Buffered,
    /// Always.
    Synchronous,
}

/// When a message goes on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// During the call.
    Blocking,
    /// It is started and completed later.
    Started,
    /// It is prepared and started later.
    Prepared,
}

/// Where the arguments of a message stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Number of elements.
    pub count: Position,
    /// Their type.
    pub datatype: Position,
    /// Rank of the partner.
    pub peer: Position,
    /// Tag.
    pub tag: Position,
    /// Communicator.
    pub comm: Position,
}

/// Where the arguments of a message in parts stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    /// Number of parts.
    pub parts: Position,
    /// The message; its count is that of each part.
    pub message: Message,
    /// Whether it is sent rather than received.
    pub sent: bool,
}

/// Which parts are released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Released {
    /// One.
    One,
    /// From one to another: their positions.
    Range(Position, Position),
    /// As many as stand at this position.
    Count(Position),
}

/// A message each way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// The one sent.
    pub sent: Message,
    /// The one received.
    pub received: Message,
    /// Whether it blocks.
    pub stage: Stage,
}

/// Where the arguments of a probe stand; source, tag and communicator are the first three.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe {
    /// The flag of those that do not block.
    pub flag: Option<Position>,
    /// Whether the message is taken off the queue.
    pub matched: bool,
    /// The status.
    pub status: Position,
}

/// Which requests a call completes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// The only one.
    One,
    /// All or none.
    All,
    /// One, whose index is told.
    Any(Position),
    /// Those whose indices are told: position of their number and of the first.
    Some(Position, Position),
}

/// Where the arguments of a completion stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Complete {
    /// Number of requests, where there may be several.
    pub count: Option<Position>,
    /// The requests.
    pub requests: Position,
    /// The flag of those that do not block.
    pub flag: Option<Position>,
    /// Status or statuses.
    pub status: Position,
    /// Which ones are completed.
    pub which: Which,
    /// Whether it returns although nothing is completed.
    pub asks: bool,
}

/// Positions of buffer, count and datatype.
pub type Buffer = (Position, Position, Position);

/// Where the arguments of an access to another's part of a window stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Number of elements; one where there is none.
    pub count: Option<Position>,
    /// Their type.
    pub datatype: Position,
    /// Rank of the part.
    pub target: Position,
    /// The window.
    pub window: Position,
    /// The request of those that are completed later.
    pub request: Option<Position>,
    /// Whether data goes there.
    pub puts: bool,
    /// Whether data comes back.
    pub gets: bool,
}

/// What of a collective operation on a file a call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// All of it.
    Whole,
    /// Its begin; another call ends it.
    First,
    /// Its end.
    Second,
    /// It is started and completed later: position of the request.
    Started(Position),
}

/// Of what a communicator is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Of the one at position 0, by all of its members.
    Parent,
    /// Of that one, by some of its members, or with others.
    Some,
    /// Of groups.
    Groups,
}

/// Who depends on whom in a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dependence {
    /// All on all.
    All,
    /// Others on the root, whose position this is.
    OnRoot(Position),
    /// The root, whose position this is, on all.
    OfRoot(Position),
    /// Each on the lower ranks.
    Prefix,
}

/// A collective that carries delays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Collective {
    /// Who depends on whom.
    pub dependence: Dependence,
    /// The communicator.
    pub comm: Position,
    /// Buffer, count and datatype of the data that this process puts in or takes out, where they are single.
    pub data: Option<Buffer>,
}

const FIRST: Message = Message { count: 1, datatype: 2, peer: 3, tag: 4, comm: 5 };

/// `MPI_Init`.
pub const INIT: Meaning = Meaning::Init;
/// `MPI_Finalize`.
pub const FINALIZE: Meaning = Meaning::Finalize;
/// `MPI_Abort`.
pub const ABORT: Meaning = Meaning::Abort;
/// `MPI_Send`.
pub const SEND: Meaning = Meaning::Send(Stage::Blocking, Mode::Standard, FIRST);
/// `MPI_Bsend`.
pub const SEND_BUFFERED: Meaning = Meaning::Send(Stage::Blocking, Mode::Buffered, FIRST);
/// `MPI_Ssend`.
pub const SEND_SYNCHRONOUS: Meaning = Meaning::Send(Stage::Blocking, Mode::Synchronous, FIRST);
/// `MPI_Isend`.
pub const START_SEND: Meaning = Meaning::Send(Stage::Started, Mode::Standard, FIRST);
/// `MPI_Ibsend`.
pub const START_SEND_BUFFERED: Meaning = Meaning::Send(Stage::Started, Mode::Buffered, FIRST);
/// `MPI_Issend`.
pub const START_SEND_SYNCHRONOUS: Meaning = Meaning::Send(Stage::Started, Mode::Synchronous, FIRST);
/// `MPI_Send_init`.
pub const PREPARE_SEND: Meaning = Meaning::Send(Stage::Prepared, Mode::Standard, FIRST);
/// `MPI_Bsend_init`.
pub const PREPARE_SEND_BUFFERED: Meaning = Meaning::Send(Stage::Prepared, Mode::Buffered, FIRST);
/// `MPI_Ssend_init`.
pub const PREPARE_SEND_SYNCHRONOUS: Meaning = Meaning::Send(Stage::Prepared, Mode::Synchronous, FIRST);

const fn parts(sent: bool) -> Meaning {
    Meaning::PrepareParts(Parts { parts: 1, message: Message { count: 2, datatype: 3, peer: 4, tag: 5, comm: 6 }, sent })
}

/// `MPI_Psend_init`.
pub const PREPARE_SEND_PARTS: Meaning = parts(true);
/// `MPI_Precv_init`.
pub const PREPARE_RECEIVE_PARTS: Meaning = parts(false);
/// `MPI_Pready`.
pub const RELEASE: Meaning = Meaning::Release(Released::One, 1);
/// `MPI_Pready_range`.
pub const RELEASE_RANGE: Meaning = Meaning::Release(Released::Range(0, 1), 2);
/// `MPI_Pready_list`.
pub const RELEASE_LIST: Meaning = Meaning::Release(Released::Count(0), 2);
/// `MPI_Recv`.
pub const RECEIVE: Meaning = Meaning::Receive(Stage::Blocking, FIRST);
/// `MPI_Irecv`.
pub const START_RECEIVE: Meaning = Meaning::Receive(Stage::Started, FIRST);
/// `MPI_Recv_init`.
pub const PREPARE_RECEIVE: Meaning = Meaning::Receive(Stage::Prepared, FIRST);

const fn exchange(stage: Stage) -> Meaning {
    Meaning::Exchange(Exchange {
        sent: Message { count: 1, datatype: 2, peer: 3, tag: 4, comm: 10 },
        received: Message { count: 6, datatype: 7, peer: 8, tag: 9, comm: 10 },
        stage,
    })
}

const fn exchange_replace(stage: Stage) -> Meaning {
    Meaning::Exchange(Exchange {
        sent: Message { count: 1, datatype: 2, peer: 3, tag: 4, comm: 7 },
        received: Message { count: 1, datatype: 2, peer: 5, tag: 6, comm: 7 },
        stage,
    })
}

/// `MPI_Sendrecv`.
pub const EXCHANGE: Meaning = exchange(Stage::Blocking);
/// `MPI_Isendrecv`.
pub const START_EXCHANGE: Meaning = exchange(Stage::Started);
/// `MPI_Sendrecv_replace`.
pub const EXCHANGE_REPLACE: Meaning = exchange_replace(Stage::Blocking);
/// `MPI_Isendrecv_replace`.
pub const START_EXCHANGE_REPLACE: Meaning = exchange_replace(Stage::Started);

/// `MPI_Probe`.
pub const PROBE: Meaning = Meaning::Probe(Probe { flag: None, matched: false, status: 3 });
/// `MPI_Iprobe`.
pub const ASK_PROBE: Meaning = Meaning::Probe(Probe { flag: Some(3), matched: false, status: 4 });
/// `MPI_Mprobe`.
pub const MATCH: Meaning = Meaning::Probe(Probe { flag: None, matched: true, status: 4 });
/// `MPI_Improbe`.
pub const ASK_MATCH: Meaning = Meaning::Probe(Probe { flag: Some(3), matched: true, status: 5 });

/// `MPI_Start`.
pub const START: Meaning = Meaning::Start(None, 0);
/// `MPI_Startall`.
pub const START_ALL: Meaning = Meaning::Start(Some(0), 1);
/// `MPI_Request_free`.
pub const FREE_REQUEST: Meaning = Meaning::FreeRequest;
/// `MPI_Cancel`.
pub const CANCEL: Meaning = Meaning::Cancel;

const fn complete(count: Option<Position>, requests: Position, flag: Option<Position>, status: Position, which: Which) -> Meaning {
    let asks = flag.is_some();
    Meaning::Complete(Complete { count, requests, flag, status, which, asks })
}

/// `MPI_Wait`.
pub const WAIT: Meaning = complete(None, 0, None, 1, Which::One);
/// `MPI_Waitall`.
pub const WAIT_ALL: Meaning = complete(Some(0), 1, None, 2, Which::All);
/// `MPI_Waitany`.
pub const WAIT_ANY: Meaning = complete(Some(0), 1, None, 3, Which::Any(2));
/// `MPI_Waitsome`.
pub const WAIT_SOME: Meaning = complete(Some(0), 1, None, 4, Which::Some(2, 3));
/// `MPI_Test`.
pub const TEST: Meaning = complete(None, 0, Some(1), 2, Which::One);
/// `MPI_Testall`.
pub const TEST_ALL: Meaning = complete(Some(0), 1, Some(2), 3, Which::All);
/// `MPI_Testany`.
pub const TEST_ANY: Meaning = complete(Some(0), 1, Some(3), 4, Which::Any(2));
/// `MPI_Testsome`: no flag, the number of completed requests tells.
pub const TEST_SOME: Meaning =
    Meaning::Complete(Complete { count: Some(0), requests: 1, flag: None, status: 4, which: Which::Some(2, 3), asks: true });

/// `MPI_Comm_free`.
pub const FREE_COMM: Meaning = Meaning::FreeComm;

/// Positions of buffer, count and datatype.
#[must_use]
pub const fn data(buffer: Position, count: Position, datatype: Position) -> Option<Buffer> {
    Some((buffer, count, datatype))
}

const fn access(count: Option<Position>, datatype: Position, target: Position, window: Position, puts: bool, gets: bool) -> Access {
    Access { count, datatype, target, window, request: None, puts, gets }
}

/// `MPI_Put`.
pub const PUT: Access = access(Some(1), 2, 3, 7, true, false);
/// `MPI_Get`.
pub const GET: Access = access(Some(1), 2, 3, 7, false, true);
/// `MPI_Accumulate`.
pub const ACCUMULATE: Access = access(Some(1), 2, 3, 8, true, false);
/// `MPI_Get_accumulate`; what comes back counts.
pub const GET_ACCUMULATE: Access = access(Some(4), 5, 6, 11, true, true);
/// `MPI_Fetch_and_op`.
pub const FETCH: Access = access(None, 2, 3, 6, true, true);
/// `MPI_Compare_and_swap`.
pub const SWAP: Access = access(None, 3, 4, 6, true, true);

/// The same, completed later; the request stands behind the window.
#[must_use]
pub const fn start_access(access: Access) -> Meaning {
    Meaning::Access(Access { request: Some(access.window + 1), ..access })
}

/// `MPI_File_set_view` and its like.
pub const JOINT: Meaning = Meaning::Joint(Part::Whole, None);
/// `MPI_File_read_all_end` and its like.
pub const END_JOINT: Meaning = Meaning::Joint(Part::Second, None);

/// `MPI_File_write_all` and its like; the buffer stands at this position, and count and datatype behind it.
#[must_use]
pub const fn joint(buffer: Position) -> Meaning {
    Meaning::Joint(Part::Whole, data(buffer, buffer + 1, buffer + 2))
}

/// `MPI_File_write_all_begin` and its like.
#[must_use]
pub const fn begin_joint(buffer: Position) -> Meaning {
    Meaning::Joint(Part::First, data(buffer, buffer + 1, buffer + 2))
}

/// `MPI_File_iwrite_all` and its like.
#[must_use]
pub const fn start_joint(buffer: Position) -> Meaning {
    Meaning::Joint(Part::Started(buffer + 3), data(buffer, buffer + 1, buffer + 2))
}

/// `MPI_File_write` and its like.
#[must_use]
pub const fn transfer(buffer: Position) -> Meaning {
    Meaning::Transfer((buffer, buffer + 1, buffer + 2))
}

/// `MPI_Allreduce` and its like.
#[must_use]
pub const fn all_to_all(comm: Position, data: Option<Buffer>) -> Meaning {
    Meaning::Collective(Collective { dependence: Dependence::All, comm, data })
}

/// `MPI_Iallreduce` and its like.
#[must_use]
pub const fn start_all_to_all(comm: Position, data: Option<Buffer>) -> Meaning {
    Meaning::StartCollective(Collective { dependence: Dependence::All, comm, data })
}

/// `MPI_Allreduce_init` and its like.
#[must_use]
pub const fn prepare_all_to_all(comm: Position, data: Option<Buffer>) -> Meaning {
    Meaning::PrepareCollective(Collective { dependence: Dependence::All, comm, data })
}

/// `MPI_Bcast_init` and its like.
#[must_use]
pub const fn prepare_from_root(root: Position, comm: Position, data: Option<Buffer>) -> Meaning {
    Meaning::PrepareCollective(Collective { dependence: Dependence::OnRoot(root), comm, data })
}

/// `MPI_Reduce_init` and its like.
#[must_use]
pub const fn prepare_to_root(root: Position, comm: Position, data: Option<Buffer>) -> Meaning {
    Meaning::PrepareCollective(Collective { dependence: Dependence::OfRoot(root), comm, data })
}

/// `MPI_Scan_init` and its like.
#[must_use]
pub const fn prepare_prefix(comm: Position, data: Option<Buffer>) -> Meaning {
    Meaning::PrepareCollective(Collective { dependence: Dependence::Prefix, comm, data })
}

/// `MPI_Ibcast` and its like.
#[must_use]
pub const fn start_from_root(root: Position, comm: Position, data: Option<Buffer>) -> Meaning {
    Meaning::StartCollective(Collective { dependence: Dependence::OnRoot(root), comm, data })
}

/// `MPI_Ireduce` and its like.
#[must_use]
pub const fn start_to_root(root: Position, comm: Position, data: Option<Buffer>) -> Meaning {
    Meaning::StartCollective(Collective { dependence: Dependence::OfRoot(root), comm, data })
}

/// `MPI_Iscan` and its like.
#[must_use]
pub const fn start_prefix(comm: Position, data: Option<Buffer>) -> Meaning {
    Meaning::StartCollective(Collective { dependence: Dependence::Prefix, comm, data })
}

/// `MPI_Neighbor_allgather` and its like.
#[must_use]
pub const fn neighbours(comm: Position) -> Meaning {
    Meaning::Neighbours(Stage::Blocking, comm)
}

/// `MPI_Ineighbor_allgather` and its like.
#[must_use]
pub const fn start_neighbours(comm: Position) -> Meaning {
    Meaning::Neighbours(Stage::Started, comm)
}

/// `MPI_Neighbor_allgather_init` and its like.
#[must_use]
pub const fn prepare_neighbours(comm: Position) -> Meaning {
    Meaning::Neighbours(Stage::Prepared, comm)
}

/// `MPI_Bcast` and its like.
#[must_use]
pub const fn from_root(root: Position, comm: Position, data: Option<Buffer>) -> Meaning {
    Meaning::Collective(Collective { dependence: Dependence::OnRoot(root), comm, data })
}

/// `MPI_Reduce` and its like.
#[must_use]
pub const fn to_root(root: Position, comm: Position, data: Option<Buffer>) -> Meaning {
    Meaning::Collective(Collective { dependence: Dependence::OfRoot(root), comm, data })
}

/// `MPI_Scan` and its like.
#[must_use]
pub const fn prefix(comm: Position, data: Option<Buffer>) -> Meaning {
    Meaning::Collective(Collective { dependence: Dependence::Prefix, comm, data })
}

/// A communicator made by all members of the one at position 0.
#[must_use]
pub const fn create(new: Position) -> Meaning {
    Meaning::Create(new, Origin::Parent)
}

/// A communicator made by others than the members of one intra-communicator.
#[must_use]
pub const fn create_apart(new: Position) -> Meaning {
    Meaning::Create(new, Origin::Some)
}

/// A communicator made of groups.
#[must_use]
pub const fn create_of_groups(new: Position) -> Meaning {
    Meaning::Create(new, Origin::Groups)
}
