//! Where the table says that arguments stand, and what it says of a call, against what the headers of the libraries declare.

mod support;

use std::collections::BTreeMap;
use support::Mpi;
use tare_mpi::meaning::{Collective, Complete, Dependence, Meaning, Message, Mode, Part, Position, Released, Stage, Which};
use tare_mpi::table::FUNCTIONS;

/// What an argument is: what its type has to be, and what its name has to contain (one of these).
type Role = (&'static str, &'static [&'static str]);

const COMM: Role = ("MPI_Comm", &["comm"]);
const NEW_COMM: Role = ("MPI_Comm*", &["comm"]);
const COUNT: Role = ("int", &["count"]);
const DATATYPE: Role = ("MPI_Datatype", &["type"]);
const RANK: Role = ("int", &["dest", "source", "rank"]);
const TAG: Role = ("int", &["tag"]);
const ROOT: Role = ("int", &["root"]);
const REQUEST: Role = ("MPI_Request*", &["request"]);
const INFO: Role = ("MPI_Info", &["info"]);
const FLAG: Role = ("int*", &["flag"]);
const STATUS: Role = ("MPI_Status*", &["status"]);
const WINDOW: Role = ("MPI_Win", &["win"]);
const NEW_WINDOW: Role = ("MPI_Win*", &["win"]);
const GROUP: Role = ("MPI_Group", &["group"]);
const ASSERTION: Role = ("int", &["assert"]);
const FILE: Role = ("MPI_File", &["fh"]);
const NEW_FILE: Role = ("MPI_File*", &["fh"]);
const BUFFER: Role = ("void*", &["buf", "addr"]);

/// Types and names of the parameters of all functions that a header declares.
fn declared(mpi: Mpi) -> BTreeMap<String, Vec<(String, String)>> {
    let text = mpi.header();
    let mut functions = BTreeMap::new();
    for (at, _) in text.match_indices("MPI_") {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if text[..at].ends_with(is_name) {
            continue;
        }
        let name: String = text[at..].chars().take_while(|&c| is_name(c)).collect();
        let Some(list) = text[at + name.len()..].trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')')) else { continue };
        let parameters = list.0.split(',').map(parameter).collect();
        functions.entry(name).or_insert(parameters);
    }
    functions
}

/// `const int array[]` is `int*` and `array`.
fn parameter(text: &str) -> (String, String) {
    let (text, arrays) = text.split_once('[').map_or((text, ""), |(before, _)| (before, "*"));
    let words = text.replace('*', " * ");
    let mut words: Vec<&str> = words.split_whitespace().filter(|word| !["const", "struct"].contains(word)).collect();
    let name = words.pop().unwrap_or_default();
    (words.concat() + arrays, name.to_string())
}

fn message(of: Message) -> Vec<(Position, Role)> {
    vec![(of.count, COUNT), (of.datatype, DATATYPE), (of.peer, RANK), (of.tag, TAG), (of.comm, COMM)]
}

fn data(of: Option<(Position, Position, Position)>) -> Vec<(Position, Role)> {
    of.map_or(Vec::new(), |(buffer, count, datatype)| vec![(buffer, BUFFER), (count, COUNT), (datatype, DATATYPE)])
}

fn collective(of: Collective) -> Vec<(Position, Role)> {
    let root = match of.dependence {
        Dependence::OnRoot(root) | Dependence::OfRoot(root) => Some((root, ROOT)),
        Dependence::All | Dependence::Prefix => None,
    };
    [data(of.data), root.into_iter().collect(), vec![(of.comm, COMM)]].concat()
}

/// What is behind the communicator of something that is started or prepared.
fn later(stage: Stage, comm: Position) -> Vec<(Position, Role)> {
    match stage {
        Stage::Blocking => vec![],
        Stage::Started => vec![(comm + 1, REQUEST)],
        Stage::Prepared => vec![(comm + 1, INFO), (comm + 2, REQUEST)],
    }
}

/// Messages that are prepared have no hints.
fn later_of_message(stage: Stage, comm: Position) -> Vec<(Position, Role)> {
    if stage == Stage::Blocking { vec![] } else { vec![(comm + 1, REQUEST)] }
}

fn completion(of: Complete) -> Vec<(Position, Role)> {
    let which = match of.which {
        Which::One | Which::All => vec![],
        Which::Any(index) => vec![(index, ("int*", &["ind"] as &[_]))],
        Which::Some(number, indices) => vec![(number, ("int*", &["outcount"] as &[_])), (indices, ("int*", &["indices"]))],
    };
    let count = of.count.map(|count| (count, COUNT));
    let flag = of.flag.map(|flag| (flag, FLAG));
    [vec![(of.requests, REQUEST), (of.status, STATUS)], count.into_iter().collect(), flag.into_iter().collect(), which].concat()
}

