//! Figures and names as all texts have them, for views that are drawn elsewhere.

pub use crate::layout::{Glyphs, NO_BREAK, width};
pub use crate::number::{Column as Unit, byte_size, change, count, plural, share, time_with_unit};
pub use crate::view::{open_path, thread_label};

use crate::layout::{Page, Writer, plain};
use crate::short::short_name;
use tare_compensate::Figure;

/// By what part measuring made a run longer: the least and the most that it may be, given what is left of the measured time.
#[must_use]
pub fn dilations(measured_s: f64, left: &Figure) -> (f64, f64) {
    let part = |left_s: f64| if left_s > 0.0 { measured_s / left_s - 1.0 } else { 0.0 };
    (part(left.high), part(left.low))
}

/// The same in words, `28.7 % (0.2 % … 28.7 %)`, without a sign where the run is longer; marked where the time is.
#[must_use]
pub fn dilation(measured_s: f64, left: &Figure, glyphs: &Glyphs) -> String {
    if left.value <= 0.0 {
        return glyphs.unknown().to_string();
    }
    let text = |part: f64| change(part, glyphs).trim_start_matches('+').to_string();
    let (low, high) = dilations(measured_s, left);
    let [low, value, high] = [low, measured_s / left.value - 1.0, high].map(text);
    match left.mark {
        Some(_) => format!("{}{value} {}", glyphs.about, glyphs.dagger),
        None if low == high => value,
        None => format!("{value} ({low} {} {high})", glyphs.ellipsis),
    }
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
    use tare_compensate::Mark;

    #[test]
    fn a_dilation_has_its_interval_or_its_mark() {
        let glyphs = &Glyphs::UNICODE;
        let said = |left: &Figure| dilation(200.0, left, glyphs).replace(glyphs.thin_space, " ");
        let wide = Figure { low: 160.0, high: 200.0, ..Figure::exact(160.0) };
        assert_eq!(said(&wide), "25.0 % (0.0 % … 25.0 %)");
        assert_eq!(said(&Figure::exact(160.0)), "25.0 %");
        assert_eq!(said(&Figure { mark: Some(Mark::UncertaintyExceedsTime), ..wide }), "≈ 25.0 % †");
        assert_eq!(said(&Figure::exact(0.0)), glyphs.unknown());
        assert_eq!(dilations(200.0, &wide), (0.0, 0.25));
    }
}
