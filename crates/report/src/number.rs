//! Figures as text: as many digits as the interval allows, one unit for each column.
//!
//! The rounding is that of the Particle Data Group: of the half-width's first three digits 100–354 keep two,
//! 355–949 keep one, and 950–999 become 1000 and keep two; the value ends at the same place.

use crate::layout::Glyphs;
use tare_compensate::Figure;

/// A unit of time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Unit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

impl Unit {
    /// The unit in which a number of seconds reads best.
    pub(crate) fn for_seconds(seconds: f64) -> Self {
        match seconds.abs() {
            least if least >= 0.9995 || least == 0.0 => Self::Seconds,
            least if least >= 0.9995e-3 => Self::Milliseconds,
            least if least >= 0.9995e-6 => Self::Microseconds,
            _ => Self::Nanoseconds,
        }
    }

    pub(crate) fn name(self, glyphs: &Glyphs) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => glyphs.microseconds,
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    fn per_second(self) -> f64 {
        match self {
            Self::Nanoseconds => 1e9,
            Self::Microseconds => 1e6,
            Self::Milliseconds => 1e3,
            Self::Seconds => 1.0,
        }
    }
}

/// Digits after the point that a half-width deserves (negative: zeros before it).
fn decimals_for(half_width: f64) -> i32 {
    let exponent = half_width.log10().floor() as i32;
    let first_three = (half_width / 10_f64.powi(exponent - 2)).round();
    match first_three {
        digits if digits < 354.5 => 1 - exponent,
        digits if digits < 949.5 => -exponent,
        _ => -exponent,
    }
}

/// A number with this many decimals; for negative counts the digits before the point become zeros.
fn fixed(value: f64, decimals: i32, glyphs: &Glyphs) -> String {
    let rounded = if decimals < 0 {
        let step = 10_f64.powi(-decimals);
        format!("{:.0}", (value / step).round() * step)
    } else {
        format!("{value:.*}", decimals.min(15) as usize)
    };
    grouped(&rounded, glyphs)
}

/// Thin spaces between groups of three digits from 10 000 on, and a true minus, never before a zero.
fn grouped(number: &str, glyphs: &Glyphs) -> String {
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) if digits.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) => (glyphs.minus, digits),
        Some(digits) => ("", digits),
        None => ("", number),
    };
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut text = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) && whole.len() > 4 {
            text.push_str(glyphs.thin_space);
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

/// A figure in a column: the unit and the last digit are the column's.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub(crate) unit: Unit,
    /// The largest number of decimals shown.
    last: i32,
}

/// Significant digits of a column's largest value.
const DIGITS: i32 = 4;
/// The same for a figure that stands alone.
const DIGITS_ALONE: i32 = 6;

impl Column {
    /// The column for figures of which this is the largest, in seconds.
    #[must_use]
    pub fn for_largest(largest: f64) -> Self {
        Self::with_digits(largest, DIGITS)
    }

    /// That of a figure which stands alone: with as many digits more as its interval needs to be seen, where so many do.
    fn for_figure(figure: &Figure) -> Self {
        let largest = figure.value.abs().max(figure.half_width());
        let [few, many] = [DIGITS, DIGITS_ALONE].map(|digits| Self::with_digits(largest, digits));
        let is_seen = |column: &Self| figure.half_width() * column.unit.per_second() >= 0.5 * 10_f64.powi(-column.last);
        if is_seen(&few) || !is_seen(&many) { few } else { many }
    }

    fn with_digits(largest: f64, digits: i32) -> Self {
        let unit = Unit::for_seconds(largest);
        let scaled = (largest * unit.per_second()).abs().max(1.0);
        Self { unit, last: (digits - 1 - scaled.log10().floor() as i32).clamp(0, digits - 1) }
    }