/// All positions that a meaning names.
fn roles(meaning: Meaning) -> Vec<(Position, Role)> {
    let optional = |position: Option<Position>, role| position.map(|position| (position, role)).into_iter().collect::<Vec<_>>();
    match meaning {
        Meaning::Send(stage, _, of) => [message(of), later_of_message(stage, of.comm)].concat(),
        Meaning::Receive(Stage::Blocking, of) => [message(of), vec![(of.comm + 1, STATUS)]].concat(),
        Meaning::Receive(stage, of) => [message(of), later_of_message(stage, of.comm)].concat(),
        Meaning::Exchange(of) if of.stage == Stage::Blocking => [message(of.sent), message(of.received), vec![(of.sent.comm + 1, STATUS)]].concat(),
        Meaning::Exchange(of) => [message(of.sent), message(of.received), later_of_message(of.stage, of.sent.comm)].concat(),
        Meaning::Probe(of) => {
            let matched = of.matched.then_some((of.status - 1, ("MPI_Message*", &["message"] as &[_])));
            let first = vec![(0, RANK), (1, TAG), (2, COMM), (of.status, STATUS)];
            [first, optional(of.flag, FLAG), matched.into_iter().collect()].concat()
        }
        Meaning::Start(count, first) => [optional(count, COUNT), vec![(first, REQUEST)]].concat(),
        Meaning::Complete(of) => completion(of),
        Meaning::Ask(count, request, answer) => {
            let request = (request, if count.is_some() { REQUEST } else { ("MPI_Request", &["request"] as &[_]) });
            [optional(count, COUNT), vec![request, (answer, ("int*", &["flag", "outcount"]))]].concat()
        }
        Meaning::FreeRequest | Meaning::Cancel => vec![(0, REQUEST)],
        Meaning::Collective(of) => collective(of),
        Meaning::StartCollective(of) => [collective(of), later(Stage::Started, of.comm)].concat(),
        Meaning::PrepareCollective(of) => [collective(of), later(Stage::Prepared, of.comm)].concat(),
        Meaning::PrepareParts(of) => {
            let parts = (of.parts, ("int", &["partitions"] as &[_]));
            [message(of.message), vec![parts], later(Stage::Prepared, of.message.comm)].concat()
        }
        Meaning::Release(which, request) => {
            let parts = match which {
                Released::One => vec![(0, ("int", &["partition"] as &[_]))],
                Released::Range(low, high) => vec![(low, ("int", &["low"] as &[_])), (high, ("int", &["high"]))],
                Released::Count(length) => vec![(length, ("int", &["length"] as &[_])), (length + 1, ("int*", &["partitions"]))],
            };
            [parts, vec![(request, ("MPI_Request", &["request"]))]].concat()
        }
        Meaning::Neighbours(stage, comm) => [vec![(comm, COMM)], later(stage, comm)].concat(),
        Meaning::CreateWindow(comm, window) => vec![(comm, COMM), (window, if window == 2 { NEW_WINDOW } else { ("MPI_Win*", &["win"]) })],
        Meaning::Fence(window, assertion) => vec![(assertion, ASSERTION), (window, WINDOW)],
        Meaning::FreeWindow => vec![(0, NEW_WINDOW)],
        Meaning::Expose(group, window) | Meaning::Reach(group, window) => vec![(group, GROUP), (window, WINDOW)],
        Meaning::EndReach(window) => vec![(window, WINDOW)],
        Meaning::EndExposure(window, flag) => [vec![(window, WINDOW)], optional(flag, FLAG)].concat(),
        Meaning::Lock(rank, kind, window) => [optional(rank, RANK), optional(kind, ("int", &["lock_type"])), vec![(window, WINDOW)]].concat(),
        Meaning::Flush(rank, window) | Meaning::Unlock(rank, window) => [optional(rank, RANK), vec![(window, WINDOW)]].concat(),
        Meaning::Access(of) => {
            let required = vec![(of.datatype, DATATYPE), (of.target, RANK), (of.window, WINDOW)];
            [required, optional(of.count, COUNT), optional(of.request, REQUEST)].concat()
        }
        Meaning::OpenFile(comm, file) => vec![(comm, COMM), (file, NEW_FILE)],
        Meaning::CloseFile => vec![(0, NEW_FILE)],
        Meaning::Joint(Part::Started(request), buffer) => [vec![(0, FILE), (request, REQUEST)], data(buffer)].concat(),
        Meaning::Joint(_, buffer) => [vec![(0, FILE)], data(buffer)].concat(),
        Meaning::Transfer(buffer) => [vec![(0, FILE)], data(Some(buffer))].concat(),
        Meaning::Create(new, _) | Meaning::Meet(new) => vec![(new, NEW_COMM)],
        Meaning::CreateLater(new, request) => vec![(0, COMM), (new, NEW_COMM), (request, REQUEST)],
        Meaning::Spawn(of) => {
            let command = (of.command, ("char*", &["command"] as &[_]));
            let all = vec![command, (of.root(), ROOT), (of.comm(), COMM), (of.between(), NEW_COMM)];
            let all = if of.count.is_some() { all[1..].to_vec() } else { all };
            [all, optional(of.count, COUNT)].concat()
        }
        Meaning::FreeComm => vec![(0, NEW_COMM)],
        Meaning::Silent | Meaning::Plain | Meaning::Uncovered | Meaning::AbiVersion | Meaning::Control => vec![],
        Meaning::Init | Meaning::Finalize | Meaning::OpenSession | Meaning::CloseSession | Meaning::Abort => vec![],
    }
}

