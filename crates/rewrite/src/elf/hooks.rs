//! The functions that the loader calls first and last, and how to put another one in the place of each.
//!
//! The first entry of `.init_array` is called first; that of `.fini_array` is called last, since it is read backwards.
//! Compilers always fill both (`frame_dummy`, `__do_global_dtors_aux`). Where an array is missing, the dynamic section's
//! `DT_INIT` and `DT_FINI` serve, which the loader calls in front of and behind the arrays.

use tare_image::Image;

use crate::elf::dynamic::{Patch, RELATIVE};
use crate::layout::RELOCATION_SIZE;

/// `R_X86_64_64`.
const ABSOLUTE: u64 = 1;

/// Which of the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    /// When the image is loaded.
    Start,
    /// When the process ends or the image is unloaded.
    End,
}

/// A place that holds the address of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hook {
    place: Holder,
    /// Link address of the function.
    pub(crate) function: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holder {
    /// A word of an array, by its link address.
    Word(u64),
    /// A value of the dynamic section, by its position in the file.
    Entry(u64),
}

/// Finds the place.
pub(crate) fn find(image: &Image<'_>, when: When) -> Option<Hook> {
    let (section, array, size, single) = match when {
        When::Start => (".init_array", 25, 27, 12),
        When::End => (".fini_array", 26, 28, 13),
    };
    let dynamic = image.dynamic();
    let tagged = dynamic.value(array).zip(dynamic.value(size));
    let named = || image.section(section).map(|section| (section.address, section.size));
    let (word, length) = tagged.or_else(named).unwrap_or((0, 0));
    if let Some(function) = image.pointer_at(word).filter(|&function| length >= 8 && function != 0 && function != u64::MAX) {
        return Some(Hook { place: Holder::Word(word), function });
    }
    let entry = dynamic.entries().iter().find(|entry| entry.tag == single)?;
    Some(Hook { place: Holder::Entry(entry.value_offset), function: entry.value })
}

impl Hook {
    /// Link address of the word of an array.
    pub(crate) const fn word(self) -> Option<u64> {
        match self.place {
            Holder::Word(word) => Some(word),
            Holder::Entry(_) => None,
        }
    }

    /// Position in the file of the value of the dynamic section.
    pub(crate) const fn entry(self) -> Option<u64> {
        match self.place {
            Holder::Word(_) => None,
            Holder::Entry(at) => Some(at),
        }
    }

    /// What changes in the file so that another function is called, for a relocation table at `relocations` in the
    /// output that holds these bytes.
    pub(crate) fn patches(self, image: &Image<'_>, function: u64, relocations: (u64, &[u8])) -> Vec<Patch> {
        let word = match self.place {
            Holder::Entry(at) => return vec![(at, function)],
            Holder::Word(word) => word,
        };
        let entries = relocations.1.chunks_exact(RELOCATION_SIZE as usize);
        let own = entries.zip((relocations.0..).step_by(RELOCATION_SIZE as usize)).filter(|(entry, _)| entry.starts_with(&word.to_le_bytes()));
        let information = |entry: &[u8]| entry.get(8..16).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
        let leads_here = |information: u64| information == RELATIVE || information & u64::from(u32::MAX) == ABSOLUTE;
        let mut patches = Vec::new();
        // A function that others may put theirs in the place of is named by its symbol: the word is relative from now on.
        for (_, at) in own.filter(|(entry, _)| information(entry).is_some_and(leads_here)) {
            patches.extend([(at + 8, RELATIVE), (at + 16, function)]);
        }
        // Compact relocations, and images that are not relocated, have the value in its place.
        patches.extend(image.offset_of(word).map(|at| (at, function)));
        patches
    }
}
