//! Which functions are never moved, and why.

use std::ops::Range;

use iced_x86::{Instruction, OpKind};
use tare_image::{Image, Relocation, RelocationKind};

use crate::addresses::constant_address;
use crate::decode::{ENDBR64, RawFlow, decoder, is_below_stack, is_padding, raw_flow};
use crate::fragments::{Fragment, Fragments, Named};
use crate::jumps::Jumps;
use crate::leads::Lead;
use crate::managed;
use crate::names::{START_UP, around_main, run_by_loader};
use crate::pointed::is_handed_on;
use crate::program::{Function, Refusal};
use crate::quick::{QuickMap, QuickSet};
use crate::record::FlowRecord;
use crate::stretch::Stretch;
use crate::subroutine::begins_subroutine;
use crate::sweep::{GivenBack, Pointer, Sweep};
use crate::unreached::Unreached;
use crate::{Flags, Unit, behind_start, owners, rows, within};

/// Bytes of the jump that an entry must take.
const JUMP: u64 = 5;
/// Bytes of the longest instruction.
const LONGEST: u64 = 15;
/// Instructions between the load of an address and the jump there.
const REACH_OF_LABEL: usize = 16;

pub(crate) fn refuse(
    image: &Image<'_>,
    fragments: &Fragments,
    sweep: &Sweep,
    units: &[Unit],
    (jumps, unreached): (&QuickMap<usize, Jumps>, &Unreached),
    shared: &[u64],
    functions: &mut [Function],
) {
    let judge = Judge {
        image,
        fragments,
        sweep,
        unreached,
        around_main: around_main(image),
        by_loader: run_by_loader(image).map(|one| one.1).collect(),
        delicate: delicate(image, fragments, shared),
        resolvers: image.ifunc_resolvers(),
        taking: taking(fragments, units),
        giving: giving(fragments, sweep),
        held: held_elsewhere(image, fragments, sweep, units, jumps),
        kept: kept_in_data(image, fragments, sweep),
        led_by_left: led_into_by_left(image, fragments, sweep, units, (jumps, unreached)),
        has_relocated_text: image.text().iter().any(|range| !image.relocations_in(range).is_empty()),
        language: managed::language(image),
        v8_builtins: managed::v8_builtins(image),
    };
    for (index, (unit, function)) in units.iter().zip(functions.iter_mut()).enumerate() {
        function.refusal = judge.refusal(index, unit, function, jumps.get(&index));
    }
    start_up_helpers(image, fragments, sweep, units, functions);
}

struct Judge<'a, 'data> {
    image: &'a Image<'data>,
    fragments: &'a Fragments,
    sweep: &'a Sweep,
    unreached: &'a Unreached,
    /// What the C library runs around `main`.
    around_main: Vec<u64>,
    /// What the loader runs first and last.
    by_loader: Vec<u64>,
    /// Where functions branch into others with more than the registers, sorted.
    delicate: Vec<u64>,
    /// Sorted.
    resolvers: Vec<u64>,
    /// Entries of functions that take more than registers, sorted.
    taking: Vec<u64>,
    /// Callees that give flags back, sorted.
    giving: Vec<u64>,
    /// Instructions behind the start of a fragment whose addresses other functions load or have in tables, sorted.
    held: Vec<u64>,
    /// Instructions behind the start of a fragment whose addresses stand in data, sorted.
    kept: Vec<u64>,
    /// Instructions to which code leads that was not found, sorted.
    led_by_left: Vec<u64>,
    /// Whether the loader writes into code.
    has_relocated_text: bool,
    /// Why no function of the image is moved.
    language: Option<Refusal>,
    /// Sorted.
    v8_builtins: Vec<u64>,
}

