//! The regions that a process names itself: functions with compiler hooks, regions of the program's own making.

use tare_format::description::RegionKind;
use tare_format::graph::{ARENA, HEADER_AREA, MAX_LOCATIONS};
use tare_format::names::{MOST_REGIONS, MOST_TEXT, NAMES, NamedRegion, NamesRecord, REGIONS, TEXTS};

use super::process::{header, images};
use super::{NO_DESCRIPTION, record, text};
use crate::region::{Named, Region};

/// The regions that a process has named itself so far, each with the id that its nodes and switches have.
#[must_use]
pub fn named(graph: &[u8]) -> Vec<(u32, Region)> {
    let Ok(header) = header(graph) else { return Vec::new() };
    let Some(image) = images(graph, &header).into_iter().find(|image| image.identity == NO_DESCRIPTION) else { return Vec::new() };
    let Some(names) = Names::find(graph, header.locations.min(MAX_LOCATIONS)) else { return Vec::new() };
    let executable = text(&header.executable);
    let numbers = 1..=names.head.regions.min(MOST_REGIONS);
    numbers.filter_map(|number| Some((image.id_base + number, names.region(graph, number, &executable)?.into()))).collect()
}

/// The arena that holds them.
#[derive(Clone, Copy)]
pub(super) struct Names {
    arena: u64,
    head: NamesRecord,
}

impl Names {
    pub(super) fn find(bytes: &[u8], arenas: u32) -> Option<Self> {
        let arenas = (0..arenas).map(|index| HEADER_AREA + u64::from(index) * ARENA);
        let all = arenas.filter_map(|arena| Some(Self { arena, head: record(bytes, arena, 0, NamesRecord::SIZE, NamesRecord::from_bytes)? }));
        { all }.find(|names| names.head.state == NAMES)
    }

    /// The region with this number, of an image that is the executable where no other is named; `None` where its record is not there.
    pub(super) fn region(&self, bytes: &[u8], number: u32, executable: &str) -> Option<Named> {
        let index = number.checked_sub(1).filter(|index| *index < self.head.regions.min(MOST_REGIONS))?;
        let raw = record(bytes, self.arena + REGIONS, u64::from(index), NamedRegion::SIZE, NamedRegion::from_bytes)?;
        let kind = RegionKind::from_number(u8::try_from(raw.kind.checked_sub(1)?).ok()?)?;
        let text = |start: u32, length: u32| {
            let end = u64::from(start) + u64::from(length);
            let at = |place: u64| usize::try_from(self.arena + TEXTS + place).ok();
            let range = at(u64::from(start))?..at(end)?;
            bytes.get(range).filter(|_| end <= u64::from(MOST_TEXT)).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        Some(Named {
            kind,
            name: text(raw.name, raw.name_length)?,
            image: text(raw.image, raw.image_length).filter(|image| !image.is_empty()).unwrap_or_else(|| executable.to_string()),
            build_id: text(raw.build, raw.build_length)?,
            file: text(raw.file, raw.file_length)?,
            line: raw.line,
            address: raw.address,
        })
    }
}
