//! Wildcards as regular expressions.

use crate::filter::Meaning;

/// `fnmatch(3)` without flags: `*`, `?`, `[a-z]`, `[!a-z]`, and a backslash that takes the meaning from what follows.
pub(super) fn fnmatch(word: &str) -> Meaning {
    let mut literal = String::new();
    let mut expression = String::from("(?s)^");
    let mut is_literal = true;
    let mut rest = word.chars();
    while let Some(character) = rest.next() {
        match character {
            '*' => {
                is_literal = false;
                expression.push_str(".*");
            }
            '?' => {
                is_literal = false;
                expression.push('.');
            }
            '[' => match class(rest.as_str()) {
                Some((class, length)) => {
                    is_literal = false;
                    expression.push_str(&class);
                    rest = rest.as_str()[length..].chars();
                }
                None => plain('[', &mut literal, &mut expression),
            },
            '\\' => plain(rest.next().unwrap_or('\\'), &mut literal, &mut expression),
            character => plain(character, &mut literal, &mut expression),
        }
    }
    expression.push('$');
    if is_literal { Meaning::Literal(literal) } else { Meaning::Expression(expression) }
}

/// One character that stands for any text, all others for themselves.
pub(super) fn stars(word: &str, star: char) -> Meaning {
    if word.contains([star, '?']) { any_of(&[word], star) } else { Meaning::Literal(word.to_string()) }
}

/// One of these words, in which a character stands for any text.
pub(super) fn any_of(words: &[&str], star: char) -> Meaning {
    if !words.iter().any(|word| word.contains([star, '?'])) {
        return Meaning::Choice(words.iter().map(ToString::to_string).collect());
    }
    let mut expression = String::from("(?s)^(?:");
    for (index, word) in words.iter().enumerate() {
        expression.push_str(if index > 0 { "|" } else { "" });
        for character in word.chars() {
            match character {
                character if character == star => expression.push_str(".*"),
                '?' => expression.push('.'),
                character => plain(character, &mut String::new(), &mut expression),
            }
        }
    }
    expression.push_str(")$");
    Meaning::Expression(expression)
}

fn plain(character: char, literal: &mut String, expression: &mut String) {
    literal.push(character);
    expression.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
}

/// The set of characters that begins behind a bracket, and its bytes; `None` where no bracket closes it.
fn class(text: &str) -> Option<(String, usize)> {
    let (negation, inner) = match text.strip_prefix(['!', '^']) {
        Some(inner) => ("^", inner),
        None => ("", text),
    };
    // A closing bracket in the first place is a member.
    let first = inner.chars().next()?;
    let end = first.len_utf8() + inner.get(first.len_utf8()..)?.find(']')?;
    let mut class = format!("[{negation}");
    for character in inner[..end].chars() {
        if matches!(character, '\\' | '[' | ']' | '^' | '&' | '~') {
            class.push('\\');
        }
        class.push(character);
    }
    class.push(']');
    Some((class, text.len() - inner.len() + end + 1))
}

/// The pattern that matches this text and no other.
pub(super) fn escaped(text: &str) -> String {
    let mut pattern = String::new();
    for character in text.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '\\' | '#' | ' ' | '\t') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Pattern;

    fn matches(meaning: Meaning, name: &str) -> bool {
        Pattern::wildcards(vec![(String::new(), meaning)]).expect("a pattern").matches(name)
    }

    #[test]
    fn wildcards_match_as_fnmatch_does() {
        for (word, name, wanted) in [
            ("foo*", "foobar", true),
            ("foo*", "afoo", false),
            ("f?o", "fxo", true),
            ("f?o", "fo", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[!a-c]x", "dx", true),
            ("[]x]y", "]y", true),
            ("operator\\[\\](int)", "operator[](int)", true),
            ("a[b", "a[b", true),
            ("a.b", "axb", false),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
        ] {
            assert_eq!(matches(fnmatch(word), name), wanted, "{word} {name}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..proptest::prelude::ProptestConfig::default() })]

        #[test]
        fn any_text_is_a_pattern_and_an_escaped_one_matches_itself_alone(text in "\\PC{0,24}", other in "\\PC{0,8}") {
            if let Ok(pattern) = Pattern::wildcards(vec![(text.clone(), fnmatch(&text))]) {
                let _ = pattern.matches(&other);
            }
            let exact = fnmatch(&escaped(&text));
            assert!(matches(exact.clone(), &text));
            assert_eq!(matches(exact, &other), text == other);
        }
    }
}
