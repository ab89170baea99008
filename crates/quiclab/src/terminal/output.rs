//! Standard output carries data, standard error talk. Nothing that a capture, an endpoint or a file's name says reaches
//! the terminal as it is: [`quiclab_units::shown`].

use std::io::{self, Write};

use anstyle::{AnsiColor, Color, Style};
use anyhow::{Context, Result};
use comfy_table::{ContentArrangement, Table, presets};
use quiclab_report::paragraphs;
use quiclab_units::shown_lines;

/// Prints a line as `eprintln!` does, for all talk.
macro_rules! status {
    ($($arguments:tt)*) => { $crate::terminal::output::tell_line(&format!($($arguments)*)) };
}

/// Says a line, or several, on standard error, wrapped at words where that is a terminal. One that nobody reads any more is no
/// error.
pub fn tell_line(text: &str) {
    let width = terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| width.0);
    let text = paragraphs(&shown_lines(text), width);
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end_matches('\n'));
}

/// Prints data. A reader that has seen enough and closed the pipe is no error.
///
/// # Errors
/// Where it cannot be written.
pub fn print(text: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(shown_lines(text).as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("standard output"),
    }
}

/// Prints lines, each with its colour where standard output is a terminal that has them and NO_COLOR is not set.
///
/// # Errors
/// Where one cannot be written.
pub fn print_lines<'a>(lines: impl Iterator<Item = (Option<AnsiColor>, &'a str)>) -> Result<()> {
    let mut output = anstream::stdout().lock();
    let write = || -> io::Result<()> {
        for (colour, line) in lines {
            let style = Style::new().fg_color(colour.map(Color::Ansi));
            writeln!(output, "{style}{}{style:#}", shown_lines(line))?;
        }
        output.flush()
    };
    match write() {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("standard output"),
    }
}

/// Columns of the terminal; `None` where standard output is none.
pub fn terminal_width() -> Option<u16> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0)
}

/// A table as wide as the terminal at most, without rows.
pub fn table<const COLUMNS: usize>(header: [&str; COLUMNS]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = terminal_width() {
        table.set_width(width);
    }
    table.set_header(header);
    table
}
