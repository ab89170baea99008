//! Values that arguments of several verbs have.

/// Parses a SHA-256 of 64 hexadecimal digits, with or without colons between them, and returns it in lower case. `printed_by` is the program
/// that prints such hashes, for the message.
///
/// # Errors
/// Any other text.
pub(super) fn parse_sha256(text: &str, printed_by: &str) -> Result<String, String> {
    let digits: String = text.chars().filter(|digit| *digit != ':').collect::<String>().to_ascii_lowercase();
    match digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        true => Ok(digits),
        false => Err(format!("found {text:?}, expected 64 hexadecimal digits, as {printed_by} prints them")),
    }
}
