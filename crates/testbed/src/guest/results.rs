//! From what a guest left in its slot to the files of a record.
//!
//! All of it is foreign: [`quiclab_agent_protocol::results`] bounds what the manifest can ask for, [`ring`] what a capture can. What an endpoint can
//! choose, the names and contents of its logs, never fails a run: what cannot be kept is noted among what is lost.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Read, Write},
    os::unix::fs::FileExt,
    path::{Component, Path},
};

use anyhow::{Context, Result};
use quiclab_agent_protocol::{
    orders::Orders,
    report::TapReport,
    results::{ROLES, read_manifest},
    ring::RingError,
    slot::{self, Manifest, SlotError},
};
use quiclab_experiment::{
    run::{Run, word},
    stack::Role,
};
use quiclab_metrics::SENDING_CLIENT;
use quiclab_record::{
    LostLog, Observed, Outcome, TapRole,
    layout::{CAPTURE_FILE, WRONG_FILES_FILE},
};
use quiclab_units::Time;
use quiclab_wire::offload::CutError;
use quiclab_wire::{CaptureWriter, Direction, PacketToWrite, TapDescription};

use super::{captured::for_each_packet, forwarded, observed::observed, path::StageNames};
use crate::{
    arrived::{Carried, PathEffects, SentPackets},
    collect::{Download, KEY_LOGS, RunFailure, check_downloads, describe_end, full_tap, secrets_of},
    contract::server_can_move,
};

/// Most bytes of TLS secrets that are put into the capture. A connection has less than 2000.
const MOST_SECRETS: usize = 16 << 20;
/// Longest name of a file or folder on usual disks, in bytes.
const LONGEST_PART: usize = 255;
/// Longest name of a log with its folders, in bytes: with the record's own folder it stays below `PATH_MAX`.
const LONGEST_NAME: usize = 2000;

/// A slot: a file, or bytes in memory.
pub trait Slot {
    /// Its length in bytes.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn length(&self) -> io::Result<u64>;

    /// Fills `buffer` with what is at `offset`.
    ///
    /// # Errors
    /// Where it cannot be read, or ends before.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

impl Slot for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, buffer, offset)
    }
}

impl Slot for &[u8] {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let found = start.checked_add(buffer.len()).and_then(|end| self.get(start..end));
        buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// Reads a slot from its beginning.
struct FromStart<'a, S> {
    slot: &'a S,
    left: u64,
    offset: u64,
}

impl<S: Slot> Read for FromStart<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.left.min(buffer.len() as u64) as usize;
        self.slot.read_exact_at(&mut buffer[..count], self.offset)?;
        self.left -= count as u64;
        self.offset += count as u64;
        Ok(count)
    }
}

/// The results of a run.
pub struct Results<S = File> {
    slot: S,
    manifest: Manifest,
    observed: Observed,
    /// Whether the taps are there for the client's packets.
    of_client: bool,
}

impl<S: Slot> Results<S> {
    /// Finds the results of a run with these orders on `testbed` in the slot. `names` are those of the stages of its path.
    ///
    /// # Errors
    /// Where there are none, or they cannot be those of this run.
    pub fn open(testbed: &str, slot: S, orders: &Orders, names: &StageNames) -> Result<Self, SlotError> {
        let available = slot.length()?;
        let mut manifest =
            read_manifest(&mut FromStart { slot: &slot, left: available, offset: 0 }, available, orders)?;
        // The agent keeps frames whole that are to be cut into packets. Of these as much is kept as was ordered.
        for (number, tap) in manifest.report.taps.iter_mut().enumerate().filter(|(_, tap)| tap.has_headers) {
            let ordered = orders.tap.as_ref();
            tap.snaplen =
                ordered.and_then(|tap| if number == 0 { tap.snaplen_bytes } else { tap.bottleneck_snaplen_bytes });
        }
        let observed = observed(testbed, &manifest.report, names);
        let of_client = orders.tap.as_ref().is_some_and(|tap| tap.of_client);
        Ok(Self { slot, manifest, observed, of_client })
    }

    /// What the guest says that there is.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// What was seen of the run.
    pub fn observed(&self) -> &Observed {
        &self.observed
    }

