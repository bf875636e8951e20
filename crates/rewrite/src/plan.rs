//! Which of the selected functions are moved.
//!
//! Every function ends as moved or as refused with a reason; a refused one is not touched in any way.

use smallvec::SmallVec;
use tare_code::{Body, Flow, Instruction, Program, Threads, join};
use tare_image::Image;

use crate::assemble::{Probed, assemble};
use crate::copies::{FunctionCopy, Target};
use crate::decode::decode;
use crate::displacement::displacement;
use crate::elf::dynamic::relocation_table_size;
use crate::insertion::{Insertion, Place, Point, Probes, VariableField};
use crate::points::{self, Points, Region, Wanted, Way};
use crate::reason::Reason;
use crate::springboards::{self, Neighbours, Springboard};
use crate::{Refused, RefusedSite, Request, RewriteError, Selection};

/// A function that is moved.
pub(crate) struct Moved {
    /// Index in the program.
    pub(crate) function: usize,
    /// Number of its first region within the image.
    pub(crate) id: u32,
    /// Its regions, numbered one after the other.
    pub(crate) regions: SmallVec<[Region; 1]>,
    /// From each of its entries, the first one that of the function.
    pub(crate) springboards: SmallVec<[Springboard; 1]>,
    pub(crate) probed: FunctionCopy,
    /// Without probes, for a leaf that may run so.
    pub(crate) clean: Option<Box<FunctionCopy>>,
    /// What is inserted, to which the sites refer.
    pub(crate) insertions: Vec<Insertion>,
    /// What the probes keep of their own for this function.
    pub(crate) constants: Block,
    pub(crate) variables: Block,
    /// Every thread's own; the address counts from the start of all of these.
    pub(crate) thread_variables: Block,
    /// Fields of the variables, with regions by their index in the function.
    pub(crate) fields: Vec<(u32, VariableField)>,
    /// Bytes of what is passed in front of the first instruction.
    pub(crate) head: u64,
    /// Whether it branches back.
    pub(crate) has_loops: bool,
    /// Loops and call sites that are left alone.
    pub(crate) refused: Vec<RefusedSite>,
    pub(crate) filled: Filled,
}

/// Bytes of the largest function that gets a copy without probes: beside what a longer one does in a call, probes that are
/// switched off cost little, and such copies would make up much of the output.
const LARGEST_CLEAN_COPY: u64 = 2048;

/// Bytes of `endbr64`, of `lea` and of the comparison of the stack pointer with the end of the stack.
const LONGEST_HEAD: u64 = 4 + 8 + 9;

/// At which places the probes insert something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Filled {
    pub(crate) entry: bool,
    pub(crate) exits: bool,
    /// Whether regions that begin also end.
    pub(crate) brackets: bool,
}

impl Filled {
    fn of(places: &[Place], insertions: &[Insertion]) -> Self {
        let all = || places.iter().zip(insertions);
        let has = |point: Point| all().any(|(place, insertion)| place.point == point && !insertion.bytes.is_empty());
        Self {
            entry: has(Point::FunctionEnter),
            exits: has(Point::FunctionExit),
            brackets: all().all(|(place, insertion)| place.is_tail_call || !insertion.bytes.is_empty()),
        }
    }
}

/// Bytes, and the address that the layout gives them.
#[derive(Default)]
pub(crate) struct Block {
    pub(crate) bytes: Vec<u8>,
    pub(crate) address: u64,
}

impl Block {
    const fn of(bytes: Vec<u8>) -> Self {
        Self { bytes, address: 0 }
    }
}

impl Moved {
    /// All copies.
    pub(crate) fn copies(&self) -> impl Iterator<Item = &FunctionCopy> {
        std::iter::once(&self.probed).chain(self.clean.as_deref())
    }

    /// All copies.
    pub(crate) fn copies_mut(&mut self) -> impl Iterator<Item = &mut FunctionCopy> {
        std::iter::once(&mut self.probed).chain(self.clean.as_deref_mut())
    }

    /// Fills in what depends on addresses and numbers, once they are known.
    pub(crate) fn fill_variables(&mut self) {
        for &(at, field) in &self.fields {
            let end = self.variables.address + u64::from(at) + 4;
            let value = match field {
                VariableField::Region(index) => Some((self.id + index).to_le_bytes()),
                VariableField::Original(address) => displacement(address, end),
                VariableField::Thread(at) => u32::try_from(self.thread_variables.address + u64::from(at)).ok().map(u32::to_le_bytes),
            };
            if let (Some(value), Some(place)) = (value, self.variables.bytes.get_mut(at as usize..at as usize + 4)) {
                place.copy_from_slice(&value);
            }
        }
    }

