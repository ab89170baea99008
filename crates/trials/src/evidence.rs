//! What the files of a run show of a claim.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use quiclab_experiment::{
    run::{Gso, KeyExchange, Pacing, Run, Switch, word},
    stack::Role,
};
use quiclab_inputs::{MOST_LIST_BYTES, open_unlinked, read_unlinked, read_unlinked_text};
use quiclab_interop::{Facts, FactsSettings, Verdict};
use quiclab_metrics::RunMetrics;
use quiclab_record::{
    layout::{CAPTURE_FILE, METRICS_FILE, SENDER_TAP},
    read_observed,
};
use quiclab_testbed::{collect::RunFailure, contract::SERVER_PORT, sent::sent_by};
use quiclab_units::ByteCount;
use quiclab_wire::CaptureReader;

use super::{
    claims::{CERTIFICATE_DELAY, Expected, Proof},
    congestion_control, handshakes, qlogs, streams,
};
use crate::verdict::verdict_of;

/// Largest frame without segmentation offload, in bytes.
const LARGEST_FRAME: u32 = 1514;
/// Header of an Ethernet frame, in bytes.
const ETHERNET_HEADER: u64 = 14;
/// Headers of IPv4 and UDP, in bytes.
const IP_AND_UDP: u64 = 28;
/// Bytes by which what two settings send must be apart at some time. Settings that change nothing but the length of a variable in the
/// environment, and so some nanoseconds, are 18 KB apart in 4 MiB over TCP (tests/stacks/careless); any two congestion controls of TCP, haproxy,
/// lsquic, msquic, ngtcp2, quiche, quinn or s2n-quic, 211 KB to 5.3 MB.
const APART: u64 = 64 << 10;
/// What the endpoint printed, in its folder.
const STDERR: &str = "stderr";
/// Warnings that say that an endpoint does what it should not do.
const MISBEHAVIOUR: [&str; 3] = ["processes_left", "stray_files", "log_cut"];

/// How a run ended.
pub enum Ended {
    /// The run left a record.
    Well {
        /// The record.
        folder: PathBuf,
    },
    /// The run left no record.
    Badly {
        /// What is known of it.
        folder: PathBuf,
        /// Why.
        failure: RunFailure,
    },
}

impl Ended {
    /// True where the file arrived.
    pub fn transferred(&self) -> bool {
        matches!(self, Self::Well { .. })
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        match self {
            Self::Well { folder } | Self::Badly { folder, .. } => folder,
        }
    }

    /// The end in a word, for the progress.
    pub fn in_a_word(&self) -> &'static str {
        match self {
            Self::Well { .. } => "transferred",
            Self::Badly { failure: RunFailure::Unsupported(_), .. } => "refused",
            Self::Badly { .. } => "failed",
        }
    }
}

/// What was found: `Ok` where the claim holds.
pub fn judge(proof: &Proof, ended: &Ended, proofs: &[Proof], all: &[Ended]) -> Result<String, String> {
    match (&proof.expected, ended) {
        // Nothing is known of what the endpoints did.
        (_, Ended::Badly { failure: failure @ (RunFailure::Guest(_) | RunFailure::Agent(_)), .. }) => {
            Err(failure.to_string())
        }
        (Expected::Refusal(role), ended) => refusal(*role, ended),
        (Expected::Case(case), ended) => case_shown(verdict_of(case, ended.folder())),
        (Expected::CaseUnlessForbidden(case), ended) => {
            shown_or_forbidden(verdict_of(case, ended.folder()), said_not_supported(Role::Server, ended))
        }
        (Expected::Pacing(_), Ended::Badly { failure: RunFailure::Unsupported(_), .. }) => {
            Ok("refused in combination with the other defaults".to_owned())
        }
        (Expected::Streams(_), Ended::Badly { failure: RunFailure::Unsupported(role), .. })
            if *role == word(&Role::Client) =>
        {
            Ok("refused: it has no such limit".to_owned())
        }
        (_, Ended::Badly { failure, .. }) => Err(failure.to_string()),
        (expected, Ended::Well { folder }) => {
            let shown = match expected {
                Expected::CongestionControl(name) => congestion_control(name, folder, proofs, all),
                Expected::Hystart(hystart) => other_packets(*hystart, folder, proofs, all),
                Expected::Segments(most) => small_batches(*most, folder),
                Expected::Gso(gso) => segmentation(*gso, proof.run.settings.workload.all_bytes(), folder),
                Expected::Pacing(pacing) => planned_times(*pacing, folder),
                Expected::FirstAck(first_ack) => handshakes::first_ack(*first_ack, CERTIFICATE_DELAY, folder),
                Expected::Chain => chain(&proof.run, folder),
                Expected::Probe(role, pto) => handshakes::first_probe(*role, *pto, folder),
                Expected::KeyExchange(exchange) => key_exchange(*exchange, folder),
                Expected::Streams(most) => streams::at_a_time(*most, &proof.run, folder),
                Expected::Mtu(mtu) => long_datagrams(*mtu, folder),
                Expected::LateCertificate(delay) => handshakes::late_certificate(*delay, CERTIFICATE_DELAY, folder),
                Expected::Logs { keys, qlog, windows } => logs(keys, qlog, *windows, folder),
                _ => transfer(folder),
            };
            shown.map_err(|error| format!("{error:#}"))
        }
    }
}

