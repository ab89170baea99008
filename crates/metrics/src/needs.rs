//! What each metric rests on. A metric one of whose needs is not met is null, with the reason in [`RunMetrics::withheld`].

use std::collections::BTreeMap;

use quiclab_wire::{FlowProtocol, Role};

use crate::bursts::cause::BurstCause;
use crate::metrics::{METRICS, Metrics};
use crate::output::{RunMetrics, Withheld};
use crate::pacing::{self, PacingMetrics};
use crate::slow_start::{SlowStart, SlowStartEnd};
use crate::warnings::WarningCode;

/// Share of packets that may be missing, unread, copied or oversized before the metrics that rest on them are null.
pub const MOST_UNMET: f64 = 0.01;

/// Something that a capture must show for a metric to mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Times do not run backwards.
    OrderedTimes,
    /// Frames are those of the wire, not super-packets from before segmentation.
    WireSizedPackets,
    /// The tap saw each packet of the sender once.
    NoCopies,
    /// The tap saw each packet of the peer once.
    NoPeerCopies,
    /// The capture has every packet that passed its tap.
    EveryPacket,
    /// The capture has the beginning of the connection.
    Beginning,
    /// The capture has the end of the connection, and the reader followed it there.
    Ending,
    /// The packet numbers of the sender's packets are known.
    PacketNumbers,
    /// The frames of the sender's packets were read.
    OwnFrames,
    /// The frames of the peer's packets were read: its acknowledgments. For TCP, the peer's segments were captured.
    PeerFrames,
}

use Need::{
    Beginning, Ending, EveryPacket, NoCopies, NoPeerCopies, OrderedTimes, OwnFrames, PacketNumbers, PeerFrames,
    WireSizedPackets,
};

impl Need {
    /// All needs, in the order of declaration.
    pub const ALL: [Need; 10] = [
        OrderedTimes,
        WireSizedPackets,
        NoCopies,
        NoPeerCopies,
        EveryPacket,
        Beginning,
        Ending,
        PacketNumbers,
        OwnFrames,
        PeerFrames,
    ];

    /// Stable name, as in `metrics.json` and docs/reference/metrics.md.
    pub fn name(self) -> &'static str {
        match self {
            OrderedTimes => "ordered_times",
            WireSizedPackets => "wire_sized_packets",
            NoCopies => "no_copies",
            NoPeerCopies => "no_peer_copies",
            EveryPacket => "every_packet",
            Beginning => "beginning",
            Ending => "ending",
            PacketNumbers => "packet_numbers",
            OwnFrames => "own_frames",
            PeerFrames => "peer_frames",
        }
    }
}

pub(crate) const COUNTS: &[Need] = &[NoCopies, EveryPacket];
pub(crate) const PACKETS: &[Need] = &[WireSizedPackets, NoCopies, EveryPacket];
pub(crate) const SPACING: &[Need] = &[OrderedTimes, WireSizedPackets, NoCopies, EveryPacket];
pub(crate) const CAUSES: &[Need] =
    &[OrderedTimes, WireSizedPackets, NoCopies, EveryPacket, Beginning, PacketNumbers, OwnFrames, PeerFrames];
pub(crate) const STREAMS: &[Need] = &[EveryPacket, OwnFrames];
pub(crate) const REPEATED: &[Need] = &[EveryPacket, Beginning, OwnFrames];
pub(crate) const RECOVERY: &[Need] = &[EveryPacket, PacketNumbers, OwnFrames, PeerFrames];
pub(crate) const EXCHANGES: &[Need] = &[OrderedTimes, EveryPacket, Beginning, OwnFrames, PeerFrames];
pub(crate) const HANDSHAKE: &[Need] = &[EveryPacket, Beginning];

pub(crate) const SLOW_START_END: &[Need] = &[EveryPacket, Beginning, PacketNumbers, OwnFrames, PeerFrames];

/// Every metric with its needs. A test holds it to [`Metrics`] and to docs/reference/metrics.md; another takes each need away.
pub const NEEDS: &[(&str, &[Need])] = &with_phases::<{ METRICS.len() + 2 * PacingMetrics::NAMES.len() }>();

