//! Figures and names as all texts have them, for views that are drawn elsewhere.

pub use crate::layout::{Glyphs, NO_BREAK, width};
pub use crate::number::{Column as Unit, byte_size, change, count, plural, share, time_with_unit};
pub use crate::view::{innermost, open_regions, thread_label};

use crate::layout::{Page, Writer, plain};
use crate::short::short_name;
use tare_compensate::{Figure, Mark};

/// By what part measuring made a run longer: the least and the most that it may be, given what is left of the measured time. Where that may be
/// nothing, there is no most.
#[must_use]
pub fn dilations(measured_s: f64, left: &Figure) -> (f64, Option<f64>) {
    let part = |left_s: f64| (left_s > 0.0).then(|| measured_s / left_s - 1.0);
    (part(left.high).unwrap_or(0.0), part(left.low))
}

/// The same in words, `28.7 % (0.2 % … 28.7 %)`, without a sign where the run is longer; marked where the time is.
#[must_use]
pub fn dilation(measured_s: f64, left: &Figure, glyphs: &Glyphs) -> String {
    if let Some(least) = least_dilation(measured_s, left, glyphs) {
        return least;
    }
    if left.value <= 0.0 {
        return glyphs.unknown().to_string();
    }
    let text = |part: f64| dilation_in_words(part, glyphs);
    let (low, high) = dilations(measured_s, left);
    let (low, value, high) = (text(low), text(measured_s / left.value - 1.0), high.map(text));
    match high {
        _ if left.mark.is_some() => format!("{}{value} {}", glyphs.about, glyphs.dagger),
        Some(high) if low != high => format!("{value} ({low} {} {high})", glyphs.ellipsis),
        _ => value,
    }
}

/// `24.3 % or more`: all that is known where nothing may be left of the measured time, and the ends of its interval are to be trusted.
pub(crate) fn least_dilation(measured_s: f64, left: &Figure, glyphs: &Glyphs) -> Option<String> {
    let is_told = matches!(left.mark, None | Some(Mark::OverheadHidesTime | Mark::UncertaintyExceedsTime));
    let is_open = left.low <= 0.0 && left.high > 0.0;
    (is_told && is_open).then(|| format!("{} or more", dilation_in_words(dilations(measured_s, left).0, glyphs)))
}

/// A part of a run by which it is longer, without a sign.
pub(crate) fn dilation_in_words(part: f64, glyphs: &Glyphs) -> String {
    change(part, glyphs).trim_start_matches('+').to_string()
}

/// A text without characters that a terminal would act on.
#[must_use]
pub fn plain_text(text: &str) -> String {
    plain(text, &Page::default())
}

/// Words in as many lines as a page needs for them, the first behind `first`, the others indented; without a newline at the end.
#[must_use]
pub fn wrapped(first: &str, indent: usize, words: &str, page: &Page) -> String {
    let mut writer = Writer::new(page);
    writer.words(first, indent, words);
    writer.finish().trim_end().to_string()
}

/// A name in at most `room` columns: template arguments are folded first, then parameters left out, then the middle.
#[must_use]
pub fn shortened(name: &str, room: usize) -> String {
    short_name(name, room, &Page::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_dilation_has_its_interval_or_its_mark() {
        let glyphs = &Glyphs::UNICODE;
        let said = |left: &Figure| dilation(200.0, left, glyphs).replace(glyphs.thin_space, " ");
        let wide = Figure { low: 160.0, high: 200.0, ..Figure::exact(160.0) };
        assert_eq!(said(&wide), "25.0 % (0.0 % … 25.0 %)");
        assert_eq!(said(&Figure::exact(160.0)), "25.0 %");
        assert_eq!(said(&Figure { mark: Some(Mark::UncertaintyExceedsTime), ..wide }), "≈ 25.0 % †");
        assert_eq!(said(&Figure::exact(0.0)), glyphs.unknown());
        assert_eq!(dilations(200.0, &wide), (0.0, Some(0.25)));
    }

    #[test]
    fn a_dilation_has_no_end_where_nothing_may_be_left_of_the_time() {
        let glyphs = &Glyphs::UNICODE;
        let said = |left: &Figure| dilation(200.0, left, glyphs).replace(glyphs.thin_space, " ");
        let open = Figure { low: 0.0, high: 160.0, ..Figure::exact(10.0) };
        assert_eq!(dilations(200.0, &open), (0.25, None));
        assert_eq!(said(&open), "25.0 % or more");
        assert_eq!(said(&Figure { mark: Some(Mark::UncertaintyExceedsTime), ..open }), "25.0 % or more");
        assert_eq!(said(&Figure { mark: Some(Mark::DelaysAstray), ..open }), "≈ 1900 % †");
    }
}
