//! Real programs under the interposer, on both MPI libraries: the same output as without, and exact counts.

mod support;

use support::{Mpi, Program};
use tare_format::graph::PEER_HELD;

macro_rules! on_both {
    ($($name:ident $file:literal;)*) => {
        mod on_openmpi { $(#[test] fn $name() { super::Program::compile(super::Mpi::OpenMpi, $file).check(&[]); })* }
        mod on_mpich { $(#[test] fn $name() { super::Program::compile(super::Mpi::Mpich, $file).check(&[]); })* }
    };
}

on_both! {
    messages_of_every_kind "p2p.c";
    collectives_and_communicators "collectives.c";
    started_collectives_of_a_member_that_stands_still "stalled.c";
    files "io.c";
    locks_of_windows "rma.c";
    fortran_2008 "f08.f90";
    fortran_77 "mpifh.f90";
    fortran_90 "usempi.f90";
    edges_of_the_interface "edges.c";
    threads "threads.c";
    threads_that_make_communicators "groups.c";
    requests_that_outlive_their_communicator "freed.c";
    functions_that_the_library_lacks "absent.c";
    a_library_that_is_loaded_later "later.c";
    answers_in_another_order_than_sends "answers.c";
    more_messages_under_way_than_there_is_room_for "backlog.c";
}

macro_rules! on_the_standard_abi {
    ($($name:ident $file:literal;)*) => {
        mod on_the_standard_abi {
            $(#[test] fn $name() { if super::Mpi::Standard.is_here() { super::Program::compile(super::Mpi::Standard, $file).check(&[]); } })*
        }
    };
}

on_the_standard_abi! {
    messages_of_every_kind "p2p.c";
    collectives_and_communicators "collectives.c";
    started_collectives_of_a_member_that_stands_still "stalled.c";
    files "io.c";
    locks_of_windows "rma.c";
    edges_of_the_interface "edges.c";
    threads "threads.c";
    threads_that_make_communicators "groups.c";
    threads_that_start_communicators "idups.c";
    requests_that_outlive_their_communicator "freed.c";
    functions_that_the_library_lacks "absent.c";
    answers_in_another_order_than_sends "answers.c";
    processes_that_are_spawned "spawned.c";
    processes_that_are_spawned_and_not_measured "elsewhere.c";
    processes_that_connect_with_each_other "met.c";
    sessions_alone "sessions.c";
    sessions_of_a_process_before_those_of_all "myself.c";
}

#[test]
fn a_library_of_the_standard_abi_that_is_loaded_later() {
    if Mpi::Standard.is_here() {
        let folder = Mpi::unpacked().join("lib").display().to_string();
        Program::compile(Mpi::Standard, "later.c").check(&[("LD_LIBRARY_PATH", &folder)]);
    }
}

const BOTH: [Mpi; 2] = [Mpi::OpenMpi, Mpi::Mpich];

#[test]
fn bytes_of_files_are_counted() {
    for mpi in BOTH {
        let run = Program::compile(mpi, "io.c").measured(&[]);
        for process in &run.processes {
            let bytes = ["MPI_File_write_at_all", "MPI_File_read_at_all", "MPI_File_write_shared"].map(|name| process.cold(name)[0].bytes);
            assert_eq!(bytes, [4; 3], "{}", mpi.name());
        }
    }
}

#[test]
fn bytes_and_partners_of_accesses_to_windows_are_counted() {
    for mpi in BOTH {
        let run = Program::compile(mpi, "rma.c").measured(&[]);
        let counted = |name: &str| {
            let process = &run.processes[0];
            let cold = process.cold(name)[0];
            let peer = &process.locations[0].peers[cold.first_peer as usize - 1];
            (cold.bytes, cold.messages, peer.peer, peer.sent, peer.received)
        };
        assert_eq!(counted("MPI_Accumulate"), (40, 10, 1, 10, 0), "{}", mpi.name());
        assert_eq!(counted("MPI_Put"), (4, 1, 1, 1, 0), "{}", mpi.name());
        assert_eq!(counted("MPI_Fetch_and_op"), (20, 10, 0, 5, 5), "{}", mpi.name());
    }
}

#[test]
fn messages_are_counted_by_size_each_way() {
    for mpi in BOTH {
        let run = Program::compile(mpi, "sizes.c").check(&[]);
        for process in &run.processes {
            let peers = &process.locations[0].peers;
            // Beside it may stand what sends to the partner waited.
            let sizes = |name: &str| {
                let first = peers.get(process.cold(name)[0].first_peer as usize - 1);
                let all = std::iter::successors(first, |peer| peers.get((peer.next as usize).checked_sub(1)?));
                all.filter(|peer| peer.peer & PEER_HELD == 0).map(|peer| (peer.sent_sizes, peer.received_sizes)).next().expect("a partner")
            };
            let (each, none) = ([2, 2, 0, 2, 1, 0, 0, 0], [0; 8]);
            assert_eq!(sizes("MPI_Isend"), (each, none), "{}", mpi.name());
            assert_eq!(sizes("MPI_Wait"), (none, each), "{}", mpi.name());
            let (small, large) = ([2, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 2, 0, 0, 0, 0]);
            let both = if process.header.rank_plus_one == 1 { (large, small) } else { (small, large) };
            assert_eq!(sizes("MPI_Sendrecv"), both, "{}", mpi.name());
        }
    }
}

/// Shadows leave most of MPICH's communicators to the program. Its world and what each process has for itself have one already; calls on those that
/// have none are counted, and once there is room again new ones have one.
#[test]
fn more_communicators_than_there_is_room_for_shadows() {
    let program = Program::compile(Mpi::Mpich, "many.c");
    let (plain, run) = (program.plain(&[]), program.measured(&[]));
    assert!(run.output.status.success(), "{}", String::from_utf8_lossy(&run.output.stderr));
    let lines =
        |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
    assert_eq!((lines(&plain).len(), lines(&plain)), (2, lines(&run.output)));
    let without = 300 - u64::try_from(tare_mpi::mpich::ABI.most_shadows - 2).expect("a small number");
    assert_eq!(run.processes.iter().map(|process| process.header.uncovered_calls).collect::<Vec<_>>(), [without; 2]);
}

#[test]
fn files_that_are_not_there_where_all_is_said_to_be_well() {
    for mpi in BOTH {
        Program::compile(mpi, "nofile.c").check(&[]);
    }
}

#[test]
fn files_by_romio_within_open_mpi() {
    Program::compile(Mpi::OpenMpi, "io.c").check(&[("OMPI_MCA_io", "romio321")]);
}

#[test]
fn processes_that_are_spawned() {
    Program::compile(Mpi::OpenMpi, "spawned.c").check(&[]);
}

#[test]
fn processes_that_are_spawned_and_not_measured() {
    Program::compile(Mpi::OpenMpi, "elsewhere.c").check(&[]);
}

#[test]
fn processes_that_connect_with_each_other() {
    Program::compile(Mpi::OpenMpi, "met.c").check(&[]);
}

#[test]
fn threads_that_start_communicators() {
    Program::compile(Mpi::Mpich, "idups.c").check(&[]);
}

#[test]
fn sessions_alone() {
    Program::compile(Mpi::Mpich, "sessions.c").check(&[]);
}

#[test]
fn sessions_of_a_process_before_those_of_all() {
    Program::compile(Mpi::Mpich, "myself.c").check(&[]);
}

#[test]
fn without_a_model_everything_is_counted_as_well() {
    for mpi in BOTH {
        Program::compile(mpi, "p2p.c").check(&[("TARE_MODEL", "off")]);
    }
}

#[test]
fn in_clock_mode_only_spans_are_recorded() {
    for mpi in BOTH {
        let run = Program::compile(mpi, "p2p.c").measured(&[("TARE_MODE", "clock")]);
        assert!(run.output.status.success());
        assert_eq!(run.processes.len(), 2);
        for process in &run.processes {
            assert!(process.calls().is_empty());
            assert!(0 < process.header.span_start && process.header.span_start < process.header.span_end);
            assert_eq!(process.header.world_size, 2);
        }
    }
}

#[test]
fn an_aborted_program_leaves_its_graphs() {
    for mpi in BOTH {
        let run = Program::compile(mpi, "aborts.c").measured(&[]);
        assert!(!run.output.status.success());
        assert_eq!(run.processes.len(), 2);
        assert_eq!(run.processes[1].calls().get("MPI_Abort"), Some(&1));
        assert_eq!(run.processes[0].calls().get("MPI_Send"), Some(&1));
    }
}

#[test]
fn without_a_run_directory_nothing_happens() {
    for mpi in BOTH {
        let preload = mpi.preload();
        let program = Program::compile(mpi, "collectives.c");
        let run = program.plain(&[("LD_PRELOAD", &preload.display().to_string())]);
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }
}

#[test]
fn a_program_without_mpi_starts() {
    for mpi in BOTH {
        let run = std::process::Command::new("/bin/true").env("LD_PRELOAD", mpi.preload()).env("LD_BIND_NOW", "1").status();
        assert!(run.expect("the program starts").success());
    }
}
