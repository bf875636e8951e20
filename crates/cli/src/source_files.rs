//! Source files that a page carries, as far as they are at hand.

use tare_report::html::Source;

/// Bytes of all files together.
const MOST_BYTES: usize = 2 << 20;

/// Reads the files that are there, in their order, until there is enough; a file with anything but text in it is left out.
pub(crate) fn read(paths: &[String]) -> Vec<Source> {
    let mut room = MOST_BYTES;
    let mut sources = Vec::new();
    for path in paths {
        let fits = std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= room as u64);
        let Some(text) = fits.then(|| std::fs::read_to_string(path).ok()).flatten() else { continue };
        room = room.saturating_sub(text.len());
        sources.push(Source { path: path.clone(), text });
    }
    sources
}
