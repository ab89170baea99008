//! Rows of `events.parquet`.

use quiclab_wire::{QlogEvent, QlogEventKind, QlogMetrics, QlogPacket, QlogSpace};

use crate::row::row;

row! {
    /// An event of a qlog. Each field is described in `docs/reference/trace.md`.
    struct EventRow<'a> {
        source: &'a str,
        trace: u64,
        time_ns: i64,
        name: &'a str,
        packet_type: Option<&'a str>,
        packet_number: Option<u64>,
        length_bytes: Option<u64>,
        datagram_id: Option<u32>,
        datagram_id_is_crc32c: Option<bool>,
        planned_time_ns: Option<i64>,
        smoothed_rtt_ns: Option<u64>,
        rtt_variance_ns: Option<u64>,
        latest_rtt_ns: Option<u64>,
        min_rtt_ns: Option<u64>,
        congestion_window_bytes: Option<u64>,
        bytes_in_flight_bytes: Option<u64>,
        ssthresh_bytes: Option<u64>,
        pto_count: Option<u64>,
        pacing_rate_bps: Option<u64>,
        congestion_state: Option<&'a str>,
    }
}

impl<'a> EventRow<'a> {
    pub(crate) fn new(source: &'a str, event: &'a QlogEvent) -> Self {
        let (mut packet, mut metrics, mut congestion_state) = (None, None, None);
        let name = match &event.kind {
            QlogEventKind::PacketSent(sent) => {
                packet = Some(sent);
                "packet_sent"
            }
            QlogEventKind::PacketReceived(received) => {
                packet = Some(received);
                "packet_received"
            }
            QlogEventKind::PacketLost(lost) => {
                packet = Some(lost);
                "packet_lost"
            }
            QlogEventKind::Metrics(updated) => {
                metrics = Some(updated);
                "metrics_updated"
            }
            QlogEventKind::CongestionState { new } => {
                congestion_state = Some(new.as_str());
                "congestion_state_updated"
            }
            QlogEventKind::LossTimer { .. } => "loss_timer_updated",
            QlogEventKind::Other(name) => name,
        };
        let none = (QlogPacket::default(), QlogMetrics::default());
        let packet = packet.unwrap_or(&none.0);
        let metrics = metrics.unwrap_or(&none.1);
        EventRow {
            source,
            trace: event.trace as u64,
            time_ns: event.time_ns,
            name,
            packet_type: packet.space.map(space_name),
            packet_number: packet.packet_number,
            length_bytes: packet.length,
            datagram_id: packet.datagram_id,
            datagram_id_is_crc32c: packet.datagram_id.map(|_| packet.datagram_id_is_crc32c),
            planned_time_ns: packet.planned_time_ns,
            smoothed_rtt_ns: metrics.smoothed_rtt_ns,
            rtt_variance_ns: metrics.rtt_variance_ns,
            latest_rtt_ns: metrics.latest_rtt_ns,
            min_rtt_ns: metrics.min_rtt_ns,
            congestion_window_bytes: metrics.congestion_window_bytes,
            bytes_in_flight_bytes: metrics.bytes_in_flight_bytes,
            ssthresh_bytes: metrics.ssthresh_bytes,
            pto_count: metrics.pto_count,
            pacing_rate_bps: metrics.pacing_rate_bps,
            congestion_state,
        }
    }
}

fn space_name(space: QlogSpace) -> &'static str {
    match space {
        QlogSpace::Initial => "initial",
        QlogSpace::Handshake => "handshake",
        QlogSpace::ZeroRtt => "zero_rtt",
        QlogSpace::OneRtt => "one_rtt",
        QlogSpace::Retry => "retry",
        QlogSpace::VersionNegotiation => "version_negotiation",
        QlogSpace::StatelessReset => "stateless_reset",
    }
}
