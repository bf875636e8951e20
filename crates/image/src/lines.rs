//! Files and lines from DWARF 2–5.
//!
//! [`Lines`] looks into the [`DebugSections`] and reads the line program of a compilation unit when it is first asked for.
//!
//! The line of a loop stands on no one instruction: optimising compilers put the condition at the end, where the branch that leads
//! back has its line, and the header has that of the body. It is the least line of the header and the back edges, in the
//! innermost function, inlined ones included, that all of them are in. What that calls says nothing of it while anything else does; nor
//! does the line where a function is declared that is not inlined, which outer loops of Fortran have in some of their branches.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use addr2line::gimli::UnitOffset;
use addr2line::{LookupContinuation, LookupResult};

use crate::debug::{DebugSections, Reader, SplitFiles};
use crate::subprograms::Declarations;

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// Path as the compiler recorded it.
    pub file: String,
    /// From 1.
    pub line: u32,
}

/// What stands inside of a function, by link addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inside<'a> {
    /// A call.
    Call(u64),
    /// A loop.
    Loop {
        /// Its first instruction.
        header: u64,
        /// The instructions that lead back to it.
        back_edges: &'a [u64],
    },
}

/// The lines that a stretch of code came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineSpan {
    /// File of the function; lines of other files (inlined functions) are left out.
    pub file: String,
    /// Line where it is declared; of its first instruction where the debug information does not say.
    pub entry: u32,
    /// Lowest line.
    pub first: u32,
    /// Highest line.
    pub last: u32,
}

/// Looks up lines by link address.
pub struct Lines<'a> {
    context: addr2line::Context<Reader<'a>>,
    sections: &'a DebugSections<'a>,
    /// Opened when an address in a split unit is first asked for.
    split: OnceCell<SplitFiles<'a>>,
    /// Read when a function is first asked for.
    declarations: OnceCell<Declarations>,
}

/// A function that an instruction is in.
struct Frame {
    /// Its entry in the unit; `None` where the debug information has none.
    entry: Option<UnitOffset>,
    /// Where the instruction is in it: in code that was inlined, where that is called.
    place: Option<Location>,
}

impl<'a> Lines<'a> {
    /// Over the sections of an image; `None` if they cannot be read.
    #[must_use]
    pub fn new(sections: &'a DebugSections<'a>) -> Option<Self> {
        if sections.is_empty() {
            return None;
        }
        let dwarf = sections.dwarf()?;
        let context = addr2line::Context::from_dwarf(dwarf).ok()?;
        Some(Self { context, sections, split: OnceCell::new(), declarations: OnceCell::new() })
    }

    /// File and line of the instruction at a link address.
    #[must_use]
    pub fn location(&self, address: u64) -> Option<Location> {
        // The search counts to the address behind, which the last one does not have.
        address.checked_add(1)?;
        let found = self.context.find_location(address).ok()??;
        Some(Location { file: found.file?.to_owned(), line: found.line? })
    }

    /// The place of an instruction in the function that has its code: of code that was inlined, the line of the call.
    #[must_use]
    pub fn location_in_host(&self, address: u64) -> Option<Location> {
        self.frames(address).pop()?.place
    }

    /// Where something inside of a function is.
    #[must_use]
    pub fn place(&self, inside: Inside<'_>) -> Option<Location> {
        match inside {
            Inside::Call(address) => self.location(address),
            Inside::Loop { header, back_edges } => self.of_loop(header, back_edges).or_else(|| self.location(header)),
        }
    }

