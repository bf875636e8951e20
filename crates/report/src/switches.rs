//! What was off in a run, when and why.

use serde::Serialize;
use tare_profile::{Process, Profile, Switch, Why};

use crate::layout::Glyphs;
use crate::number::{count, time_with_unit};

/// Switches that the text lists; the document has all.
const LISTED: usize = 3;

/// A switch, as the document has it.
#[derive(Serialize)]
pub(crate) struct SwitchDocument {
    process: u32,
    region: usize,
    off: bool,
    why: Option<&'static str>,
    at_s: f64,
    calls: Option<u64>,
}

/// All switches of all processes.
pub(crate) fn documents(profile: &Profile) -> Vec<SwitchDocument> {
    let of = |process: &Process, switch: &Switch| SwitchDocument {
        process: process.pid,
        region: switch.region.0,
        off: switch.off,
        why: switch.why.map(name),
        at_s: switch.at_s,
        calls: (switch.calls > 0).then_some(switch.calls),
    };
    profile.processes.iter().flat_map(|process| process.switches.iter().map(move |switch| of(process, switch))).collect()
}

fn name(why: Why) -> &'static str {
    match why {
        Why::Rule => "rule",
        Why::Request => "request",
        Why::Budget => "budget",
        Why::Refused => "refused",
    }
}

/// What was off, for people, that with most calls first; `None` where nothing was. `written` puts the name of a region and what is
/// said of it together.
pub(crate) fn sentence(profile: &Profile, glyphs: &Glyphs, written: impl Fn(&str, &str) -> String) -> Option<String> {
    let mut all: Vec<(&Process, &Switch)> =
        profile.processes.iter().flat_map(|process| process.switches.iter().map(move |switch| (process, switch))).collect();
    let unlisted: u64 = profile.processes.iter().map(|process| process.unlisted_switches).sum();
    if all.is_empty() {
        return None;
    }
    all.sort_by_key(|(_, switch)| std::cmp::Reverse(switch.calls));
    let several = profile.processes.len() > 1;
    let part = |&(process, switch): &(&Process, &Switch)| written(&profile.regions[switch.region.0].name, &said(process, switch, several, glyphs));
    let mut parts: Vec<String> = all.iter().take(LISTED).map(part).collect();
    let more = (all.len() - parts.len()) as u64 + unlisted;
    if more > 0 {
        parts.push(format!("and {} more (--format json)", count(more, glyphs)));
    }
    Some(format!("{}. Calls while off are not counted; their time is their callers'", parts.join(", ")))
}

/// What is said of a region that was switched.
fn said(process: &Process, switch: &Switch, several: bool, glyphs: &Glyphs) -> String {
    let way = if switch.off { "" } else { " on again" };
    let why = match switch.why {
        Some(Why::Rule) => format!(" by the throttle after {} calls", count(switch.calls, glyphs)),
        Some(Why::Request) => " on request".to_string(),
        Some(Why::Budget) => format!(" for the budget after {} calls", count(switch.calls, glyphs)),
        Some(Why::Refused) => ", since its probes cannot be written over here,".to_string(),
        None => String::new(),
    };
    let place = match process.rank {
        Some(rank) if several => format!(" on rank {rank}"),
        None if several => format!(" in process {}", process.pid),
        _ => String::new(),
    };
    format!("{way}{why}{place} at {}", time_with_unit(switch.at_s, glyphs))
}
