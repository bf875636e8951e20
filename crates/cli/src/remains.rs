//! What killed processes of earlier runs have left in the memory of this machine.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use tare_format::shared::{BOARD, CHILD, MEMORY};

/// Marks and boards are of use for moments at the start of a process: of this age they are nobody's, also where the process that made them
/// is not seen from here.
const OLD: Duration = Duration::from_secs(600);

/// Removes what is left of this user's.
pub(crate) fn remove() {
    remove_from(Path::new(MEMORY), OLD);
}

fn remove_from(memory: &Path, age: Duration) {
    // SAFETY: no pointers.
    let user = unsafe { libc::geteuid() };
    let is_old = |about: &Metadata| about.modified().ok().and_then(|at| at.elapsed().ok()).is_some_and(|since| since >= age);
    for entry in fs::read_dir(memory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if (name.starts_with(BOARD) || is_of_a_dead_child(&name))
            && let Ok(about) = entry.metadata()
            && about.is_file()
            && about.uid() == user
            && is_old(&about)
        {
            // Best effort: another process may do the same.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_of_a_dead_child(name: &str) -> bool {
    let process = name.strip_prefix(CHILD).and_then(|rest| rest.rsplit('-').next()).filter(|pid| pid.parse::<u32>().is_ok());
    process.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_the_dead_and_old_boards_go_and_nothing_else() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let here = std::process::id();
        let stays = [format!("tare-child-12-{here}"), "tare-child-12-x".into(), "tare-0-12".into(), "another-board-1".into()];
        // No process has the largest number.
        let goes = [format!("tare-child-12-{}", u32::MAX), "tare-board-0123456789abcdef".to_string()];
        let make = || stays.iter().chain(&goes).for_each(|name| fs::write(place.path().join(name), "").expect("a file"));
        let is_there = |name: &String| place.path().join(name).exists();
        make();
        remove_from(place.path(), OLD);
        assert!(stays.iter().chain(&goes).all(is_there), "what is young is of use yet");
        remove_from(place.path(), Duration::ZERO);
        assert!(stays.iter().all(is_there) && !goes.iter().any(is_there));
    }
}
