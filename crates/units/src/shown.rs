//! Foreign text, as it is shown to a person: names of files, what a program printed, what a capture or a qlog says.
//!
//! Such text can have control characters that move a terminal's cursor, change its colours or make it answer, and characters that turn the
//! direction of writing, so that a line reads as something else. They are shown as the escapes that JSON has, such as `\u001b`, so that the same
//! functions serve texts and JSON, in which all of them can be only within strings.

use std::{borrow::Cow, fmt::Write, path::Path};

/// `text` in one line: without any character that is not simply a letter, a sign or a space.
pub fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden)
}

/// The same of a text that has lines and tabs of its own: a whole message, a table, a page, or JSON.
pub fn shown_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| is_hidden(letter) && letter != '\n' && letter != '\t')
}

/// The name of a file in a message. `Path::display` would let a name with a line break pass as two lines of ours.
pub trait ShowPath {
    /// The name in one line.
    fn shown(&self) -> String;
}

impl ShowPath for Path {
    fn shown(&self) -> String {
        shown(&self.to_string_lossy()).into_owned()
    }
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            letter if !is_escaped(letter) => escaped.push(letter),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            letter => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    // Writing into memory does not fail.
                    let _ = write!(escaped, "\\u{unit:04x}");
                }
            }
        }
    }
    Cow::Owned(escaped)
}

/// True for control characters, for those that change the direction of writing, and for those that take no room.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            // The soft hyphen, and the mark of Arabic letters.
            '\u{ad}' | '\u{61c}'
            // Without width, joiners, and marks of direction.
            | '\u{200b}'..='\u{200f}'
            // Separators of lines and paragraphs, embeddings and overrides.
            | '\u{2028}'..='\u{202e}'
            // Invisible operators, and isolates.
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            // Tags.
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_overrides_are_shown_and_letters_are_left_alone() {
        let usual = "Grüße, 東京 🦀: a/b_c\\d";
        assert!(matches!(shown(usual), Cow::Borrowed(same) if same == usual));
        let hostile = "\u{1b}[2J\u{7}\r\u{7f}\u{9b}31m\u{202e}exe\u{2066}\u{200b}\u{e0041}\0";
        let expected = r"\u001b[2J\u0007\r\u007f\u009b31m\u202eexe\u2066\u200b\udb40\udc41\u0000";
        assert_eq!(shown(hostile), expected);
        assert_eq!(shown_lines(hostile), expected);
    }

    #[test]
    fn lines_are_kept_only_where_they_are_meant() {
        assert_eq!(shown("a\n\tb"), r"a\n\tb");
        assert_eq!(shown_lines("a\n\tb\r\n"), "a\n\tb\\r\n");
    }

    #[test]
    fn the_name_of_a_file_is_one_line() {
        assert_eq!(Path::new("a\nerror: b").shown(), r"a\nerror: b");
    }

    #[test]
    fn json_says_the_same_before_and_after() {
        // serde_json writes C0 controls as escapes and all else as it is.
        let json = "{\"name\": \"a\u{9b}\u{202e}\u{e0041}\\u001b\"}";
        assert_eq!(shown_lines(json), r#"{"name": "a\u009b\u202e\udb40\udc41\u001b"}"#);
    }
}