impl Judge<'_, '_> {
    /// The first reason that applies, the most telling ones first.
    fn refusal(&self, index: usize, unit: &Unit, function: &Function, jumps: Option<&Jumps>) -> Option<Refusal> {
        let own: Vec<&Fragment> = unit.fragments.iter().filter_map(|&one| self.fragments.list.get(one)).collect();
        let has = |test: &dyn Fn(&Fragment) -> bool| own.iter().any(|one| test(one));
        let fdes = self.image.fdes();
        let is_special = |one: &Fragment| one.fde.and_then(|fde| fdes.get(fde)).is_some_and(|fde| fde.is_special);
        let is_torn = || unit.fragments.iter().any(|one| self.sweep.leads.torn.contains(one));
        let by_nature: [(Refusal, &dyn Fn() -> bool); 2] = [
            (Refusal::StartUp, &|| {
                self.around_main.contains(&function.entry) || self.by_loader.contains(&function.entry) || is_start_up(self.image, function)
            }),
            (Refusal::IfuncResolver, &|| self.resolvers.binary_search(&function.entry).is_ok()),
        ];
        let others: [(Refusal, &dyn Fn() -> bool); 13] = [
            (Refusal::V8Builtin, &|| self.v8_builtins.binary_search(&function.entry).is_ok()),
            (Refusal::Undecodable, &|| has(&|one| one.traits.is_undecodable)),
            (Refusal::Relocated, &|| self.has_relocated_text && has(&|one| !self.image.relocations_in(&one.range).is_empty())),
            (Refusal::SpecialUnwinding, &|| has(&is_special) || jumps.is_some_and(Jumps::has_unwinding)),
            (Refusal::OverlappingCode, &|| has(&|one| one.traits.overlaps) || is_torn()),
            (Refusal::SharedCode, &|| unit.fragments.iter().any(|&one| self.hands_over(one))),
            (Refusal::MoreThanRegisters, &|| {
                has(&|one| one.traits.goes_through_below) || self.carries(function) || unit.fragments.iter().any(|&one| self.leads_to_taking(one))
            }),
            (Refusal::CallIntoBody, &|| {
                has(&|one| one.traits.has_thunk) || has(&|one| one.traits.is_called_inside) && self.calls_itself_inside(&own)
            }),
            (Refusal::UnknownJump, &|| jumps.is_some_and(Jumps::has_unknown)),
            (Refusal::HeldElsewhere, &|| {
                has(&|one| self.is_held(one, function) || self.is_kept(one, function, jumps)) || self.is_led_into(&own, function)
            }),
            (Refusal::CodePieces, &|| jumps.is_some_and(Jumps::has_pieces)),
            (Refusal::Unreached, &|| self.unreached.inside.binary_search(&index).is_ok()),
            (Refusal::ShortEntry, &|| own.first().is_some_and(|one| is_short(self.image, self.fragments, one))),
        ];
        let first = |reasons: &[(Refusal, &dyn Fn() -> bool)]| reasons.iter().find(|(_, applies)| applies()).map(|(reason, _)| *reason);
        first(&by_nature).or(self.language).or_else(|| first(&others))
    }

    /// Whether more than the registers comes to a function, or goes back from it.
    fn carries(&self, function: &Function) -> bool {
        let is_in = |list: &[u64]| std::iter::once(&function.entry).chain(&function.other_entries).any(|entry| list.binary_search(entry).is_ok());
        is_in(&self.taking) || !function.never_returns && is_in(&self.giving)
    }

    /// Whether a function calls what is no subroutine in its own middle: a subroutine there is an entry like others.
    fn calls_itself_inside(&self, own: &[&Fragment]) -> bool {
        let holder = |target: u64| own.iter().find(|one| one.range.contains(&target) && one.range.start != target);
        let is_subroutine = |target: u64, end: u64| self.sweep.starts.contains(target) && begins_subroutine(self.image, &(target..end));
        let callees = own.iter().flat_map(|one| self.sweep.flows_of(one)).filter_map(FlowRecord::callee);
        callees.into_iter().any(|target| holder(target).is_some_and(|holder| !is_subroutine(target, holder.range.end)))
    }

    /// Whether another function has the address of an instruction in a fragment, other than of an entry.
    fn is_held(&self, fragment: &Fragment, function: &Function) -> bool {
        behind_start(&self.held, &fragment.range).iter().any(|label| !function.other_entries.contains(label))
    }

