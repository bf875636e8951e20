//! Text that goes into HTML.

use crate::layout::{Page, plain};
use crate::short::short_name;

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

/// A name in at most `room` columns, with all of it in the title where it was cut.
pub(crate) fn name(text: &str, room: usize) -> String {
    let short = short_name(text, room, &Page::default());
    if short == text { format!("<span>{}</span>", escape(text)) } else { format!("<span title=\"{}\">{}</span>", escape(text), escape(&short)) }
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
}