    /// The line of a loop, where any is left.
    fn of_loop(&self, header: u64, back_edges: &[u64]) -> Option<Location> {
        // An instruction without a line has that of the one in front of it, which is not in the loop.
        let has_own = |&at: &u64| at.checked_sub(1).is_none_or(|before| self.location(before) != self.location(at));
        let addresses = Some(header).filter(has_own).into_iter().chain(back_edges.iter().copied());
        let outwards = addresses.map(|address| self.frames(address));
        // What has no line says nothing.
        let known = outwards.filter(|frames| frames.first().is_some_and(|frame| frame.place.is_some()));
        let inwards: Vec<Vec<Frame>> = known.map(|frames| frames.into_iter().rev().collect()).collect();
        let (first, others) = inwards.split_first()?;
        let shared = |other: &Vec<Frame>| first.iter().zip(other).take_while(|(one, other)| one.entry == other.entry).count();
        let own = others.iter().map(shared).min().unwrap_or(first.len()).checked_sub(1)?;
        let places = || inwards.iter().filter_map(|frames| Some((frames.len(), frames.get(own)?.place.as_ref()?)));
        let (_, Location { file, .. }) = places().next()?;
        let host = self.declaration(header, first.first()?.entry).filter(|place| own == 0 && place.file == *file);
        let declared = host.map_or(0, |place| place.line);
        let of_it = places().filter(|(_, place)| place.file == *file && place.line > declared);
        // Its own instructions speak before those that it calls.
        let (_, place) = of_it.min_by_key(|&(frames, place)| (frames > own + 1, place.line))?;
        Some(place.clone())
    }

    /// The functions that an instruction is in, from the innermost one outwards.
    fn frames(&self, address: u64) -> Vec<Frame> {
        let mut found = Vec::new();
        if address == u64::MAX {
            return found;
        }
        let Ok(mut frames) = self.loaded(self.context.find_frames(address)) else { return found };
        while let Ok(Some(frame)) = frames.next() {
            let place = frame.location.and_then(|place| Some(Location { file: place.file?.to_owned(), line: place.line? }));
            found.push(Frame { entry: frame.dw_die_offset, place });
        }
        found
    }

    /// What is looked up, with the split files that it takes.
    fn loaded<L: LookupContinuation<Buf = Reader<'a>>>(&self, mut lookup: LookupResult<L>) -> L::Output {
        loop {
            lookup = match lookup {
                LookupResult::Output(found) => return found,
                LookupResult::Load { load, continuation } => {
                    let files = self.split.get_or_init(|| self.sections.split_files());
                    continuation.resume(files.find(load.dwo_id, &load.parent).map(Arc::new))
                }
            };
        }
    }

    fn declarations(&self) -> &Declarations {
        self.declarations.get_or_init(|| Declarations::read(self.sections))
    }

    /// Where the function is declared that has an entry in the unit of an address.
    fn declaration(&self, address: u64, entry: Option<UnitOffset>) -> Option<&Location> {
        let unit = self.loaded(self.context.find_dwarf_and_unit(address))?;
        self.declarations().of(unit.dwarf, unit.unit, &unit.entry(entry?).ok()?)
    }

    /// Where the function with this entry, a link address, is declared; where nothing says so, the place of its first instruction.
    #[must_use]
    pub fn function(&self, entry: u64) -> Option<Location> {
        self.declarations().at(entry).cloned().or_else(|| self.location_in_host(entry))
    }

    /// The lines of a function whose code fills these ranges; the first one starts with its entry.
    #[must_use]
    pub fn span(&self, ranges: &[Range<u64>]) -> Option<LineSpan> {
        let entry = ranges.first().and_then(|range| self.function(range.start));
        let mut span = entry.map(|place| LineSpan { file: place.file, entry: place.line, first: place.line, last: place.line });
        for range in ranges {
            let Ok(rows) = self.context.find_location_range(range.start, range.end) else { continue };
            for (_, _, row) in rows {
                let (Some(file), Some(line)) = (row.file, row.line.filter(|&line| line > 0)) else { continue };
                match &mut span {
                    None => span = Some(LineSpan { file: file.to_owned(), entry: line, first: line, last: line }),
                    Some(span) if span.file == file => {
                        span.first = span.first.min(line);
                        span.last = span.last.max(line);
                    }
                    Some(_) => {}
                }
            }
        }
        span
    }
}
