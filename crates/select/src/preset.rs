//! The presets: paper 2's filters, and the union that it proposes to try, as filter files like any other.

use std::fmt;
use std::str::FromStr;

use crate::filter::{Filter, FilterError};

/// A filter that ships with the tool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Preset {
    name: &'static str,
    text: &'static str,
}

macro_rules! presets {
    ($($name:literal),*) => {
        [$(Preset { name: $name, text: include_str!(concat!("../presets/", $name, ".xml")) }),*]
    };
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 7] = presets!["auto", "all", "mpi-path", "cc2", "cc3", "loc5", "mpi-path+cc3"];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// The filter file.
    #[must_use]
    pub const fn text(self) -> &'static str {
        self.text
    }

    /// The filter.
    ///
    /// # Errors
    /// None for the presets that ship; a test reads them all.
    pub fn filter(self) -> Result<Filter, FilterError> {
        Filter::parse(self.text)
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A name that no preset has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown preset `{name}`; known are {}", Preset::ALL.map(Preset::name).join(", "))]
pub struct UnknownPreset {
    /// The name.
    pub name: String,
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|preset| preset.name() == name).ok_or_else(|| UnknownPreset { name: name.to_string() })
    }
}