const fn with_phases<const ALL: usize>() -> [(&'static str, &'static [Need]); ALL] {
    // Which phase a packet belongs to rests on what the causes of bursts rest on.
    let mut all = [("", CAUSES); ALL];
    let mut place = 0;
    while place < ALL {
        let phase = place.saturating_sub(METRICS.len());
        if place < METRICS.len() {
            all[place] = (METRICS[place].name, METRICS[place].needs);
        } else if phase < pacing::SLOW_START.len() {
            all[place].0 = pacing::SLOW_START[phase];
        } else {
            all[place].0 = pacing::STEADY[phase - pacing::SLOW_START.len()];
        }
        place += 1;
    }
    all
}

/// What a sender's metrics are about: which of them apply to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject {
    pub(crate) sender: Role,
    pub(crate) protocol: FlowProtocol,
    /// The length of what it transfers was given, so that goodput does not rest on the bytes of streams.
    pub(crate) bytes_are_given: bool,
}

impl Subject {
    /// What this metric needs of this sender.
    fn needs(self, metric: &str, needs: &[Need]) -> Vec<Need> {
        // TCP: a retransmission is seen without the peer.
        let is_by_retransmission = self.protocol == FlowProtocol::Tcp
            && (metric == "slow_start_end_ns" || pacing::is_of_phase(metric))
            && (metric.ends_with("_burst_share_of_packets") || !metric.contains("_burst_share_"));
        let is_needed = |need: &Need| match (metric, need) {
            (_, PacketNumbers | OwnFrames | PeerFrames) if is_by_retransmission => false,
            ("goodput_wire_bps", Beginning | Ending) => self.bytes_are_given,
            ("goodput_wire_bps", EveryPacket | OwnFrames) => !self.bytes_are_given,
            _ => true,
        };
        needs.iter().copied().filter(is_needed).collect()
    }

    /// Whether a metric without a value has none because of its needs, and not because it is about something else.
    fn would_have(self, metric: &str, needs: &[Need]) -> bool {
        let rests_on_frames = needs.iter().any(|need| matches!(need, PacketNumbers | OwnFrames | PeerFrames));
        let is_of_transfers = metric.starts_with("goodput_");
        let is_of_servers = EXCHANGES == needs;
        self.protocol == FlowProtocol::Quic
            && rests_on_frames
            && !metric.starts_with("burst_share_")
            && (self.sender == Role::Server || (!is_of_servers && (self.bytes_are_given || !is_of_transfers)))
    }
}

/// Why what rests on reading QUIC is null of a flow of UDP that nothing shows to be QUIC.
pub(crate) const NOT_QUIC: &str = "nothing shows that this flow of UDP is QUIC; if it is, capture its beginning, with payload, or pass its key \
                                   log with --keys";

/// Needs that are not met, with the reason.
#[derive(Clone, Debug, Default)]
pub(crate) struct MissingEvidence {
    reasons: BTreeMap<Need, (WarningCode, String)>,
    /// Whether nothing shows that the flow is QUIC, which is why QUIC cannot be read from it.
    is_not_quic: bool,
}

impl MissingEvidence {
    /// The first reason for a need is kept. `code`: of the warning that says so.
    pub(crate) fn add(&mut self, need: Need, code: WarningCode, reason: String) {
        let is_of_quic = matches!(code, WarningCode::KeysMissing | WarningCode::CaptureBeganLate);
        let found =
            if self.is_not_quic && is_of_quic { (WarningCode::NotQuic, NOT_QUIC.to_owned()) } else { (code, reason) };
        self.reasons.entry(need).or_insert(found);
    }

    /// Says from now on that nothing shows the flow to be QUIC, where its packets would need keys or their beginning if they were QUIC.
    pub(crate) fn of_no_quic(mut self) -> Self {
        self.is_not_quic = true;
        self
    }

    /// Adds it where more than [`MOST_UNMET`] of `of` are concerned.
    pub(crate) fn add_share(
        &mut self,
        need: Need,
        code: WarningCode,
        count: u64,
        of: u64,
        reason: &dyn Fn() -> String,
    ) {
        if count as f64 > MOST_UNMET * of as f64 {
            self.add(need, code, reason());
        }
    }

    pub(crate) fn has(&self, need: Need) -> bool {
        self.reasons.contains_key(&need)
    }

