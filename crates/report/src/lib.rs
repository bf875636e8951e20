//! View models of a run and of what the tools found, and their two forms: text and JSON.
//!
//! * [`Run`], [`Results`]: what a report is made from.
//! * [`text::summary`], [`text::report`], [`json::report`]: the end of a run, and all of it.
//! * [`answer`]: answers to questions.
//! * [`figures`]: numbers and names as all texts have them.
//! * [`export::document`]: the formats of other tools.
//! * [`html::page`]: the same as a page that stands alone.
//! * [`compare`]: several runs side by side, and what got slower.
//! * [`validate`]: measured and compensated against the unmeasured truth.
//! * [`simulate`]: models against a simulated program.
//! * [`doctor`]: what a machine offers and lacks.
//! * [`shell`]: words of the commands that texts offer.
//! * [`inspect`], [`mod@select`], [`instrument`], [`bisect`]: what the tools say of an image.
//!
//! What always holds: no line of text is longer than the page is wide; a value and its interval end at the
//! same digit; nothing rests on colour; a document's fields are those of its schema, times in seconds,
//! ratios as fractions, unknown values null.
//!
//! What is absent: no file is opened, no clock read, nothing measured is corrected here.

pub mod answer;
pub mod bisect;
mod budget;
pub mod check;
pub mod compare;
pub mod doctor;
pub mod export;
pub mod figures;
pub mod html;
pub mod inspect;
pub mod instrument;
pub mod json;
mod layout;
mod metrics;
mod number;
pub mod picture;
mod run;
pub mod select;
pub mod shell;
mod short;
pub mod simulate;
mod style;
mod switches;
pub mod text;
pub mod validate;
mod view;

pub use layout::Page;
pub use run::{Exit, InstrumentedImage, Results, Run, Selection};
