//! Which of the selected functions are moved.
//!
//! Every function ends as moved or as refused with a reason; a refused one is not touched in any way.

use std::collections::HashSet;

use iced_x86::{Code, Decoder, DecoderOptions, Mnemonic};
use tare_code::{Function, Program, Refusal};
use tare_image::Image;

use crate::assemble::{Probes, assemble};
use crate::copies::{FunctionCopy, SiteKind};
use crate::decode::decode;
use crate::elf::dynamic::relocation_table_size;
use crate::parallel;
use crate::reason::Reason;
use crate::{Refused, Request, RewriteError, Selection};

/// Bytes of the jump at the original entry.
pub(crate) const JUMP_LENGTH: u64 = 5;
/// `endbr64`, which stays at the head of a function that has it.
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// A function that is moved.
pub(crate) struct Moved {
    /// Index in the program.
    pub(crate) function: usize,
    /// Number of the region within the image.
    pub(crate) id: u32,
    /// Link address of the jump in the original.
    pub(crate) springboard: u64,
    pub(crate) probed: FunctionCopy,
    /// Without probes, for a leaf that may run so.
    pub(crate) clean: Option<FunctionCopy>,
}

impl Moved {
    /// All copies.
    pub(crate) fn copies(&self) -> impl Iterator<Item = &FunctionCopy> {
        std::iter::once(&self.probed).chain(&self.clean)
    }

    /// All copies.
    pub(crate) fn copies_mut(&mut self) -> impl Iterator<Item = &mut FunctionCopy> {
        std::iter::once(&mut self.probed).chain(&mut self.clean)
    }

    /// Bytes of the probe at the entry.
    pub(crate) fn entry_site_length(&self) -> u64 {
        let kind = if self.clean.is_some() { SiteKind::EnterLeaf } else { SiteKind::Enter };
        kind.length() as u64
    }
}

/// The selected functions that are not refused by their nature, with the place of their springboard.
pub(crate) struct Chosen<'a> {
    pub(crate) selection: &'a Selection,
    pub(crate) springboard: u64,
}

/// Tells functions that may be moved from those that are refused before they are even decoded.
pub(crate) fn choose<'a>(image: &Image<'_>, program: &Program, request: &'a Request) -> Result<(Vec<Chosen<'a>>, Vec<Refused>), RewriteError> {
    let neighbours = Neighbours::new(program);
    let mut chosen = Vec::with_capacity(request.selected.len());
    let mut refused = Vec::new();
    let mut selected: Vec<&Selection> = request.selected.iter().collect();
    selected.sort_by_key(|one| one.function);
    selected.dedup_by_key(|one| one.function);
    for selection in selected {
        let index = selection.function;
        let function = program.functions.get(index).ok_or(RewriteError::NoSuchFunction { index })?;
        match springboard(image, &neighbours, function) {
            Ok(springboard) => chosen.push(Chosen { selection, springboard }),
            Err(reason) => refused.push(Refused::new(function, reason)),
        }
    }
    Ok((chosen, refused))
}

/// Moves all functions that can be, and numbers them from 1.
pub(crate) fn lift_all(image: &Image<'_>, program: &Program, chosen: &[Chosen<'_>]) -> (Vec<Moved>, Vec<Refused>) {
    let can_relocate = relocation_table_size(image).is_some();
    let mut moved = Vec::with_capacity(chosen.len());
    let mut refused = Vec::new();
    let lifted = parallel::map(chosen, |one| lift(image, program, one, can_relocate));
    for (one, lifted) in chosen.iter().zip(lifted) {
        match lifted {
            Ok(mut lifted) => {
                lifted.id = u32::try_from(moved.len() + 1).unwrap_or(u32::MAX);
                moved.push(lifted);
            }
            Err(reason) => {
                let function = program.functions.get(one.selection.function);
                refused.extend(function.map(|function| Refused::new(function, reason)));
            }
        }
    }
    (moved, refused)
}

