//! What can be wrong with a filter file, and where.

/// An error in a filter file; whoever opened the file adds its name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct FilterError {
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// What is wrong, and what was expected.
    pub problem: Problem,
}

/// What is wrong with a filter.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It is no XML.
    #[error("not well-formed XML: {what}; expected {expected}")]
    NotXml {
        /// What was found.
        what: String,
        /// What was expected in its place.
        expected: String,
    },
    /// An element where another was expected.
    #[error("<{found}> is not known in <{within}>; expected {expected}")]
    UnknownElement {
        /// The element.
        found: String,
        /// What it stands in.
        within: String,
        /// What may stand there.
        expected: String,
    },
    /// The document is no filter.
    #[error("the document begins with <{found}>; expected <filter>")]
    NoFilter {
        /// Its root element.
        found: String,
    },
    /// An attribute that the element does not have.
    #[error("<{element}> has no attribute `{found}`; expected {expected}")]
    UnknownAttribute {
        /// The element.
        element: String,
        /// The attribute.
        found: String,
        /// What it has.
        expected: String,
    },
    /// An attribute that is missing.
    #[error("<{element}> lacks {expected}")]
    MissingAttribute {
        /// The element.
        element: String,
        /// The attribute, with its values.
        expected: String,
    },
    /// A value that an attribute cannot have.
    #[error("{attribute}=\"{found}\" is not known; expected {expected}")]
    BadValue {
        /// The attribute.
        attribute: String,
        /// The value.
        found: String,
        /// The values that it can have.
        expected: String,
    },
    /// A range with nothing in it.
    #[error("no number is at least {min} and at most {max}; expected min to be the smaller one")]
    EmptyRange {
        /// The lower end.
        min: u64,
        /// The upper end.
        max: u64,
    },
    /// Text between elements.
    #[error("the text `{found}` means nothing in <{within}>; expected {expected}")]
    UnexpectedText {
        /// The text.
        found: String,
        /// The element that it stands in.
        within: String,
        /// What may stand there.
        expected: String,
    },
    /// An element with nothing in it.
    #[error("<{element}> is empty; expected {expected}")]
    Empty {
        /// The element.
        element: String,
        /// What was expected in it.
        expected: String,
    },
    /// A list without a name in it.
    #[error("there is no name in it; expected {expected}")]
    NoName {
        /// What was expected.
        expected: String,
    },
    /// More in an element than it can hold.
    #[error("<{element}> holds {found} conditions; expected one (join them with <and> or <or>)")]
    TooMany {
        /// The element.
        element: String,
        /// How many conditions.
        found: usize,
    },
    /// Too much nesting.
    #[error("elements are nested deeper than {limit} levels; expected a flatter filter")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// A word in a list of another tool that means nothing there.
    #[error("`{found}` means nothing here; expected {expected}")]
    UnexpectedWord {
        /// The word.
        found: String,
        /// What may stand there.
        expected: String,
    },
    /// A block in a list of another tool that does not end.
    #[error("{block} is not closed; expected {expected}")]
    NotClosed {
        /// What it begins with.
        block: String,
        /// What ends it.
        expected: String,
    },
    /// A pattern that cannot be used.
    #[error("the pattern `{pattern}` cannot be used: {what}")]
    BadPattern {
        /// The pattern.
        pattern: String,
        /// Why not.
        what: String,
    },
}
