//! Figures and names as all texts have them, for views that are drawn elsewhere.

pub use crate::layout::{Glyphs, width};
pub use crate::number::{Column as Unit, byte_size, change, count, share, time_with_unit};
pub use crate::view::thread_label;

use crate::layout::{Page, plain};
use crate::short::short_name;

/// A text without characters that a terminal would act on.
#[must_use]
pub fn plain_text(text: &str) -> String {
    plain(text, &Page::default())
}

/// A name in at most `room` columns: template arguments are folded first, then parameters left out, then the middle.
#[must_use]
pub fn shortened(name: &str, room: usize) -> String {
    short_name(name, room, &Page::default())
}