fn fits((kind, name): &(String, String), (wanted, names): Role) -> bool {
    let name = name.to_lowercase();
    // Large counts, and displacements beside them.
    let is_kind = kind == wanted || wanted == "int" && kind == "MPI_Count";
    is_kind && names.iter().any(|part| name.contains(part))
}

#[test]
fn arguments_stand_where_the_table_says() {
    let (mut held, mut wrong) = (0, Vec::new());
    for mpi in [Mpi::OpenMpi, Mpi::Mpich, Mpi::Standard].into_iter().filter(|mpi| mpi.is_here()) {
        let declared = declared(mpi);
        let known = FUNCTIONS.iter().filter_map(|function| Some((function, declared.get(function.name)?)));
        for (function, parameters) in known {
            for (position, role) in roles(function.meaning) {
                let there = parameters.get(position);
                held += 1;
                if !there.is_some_and(|there| fits(there, role)) {
                    wrong.push(format!("{}: {}: {position} is {there:?}, not {role:?}", mpi.name(), function.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(held > 2000, "{held}");
}

/// What a name says of when something happens, of who waits for whom, and of what kind a message is.
#[test]
fn calls_mean_what_their_names_say() {
    for function in FUNCTIONS {
        let name = function.name.trim_start_matches("MPI_").trim_end_matches("_c").to_lowercase();
        let is_prepared = name.ends_with("_init");
        let base = name.trim_end_matches("_init");
        let stage = if is_prepared {
            Stage::Prepared
        } else if base.starts_with('i') {
            Stage::Started
        } else {
            Stage::Blocking
        };
        let base = if stage == Stage::Started { &base[1..] } else { base };
        let dependence = |of: Collective| match base.trim_end_matches(['v', 'w']) {
            "bcast" | "scatter" => matches!(of.dependence, Dependence::OnRoot(_)),
            "gather" | "reduce" => matches!(of.dependence, Dependence::OfRoot(_)),
            "scan" | "exscan" => of.dependence == Dependence::Prefix,
            _ => of.dependence == Dependence::All,
        };
        let is_meant = match function.meaning {
            Meaning::Send(of, mode, _) => {
                let meant = match base {
                    "send" | "rsend" => Mode::Standard,
                    "bsend" => Mode::Buffered,
                    "ssend" => Mode::Synchronous,
                    _ => panic!("{name} sends"),
                };
                (of, mode) == (stage, meant)
            }
            Meaning::Receive(of, _) | Meaning::Neighbours(of, _) => of == stage,
            Meaning::Exchange(of) => of.stage == stage,
            Meaning::Collective(of) => stage == Stage::Blocking && dependence(of),
            Meaning::StartCollective(of) => stage == Stage::Started && dependence(of),
            Meaning::PrepareCollective(of) => stage == Stage::Prepared && dependence(of),
            Meaning::PrepareParts(of) => is_prepared && of.sent == (base == "psend"),
            Meaning::Complete(of) => of.asks == base.starts_with("test"),
            _ => true,
        };
        assert!(is_meant, "{}: {:?}", function.name, function.meaning);
    }
}

/// Who has a partner, a root, a request or a new communicator is not timed alone.
#[test]
fn whatever_orders_processes_has_a_meaning() {
    // These order nobody: requests of the program's own, topologies and statuses that are thought of alone, and what is there already.
    let order_nobody = [
        "MPI_Cart_map",
        "MPI_Cart_shift",
        "MPI_Comm_get_parent",
        "MPI_Graph_map",
        "MPI_Grequest_start",
        "MPI_Status_set_source",
        "MPI_Status_set_tag",
        // Of the message that a matched probe has found.
        "MPI_Imrecv",
        "MPI_Imrecv_c",
    ];
    let mut wrong = Vec::new();
    for mpi in [Mpi::OpenMpi, Mpi::Mpich, Mpi::Standard].into_iter().filter(|mpi| mpi.is_here()) {
        let declared = declared(mpi);
        let is_plain = |name: &str| FUNCTIONS.iter().any(|function| function.name == name && function.meaning == Meaning::Plain);
        for (name, parameters) in declared.iter().filter(|(name, _)| is_plain(name) && !order_nobody.contains(&name.as_str())) {
            let orders = parameters.iter().find(|(kind, name)| {
                let is_made = ["MPI_Request*", "MPI_Comm*", "MPI_Win*", "MPI_File*"].contains(&kind.as_str());
                is_made || kind == "int" && ["dest", "source", "root", "tag"].contains(&name.as_str())
            });
            wrong.extend(orders.map(|parameter| format!("{}: {name} has {parameter:?}", mpi.name())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