fn case_shown(verdict: Result<Verdict>) -> Result<String, String> {
    match verdict {
        Ok(Verdict::Succeeded) => Ok("the packets and files show it".to_owned()),
        // It answered 127, or its transport parameters forbid it.
        Ok(Verdict::Unsupported { role }) => Err(format!("the {} does not support it", role.name())),
        Ok(Verdict::Failed { reasons }) => Err(reasons.join("; ")),
        Ok(Verdict::CannotBeJudged { reasons }) => Err(format!("cannot be judged: {}", reasons.join("; "))),
        Err(error) => Err(format!("{error:#}")),
    }
}

/// A server that answers 127 does not do the transfer that it claims. Without that, its packets say that it does not support the case.
fn shown_or_forbidden(verdict: Result<Verdict>, server_said_127: bool) -> Result<String, String> {
    match verdict {
        Ok(Verdict::Unsupported { role: quiclab_wire::Role::Server }) if !server_said_127 => {
            Ok("the server's transport parameters forbid it".to_owned())
        }
        verdict => case_shown(verdict),
    }
}

fn said_not_supported(role: Role, ended: &Ended) -> bool {
    matches!(ended, Ended::Badly { failure: RunFailure::Unsupported(found), .. } if *found == word(&role))
}

fn refusal(role: Role, ended: &Ended) -> Result<String, String> {
    match ended {
        ended if said_not_supported(role, ended) => Ok("127".to_owned()),
        Ended::Badly { failure, .. } => Err(format!("expected 127, found: {failure}")),
        Ended::Well { .. } => Err("expected 127; the endpoint ignored it, and the transfer continued".to_owned()),
    }
}

fn transfer(folder: &Path) -> Result<String> {
    let metrics = metrics(folder)?;
    if let Some(warning) = metrics.warnings.iter().find(|warning| MISBEHAVIOUR.contains(&warning.code.as_str())) {
        anyhow::bail!("{}", warning.message);
    }
    let facts = facts(folder)?;
    let opened: u64 = facts
        .connections
        .iter()
        .flat_map(|one| &one.senders)
        .map(|sender| sender.packets_by_form.values().sum::<u64>())
        .sum();
    let closed: u64 = facts.connections.iter().flat_map(|one| &one.senders).map(|sender| sender.packets_unread).sum();
    if facts.connections.is_empty() {
        // Not QUIC: its secrets are in the capture for whoever wants to look.
        return Ok("the file is complete".to_owned());
    }
    anyhow::ensure!(closed == 0, "{closed} of {opened} packets could not be decrypted with the key log");
    Ok(format!("the file is complete, {opened} packets decrypted"))
}

fn logs(keys: &[Role], qlog: &[Role], windows: bool, folder: &Path) -> Result<String> {
    let mut found = transfer(folder)?;
    for role in keys.iter().map(word) {
        let length = fs::metadata(folder.join(&role).join("keys.log")).map_or(0, |file| file.len());
        anyhow::ensure!(length > 0, "the {role} left no TLS secrets");
    }
    for role in qlog {
        let events = qlogs::check(*role, windows, folder)?;
        found.push_str(&format!(", {} qlog with {events}", word(role)));
    }
    Ok(found)
}

/// Datagrams of the server that are longer than any that fits into Ethernet's 1500 bytes, and not longer than the path takes.
fn long_datagrams(mtu: u32, folder: &Path) -> Result<String> {
    let facts = facts(folder)?;
    let servers = facts.connections.iter().map(|one| one.sent(quiclab_wire::Role::Server).longest_datagram_bytes);
    let found = servers.max().unwrap_or(0);
    let [usual, most] = [u64::from(LARGEST_FRAME) - ETHERNET_HEADER, u64::from(mtu)].map(|packet| packet - IP_AND_UDP);
    anyhow::ensure!(
        found > usual && found <= most,
        "the longest datagram of the server has {found} bytes; expected more than {usual}, and at most {most}"
    );
    Ok(format!("the longest datagram has {found} bytes of at most {most}"))
}

