//! What came of a run: why it failed, and whether the client has what it should have.

use std::{
    collections::BTreeSet,
    io::{self, Read},
    path::Path,
};

use anyhow::Result;
use quiclab_agent_protocol::contents::Contents;
use quiclab_experiment::run::{FileContents, Run};
use quiclab_record::{Observed, ProcessEnd};

use crate::{
    contract::{SERVER_PORT, contents_seed, file_names},
    hash,
};

/// The endpoints' TLS secrets, in a record.
pub(crate) const KEY_LOGS: [&str; 2] = ["client/keys.log", "server/keys.log"];

/// Why a run has no record. Other runs go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunFailure {
    /// The server ended while it was needed.
    #[error("the server ended before the transfer was complete ({0})")]
    ServerEnded(String),
    /// The server never listened.
    #[error("the server did not listen on port {SERVER_PORT} in time")]
    NeverListened,
    /// An endpoint answered 127.
    #[error("the {0} exited with 127: it does not support the settings of the run")]
    Unsupported(String),
    /// The client did not end.
    #[error("the client did not end within {0}\nhint: workload.timeout")]
    ClientTimeout(String),
    /// The client failed.
    #[error("the client ended with {0}")]
    ClientFailed(String),
    /// The server's own queueing discipline dropped more packets than it let through.
    #[error(
        "{kind} at the sender dropped {drops} packets and passed {packets}: {failure}\nhint: it drops packets without \
         a send time on its clock, and those whose send time is in the past or too far in the future"
    )]
    SenderQueue {
        /// The discipline.
        kind: String,
        /// Packets that it dropped.
        drops: u64,
        /// Packets that left it.
        packets: u64,
        /// What came of it.
        failure: Box<RunFailure>,
    },
    /// The client stored nothing.
    #[error("the client stored no {file}")]
    NoFile {
        /// Name of the first file that is not there.
        file: String,
    },
    /// What the client stored is too short or too long.
    #[error("the client's {file} has {found} bytes, expected {expected}")]
    WrongLength {
        /// Name of the file.
        file: String,
        /// What there is.
        found: u64,
        /// What there should be.
        expected: u64,
    },
    /// What the client stored is something else.
    #[error("the client's {file} has SHA-256 {found}, expected {expected}")]
    WrongContents {
        /// Name of the file.
        file: String,
        /// SHA-256 of what there is.
        found: String,
        /// SHA-256 of what there should be.
        expected: String,
    },
    /// A rule of the path lost fewer or more datagrams than the experiment allows.
    #[error("path.{direction}.{stage}: {fault}")]
    LossRule {
        /// Its direction, as in the settings.
        direction: &'static str,
        /// The name of its stage.
        stage: String,
        /// What was found and what was expected.
        fault: String,
    },
    /// A tap had no room for all packets that passed it, so that nothing can be said of the whole transfer.
    #[error(
        "the tap {tap} had no room for {lost} of {seen} packets: there were more retransmissions than it \
         expects\nhint: set tap.room to more than the transfer"
    )]
    CaptureFull {
        /// Name of the tap.
        tap: String,
        /// Packets that passed it.
        seen: u64,
        /// Packets of these that are not in the capture.
        lost: u64,
    },
    /// The client's files did not come over the network.
    #[error(
        "the client has all {arrived} bytes, but the server's packets carried {payload_bytes} past the tap {tap} \
         ({packets} packets from port {SERVER_PORT}): the files came some other way than the network that is measured"
    )]
    ArrivedOtherwise {
        /// Name of the tap.
        tap: String,
        /// Packets from the server's port that passed it.
        packets: u64,
        /// Bytes of UDP or TCP payload in them.
        payload_bytes: u64,
        /// Bytes that the client stored.
        arrived: u64,
    },
    /// Packets of the server were not seen where it sends.
    #[error(
        "{hidden} of {behind} packets from port {SERVER_PORT} passed the tap behind the bottleneck and not the tap at the \
         sender: the server hid them from it"
    )]
    HiddenPackets {
        /// Packets that passed the tap behind the bottleneck and not the one at the sender.
        hidden: u64,
        /// Packets that passed the tap behind the bottleneck.
        behind: u64,
    },
    /// An endpoint took away the interface of its own network.
    #[error("the {0} took away the interface of its own network, so that nothing can be said of the run")]
    InterfaceGone(String),
    /// The guest broke down.
    #[error("the guest left no results: {0}")]
    Guest(String),
    /// A simulated transfer came to no end.
    #[error("{0}")]
    Simulation(String),
    /// The agent broke down, or could not start an endpoint.
    #[error("the agent failed: {0}")]
    Agent(String),
}

