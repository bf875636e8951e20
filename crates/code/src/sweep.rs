//! The first of two decodings: every instruction of every fragment once, of which only what changes the flow of
//! control and what may be the address of a jump table is kept. Instructions that tell of neither are passed over by their length, and
//! direct calls, jumps and branches are read from their bytes; the decoder sees the others.

use std::ops::Range;

use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use tare_image::Image;

use crate::addresses::{added_address, constant_address, indexed_address, loaded_slot, origin, part, stored_address};
use crate::carried::Carried;
use crate::decode::{AddressSet, RawFlow, enters_kernel, is_below_stack, raw_flow};
use crate::direct::{Turn, direct};
use crate::extent::{Extent, Step};
use crate::fragments::{Fragment, Fragments, Named, Traits};
use crate::held;
use crate::leads::{Kind, Leads};
use crate::lock;
use crate::parallel::Threads;
use crate::plain::{NEAR, Taken, quiet};
use crate::pointed;
use crate::program::FoundBy;
use crate::record::FlowRecord;
use crate::slots::{Changing, LINKERS, may_hold_callee};
use crate::swallowed;
use crate::through::{Recent, Through, writes};
use crate::thunks::Inline;
use crate::traps;

/// What an instruction of the code does with the address of a function: it may hand it on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pointer {
    /// The instruction.
    pub(crate) at: u64,
    /// The function or PLT entry; of a slot of an import, the slot.
    pub(crate) target: u64,
}

/// Flags are read behind a direct call before they are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GivenBack {
    /// What is called.
    pub(crate) callee: u64,
    /// Behind the call.
    pub(crate) behind: u64,
    /// The instruction that reads.
    pub(crate) reader: u64,
}

/// What the sweep keeps.
#[derive(Default)]
pub(crate) struct Sweep {
    /// Grouped by fragment ([`Fragment::flows`]), in address order within each.
    pub(crate) flows: Vec<FlowRecord>,
    /// Those that may lead out of their fragments.
    pub(crate) leads: Leads,
    /// Where instructions start.
    pub(crate) starts: AddressSet,
    /// Data addresses that instructions refer to in a way that suits a table, sorted: no table runs over one.
    pub(crate) bases: Vec<u64>,
    /// Addresses of functions that are loaded as values, in the order of the fragments.
    pub(crate) pointers: Vec<Pointer>,
    /// Data addresses that the code names as constants, sorted.
    pub(crate) constants: Vec<u64>,
    pub(crate) outside: Vec<Outside>,
    /// Instructions behind the start of a fragment that someone calls directly, sorted.
    pub(crate) called_inside: Vec<u64>,
    pub(crate) given_back: Vec<GivenBack>,
    /// Addresses of code to which instructions add something.
    added_to: Vec<u64>,
    /// Instructions behind the start of a fragment whose address is loaded, added to, or stands in relocated data, sorted.
    pub(crate) labels: Vec<u64>,
    /// The same whose address stands as it is in data of an image that is not moved, sorted; jump tables among it.
    pub(crate) listed: Vec<u64>,
    /// Flows whose target may stand behind a `lock` prefix, until all starts are known.
    over_lock: Vec<usize>,
    /// Where branches go that leave out the `lock` prefix of an instruction, sorted.
    pub(crate) behind_lock: Vec<u64>,
    /// Words among those that the loader protects that may change nevertheless.
    pub(crate) changing: Changing,
    /// Thunks that stand in their functions.
    pub(crate) inline: Inline,
    /// Words of data that may lead into code, with their places in front, in an image that is not moved.
    pub(crate) words: Vec<(u64, u64)>,
}

impl Sweep {
    /// Indices of a fragment's records from the first one at or behind an address.
    pub(crate) fn flows_from(&self, fragment: &Fragment, address: u64) -> std::ops::Range<usize> {
        let own = self.flows_of(fragment);
        let is_behind = own.first().is_some_and(|record| record.address < address);
        let skipped = if is_behind { own.partition_point(|record| record.address < address) } else { 0 };
        fragment.flows.start + skipped..fragment.flows.end
    }

    pub(crate) fn flows_of(&self, fragment: &Fragment) -> &[FlowRecord] {
        self.flows.get(fragment.flows.clone()).unwrap_or_default()
    }