    /// The moved entry that a springboard leads to.
    pub(crate) fn entry(&self, springboard: &Springboard) -> u64 {
        let (part, offset) = springboard.to;
        self.probed.address(part, offset)
    }
}

/// The selected functions that are not refused by their nature, with the room at their entries.
pub(crate) struct Chosen<'a> {
    pub(crate) selection: &'a Selection,
    pub(crate) springboards: SmallVec<[Springboard; 1]>,
}

/// Tells functions that may be moved from those that are refused before they are even decoded.
pub(crate) fn choose<'a>(image: &Image<'_>, program: &Program, request: &Request<'a>) -> Result<(Vec<Chosen<'a>>, Vec<Refused>), RewriteError> {
    let neighbours = Neighbours::new(image, program);
    let mut chosen = Vec::with_capacity(request.selected.len());
    let mut refused = Vec::new();
    let splits = splits_stacks(image, program);
    let mut selected: Vec<&Selection> = request.selected.iter().collect();
    selected.sort_by_key(|one| one.function);
    selected.dedup_by_key(|one| one.function);
    for selection in selected {
        let index = selection.function;
        let function = program.functions.get(index).ok_or(RewriteError::NoSuchFunction { index })?;
        match springboards::find(image, program, &neighbours, function) {
            Ok(_) if splits => refused.push(Refused::new(function, Reason::SplitStack)),
            Ok(springboards) => chosen.push(Chosen { selection, springboards }),
            Err(reason) => refused.push(Refused::new(function, reason)),
        }
    }
    Ok((chosen, refused))
}

/// Whether code of an image asks for more stack at its functions' entries (`-fsplit-stack`): `cmp %fs:0x70, %rsp` or another
/// register. What it asks for is called in a way that fixes the bytes around, and leaves no room for a probe's own stack.
fn splits_stacks(image: &Image<'_>, program: &Program) -> bool {
    program.functions.iter().any(|function| {
        let head = image.bytes_at(function.entry, function.size().min(LONGEST_HEAD)).unwrap_or_default();
        head.windows(9).any(|bytes| matches!(bytes, [0x64, 0x48 | 0x4c, 0x3b, _, 0x25, 0x70, 0, 0, 0]))
    })
}

/// What all functions are moved with.
pub(crate) struct Lifting<'a, 'data> {
    pub(crate) image: &'a Image<'data>,
    pub(crate) program: &'a Program,
    pub(crate) probes: &'a dyn Probes,
    pub(crate) threads: Threads,
}

