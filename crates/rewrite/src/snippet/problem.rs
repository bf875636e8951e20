//! What can be wrong in an adapter, as data; each has its sentence and its remedy.

use std::borrow::Cow;

/// What is wrong.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file is not well-formed XML.
    #[error("the file is not well-formed XML: {message}")]
    Xml {
        /// What the XML parser says.
        message: String,
        /// What to do next.
        remedy: String,
    },
    /// The file is no text in UTF-8.
    #[error("the byte {0:#04x} is no text in UTF-8")]
    Encoding(u8),
    /// Something that our own runtime takes no notice of.
    #[error("an adapter with runtime=\"tareweight\" has nothing else, and here is <{element}>")]
    Native {
        /// The element.
        element: String,
    },
    /// An element that has no meaning at its place.
    #[error("there is no element <{name}> in <{parent}>")]
    Element {
        /// The element.
        name: String,
        /// What it stands in.
        parent: String,
        /// What may stand there.
        expected: &'static str,
    },
    /// The outermost element is another one.
    #[error("the outermost element is <{name}>, not <adapter>")]
    Root {
        /// The element.
        name: String,
    },
    /// It would insert nothing.
    #[error("the adapter has no snippet and no library: nothing would be inserted")]
    Nothing,
    /// An attribute that has no meaning.
    #[error("<{element}> has no attribute `{name}`")]
    Attribute {
        /// The element.
        element: String,
        /// The attribute.
        name: String,
        /// What it may have.
        expected: &'static str,
    },
    /// An attribute that must be there.
    #[error("<{element}> needs the attribute `{name}`")]
    NoAttribute {
        /// The element.
        element: String,
        /// The attribute.
        name: &'static str,
    },
    /// An attribute's value makes no sense.
    #[error("`{value}` is no {what}")]
    Value {
        /// The value.
        value: String,
        /// What it should be.
        what: &'static str,
        /// What may stand there.
        expected: Cow<'static, str>,
    },
    /// Text where only elements may stand.
    #[error("there is text in <{element}>")]
    StrayText {
        /// The element.
        element: String,
    },
    /// Two things of one name.
    #[error("there are two {what} `{name}`")]
    Twice {
        /// Variables, elements or alternatives.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two alternatives of one name.
    #[error("there are two <{level}> named `{name}`")]
    SameName {
        /// The level's element.
        level: &'static str,
        /// The name.
        name: String,
    },
    /// The adapter's filter is wrong.
    #[error("the adapter's filter: {message}")]
    Filter {
        /// What the filter's parser says.
        message: String,
    },
    /// A character that begins nothing.
    #[error("`{0}` has no meaning here")]
    Character(char),
    /// A text, character or context variable without an end.
    #[error("{what} has no end")]
    Unended {
        /// A text, a character, a context variable, a comment.
        what: &'static str,
    },
    /// `\` before a character that it has no meaning for.
    #[error("`\\{0}` has no meaning in a text")]
    Escape(char),
    /// A zero byte in a text would end it.
    #[error("a text cannot hold a zero byte")]
    ZeroByte,
    /// A number that does not fit in 64 bits, or none at all.
    #[error("`{0}` is no decimal or hexadecimal number of 64 bits")]
    Number(String),
    /// `@…@` with an unknown name.
    #[error("there is no context variable @{0}@")]
    Context(String),
    /// Something else should stand here.
    #[error("{found} where {expected} should stand")]
    Unexpected {
        /// What stands here.
        found: String,
        /// What should.
        expected: &'static str,
    },
    /// A statement or operator of C that snippets do not have.
    #[error("snippets have no `{0}`")]
    Statement(&'static str),
    /// A type that snippets do not have.
    #[error("snippets have no type `{0}`")]
    Type(String),
    /// An operator that changes a variable in passing.
    #[error("snippets have no operator `{operator}`")]
    Changing {
        /// The operator.
        operator: String,
        /// The same as snippets have it.
        instead: String,
    },
    /// More nesting than anybody reads.
    #[error("more than {limit} levels of nesting")]
    Deep {
        /// The limit.
        limit: usize,
    },
    /// More arguments than a frame has room for.
    #[error("more than {limit} arguments")]
    Arguments {
        /// The limit.
        limit: usize,
    },
    /// A name that was never declared.
    #[error("there is no variable `{0}`")]
    Variable(String),
    /// A text where an integer should be.
    #[error("a text where an integer should be")]
    NotInteger,
    /// A value that is not known before the program runs, in a text.
    #[error("only texts, numbers and context variables that are known beforehand can be joined")]
    NotKnown,
    /// A context variable that does not exist at this level or point.
    #[error("@{name}@ is not known in <{point}> of <{level}>")]
    NotHere {
        /// The context variable.
        name: &'static str,
        /// The point.
        point: &'static str,
        /// The level.
        level: &'static str,
    },
    /// A function that neither the program nor a dependency has.
    #[error("neither the program nor a dependency of the adapter has a function `{0}`")]
    Function(String),
    /// A function that a static program does not have.
    #[error("the program is linked statically and has no function `{0}`")]
    StaticFunction(String),
    /// Several functions of the program bear this name.
    #[error("the program has several functions `{0}`")]
    Ambiguous(String),
    /// A library that a static program cannot load.
    #[error("the program is linked statically: it cannot load {0}")]
    StaticDependency(String),
    /// An alternative that a filter refers to and the adapter does not have.
    #[error("the adapter has no <{level}> named `{name}`")]
    Alternative {
        /// The level's element.
        level: &'static str,
        /// The name.
        name: String,
    },
}

impl Problem {
    /// What to do next.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Xml { remedy, .. } => remedy.clone(),
            Self::Encoding(_) => "save the file in UTF-8; from Latin-1, `iconv -f LATIN1 -t UTF-8 OLD > NEW` does it".into(),
            Self::Native { element } => {
                format!("take runtime=\"tareweight\" out, so that <{element}> is used, or <{element}>; `tare instrument --filter` chooses functions")
            }
            Self::Root { .. } => "begin the file with <adapter>; tare instrument --print-adapter cyg-profile shows one".into(),
            Self::Element { expected, .. } | Self::Attribute { expected, .. } => format!("it may be {expected}"),
            Self::Value { expected, .. } => format!("it may be {expected}"),
            Self::NoAttribute { name, .. } => format!("add {name}=\"…\""),
            Self::StrayText { .. } => "put code into <init>, <enter>, <exit>, <before>, <after> or <finalize>".into(),
            Self::Nothing => {
                "write what is to be inserted, such as <functions><enter> … </enter></functions>; tare instrument --print-adapter counting shows one"
                    .into()
            }
            Self::Twice { what: "elements", .. } => "put what both have into one, and remove the other".into(),
            Self::Twice { .. } => "give one of them another name, or remove it".into(),
            Self::SameName { .. } => "give one of them a name=\"…\" of its own, by which filters choose it, or remove it".into(),
            Self::Filter { .. } => "write it as in a filter file of `tare select --filter` (docs/filters.md)".into(),
            Self::Character(_) => {
                "the operators are || && | ^ & == != < <= > >= << >> + - * / % ! ~ and `.` between texts; texts stand between double quotes".into()
            }
            Self::Unended { what: "a context variable" } => "write @ at both of its ends, as in @ROUTINE@".into(),
            Self::Unended { what: "a comment" } => "end it with */".into(),
            Self::Unended { what } => format!("end {what} on its line as it began; \\n is a new line in it"),
            Self::Escape(_) => "known are \\n \\t \\r \\\\ \\\" \\' \\a \\b \\f \\v \\e and \\xHH".into(),
            Self::ZeroByte => "take it out: texts end by themselves".into(),
            Self::Number(_) => {
                "write a decimal number that begins with another digit than 0, or 0x and hexadecimal digits, of at most 64 bits".into()
            }
            Self::Context(_) => format!("there are {}", super::ast::Context::ALL.map(|one| format!("@{}@", one.name())).join(" ")),
            Self::Unexpected { expected, .. } => format!("write {expected}"),
            Self::Statement("return" | "break" | "continue" | "goto") => "put what is to be left out into `if (…) { … }`".into(),
            Self::Statement("switch" | "case" | "default") => "write `if (…) … else if (…) …`".into(),
            Self::Statement("sizeof") => {
                "write how many bytes it has: <var size=\"…\"> says it; a char has 1, a short 2, an int 4, a long and a pointer 8".into()
            }
            Self::Statement(_) => "put it into a function of a library or of the program, and call that".into(),
            Self::Type(_) => "variables are integers: char, short, int, long, with signed or unsigned, int8_t … uint64_t; \
                 hand other values on in a function of a library"
                .into(),
            Self::Changing { instead, .. } => format!("write {instead}"),
            Self::Deep { .. } => "split the expression with variables of its own".into(),
            Self::Arguments { .. } => "call a function with fewer, or several functions".into(),
            Self::Variable(name) => format!("declare it: <variables><var name=\"{name}\" size=\"8\"/></variables>, or `long {name};` in the snippet"),
            Self::NotInteger => "texts can be joined with `.` and handed to functions, nothing else".into(),
            Self::NotKnown => "hand the value to a function as an argument of its own, such as printf's %d".into(),
            Self::NotHere { .. } => "docs/adapters.md lists what is known where".into(),
            Self::Function(name) => {
                format!("add <dependencies><library name=\"…\"/></dependencies> with the library that defines {name}, or correct the name")
            }
            Self::StaticFunction(name) => {
                format!("call a function that the program has, link {name} into it, or link the program dynamically (without -static)")
            }
            Self::Ambiguous(_) => "call one whose name is unique in the program".into(),
            Self::StaticDependency(_) => {
                "link the program dynamically (without -static), or link the library into it and take the dependency out".into()
            }
            Self::Alternative { level, .. } => format!("name one of its <{level}>, or add one with this name"),
        }
    }
}
