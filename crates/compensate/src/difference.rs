//! How two sides of a comparison differ: each is one run or several, each run says a [`Figure`].
//!
//! Two uncertainties meet. What compensation leaves open is the same for all runs of a side, so repeating them does not
//! narrow it: it is their mean. The noise between runs does narrow: it is Welch's interval for the difference of two means
//! (B. L. Welch, *The generalization of "Student's" problem when several different population variances are involved*,
//! Biometrika 34, 1947). A side of a single run takes the noise of the other side; where both are, the noise is not known,
//! and the difference says so.

use crate::figure::{Figure, Mark};

/// A figure of both sides, and by how much the second is greater.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    /// The mean of the first side; its interval holds the noise between its own runs.
    pub before: Figure,
    /// The mean of the second side, likewise.
    pub after: Figure,
    /// The second less the first, with its interval.
    pub change: Figure,
    /// Whether that interval holds the noise between runs.
    pub has_noise: bool,
}

/// What can be said of a difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The second side takes longer.
    Slower,
    /// The second side takes less time.
    Faster,
    /// No difference that can be told, or none that counts.
    Same,
    /// A figure of one side is not to be trusted.
    Untrusted,
}

impl Difference {
    /// Compares two sides; `None` where one has no run.
    #[must_use]
    pub fn between(before: &[Figure], after: &[Figure]) -> Option<Self> {
        let (one, other) = (mean(before)?, mean(after)?);
        let (below, above) = ((other.value - other.low).hypot(one.high - one.value), (other.high - other.value).hypot(one.value - one.low));
        let noise = noise(before, after);
        let reach = noise.unwrap_or(0.0);
        let value = other.value - one.value;
        let (low, high) = (value - below.hypot(reach), value + above.hypot(reach));
        // An interval that is wide beside one side says enough where the change lies beyond it.
        let says_enough = low > 0.0 || high < 0.0;
        let mark = weightiest([one.mark, other.mark]).filter(|mark| !(mark.is_of_width() && says_enough));
        let change = Figure { value, low, high, mark };
        Some(Self { before: with_noise(one, before), after: with_noise(other, after), change, has_noise: noise.is_some() })
    }

    /// What can be said of it, where changes below `least` (in the figures' unit) do not count.
    #[must_use]
    pub fn verdict(&self, least: f64) -> Verdict {
        match &self.change {
            change if change.mark.is_some() => Verdict::Untrusted,
            change if change.low > 0.0 && change.value >= least => Verdict::Slower,
            change if change.high < 0.0 && -change.value >= least => Verdict::Faster,
            _ => Verdict::Same,
        }
    }

    /// The change as a part of the first side, where that is not nothing.
    #[must_use]
    pub fn fraction(&self) -> Option<f64> {
        (self.before.value > 0.0).then(|| self.change.value / self.before.value)
    }
}

/// The first mark, those that an interval does not say first.
fn weightiest(marks: impl IntoIterator<Item = Option<Mark>>) -> Option<Mark> {
    marks.into_iter().flatten().min_by_key(|mark| mark.is_of_width())
}

/// The mean, with the mean interval and the weightiest mark.
fn mean(figures: &[Figure]) -> Option<Figure> {
    let mean = |of: fn(&Figure) -> f64| figures.iter().map(of).sum::<f64>() / figures.len() as f64;
    let mark = weightiest(figures.iter().map(|figure| figure.mark));
    (!figures.is_empty()).then(|| Figure {
        value: mean(|figure| figure.value),
        low: mean(|figure| figure.low),
        high: mean(|figure| figure.high),
        mark,
    })
}

/// The mean of several runs, with the noise between them.
fn with_noise(mean: Figure, runs: &[Figure]) -> Figure {
    let Some(variance) = variance(runs) else { return mean };
    let reach = student((runs.len() - 1) as f64) * (variance / runs.len() as f64).sqrt();
    Figure { low: mean.value - (mean.value - mean.low).hypot(reach), high: mean.value + (mean.high - mean.value).hypot(reach), ..mean }
}

/// The half-width that noise between runs gives a difference of means; `None` where both sides are single runs.
fn noise(before: &[Figure], after: &[Figure]) -> Option<f64> {
    let (one, other) = (variance(before), variance(after));
    let (one, other) = (one.or(other)?, other.or(one)?);
    let part = |variance: f64, runs: usize| variance / runs as f64;
    let (first, second) = (part(one, before.len()), part(other, after.len()));
    let squared = first + second;
    if squared <= 0.0 {
        return Some(0.0);
    }
    let share = |part: f64, runs: usize| if runs > 1 { part * part / (runs - 1) as f64 } else { 0.0 };
    let pooled = share(first, before.len()) + share(second, after.len());
    // A side without noise of its own leaves the other's degrees of freedom.
    let freedom = match (before.len(), after.len()) {
        (1, runs) | (runs, 1) => (runs - 1) as f64,
        _ => squared * squared / pooled,
    };
    Some(student(freedom) * squared.sqrt())
}

/// The variance between runs; `None` below two.
fn variance(figures: &[Figure]) -> Option<f64> {
    let mean = mean(figures)?.value;
    let squares: f64 = figures.iter().map(|figure| (figure.value - mean).powi(2)).sum();
    (figures.len() > 1).then(|| squares / (figures.len() - 1) as f64)
}