/// Packets that are far from those under every other algorithm, and logs of the server that name this one or none.
fn congestion_control(name: &str, folder: &Path, proofs: &[Proof], all: &[Ended]) -> Result<String> {
    let others: Vec<_> = proofs
        .iter()
        .zip(all)
        .filter_map(|(proof, ended)| match &proof.expected {
            Expected::CongestionControl(other) if other != name => Some((other.as_str(), ended)),
            _ => None,
        })
        .collect();
    let files = files(&folder.join("server"))?;
    let claimed: Vec<_> = others.iter().map(|(other, _)| *other).collect();
    for (_, text) in files.iter().filter(|(path, _)| path.ends_with(STDERR)) {
        congestion_control::not_contradicted(name, &claimed, text).map_err(anyhow::Error::msg)?;
    }
    let mut parts = Vec::new();
    for (other, ended) in others {
        if let Ended::Well { folder: theirs } = ended {
            parts.push(apart(folder, theirs, other)?);
        }
    }
    if let Some(path) = congestion_control::named_in(name, &files) {
        parts.push(format!("named in {}", path.file_name().unwrap_or_default().to_string_lossy()));
    }
    Ok(match parts.is_empty() {
        true => "the only one, and never named in a log; see the stack's notes".to_owned(),
        false => parts.join(", "),
    })
}

/// How far the server's packets are apart from those of another run of the same seed.
fn apart(folder: &Path, other: &Path, name: &str) -> Result<String> {
    let (bytes, nanoseconds) = largest_gap(&sent(folder)?, &sent(other)?);
    let seconds = nanoseconds as f64 / 1e9;
    let found = format!("at most {} KiB apart from {name}, {seconds:.3} s after the first packet", bytes >> 10);
    anyhow::ensure!(bytes >= APART, "{found}; expected {} KiB: the setting changes nothing", APART >> 10);
    Ok(found)
}

/// The largest difference between the bytes that two runs have sent at the same time, and when that was in nanoseconds.
fn largest_gap(one: &[(u64, u64)], two: &[(u64, u64)]) -> (u64, u64) {
    let mut rests = [one, two];
    let mut sent = [0, 0];
    let mut largest = (0, 0);
    loop {
        let next = rests.iter().filter_map(|rest| rest.first()).map(|(time, _)| *time).min();
        let Some(now) = next else { return largest };
        for (rest, sent) in rests.iter_mut().zip(&mut sent) {
            while let Some(((_, bytes), after)) = rest.split_first().filter(|((time, _), _)| *time <= now) {
                *sent = *bytes;
                *rest = after;
            }
        }
        let [one, two] = sent;
        if one.abs_diff(two) > largest.0 {
            largest = (one.abs_diff(two), now);
        }
    }
}

fn other_packets(hystart: Switch, folder: &Path, proofs: &[Proof], all: &[Ended]) -> Result<String> {
    let mut runs = proofs.iter().zip(all);
    let other = runs.find_map(|(proof, ended)| match (&proof.expected, ended) {
        (Expected::Hystart(other), Ended::Well { folder }) if *other != hystart => Some((other, folder)),
        _ => None,
    });
    let (other, theirs) = other.context("the run with the other value is missing")?;
    apart(folder, theirs, &format!("HyStart++ {}", word(other)))
}

fn small_batches(most: u32, folder: &Path) -> Result<String> {
    let sizes = read_observed(folder, None)?.send_sizes.context("the lengths of sent buffers were not counted")?;
    let largest = sizes.keys().next_back().copied().unwrap_or(0);
    let found = format!("the longest buffer had {largest} bytes");
    anyhow::ensure!(largest > LARGEST_FRAME, "{found}; expected more than a frame");
    anyhow::ensure!(largest <= most * LARGEST_FRAME, "{found}; expected at most {most} frames");
    Ok(found)
}

