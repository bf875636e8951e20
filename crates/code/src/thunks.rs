//! Jumps and calls through thunks (`-mindirect-branch`, `-mfunction-return`, retpolines): code that calls over a loop, and
//! overwrites the return address by a register, or drops it.
//!
//! A thunk may be code of its own, or stand in the function (`thunk-inline`). Either way the call in it is a jump, as nothing
//! comes back to it. The return behind an overwritten address is an indirect jump; behind one that is dropped it is a return,
//! or, where the address to go to was pushed right in front of the thunk, an indirect jump as well. A call of all that which stands
//! right behind it is an indirect call. Jumps through thunks are tail calls unless the stack is not as at an entry, or the
//! function keeps addresses of its own instructions or reads a table that leads into it; then where they go is not known.
//! A return to what was just pushed (`push label; ret`) is an unknown jump.

use std::ops::Range;

use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use tare_image::Image;

use crate::addresses::slot;
use crate::decode::{LONGEST, RawFlow, decoder, raw_flow};
use crate::fragments::{Fragment, Fragments};
use crate::jumps::{JumpKind, Jumps};
use crate::leads::{Kind, Lead};
use crate::quick::QuickMap;
use crate::sweep::Sweep;
use crate::tables::Resolver;
use crate::through::{Recent, Through};
use crate::{Unit, rows};

/// How far behind its start a thunk overwrites the return address.
const MOST: u64 = 64;

/// What a thunk does with the return address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Overwrites,
    Drops,
}

/// The code of a thunk behind its call.
struct Thunk {
    /// What is called.
    target: u64,
    ending: Ending,
    /// Its return.
    end: Instruction,
}

/// Thunks as they stand in code, with what their instructions do.
#[derive(Default)]
pub(crate) struct Inline {
    known: Vec<Known>,
    /// What the thunk that was met last leads on by.
    awaited: Option<Known>,
}

/// An instruction that does something else than it says.
struct Known {
    at: u64,
    flow: RawFlow,
    through: Through,
    /// The call at the start of the thunk, or the jump to it; the return itself where there is no thunk.
    start: u64,
}

impl Inline {
    /// What an instruction in a range of code does to the flow of control, and what it goes through, if that is not what it says;
    /// to be asked in the order of addresses.
    #[inline]
    pub(crate) fn flow(&mut self, image: &Image<'_>, range: &Range<u64>, recent: &mut Recent<'_>, raw: RawFlow) -> Option<(RawFlow, Through)> {
        let (start, behind) = (recent.last().ip(), recent.last().next_ip());
        match raw {
            RawFlow::Call(target) if target.wrapping_sub(behind) <= MOST && range.contains(&target) => self.enter(image, range, recent)?,
            RawFlow::Jump(target) if !range.contains(&target) => self.leave(image, range, recent, target),
            RawFlow::Jump(_) | RawFlow::Call(_) | RawFlow::Return => {}
            _ => return None,
        }
        if self.awaited.as_ref().is_some_and(|awaited| awaited.at == start) {
            self.known.extend(self.awaited.take());
        } else if raw == RawFlow::Return
            && let Some(pushed) = recent.pushed_to_return()
        {
            let through = slot(&pushed).map_or(Through::Unknown, Through::Slot);
            self.known.push(Known { at: start, flow: RawFlow::IndirectJump, through, start });
        }
        self.known.last().filter(|last| last.at == start).map(|last| (last.flow, last.through))
    }

    /// Whether a direct call, jump or branch does what it says; what does not is to be asked of with all that stands in front of it.
    #[inline]
    pub(crate) fn is_plain(&self, range: &Range<u64>, flow: RawFlow, behind: u64) -> bool {
        let is_over = |target: u64| target.wrapping_sub(behind) <= MOST && range.contains(&target);
        self.awaited.is_none()
            && match flow {
                RawFlow::Call(target) => !is_over(target),
                RawFlow::Jump(target) => range.contains(&target),
                _ => true,
            }
    }

