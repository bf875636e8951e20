//! The table of a validation as a picture: SVG that stands alone, in light and dark, readable without colour.
//!
//! Each rank is a line from its unmeasured time (a diamond) to what was measured (an open circle); what local and
//! parallel compensation make of it stands between (a square, a filled circle). Shapes differ, so that colour only helps.

use std::fmt::Write;

use tare_compensate::validation::{RankRow, Validation};

const WIDTH: f64 = 800.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 84.0;
const ROW: f64 = 64.0;
/// Ranks drawn; those whose compensated time is furthest off come first.
const MOST_RANKS: usize = 8;

const STYLE: &str = "\
text{font:14px system-ui,sans-serif;fill:#1B1F24}.muted{fill:#57606A}.line{stroke:#B4BCC5;stroke-width:2}\
.measured{fill:none;stroke:#D55E00;stroke-width:2.5}.local{fill:none;stroke:#8A4B00;stroke-width:2.5}\
.compensated{fill:#0072B2}.truth{fill:#1B1F24}.ground{fill:#FFFFFF}\
@media(prefers-color-scheme:dark){text{fill:#E8EBEF}.muted{fill:#A3ADB8}.line{stroke:#56616D}.measured{stroke:#FF8A3D}\
.local{stroke:#FFB870}.compensated{fill:#56B4E9}.truth{fill:#E8EBEF}.ground{fill:#14181D}}";

/// The picture of a validation.
#[must_use]
pub fn validation(table: &Validation) -> String {
    let rows = chosen(table);
    let height = TOP + ROW * rows.len() as f64 + 24.0;
    let longest = rows.iter().flat_map(|row| [row.uninstrumented_s, row.seconds().uncompensated, row.seconds().local]).fold(0.0, f64::max);
    let shortest = rows.iter().map(|row| row.uninstrumented_s).fold(longest, f64::min);
    let scale = Scale::new(shortest, longest);
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\
         <title>Time of each rank: unmeasured, measured, and compensated</title><style>{STYLE}</style>\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>"
    );
    legend(&mut svg, table);
    for (index, row) in rows.iter().enumerate() {
        rank(&mut svg, row, &scale, TOP + ROW * index as f64);
    }
    svg.push_str("</svg>\n");
    svg
}

/// The ranks that are drawn, in order of their numbers.
fn chosen(table: &Validation) -> Vec<RankRow> {
    let mut rows = table.ranks.clone();
    rows.sort_by(|one, other| other.error.parallel.abs().total_cmp(&one.error.parallel.abs()));
    rows.truncate(MOST_RANKS);
    rows.sort_by_key(|row| row.rank);
    rows
}

/// From seconds to a place on the page; the axis begins well below the shortest time, not at zero.
struct Scale {
    from: f64,
    per_second: f64,
}

impl Scale {
    fn new(shortest: f64, longest: f64) -> Self {
        let spread = (longest - shortest).max(longest * 0.02).max(f64::MIN_POSITIVE);
        let from = (shortest - 0.12 * spread).max(0.0);
        Self { from, per_second: (WIDTH - LEFT - RIGHT) / (longest + 0.04 * spread - from) }
    }

    fn x(&self, seconds: f64) -> f64 {
        LEFT + (seconds - self.from) * self.per_second
    }
}

fn legend(svg: &mut String, table: &Validation) {
    let _ = write!(
        svg,
        "<text x=\"16\" y=\"28\" font-weight=\"600\">Measuring made it {:.0} % slower. What is left after compensation?</text>",
        100.0 * table.dilation
    );
    let mut x = 16.0;
    for (mark, word, width) in [
        ("truth", "unmeasured", 120.0),
        ("measured", "measured", 110.0),
        ("local", "local compensation", 170.0),
        ("compensated", "parallel compensation", 190.0),
    ] {
        shape(svg, mark, x + 6.0, 51.0);
        let _ = write!(svg, "<text class=\"muted\" x=\"{}\" y=\"56\">{word}</text>", x + 20.0);
        x += width;
    }
}

fn rank(svg: &mut String, row: &RankRow, scale: &Scale, top: f64) {
    let y = top + 26.0;
    let seconds = row.seconds();
    let (from, to) = (scale.x(row.uninstrumented_s), scale.x(seconds.uncompensated));
    let _ = write!(
        svg,
        "<text x=\"16\" y=\"{}\">rank {}</text><line class=\"line\" x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y}\" y2=\"{y}\"/>",
        y + 5.0,
        row.rank
    );
    shape(svg, "measured", to, y);
    shape(svg, "local", scale.x(seconds.local), y);
    shape(svg, "compensated", scale.x(seconds.parallel), y);
    shape(svg, "truth", from, y);
    let _ = write!(
        svg,
        "<text class=\"muted\" x=\"{}\" y=\"{}\">measured {}</text><text x=\"{}\" y=\"{}\">parallel {}</text>",
        WIDTH - RIGHT + 24.0,
        y - 4.0,
        percent(row.error.uncompensated),
        WIDTH - RIGHT + 24.0,
        y + 16.0,
        percent(row.error.parallel)
    );
}

fn percent(fraction: f64) -> String {
    let percent = 100.0 * fraction;
    let sign = if percent < 0.0 { "−" } else { "+" };
    if percent.abs() < 10.0 { format!("{sign}{:.1} %", percent.abs()) } else { format!("{sign}{:.0} %", percent.abs()) }
}

fn shape(svg: &mut String, mark: &str, x: f64, y: f64) {
    let _ = match mark {
        "truth" => write!(svg, "<path class=\"truth\" d=\"M{x:.1} {:.1}l7 7l-7 7l-7 -7z\"/>", y - 7.0),
        "local" => write!(svg, "<rect class=\"local\" x=\"{:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\"/>", x - 5.0, y - 5.0),
        "measured" => write!(svg, "<circle class=\"measured\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"/>"),
        _ => write!(svg, "<circle class=\"compensated\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_compensate::validation::{Measured, Pair, Unmeasured};

    fn table(ranks: usize) -> Validation {
        let pair = Pair {
            unmeasured: vec![Unmeasured { cycles: 1e9, seconds_per_cycle: 0.25e-9 }; ranks],
            measured: vec![Measured { uncompensated: 2.3e9, local: 2.3e9, parallel: 1.004e9, seconds_per_cycle: 0.25e-9 }; ranks],
        };
        Validation::of(&vec![pair; 4]).expect("ranks")
    }

    #[test]
    fn every_mark_stands_on_the_page() {
        for ranks in [1, 2, 40] {
            let svg = validation(&table(ranks));
            for part in svg.split("cx=\"").skip(1) {
                let x: f64 = part.split('"').next().and_then(|text| text.parse().ok()).expect("a number");
                assert!((0.0..WIDTH).contains(&x), "{x}");
            }
            assert_eq!(svg.matches("rank ").count(), ranks.min(MOST_RANKS));
        }
    }

    #[test]
    fn the_head_line_and_the_errors_are_in_words() {
        let svg = validation(&table(2));
        assert!(svg.contains("130 % slower") && svg.contains("measured +130 %") && svg.contains("parallel +0.4 %"), "{svg}");
    }
}