/// What both endpoints logged of their TLS secrets, each line once; `None` where neither logged any.
pub(crate) fn secrets_of(logs: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut secrets = Vec::new();
    let mut seen = BTreeSet::new();
    let lines = logs.iter().flat_map(|log| log.split(|byte| *byte == b'\n')).filter(|line| !line.is_empty());
    for line in lines.filter(|line| seen.insert(*line)) {
        secrets.extend_from_slice(line);
        secrets.push(b'\n');
    }
    Some(secrets).filter(|secrets| !secrets.is_empty())
}

/// A file that the client stored.
pub(crate) struct Download<C> {
    /// Its length in bytes.
    pub length: u64,
    /// Reads what is in it.
    pub contents: C,
}

/// What is wrong with the files that the client stored, if anything is; `open` answers `None` where there is no file of that name.
pub(crate) fn check_downloads<R: Read, C: FnOnce() -> Result<R>>(
    run: &Run,
    open: impl Fn(&str) -> Result<Option<Download<C>>>,
) -> Result<Option<RunFailure>> {
    let workload = &run.settings.workload;
    if workload.has_no_files() || !workload.keep {
        return Ok(None);
    }
    for (seed, file) in (contents_seed(run)..).zip(file_names(workload)) {
        let Some(download) = open(&file)? else { return Ok(Some(RunFailure::NoFile { file })) };
        let (found, expected) = (download.length, workload.length_of_each().as_bytes());
        if found != expected {
            return Ok(Some(RunFailure::WrongLength { file, found, expected }));
        }
        let expected = match workload.contents {
            FileContents::Random => hash::of_reader(&mut Contents::new(seed, expected))?,
            FileContents::Zeros => hash::of_reader(&mut io::repeat(0).take(expected))?,
        };
        let found = hash::of_reader(&mut (download.contents)()?)?;
        if found != expected {
            return Ok(Some(RunFailure::WrongContents { file, found, expected }));
        }
    }
    Ok(None)
}

/// The first tap that lost packets.
pub(crate) fn full_tap(observed: &Observed) -> Option<RunFailure> {
    let tap = observed.taps.iter().find(|tap| tap.packets_lost > 0)?;
    Some(RunFailure::CaptureFull {
        tap: tap.role.interface_name().to_owned(),
        seen: tap.packets_seen,
        lost: tap.packets_lost,
    })
}

/// How a process ended, in words.
pub(crate) fn describe_end(end: &ProcessEnd) -> String {
    match (end.exit_code, end.signal) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(number)) => match nix::sys::signal::Signal::try_from(number) {
            Ok(signal) => format!("signal {number} ({signal})"),
            Err(_) => format!("signal {number}"),
        },
        (None, None) => "an unknown status".into(),
    }
}

/// The first bytes of a file as text, for messages; empty where it cannot be read.
pub fn excerpt(path: &Path, most: u64) -> String {
    let mut text = Vec::new();
    let read = quiclab_inputs::open_unlinked(path).and_then(|file| file.take(most).read_to_end(&mut text));
    if read.is_ok() { String::from_utf8_lossy(&text).trim().to_owned() } else { String::new() }
}