/// Moves one function.
fn lift(image: &Image<'_>, program: &Program, chosen: &Chosen<'_>, can_relocate: bool) -> Result<Moved, Reason> {
    let index = chosen.selection.function;
    let function = program.functions.get(index).ok_or(Reason::TooLarge)?;
    let body = program.body(image, function);
    let is_relocated = |table: &tare_code::JumpTable| table.form == tare_code::TableForm::Relocated64;
    if !can_relocate && body.tables.iter().any(is_relocated) {
        return Err(Reason::RelocatedTable);
    }
    let parts = decode(image, function, &body)?;
    let is_leaf = chosen.selection.is_leaf;
    let kind = if is_leaf { SiteKind::EnterLeaf } else { SiteKind::Enter };
    let probed = assemble(image, &parts, &body, Probes::All(kind))?;
    let clean = if is_leaf { Some(assemble(image, &parts, &body, Probes::None)?) } else { None };
    Ok(Moved { function: index, id: 0, springboard: chosen.springboard, probed, clean })
}

/// Where the jump goes in the original text, if there is room.
fn springboard(image: &Image<'_>, neighbours: &Neighbours, function: &Function) -> Result<u64, Reason> {
    if let Some(refusal) = function.refusal {
        return Err(Reason::Analysis(refusal));
    }
    let first = function.parts.first().filter(|part| part.start == function.entry);
    let first = first.ok_or(Reason::Analysis(Refusal::OutsideText))?;
    if function.parts.len() > usize::from(u16::MAX) {
        return Err(Reason::TooLarge);
    }
    if function.parts.iter().any(|part| neighbours.is_shared(part)) {
        return Err(Reason::SharedCode);
    }
    let has_mark = image.bytes_at(function.entry, 4) == Some(&ENDBR64);
    let start = function.entry + if has_mark { 4 } else { 0 };
    let end = start + JUMP_LENGTH;
    let is_entered_within = function.other_entries.iter().any(|&entry| entry > start && entry < end);
    let has_room = end <= first.end || is_padding(image, neighbours, first.end, end);
    if is_entered_within || !has_room { Err(Reason::ShortEntry) } else { Ok(start) }
}

/// Whether the bytes between the end of a part and `end` are no part of anything and decode as padding.
fn is_padding(image: &Image<'_>, neighbours: &Neighbours, start: u64, end: u64) -> bool {
    let text_end = image.text_at(start - 1).map_or(0, |text| text.end);
    if end > text_end || neighbours.next(start) < end {
        return false;
    }
    let limit = neighbours.next(start).min(text_end).min(start + 32);
    let Some(bytes) = image.bytes_at(start, limit - start) else { return false };
    let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
    while decoder.can_decode() && decoder.ip() < end {
        let one = decoder.decode();
        let is_nop = matches!(one.mnemonic(), Mnemonic::Nop | Mnemonic::Int3)
            || matches!(one.code(), Code::Xchg_r16_AX | Code::Xchg_r32_EAX | Code::Xchg_r64_RAX) && one.op0_register() == one.op1_register();
        if !is_nop {
            return false;
        }
    }
    decoder.ip() >= end
}

/// The parts of all functions, in order.
struct Neighbours {
    starts: Vec<u64>,
    /// Parts that overlap another one, by their start and end.
    shared: HashSet<(u64, u64)>,
}

impl Neighbours {
    fn new(program: &Program) -> Self {
        let mut parts: Vec<(u64, u64)> = program.functions.iter().flat_map(|one| &one.parts).map(|part| (part.start, part.end)).collect();
        parts.sort_unstable();
        let mut shared = HashSet::new();
        let mut widest = (0, 0);
        for &part in &parts {
            if part.0 < widest.1 {
                shared.insert(widest);
                shared.insert(part);
            }
            if part.1 > widest.1 {
                widest = part;
            }
        }
        Self { starts: parts.into_iter().map(|part| part.0).collect(), shared }
    }

    fn is_shared(&self, part: &std::ops::Range<u64>) -> bool {
        self.shared.contains(&(part.start, part.end))
    }

    /// The first start at or behind an address.
    fn next(&self, address: u64) -> u64 {
        let index = self.starts.partition_point(|&start| start < address);
        self.starts.get(index).copied().unwrap_or(u64::MAX)
    }
}