    /// Writes what the endpoints said below `folder`. What cannot be kept because of its name is noted among what is lost.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write_endpoint_files(&mut self, folder: &Path) -> Result<()> {
        for blob in &self.manifest.blobs {
            let Some(role) = role_of(&blob.name) else { continue };
            let lost = match problem_of(&blob.name) {
                Some(problem) => Some(problem),
                None => {
                    let path = folder.join(&blob.name);
                    let bytes = read(&self.slot, blob)?;
                    let written =
                        fs::create_dir_all(path.parent().unwrap_or(folder)).and_then(|()| fs::write(&path, bytes));
                    match written {
                        Ok(()) => None,
                        // A file where another log needs a folder, or a name that this disk does not have.
                        Err(error) if is_about_the_name(&error) => Some(error.to_string()),
                        Err(error) => return Err(error).with_context(|| path.display().to_string()),
                    }
                }
            };
            if let Some(problem) = lost {
                let name: String = blob.name.chars().take(100).collect();
                self.observed
                    .lost_logs
                    .push(LostLog { role, what: format!("the log file {name:?} is not kept: {problem}") });
            }
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
                None => return Ok(self.arrived_otherwise(run)?.or_else(|| self.loss_fault(run))),
            },
            Outcome::Unsupported { role } => RunFailure::Unsupported(word(role)),
            Outcome::ServerEnded => RunFailure::ServerEnded(end(Role::Server)),
            Outcome::NeverListened => RunFailure::NeverListened,
            Outcome::ClientTimeout => RunFailure::ClientTimeout(run.settings.workload.timeout.to_string()),
            Outcome::ClientFailed => RunFailure::ClientFailed(end(Role::Client)),
            Outcome::InterfaceGone { role } => RunFailure::InterfaceGone(word(role)),
            Outcome::TestbedFailed { error } => RunFailure::Agent(error.clone()),
        };
        let sender = seen.host(run.settings.workload.sender.role());
        let queue = sender.queue_drops_and_passed().filter(|(drops, passed)| drops > passed);
        Ok(Some(match queue {
            None => failure,
            Some((drops, packets)) => RunFailure::SenderQueue {
                kind: sender.queues[0].kind.clone(),
                drops,
                packets,
                failure: Box::new(failure),
            },
        }))
    }

    /// A rule of the path that did not do what the experiment wants of it.
    fn loss_fault(&self, run: &Run) -> Option<RunFailure> {
        forwarded::loss_fault(run, self.manifest.report.forwarder.as_ref()?)
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
            let contents = move || Ok(io::Cursor::new(read(&self.slot, blob)?));
            Ok(Some(Download { length: blob.length.saturating_add(cut), contents }))
        })
    }

    /// Whether what arrived did not pass one of the taps.
    fn arrived_otherwise(&self, run: &Run) -> Result<Option<RunFailure>> {
        let taps = &self.manifest.report.taps;
        let compared = taps.iter().filter_map(|tap| tap.snaplen).min().map_or(usize::MAX, |bytes| bytes as usize);
        let effects = PathEffects::of(run);
        let of_client = self.of_client;
        let mut sent = SentPackets::default();
        let mut packets = Vec::new();
        let mut unseen = 0;
        for tap in taps {
            let is_first = packets.is_empty();
            let mut carried = Carried { any_port: server_can_move(run), of_client, ..Carried::default() };
            for_each_packet(&self.ring(&tap.name)?, tap, |packet| {
                let bytes = &packet.bytes[..packet.bytes.len().min(compared)];
                let length = packet.original_length as usize;
                let Some(packet) = packet.outgoing.then(|| carried.add(bytes, length)).flatten() else { return };
                if is_first {
                    sent.add(&packet);
                } else {
                    unseen += u64::from(!sent.has_sent(&packet, effects));
                }
            })?;
            if let Some(failure) = carried.too_little(run, &tap.name) {
                return Ok(Some(failure));
            }
            packets.push(carried.packets);
        }
        let &[sender, behind] = &packets[..] else { return Ok(None) };
        let hidden = match effects {
            PathEffects { corrupts: false, .. } => unseen,
            PathEffects { duplicates: false, .. } => behind.saturating_sub(sender),
            PathEffects { .. } => 0,
        };
        Ok((hidden > 0).then_some(RunFailure::HiddenPackets { hidden, behind }))
    }

    /// Writes what happened, whether the run went well or not: what the endpoints said, what was on the wire, and what is wrong with the
    /// client's files, if anything is.
    ///
    /// # Errors
    /// Where something cannot be read or written; [`damaged_capture`] tells captures that make no sense.
    pub fn write_what_happened(&mut self, folder: &Path, run: &Run) -> Result<()> {
        if let Some(wrong) = self.check_download(run)? {
            fs::write(folder.join(WRONG_FILES_FILE), format!("{wrong}\n")).context(WRONG_FILES_FILE)?;
        }
        self.write_endpoint_files(folder)?;
        let path = folder.join(CAPTURE_FILE);
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        self.write_capture(BufWriter::with_capacity(1 << 20, file))
    }

    /// Writes the packets of all taps, in order of time, with the endpoints' TLS secrets in front.
    ///
    /// # Errors
    /// Where a ring makes no sense, or the output cannot be written.
    pub fn write_capture(&mut self, output: impl Write) -> Result<()> {
        let secrets = self.secrets()?;
        let taps = &self.manifest.report.taps;
        let rings = taps.iter().map(|tap| self.ring(&tap.name)).collect::<Result<Vec<_>>>()?;
        let mut packets = Vec::new();
        for (number, (tap, ring)) in (0..).zip(taps.iter().zip(&rings)) {
            let before = packets.len();
            let count = for_each_packet(ring, tap, |packet| packets.push((number, packet)))?;
            if tap.has_headers
                && let Some(seen) = self.observed.taps.get_mut(number as usize)
            {
                seen.super_packets = Some(count);
                seen.packets_seen = (packets.len() - before) as u64 + tap.packets_lost;
            }
        }
        // Stable: packets of one instant stay in the order of the taps, and of arrival within a tap.
        packets.sort_by_key(|(_, packet)| packet.time_ns);
        let name = |tap: &'_ TapReport| match self.of_client && tap.name == TapRole::Sender.interface_name() {
            true => SENDING_CLIENT.to_owned(),
            false => tap.name.clone(),
        };
        let names: Vec<_> = taps.iter().map(name).collect();
        let named = names.iter().zip(taps);
        let descriptions: Vec<_> = named.map(|(name, tap)| TapDescription { name, snap_length: tap.snaplen }).collect();
        let mut writer = CaptureWriter::new(output, &descriptions, secrets.as_deref())?;
        for (interface, packet) in packets {
            writer.write_packet(&PacketToWrite {
                time: Time::from_nanos(packet.time_ns),
                interface,
                frame_length: packet.original_length,
                captured: &packet.bytes,
                direction: Some(if packet.outgoing { Direction::Outbound } else { Direction::Inbound }),
            })?;
        }
        writer.finish()?;
        Ok(())
    }

    fn secrets(&mut self) -> Result<Option<Vec<u8>>> {
        let there = KEY_LOGS.iter().filter_map(|name| self.blob(name));
        let Some(mut secrets) = secrets_of(&there.map(|blob| read(&self.slot, blob)).collect::<Result<Vec<_>>>()?)
        else {
            return Ok(None);
        };
        if secrets.len() > MOST_SECRETS {
            let found = secrets.len();
            secrets.truncate(MOST_SECRETS);
            secrets.truncate(secrets.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
            let what =
                format!("found {found} bytes of TLS secrets; the capture has the first {} of them", secrets.len());
            self.observed.lost_logs.push(LostLog { role: Role::Client, what });
        }
        Ok(Some(secrets))
    }

    /// The ring of a tap; empty where there is none.
    fn ring(&self, tap: &str) -> Result<Vec<u8>> {
        self.blob(&format!("tap/{tap}")).map_or(Ok(Vec::new()), |blob| read(&self.slot, blob))
    }

    /// The bytes of what is called `name`; `None` where there is none.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.blob(name).map(|blob| read(&self.slot, blob)).transpose()
    }

    fn blob(&self, name: &str) -> Option<&slot::Blob> {
        self.manifest.blobs.iter().find(|blob| blob.name == name)
    }
}

