//! What the hosts of a run hand over, as one answer in the layout of a slot.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    path::Path,
};

use anyhow::{Context, Result, ensure};
use quiclab_agent_protocol::{
    activity::{ACTIVITY, Activity},
    report::{Outcome, Report},
    ring::{move_in_time, move_to_other_end, set_directions},
    slot::{BLOCK, Blob, MANIFEST_ROOM, Manifest, RESULTS_MAGIC, header},
};
use quiclab_record::ClockSeen;

use super::activity::{self, Sampled};

/// What one host handed over.
#[derive(Debug)]
pub struct Handed {
    /// What there is.
    pub manifest: Manifest,
    /// The bytes of its blobs, one after the other.
    pub blobs: File,
}

/// The tap at the server's interface.
const SENDER: &str = "tap/sender";
/// The tap at the client's host.
const BEHIND: &str = "tap/behind-bottleneck";

/// What the hosts said of a run, together. `outcome` is what became of it.
pub fn report(
    outcome: Outcome,
    server: &Report,
    wire: Option<&Report>,
    client: &Report,
    sniffer: Option<&Report>,
) -> Report {
    // A sniffer has the first tap.
    let all = || [sniffer, Some(server), wire, Some(client)].into_iter().flatten();
    let of_wire = wire.unwrap_or(server);
    Report {
        outcome,
        server: server.server.clone(),
        client: client.client.clone(),
        client_lifetime_ns: client.client_lifetime_ns,
        cpu_use: client.cpu_use,
        qdiscs: all().flat_map(|report| report.qdiscs.clone()).collect(),
        drops_to_server: of_wire.drops_to_server,
        forwarder: of_wire.forwarder.clone(),
        offloads: all().flat_map(|report| report.offloads.clone()).collect(),
        taps: all().flat_map(|report| report.taps.clone()).collect(),
        cut: all().flat_map(|report| report.cut.clone()).collect(),
        lost_logs: all().flat_map(|report| report.lost_logs.clone()).collect(),
        drained: of_wire.drained,
        kernel_release: server.kernel_release.clone(),
        ..client.clone()
    }
}

/// What is to be changed in the captures.
#[derive(Clone, Copy, Debug)]
pub struct Corrections<'a> {
    /// The clock of the client's host; `None` where nothing is known of it.
    pub client: Option<&'a ClockSeen>,
    /// The clock of the sniffer; `None` where nothing is known of it.
    pub sniffer: Option<&'a ClockSeen>,
    /// Where a sniffer captured: the link-layer address of the server.
    pub sniffed: Option<[u8; 6]>,
}

/// Writes the slot: the blobs of all hosts, those of other taps than the server's with the times of the server's clock, and those of the
/// client's tap with the directions of the other end of the link; and what the hosts did, as one blob.
///
/// # Errors
/// Where a host's answer makes no sense, or the disk is full.
pub fn write(path: &Path, report: Report, handed: &mut [Handed], corrections: Corrections) -> Result<()> {
    let Corrections { client, sniffer, sniffed } = corrections;
    let client_behind_ns = |time_ns| client.map_or(0, |clock| clock.server_ahead_at(time_ns));
    let mut sampled = Vec::new();
    let mut file = File::create(path).with_context(|| path.display().to_string())?;
    let mut end = MANIFEST_ROOM;
    let mut blobs = Vec::new();
    let block_bytes = report.taps.iter().map(|tap| tap.block_bytes).max().unwrap_or(0);
    for Handed { manifest, blobs: bytes } in handed {
        let mut position = 0;
        for blob in &manifest.blobs {
            ensure!(blob.offset == position, "{}: found offset {}, expected {position}", blob.name, blob.offset);
            position += blob.length;
            bytes.seek(SeekFrom::Start(blob.offset))?;
            file.seek(SeekFrom::Start(end))?;
            let mut source = Read::take(&mut *bytes, blob.length);
            if blob.name == ACTIVITY {
                let mut json = Vec::new();
                source.read_to_end(&mut json)?;
                sampled.push(of_host(&json, &manifest.report, client_behind_ns)?);
                continue;
            }
            if blob.name == BEHIND {
                let mut ring = Vec::new();
                source.read_to_end(&mut ring)?;
                // One that makes no sense fails the run where the capture is written.
                let _ = move_to_other_end(&mut ring, usize::try_from(block_bytes)?, client_behind_ns);
                file.write_all(&ring)?;
            } else if let (SENDER, Some(mac)) = (blob.name.as_str(), sniffed) {
                let mut ring = Vec::new();
                source.read_to_end(&mut ring)?;
                let block_bytes = usize::try_from(block_bytes)?;
                let behind = |time_ns| sniffer.map_or(0, |clock| clock.server_ahead_at(time_ns));
                // As above.
                let _ = move_in_time(&mut ring, block_bytes, behind)
                    .and_then(|()| set_directions(&mut ring, block_bytes, |frame| frame.get(6..12) == Some(&mac[..])));
                file.write_all(&ring)?;
            } else {
                std::io::copy(&mut source, &mut file)?;
            }
            blobs.push(Blob { name: blob.name.clone(), offset: end, length: blob.length });
            end = (end + blob.length).next_multiple_of(BLOCK as u64);
        }
    }
    if !sampled.is_empty() {
        sampled.sort_by_key(|one| std::cmp::Reverse(one.role));
        let json = serde_json::to_vec(&activity::merge(sampled)?)?;
        file.seek(SeekFrom::Start(end))?;
        file.write_all(&json)?;
        blobs.push(Blob { name: ACTIVITY.to_owned(), offset: end, length: json.len() as u64 });
        end = (end + json.len() as u64).next_multiple_of(BLOCK as u64);
    }
    file.set_len(end)?;
    let json = serde_json::to_vec(&Manifest { report, blobs })?;
    ensure!(
        json.len() as u64 <= MANIFEST_ROOM - BLOCK as u64,
        "the hosts' reports take {} bytes, which is too much",
        json.len()
    );
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&header(RESULTS_MAGIC, json.len() as u64))?;
    file.write_all(&json).with_context(|| path.display().to_string())
}

/// What a host sampled, by the server's clock.
fn of_host(json: &[u8], report: &Report, client_behind_ns: impl Fn(u64) -> i64) -> Result<Sampled> {
    let mut activity: Activity = serde_json::from_slice(json).context("what a host says of itself")?;
    let is_client = report.client.is_some();
    if is_client {
        let moved = |time: &u64| time.saturating_add_signed(client_behind_ns(*time));
        activity.times_ns = activity.times_ns.iter().map(moved).collect();
    }
    Ok(Sampled { role: if is_client { "client" } else { "server" }, activity })
}
