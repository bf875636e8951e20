//! Fragments: stretches of code with one start, before they are joined to functions.
//!
//! Starts and ranges are the union of unwind entries, symbols, init and fini arrays and the entry point; direct
//! targets outside of all of them, and what pointers lead to, are added while sweeping. Holds always: fragments are sorted by start and do not
//! overlap; every one lies in a text range.

use std::ops::Range;

use tare_image::{Finder, Image};

use crate::names;
use crate::program::FoundBy;

/// What the symbols say of a start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Named {
    /// It is a function.
    Function,
    /// Nothing.
    No,
    /// It is a colder part of one (`name.cold`, `name.warm`).
    Cold,
}

/// A stretch of code with one start.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    pub(crate) range: Range<u64>,
    /// Index of its unwind entry.
    pub(crate) fde: Option<usize>,
    pub(crate) named: Named,
    pub(crate) found_by: FoundBy,
    /// Whether the end is known (an unwind entry or a symbol's size) or found by decoding.
    pub(crate) has_known_end: bool,
    /// Flow records of the sweep.
    pub(crate) flows: Range<usize>,
    /// Instructions in it.
    pub(crate) instructions: usize,
    pub(crate) traits: Traits,
}

/// What the sweep saw in a fragment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traits {
    pub(crate) is_swept: bool,
    pub(crate) has_indirect_jump: bool,
    /// Enters the kernel by itself.
    pub(crate) has_syscall: bool,
    pub(crate) is_undecodable: bool,
    /// Only padding stands where a branch leads: an empty block that is never reached.
    pub(crate) is_empty: bool,
    /// Unwind entries that overlap.
    pub(crate) overlaps: bool,
    /// Someone calls its start directly.
    pub(crate) is_called: bool,
    /// Someone calls what stands behind its start.
    pub(crate) is_called_inside: bool,
    /// Another fragment does.
    pub(crate) is_entered_inside: bool,
    /// Its first instruction is a direct call.
    pub(crate) begins_with_call: bool,
    /// Calls that come back nowhere stand in it, whose callee overwrites or drops where they would.
    pub(crate) has_thunk: bool,
    /// Flags, or what lies below the stack pointer, are read behind its start before they are written.
    pub(crate) takes_more: bool,
    /// What stands behind its traps is its own, where nothing names its end.
    pub(crate) goes_on_behind_traps: bool,
    /// Calls or jumps through a word below the stack pointer, which a probe in front would not keep.
    pub(crate) goes_through_below: bool,
    /// Loads what may be the address of a function from a word that stays as it is, or a part of it as the large model does.
    pub(crate) loads_callee: bool,
    /// Calls or jumps through a register or an address in registers that tell nothing at first sight.
    pub(crate) calls_register: bool,
    /// Its start is loaded as a value, or stands in relocated data.
    pub(crate) is_pointed_at: bool,
}

impl Fragment {
    pub(crate) fn new(range: Range<u64>, fde: Option<usize>, has_known_end: bool, found_by: FoundBy) -> Self {
        let traits = Traits { is_pointed_at: found_by == FoundBy::Pointer, ..Traits::default() };
        Self { range, fde, named: Named::No, found_by, has_known_end, flows: 0..0, instructions: 0, traits }
    }
}

/// The fragments of an image.
#[derive(Default)]
pub(crate) struct Fragments {
    pub(crate) list: Vec<Fragment>,
    finder: Finder,
}

impl Fragments {
    /// The fragment that holds an address.
    pub(crate) fn at(&self, address: u64) -> Option<usize> {
        let index = self.finder.behind(address).checked_sub(1)?;
        self.list.get(index).filter(|one| one.range.contains(&address)).map(|_| index)
    }

    /// The fragment that starts at an address.
    pub(crate) fn starting_at(&self, address: u64) -> Option<usize> {
        self.at(address).filter(|&index| self.list.get(index).is_some_and(|one| one.range.start == address))
    }

    /// Makes the index over the starts anew.
    fn index(&mut self) {
        self.finder = Finder::over(self.list.iter().map(|one| one.range.start).collect());
    }

    /// Adds starts of unknown size that lie in text outside of all fragments; says whether there were any.
    pub(crate) fn add_starts(&mut self, image: &Image<'_>, mut starts: Vec<u64>, found_by: FoundBy) -> bool {
        starts.sort_unstable();
        starts.dedup();
        starts.retain(|&start| self.at(start).is_none() && image.text_at(start).is_some());
        let sized: Vec<Start> = starts.iter().map(|&address| Start { address, size: 0, found_by }).collect();
        self.add(image, &sized);
        !starts.is_empty()
    }

    /// Those that the file itself names, those that were found beside them, and more of unknown size; none of them swept.
    pub(crate) fn with_starts(&self, image: &Image<'_>, more: Vec<u64>) -> Self {
        let were_found = self.list.iter().filter(|one| matches!(one.found_by, FoundBy::Branch | FoundBy::Pointer));
        let found = were_found.map(|one| Start { address: one.range.start, size: 0, found_by: one.found_by });
        let mut starts: Vec<Start> = found.chain(more.into_iter().map(|address| Start { address, size: 0, found_by: FoundBy::Pointer })).collect();
        starts.sort_by_key(|one| one.address);
        let mut fragments = discover(image);
        for start in &starts {
            let host = fragments.at(start.address).and_then(|index| fragments.list.get_mut(index));
            host.into_iter().for_each(|host| host.range.end = start.address);
        }
        fragments.add(image, &starts);
        fragments
    }

