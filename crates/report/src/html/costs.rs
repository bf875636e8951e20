//! How far the cost of a pair of probes differs from call path to call path: a histogram of each of its parts.

use std::fmt::Write;

use tare_compensate::PairCost;

use super::markup::escape;
use super::parts::{GLYPHS, Parts};
use crate::number::{Column, count, share};
use crate::view::overhead_in_place;

/// Bars of a histogram.
const BINS: usize = 40;
/// A bar as it is drawn, and the greatest height.
const WIDTH: f64 = 15.0;
const HEIGHT: f64 = 60.0;

/// A part of a pair's cost.
struct Part {
    /// By paper 4.
    name: &'static str,
    where_it_lies: &'static str,
    of: fn(&PairCost) -> f64,
}

const PARTS: [Part; 2] = [
    Part { name: "α", where_it_lies: "in the region's own time", of: |cost| cost.inner_s },
    Part { name: "β", where_it_lies: "in its caller's time", of: |cost| cost.outer_s },
];

/// A histogram for each part, over calls; both have the same axis. Nothing where no probe was on.
pub(super) fn histograms(html: &mut String, parts: &Parts<'_>) {
    let costs = || parts.results.costs.pairs(parts.results.profile);
    let calls: u64 = costs().map(|cost| cost.calls).sum();
    let most = costs().map(|cost| cost.inner_s.max(cost.outer_s)).fold(0.0, f64::max);
    if calls == 0 || most <= 0.0 {
        return;
    }
    let column = Column::for_largest(most);
    let in_place: u64 = costs().filter(|cost| cost.is_in_place).map(|cost| cost.calls).sum();
    html.push_str("<h3>Cost of a pair of probes</h3>");
    for Part { name, where_it_lies, of } in PARTS {
        let mean = costs().map(|cost| of(&cost) * cost.calls as f64).sum::<f64>() / calls as f64;
        let least = costs().map(|cost| of(&cost)).fold(f64::INFINITY, f64::min);
        let greatest = costs().map(|cost| of(&cost)).fold(0.0, f64::max);
        let [least, mean, greatest, end] = [least, mean, greatest, most].map(|seconds| column.plain(seconds, GLYPHS));
        let unit = column.name(GLYPHS);
        let words = format!("{name}, {where_it_lies}: least {least}, mean {mean}, most {greatest} {unit}");
        let _ = write!(
            html,
            "<figure class=\"costs\"><svg viewBox=\"0 0 {} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{words}\">",
            WIDTH * BINS as f64
        );
        bars(html, costs(), most, of);
        let _ = write!(html, "</svg><figcaption>{words}; from 0 to {end} {unit}</figcaption></figure>");
    }
    let _ = write!(
        html,
        "<p class=\"muted\">Heights are parts of the {} {} whose probes were on, without those of wrappers; {} of these calls have a cost that was measured \
         on their own call path, the others (paler) that of others. Of the overhead, which is calls times their cost and what wrappers took, {} was \
         measured in place: on such call paths, and by wrappers, which time themselves.</p>",
        count(calls, GLYPHS),
        if calls == 1 { "call" } else { "calls" },
        escape(&share(in_place as f64 / calls as f64, GLYPHS)),
        escape(&share(overhead_in_place(parts.results), GLYPHS))
    );
}

/// Bars of calls by cost: those whose cost was measured in place stand below.
fn bars(html: &mut String, costs: impl Iterator<Item = PairCost>, most: f64, of: fn(&PairCost) -> f64) {
    let mut bins = [[0_u64; 2]; BINS];
    for cost in costs {
        let bin = ((of(&cost).max(0.0) / most * BINS as f64) as usize).min(BINS - 1);
        bins[bin][usize::from(!cost.is_in_place)] += cost.calls;
    }
    let highest = bins.iter().map(|[own, others]| own + others).max().unwrap_or(0).max(1) as f64;
    for (bin, calls) in bins.iter().enumerate() {
        let mut below = 0.0;
        for (calls, class) in calls.iter().zip(["in-place", "prior"]).filter(|(calls, _)| **calls > 0) {
            let height = (HEIGHT * *calls as f64 / highest).max(1.0);
            let (x, y) = (WIDTH * bin as f64, HEIGHT - below - height);
            let _ = write!(html, "<rect class=\"{class}\" x=\"{x}\" y=\"{y:.1}\" width=\"{}\" height=\"{height:.1}\"/>", WIDTH - 1.0);
            below += height;
        }
    }
}