    /// The unit's name.
    #[must_use]
    pub fn name(&self, glyphs: &Glyphs) -> &'static str {
        self.unit.name(glyphs)
    }

    /// A time without a known interval: three digits.
    #[must_use]
    pub fn plain(&self, seconds: f64, glyphs: &Glyphs) -> String {
        let value = seconds * self.unit.per_second();
        if value == 0.0 {
            return "0".to_string();
        }
        let wanted = 2 - value.abs().log10().floor() as i32;
        let decimals = wanted.clamp(0, self.last.min(3));
        if value.abs() < 0.5 * 10_f64.powi(-decimals) {
            let least = fixed(10_f64.powi(-decimals), decimals, glyphs);
            return format!("<{least}");
        }
        fixed(value, decimals, glyphs)
    }

    /// A figure with its interval, without the unit.
    #[must_use]
    pub fn figure(&self, figure: &Figure, glyphs: &Glyphs) -> String {
        let scale = self.unit.per_second();
        let (value, half) = (figure.value * scale, figure.half_width() * scale);
        if figure.mark.is_some() {
            let value = self.plain(figure.value, glyphs);
            let about = if value.starts_with('<') { "" } else { glyphs.about };
            return format!("{about}{value} {}", glyphs.dagger);
        }
        if half <= 0.0 || !half.is_finite() {
            return self.plain(figure.value, glyphs);
        }
        let (wanted, least) = (decimals_for(half), 0.5 * 10_f64.powi(-self.last));
        if half < least || (value.abs() < least && wanted > self.last) {
            // The interval is narrower than the column's last digit, or the value is below it and its interval hardly more.
            return self.certain(value, glyphs);
        }
        let wanted = wanted.min(self.last);
        let symmetric = (figure.high - figure.value) * scale;
        let other = (figure.value - figure.low) * scale;
        // Ends that are as far from the value in the digits that are shown say no more than their half-width.
        let text = |value: f64| fixed(value, wanted, glyphs);
        if (symmetric - other).abs() <= 0.1 * half || text(symmetric) == text(other) {
            return format!("{} {} {}", fixed(value, wanted, glyphs), glyphs.plus_minus, fixed(half, wanted, glyphs));
        }
        format!("{} ({} {} {})", text(value), text(figure.low * scale), glyphs.ellipsis, text(figure.high * scale))
    }

    /// A difference with its interval: always with its sign.
    pub(crate) fn signed(&self, figure: &Figure, glyphs: &Glyphs) -> String {
        let text = self.figure(figure, glyphs);
        let is_more = figure.value > 0.0 && text.starts_with(|first: char| first.is_ascii_digit()) && text != "0";
        if is_more { format!("+{text}") } else { text }
    }

    /// A time with one digit more than the column's figures have.
    pub(crate) fn precise(&self, seconds: f64, glyphs: &Glyphs) -> String {
        Self { last: self.last + 1, ..*self }.certain(seconds * self.unit.per_second(), glyphs)
    }

    /// A value whose interval is smaller than the column's last digit.
    fn certain(&self, value: f64, glyphs: &Glyphs) -> String {
        if value != 0.0 && value.abs() < 0.5 * 10_f64.powi(-self.last) {
            return format!("<{}", fixed(10_f64.powi(-self.last), self.last, glyphs));
        }
        if value == 0.0 { "0".to_string() } else { fixed(value, self.last, glyphs) }
    }
}

/// A single figure with its unit.
pub(crate) fn figure_with_unit(figure: &Figure, glyphs: &Glyphs) -> String {
    let column = Column::for_figure(figure);
    if figure.mark.is_some() {
        let marked = column.figure(figure, glyphs);
        let value = marked.trim_end_matches(glyphs.dagger).trim_end();
        return format!("{value}{}{} {}", glyphs.thin_space, column.unit.name(glyphs), glyphs.dagger);
    }
    format!("{}{}{}", column.figure(figure, glyphs), glyphs.thin_space, column.unit.name(glyphs))
}

/// The same, and beside it a time without an interval: in its unit, with as many places, and three digits at least.
pub(crate) fn figure_and_time(figure: &Figure, seconds: f64, glyphs: &Glyphs) -> (String, String) {
    let (text, column) = (figure_with_unit(figure, glyphs), Column::for_figure(figure));
    let is_digit = |character: char| character.is_ascii_digit() || character == '.';
    let value = text.trim_start_matches(|character| !is_digit(character)).split(|character| !is_digit(character)).next().unwrap_or_default();
    let places = value.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
    let time = seconds * column.unit.per_second();
    let least = if time == 0.0 { 0 } else { (2 - time.abs().log10().floor() as i32).clamp(0, 2) };
    (text, format!("{}{}{}", fixed(time, places.max(least), glyphs), glyphs.thin_space, column.unit.name(glyphs)))
}

/// A single time of which no interval is known, with its unit: three digits.
#[must_use]
pub fn time_with_unit(seconds: f64, glyphs: &Glyphs) -> String {
    if seconds.abs() >= 3600.0 {
        return duration(seconds);
    }
    let column = Column::with_digits(seconds, DIGITS_ALONE);
    format!("{}{}{}", column.plain(seconds, glyphs), glyphs.thin_space, column.unit.name(glyphs))
}

