//! Programs as Debian ships them, optimised and stripped: they compute under measurement what they compute without.

mod common;

use std::fs;

use common::{OPEN_MPI, Place, text};

/// The lines that do not depend on the clock.
fn results(output: &str, is_result: impl Fn(&str) -> bool) -> Vec<String> {
    output.lines().filter(|line| is_result(line)).map(str::to_string).collect()
}

#[test]
fn hpcc_passes_its_own_checks() {
    let place = Place::new();
    let input = fs::read_to_string("/usr/share/doc/hpcc/examples/_hpccinf.txt").expect("hpcc is installed by `make test`");
    let small: Vec<String> = input
        .lines()
        .map(|line| match line {
            _ if line.ends_with(" Ns") => "200 Ns".into(),
            _ if line.ends_with(" Ps") => "1 Ps".into(),
            _ if line.ends_with(" Qs") => "2 Qs".into(),
            _ => line.into(),
        })
        .collect();
    fs::write(place.path().join("hpccinf.txt"), small.join("\n") + "\n").expect("a writable directory");
    let line = OPEN_MPI.line(2, "/usr/bin/hpcc".as_ref());
    let keep = |line: &str| line.contains("PASSED") && line.contains("||Ax-b||") || line.contains("Success=") || line.contains("Errors=");
    let run = |measured: bool| {
        let output = if measured { place.profile(&[], &line) } else { place.plain(&line) };
        assert!(output.status.success(), "hpcc: {}", text(&output.stderr));
        let written = fs::read_to_string(place.path().join("hpccoutf.txt")).expect("hpcc writes its results");
        fs::remove_file(place.path().join("hpccoutf.txt")).expect("our own file");
        (text(&output.stdout), results(&written, keep))
    };
    let plain = run(false);
    assert!(plain.1.len() > 3, "{:?}", plain.1);
    assert_eq!(run(true), plain);
    let report = place.report();
    report.check();
    assert_eq!(report.locations().len(), 2);
    for rank in 0..2 {
        assert_eq!(report.calls(rank, "main"), 1);
        assert_eq!(report.calls(rank, "MPI_Init"), 1);
        assert!(report.calls(rank, "MPI_Send") > 100, "{}", report.calls(rank, "MPI_Send"));
    }
    for location in report.locations() {
        assert_eq!(location["lost"], 0, "{location}");
    }
}

#[test]
fn lammps_melts_the_same_crystal() {
    let place = Place::new();
    fs::copy("/usr/share/lammps/examples/melt/in.melt", place.path().join("in.melt")).expect("lammps is installed by `make test`");
    let mut line = OPEN_MPI.line(2, "/usr/bin/lmp".as_ref());
    line.extend(["-in", "in.melt"].map(String::from));
    let keep = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() == 6 && words.iter().all(|word| word.parse::<f64>().is_ok()) || line.contains("Total # of neighbors")
    };
    let plain = place.plain(&line);
    let measured = place.profile(&["--library", "liblammps"], &line);
    assert_eq!(measured.status.code(), plain.status.code(), "{}", text(&measured.stderr));
    let wanted = results(&text(&plain.stdout), keep);
    assert!(wanted.len() >= 7, "{wanted:?}");
    assert_eq!(results(&text(&measured.stdout), keep), wanted);
    let report = place.report();
    report.check();
    for rank in 0..2 {
        assert_eq!(report.calls(rank, "main"), 1);
        assert_eq!(report.calls(rank, "LAMMPS_NS::PairLJCut::compute(int, int)"), 251);
        assert!(report.calls(rank, "MPI_Send") > 100);
    }
}
