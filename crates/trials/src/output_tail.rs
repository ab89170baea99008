//! The end of what an endpoint printed, for people.

use std::{
    fmt::Write as _,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use quiclab_inputs::open_unlinked;
use quiclab_units::shown;
use serde::Serialize;

/// Lines that are shown of an endpoint.
const MOST_LINES: usize = 10;
/// Characters that are shown of a line.
const MOST_CHARACTERS: usize = 300;
/// Bytes at the end of a file that are looked at.
const MOST_BYTES: u64 = 64 << 10;

/// The end of what one endpoint printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutputTail {
    /// `server` or `client`.
    pub role: &'static str,
    /// The file with all of it; `None` where it printed nothing.
    pub file: Option<PathBuf>,
    /// The last lines of the output.
    pub last_lines: Vec<String>,
    /// True where there is more before them.
    pub is_cut: bool,
}

/// What the endpoints printed in a run whose files are in `folder`, of those that were started: standard error, or standard output
/// where that is empty.
pub fn of_run(folder: &Path) -> Vec<OutputTail> {
    let roles = ["client", "server"].into_iter().filter(|role| folder.join(role).is_dir());
    roles.map(|role| of_endpoint(role, &folder.join(role))).collect()
}

/// The same of one endpoint; `folder` has its `stderr` and `stdout`.
pub fn of_endpoint(role: &'static str, folder: &Path) -> OutputTail {
    for file in ["stderr", "stdout"].map(|name| folder.join(name)) {
        let (last_lines, is_cut) = end(&file).unwrap_or_default();
        if !last_lines.is_empty() {
            return OutputTail { role, file: Some(file), last_lines, is_cut };
        }
    }
    OutputTail { role, file: None, last_lines: vec![], is_cut: false }
}

/// What the endpoints printed, in words for a terminal, indented below what failed.
pub fn in_words(all: &[OutputTail]) -> String {
    let mut text = String::new();
    for output_tail in all {
        let OutputTail { role, file, last_lines, is_cut } = output_tail;
        let Some(file) = file else {
            let _ = writeln!(text, "     the {role} printed nothing");
            continue;
        };
        let file = file.display();
        let _ = match is_cut {
            true => writeln!(text, "     the {role} printed, at the end of {file}:"),
            false => writeln!(text, "     the {role} printed ({file}):"),
        };
        for line in last_lines {
            let _ = writeln!(text, "       | {line}");
        }
    }
    text
}

/// The last lines of a file, and whether there are more.
fn end(path: &Path) -> std::io::Result<(Vec<String>, bool)> {
    let mut file = open_unlinked(path)?;
    let length = file.metadata()?.len();
    let skipped = length.saturating_sub(MOST_BYTES);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let first = lines.len().saturating_sub(MOST_LINES);
    Ok((lines[first..].iter().map(|line| harmless(line)).collect(), skipped > 0 || first > 0))
}

/// What an endpoint prints must not move the cursor of whoever reads it.
fn harmless(line: &str) -> String {
    let cut: String =
        line.chars().take(MOST_CHARACTERS).map(|letter| if letter == '\t' { ' ' } else { letter }).collect();
    let mut shown = shown(&cut).into_owned();
    if line.chars().nth(MOST_CHARACTERS).is_some() {
        shown.push_str(" ...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn output_tail(stderr: &str, stdout: &str) -> (OutputTail, String) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("stderr", stderr), ("stdout", stdout)] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let output_tail = of_endpoint("server", folder.path());
        let words = in_words(std::slice::from_ref(&output_tail));
        (output_tail, words)
    }

    #[test]
    fn the_last_lines_of_standard_error_are_shown_with_their_file() {
        let text: String = (1..=30).map(|line| format!("line {line}\n")).collect();
        let (output_tail, words) = output_tail(&text, "other");
        assert_eq!(output_tail.last_lines.first().unwrap(), "line 21");
        assert_eq!(output_tail.last_lines.last().unwrap(), "line 30");
        assert!(output_tail.is_cut);
        assert!(words.contains("stderr") && words.contains("| line 30\n") && !words.contains("line 20\n"), "{words}");
    }

    #[test]
    fn standard_output_is_shown_where_standard_error_is_empty() {
        assert_eq!(output_tail("\n", "it is here").0.last_lines, ["it is here"]);
        assert_eq!(output_tail("", "").1, "     the server printed nothing\n");
    }

    #[test]
    fn escape_sequences_and_endless_lines_are_made_harmless() {
        let (output_tail, _) = output_tail(&format!("\u{1b}[2Jgone\n{}", "x".repeat(1 << 20)), "");
        assert!(output_tail.is_cut, "{output_tail:?}");
        assert!(output_tail.last_lines.iter().all(|line| !line.contains('\u{1b}') && line.len() < 400));
    }
}
