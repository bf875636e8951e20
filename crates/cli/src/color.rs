//! Whether text is coloured: as `--color` says; else each stream by itself, as the environment and its terminal say.

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;

/// When text is coloured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Color {
    /// Where a terminal shows it
    Auto,
    /// Also in files and pipes
    Always,
    /// Nowhere
    Never,
}

impl Color {
    /// From now on.
    pub(crate) fn set(self) {
        let choice = match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// Whether what is written to a stream is coloured.
pub(crate) fn on(stream: &impl RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}
