//! How parts of a text stand out in a terminal that shows colours: by what they are. None means anything by its colour alone.

use std::ops::Range;

use anstyle::{AnsiColor, Style};

/// What a part of a text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// A label, or the head of a table.
    Heading,
    /// As it should be.
    Good,
    /// Something to be careful with.
    Warn,
    /// Something that got worse.
    Bad,
    /// A bar.
    Bar,
}

impl Role {
    /// Of the sixteen colours of every terminal, on its own ground.
    fn style(self) -> Style {
        match self {
            Self::Heading => Style::new().bold(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Warn => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Bar => AnsiColor::Blue.on_default(),
        }
    }
}

/// The text with its parts as they are shown; parts stand in their order and none within another.
pub(crate) fn painted(text: &str, parts: &[(Range<usize>, Role)]) -> String {
    let mut painted = String::with_capacity(text.len() + 16 * parts.len());
    let mut done = 0;
    for (part, role) in parts {
        let style = role.style();
        painted.push_str(&text[done..part.start]);
        painted.push_str(&format!("{style}{}{style:#}", &text[part.clone()]));
        done = part.end;
    }
    painted.push_str(&text[done..]);
    painted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_shown_and_the_rest_stays() {
        assert_eq!(painted("a bc d", &[(0..1, Role::Heading), (2..4, Role::Warn)]), "\u{1b}[1ma\u{1b}[0m \u{1b}[33mbc\u{1b}[0m d");
    }
}
