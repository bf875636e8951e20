//! Patterns for names, as the options of several verbs take them.

use std::fmt;

use regex::Regex;

use crate::failure::{Code, Failure};

/// What a name must contain: a piece of text, or `/…/`, a regular expression.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    /// Contained as it stands.
    Text(String),
    /// Found somewhere in the name.
    Expression(Regex),
}

impl Pattern {
    /// Reads the value of an option.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let Some(expression) = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) else {
            return Ok(Self::Text(text.to_string()));
        };
        Regex::new(expression).map(Self::Expression).map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string();
            Failure::new(Code::Usage, format!("{text} is no regular expression: {reason}"))
                .remedy("escape special characters by \\, or leave out the slashes to look for the text as it stands")
        })
    }

    /// Whether a name has it.
    pub(crate) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Text(text) => name.contains(text.as_str()),
            Self::Expression(expression) => expression.is_match(name),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Expression(expression) => write!(f, "/{expression}/"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn text_is_found_as_it_stands_and_expressions_between_slashes() {
        let matches = |pattern: &str, name: &str| Pattern::parse(pattern).expect("a pattern").matches(name);
        assert!(matches("operator*", "Vector::operator*(Vector const&)"));
        assert!(matches("/^MPI_I?send$/", "MPI_Isend"));
        assert!(!matches("/^MPI_I?send$/", "PMPI_Isend"));
        assert!(matches("/", "operator/"));
        assert!(Pattern::parse("/(/").is_err());
    }
}
