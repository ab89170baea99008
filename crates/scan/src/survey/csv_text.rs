//! Foreign text in CSV. Programs for spreadsheets take a cell that begins with `=`, `+`, `-`, `@` or a control character for a formula, quoted
//! or not, and a server chooses what its headers begin with. Such a text gets an apostrophe before it ([OWASP, CSV injection]), which
//! spreadsheets do not show. One that has apostrophes before it already gets one more, so that reading gives back what was written.
//!
//! [OWASP, CSV injection]: https://owasp.org/www-community/attacks/CSV_Injection

use std::borrow::Cow;

const APOSTROPHE: char = '\'';
/// What a formula begins with, or what spreadsheets skip before one; the wide forms are those of Japanese keyboards.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// A text as it is written.
pub fn written(text: &str) -> Cow<'_, str> {
    if is_formula(text) { format!("{APOSTROPHE}{text}").into() } else { text.into() }
}

/// The text of a cell that has an apostrophe because of [`written`]; `None` where it has none.
pub fn original(cell: &str) -> Option<&str> {
    cell.strip_prefix(APOSTROPHE).filter(|text| is_formula(text))
}

fn is_formula(text: &str) -> bool {
    text.trim_start_matches(APOSTROPHE).starts_with(FORMULA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_begins_as_a_formula_and_each_is_read_as_it_was() {
        for text in
            ["=HYPERLINK(\"http://a\")", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\n=x", "'=x", "''-x", "\u{ff1d}x"]
        {
            let cell = written(text);
            assert_eq!(cell, format!("'{text}"));
            assert_eq!(original(&cell), Some(text));
        }
        for text in ["", "quic.example", "'", "'quoted'", "a=b", "2001:db8::1", " =x"] {
            assert_eq!(written(text), text);
            assert_eq!(original(text), None);
        }
    }
}
