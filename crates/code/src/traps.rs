//! Code behind traps: where a program catches the signal of a `ud2`, `hlt` or `int3`, it may go on behind it.
//!
//! Where an unwind entry or a symbol names a function's end, what stands there is the function's. Where nothing does, the function would end
//! with the trap, and its copy would run into what follows. So it goes on where code follows at once that nobody else is known to have;
//! padding behind a trap, or a known start, ends it.

use tare_image::Image;

use crate::decode::{RawFlow, decoder, is_padding, raw_flow};
use crate::fragments::{Fragment, Fragments};
use crate::pointed::{ALIGNMENT, is_plausible};
use crate::record::FlowRecord;
use crate::sweep::Sweep;

/// Where those fragments start that end with a trap though code of nobody else follows, sorted.
pub(crate) fn passed(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep) -> Vec<u64> {
    let open = fragments.list.iter().filter(|one| !one.has_known_end && !one.traits.goes_on_behind_traps);
    let stopped =
        open.filter(|one| behind_trap(image, one, sweep).is_some_and(|behind| fragments.at(behind).is_none() && goes_on(image, fragments, behind)));
    stopped.map(|one| one.range.start).collect()
}

/// Behind the trap that ends a fragment. `int3` fills space as well: at the end of the line of a function that ends with a call.
fn behind_trap(image: &Image<'_>, fragment: &Fragment, sweep: &Sweep) -> Option<u64> {
    let (last, before) =
        sweep.flows_of(fragment).split_last().filter(|(last, _)| last.flow() == RawFlow::Stop && last.end() >= fragment.range.end)?;
    let fills = decoder(image, &(last.address..last.end())).into_iter().all(|one| is_padding(&one));
    let follows_call = || before.last().is_some_and(|record: &FlowRecord| is_call(record) && record.end() == last.address);
    (!fills || !last.end().is_multiple_of(ALIGNMENT) || !follows_call()).then_some(last.end())
}

fn is_call(record: &FlowRecord) -> bool {
    matches!(record.flow(), RawFlow::Call(_) | RawFlow::IndirectCall)
}

/// Whether code stands at a place of which nothing is known, and comes to an end in front of what is.
fn goes_on(image: &Image<'_>, fragments: &Fragments, start: u64) -> bool {
    let Some(gap) = fragments.gap(image, start) else { return false };
    let mut code = decoder(image, &(start..gap.end)).into_iter().peekable();
    let is_filled = code.peek().is_none_or(is_padding);
    let last = code.map(|one| (raw_flow(&one), is_plausible(image, &one))).find(|&(flow, is_plausible)| {
        !is_plausible || matches!(flow, RawFlow::Jump(_) | RawFlow::IndirectJump | RawFlow::Return | RawFlow::Stop | RawFlow::Invalid)
    });
    !is_filled && last.is_some_and(|(flow, is_plausible)| is_plausible && flow != RawFlow::Invalid)
}
