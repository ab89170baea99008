//! Standard output carries data, standard error talk.

use std::io::{self, Write};

use anyhow::{Context, Result};

/// Prints data. A reader that has seen enough and closed the pipe is no error.
///
/// # Errors
/// Where it cannot be written.
pub fn print(text: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("standard output"),
    }
}

/// Columns of the terminal; `None` where standard output is none.
pub fn terminal_width() -> Option<u16> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0)
}
