//! Files and lines from DWARF 2–5.
//!
//! [`Lines`] looks into the [`DebugSections`] and reads the line program of a compilation unit when it is first asked for.

use std::cell::OnceCell;
use std::ops::Range;

use crate::debug::{DebugSections, Reader};
use crate::subprograms::Declarations;

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// Path as the compiler recorded it.
    pub file: String,
    /// From 1.
    pub line: u32,
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
    /// Read when a function is first asked for.
    declarations: OnceCell<Declarations>,
}

impl<'a> Lines<'a> {
    /// Over the sections of an image; `None` if they cannot be read.
    #[must_use]
    pub fn new(sections: &'a DebugSections<'a>) -> Option<Self> {
        if sections.is_empty() {
            return None;
        }
        let dwarf = sections.dwarf()?;
        Some(Self { context: addr2line::Context::from_dwarf(dwarf).ok()?, sections, declarations: OnceCell::new() })
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
        address.checked_add(1)?;
        let mut frames = self.context.find_frames(address).skip_all_loads().ok()?;
        let mut host = None;
        while let Ok(Some(frame)) = frames.next() {
            host = frame.location;
        }
        Some(Location { file: host.as_ref()?.file?.to_owned(), line: host?.line? })
    }

    /// Where the function with this entry, a link address, is declared; where nothing says so, the place of its first instruction.
    #[must_use]
    pub fn function(&self, entry: u64) -> Option<Location> {
        let declarations = self.declarations.get_or_init(|| Declarations::read(self.sections));
        declarations.at(entry).cloned().or_else(|| self.location_in_host(entry))
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
