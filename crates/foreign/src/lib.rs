//! Profiles of other tools as the model of a run: TAU's profiles, and Cube's files as Score-P and Scalasca write them.
//!
//! * [`tau::read`]: `profile.N.C.T`, flat or by call path.
//! * [`cube::read`]: `.cubex`, and the older `.cube`.
//!
//! What always holds: times are whole nanoseconds of a clock of one nanosecond; the model is one that `tare_profile` could have made:
//! a parent before its children, indices within the model, a root of the kind `Program` for each location. The other tool's
//! overhead is in the times, and nothing says how much: they are to be shown as measured.
//!
//! What is absent: no file is opened, nothing is corrected; what is read is not trusted, and nothing panics on it.

mod archive;
pub mod cube;
mod error;
mod model;
pub mod tau;

pub use error::ForeignError;
pub use model::Foreign;