    /// All records in the order of their addresses; none of [`Sweep::flows`] are left. They stand in a few sorted rows, one for each round
    /// of the sweep and what lies outside of text.
    pub(crate) fn take_sorted_flows(&mut self) -> Vec<FlowRecord> {
        let mut flows = std::mem::take(&mut self.flows);
        flows.sort_by_key(|record| record.address);
        flows
    }

    /// Nothing but the words of data, which do not depend on fragments.
    fn anew(self, code: &[Range<u64>]) -> Self {
        Self { starts: AddressSet::over(code), words: self.words, ..Self::default() }
    }

    /// Where direct calls, jumps and branches lead out of a fragment.
    pub(crate) fn targets_outside<'a>(&'a self, fragment: &'a Fragment) -> impl Iterator<Item = u64> + 'a {
        self.flows_of(fragment).iter().filter_map(FlowRecord::direct_target).filter(|target| !fragment.range.contains(target))
    }
}

/// Bytes of code in a piece of work.
const PIECE: u64 = 1 << 17;
/// Bytes of code for each instruction that changes the flow of control, in dense code.
const BYTES_OF_FLOW: u64 = 12;

/// How often code is swept again for functions that were taken into others; those that are left then stay in these.
const MOST_REPEATS: usize = 3;

/// Sweeps all fragments, and those that direct targets and pointers outside of them add, until there are no more. Where functions were taken
/// into others, that is done again with their starts known: among these may be what others lie in; where code goes on behind traps, once more.
pub(crate) fn sweep(image: &Image<'_>, fragments: &mut Fragments, threads: Threads) -> Sweep {
    let code = code_ranges(image);
    let slots = LINKERS.into_iter().filter_map(|name| Some(image.section(name)?.range())).collect();
    let (span, protected) = (span(&code), image.protected());
    let loaded = image.segments().iter().filter(|one| one.is_loaded()).map(|one| one.address);
    let others = [&span, &protected].into_iter().filter(|range| !range.is_empty()).map(|range| range.start);
    let least = loaded.chain(others).min().unwrap_or(0);
    let places = Places { slots, protected, code: span, least, origin: origin(image) };
    let [words, held] = image.plain_words([&places.code, &places.protected]);
    let mut sweep = Sweep { starts: AddressSet::over(&code), words, ..Sweep::default() };
    rounds(image, fragments, &places, &mut sweep, threads);
    for _ in 0..MOST_REPEATS {
        let swallowed = swallowed::starts(image, fragments, &sweep);
        if swallowed.is_empty() {
            break;
        }
        *fragments = fragments.with_starts(image, swallowed);
        sweep = sweep.anew(&code);
        rounds(image, fragments, &places, &mut sweep, threads);
    }
    let passed = traps::passed(image, fragments, &sweep);
    if !passed.is_empty() {
        *fragments = fragments.with_starts(image, Vec::new());
        fragments.go_on_behind_traps(&passed);
        sweep = sweep.anew(&code);
        rounds(image, fragments, &places, &mut sweep, threads);
    }
    let held = held.into_iter().map(|(_, value)| value).chain(sweep.constants.iter().copied());
    sweep.changing.settle(image, &places.protected, held);
    sweep.inline.sort();
    let over_lock = std::mem::take(&mut sweep.over_lock);
    sweep.behind_lock = lock::straighten(&mut sweep.flows, &sweep.starts, &over_lock);
    sweep.leads = Leads::find(fragments, &sweep);
    sweep.called_inside = mark_calls(&sweep, fragments);
    sweep.labels = mark_pointers(image, &sweep, fragments);
    sweep.listed = pointed::listed(image, &sweep, fragments);
    sweep
}

/// Sweeps what is not swept until nothing is added.
fn rounds(image: &Image<'_>, fragments: &mut Fragments, places: &Places, sweep: &mut Sweep, threads: Threads) {
    loop {
        let todo: Vec<usize> = (0..fragments.list.len()).filter(|&one| fragments.list.get(one).is_some_and(|one| !one.traits.is_swept)).collect();
        let pieces = pieces(fragments, &todo);
        let done = threads.pieces(&pieces, 1, |piece| {
            let own = piece.first().and_then(|piece| todo.get(piece.clone())).unwrap_or_default();
            Portion::of(image, places, own.iter().filter_map(|&one| fragments.list.get(one)))
        });
        let flows: usize = done.iter().map(|portion| portion.flows.len()).sum();
        // With room for what the next rounds add, so that all need not be moved for that.
        sweep.flows.reserve(flows + flows / 16);
        for (piece, portion) in pieces.into_iter().zip(done) {
            sweep.take(portion, fragments, todo.get(piece).unwrap_or_default());
        }
        let swept = todo.iter().filter_map(|&one| fragments.list.get(one));
        let targets: Vec<u64> = swept.flat_map(|one| sweep.targets_outside(one)).filter(|&target| fragments.at(target).is_none()).collect();
        let is_more = fragments.add_starts(image, targets, FoundBy::Branch);
        if !is_more && !fragments.add_starts(image, pointed::starts(image, fragments, sweep), FoundBy::Pointer) {
            break;
        }
    }
    for list in [&mut sweep.bases, &mut sweep.constants] {
        list.sort_unstable();
        list.dedup();
    }
    sweep.pointers.sort_unstable_by_key(|pointer| pointer.at);
}