    /// Says of the fragments that start at some places that they go on behind traps.
    pub(crate) fn go_on_behind_traps(&mut self, starts: &[u64]) {
        let starting = self.list.iter_mut().filter(|one| starts.binary_search(&one.range.start).is_ok());
        starting.for_each(|one| one.traits.goes_on_behind_traps = true);
    }

    /// Whether an address lies in a fragment whose end is known.
    pub(crate) fn has_known_end(&self, address: u64) -> bool {
        self.at(address).and_then(|index| self.list.get(index)).is_some_and(|one| one.has_known_end)
    }

    /// The text around an address in which no fragment lies.
    pub(crate) fn gap(&self, image: &Image<'_>, address: u64) -> Option<Range<u64>> {
        let text = image.text_at(address)?;
        let behind = self.finder.behind(address);
        let before = behind.checked_sub(1).and_then(|index| self.list.get(index)).map_or(0, |one| one.range.end);
        let next = self.list.get(behind).map_or(u64::MAX, |one| one.range.start);
        Some(before.max(text.start)..next.min(text.end))
    }

    /// Adds sorted starts.
    fn add(&mut self, image: &Image<'_>, sized: &[Start]) {
        let mut added = Vec::new();
        for (position, &Start { address: start, size, found_by }) in sized.iter().enumerate() {
            let Some(text) = image.text_at(start) else { continue };
            let known = self.list.partition_point(|one| one.range.start <= start);
            let next_known = self.list.get(known).map_or(u64::MAX, |one| one.range.start);
            let next_new = sized.get(position + 1).map_or(u64::MAX, |one| one.address);
            let end = if size > 0 { start.saturating_add(size) } else { u64::MAX };
            let end = end.min(text.end).min(next_known).min(next_new);
            added.push(Fragment::new(start..end, None, size > 0, found_by));
        }
        self.list.extend(added);
        self.list.sort_by_key(|one| one.range.start);
        self.index();
    }
}

/// A start that no unwind entry has.
#[derive(Clone, Copy)]
struct Start {
    address: u64,
    /// 0 if it is unknown.
    size: u64,
    found_by: FoundBy,
}

/// All starts that the file itself names.
pub(crate) fn discover(image: &Image<'_>) -> Fragments {
    let mut fragments = Fragments { list: by_unwind_entries(image), finder: Finder::default() };
    fragments.index();
    let functions = image.symbols().iter().filter(|symbol| symbol.is_function && symbol.is_defined);
    let mut sized: Vec<Start> = functions.map(|symbol| Start { address: symbol.address, size: symbol.size, found_by: FoundBy::Symbol }).collect();
    let arrays = image.init_array().into_iter().chain(image.fini_array());
    let main = names::main_function(image);
    let by_loader = names::run_by_loader(image).map(|one| one.1);
    let by_loader = arrays.chain(image.ifunc_resolvers()).chain([image.entry()]).chain(main).chain(by_loader);
    sized.extend(by_loader.map(|address| Start { address, size: 0, found_by: FoundBy::Loader }));
    sized.sort_by_key(|one| (one.address, std::cmp::Reverse(one.size)));
    sized.dedup_by_key(|one| one.address);
    sized.retain(|one| fragments.at(one.address).is_none() && image.text_at(one.address).is_some());
    fragments.add(image, &sized);
    name(image, &mut fragments);
    fragments
}

fn by_unwind_entries(image: &Image<'_>) -> Vec<Fragment> {
    let mut list: Vec<Fragment> = Vec::with_capacity(image.fdes().len());
    for (index, fde) in image.fdes().iter().enumerate() {
        let Some(text) = image.text_at(fde.range.start) else { continue };
        let range = fde.range.start..fde.range.end.min(text.end);
        match list.last_mut() {
            Some(last) if range.start < last.range.end => last.traits.overlaps = true,
            _ => list.push(Fragment::new(range, Some(index), true, FoundBy::UnwindEntry)),
        }
    }
    list
}

fn name(image: &Image<'_>, fragments: &mut Fragments) {
    for symbol in image.symbols().iter().filter(|symbol| symbol.is_defined && symbol.is_function) {
        let Some(fragment) = fragments.starting_at(symbol.address) else { continue };
        let Some(fragment) = fragments.list.get_mut(fragment) else { continue };
        if !is_cold(symbol.name) {
            fragment.named = Named::Function;
        } else if fragment.named == Named::No {
            fragment.named = Named::Cold;
        }
    }
}

/// `name.cold` and `name.cold.12` of compilers, and `name.warm` of BOLT, which splits functions into three.
pub(crate) fn is_cold(name: &str) -> bool {
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    name.ends_with(".cold") || name.ends_with(".warm") || stem.ends_with(".cold.")
}
