//! What hosts hand over of a run, kept until the run is over: no more of it than was ordered.
//!
//! A host says how long its files are before it sends them, and may say anything. What is checked once all hosts have answered cannot help a
//! disk that is full by then.

use std::{
    collections::BTreeSet,
    env,
    fs::File,
    io::{Read, copy},
    path::PathBuf,
};

use anyhow::{Context, Result, bail, ensure};
use quiclab_agent_protocol::{
    activity::{ACTIVITY, MOST_ACTIVITY_BYTES},
    orders::Orders,
    results::{ROLES, TAPS},
    slot::{MOST_LOGS, Manifest},
};

/// A capture has at most five times the bytes of the transfers, because of headers, acknowledgments and packets that are sent again
/// (`ring_bytes` in the agent); and this much for handshakes.
const CAPTURE_FACTOR: u64 = 5;
const CAPTURE_FLOOR_BYTES: u64 = 16 << 20;

/// Where results of the present run go.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    /// What the run was told to leave; `None` while there is no run.
    orders: Option<Box<Orders>>,
    /// Hosts that have handed over theirs.
    done: BTreeSet<usize>,
}

impl Spool {
    /// While there is no run.
    pub fn closed() -> Self {
        Self { folder: env::temp_dir(), orders: None, done: BTreeSet::new() }
    }

    /// Makes a spool for a run.
    pub fn of(folder: PathBuf, orders: Orders) -> Self {
        Self { folder, orders: Some(Box::new(orders)), done: BTreeSet::new() }
    }

    /// An empty file for the bytes of a host's results, and how many they are.
    ///
    /// # Errors
    /// Results that nobody asked for, and more of them than were ordered.
    pub fn open(&mut self, host: usize, manifest: &Manifest) -> Result<(File, u64)> {
        let orders = self.orders.as_ref().context("found results, expected none: no run is under way")?;
        ensure!(self.done.insert(host), "found results of the run a second time, expected them once");
        let length = ordered_bytes(manifest, orders)?;
        let file = tempfile::tempfile_in(&self.folder).with_context(|| self.folder.display().to_string())?;
        Ok((file, length))
    }
}

/// Copies exactly so many bytes.
///
/// # Errors
/// Where there are fewer.
pub(super) fn fill(file: &mut File, from: impl Read, length: u64) -> Result<()> {
    let copied = copy(&mut from.take(length), file).context("results of a host")?;
    ensure!(copied == length, "its results ended after {copied} of {length} bytes");
    Ok(())
}

/// Bytes of all blobs together, each of which is one that was ordered.
fn ordered_bytes(manifest: &Manifest, orders: &Orders) -> Result<u64> {
    let most = TAPS.len() + orders.transfer.names.len() + ROLES.len() * MOST_LOGS + 1;
    ensure!(manifest.blobs.len() <= most, "its results: found {} files, expected at most {most}", manifest.blobs.len());
    let (mut all, mut logs, mut names) = (0_u64, 0_u64, BTreeSet::new());
    for blob in &manifest.blobs {
        let shown: String = blob.name.escape_debug().take(60).collect();
        let most = match blob.name.split_once('/') {
            Some(("tap", tap)) if orders.tap.is_some() && TAPS.contains(&tap) => most_of_a_capture(orders),
            Some(("download", file)) if orders.transfer.names.iter().any(|name| name == file) => {
                orders.transfer.size_bytes
            }
            _ if blob.name == ACTIVITY && orders.sampling.is_some() => MOST_ACTIVITY_BYTES,
            Some((role, _)) if ROLES.contains(&role) => {
                logs = logs.saturating_add(blob.length);
                orders.log_limit_bytes.saturating_sub(logs - blob.length)
            }
            _ => bail!("its results: {shown}: found a file that was not ordered, expected none"),
        };
        ensure!(names.insert(&blob.name), "its results: {shown}: found twice, expected once");
        ensure!(blob.length <= most, "its results: {shown}: found {} bytes, expected at most {most}", blob.length);
        all = all.saturating_add(blob.length);
    }
    Ok(all)
}

fn most_of_a_capture(orders: &Orders) -> u64 {
    let room = orders.tap.as_ref().map_or(0, |tap| tap.room_bytes);
    let all = orders.transfer.size_bytes.saturating_mul(orders.transfer.names.len() as u64);
    all.max(room).saturating_mul(CAPTURE_FACTOR).saturating_add(CAPTURE_FLOOR_BYTES)
}