    /// A call over a loop.
    #[cold]
    fn enter(&mut self, image: &Image<'_>, range: &Range<u64>, recent: &mut Recent<'_>) -> Option<()> {
        let start = recent.last().ip();
        let thunk = thunk_at(image, start)?;
        let pushed = recent.pushed().filter(|_| thunk.ending == Ending::Drops);
        if thunk.ending == Ending::Overwrites || pushed.is_some() {
            self.awaited = Some(leading_on(image, range, (&thunk.end, start), pushed.as_ref()));
        }
        self.known.push(Known { at: start, flow: RawFlow::Jump(thunk.target), through: Through::Nothing, start });
        Some(())
    }

    /// A jump to what may be a thunk that leads to the address that was pushed in front of the jump.
    fn leave(&mut self, image: &Image<'_>, range: &Range<u64>, recent: &mut Recent<'_>, target: u64) {
        let jump = *recent.last();
        let pushed = recent.pushed();
        if pushed.is_some() && thunk_at(image, target).is_some_and(|thunk| thunk.ending == Ending::Drops) {
            self.awaited = Some(leading_on(image, range, (&jump, jump.ip()), pushed.as_ref()));
        }
    }

    pub(crate) fn extend(&mut self, more: Self) {
        self.known.extend(more.known);
    }

    pub(crate) fn sort(&mut self) {
        self.known.sort_unstable_by_key(|one| one.at);
        self.known.dedup_by_key(|one| one.at);
    }

    /// What an instruction does that by itself does `raw`, once all are known.
    pub(crate) fn understood(&self, address: u64, raw: RawFlow) -> RawFlow {
        self.at(address).map_or(raw, |known| known.flow)
    }

    /// Whether it is a call instruction from which control goes on as from a jump.
    pub(crate) fn is_jumping_call(&self, address: u64) -> bool {
        self.at(address).is_some_and(|known| matches!(known.flow, RawFlow::Jump(_)))
    }

    fn at(&self, address: u64) -> Option<&Known> {
        self.known.binary_search_by_key(&address, |known| known.at).ok().and_then(|place| self.known.get(place))
    }

    /// The indirect jumps in a range: with where their thunks start.
    fn jumps_in<'a>(&'a self, range: &'a Range<u64>) -> impl Iterator<Item = (u64, u64)> + 'a {
        let first = self.known.partition_point(|known| known.at < range.start);
        let own = self.known.get(first..).unwrap_or_default().iter().take_while(|known| known.at < range.end);
        own.filter(|known| known.flow == RawFlow::IndirectJump).map(|known| (known.at, known.start))
    }
}

/// The instruction that leads on to another address: the last one of a thunk that starts at `start`, or the call right behind
/// it of what begins there or with the push in front.
fn leading_on(image: &Image<'_>, range: &Range<u64>, (end, start): (&Instruction, u64), pushed: Option<&Instruction>) -> Known {
    let through = pushed.and_then(slot).map_or(Through::Unknown, Through::Slot);
    let first = pushed.map_or(start, Instruction::ip);
    // Behind a return that speculation must not run over stands a trap.
    let next = decoder(image, &(end.next_ip()..range.end)).into_iter().find(|one| one.mnemonic() != Mnemonic::Int3);
    let call = next.filter(|one| first != range.start && raw_flow(one) == RawFlow::Call(first));
    let (at, flow) = call.map_or((end.ip(), RawFlow::IndirectJump), |call| (call.ip(), RawFlow::IndirectCall));
    Known { at, flow, through, start }
}

/// A jump through a thunk.
struct Jump {
    fragment: usize,
    address: u64,
    /// Where the stack is to be as at an entry for a tail call.
    from: u64,
}