/// Text and all other executable sections that are in the file.
pub(crate) fn code_ranges(image: &Image<'_>) -> Vec<Range<u64>> {
    let sections = image.sections().iter().filter(|one| one.is_executable() && !one.is_empty_in_file());
    let in_file = sections.filter(|one| image.bytes_at(one.address, one.size).is_some());
    image.text().iter().cloned().chain(in_file.map(tare_image::Section::range)).collect()
}

/// What some ranges lie in.
fn span(ranges: &[Range<u64>]) -> Range<u64> {
    let start = ranges.iter().map(|range| range.start).min().unwrap_or(0);
    let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
    start..end
}

/// Stretches of the list of fragments with about the same number of bytes.
fn pieces(fragments: &Fragments, todo: &[usize]) -> Vec<Range<usize>> {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut left = 0;
    for (position, &index) in todo.iter().enumerate() {
        let bytes = fragments.list.get(index).map_or(0, |one| one.range.end - one.range.start);
        match pieces.last_mut() {
            Some(piece) if left > 0 => piece.end = position + 1,
            _ => {
                pieces.push(position..position + 1);
                left = PIECE;
            }
        }
        left = left.saturating_sub(bytes);
    }
    pieces
}

/// Marks what is called; answers the instructions that are called and start no fragment.
fn mark_calls(sweep: &Sweep, fragments: &mut Fragments) -> Vec<u64> {
    let mut inside = Vec::new();
    for (from, lead) in sweep.leads.iter().filter(|(_, lead)| lead.kind == Kind::Call) {
        if let Some(fragment) = lead.to().and_then(|to| fragments.list.get_mut(to)) {
            if lead.is_to_start {
                fragment.traits.is_called = true;
                continue;
            }
            fragment.traits.is_called_inside = true;
            fragment.traits.is_entered_inside |= lead.to() != Some(from);
        }
        inside.extend(lead.record(sweep).and_then(FlowRecord::callee).filter(|&target| sweep.starts.contains(target)));
    }
    inside.sort_unstable();
    inside.dedup();
    inside
}

/// Marks what is pointed at; answers the instructions that are pointed at and start no fragment.
fn mark_pointers(image: &Image<'_>, sweep: &Sweep, fragments: &mut Fragments) -> Vec<u64> {
    let relocated = image.relocations().iter().filter_map(|one| match one.kind {
        tare_image::RelocationKind::Irelative => Some(one.addend.cast_unsigned()),
        _ => one.link_address(),
    });
    let arrays = image.init_array().into_iter().chain(image.fini_array());
    // Code of the large model finds the global offset table by an instruction that loads its own address.
    let loaded = sweep.pointers.iter().filter(|pointer| pointer.at != pointer.target).map(|pointer| pointer.target);
    let mut labels = Vec::new();
    for &target in &sweep.added_to {
        let is_start = fragments.at(target).and_then(|index| fragments.list.get(index)).is_none_or(|fragment| fragment.range.start == target);
        labels.extend((!is_start && sweep.starts.contains(target)).then_some(target));
    }
    for target in loaded.chain(relocated).chain(arrays) {
        let Some(fragment) = fragments.at(target).and_then(|index| fragments.list.get_mut(index)) else { continue };
        if fragment.range.start == target {
            fragment.traits.is_pointed_at = true;
        } else if sweep.starts.contains(target) {
            labels.push(target);
        }
    }
    labels.sort_unstable();
    labels.dedup();
    labels
}

/// Code outside of text.
pub(crate) struct Outside {
    pub(crate) entry: u64,
    /// Its records in [`Sweep::flows`].
    pub(crate) flows: Range<usize>,
}

