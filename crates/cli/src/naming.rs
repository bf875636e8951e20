//! Names of functions that a run knows by their addresses alone: those with compiler hooks, whose names nobody looked for
//! while the program ran.

use std::collections::BTreeMap;
use std::path::Path;

use tare_image::Image;
use tare_image::lines::Lines;
use tare_profile::Region;

use crate::debug_files::{DebugFiles, DebugPath};

/// Names all functions of the images that are still there, and still the same.
pub(crate) fn name_functions<'a>(regions: impl IntoIterator<Item = &'a mut Region>) {
    let mut by_image: BTreeMap<String, Vec<&mut Region>> = BTreeMap::new();
    for region in regions.into_iter().filter(|region| region.is_nameless()) {
        by_image.entry(region.image.clone()).or_default().push(region);
    }
    by_image.into_iter().for_each(|(image, functions)| name_those_of(Path::new(&image), functions));
}

/// An image that is not there any more leaves its functions with their addresses.
fn name_those_of(path: &Path, functions: Vec<&mut Region>) {
    let Ok(bytes) = std::fs::read(path) else { return };
    let files = DebugFiles::find(path, &bytes, &DebugPath::of_environment());
    let Ok(mut image) = Image::parse(&bytes) else { return };
    if let Some(debug) = files.with_symbols() {
        image.add_symbols(&debug);
    }
    let id = image.build_id_text();
    let sections = files.sections(&image);
    let lines = Lines::new(&sections);
    for function in functions.into_iter().filter(|function| function.build_id == id) {
        if let Some(symbol) = image.symbols_at(function.address).next() {
            function.name_function(symbol.name);
        }
        if let Some(place) = lines.as_ref().and_then(|lines| lines.function(function.address)) {
            (function.file, function.line) = (place.file, place.line);
        }
    }
}
