//! Queues that held more than they have room for.

use std::{cmp::Reverse, collections::BinaryHeap};

use quiclab_units::Duration;

use crate::{
    evidence::Evidence,
    law::{Findings, Law, LawReport},
    pairing::Origin,
    rules::{Limit, Rules, Stage, StageKind},
    tap_packet::TapPacket,
};

/// No queue holds more than its limit when a packet has come. Packets that did not leave are not counted, so a queue that drops what it took in
/// held more than is counted here.
pub(crate) fn buffer(evidence: &Evidence) -> LawReport {
    let mut findings = Findings::new(Law::Buffer, evidence.entrance);
    for (index, stage) in evidence.rules.stages.iter().enumerate() {
        let StageKind::Hold { limit, counts_held, at_least, .. } = &stage.kind else { continue };
        match between(evidence, index) {
            Err(why) => findings.not_audited(format!("the queue {}: {why}", stage.name)),
            Ok(Between { before, behind, pace }) => {
                let in_service = match pace {
                    // Without a rate the delay is all, and every packet in it counts.
                    None => false,
                    Some(StageKind::Pace { burst_bytes: Some(_), .. }) => !counts_held,
                    Some(_) => true,
                };
                let counts_copies = !evidence.rules.stages[index..].iter().any(|stage| stage.kind == StageKind::Copy);
                let least = if pace.is_none() { *at_least } else { Duration::ZERO };
                judge(
                    evidence,
                    &Queue { stage, limit: *limit, in_service, counts_copies, before, behind, least },
                    &mut findings,
                );
            }
        }
    }
    findings.finish()
}

/// The times around a queue, as far as they are known.
struct Between<'a> {
    /// Time from the first tap to the queue.
    before: Duration,
    /// Time from the rate behind the queue to the second tap.
    behind: Duration,
    /// The rate, if there is one.
    pace: Option<&'a StageKind>,
}

/// The times around the queue at this place, or why they are not known.
fn between<'a>(evidence: &'a Evidence, index: usize) -> Result<Between<'a>, String> {
    if !evidence.timing.is_exact {
        return Err(
            "the record does not say when packets came to it and left it, only when they were at the taps".to_owned()
        );
    }
    let stages = &evidence.rules.stages;
    let pace = stages.get(index + 1).map(|stage| &stage.kind);
    let pace = pace.filter(|kind| matches!(kind, StageKind::Pace { .. } | StageKind::PaceUnknown { .. }));
    let rest = stages.get(index + 1 + usize::from(pace.is_some())..).unwrap_or_default();
    let unknown = |other: &str| format!("the times at it are not known, because {other} delays packets differently");
    let before = Rules::constant_delay(&stages[..index]).map_err(unknown)?;
    let behind = Rules::constant_delay(rest).map_err(unknown)?;
    Ok(Between { before, behind, pace })
}

struct Queue<'a> {
    stage: &'a Stage,
    limit: Limit,
    /// True where the packet that leaves next does not count.
    in_service: bool,
    /// True where copies were made before it.
    counts_copies: bool,
    before: Duration,
    behind: Duration,
    /// Shortest time in the queue, where no rate is behind it.
    least: Duration,
}

fn judge(evidence: &Evidence, queue: &Queue, findings: &mut Findings) {
    let pairing = evidence.pairing;
    // When each packet came to the queue and left what empties it, in the order in which they came.
    let mut visits: Vec<(u64, u64, &TapPacket)> = Vec::new();
    for (packet, origin) in pairing.left.iter().zip(&pairing.origins) {
        if matches!(origin, Origin::Copy(_)) && !queue.counts_copies {
            continue;
        }
        let Some(entered) = origin.entered().map(|place| &pairing.entered[place]) else { continue };
        let came = entered.time.as_nanos().saturating_add(queue.before.as_nanos());
        let left = packet.time.as_nanos().saturating_sub(queue.behind.as_nanos());
        visits.push((came, left.max(came.saturating_add(queue.least.as_nanos())), entered));
    }
    visits.sort_by_key(|(came, left, entered)| (*came, entered.frame, *left));
    findings.checked(visits.len());
    let mut inside: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    let mut bytes = 0;
    for (came, left, packet) in visits {
        let length = u64::from(packet.length);
        inside.push(Reverse((left, length)));
        bytes += length;
        // What leaves makes room for what comes at the same time.
        while let Some(Reverse((_, gone))) = inside.peek().filter(|Reverse((left, _))| *left <= came) {
            bytes -= gone;
            inside.pop();
        }
        let next = inside.peek().filter(|_| queue.in_service).map_or((0, 0), |Reverse((_, next))| (1, *next));
        let (held, most, unit) = match queue.limit {
            Limit::Packets(most) => (inside.len() as u64 - next.0, most, "packets"),
            Limit::Bytes(most) => (bytes - next.1, most, "bytes"),
        };
        if held > most {
            findings.violated(packet, || {
                format!("with it the queue {} held at least {held} {unit}, and has room for {most}", queue.stage.name)
            });
        }
    }
}
