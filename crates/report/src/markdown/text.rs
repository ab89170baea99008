//! Text in Markdown.

use quiclab_units::shown;

/// Text that Markdown would read as something else.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in shown(text).chars() {
        if "\\`*_[]<>|#".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}