    /// Whether code that was not found leads into a function, other than to its entry: nothing can lead it to moved code.
    fn is_led_into(&self, own: &[&Fragment], function: &Function) -> bool {
        own.iter().flat_map(|one| within(&self.led_by_left, &one.range)).any(|&target| target != function.entry)
    }

    /// Whether the address of an instruction in a fragment stands in data, other than of an entry or a case of its own jumps.
    fn is_kept(&self, fragment: &Fragment, function: &Function, jumps: Option<&Jumps>) -> bool {
        let mut others = behind_start(&self.kept, &fragment.range).iter().filter(|label| !function.other_entries.contains(label)).peekable();
        if others.peek().is_none() {
            return false;
        }
        let mut cases: Vec<u64> = jumps.iter().flat_map(|jumps| &jumps.tables).flat_map(|table| &table.targets).copied().collect();
        cases.sort_unstable();
        others.any(|label| cases.binary_search(label).is_err())
    }

    /// Whether more than the registers goes with a call or a jump out of a fragment.
    fn leads_to_taking(&self, fragment: usize) -> bool {
        let start = |lead: &Lead| self.fragments.list.get(lead.to_start()?).filter(|one| one.traits.takes_more).map(|one| one.range.start);
        let is_taken = |lead: &Lead| start(lead).is_some_and(|target| self.taking.binary_search(&target).is_ok());
        !self.taking.is_empty() && self.sweep.leads.of(fragment).iter().any(is_taken)
    }

    /// Whether more than the registers comes with a branch into a fragment from another function, or out of it.
    fn hands_over(&self, fragment: usize) -> bool {
        let target = |lead: &Lead| lead.to().and_then(|_| lead.record(self.sweep)?.branch_target());
        let is_delicate = |lead: &Lead| target(lead).is_some_and(|target| self.delicate.binary_search(&target).is_ok());
        let leads_out = || self.sweep.leads.of(fragment).iter().any(is_delicate);
        let is_led_into = |one: &Fragment| !within(&self.delicate, &one.range).is_empty();
        !self.delicate.is_empty() && (self.fragments.list.get(fragment).is_some_and(is_led_into) || leads_out())
    }
}

/// Of the places at which functions branch into others, those where flags are read, or where anything may lie below the
/// stack pointer, which a probe on the way would not keep; and those where the stack is not as at an entry.
fn delicate(image: &Image<'_>, fragments: &Fragments, shared: &[u64]) -> Vec<u64> {
    let mut flags = Flags::new(image);
    let has_frame = |target: u64| {
        let Some(index) = fragments.at(target) else { return true };
        let depth = || {
            let stretch = Stretch::decode(image, &[fragments.list.get(index)?.range.clone()], |_| true);
            Some(stretch.is_at_entry_depth(stretch.index_of(target)?))
        };
        let is_entry = rows(image, fragments, index).map_or_else(depth, |rows| Some(rows.at(target)?.is_entry()));
        !is_entry.unwrap_or(false)
    };
    let uses_red_zone = |target: u64| {
        let fragment = fragments.at(target).and_then(|index| fragments.list.get(index));
        fragment.is_none_or(|one| match one.range.start == target {
            true => one.traits.takes_more,
            false => decoder(image, &one.range).into_iter().any(|one| is_below_stack(&one)),
        })
    };
    shared.iter().copied().filter(|&target| !flags.are_dead_at(target) || uses_red_zone(target) || has_frame(target)).collect()
}

/// Entries of functions that read flags, or what lies below the stack pointer, before they write them; sorted.
fn taking(fragments: &Fragments, units: &[Unit]) -> Vec<u64> {
    let firsts = units.iter().filter_map(|unit| fragments.list.get(*unit.fragments.first()?));
    let mut taking: Vec<u64> = firsts.filter(|one| one.traits.takes_more).map(|one| one.range.start).collect();
    taking.sort_unstable();
    taking
}

