//! `quiclab packets`

use std::{
    collections::BTreeSet,
    io::{self, BufWriter, StdoutLock, Write},
    ops::ControlFlow,
};

use anyhow::{Context, Result, bail};
use quiclab_pages::transfer::{
    listing::{Listing, capture_of, tap_name},
    row::{HEADING, Row},
    which::one_record,
};
use quiclab_report::paragraph;
use quiclab_testbed::contract::SERVER_PORT;
use quiclab_units::{Duration, ShowPath, shown_lines};
use quiclab_wire::{Capture, CaptureReader, Dissector, DissectorSettings, Segment};

use crate::{session::bounded_input, settings::PacketsSettings, terminal::output};

/// Version of the JSON. Changes when a field changes its meaning, its unit or its name.
const SCHEMA: u32 = 1;

/// Lists packets. Returns 0.
///
/// # Errors
/// Where the capture or a key log cannot be read, or has no such tap.
pub fn packets(settings: &PacketsSettings) -> Result<u8> {
    let (path, is_record) = capture_of(&one_record(&settings.path)?)?;
    let name = path.shown();
    let file = bounded_input::open(&path).with_context(|| format!("{name}: cannot be opened"))?;
    let mut reader = CaptureReader::new(file).with_context(|| name.clone())?;
    let server_port = settings.server_port.or(is_record.then_some(SERVER_PORT));
    let mut dissector = Dissector::new(DissectorSettings { server_port, interfaces_are_one_tap: false });
    dissector.add_keys(&bounded_input::read_key_logs(&settings.keys)?);
    let mut listing = Listing::new(settings.tap.as_deref(), is_record);
    listing.show_around(settings.around, settings.span);
    let mut printer = Printer::new(settings, &name);
    let mut printed = Ok(());
    let mut on_segment = |number, segment: &Segment, capture: &Capture| {
        dissector.add_secrets(&capture.secrets);
        if !listing.wants(segment, capture) {
            return ControlFlow::Continue(());
        }
        let observed = dissector.on_segment(segment);
        listing.on_segment(number, segment, observed.as_ref());
        while let (Ok(()), Some(row)) = (&printed, listing.rows.pop(segment.time)) {
            printed = printer.row(&row);
        }
        // Without a row so far, the end of the capture is still to be named.
        let has_seen_any = printer.rows + printer.filtered > 0;
        let is_over = printer.is_closed || (has_seen_any && listing.is_over(segment.time));
        if is_over || printed.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    reader.for_each_segment(None, &mut on_segment).with_context(|| name.clone())?;
    printed?;
    while let Some(row) = listing.rows.pop_anyway() {
        printer.row(&row)?;
    }
    if let (Some(tap), None) = (&settings.tap, listing.tap) {
        let taps: Vec<_> = (0..reader.summary().interfaces.len()).map(|tap| tap_name(reader.summary(), tap)).collect();
        bail!("{name}: found no packet at tap {tap:?}; its taps are {}", taps.join(", "));
    }
    let tap = listing.tap.map(|tap| tap_name(reader.summary(), tap as usize));
    printer.finish(tap.as_deref(), listing.last_ns, listing.nearest_ns)?;
    if let Some(cut) = reader.summary().truncation {
        status!(
            "quiclab: warning: {name}: the capture is truncated in the middle of a record at byte {}: packets after \
             it are missing",
            cut.byte_offset
        );
        return Ok(1);
    }
    Ok(0)
}

/// Fewest columns for a packet's content where it stands behind the others; with fewer it has lines of its own.
const FEWEST_FOR_CONTENT: usize = 40;
/// Indent of content on lines of its own.
const INDENT: usize = 10;

/// One line; in a terminal as many as the content needs.
fn lines(columns: &str, content: &str, width: Option<u16>) -> String {
    let text = match width {
        Some(width) if columns.len() + FEWEST_FOR_CONTENT <= usize::from(width) => {
            paragraph(&format!("{columns} {content}"), width, columns.len() + 1)
        }
        Some(width) => {
            format!("{}\n{}", columns.trim_end(), paragraph(&format!("{:INDENT$}{content}", ""), width, INDENT))
        }
        None => format!("{columns} {content}"),
    };
    text.trim_end().to_owned()
}

/// Writes rows as they come.
struct Printer<'a> {
    settings: &'a PacketsSettings,
    file: &'a str,
    rows: u64,
    /// The middle of the window has been passed.
    is_past: bool,
    output: BufWriter<StdoutLock<'static>>,
    /// Columns of the terminal, if it is one.
    width: Option<u16>,
    /// Whoever reads has seen enough.
    is_closed: bool,
    /// Packets that the filter left out.
    filtered: u64,
    /// Names of the frames that these have.
    other_frames: BTreeSet<&'static str>,
}

