//! The table and the libraries' own lists of functions.

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use support::Mpi;
use tare_mpi::table::FUNCTIONS;

/// Functions that a library exports under names that begin with `MPI_` (or `PMPI_`): the standard writes the first
/// letter after that large and the second small.
fn exported(library: &Path, prefix: &str) -> BTreeSet<String> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().expect("nm runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let symbols = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let kind = words.next()?;
        let name = words.next()?.strip_prefix(prefix)?;
        ["T", "W", "i"].contains(&kind).then(|| name.to_string())
    });
    let is_function = |name: &String| name.starts_with("T_") || name.chars().nth(1).is_some_and(|second| second.is_lowercase());
    symbols.filter(is_function).collect()
}

fn library(mpi: Mpi) -> std::path::PathBuf {
    let name = match mpi {
        Mpi::OpenMpi => "libmpi.so.40",
        Mpi::Mpich => "libmpich.so.12",
        Mpi::Standard => return Mpi::unpacked().join("lib/libmpi_abi.so.1"),
    };
    let known = Command::new("/sbin/ldconfig").arg("-p").output().expect("ldconfig runs");
    let text = String::from_utf8_lossy(&known.stdout).into_owned();
    let line = text.lines().find(|line| line.trim_start().starts_with(name)).expect("the library is installed");
    line.rsplit(" => ").next().expect("a path").into()
}

#[test]
fn every_function_of_each_library_has_a_wrapper_under_both_names() {
    let table: BTreeSet<String> = FUNCTIONS.iter().map(|function| function.name.trim_start_matches("MPI_").to_string()).collect();
    for mpi in [Mpi::OpenMpi, Mpi::Mpich, Mpi::Standard].into_iter().filter(|mpi| mpi.is_here()) {
        for prefix in ["MPI_", "PMPI_"] {
            let theirs = exported(&library(mpi), prefix);
            assert!(theirs.len() > 400, "{}", theirs.len());
            let missing: Vec<_> = theirs.difference(&table).filter(|name| *name != "T_PVAR_ALL_HANDLES").collect();
            assert!(missing.is_empty(), "{}: {missing:?}", mpi.name());
            assert_eq!(exported(&mpi.preload(), prefix), table, "{}", mpi.name());
        }
    }
}

/// The names of `standard.txt` are those of the C functions in the header that MPI 5.0 comes with.
#[test]
fn every_function_of_the_standard_has_a_wrapper() {
    let standard: BTreeSet<&str> = include_str!("standard.txt").lines().collect();
    let table: BTreeSet<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
    assert!(standard.len() > 650, "{}", standard.len());
    assert_eq!(standard.difference(&table).collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn no_preload_library_refers_to_symbols_of_mpi() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich, Mpi::Standard] {
        let output = Command::new("nm").args(["-D", "--undefined-only"]).arg(mpi.preload()).output().expect("nm runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!text.to_lowercase().contains("mpi"), "{}", mpi.name());
    }
}
