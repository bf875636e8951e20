//! Text that goes into HTML.

use crate::layout::{Page, plain};
use crate::short::name_alone;

/// Text in which nothing is markup, nothing hidden and nothing turns the direction of what follows.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in plain(text, &Page::default()).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            character => escaped.push(character),
        }
    }
    escaped
}

/// The same of a sentence in which names and commands stand between backticks. Where one has no partner it is left as it is.
pub(crate) fn with_code(sentence: &str) -> String {
    let parts: Vec<String> = sentence.split('`').map(escape).collect();
    if parts.len().is_multiple_of(2) {
        return escape(sentence);
    }
    let marked = |(place, part): (usize, String)| if place % 2 == 1 { format!("<code>{part}</code>") } else { part };
    parts.into_iter().enumerate().map(marked).collect()
}

/// A name in at most `room` columns, with all of it in the title where it was cut.
pub(crate) fn name(text: &str, room: usize) -> String {
    let short = name_alone(text, room, &Page::default());
    let title = if short == text { String::new() } else { format!(" title=\"{}\"", escape(text)) };
    format!("<span{title}>{}</span>", breakable(&short))
}

/// A name that is broken between its words where it does not fit on a line.
fn breakable(name: &str) -> String {
    ["::", "&lt;", ",", "_"].into_iter().fold(escape(name), |text, end| text.replace(end, &format!("{end}<wbr>")))
}

/// The begin of a table that scrolls by itself where the page is narrow.
pub(crate) fn table(label: &str) -> String {
    format!("<div class=\"wide-table\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table class=\"figures\">", escape(label))
}

/// The end of such a table.
pub(crate) const TABLE_END: &str = "</table></div>";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_is_markup() {
        let escaped = escape("f<\"x\">('</script>')\u{202e}\n");
        assert_eq!(escaped, "f&lt;&quot;x&quot;&gt;(&#39;&lt;/script&gt;&#39;)??");
    }

    #[test]
    fn names_are_broken_between_their_words() {
        assert_eq!(name("a_b::c<d,e>", 20), "<span>a_<wbr>b::<wbr>c&lt;<wbr>d,<wbr>e&gt;</span>");
    }

    #[test]
    fn what_stands_between_backticks_is_code() {
        assert_eq!(with_code("`tare view a` shows `f<int>`"), "<code>tare view a</code> shows <code>f&lt;int&gt;</code>");
        assert_eq!(with_code("a name with ` in it"), "a name with ` in it");
    }
}
