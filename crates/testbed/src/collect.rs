//! From the agent's results to the files of a record.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, BufWriter, Read},
    os::unix::fs::FileExt,
    path::Path,
};

use anyhow::{Context, Result};
use quiclab_experiment::{
    run::{Run, word},
    stack::Role,
};
use quiclab_orders::{
    contents::Contents,
    ring,
    slot::{self, BLOCK, Manifest, RESULTS_MAGIC, SlotError},
};
use quiclab_record::{
    LostLog, Observed, Outcome, ProcessEnd,
    layout::{CAPTURE_FILE, WRONG_FILES_FILE},
};
use quiclab_units::Time;
use quiclab_wire::{CaptureWriter, Direction, PacketToWrite, TapDescription};

use crate::{
    arrived::Carried,
    contract::{SERVER_PORT, contents_seed, file_names},
    hash,
    vm::{observed::observed, path::StageNames},
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
    #[error("the client did not end within {0} of virtual time\nhint: workload.timeout")]
    ClientTimeout(String),
    /// The client failed.
    #[error("the client ended with {0}")]
    ClientFailed(String),
    /// The server's own queueing discipline dropped more packets than it let through.
    #[error(
        "{kind} at the server dropped {drops} packets and passed {packets}: {failure}\nhint: it drops packets without \
         a send time on its clock, and those whose send time is in the past or too far in the future"
    )]
    ServerQueue {
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
        /// Of what there is.
        found: String,
        /// Of what there should be.
        expected: String,
    },
    /// More packets passed a tap than it has room for, so that nothing can be said of the whole transfer.
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
    /// The guest broke down.
    #[error("the guest left no results: {0}")]
    Guest(String),
    /// A simulated transfer came to no end.
    #[error("{0}")]
    Simulation(String),
    /// The agent broke down, or could not start an endpoint.
    #[error("the agent in the guest failed: {0}")]
    Agent(String),
}

/// The results of a run, in the slot's file.
pub struct Results {
    file: File,
    manifest: Manifest,
    observed: Observed,
}

impl Results {
    /// Finds the results in the slot, of a run whose path has stages of these names.
    ///
    /// # Errors
    /// Where there are none, or they make no sense.
    pub fn open(path: &Path, names: &StageNames) -> Result<Self, SlotError> {
        let mut file = File::open(path)?;
        let available = file.metadata()?.len();
        let json = slot::read_json(&mut file, RESULTS_MAGIC, available)?;
        let manifest: Manifest = serde_json::from_slice(&json)?;
        for blob in &manifest.blobs {
            if blob.offset % BLOCK as u64 != 0 || blob.offset.checked_add(blob.length).is_none_or(|end| end > available)
            {
                return Err(SlotError::Range {
                    what: blob.name.clone(),
                    offset: blob.offset,
                    length: blob.length,
                    available,
                });
            }
        }
        let mut observed = observed(&manifest.report, names);
        let strange = manifest.blobs.iter().filter_map(|blob| {
            let role = role_of(&blob.name).filter(|_| !is_plain(&blob.name))?;
            let what = format!("the log file {:?} is not kept: its name leads outside the record", blob.name);
            Some(LostLog { role, what })
        });
        observed.lost_logs.extend(strange);
        Ok(Self { file, manifest, observed })
    }

    /// What was seen of the run.
    pub fn observed(&self) -> &Observed {
        &self.observed
    }

    /// Writes what the endpoints said below `folder`.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write_endpoint_files(&self, folder: &Path) -> Result<()> {
        for blob in &self.manifest.blobs {
            // Captures and downloads go elsewhere, and names that lead out of the record are noted among what is lost.
            if role_of(&blob.name).is_none() || !is_plain(&blob.name) {
                continue;
            }
            let path = folder.join(&blob.name);
            fs::create_dir_all(path.parent().unwrap_or(folder)).with_context(|| path.display().to_string())?;
            fs::write(&path, self.read(&blob.name)?).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }

    /// What kept the run from succeeding, if anything did.
    ///
    /// # Errors
    /// Where the results cannot be read.
    pub fn failure(&self, run: &Run) -> Result<Option<RunFailure>> {
        let seen = &self.observed;
        let end = |role| seen.host(role).end.as_ref().map_or_else(|| "unknown".into(), describe_end);
        let failure = match &seen.outcome {
            Outcome::Done => match self.check_download(run)?.or_else(|| full_tap(seen)) {
                Some(failure) => return Ok(Some(failure)),
                None => return self.arrived_otherwise(run),
            },
            Outcome::Unsupported { role } => RunFailure::Unsupported(word(role)),
            Outcome::ServerEnded => RunFailure::ServerEnded(end(Role::Server)),
            Outcome::NeverListened => RunFailure::NeverListened,
            Outcome::ClientTimeout => RunFailure::ClientTimeout(run.settings.workload.timeout.to_string()),
            Outcome::ClientFailed => RunFailure::ClientFailed(end(Role::Client)),
            Outcome::TestbedFailed { error } => RunFailure::Agent(error.clone()),
        };
        let queue = seen.server.queue_drops_and_passed().filter(|(drops, passed)| drops > passed);
        Ok(Some(match queue {
            None => failure,
            Some((drops, packets)) => RunFailure::ServerQueue {
                kind: seen.server.queues[0].kind.clone(),
                drops,
                packets,
                failure: Box::new(failure),
            },
        }))
    }