/// The lengths are of both hosts. A client sends a few buffers of several packets at most, such as a long ClientHello; a server
/// that does so, a good part of the file.
fn segmentation(gso: Gso, file: ByteCount, folder: &Path) -> Result<String> {
    let sizes = read_observed(folder, None)?.send_sizes.context("the lengths of sent buffers were not counted")?;
    let long = || sizes.iter().filter(|(length, _)| **length > LARGEST_FRAME);
    let bytes: u64 = long().map(|(length, count)| u64::from(*length) * count).sum();
    let largest = sizes.keys().next_back().copied().unwrap_or(0);
    let found = format!(
        "{} of {} buffers were longer than a frame, the longest of {largest} bytes, together {bytes} bytes",
        long().map(|(_, count)| count).sum::<u64>(),
        sizes.values().sum::<u64>()
    );
    let file = file.as_bytes();
    match gso {
        Gso::On | Gso::Paced if bytes < file / 10 => {
            anyhow::bail!("{found}; expected a tenth of the file's bytes or more")
        }
        Gso::Off if bytes > file / 100 => anyhow::bail!("{found}; expected at most a hundredth of the file's bytes"),
        _ => Ok(found),
    }
}

fn planned_times(pacing: Pacing, folder: &Path) -> Result<String> {
    if pacing != Pacing::Txtime {
        return Ok("the file is complete".to_owned());
    }
    let path = folder.join("server/planned.csv");
    let text = read_unlinked_text(&path, MOST_LIST_BYTES).context("the server left no planned.csv")?;
    let lines = text.lines().count().saturating_sub(1);
    anyhow::ensure!(lines > 0, "planned.csv is empty");
    Ok(format!("{lines} planned send times"))
}

fn key_exchange(exchange: KeyExchange, folder: &Path) -> Result<String> {
    let facts = facts(folder)?;
    handshakes::key_exchange(exchange, facts.connections.first().and_then(|first| first.tls.offer.as_ref()))
}

fn chain(run: &Run, folder: &Path) -> Result<String> {
    let facts = facts(folder)?;
    handshakes::chain(run, facts.connections.first().and_then(|first| first.tls.certificate_bytes))
}

fn metrics(folder: &Path) -> Result<RunMetrics> {
    Ok(RunMetrics::from_json(&read_unlinked_text(&folder.join(METRICS_FILE), MOST_LIST_BYTES)?)?)
}

fn facts(folder: &Path) -> Result<Facts> {
    let reader = CaptureReader::new(open_unlinked(&folder.join(CAPTURE_FILE))?)?;
    let settings = FactsSettings { server_port: Some(SERVER_PORT), tap: Some(SENDER_TAP) };
    Ok(Facts::read(reader, &[], &settings)?)
}

fn sent(folder: &Path) -> Result<Vec<(u64, u64)>> {
    sent_by(&folder.join(CAPTURE_FILE), SENDER_TAP, SERVER_PORT, quiclab_wire::Role::Server)
}

/// The text files below `folder`, key logs and planned times aside; none where there is no such folder.
fn files(folder: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(files) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(self::files(&path)?);
        } else if !path.ends_with("keys.log") && !path.ends_with("planned.csv") {
            files.push((path.clone(), String::from_utf8_lossy(&read_unlinked(&path, MOST_LIST_BYTES)?).into_owned()));
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_may_forbid_what_it_does_not_claim_but_not_answer_127_nor_fail() {
        let by = |role| Ok(Verdict::Unsupported { role });
        assert!(shown_or_forbidden(by(quiclab_wire::Role::Server), false).is_ok());
        assert!(shown_or_forbidden(by(quiclab_wire::Role::Server), true).is_err());
        assert!(shown_or_forbidden(by(quiclab_wire::Role::Client), false).is_err());
        assert!(shown_or_forbidden(Ok(Verdict::Succeeded), false).is_ok());
        assert!(shown_or_forbidden(Ok(Verdict::Failed { reasons: vec!["x".to_owned()] }), false).is_err());
        assert!(case_shown(by(quiclab_wire::Role::Server)).is_err());
    }

    #[test]
    fn the_gap_is_between_what_was_sent_at_the_same_time() {
        let steady: Vec<_> = (1..=10).map(|step| (step, step * 100)).collect();
        assert_eq!(largest_gap(&steady, &steady), (0, 0));
        // It stops at 4 and is where the other is at 8.
        let late: Vec<_> = steady.iter().copied().filter(|(time, _)| *time <= 4 || *time >= 8).collect();
        assert_eq!(largest_gap(&steady, &late), (300, 7));
        assert_eq!(largest_gap(&late, &steady), (300, 7));
        assert_eq!(largest_gap(&steady, &steady[..6]), (400, 10));
        assert_eq!(largest_gap(&[], &steady), (1000, 10));
    }
}