impl Sweep {
    /// Sweeps a function outside of text; returns how many instructions it has.
    pub(crate) fn add_outside(&mut self, image: &Image<'_>, range: Range<u64>) -> usize {
        let entry = range.start;
        let mut fragment = Fragment::new(range, None, true, FoundBy::default());
        let places = Places::default();
        let portion = Portion::of(image, &places, std::iter::once(&fragment));
        let first = self.flows.len();
        self.flows.extend(portion.flows);
        self.starts.merge(&portion.starts);
        fragment.flows = first..self.flows.len();
        held::find_in(image, self, &fragment);
        self.outside.push(Outside { entry, flows: fragment.flows });
        portion.swept.first().map_or(0, |swept| swept.instructions)
    }

    /// Adds what was seen of some fragments.
    fn take(&mut self, portion: Portion<'_>, fragments: &mut Fragments, own: &[usize]) {
        let first = self.flows.len();
        self.over_lock.extend(portion.over_lock.iter().map(|flow| first + flow));
        self.flows.extend(portion.flows);
        self.bases.extend(portion.bases);
        self.pointers.extend(portion.pointers);
        self.constants.extend(portion.constants);
        self.added_to.extend(portion.added_to);
        self.given_back.extend(portion.given_back);
        self.changing.extend(portion.changing);
        self.inline.extend(portion.inline);
        self.starts.merge(&portion.starts);
        for (&index, swept) in own.iter().zip(portion.swept) {
            if let Some(place) = fragments.list.get_mut(index) {
                place.range.end = swept.end;
                place.traits = swept.traits;
                place.instructions = swept.instructions;
                place.flows = first + swept.flows.start..first + swept.flows.end;
            }
        }
    }
}

/// What was seen of a fragment.
struct Swept {
    end: u64,
    traits: Traits,
    /// Within the portion.
    flows: Range<usize>,
    instructions: usize,
}

/// Where addresses are kept.
#[derive(Default)]
struct Places {
    /// The linker's.
    slots: Vec<Range<u64>>,
    /// What the loader protects.
    protected: Range<u64>,
    /// What all code lies in.
    code: Range<u64>,
    /// The least address of all.
    least: u64,
    /// What [parts](part) of addresses count from.
    origin: u64,
}

impl Places {
    /// Whether no distance that is near to zero is the address of code or of what the loader protects.
    fn are_far(&self) -> bool {
        let is_far = |range: &Range<u64>| range.is_empty() || NEAR <= range.start && range.end <= u64::MAX - NEAR;
        is_far(&self.protected) && is_far(&self.code)
    }
}

/// What was seen of some fragments.
struct Portion<'a> {
    flows: Vec<FlowRecord>,
    starts: AddressSet,
    bases: Vec<u64>,
    pointers: Vec<Pointer>,
    constants: Vec<u64>,
    added_to: Vec<u64>,
    given_back: Vec<GivenBack>,
    swept: Vec<Swept>,
    /// Flows whose target may stand behind a `lock` prefix.
    over_lock: Vec<usize>,
    changing: Changing,
    inline: Inline,
    places: &'a Places,
}