    /// What is wrong with the files that the client stored, if anything is.
    ///
    /// # Errors
    /// Where the results cannot be read.
    pub fn check_download(&self, run: &Run) -> Result<Option<RunFailure>> {
        check_downloads(run, |file| {
            let name = format!("download/{file}");
            let Some(blob) = self.blob(&name) else { return Ok(None) };
            let cut = self.observed.cut_files.get(&name).copied().unwrap_or(0);
            let contents = move || Ok(io::Cursor::new(self.read(&name)?));
            Ok(Some(Download { length: blob.length.saturating_add(cut), contents }))
        })
    }

    /// Whether what arrived did not pass one of the taps.
    fn arrived_otherwise(&self, run: &Run) -> Result<Option<RunFailure>> {
        for tap in &self.manifest.report.taps {
            let ring = self.read(&format!("tap/{}", tap.name))?;
            let mut carried = Carried::default();
            ring::for_each_packet(&ring, tap.block_bytes as usize, |packet| {
                if packet.outgoing {
                    carried.add(packet.bytes);
                }
            })?;
            if let Some(failure) = carried.too_little(run, &tap.name) {
                return Ok(Some(failure));
            }
        }
        Ok(None)
    }

    /// Writes what happened, whether the run went well or not: what the endpoints said, what was on the wire, and what is wrong with the
    /// client's files, if anything is.
    ///
    /// # Errors
    /// Where something cannot be read or written.
    pub fn write_what_happened(&self, folder: &Path, run: &Run) -> Result<()> {
        if let Some(wrong) = self.check_download(run)? {
            fs::write(folder.join(WRONG_FILES_FILE), format!("{wrong}\n")).context(WRONG_FILES_FILE)?;
        }
        self.write_endpoint_files(folder)?;
        self.write_capture(&folder.join(CAPTURE_FILE))
    }

    fn write_capture(&self, path: &Path) -> Result<()> {
        let taps = &self.manifest.report.taps;
        let rings = taps.iter().map(|tap| self.read(&format!("tap/{}", tap.name))).collect::<Result<Vec<_>>>()?;
        let mut packets = Vec::new();
        for (number, (tap, ring)) in taps.iter().zip(&rings).enumerate() {
            ring::for_each_packet(ring, tap.block_bytes as usize, |packet| packets.push((number as u32, packet)))?;
        }
        // Stable: packets of one instant stay in the order of the taps, and of arrival within a tap.
        packets.sort_by_key(|(_, packet)| packet.time_ns);
        let secrets = self.secrets()?;
        let descriptions: Vec<_> =
            taps.iter().map(|tap| TapDescription { name: &tap.name, snap_length: tap.snaplen }).collect();
        let file = File::create(path).with_context(|| path.display().to_string())?;
        let mut writer =
            CaptureWriter::new(BufWriter::with_capacity(1 << 20, file), &descriptions, secrets.as_deref())?;
        for (interface, packet) in packets {
            writer.write_packet(&PacketToWrite {
                time: Time::from_nanos(packet.time_ns),
                interface,
                frame_length: packet.original_length,
                captured: packet.bytes,
                direction: Some(if packet.outgoing { Direction::Outbound } else { Direction::Inbound }),
            })?;
        }
        writer.finish()?;
        Ok(())
    }

    fn secrets(&self) -> Result<Option<Vec<u8>>> {
        let there = KEY_LOGS.iter().filter(|name| self.blob(name).is_some());
        Ok(secrets_of(&there.map(|name| self.read(name)).collect::<Result<Vec<_>>>()?))
    }

    fn blob(&self, name: &str) -> Option<&slot::Blob> {
        self.manifest.blobs.iter().find(|blob| blob.name == name)
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        let blob = self.blob(name).with_context(|| format!("the results have no {name}"))?;
        let mut bytes = vec![0; blob.length as usize];
        self.file.read_exact_at(&mut bytes, blob.offset).with_context(|| name.to_owned())?;
        Ok(bytes)
    }
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
    for (seed, file) in (contents_seed(run)..).zip(file_names(workload)) {
        let Some(download) = open(&file)? else { return Ok(Some(RunFailure::NoFile { file })) };
        let (found, expected) = (download.length, workload.size.as_bytes());
        if found != expected {
            return Ok(Some(RunFailure::WrongLength { file, found, expected }));
        }
        let expected = hash::of_reader(&mut Contents::new(seed, expected))?;
        let found = hash::of_reader(&mut (download.contents)()?)?;
        if found != expected {
            return Ok(Some(RunFailure::WrongContents { file, found, expected }));
        }
    }
    Ok(None)
}

/// Whose log a file of the results is; `None` for captures and downloads.
fn role_of(name: &str) -> Option<Role> {
    let [server, client] = ["server/", "client/"].map(|folder| name.starts_with(folder));
    if server { Some(Role::Server) } else { client.then_some(Role::Client) }
}

/// Whether a name stays in the folder that it is relative to. Names come out of the guest, where untrusted programs chose them.
fn is_plain(name: &str) -> bool {
    Path::new(name).components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

/// The first tap that lost packets.
fn full_tap(observed: &Observed) -> Option<RunFailure> {
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
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut text));
    if read.is_ok() { String::from_utf8_lossy(&text).trim().to_owned() } else { String::new() }
}
