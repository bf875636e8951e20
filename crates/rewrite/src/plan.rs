//! Which of the selected functions are moved.
//!
//! Every function ends as moved or as refused with a reason; a refused one is not touched in any way.

use tare_code::{Program, Threads};
use tare_image::Image;

use crate::assemble::{Probes, assemble};
use crate::copies::{FunctionCopy, SiteKind};
use crate::decode::decode;
use crate::elf::dynamic::relocation_table_size;
use crate::reason::Reason;
use crate::springboards::{self, Neighbours, Springboard};
use crate::{Refused, Request, RewriteError, Selection};

/// A function that is moved.
pub(crate) struct Moved {
    /// Index in the program.
    pub(crate) function: usize,
    /// Number of the region within the image.
    pub(crate) id: u32,
    pub(crate) springboard: Springboard,
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

/// The selected functions that are not refused by their nature, with the room at their entry.
pub(crate) struct Chosen<'a> {
    pub(crate) selection: &'a Selection,
    pub(crate) springboard: Springboard,
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
        match springboards::find(image, &neighbours, function) {
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
    let lifted = Threads::available().map(chosen, |one| lift(image, program, one, can_relocate));
    for (one, lifted) in chosen.iter().zip(lifted) {
        match lifted {
            Ok(lifted) => moved.push(lifted),
            Err(reason) => refused.extend(refusal(program, one.selection.function, reason)),
        }
    }
    for index in springboards::place_islands(program, &mut moved).into_iter().rev() {
        let short = moved.remove(index);
        refused.extend(refusal(program, short.function, Reason::ShortEntry));
    }
    for (one, id) in moved.iter_mut().zip(1..) {
        one.id = id;
    }
    (moved, refused)
}

fn refusal(program: &Program, function: usize, reason: Reason) -> Option<Refused> {
    program.functions.get(function).map(|function| Refused::new(function, reason))
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
    // A body with further entries goes on to be run from there: nothing in it may lead into the jump.
    let targets = parts.iter().flat_map(|part| &part.items).map(|item| item.target);
    let mut targets = targets.chain(body.tables.iter().flat_map(|table| table.targets.iter().copied()));
    if !function.other_entries.is_empty() && targets.any(|target| chosen.springboard.is_within(target)) {
        return Err(Reason::ShortEntry);
    }
    let is_leaf = chosen.selection.is_leaf;
    let kind = if is_leaf { SiteKind::EnterLeaf } else { SiteKind::Enter };
    let probed = assemble(image, &parts, &body, Probes::All(kind))?;
    let clean = if is_leaf { Some(assemble(image, &parts, &body, Probes::None)?) } else { None };
    Ok(Moved { function: index, id: 0, springboard: chosen.springboard, probed, clean })
}
