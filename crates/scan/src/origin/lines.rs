//! Lines of tables, bounded.

use std::io::{self, BufRead};

/// Longest line, in bytes. One prefix with a thousand origins has a tenth of it.
const LONGEST_LINE: u64 = 64 << 10;

/// A line that says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: found {found}, expected {expected}")]
pub struct BadLine {
    /// Counted from 1.
    pub line: u64,
    /// What it has, escaped and shortened.
    pub found: String,
    /// What it should have.
    pub expected: &'static str,
}

/// Why lines end early.
#[derive(Debug)]
pub(crate) enum Failed {
    Line(BadLine),
    Read(io::Error),
}

/// Hands every line that has content to `take`, without comments after `#` or `;` at its start.
pub(crate) fn for_each(
    mut input: impl BufRead,
    mut take: impl FnMut(u64, &str) -> Result<(), BadLine>,
) -> Result<u64, Failed> {
    let (mut number, mut line) = (0, Vec::new());
    loop {
        line.clear();
        let length = io::Read::take(&mut input, LONGEST_LINE).read_until(b'\n', &mut line).map_err(Failed::Read)?;
        if length == 0 {
            return Ok(number);
        }
        number += 1;
        let bad = |found: String, expected| Failed::Line(BadLine { line: number, found, expected });
        if length as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
            return Err(bad(format!("{LONGEST_LINE} bytes or more"), "a shorter line"));
        }
        let text = str::from_utf8(&line).map_err(|_| bad(quoted(&String::from_utf8_lossy(&line)), "UTF-8"))?;
        let text = if number == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        let content = text.trim();
        if !content.is_empty() && !content.starts_with(['#', ';']) {
            take(number, content).map_err(Failed::Line)?;
        }
    }
}

/// The beginning of a foreign text, for a person.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 80;
    let text = text.trim_end();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("\"{}...\"", quiclab_units::shown(&text[..end])),
        None => format!("\"{}\"", quiclab_units::shown(text)),
    }
}

/// The number of an AS, alone or as in `AS13335`.
pub(crate) fn asn(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("AS").or_else(|| text.strip_prefix("as")).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // 0 is nobody (RFC 7607).
    digits.parse().ok().filter(|asn| is_number && *asn != 0)
}