/// `1 h 02 min 07 s`.
fn duration(seconds: f64) -> String {
    let whole = seconds.abs().round() as u64;
    let sign = if seconds < 0.0 { "-" } else { "" };
    format!("{sign}{} h {:02} min {:02} s", whole / 3600, whole / 60 % 60, whole % 60)
}

/// A fraction as a share: one decimal, `<0.1 %`.
#[must_use]
pub fn share(fraction: f64, glyphs: &Glyphs) -> String {
    let percent = 100.0 * fraction;
    if percent == 0.0 {
        return "0 %".replace(' ', glyphs.thin_space);
    }
    if percent > 0.0 && percent < 0.05 {
        return "<0.1 %".replace(' ', glyphs.thin_space);
    }
    format!("{}{}%", fixed(percent, 1, glyphs), glyphs.thin_space)
}

/// A fraction as a change, always with its sign.
#[must_use]
pub fn change(fraction: f64, glyphs: &Glyphs) -> String {
    let percent = 100.0 * fraction;
    let decimals = if percent.abs() < 99.95 { 1 } else { 0 };
    let text = fixed(percent, decimals, glyphs);
    let is_zero = !text.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    let sign = if percent > 0.0 && !is_zero { "+" } else { "" };
    format!("{sign}{text}{}%", glyphs.thin_space)
}

/// By how much something is more than another: as a change, from ten times on as a factor.
pub(crate) fn more(fraction: f64, glyphs: &Glyphs) -> String {
    if fraction < 9.995 {
        change(fraction, glyphs)
    } else {
        format!("{}{}{}", exact_count((1.0 + fraction).round() as u64, glyphs), glyphs.thin_space, glyphs.times)
    }
}

/// A count in few digits: `812`, `76.8 k`, `1.20 M`.
#[must_use]
pub fn count(number: u64, glyphs: &Glyphs) -> String {
    let value = number as f64;
    let (scaled, prefix) = match number {
        0..10_000 => return grouped(&number.to_string(), glyphs),
        10_000..999_500 => (value / 1e3, "k"),
        999_500..999_500_000 => (value / 1e6, "M"),
        999_500_000..999_500_000_000 => (value / 1e9, "G"),
        _ => (value / 1e12, "T"),
    };
    let decimals = (2 - scaled.log10().floor() as i32).clamp(0, 2);
    format!("{}{}{prefix}", fixed(scaled, decimals, glyphs), glyphs.thin_space)
}

/// Bytes in powers of 1024, three digits.
#[must_use]
pub fn byte_size(bytes: f64, glyphs: &Glyphs) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power = if bytes < 1.0 { 0 } else { ((bytes.log2() / 10.0) as usize).min(units.len() - 1) };
    let value = bytes / 1024_f64.powi(power as i32);
    let decimals = if power == 0 || value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$}{}{}", glyphs.thin_space, units[power])
}

/// A count with all its digits.
pub(crate) fn exact_count(number: u64, glyphs: &Glyphs) -> String {
    grouped(&number.to_string(), glyphs)
}