/// Moves all functions that can be, and numbers their regions from 1.
pub(crate) fn lift_all(lifting: &Lifting<'_, '_>, chosen: &[Chosen<'_>]) -> (Vec<Moved>, Vec<Refused>) {
    let program = lifting.program;
    let can_relocate = relocation_table_size(lifting.image).is_some();
    let lifted = lifting.threads.portions(chosen, |portion| lifting.lift_portion(portion, can_relocate));
    let (lifted, kept): (Vec<Vec<Moved>>, Vec<Vec<Refused>>) = lifted.into_iter().unzip();
    let (mut moved, mut refused) = (join(lifted), join(kept));
    loop {
        let mut short = without_jump(program, &moved);
        if short.is_empty() {
            short = springboards::place_islands(lifting.image, program, &mut moved);
        }
        if short.is_empty() {
            break;
        }
        for index in short.into_iter().rev() {
            let short = moved.remove(index);
            refused.extend(refusal(program, short.function, Reason::ShortEntry));
        }
    }
    let mut next = 1;
    for one in &mut moved {
        one.id = next;
        next += u32::try_from(one.regions.len()).unwrap_or(0);
    }
    (moved, refused)
}

/// Those with an entry that needs a jump after all: a function that branches there is not moved.
fn without_jump(program: &Program, moved: &[Moved]) -> Vec<usize> {
    let bare = |one: &Moved| one.springboards.iter().filter(|springboard| springboard.at.is_none()).map(|one| one.entry).collect::<Vec<u64>>();
    let with_bare = moved.iter().enumerate().map(|(index, one)| (index, bare(one))).filter(|(_, bare)| !bare.is_empty());
    let is_moved = |function: usize| moved.binary_search_by_key(&function, |one| one.function).is_ok();
    with_bare.filter(|(_, bare)| !bare.iter().all(|&entry| program.branching_into(entry).all(is_moved))).map(|(index, _)| index).collect()
}

fn refusal(program: &Program, function: usize, reason: Reason) -> Option<Refused> {
    program.functions.get(function).map(|function| Refused::new(function, reason))
}

impl Lifting<'_, '_> {
    /// Moves the functions of a portion that can be; tells of the others why not.
    fn lift_portion(&self, portion: &[Chosen<'_>], can_relocate: bool) -> (Vec<Moved>, Vec<Refused>) {
        let (mut moved, mut refused) = (Vec::with_capacity(portion.len()), Vec::new());
        for chosen in portion {
            match self.lift(chosen, can_relocate) {
                Ok(lifted) => moved.extend(lifted),
                Err(reason) => refused.extend(refusal(self.program, chosen.selection.function, reason)),
            }
        }
        (moved, refused)
    }

    /// Moves one function; `None` where nothing of it is to be measured.
    fn lift(&self, chosen: &Chosen<'_>, can_relocate: bool) -> Result<Option<Moved>, Reason> {
        let (image, selection) = (self.image, chosen.selection);
        let index = selection.function;
        let function = self.program.functions.get(index).ok_or(Reason::TooLarge)?;
        let body = self.program.body(image, function);
        let is_relocated = |table: &tare_code::JumpTable| table.form == tare_code::TableForm::Relocated64;
        if !can_relocate && body.tables.iter().any(is_relocated) {
            return Err(Reason::RelocatedTable);
        }
        let has_inside = selection.levels.has_regions_inside();
        let may_have_clean_copy = selection.is_leaf && function.size() <= LARGEST_CLEAN_COPY;
        let has_clean_copy = may_have_clean_copy && selection.levels.function && !has_inside && function.other_entries.is_empty();
        let wanted = Wanted { levels: selection.levels, has_clean_copy, tail_calls: self.probes.measures_tail_calls() };
        let points = points::find(image, self.program, function, &body, wanted);
        if points.placed.is_empty() {
            return Ok(None);
        }
        let places: Vec<Place> = points.placed.iter().map(|one| one.place).collect();
        let inserted = self.probes.inserted(index, &places);
        let parts = decode(image, function, &body, &points.placed)?;
        let probed = assemble(image, &parts, &body, Some(Probed { points: &points, insertions: &inserted.insertions }))?;
        let clean = if has_clean_copy { Some(Box::new(assemble(image, &parts, &body, None)?)) } else { None };
        Ok(Some(Moved {
            function: index,
            id: 0,
            springboards: entries(&chosen.springboards, &points, &probed)?,
            head: head(&probed),
            has_loops: branches_back(&body),
            filled: Filled::of(&places, &inserted.insertions),
            probed,
            clean,
            insertions: inserted.insertions,
            constants: Block::of(inserted.constants),
            variables: Block::of(inserted.variables),
            thread_variables: Block::of(inserted.thread_variables),
            fields: inserted.fields.into_iter().map(|(at, field)| (at, of_region(&points, field))).collect(),
            refused: points.refused.iter().map(|&(scope, address, reason)| RefusedSite { function: index, scope, address, reason }).collect(),
            regions: points.regions,
        }))
    }
}

/// Whether a function has a branch or jump to an earlier address of its own.
fn branches_back(body: &Body) -> bool {
    let goes_back = |one: &Instruction| matches!(one.flow, Flow::Branch { target } | Flow::Jump { target } if target <= one.address);
    body.tied().any(goes_back)
}

/// A field that names its region by a place, with the region's index.
fn of_region(points: &Points, field: VariableField) -> VariableField {
    match field {
        VariableField::Region(place) => VariableField::Region(points.placed.get(place as usize).map_or(0, |one| one.region)),
        other => other,
    }
}

/// Where each springboard leads.
fn entries(springboards: &[Springboard], points: &Points, copy: &FunctionCopy) -> Result<SmallVec<[Springboard; 1]>, Reason> {
    let mut found: SmallVec<[Springboard; 1]> = SmallVec::from_slice(springboards);
    for springboard in found.iter_mut().skip(1) {
        let arrival = points.arrival(Way::Entry, springboard.entry);
        let Some(Target::Label { part, offset }) = copy.arrival(springboard.entry, arrival) else { return Err(Reason::StrayBranch) };
        springboard.to = (part, offset);
    }
    Ok(found)
}

fn head(copy: &FunctionCopy) -> u64 {
    let first = copy.fragments.first();
    first.and_then(|first| first.label(first.original.start)).map_or(0, u64::from)
}
