//! What a test reports under its load: rows while it runs, and its results.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use quiclab_inputs::open_unlinked;

use super::{
    setup::Setup,
    test::{Failure, client_name},
};
use crate::{
    ExchangeInterval, Exchanges, Interval, Latencies, Load, Reading, Summary, count, exchange_interval, exchanges,
    interval, summary, summary_of_both,
};

/// Most bytes that are read of a file of latencies: more than it may have.
const MOST_BYTES: u64 = (1 << 20) + 1;

/// A part of a test.
pub enum Row {
    /// Bytes in each direction of the load.
    Bytes(Vec<Interval>),
    /// Requests or handshakes.
    Exchanges(ExchangeInterval),
}

/// What a test came to.
pub enum Found {
    /// Bytes in one direction.
    Bytes(Box<Summary>),
    /// What the clients sent, and what the server sent.
    Both(Box<[Summary; 2]>),
    /// Requests or handshakes.
    Exchanges(Box<Exchanges>),
}

impl Found {
    /// Adds notes; where there are two directions, to the first.
    pub fn note(&mut self, notes: Vec<String>) {
        match self {
            Self::Bytes(one) => one.notes.extend(notes),
            Self::Both(both) => both[0].notes.extend(notes),
            Self::Exchanges(one) => one.notes.extend(notes),
        }
    }
}

/// What happened between two readings.
pub fn row(before: &Reading, after: &Reading, load: Load) -> Row {
    match load.counted() {
        Some(_) => Row::Exchanges(exchange_interval(before, after, load)),
        None => Row::Bytes(load.directions().iter().map(|direction| interval(before, after, *direction)).collect()),
    }
}

/// What all of it came to. `latencies`: `None` if it was interrupted.
pub fn found(before: &Reading, after: &Reading, load: Load, latencies: Option<Latencies>) -> Found {
    let interrupted = latencies.is_none();
    let latencies = latencies.unwrap_or_default();
    let mut found = match load {
        Load::Bulk(direction) => Found::Bytes(Box::new(summary(before, after, direction))),
        Load::Bidirectional => Found::Both(Box::new(summary_of_both(before, after))),
        Load::Requests(_) | Load::Handshakes => Found::Exchanges(Box::new(exchanges(before, after, load, &latencies))),
    };
    let note = |drops: Option<u64>, notes: &mut Vec<String>| {
        if interrupted {
            notes.push("interrupted: the numbers so far".to_owned());
        }
        if drops.is_some_and(|drops| drops > 0) {
            notes.push(
                "a receiver's socket dropped datagrams: it is slower than the sender, which the losses come from"
                    .to_owned(),
            );
        }
    };
    match &mut found {
        Found::Bytes(one) => note(one.socket_drops, &mut one.notes),
        Found::Both(both) => both.iter_mut().for_each(|one| note(one.socket_drops, &mut one.notes)),
        Found::Exchanges(one) => note(one.socket_drops, &mut one.notes),
    }
    found
}

/// Where a client writes how long each one took.
pub fn latencies_file(setup: &Setup, client: &str) -> PathBuf {
    setup.shared.join("logs").join(client).join("latencies")
}

/// What all clients wrote; nothing under a load that has none.
///
/// # Errors
/// A file that is not there, or is something else, or does not say as many as the client's progress.
pub fn latencies(setup: &Setup, after: &Reading, load: Load) -> Result<Latencies> {
    let mut all = Latencies::default();
    let Some(word) = load.counted() else { return Ok(all) };
    for (number, client) in (1..).zip(&after.clients) {
        let file = latencies_file(setup, &client_name(number));
        let bytes = read(&file).map_err(|error| Failure(format!("the client's latencies: {error:#}")))?;
        let before = all.count();
        all.take(&bytes).map_err(|error| Failure(format!("{}: {error}", file.display())))?;
        let alone = Reading { clients: vec![*client], ..Reading::default() };
        let (found, expected) = (all.count() - before, count(&alone, load));
        if found != expected {
            return Err(Failure(format!(
                "{}: found {found} latencies, expected as many as the last line of progress counts, {expected} {word}s",
                file.display()
            ))
            .into());
        }
    }
    Ok(all)
}

/// A file of a program that can be anything.
fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_unlinked(path)
        .and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes))
        .with_context(|| path.display().to_string())?;
    Ok(bytes)
}