/// What is called where flags are read behind the call, and no branch leads there with flags of its own; sorted.
fn giving(fragments: &Fragments, sweep: &Sweep) -> Vec<u64> {
    let is_branched_to = |one: &&GivenBack| {
        let fragment = fragments.at(one.behind).and_then(|index| fragments.list.get(index));
        fragment.is_none_or(|fragment| {
            let leads_between = |record: &FlowRecord| record.branch_target().is_some_and(|target| (one.behind..=one.reader).contains(&target));
            sweep.flows_of(fragment).iter().any(leads_between)
        })
    };
    let mut giving: Vec<u64> = sweep.given_back.iter().filter(|one| !is_branched_to(one)).map(|one| one.callee).collect();
    giving.sort_unstable();
    giving.dedup();
    giving
}

/// Instructions behind the start of a fragment whose addresses are loaded by other functions: so the nested functions of GNU C
/// leave the ones around them by `goto`; or that tables of other functions lead to. Sorted.
fn held_elsewhere(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep, units: &[Unit], jumps: &QuickMap<usize, Jumps>) -> Vec<u64> {
    let mut held = led_into(fragments, sweep, units, jumps);
    let loads: Vec<&Pointer> = sweep.pointers.iter().filter(|pointer| sweep.labels.binary_search(&pointer.target).is_ok()).collect();
    if !loads.is_empty() {
        let owners = owners(fragments, units.iter().map(|unit| unit.fragments.as_slice()));
        let owner = |address: u64| owners.get(fragments.at(address)?);
        let leads_away = |load: &Pointer| owner(load.at) != owner(load.target) && is_label(image, load);
        held.extend(loads.into_iter().filter(|load| leads_away(load)).map(|load| load.target));
    }
    held.sort_unstable();
    held.dedup();
    held
}

/// Instructions behind the start of a fragment that tables of other functions lead to.
fn led_into(fragments: &Fragments, sweep: &Sweep, units: &[Unit], jumps: &QuickMap<usize, Jumps>) -> Vec<u64> {
    let leads_away = |unit: &Unit, target: u64| {
        let to = fragments.at(target).filter(|to| !unit.fragments.contains(to));
        let is_inside = to.and_then(|to| fragments.list.get(to)).is_some_and(|one| one.range.start != target);
        is_inside && sweep.starts.contains(target)
    };
    let own = jumps.iter().filter_map(|(&index, jumps)| Some((units.get(index)?, jumps)));
    own.flat_map(|(unit, jumps)| jumps.targets().filter(|&target| leads_away(unit, target))).collect()
}

/// Instructions to which bytes lead that are in no function: cases, perhaps, of a jump in front of them whose targets are
/// not known, where nothing says how far its function goes; what code hands the address of on, or jumps to; and what was taken off functions. Bytes
/// elsewhere that are in none are constants, which lead anywhere. Sorted.
fn led_into_by_left(
    image: &Image<'_>,
    fragments: &Fragments,
    sweep: &Sweep,
    units: &[Unit],
    (jumps, unreached): (&QuickMap<usize, Jumps>, &Unreached),
) -> Vec<u64> {
    let unknown = jumps.iter().filter(|(_, jumps)| jumps.has_unknown()).filter_map(|(&index, _)| units.get(index));
    let up_to_next = |start: u64| fragments.gap(image, start).map(|gap| start..gap.end);
    let mut left: Vec<Range<u64>> = unreached.taken_off.iter().filter_map(|range| up_to_next(range.start)).collect();
    for &fragment in unknown.flat_map(|unit| &unit.fragments) {
        let list = fragments.list.get(fragment..).unwrap_or_default();
        let open = list.iter().take_while(|one| !one.has_known_end).map(|one| one.range.end);
        let next = list.iter().skip(1).map(|one| one.range.start).map(Some).chain([None]);
        for (start, next) in open.zip(next) {
            let Some(text) = image.text_at(start) else { continue };
            left.push(start..next.unwrap_or(text.end).min(text.end));
        }
    }
    let is_left = |pointer: &&Pointer| image.text_at(pointer.target).is_some() && fragments.at(pointer.target).is_none();
    for label in sweep.pointers.iter().filter(is_left) {
        let is_code = is_handed_on(image, label) || at(image, label.at).is_some_and(|load| is_jumped_to(image, &load));
        left.extend(up_to_next(label.target).filter(|_| is_code));
    }
    let target = |one: &Instruction| match raw_flow(one) {
        RawFlow::Jump(target) | RawFlow::Branch(target) | RawFlow::Call(target) => Some(target),
        _ => constant_address(one),
    };
    // Many may lead into one gap. What is decoded from one place on is soon the same as from another: no instruction is looked at twice.
    let mut seen: QuickSet<u64> = QuickSet::default();
    let mut led = Vec::new();
    for range in left {
        let new = decoder(image, &range).into_iter().take_while(|one| seen.insert(one.ip()));
        led.extend(new.filter_map(|one| target(&one)).filter(|&target| sweep.starts.contains(target)));
    }
    led.sort_unstable();
    led.dedup();
    led
}

