//! What `serve` answers: a line of JSON, and the bytes that it announces.

use std::io::{self, Write};

use anyhow::{Context, Result, ensure};
use quiclab_agent_protocol::{
    orders::Orders,
    report::{Outcome, Report},
    slot::{Blob, Manifest},
};

use crate::run::{Finished, empty_report};

/// The answer to orders that came to nothing.
pub fn failed(error: &anyhow::Error) -> Manifest {
    let outcome = Outcome::AgentFailed { error: format!("{error:#}") };
    Manifest { report: Report { outcome, ..empty_report() }, blobs: Vec::new() }
}

/// Writes the line of an answer.
///
/// # Errors
/// Where it cannot be written.
pub fn write(manifest: &Manifest, output: &mut impl Write) -> Result<()> {
    let mut line = serde_json::to_vec(manifest)?;
    line.push(b'\n');
    output.write_all(&line).and_then(|()| output.flush()).context("standard output")
}

/// Writes the answer to a run.
///
/// # Errors
/// Where a file cannot be read or the answer not be written. Nothing was written where a file cannot be opened.
pub fn of_run(finished: Finished, orders: &Orders, output: &mut impl Write) -> Result<()> {
    of_run_by(finished, orders, output, |manifest, output| write(&manifest, output))
}

/// The same where `write` writes the line.
///
/// # Errors
/// As [`of_run`].
pub fn of_run_by<W: Write>(
    mut finished: Finished,
    orders: &Orders,
    output: &mut W,
    write: impl FnOnce(Manifest, &mut W) -> Result<()>,
) -> Result<()> {
    let sources = finished.sources(orders);
    let mut offset = 0;
    let lengths = finished.captures().map(|(name, bytes)| (name, bytes.len() as u64));
    let lengths = lengths.chain(sources.iter().map(|source| (source.name.clone(), source.length)));
    let blobs = lengths.map(|(name, length)| {
        offset += length;
        Blob { name, offset: offset - length, length }
    });
    let manifest = Manifest { blobs: blobs.collect(), report: finished.report.clone() };
    write(manifest, output)?;
    for (_, bytes) in finished.captures() {
        output.write_all(bytes).context("standard output")?;
    }
    // The process ends when they are closed, which takes time.
    finished.close_taps();
    for source in sources {
        let copied = io::copy(&mut source.open()?, output).context("standard output")?;
        ensure!(copied == source.length, "{}: found {copied} bytes, expected {}", source.name, source.length);
    }
    output.flush().context("standard output")
}
