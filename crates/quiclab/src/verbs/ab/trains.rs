//! A train that shows how the sides differ, with what preceded it: the sender's tap and the server's log.

mod sender;

use std::path::Path;

use anyhow::{Context, Result};
use quiclab_experiment::run::Settings;
use quiclab_record::Record;
use quiclab_report::{
    Comparison, Key, Pair, ReportInput, RunRow, SeenTrain, ShownTrain, TrainDifference, counts_handshakes,
};
use quiclab_wire::{QlogEventKind, QlogSpace, read_qlog};

use super::{
    folders::record_of,
    train_search::{first_lonely, longest},
};
use quiclab_units::ShowPath;

use quiclab_pages::transfer::logs::open_log;
use sender::{Sender, Train};

/// Pairs of settings that are looked at.
const MOST_PAIRS: usize = 4;

/// A train for each pair of settings: the longest one of the side that the verdict calls burstier, or else the first one that differs. A
/// record that cannot be read is reported on standard error: the comparison does not depend on it.
pub fn differences(
    comparison: &Comparison,
    inputs: &[ReportInput; 2],
    keys: [Key; 2],
    out: &Path,
) -> Vec<TrainDifference> {
    let mut found = Vec::new();
    let mut seen: Vec<&Settings> = Vec::new();
    for first in &inputs[0].runs {
        let settings = &first.run.settings;
        // Handshakes are not judged by their trains.
        if seen.len() >= MOST_PAIRS || counts_handshakes(settings) || seen.contains(&settings) {
            continue;
        }
        let key = keys[0](settings);
        let of_both = inputs[0].runs.iter().filter(|left| left.run.settings == *settings).filter_map(|left| {
            let is_counterpart =
                |right: &&RunRow| right.run.seed == left.run.seed && keys[1](&right.run.settings) == key;
            Some([left, inputs[1].runs.iter().find(is_counterpart)?])
        });
        let of_both: Vec<_> = of_both.collect();
        let Some(first_seed) = of_both.first().copied() else { continue };
        seen.push(settings);
        let pair = comparison.pairs.iter().find(|pair| pair.key == key);
        let label = pair.map_or(settings.stack.name.as_str(), |pair| &pair.label);
        let burstier = pair.and_then(Pair::burstier);
        // Where the longest trains differ most.
        let runs = burstier.and_then(|side| of_both.into_iter().rev().max_by_key(|runs| longer_by(runs, side)));
        match difference(label, runs.unwrap_or(first_seed), burstier, out) {
            Ok(difference) => found.extend(difference),
            Err(error) => status!("quiclab: no train is shown: {error:#}"),
        }
    }
    found
}

/// Packets by which the longest train of a side exceeds that of the other.
fn longer_by(runs: &[&RunRow; 2], side: usize) -> i64 {
    let longest = |side: usize| runs[side].metrics.metrics.train_max_packets.unwrap_or(0) as i64;
    longest(side) - longest(1 - side)
}

fn difference(label: &str, runs: [&RunRow; 2], burstier: Option<usize>, out: &Path) -> Result<Option<TrainDifference>> {
    if runs.iter().any(|run| !run.run.settings.tap.enabled) {
        return Ok(None);
    }
    let records = [record(out, "a", runs[0])?, record(out, "b", runs[1])?];
    let senders = [Sender::read(&records[0])?, Sender::read(&records[1])?];
    let lengths = [0, 1].map(|side| senders[side].trains.iter().map(|train| train.packets).collect::<Vec<_>>());
    let lengths = [&lengths[0][..], &lengths[1]];
    let longest = burstier.and_then(|side| longest(lengths, side)).map(|train| (ShownTrain::LongestOfBurstier, train));
    let first = || first_lonely(lengths).map(|train| (ShownTrain::FirstOnOneSide, train));
    let Some((shown_train, train)) = longest.or_else(first) else { return Ok(None) };
    let seen = |side: usize| shown(&records[side], &senders[side].trains[train.trains[side]]);
    Ok(Some(TrainDifference {
        label: label.to_owned(),
        seed: runs[0].run.seed,
        shown: shown_train,
        has: ["A", "B"][train.side],
        sides: [seen(0)?, seen(1)?],
        more: format!("quiclab diff {} {}", records[0].folder.shown(), records[1].folder.shown()),
    }))
}

/// The record of a run of a side.
fn record(out: &Path, side: &str, run: &RunRow) -> Result<Record> {
    Ok(Record::load(&record_of(&out.join(side), run)?)?)
}

fn shown(record: &Record, train: &Train) -> Result<SeenTrain> {
    let logged = match train.number {
        Some(number) => logged(record, number)?,
        None => Logged::default(),
    };
    let burst = record.metrics.distributions.bursts.iter().find(|burst| burst.start_ns == train.start_ns);
    Ok(SeenTrain {
        packets: train.packets,
        bytes: train.bytes,
        time_ns: train.time_ns,
        packet_number: train.number,
        gap_before_ns: train.gap_before_ns,
        since_ack_ns: train.since_ack_ns,
        newly_acknowledged: train.newly_acknowledged,
        bytes_in_flight: train.bytes_in_flight,
        congestion_window_bytes: logged.congestion_window_bytes,
        pacing_rate_bps: logged.pacing_rate_bps,
        cause: burst.map(|burst| burst.cause),
        evidence: burst.map(|burst| burst.evidence.clone()),
    })
}

/// What the server's log said last before a packet.
#[derive(Clone, Copy, Debug, Default)]
struct Logged {
    congestion_window_bytes: Option<u64>,
    pacing_rate_bps: Option<u64>,
}

fn logged(record: &Record, number: u64) -> Result<Logged> {
    for file in quiclab_record::qlog_files(&record.folder.join("server/qlog"))? {
        let mut state = Logged::default();
        let mut found = None;
        let mut on_event = |event: quiclab_wire::QlogEvent| match event.kind {
            QlogEventKind::Metrics(metrics) => {
                state.congestion_window_bytes = metrics.congestion_window_bytes.or(state.congestion_window_bytes);
                state.pacing_rate_bps = metrics.pacing_rate_bps.or(state.pacing_rate_bps);
            }
            QlogEventKind::PacketSent(packet)
                if found.is_none()
                    && packet.space == Some(QlogSpace::OneRtt)
                    && packet.packet_number == Some(number) =>
            {
                found = Some(state);
            }
            _ => {}
        };
        // A log that ends in the middle has what comes before.
        read_qlog(open_log(&file)?, &mut on_event).with_context(|| file.shown())?;
        if let Some(found) = found {
            return Ok(found);
        }
    }
    Ok(Logged::default())
}