/// Instructions behind the start of a fragment whose addresses are kept in data: where the loader writes them, and, in an image
/// that is not moved, words where such an instruction stands behind an end and no branch of its own function leads. Functions without a
/// name or an unwind entry that were taken into others are such. Other words are numbers that look like it, or labels that their own
/// function jumps to. Sorted.
fn kept_in_data(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep) -> Vec<u64> {
    let written = image.relocations().iter().filter(|one| !sweep.labels.is_empty() && one.kind != RelocationKind::Irelative);
    let is_label = |target: &u64| sweep.labels.binary_search(target).is_ok();
    let may_be_apart = |label: u64| begins_behind_end(image, fragments, sweep, label) && !is_branched_to(fragments, sweep, label);
    let listed = sweep.listed.iter().copied().filter(|&label| may_be_apart(label));
    let mut kept: Vec<u64> = written.filter_map(Relocation::link_address).filter(is_label).chain(listed).collect();
    kept.sort_unstable();
    kept.dedup();
    kept
}

/// Whether a branch of the same fragment leads to an instruction, whose extent the unwind table tells.
fn is_branched_to(fragments: &Fragments, sweep: &Sweep, label: u64) -> bool {
    let Some(fragment) = fragments.at(label).and_then(|index| fragments.list.get(index)) else { return false };
    fragment.fde.is_some() && sweep.flows_of(fragment).iter().any(|record| record.branch_target() == Some(label))
}

/// Whether control cannot fall into an instruction from what stands in front of it, padding left out.
fn begins_behind_end(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep, label: u64) -> bool {
    let records = fragments.at(label).and_then(|index| fragments.list.get(index)).map_or(&[][..], |fragment| sweep.flows_of(fragment));
    let before = records.partition_point(|record| record.address < label).checked_sub(1).and_then(|last| records.get(last));
    let ends = |record: &FlowRecord| matches!(record.flow(), RawFlow::Jump(_) | RawFlow::IndirectJump | RawFlow::Return | RawFlow::Stop);
    before.is_some_and(|record| ends(record) && decoder(image, &(record.end()..label)).into_iter().all(|one| is_padding(&one)))
}

/// The instruction at an address.
fn at(image: &Image<'_>, address: u64) -> Option<Instruction> {
    let end = image.text_at(address)?.end.min(address + LONGEST);
    decoder(image, &(address..end)).into_iter().next()
}

/// Whether the address of code that an instruction loads is one, and no number that looks like it: it is relative to the
/// instruction, an `endbr64` stands there, or a jump goes there a few instructions on.
fn is_label(image: &Image<'_>, pointer: &Pointer) -> bool {
    let Some(load) = at(image, pointer.at) else { return false };
    if load.is_ip_rel_memory_operand() || image.kind().is_position_independent() {
        return load.is_ip_rel_memory_operand();
    }
    // Behind the start of a function it stands only where control comes through a pointer.
    image.bytes_at(pointer.target, ENDBR64.len() as u64) == Some(&ENDBR64) || is_jumped_to(image, &load)
}