impl<'a> Printer<'a> {
    fn new(settings: &'a PacketsSettings, file: &'a str) -> Self {
        Printer {
            settings,
            file,
            rows: 0,
            is_past: false,
            output: BufWriter::new(io::stdout().lock()),
            width: output::terminal_width(),
            is_closed: false,
            filtered: 0,
            other_frames: BTreeSet::new(),
        }
    }

    fn write(&mut self, text: &str) -> Result<()> {
        match self.output.write_all(shown_lines(text).as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            result => result.context("standard output"),
        }
    }

    fn row(&mut self, row: &Row) -> Result<()> {
        if !self.settings.filter.passes(row) {
            self.filtered += 1;
            self.other_frames.extend(&row.frames);
            return Ok(());
        }
        self.rows += 1;
        if self.settings.json {
            let begin = if self.rows == 1 { self.json_begin()? } else { ",\n".to_owned() };
            return self.write(&(begin + &serde_json::to_string(row)?));
        }
        let around = self.settings.around.filter(|around| row.time_ns >= around.as_nanos() && !self.is_past);
        self.is_past |= around.is_some();
        let mark = if around.is_some() { '>' } else { ' ' };
        if self.rows == 1 {
            self.write(&(lines(HEADING, "content", self.width) + "\n"))?;
        }
        self.write(&(lines(&format!("{mark} {row}"), &row.content, self.width) + "\n"))
    }

    fn json_begin(&self) -> Result<String> {
        Ok(format!(
            "{{\"schema\": {SCHEMA}, \"file\": {}, \"around_ns\": {}, \"span_ns\": {}, \"packets\": [\n",
            serde_json::to_string(self.file)?,
            serde_json::to_string(&self.settings.around.map(Duration::as_nanos))?,
            serde_json::to_string(&self.settings.around.map(|_| self.settings.span.as_nanos()))?,
        ))
    }

    fn finish(mut self, tap: Option<&str>, last_ns: Option<u64>, nearest_ns: [Option<u64>; 2]) -> Result<()> {
        if self.settings.json {
            let begin = if self.rows == 0 { self.json_begin()? } else { String::new() };
            self.write(&format!("{begin}\n], \"tap\": {}}}\n", serde_json::to_string(&tap)?))?;
        }
        if let Err(error) = self.output.flush()
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            return Err(error).context("standard output");
        }
        if self.settings.json {
            return Ok(());
        }
        let tap = tap.unwrap_or("none");
        match last_ns {
            None => status!("{}: no packet at the tap", self.file),
            Some(_) if self.rows == 0 && self.filtered > 0 => {
                let names: Vec<_> = self.other_frames.iter().map(|name| name.to_uppercase()).collect();
                let frames = if names.is_empty() { "none that can be read".to_owned() } else { names.join(", ") };
                status!(
                    "{}: none of {} packets at tap {tap} has what the options ask for; their frames: {frames}",
                    self.file,
                    self.filtered
                );
            }
            Some(_) if self.filtered > 0 => status!(
                "{}: {} of {} packets at tap {tap}; times since its first packet",
                self.file,
                self.rows,
                self.rows + self.filtered
            ),
            Some(last) if self.rows == 0 => {
                let seconds = |ns: u64| format!("{:.9} s", ns as f64 / 1e9);
                let nearest: Vec<_> = nearest_ns.into_iter().flatten().map(seconds).collect();
                status!(
                    "{}: no packet within {} of that time; the nearest at tap {tap} are at {}, of packets from 0 to {}",
                    self.file,
                    self.settings.span,
                    nearest.join(" and "),
                    seconds(last)
                );
            }
            Some(_) => status!("{}: {} packets at tap {tap}; times since its first packet", self.file, self.rows),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_has_lines_of_its_own_in_a_narrow_terminal_only() {
        let columns = ">       1   0.000000000           - server  1322         - DROPPED             ";
        let content = "1-RTT 4: ACK 2-3, NEW_CONNECTION_ID, NEW_CONNECTION_ID, RETIRE_CONNECTION_ID, HANDSHAKE_DONE";
        assert_eq!(lines(columns, content, None), format!("{columns} {content}"));
        let narrow = lines(columns, content, Some(80));
        let wide = lines(columns, content, Some(120));
        assert_eq!(narrow.lines().next(), Some(columns.trim_end()));
        assert_eq!(narrow.lines().nth(1), Some("          1-RTT 4: ACK 2-3, NEW_CONNECTION_ID, NEW_CONNECTION_ID,"));
        assert!(wide.starts_with(&format!("{columns} 1-RTT 4: ACK 2-3")), "{wide}");
        for (text, width) in [(narrow, 80), (wide, 120)] {
            assert!(text.lines().all(|line| line.len() <= width), "{text}");
            assert_eq!(
                text.split_whitespace().collect::<Vec<_>>(),
                format!("{columns}{content}").split_whitespace().collect::<Vec<_>>()
            );
        }
        assert_eq!(HEADING.len(), columns.len());
    }
}
