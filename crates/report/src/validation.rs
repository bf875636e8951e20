//! Measured and compensated times against the unmeasured truth, as in paper 1's Table 1.

use serde::Serialize;

use crate::layout::{Align, Column, Page, Writer};
use crate::number::{Column as Unit, change, share, time_with_unit};

/// One rank: medians over the pairs of runs, seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RankTruth {
    /// The rank; `None` outside of MPI.
    pub rank: Option<u32>,
    /// Without instrumentation.
    pub uninstrumented_s: f64,
    /// Measured, without compensation.
    pub uncompensated_s: f64,
    /// Compensated locally.
    pub local_s: f64,
    /// Compensated in parallel.
    pub parallel_s: f64,
}

impl RankTruth {
    fn error(&self, value: f64) -> f64 {
        if self.uninstrumented_s > 0.0 { value / self.uninstrumented_s - 1.0 } else { 0.0 }
    }

    /// Whether a time is as near to the truth as can be asked for: within 3 %, the noise, or 50 µs.
    fn is_met(&self, value: f64, noise: f64) -> bool {
        self.error(value).abs() <= TOLERANCE.max(noise) || (value - self.uninstrumented_s).abs() <= FLOOR_S
    }
}

/// One of the times of a rank.
type Value = fn(&RankTruth) -> f64;

/// A compensated time counts as right within this part of the unmeasured one.
const TOLERANCE: f64 = 0.03;
/// Or within this many seconds.
const FLOOR_S: f64 = 50e-6;

/// Interleaved pairs of unmeasured and measured runs, compared.
#[derive(Clone, PartialEq, Debug)]
pub struct Validation {
    /// Pairs of runs.
    pub pairs: usize,
    /// By rank.
    pub ranks: Vec<RankTruth>,
    /// Measured over unmeasured, less one, of the whole run.
    pub dilation: f64,
    /// How far unmeasured runs are from each other, as a part.
    pub noise: f64,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    pairs: usize,
    ranks: Vec<RankDocument>,
    dilation: f64,
    noise: f64,
    verdict: &'a str,
}

#[derive(Serialize)]
struct RankDocument {
    rank: Option<u32>,
    uninstrumented_s: f64,
    uncompensated_s: f64,
    local_s: f64,
    parallel_s: f64,
    error: ErrorDocument,
}

#[derive(Serialize)]
struct ErrorDocument {
    uncompensated: f64,
    local: f64,
    parallel: f64,
}

impl Validation {
    /// One sentence on whether parallel compensation found the truth.
    #[must_use]
    pub fn verdict(&self) -> String {
        let worst = |value: Value| self.ranks.iter().map(|rank| rank.error(value(rank)).abs()).fold(0.0, f64::max);
        let percent = |fraction: f64| format!("{:.1} %", 100.0 * fraction);
        if self.ranks.is_empty() {
            return "nothing was measured, so nothing can be said".to_string();
        }
        let parallel = worst(|rank| rank.parallel_s);
        let noise = format!("noise between unmeasured runs {}", percent(self.noise));
        let failed = self.ranks.iter().filter(|rank| !rank.is_met(rank.parallel_s, self.noise)).count();
        let kept = if failed == 0 {
            format!("compensated times are within {} of the unmeasured run on every rank", percent(parallel))
        } else {
            format!(
                "compensated times are off by up to {} ({failed} of {} ranks by more than 3 %)",
                percent(parallel),
                self.ranks.len()
            )
        };
        format!("{kept}; local compensation is off by up to {}; {noise}", percent(worst(|rank| rank.local_s)))
    }

    /// The `validate` document.
    #[must_use]
    pub fn to_json(&self) -> String {
        let ranks = self.ranks.iter().map(|rank| RankDocument {
            rank: rank.rank,
            uninstrumented_s: rank.uninstrumented_s,
            uncompensated_s: rank.uncompensated_s,
            local_s: rank.local_s,
            parallel_s: rank.parallel_s,
            error: ErrorDocument {
                uncompensated: rank.error(rank.uncompensated_s),
                local: rank.error(rank.local_s),
                parallel: rank.error(rank.parallel_s),
            },
        });
        let verdict = self.verdict();
        crate::json::written(&Document {
            schema: crate::json::SCHEMA,
            pairs: self.pairs,
            ranks: ranks.collect(),
            dilation: self.dilation,
            noise: self.noise,
            verdict: &verdict,
        })
    }

    /// The table of paper 1 with the errors, and the verdict.
    #[must_use]
    pub fn to_text(&self, page: &Page) -> String {
        let mut writer = Writer::new(page);
        let glyphs = writer.glyphs();
        let values: [(&str, Value); 4] = [
            ("no instrumentation", |rank| rank.uninstrumented_s),
            ("no compensation", |rank| rank.uncompensated_s),
            ("local", |rank| rank.local_s),
            ("parallel", |rank| rank.parallel_s),
        ];
        let largest = self.ranks.iter().flat_map(|rank| values.map(|(_, value)| value(rank))).fold(0.0, f64::max);
        let unit = Unit::for_largest(largest);
        let labels = self.ranks.iter().map(|rank| match rank.rank {
            Some(rank) => format!("rank {rank}"),
            None => "program".to_string(),
        });
        let head = format!("Time, {}", unit.unit.name(glyphs));
        let names = Column::new(head, Align::Left, 0, labels.collect());
        let mut columns = Vec::new();
        for (index, (head, value)) in values.into_iter().enumerate() {
            let cells = self.ranks.iter().map(|rank| unit.precise(value(rank), glyphs)).collect();
            columns.push(Column::new(head, Align::Point, 0, cells));
            if index > 0 {
                let errors = self.ranks.iter().map(|rank| change(rank.error(value(rank)), glyphs)).collect();
                columns.push(Column::new("error", Align::Right, 1, errors));
            }
        }
        writer.table(&names, columns);
        writer.blank();
        let pairs = format!(
            "{} pairs of runs, medians; dilation {}; noise between unmeasured runs {}",
            self.pairs,
            change(self.dilation, glyphs).trim_start_matches('+'),
            share(self.noise, glyphs)
        );
        writer.words("  ", 2, &pairs);
        writer.words("  Verdict:", 2, &format!(" {}.", self.verdict()));
        if self.ranks.iter().any(|rank| rank.uninstrumented_s < 100.0 * FLOOR_S) {
            let floor = time_with_unit(FLOOR_S, glyphs);
            writer.words("  ", 2, &format!("Differences below {floor} count as none."));
        }
        writer.finish()
    }
}