/// Says of jumps through thunks whether they may stay in their function, and so are unknown, or are tail calls.
pub(crate) fn mark(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep, units: &[Unit], jumps: &mut QuickMap<usize, Jumps>) {
    let resolver = Resolver::new(image, sweep);
    let mut known: QuickMap<u64, bool> = QuickMap::default();
    for (index, unit) in units.iter().enumerate() {
        let own = || unit.fragments.iter().filter_map(|&one| Some((one, fragments.list.get(one)?)));
        let mut through: Vec<Jump> = Vec::new();
        for (one, fragment) in own() {
            let begins_with_call = |to: usize| fragments.list.get(to).is_some_and(|one| one.traits.begins_with_call);
            // In the middle of a fragment the sweep has met thunks.
            let may_be_thunk = |lead: &Lead| lead.to_start().map_or(lead.to().is_none() || !sweep.inline.known.is_empty(), begins_with_call);
            let jumps = sweep.leads.of(one).iter().filter(|lead| lead.kind == Kind::Jump && may_be_thunk(lead));
            let outward = jumps.filter_map(|lead| lead.record(sweep)).filter_map(|record| Some((record.address, record.branch_target()?)));
            let leads_on = |target| thunk_at(image, target).is_some_and(|thunk| thunk.ending == Ending::Overwrites);
            let thunked = outward.filter(|&(_, target)| *known.entry(target).or_insert_with(|| leads_on(target)));
            through.extend(thunked.map(|(address, _)| Jump { fragment: one, address, from: address }));
            through.extend(sweep.inline.jumps_in(&fragment.range).map(|(address, from)| Jump { fragment: one, address, from }));
        }
        if through.is_empty() {
            continue;
        }
        let ranges: Vec<_> = own().map(|(_, one)| one.range.clone()).collect();
        let may_stay = resolver.has_labels(&ranges);
        let kinds = through.into_iter().map(|jump| {
            let is_entry = || rows(image, fragments, jump.fragment).is_none_or(|rows| rows.at(jump.from).is_some_and(tare_image::Cfa::is_entry));
            (jump.address, if may_stay || is_return(image, &jump) || !is_entry() { JumpKind::Unknown } else { JumpKind::TailCall })
        });
        jumps.entry(index).or_default().kinds.extend(kinds);
    }
}

/// Whether it is a return without a thunk, to what was pushed.
fn is_return(image: &Image<'_>, jump: &Jump) -> bool {
    let range = jump.address..jump.address.saturating_add(LONGEST);
    jump.from == jump.address && decoder(image, &range).into_iter().next().is_some_and(|one| raw_flow(&one) == RawFlow::Return)
}

/// Whether a fragment calls over a loop, and overwrites or drops the return address.
pub(crate) fn is_thunk(image: &Image<'_>, fragment: &Fragment) -> bool {
    fragment.traits.begins_with_call && thunk_at(image, fragment.range.start).is_some()
}

fn thunk_at(image: &Image<'_>, start: u64) -> Option<Thunk> {
    let text = image.text_at(start)?;
    let range = start..text.end.min(start.saturating_add(MOST));
    if !begins_with_call(image.bytes_at(start, LONGEST.min(text.end - start))?) {
        return None;
    }
    let first = decoder(image, &range).into_iter().next()?;
    let RawFlow::Call(target) = raw_flow(&first) else { return None };
    if !range.contains(&target) || target <= start {
        return None;
    }
    let mut behind = decoder(image, &(target..text.end.min(range.end + MOST))).into_iter();
    let ending = ending(&behind.next()?)?;
    let end = behind.next().filter(|one| raw_flow(one) == RawFlow::Return)?;
    Some(Thunk { target, ending, end })
}

/// Whether the first instruction may be a direct call, by its operation code behind prefixes.
fn begins_with_call(bytes: &[u8]) -> bool {
    let is_prefix = |byte: u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
    bytes.iter().find(|byte| !is_prefix(**byte)) == Some(&0xe8)
}

/// What an instruction does with a return address on top of the stack.
fn ending(one: &Instruction) -> Option<Ending> {
    if one.memory_base() != Register::RSP || one.memory_index() != Register::None {
        return None;
    }
    let stores = one.mnemonic() == Mnemonic::Mov && one.op0_kind() == OpKind::Memory && one.op1_register().is_gpr64();
    let drops = one.mnemonic() == Mnemonic::Lea && one.op0_register() == Register::RSP;
    match one.memory_displacement64() {
        0 if stores => Some(Ending::Overwrites),
        8 if drops => Some(Ending::Drops),
        _ => None,
    }
}