/// The bytes of a blob. Blobs do not overlap, so that all together take no more memory than the slot.
fn read(slot: &impl Slot, blob: &slot::Blob) -> Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(blob.length)?];
    slot.read_exact_at(&mut bytes, blob.offset).with_context(|| blob.name.clone())?;
    Ok(bytes)
}

/// What is wrong with a capture, where that is why results could not be written: it came out of the guest, and this machine is well.
pub fn damaged_capture(error: &anyhow::Error) -> Option<String> {
    if let Some(error) = error.downcast_ref::<RingError>() {
        return Some(error.to_string());
    }
    if let Some(error) = error.downcast_ref::<CutError>() {
        return Some(error.to_string());
    }
    use quiclab_wire::WriteError;
    let error = error.downcast_ref::<WriteError>()?;
    (!matches!(error, WriteError::Write(_))).then(|| error.to_string())
}

/// Whose log a file of the results is; `None` for captures and downloads.
fn role_of(name: &str) -> Option<Role> {
    let [server, client] = ROLES.map(|role| name.split_once('/').is_some_and(|(folder, _)| folder == role));
    if server { Some(Role::Server) } else { client.then_some(Role::Client) }
}

/// Why a log cannot have its name in a record; `None` where it can. Names come out of the guest, where untrusted programs chose them.
pub fn problem_of(name: &str) -> Option<String> {
    let parts = Path::new(name).components();
    if !parts.clone().all(|part| matches!(part, Component::Normal(_))) || name.contains('\0') || name.ends_with('/') {
        return Some("its name leads outside the record".to_owned());
    }
    let longest = parts.map(|part| part.as_os_str().len()).max().unwrap_or(0);
    if longest > LONGEST_PART || name.len() > LONGEST_NAME {
        return Some(format!(
            "found a name of {} bytes, expected at most {LONGEST_NAME}, and {LONGEST_PART} in each part",
            name.len()
        ));
    }
    None
}

/// Whether a file could not be written because of its name.
fn is_about_the_name(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, InvalidFilename, InvalidInput, IsADirectory, NotADirectory};
    matches!(error.kind(), AlreadyExists | InvalidFilename | InvalidInput | IsADirectory | NotADirectory)
}

#[cfg(test)]
mod tests;