/// `1 rank`, `2 ranks`.
#[must_use]
pub fn plural(number: usize, one: &str, many: &str, glyphs: &Glyphs) -> String {
    format!("{} {}", exact_count(number as u64, glyphs), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_have_three_digits_and_one_unit() {
        let texts = [0.0, 8.0, 1023.0, 1536.0, 40_000.0, 7.5e6].map(|bytes| byte_size(bytes, &Glyphs::ASCII).replace('\u{a0}', " "));
        assert_eq!(texts, ["0 B", "8 B", "1023 B", "1.50 KiB", "39.1 KiB", "7.15 MiB"]);
    }

    fn figure(value: f64, half: f64) -> Figure {
        Figure { value, low: value - half, high: value + half, mark: None }
    }

    #[test]
    fn a_headline_has_as_many_digits_as_can_be_read_and_the_time_beside_it_as_many_places() {
        let glyphs = Glyphs { thin_space: " ", ..Glyphs::UNICODE };
        let said = |figure: Figure, seconds: f64| figure_and_time(&figure, seconds, &glyphs);
        assert_eq!(said(figure(84.3123, 0.1234), 86.9021), ("84.31 ± 0.12 s".into(), "86.90 s".into()));
        assert_eq!(said(Figure { value: 0.2934, low: 0.2891, high: 0.3021, mark: None }, 0.30761), ("293 (289 … 302) ms".into(), "308 ms".into()));
        assert_eq!(said(figure(9.04, 1.2), 9.159), ("9.0 ± 1.2 s".into(), "9.16 s".into()));
        assert_eq!(said(figure(3.428_85, 1e-7), 3.428_91), ("3.429 s".into(), "3.429 s".into()));
        assert_eq!(said(figure(84.3123, 0.0012), 86.902_13), ("84.3123 ± 0.0012 s".into(), "86.9021 s".into()));
        assert_eq!(said(figure(0.95, 0.003), 1.0204), ("950.0 ± 3.0 ms".into(), "1020.4 ms".into()));
        assert_eq!(
            said(Figure { mark: Some(tare_compensate::Mark::NeverOn), ..figure(0.00294, 0.1) }, 0.0301),
            ("≈\u{2009}2.9 ms †".into(), "30.1 ms".into())
        );
        assert_eq!(time_with_unit(12.345, &glyphs), "12.3 s");
        assert_eq!(time_with_unit(0.0, &glyphs), "0 s");
    }

    fn text(value: f64, half: f64) -> String {
        figure_with_unit(&figure(value, half), &Glyphs::UNICODE).replace('\u{2009}', " ")
    }

    #[test]
    fn digits_follow_the_interval() {
        assert_eq!(text(12.345e-3, 0.4e-3), "12.3 ± 0.4 ms");
        assert_eq!(text(84.3123, 0.1234), "84.31 ± 0.12 s");
        assert_eq!(text(9.6e-3, 0.96e-3), "9.6 ± 1.0 ms");
        assert_eq!(text(21.41, 0.0912), "21.41 ± 0.09 s");
    }

    #[test]
    fn an_interval_is_shown_down_to_the_last_digit_of_the_column() {
        let (column, glyphs) = (Column::for_largest(4.0), Glyphs { thin_space: " ", ..Glyphs::UNICODE });
        let send = Figure { value: 4.0047, low: 4.0030, high: 4.0071, mark: None };
        assert_eq!(column.figure(&send, &glyphs), "4.005 ± 0.002");
        assert_eq!(column.figure(&figure(4.0047, 0.000_6), &glyphs), "4.005 ± 0.001");
        assert_eq!(column.figure(&figure(4.0047, 0.000_49), &glyphs), "4.005");
        assert_eq!(column.figure(&figure(0.000_4, 0.000_9), &glyphs), "<0.001");
        assert_eq!(column.figure(&figure(4.0047, 0.035), &glyphs), "4.005 ± 0.035");
    }

    #[test]
    fn an_unsymmetric_interval_names_its_ends() {
        let figure = Figure { value: 12.3e-3, low: 11.9e-3, high: 13.6e-3, mark: None };
        let text = figure_with_unit(&figure, &Glyphs::UNICODE).replace('\u{2009}', " ");
        assert_eq!(text, "12.3 (11.9 … 13.6) ms");
    }

    #[test]
    fn small_values_of_a_column_are_below_its_last_digit() {
        let column = Column::for_largest(12.0);
        assert_eq!(column.plain(0.001, &Glyphs::ASCII), "<0.01");
        assert_eq!(column.plain(0.0, &Glyphs::ASCII), "0");
        assert_eq!(column.plain(-2.5, &Glyphs::UNICODE), "−2.50");
    }

    #[test]
    fn counts_shares_and_changes() {
        let glyphs = Glyphs { thin_space: " ", ..Glyphs::ASCII };
        assert_eq!(count(1_200_000, &glyphs), "1.20 M");
        assert_eq!(count(76_800, &glyphs), "76.8 k");
        assert_eq!(exact_count(76_800, &glyphs), "76 800");
        assert_eq!(share(0.0004, &glyphs), "<0.1 %");
        assert_eq!(change(0.734, &glyphs), "+73.4 %");
        assert_eq!(change(-0.00001, &glyphs), "0.0 %");
        assert_eq!(time_with_unit(3727.0, &glyphs), "1 h 02 min 07 s");
    }

    /// Places behind the point.
    fn places(number: &str) -> usize {
        number.split_once('.').map_or(0, |(_, fraction)| fraction.len())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn value_and_half_width_end_at_the_same_digit_and_none_is_zero(
            value in -1e4..1e4_f64, half in 1e-12..1e3_f64, largest in 1e-9..1e5_f64,
        ) {
            let column = Column::for_largest(largest);
            let text = column.figure(&figure(value, half), &Glyphs::ASCII);
            if let Some((value, half)) = text.split_once(" +/- ") {
                prop_assert_eq!(places(value), places(half), "{}", text);
                prop_assert!(half.bytes().any(|byte| (b'1'..=b'9').contains(&byte)), "{}", text);
            }
        }
    }
}