impl<'a> Portion<'a> {
    fn of<'f>(image: &Image<'_>, places: &'a Places, fragments: impl Iterator<Item = &'f Fragment> + Clone) -> Self {
        let ranges: Vec<Range<u64>> = fragments.clone().map(|one| one.range.clone()).collect();
        let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        let mut portion = Self {
            flows: Vec::with_capacity(usize::try_from(bytes.min(PIECE) / BYTES_OF_FLOW).unwrap_or(0)),
            starts: AddressSet::over(&ranges),
            bases: Vec::new(),
            pointers: Vec::new(),
            constants: Vec::new(),
            added_to: Vec::new(),
            given_back: Vec::new(),
            swept: Vec::with_capacity(ranges.len()),
            over_lock: Vec::new(),
            changing: Changing::default(),
            inline: Inline::default(),
            places,
        };
        for fragment in fragments {
            portion.fragment(image, fragment);
        }
        portion
    }

    fn fragment(&mut self, image: &Image<'_>, fragment: &Fragment) {
        let first = self.flows.len();
        let mut seen = Traits { is_swept: true, ..fragment.traits };
        let Range { start, end } = fragment.range;
        let bytes = image.bytes_at(start, end - start).unwrap_or_default();
        let mut recent = Recent::of(bytes, start);
        let mut extent = Extent::new(fragment);
        let mut carried = Carried::at_start();
        let stretch = self.starts.stretch_of(start);
        let may_pass = fragment.has_known_end && self.places.are_far();
        let (mut decoded, mut instructions) = (0, 0);
        let mut place = 0;
        while place < bytes.len() {
            let address = start + place as u64;
            decoded += 1;
            if may_pass && let Some(length) = self.pass(&fragment.range, bytes, place, &mut carried) {
                recent.pass(address);
                self.starts.insert_into(stretch, address);
                instructions = decoded;
                place += length;
                continue;
            }
            place += recent.decode(address).len();
            let raw = raw_flow(recent.last());
            seen.begins_with_call |= address == start && matches!(raw, RawFlow::Call(_));
            let thunk = self.inline.flow(image, &fragment.range, &mut recent, raw);
            let flow = thunk.map_or(raw, |(flow, _)| flow);
            match extent.step(image, &mut recent, flow) {
                Step::Inside => {}
                Step::Between => continue,
                Step::Behind => break,
            }
            let instruction = recent.last();
            if fragment.has_known_end || extent.end() == instruction.next_ip() {
                instructions = decoded;
            }
            self.starts.insert_into(stretch, address);
            if lock::is_left_out(bytes, start, flow) {
                self.over_lock.push(self.flows.len());
            }
            if carried.step(instruction, flow) {
                match carried.call() {
                    Some((callee, behind)) => self.given_back.push(GivenBack { callee, behind, reader: address }),
                    None => seen.takes_more = true,
                }
            }
            if let RawFlow::Call(callee) = flow {
                carried = Carried::behind_call(callee, instruction.next_ip());
            }
            if self.places.protected.contains(&instruction.memory_displacement64()) {
                self.changing.note(image, instruction);
            }
            match thunk {
                None => self.record(image, &mut recent, flow, &mut seen),
                Some((flow, through)) => {
                    seen.has_thunk |= raw != RawFlow::Return;
                    self.flows.push(FlowRecord::new((address, instruction.len() as u8), flow, through));
                }
            }
        }
        let mut end = end;
        if !fragment.has_known_end {
            let has_nothing = extent.end() == start;
            seen.is_undecodable |= has_nothing;
            seen.is_empty = has_nothing && fragment.named == Named::No;
            end = extent.end().max(start + 1);
        }
        self.swept.push(Swept { end, traits: seen, flows: first..self.flows.len(), instructions });
    }

    /// Passes over the instruction at a place in the bytes of a range, if it tells of nothing but where it goes; answers its length.
    #[inline(always)]
    fn pass(&mut self, range: &Range<u64>, bytes: &[u8], place: usize, carried: &mut Carried) -> Option<usize> {
        let rest = bytes.get(place..)?;
        let address = range.start + place as u64;
        if let Some(quiet) = quiet(rest, self.places.least) {
            let may_compare = quiet.compares() && self.pointers.last().is_some_and(|last| Recent::reaches(address, last.at));
            return (!may_compare && carried.passes(|| quiet.flags())).then_some(quiet.length());
        }
        let direct = direct(rest, address)?;
        let (flow, length) = (direct.flow(), direct.length);
        let behind = address + u64::from(length);
        let flags = || if direct.turn == Turn::Branch { Taken::Unknown } else { Taken::None };
        if !self.inline.is_plain(range, flow, behind) || !carried.passes(flags) {
            return None;
        }
        if lock::is_left_out(bytes, range.start, flow) {
            self.over_lock.push(self.flows.len());
        }
        if let RawFlow::Call(callee) = flow {
            *carried = Carried::behind_call(callee, behind);
        }
        self.flows.push(FlowRecord::new((address, length), flow, Through::Nothing));
        Some(usize::from(length))
    }

    fn record(&mut self, image: &Image<'_>, recent: &mut Recent<'_>, flow: RawFlow, seen: &mut Traits) {
        match flow {
            RawFlow::Next => {
                seen.has_syscall |= enters_kernel(recent.last());
                return self.references(image, recent, seen);
            }
            RawFlow::Invalid => seen.is_undecodable = true,
            RawFlow::IndirectJump => {
                seen.has_indirect_jump = true;
                self.references(image, recent, seen);
            }
            _ => {}
        }
        let mut through = Through::Nothing;
        if matches!(flow, RawFlow::IndirectCall | RawFlow::IndirectJump) {
            through = self.through(image, recent);
            seen.calls_register |= matches!(through, Through::Pointer | Through::Unknown);
            seen.goes_through_below |= is_below_stack(recent.last());
        }
        let last = recent.last();
        self.flows.push(FlowRecord::new((last.ip(), last.len() as u8), flow, through));
    }

    /// What an indirect call or jump goes through; in the large model that may be the slot of a PLT entry, whose address is loaded, or
    /// its distance from the global offset table added to the table's address.
    fn through(&self, image: &Image<'_>, recent: &mut Recent<'_>) -> Through {
        let through = recent.through();
        if through != Through::Unknown {
            return through;
        }
        let global_table = self.places.slots.last().map(|range| range.start);
        let entry = recent.constant().or_else(|| Some(global_table?.wrapping_add(recent.distance()?)));
        entry.and_then(|entry| image.plt_at(entry)).map_or(through, |entry| Through::Slot(entry.slot))
    }

    fn references(&mut self, image: &Image<'_>, recent: &mut Recent<'_>, seen: &mut Traits) {
        let instruction = recent.last();
        let mnemonic = instruction.mnemonic();
        match mnemonic {
            Mnemonic::Cmp | Mnemonic::Bt => return self.forget_compared(recent),
            Mnemonic::Lea | Mnemonic::Mov => self.names(image, instruction, seen),
            _ => {}
        }
        if matches!(mnemonic, Mnemonic::Add | Mnemonic::Lea) && !image.kind().is_position_independent() {
            let added = added_address(instruction);
            self.added_to.extend(added.filter(|&address| image.text_at(address).is_some()));
            added.filter(|address| self.places.protected.contains(address)).into_iter().for_each(|address| self.changing.note_taken(address));
        }
        if instruction.memory_index() != Register::None {
            self.bases.extend(indexed_address(instruction).filter(|&address| image.segment_at(address).is_some()));
        }
    }

    /// Addresses that a `lea` or `mov` names.
    fn names(&mut self, image: &Image<'_>, instruction: &Instruction, seen: &mut Traits) {
        let address = match (instruction.mnemonic(), instruction.op1_kind()) {
            (Mnemonic::Mov, OpKind::Register) => return,
            (Mnemonic::Mov, OpKind::Memory) => return self.loads(image, instruction, seen),
            _ => constant_address(instruction),
        };
        let at = instruction.ip();
        if let Some(address) = address {
            let part = part(instruction);
            seen.loads_callee |= part.is_some();
            let address = part.map_or(address, |part| part.wrapping_add(self.places.origin));
            if image.is_code(address) {
                self.pointers.push(Pointer { at, target: address });
            } else {
                self.constants.extend(image.segment_at(address).map(|_| address));
                self.bases.extend((instruction.op1_kind() == OpKind::Memory || part.is_some()).then_some(address));
            }
        } else if let Some(address) = stored_address(instruction) {
            if image.is_code(address) {
                self.pointers.push(Pointer { at, target: address });
            } else {
                self.constants.extend(image.segment_at(address).map(|_| address));
            }
        }
    }

    /// The word that a `mov` loads, if it is one that the loader fills.
    fn loads(&mut self, image: &Image<'_>, instruction: &Instruction, seen: &mut Traits) {
        let Some(slot) = loaded_slot(instruction) else { return };
        let is_linkers = self.places.slots.iter().any(|range| range.contains(&slot));
        if is_linkers {
            self.pointers.push(Pointer { at: instruction.ip(), target: image.pointer_at(slot).unwrap_or(slot) });
        }
        if (is_linkers || self.places.protected.contains(&slot)) && !seen.loads_callee {
            seen.loads_callee = may_hold_callee(image, slot);
        }
    }

    /// An address that is loaded to be compared is not handed on: so compilers guess the target of a virtual call. Nor is a set of bits
    /// of which one is asked for, as some cases of a `switch` are, and that may be an address by chance.
    fn forget_compared(&mut self, recent: &mut Recent<'_>) {
        let Some(at) = self.pointers.last().map(|pointer| pointer.at).filter(|&at| Recent::reaches(recent.last().ip(), at)) else { return };
        let compare = *recent.last();
        let load = recent.at(at);
        let registers = [(compare.op0_kind(), compare.op0_register()), (compare.op1_kind(), compare.op1_register())];
        let loaded = registers.into_iter().filter(|&(kind, register)| kind == OpKind::Register && writes(&load, register.full_register()));
        if loaded.into_iter().any(|(_, register)| recent.definition(register).is_some_and(|last| last.ip() == at)) {
            self.pointers.pop();
        }
    }
}