/// Student's t at 97.5 %, by degrees of freedom from 1 on.
const STUDENT: [f64; 12] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179];

/// Student's t for a two-sided interval of 95 %; fractions of degrees of freedom are rounded down.
pub(crate) fn student(freedom: f64) -> f64 {
    let whole = freedom.max(1.0).floor();
    match STUDENT.get(whole as usize - 1) {
        Some(&value) => value,
        // The first terms of Cornish and Fisher's expansion; off by less than 0.002 from 13 on.
        None => 1.959_964 + 2.372_27 / whole + 2.822_5 / (whole * whole),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(values: &[f64], half: f64) -> Vec<Figure> {
        values.iter().map(|&value| Figure { value, low: value - half, high: value + half, mark: None }).collect()
    }

    fn between(before: &[Figure], after: &[Figure]) -> Difference {
        Difference::between(before, after).expect("both sides have runs")
    }

    #[test]
    fn single_runs_differ_beyond_their_intervals_or_not() {
        let known = between(&figures(&[10.0], 0.3), &figures(&[10.6], 0.4));
        assert!((known.change.value - 0.6).abs() < 1e-12 && (known.change.low - 0.1).abs() < 1e-12 && !known.has_noise);
        assert_eq!(known.verdict(0.0), Verdict::Slower);
        assert_eq!(known.verdict(0.7), Verdict::Same, "what is too little does not count");
        assert_eq!(between(&figures(&[10.0], 0.3), &figures(&[10.4], 0.4)).verdict(0.0), Verdict::Same);
        assert_eq!(between(&figures(&[10.6], 0.3), &figures(&[10.0], 0.4)).verdict(0.0), Verdict::Faster);
        assert_eq!(known.fraction().map(|part| (part * 1e3).round()), Some(60.0));
    }

    #[test]
    fn noise_between_runs_is_welchs() {
        // Two samples of six and seven runs with unlike spread.
        let before = figures(&[27.5, 21.0, 19.0, 23.6, 17.0, 17.9], 0.0);
        let after = figures(&[27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8], 0.0);
        let half = between(&before, &after).change.half_width();
        let (variance_one, variance_other) = (variance(&before).expect("six runs"), variance(&after).expect("seven runs"));
        let error = (variance_one / 6.0 + variance_other / 7.0).sqrt();
        // 7.9 degrees of freedom: between t(7) and t(8).
        assert!(half >= 2.306 * error && half <= 2.366 * error, "{half} of {error}");
    }

    #[test]
    fn a_single_run_takes_the_noise_of_the_other_side() {
        let known = between(&figures(&[10.0], 0.0), &figures(&[11.0, 11.2, 10.8, 11.0], 0.0));
        assert!(known.has_noise);
        let error = (variance(&figures(&[11.0, 11.2, 10.8, 11.0], 0.0)).expect("four runs") * 1.25).sqrt();
        assert!((known.change.half_width() - 3.182 * error).abs() < 1e-9);
        assert_eq!(known.verdict(0.0), Verdict::Slower);
    }

    #[test]
    fn the_mean_of_several_runs_has_their_noise() {
        let known = between(&figures(&[1.0, 1.2, 0.8, 1.0], 0.3), &figures(&[5.0], 0.1));
        let reach = 3.182 * (variance(&figures(&[1.0, 1.2, 0.8, 1.0], 0.0)).expect("four runs") / 4.0).sqrt();
        assert!((known.before.half_width() - reach.hypot(0.3)).abs() < 1e-9, "{:?}", known.before);
        assert!((known.after.half_width() - 0.1).abs() < 1e-9, "a single run knows no noise of its own");
    }

    #[test]
    fn a_change_beyond_the_uncertainty_of_a_small_time_counts() {
        let mut before = figures(&[0.001], 0.003);
        before[0].mark = Some(Mark::UncertaintyExceedsTime);
        let (much, little) = (figures(&[1.3], 0.01), figures(&[0.003], 0.001));
        assert_eq!((between(&before, &much).verdict(0.0), between(&much, &before).verdict(0.0)), (Verdict::Slower, Verdict::Faster));
        assert_eq!(between(&before, &little).verdict(0.0), Verdict::Untrusted);
        let mut astray = much.clone();
        astray[0].mark = Some(Mark::DelaysAstray);
        assert_eq!(between(&before, &astray).change.mark, Some(Mark::DelaysAstray));
        assert_eq!(between(&before, &astray).verdict(0.0), Verdict::Untrusted);
    }

    #[test]
    fn what_is_not_to_be_trusted_decides_nothing() {
        let mut after = figures(&[20.0], 0.1);
        after[0].mark = Some(Mark::TimedCallsExceed);
        assert_eq!(between(&figures(&[10.0], 0.1), &after).verdict(0.0), Verdict::Untrusted);
        assert!(Difference::between(&[], &after).is_none());
    }

    #[test]
    fn students_t_goes_over_into_its_expansion() {
        for (freedom, wanted) in [(1.0, 12.706), (12.9, 2.179), (13.0, 2.160), (20.0, 2.086), (60.0, 2.000), (1e9, 1.960)] {
            assert!((student(freedom) - wanted).abs() < 0.002, "{freedom}: {}", student(freedom));
        }
    }
}
