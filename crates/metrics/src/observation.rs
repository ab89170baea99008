//! What was seen of one run besides its capture, and the metrics of a run.

use std::collections::BTreeMap;

use quiclab_units::{ByteCount, Duration};
use quiclab_wire::Role;

use crate::analysis::{DirectionAnalysis, capture_warnings};
use crate::capture::CaptureAnalysis;
use crate::needs::{MissingEvidence, Need, Subject};
use crate::output::RunMetrics;
use crate::warnings::WarningCode;
use crate::{busy, drops, goodput, receiver};

/// What was seen of one run. `None` is "not known"; it leads to a null in the metrics, never to a 0.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Interface of the tap at the sender's egress, after its qdisc and any segmentation, before the path.
    pub sender_tap: u32,
    /// Interface of the tap behind the bottleneck.
    pub bottleneck_tap: Option<u32>,
    /// UDP or TCP port of the server.
    pub server_port: u16,
    /// The end whose packets are measured: the server of a download, the client of an upload.
    pub sender: Role,
    /// Application bytes that the sender transferred: of the response, as the client stored them, or of the requests.
    pub transferred_bytes: Option<ByteCount>,
    /// Time from the start of the client process to its end.
    pub client_lifetime: Option<Duration>,
    /// Packets of the sender's direction that the bottleneck dropped, by its own counters.
    pub queue_drops_packets: Option<u64>,
    /// Packets among them that were not of the server's port: other traffic over the same path.
    pub other_drops_packets: Option<u64>,
    /// Copies of packets that the path itself made towards the receiver, which the tap behind it counts as well.
    pub path_copies_packets: Option<u64>,
    /// Packets that the capture itself lost, by name of the tap. A tap that did not say is absent.
    pub capture_losses_packets: BTreeMap<String, u64>,
    /// Whether the client made its requests by a schedule, so that how long they wait is what the run is about.
    pub has_schedule: bool,
    /// Why no packet was captured, where that was asked for.
    pub not_captured: Option<String>,
    /// Share of the transfer in which the machine that both endpoints ran on was not idle, 0 to 1. Where only the endpoints' time is
    /// known: that time as a share of one CPU, 1 at most.
    pub cpu_busy_share: Option<f64>,
}

impl Observation {
    /// Nothing else is known: the server sends, its tap is at interface 0, and there is no second tap.
    pub fn of_port(server_port: u16) -> Self {
        Observation {
            sender_tap: 0,
            bottleneck_tap: None,
            server_port,
            sender: Role::Server,
            transferred_bytes: None,
            client_lifetime: None,
            queue_drops_packets: None,
            other_drops_packets: Some(0),
            path_copies_packets: None,
            capture_losses_packets: BTreeMap::new(),
            has_schedule: false,
            not_captured: None,
            cpu_busy_share: None,
        }
    }
}

/// Measures one run: the sender of the largest flow of the server's port at the sender's tap, with what else was seen.
pub fn measure(analysis: &CaptureAnalysis, observation: &Observation) -> RunMetrics {
    let mut run = RunMetrics::empty();
    capture_warnings(&analysis.capture, &mut run);
    let mut unmet = MissingEvidence::default();
    for (tap, lost) in observation.capture_losses_packets.iter().filter(|(_, lost)| **lost > 0) {
        let reason = || format!("the capture at {tap} lost {lost} packets; enlarge its buffer");
        unmet.add_share(Need::EveryPacket, WarningCode::CaptureLostPackets, *lost, lost + analysis.packets, &reason);
        if !unmet.has(Need::EveryPacket) {
            run.warn(WarningCode::CaptureLostPackets, format!("{}: gaps and trains are wrong around them", reason()));
        }
    }
    let candidates = candidates(analysis, observation);
    if let Some(measured) = candidates.first() {
        run.metrics = measured.run.metrics.clone();
        run.distributions = measured.run.distributions.clone();
        run.slow_start = measured.run.slow_start.clone();
        run.handshake = measured.run.handshake.clone();
        run.withheld = measured.run.withheld.clone();
        // What the capture as a whole is warned of stands in the flow's warnings too, with the metrics that it costs.
        run.warnings.retain(|warning| measured.run.warnings.iter().all(|other| other.code != warning.code));
        run.warnings.extend(measured.run.warnings.iter().cloned());
        receiver::measure(analysis, observation, measured, &mut run);
        let bytes_are_given = observation.transferred_bytes.is_some();
        let subject = Subject { sender: observation.sender, protocol: measured.protocol, bytes_are_given };
        unmet.withhold(subject, &mut run);
        warn_of_others(analysis, observation, &candidates, &mut run);
    } else {
        let reason = observation.not_captured.clone().unwrap_or_else(|| {
            format!(
                "no packet {} port {} at interface {}: nothing was measured; check the server's port and log",
                if observation.sender == Role::Server { "from" } else { "to" },
                observation.server_port,
                observation.sender_tap
            )
        });
        run.warn(WarningCode::NoFlow, reason);
    }
    if let (Some(bytes), Some(lifetime)) = (observation.transferred_bytes, observation.client_lifetime) {
        let connection = candidates.first().and_then(|measured| connection_time(analysis, measured));
        goodput::measure_process(bytes, lifetime, connection, &mut run);
    }
    drops::measure(analysis, observation, &mut run);
    busy::measure(observation, &mut run);
    run
}

/// What servers on the port sent at the sender's tap, or their clients; the most packets first, of equal ones the first in the capture.
fn candidates<'a>(analysis: &'a CaptureAnalysis, observation: &Observation) -> Vec<&'a DirectionAnalysis> {
    let mut candidates: Vec<_> = analysis
        .directions
        .iter()
        .filter(|direction| {
            let flow = &analysis.flows[direction.flow];
            direction.sender == observation.sender
                && flow.server.port() == observation.server_port
                && flow.interface == observation.sender_tap
        })
        .collect();
    candidates.sort_by_key(|direction| (std::cmp::Reverse(direction.packets), direction.flow));
    candidates
}

/// Time from a connection's first packet, at whichever tap it was seen first, to the sender's last one with 1-RTT protection. A first
/// packet that is lost on its way to the server passes only the tap near the client.
fn connection_time(analysis: &CaptureAnalysis, measured: &DirectionAnalysis) -> Option<Duration> {
    let ends = |direction: &DirectionAnalysis| {
        let flow = &analysis.flows[direction.flow];
        (flow.server, flow.client)
    };
    let at_any_tap = analysis.directions.iter().filter(|direction| ends(direction) == ends(measured));
    let begin = at_any_tap.map(|direction| direction.flow_begin).min()?;
    measured.protected_until?.checked_since(begin)
}

fn warn_of_others(
    analysis: &CaptureAnalysis,
    observation: &Observation,
    candidates: &[&DirectionAnalysis],
    run: &mut RunMetrics,
) {
    let name = |direction: &DirectionAnalysis| {
        let flow = &analysis.flows[direction.flow];
        format!("{} {} to {}", direction.protocol.name(), flow.server, flow.client)
    };
    if let [measured, others @ ..] = candidates
        && !others.is_empty()
    {
        let others: Vec<String> =
            others.iter().map(|other| format!("{} ({} packets)", name(other), other.packets)).collect();
        run.warn(
            WarningCode::SeveralFlows,
            format!(
                "only the largest flow, {}, was measured; others of port {}: {}",
                name(measured),
                observation.server_port,
                others.join(", ")
            ),
        );
    }
}
