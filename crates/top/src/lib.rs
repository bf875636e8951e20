//! The live view of a run in a terminal: readings in, keys in, a screen out.
//!
//! The phases, each a file: [`Snapshot`] keeps of a reading what the view needs; `rates` compares two of them; `rows` makes the
//! tables of the pages; [`App`] follows keys; [`draw()`] puts it on the screen, [`json()`] says it to programs.
//!
//! What always holds: the cursor stays on its region, rank or path when rows are sorted anew; nothing rests on colour; a line is
//! never longer than the screen.
//!
//! What is absent: no file, no clock, no terminal: the command line reads and waits.

mod app;
mod document;
mod draw;
mod rates;
mod rows;
mod snapshot;

pub use app::{App, Key, Outcome};
pub use document::json;
pub use draw::{draw, text};
pub use snapshot::{About, Snapshot};
