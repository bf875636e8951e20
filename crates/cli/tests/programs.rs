//! Programs under measurement do what they do without us, on both MPIs, and their profiles are exact where they count.

mod common;

use common::{BOTH, Mpi, OPEN_MPI, Place, Report, text};

/// Runs a program of two ranks plainly and measured: same output, same status; the report is checked.
fn measured(mpi: Mpi, source: &str, arguments: &[&str], options: &[&str]) -> Report {
    let place = Place::new();
    let program = mpi.compile(source, place.path());
    let mut line = mpi.line(2, &program);
    line.extend(arguments.iter().map(ToString::to_string));
    let plain = place.plain(&line);
    let output = place.profile(options, &line);
    assert_eq!(text(&output.stdout), text(&plain.stdout), "{} {source}: {}", mpi.name, text(&output.stderr));
    assert_eq!(output.status.code(), plain.status.code(), "{} {source}", mpi.name);
    let report = place.report();
    report.check();
    assert_eq!(report.locations().len(), 2, "{} {source}", mpi.name);
    for location in report.locations() {
        assert_eq!(location["lost"], 0, "{} {source}: {location}", mpi.name);
    }
    report
}

#[test]
fn monte_carlo_pi_by_master_and_worker() {
    for mpi in BOTH {
        let report = measured(mpi, "examples/pi/pi.c", &["2e-3"], &[]);
        let packets = report.calls(0, "fill_packet");
        assert!(packets > 10, "{packets} packets");
        assert_eq!(report.calls(1, "throw_dart"), packets * 8000);
        assert_eq!(report.calls(0, "throw_dart"), 0);
        assert_eq!(report.calls(0, "MPI_Send"), packets + 1);
        assert_eq!(report.calls(0, "MPI_Recv"), packets + 1);
        assert_eq!(report.calls(1, "MPI_Recv"), packets + 1);
        for rank in 0..2 {
            for name in ["main", "MPI_Init", "MPI_Finalize"] {
                assert_eq!(report.calls(rank, name), 1, "{name} on rank {rank} of {}", mpi.name);
            }
        }
    }
}

/// `make test` unpacks such a library where it can be had.
#[test]
fn a_program_of_the_standard_abi() {
    let library = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("../tools/mpi-abi");
    if !library.join("lib/libmpi_abi.so.1").is_file() {
        eprintln!("left out: no MPI library of the standard's ABI is in {}", library.display());
        return;
    }
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/pi/pi.c");
    let compiled = place.command(library.join("bin/mpicc_abi")).args(["-O2", "-g", "-o", "pi", source, "-lm"]).status();
    assert!(compiled.expect("the library's compiler").success());
    let launcher = library.join("bin/mpiexec").display().to_string();
    let output = place.profile(&[], &[launcher, "-n".into(), "2".into(), "./pi".into(), "2e-3".into()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = place.report();
    report.check();
    assert_eq!(report.0["run"]["mpi"], "mpiabi");
    let packets = report.calls(0, "fill_packet");
    assert_eq!(report.calls(1, "throw_dart"), packets * 8000);
    assert_eq!(report.calls(0, "MPI_Recv"), packets + 1);
    assert_eq!(report.calls(1, "MPI_Recv"), packets + 1);
}

#[test]
fn a_program_that_loads_mpi_while_it_runs() {
    for mpi in BOTH {
        let place = Place::new();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../mpi/tests/programs/later.c");
        let compiled = place.command(format!("mpicc.{}", mpi.name)).args(["-O1", "-g", "-Wl,--as-needed", "-o", "later", source]).status();
        assert!(compiled.expect("the MPI compiler is installed by `make test`").success());
        let output = place.profile(&[], &mpi.line(2, std::path::Path::new("./later")));
        assert!(output.status.success(), "{}: {}", mpi.name, text(&output.stderr));
        let report = place.report();
        assert_eq!(report.0["run"]["mpi"], mpi.name);
        for rank in 0..2 {
            assert_eq!((report.calls(rank, "MPI_Barrier"), report.calls(rank, "main")), (3, 1), "rank {rank} of {}", mpi.name);
        }
    }
}

#[test]
fn a_program_that_loads_another_mpi_than_expected_goes_on_unmeasured() {
    let place = Place::new();
    let program = OPEN_MPI.compile("crates/mpi/tests/programs/absent.c", place.path());
    std::fs::write(place.path().join("job.sh"), format!("#!/bin/sh\nexec mpirun.openmpi -n 1 {}\n", program.display()))
        .expect("a writable directory");
    let plain = place.plain(&OPEN_MPI.line(1, &program));
    let output = place.tare().args(["run", "--mpi", "mpich", "-o", "run", "--", "sh", "job.sh"]).output().expect("tare can be started");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), text(&plain.stdout));
    assert!(text(&output.stderr).contains("loaded another MPI library than"), "{}", text(&output.stderr));
}

#[test]
fn fortran_by_mpi_f08() {
    for mpi in BOTH {
        let report = measured(mpi, "examples/cases/mpi_f08.f90", &[], &[]);
        for rank in 0..2 {
            for (name, calls) in [("MPI_Irecv", 800), ("MPI_Isend", 800), ("MPI_Waitall", 400), ("MPI_Allreduce", 1), ("main", 1)] {
                assert_eq!(report.calls(rank, name), calls, "{name} on rank {rank} of {}", mpi.name);
            }
        }
    }
}

#[test]
fn exceptions_through_measured_frames() {
    for mpi in BOTH {
        let report = measured(mpi, "examples/cases/exceptions.cpp", &[], &[]);
        for rank in 0..2 {
            assert_eq!(report.calls(rank, "MPI_Reduce"), 1);
            assert_eq!(report.calls(rank, "main"), 1);
        }
        assert!(report.nodes().iter().any(|node| node["calls"].as_u64() >= Some(3000)));
    }
}

#[test]
fn with_exact_no_batch_is_off_and_counts_are_the_same() {
    let report = measured(OPEN_MPI, "examples/pi/pi.c", &["2e-3"], &["--exact"]);
    assert_eq!(report.calls(1, "throw_dart"), report.calls(0, "fill_packet") * 8000);
}

#[test]
fn the_path_to_mpi_leaves_out_what_never_communicates() {
    let report = measured(OPEN_MPI, "examples/pi/pi.c", &["2e-3"], &["--preset", "mpi-path"]);
    assert_eq!(report.calls(1, "throw_dart"), 0);
    assert_eq!(report.calls(0, "main"), 1);
}
