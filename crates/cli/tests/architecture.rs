//! Holds the arrows of ARCHITECTURE.md against what cargo sees.

use std::collections::{BTreeMap, BTreeSet};

/// Who may use whom, of our own crates. `cli` may use everything but what it finds on disk.
const ARROWS: &[(&str, &[&str])] = &[
    ("tare-format", &[]),
    ("tare-delay", &["tare-format"]),
    ("tare-runtime", &["tare-format", "tare-delay"]),
    ("tare-mpi", &["tare-runtime", "tare-delay", "tare-format"]),
    ("tare-threads", &["tare-runtime", "tare-delay", "tare-format"]),
    ("tare-preload-runtime", &["tare-runtime", "tare-threads"]),
    ("tare-preload-openmpi", &["tare-runtime", "tare-threads", "tare-mpi"]),
    ("tare-preload-mpich", &["tare-runtime", "tare-threads", "tare-mpi"]),
    ("tare-preload-mpiabi", &["tare-runtime", "tare-threads", "tare-mpi"]),
    ("tare-tally", &["tare-format"]),
    ("tare-preload-tally", &["tare-tally"]),
    ("tare-api", &[]),
    ("tare-image", &[]),
    ("tare-code", &["tare-image"]),
    ("tare-select", &["tare-code", "tare-image"]),
    ("tare-rewrite", &["tare-code", "tare-image", "tare-format", "tare-select"]),
    ("tare-profile", &["tare-format", "tare-image"]),
    ("tare-foreign", &["tare-profile"]),
    ("tare-compensate", &["tare-profile", "tare-delay"]),
    ("tare-simulate", &["tare-format", "tare-delay"]),
    ("tare-query", &["tare-profile", "tare-compensate"]),
    ("tare-serve", &[]),
    ("tare-top", &["tare-profile", "tare-compensate", "tare-query", "tare-report"]),
    ("tare-report", &["tare-profile", "tare-compensate", "tare-query", "tare-simulate"]),
    (
        "tareweight",
        &[
            "tare-format",
            "tare-image",
            "tare-code",
            "tare-select",
            "tare-rewrite",
            "tare-profile",
            "tare-foreign",
            "tare-compensate",
            "tare-query",
            "tare-serve",
            "tare-simulate",
            "tare-report",
            "tare-top",
        ],
    ),
];

/// Crates that run inside the program under measurement: what they link is in every process that is measured.
const INSIDE: &[(&str, &[&str])] = &[
    ("tare-format", &[]),
    ("tare-delay", &[]),
    ("tare-runtime", &["libc"]),
    ("tare-mpi", &["libc"]),
    ("tare-threads", &["libc"]),
    ("tare-tally", &["libc"]),
];

fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    metadata
        .packages
        .into_iter()
        .map(|package| {
            let normal = |dependency: &&cargo_metadata::Dependency| dependency.kind == cargo_metadata::DependencyKind::Normal;
            let names = package.dependencies.iter().filter(normal).map(|dependency| dependency.name.clone()).collect();
            (package.name.to_string(), names)
        })
        .collect()
}

#[test]
fn no_arrow_points_where_it_must_not() {
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    for (package, uses) in dependencies() {
        let may = allowed.get(package.as_str()).unwrap_or_else(|| panic!("{package} is not in the table of ARCHITECTURE.md"));
        for used in uses.iter().filter(|name| name.starts_with("tare-")) {
            assert!(may.contains(&used.as_str()), "{package} must not use {used}");
        }
    }
}

#[test]
fn what_runs_inside_the_program_depends_on_nothing_else() {
    let dependencies = dependencies();
    for (package, may) in INSIDE {
        for used in dependencies[*package].iter().filter(|name| !name.starts_with("tare-")) {
            assert!(may.contains(&used.as_str()), "{package} must not depend on {used}");
        }
    }
}

#[test]
fn every_crate_has_its_row_in_the_page() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    for package in dependencies().into_keys() {
        let room = package.strip_prefix("tare-").unwrap_or("cli").to_string();
        let row = page.lines().find(|line| line.starts_with('|') && line.contains(&format!("`{room}`")));
        assert!(row.is_some(), "ARCHITECTURE.md has no row for `{room}`");
    }
}

#[test]
fn tools_that_name_their_interpreter_can_be_started_by_their_path() {
    use std::os::unix::fs::PermissionsExt;
    let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools"))];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a directory of tools") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let names_one = std::fs::read(&path).expect("a tool").starts_with(b"#!");
            let mode = std::fs::metadata(&path).expect("a tool").permissions().mode();
            assert_eq!(mode & 0o111 != 0, names_one, "{}: executable or not, with `#!` or not", path.display());
        }
    }
}
