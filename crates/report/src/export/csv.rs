//! A row for each call path of each location, in full precision; RFC 4180, decimal points, times in seconds.

use std::fmt::Write;

use crate::run::Results;
use crate::view::kind_name;

const HEAD: &str = "process,host,rank,thread,node,parent,region,kind,image,file,line,calls,exclusive_measured_s,exclusive_s,exclusive_low_s,\
                    exclusive_high_s,inclusive_measured_s,inclusive_s,wait_measured_s,wait_s,mark\r\n";

pub(super) fn write(results: &Results<'_>) -> String {
    let mut text = String::from(HEAD);
    let profile = results.profile;
    for (location, figures) in profile.locations.iter().zip(&results.shown.locations) {
        let process = profile.process_of(location);
        let rank = process.rank.map_or_else(String::new, |rank| rank.to_string());
        for (index, (node, figures)) in location.nodes.iter().zip(&figures.nodes).enumerate() {
            let region = profile.region_of(node);
            let line = if region.line > 0 { region.line.to_string() } else { String::new() };
            let parent = node.parent.map_or_else(String::new, |parent| parent.to_string());
            let _ = write!(text, "{},{},{rank},{},{index},{parent},", process.pid, field(&process.host), location.thread);
            let _ = write!(
                text,
                "{},{},{},{},{line},{}",
                field(&region.name),
                kind_name(region.kind),
                field(&region.image),
                field(&region.file),
                node.calls()
            );
            let exclusive = &figures.exclusive;
            for seconds in [
                figures.measured_exclusive_s,
                exclusive.value,
                exclusive.low,
                exclusive.high,
                figures.measured_inclusive_s,
                figures.inclusive.value,
                figures.measured_wait_s,
                figures.wait_s,
            ] {
                if process.clock.is_known() && seconds.is_finite() {
                    let _ = write!(text, ",{seconds}");
                } else {
                    text.push(',');
                }
            }
            let _ = write!(text, ",{}\r\n", field(exclusive.mark.map_or("", tare_compensate::Mark::reason)));
        }
    }
    text
}

fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_string() }
}