/// Whether a jump goes where an instruction has the address of, a few instructions on.
fn is_jumped_to(image: &Image<'_>, load: &Instruction) -> bool {
    let mut next = load.next_ip();
    for _ in 0..REACH_OF_LABEL {
        let Some(one) = at(image, next) else { return false };
        next = match raw_flow(&one) {
            RawFlow::Jump(target) => target,
            RawFlow::IndirectJump => {
                let is_register = |instruction: &Instruction| instruction.op0_kind() == OpKind::Register;
                return is_register(&one) && is_register(load) && one.op0_register() == load.op0_register().full_register();
            }
            RawFlow::Next | RawFlow::Branch(_) => one.next_ip(),
            _ => return false,
        };
    }
    false
}

fn is_start_up(image: &Image<'_>, function: &Function) -> bool {
    let by_name = || std::iter::once(&function.name).chain(&function.aliases).any(|name| START_UP.contains(&name.as_str()));
    (image.entry() != 0 && function.contains(image.entry())) || by_name()
}

/// Whether a jump does not fit between the entry (behind an `endbr64`) and the next code; padding may be used.
fn is_short(image: &Image<'_>, fragments: &Fragments, first: &Fragment) -> bool {
    let start = first.range.start;
    if start + JUMP + ENDBR64.len() as u64 <= first.range.end {
        return false;
    }
    let has_marker = image.bytes_at(start, 4) == Some(&ENDBR64);
    let needed = start + JUMP + if has_marker { ENDBR64.len() as u64 } else { 0 };
    if needed <= first.range.end {
        return false;
    }
    let behind = fragments.list.partition_point(|one| one.range.start <= start);
    let next = fragments.list.get(behind).map_or(u64::MAX, |one| one.range.start);
    let text_end = image.text_at(start).map_or(start, |text| text.end);
    let padding = decoder(image, &(first.range.end..next.min(text_end))).into_iter();
    let padding = padding.take_while(is_padding).map(|one: Instruction| one.len() as u64).sum::<u64>();
    first.range.end + padding < needed
}

/// Start-up code of a stripped program: what the init and fini arrays name first, where it has no unwind entry, and
/// what such code alone leads to (`frame_dummy`, `__do_global_dtors_aux`, `register_tm_clones`, …).
fn start_up_helpers(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep, units: &[Unit], functions: &mut [Function]) {
    let roots: Vec<u64> = [image.init_array(), image.fini_array()].iter().filter_map(|array| array.first().copied()).collect();
    let helpers: Vec<usize> = units.iter().filter_map(|unit| nameless_without_entry(fragments, unit)).collect();
    let callers = callers_of(sweep, &helpers);
    let refused = units.iter().zip(&*functions).filter(|(_, function)| function.refusal == Some(Refusal::StartUp));
    let mut start_up: QuickSet<usize> = refused.flat_map(|(unit, _)| unit.fragments.iter().copied()).collect();
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for &one in &helpers {
            let start = fragments.list.get(one).map(|one| one.range.start);
            let by_start_up = match callers.get(&one) {
                Some(callers) => callers.iter().all(|caller| start_up.contains(caller)),
                None => start.is_some_and(|start| roots.contains(&start)),
            };
            has_changed |= by_start_up && start_up.insert(one);
        }
    }
    for (unit, function) in units.iter().zip(functions) {
        if nameless_without_entry(fragments, unit).is_some_and(|one| start_up.contains(&one)) {
            function.refusal = Some(Refusal::StartUp);
        }
    }
}

/// The one fragment of a function that neither symbols nor unwind entries know.
fn nameless_without_entry(fragments: &Fragments, unit: &Unit) -> Option<usize> {
    let [single] = unit.fragments.as_slice() else { return None };
    let fragment = fragments.list.get(*single)?;
    (fragment.fde.is_none() && fragment.named == Named::No).then_some(*single)
}

/// Which fragments lead to the starts of some.
fn callers_of(sweep: &Sweep, wanted: &[usize]) -> QuickMap<usize, Vec<usize>> {
    let wanted: QuickSet<usize> = wanted.iter().copied().collect();
    let mut callers: QuickMap<usize, Vec<usize>> = QuickMap::default();
    for (from, lead) in sweep.leads.iter().filter(|_| !wanted.is_empty()) {
        if let Some(to) = lead.to_start().filter(|to| *to != from && wanted.contains(to)) {
            callers.entry(to).or_default().push(from);
        }
    }
    callers
}