    /// Takes away what rests on needs that are not met, notes why, and warns: one warning for each reason, which names the
    /// metrics.
    pub(crate) fn withhold(&self, subject: Subject, run: &mut RunMetrics) {
        if self.reasons.is_empty() {
            return;
        }
        let mut by_reason: BTreeMap<&str, (WarningCode, Vec<&'static str>)> = BTreeMap::new();
        let mut cleared = Vec::new();
        for (metric, needs) in NEEDS {
            let needs = subject.needs(metric, needs);
            let has_value = run.metrics.number(metric).flatten().is_some();
            if !has_value && !subject.would_have(metric, &needs) {
                continue;
            }
            for need in needs {
                let Some((code, reason)) = self.reasons.get(&need) else { continue };
                cleared.push(*metric);
                let (_, metrics) = by_reason.entry(reason).or_insert((*code, Vec::new()));
                if !metrics.contains(metric) {
                    metrics.push(metric);
                }
            }
        }
        let end = subject.needs("slow_start_end_ns", SLOW_START_END);
        if let Some((_, reason)) = end.iter().find_map(|need| self.reasons.get(need)) {
            let unknown = || SlowStart { ended_by: SlowStartEnd::Unknown, evidence: reason.clone() };
            run.slow_start = run.slow_start.take().map(|_| unknown());
        }
        run.metrics.clear(&cleared);
        self.clear_distributions(run);
        for (reason, (code, metrics)) in by_reason {
            run.withhold(code, reason, &metrics);
        }
    }

    /// The same for a row of a time window.
    pub(crate) fn clear_window(&self, metrics: &mut Metrics) {
        if !self.reasons.is_empty() {
            let unmet = |needs: &[Need]| needs.iter().any(|need| self.has(*need));
            let names: Vec<&str> = NEEDS.iter().filter(|(_, needs)| unmet(needs)).map(|(name, _)| *name).collect();
            metrics.clear(&names);
        }
    }

    /// Whether the series of RTT and bytes in flight may be drawn.
    pub(crate) fn hides_recovery(&self) -> bool {
        RECOVERY.iter().any(|need| self.has(*need))
    }

    fn clear_distributions(&self, run: &mut RunMetrics) {
        if SPACING.iter().any(|need| self.has(*need)) {
            run.distributions.gaps_ns.clear();
            run.distributions.trains.clear();
            run.distributions.bursts.clear();
        }
        if self.hides_recovery() {
            run.distributions.rtt_ns.clear();
        }
        if CAUSES.iter().any(|need| self.has(*need)) {
            for burst in &mut run.distributions.bursts {
                burst.evidence = match burst.cause {
                    BurstCause::LateTimer | BurstCause::Batch => {
                        format!("not decided without what is missing; {}", burst.evidence)
                    }
                    _ => "not decided without what is missing".to_owned(),
                };
                burst.cause = BurstCause::Unknown;
            }
        }
    }
}

impl Withheld {
    /// The reason with the metrics, those of phases in short.
    fn in_words(&self) -> String {
        let names = self.metrics.iter().map(String::as_str);
        let (phases, mut names): (Vec<&str>, Vec<&str>) = names.partition(|name| pacing::is_of_phase(name));
        if !phases.is_empty() {
            names.push("slow_start_*, steady_*");
        }
        format!("{}; withheld: {}", self.reason, names.join(", "))
    }
}

impl RunMetrics {
    /// Makes these metrics null for this reason, and warns of it: for what is known to be missing beside the capture.
    pub fn make_null(&mut self, code: WarningCode, reason: &str, metrics: &[&str]) {
        self.metrics.clear(metrics);
        self.withhold(code, reason, metrics);
    }

    /// Notes that these metrics are null for this reason, and warns of it: once for each reason, with all of its metrics.
    pub(crate) fn withhold(&mut self, code: WarningCode, reason: &str, metrics: &[&str]) {
        if metrics.is_empty() {
            return;
        }
        let place = self.withheld.iter().position(|withheld| withheld.reason == reason);
        let place = place.unwrap_or_else(|| {
            self.withheld.push(Withheld { reason: reason.to_owned(), metrics: Vec::new() });
            self.withheld.len() - 1
        });
        let withheld = &mut self.withheld[place];
        let before = withheld.in_words();
        withheld.metrics.extend(metrics.iter().map(|name| (*name).to_owned()));
        let now = withheld.in_words();
        match self.warnings.iter_mut().find(|warning| warning.code == code.name() && warning.message == before) {
            Some(warning) => warning.message = now,
            None => self.warn(code, now),
        }
    }
}

#[cfg(test)]
mod tests;