#[cfg(test)]
mod tests {
    use quiclab_agent_protocol::slot::Blob;
    use serde_json::json;

    use super::*;

    const SIZE: u64 = 5000;

    fn orders() -> Orders {
        let program = json!({ "command": [], "environment": {}, "folder": "/", "awaits_simulator": false });
        serde_json::from_value(json!({
            "start_shift_ns": 0, "timer_slack_ns": 1, "tap": { "room_bytes": 0 }, "files": [], "log_limit_bytes": 100,
            "network": { "to_client": [], "to_server": [], "server": [], "drops_to_server": [], "longest_delay_ns": 0 },
            "transfer": { "names": ["file"], "size_bytes": SIZE, "seed": 1, "timeout_ns": 1 },
            "server": program, "client": program, "listen": { "transport": "udp", "port": 443, "timeout_ns": 1 },
        }))
        .unwrap()
    }

    fn manifest(blobs: &[(&str, u64)]) -> Manifest {
        let blobs = blobs.iter().map(|(name, length)| Blob { name: (*name).to_owned(), offset: 0, length: *length });
        let report = json!({
            "outcome": { "kind": "done" }, "server": null, "client": null, "client_lifetime_ns": null, "cpu_use": null,
            "qdiscs": [], "offloads": {}, "taps": [], "kernel_release": "6.1", "drained": true,
        });
        let report = serde_json::from_value(report).unwrap();
        Manifest { report, blobs: blobs.collect() }
    }

    fn refusal(blobs: &[(&str, u64)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::of(folder.path().to_path_buf(), orders());
        spool.open(0, &manifest(blobs)).map_or_else(|error| format!("{error:#}"), |_| "stored".to_owned())
    }

    #[test]
    fn more_than_was_ordered_is_refused_before_a_byte_of_it_is_stored() {
        let capture = CAPTURE_FLOOR_BYTES + CAPTURE_FACTOR * SIZE;
        let good = [("tap/sender", capture), ("download/file", SIZE), ("server/stderr", 40), ("client/stderr", 60)];
        assert_eq!(refusal(&good), "stored");
        for (name, length, expected) in [
            ("tap/sender", capture + 1, format!("tap/sender: found {} bytes, expected at most {capture}", capture + 1)),
            ("download/file", SIZE + 1, format!("expected at most {SIZE}")),
            ("server/stderr", 101, "expected at most 100".to_owned()),
            ("server/stderr", u64::MAX, "expected at most 100".to_owned()),
            ("tap/other", 1, "found a file that was not ordered".to_owned()),
            ("download/other", 1, "found a file that was not ordered".to_owned()),
            (ACTIVITY, 1, "found a file that was not ordered".to_owned()),
            ("x\u{1b}", 1, "x\\u{1b}: found a file that was not ordered".to_owned()),
        ] {
            let found = refusal(&[(name, length)]);
            assert!(found.contains(&expected), "{found}");
        }
        assert!(
            refusal(&[("server/a", 60), ("server/b", 60)]).contains("server/b: found 60 bytes, expected at most 40")
        );
        assert!(refusal(&[("tap/sender", 1), ("tap/sender", 1)]).contains("found twice"));
        let many: Vec<_> = (0..2004).map(|number| format!("server/{number}")).collect();
        let many: Vec<_> = many.iter().map(|name| (&name[..], 0)).collect();
        assert_eq!(refusal(&many), "stored");
        assert!(refusal(&[&many[..], &[("client/x", 0)]].concat()).contains("found 2005 files"));
    }

    #[test]
    fn results_that_nobody_asked_for_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = Spool::closed().open(0, &manifest(&[])).unwrap_err().to_string();
        assert!(error.contains("no run is under way"), "{error}");
        let mut spool = Spool::of(folder.path().to_path_buf(), orders());
        assert_eq!(spool.open(0, &manifest(&[("server/a", 1)])).unwrap().1, 1);
        assert_eq!(spool.open(1, &manifest(&[])).unwrap().1, 0);
        assert!(spool.open(0, &manifest(&[])).unwrap_err().to_string().contains("a second time"));
    }
}
