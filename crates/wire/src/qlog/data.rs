//! The `data` of an event, in every dialect.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::clock::{Clock, plain};
use super::decimal;
use super::event::{QlogEventKind, QlogMetrics, QlogPacket, QlogSpace};
use super::summary::QlogSummary;

const BITS_PER_BYTE: u64 = 8;
const NANOS_PER_SECOND: u32 = 1_000_000_000;

/// Categories whose packets and metrics are QUIC's. Empty: the name has none.
const CATEGORIES: [&str; 6] = ["", "transport", "recovery", "quic", "loss", "metric_update"];

/// Whose units and places differ from the schema's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Units and places are as the schema has them.
    Default,
    /// `pacing_rate` is in bytes per second: quiche's `Recovery::pacing_rate`, as of 0.30.
    Quiche,
    /// RTTs are in seconds, and `header.length` is the length of the packet: quinn-proto's `CongestionMetrics`, as of
    /// 0.11.19.
    Quinn,
}

/// What the reading of `data` depends on.
pub(super) struct Context<'a> {
    pub clock: &'a Clock,
    pub dialect: Dialect,
    pub summary: &'a mut QlogSummary,
}

/// An event's kind. Members that are not understood are counted, and are `None`.
pub(super) fn kind(name: String, data: Option<&RawValue>, context: &mut Context) -> QlogEventKind {
    let lower = name.to_ascii_lowercase();
    let (category, event) = lower.rsplit_once(':').unwrap_or(("", &lower));
    if !CATEGORIES.contains(&category) {
        return QlogEventKind::Other(name);
    }
    let text = data.map_or("{}", RawValue::get);
    let kind = match event {
        "packet_sent" => packet(text, event, context).map(QlogEventKind::PacketSent),
        "packet_received" => packet(text, event, context).map(QlogEventKind::PacketReceived),
        "packet_lost" => packet(text, event, context).map(QlogEventKind::PacketLost),
        "packets_lost" => lost_packets(text, context),
        "metrics_updated" | "recovery_metrics_updated" | "metric_update" | "congestion_metric_update" => {
            metrics(text, context).map(QlogEventKind::Metrics)
        }
        "congestion_state_updated" => congestion_state(text),
        "loss_timer_updated" => loss_timer(text),
        _ => return QlogEventKind::Other(name),
    };
    kind.unwrap_or_else(|| {
        context.summary.count(&format!("data of a {event} event"));
        QlogEventKind::Other(name)
    })
}

/// The connection identifiers that an event says, in hexadecimal.
#[derive(Deserialize, Default)]
pub(super) struct ConnectionIds {
    pub original_destination_connection_id: Option<String>,
    #[serde(default)]
    pub header: HeaderIds,
}

#[derive(Deserialize, Default)]
pub(super) struct HeaderIds {
    pub dcid: Option<String>,
}

#[derive(Deserialize)]
struct PacketText<'a> {
    #[serde(borrow)]
    header: Option<&'a RawValue>,
    raw: Option<&'a RawValue>,
    packet_type: Option<&'a RawValue>,
    /// aioquic's name for the packet type of a lost packet.
    #[serde(rename = "type")]
    lost_type: Option<&'a RawValue>,
    packet_number: Option<&'a RawValue>,
    packet_size: Option<&'a RawValue>,
    datagram_id: Option<&'a RawValue>,
    datagram_payload_checksum: Option<&'a RawValue>,
    send_at_time: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct HeaderText<'a> {
    #[serde(borrow)]
    packet_type: Option<&'a RawValue>,
    packet_number: Option<&'a RawValue>,
    packet_size: Option<&'a RawValue>,
    length: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct RawText<'a> {
    #[serde(borrow)]
    length: Option<&'a RawValue>,
}

fn packet(text: &str, event: &str, context: &mut Context) -> Option<QlogPacket> {
    let packet: PacketText = serde_json::from_str(text).ok()?;
    let header: HeaderText =
        packet.header.map_or(Some(HeaderText::default()), |text| serde_json::from_str(text.get()).ok())?;
    let raw: RawText = packet.raw.map_or(Some(RawText::default()), |text| serde_json::from_str(text.get()).ok())?;
    // Elsewhere, `header.length` is the Length field of a long header.
    let header_length = header.length.filter(|_| context.dialect == Dialect::Quinn);
    let length = raw.length.or(header.packet_size).or(packet.packet_size).or(header_length);
    let packet_type = header.packet_type.or(packet.packet_type).or(packet.lost_type);
    let checksum = packet.datagram_payload_checksum;
    Some(QlogPacket {
        space: context.member(event, "packet_type", packet_type, |text| parse_space(&plain(text))),
        packet_number: context.whole(event, "packet_number", header.packet_number.or(packet.packet_number)),
        length: context.whole(event, "length", length),
        datagram_id: context.member(event, "datagram_id", checksum.or(packet.datagram_id), |text| {
            u32::try_from(decimal::whole(text.get())?).ok()
        }),
        datagram_id_is_crc32c: checksum.is_some(),
        planned_time_ns: context.point(event, "send_at_time", packet.send_at_time),
    })
}

/// mvfst has one event for all packets that one acknowledgement made lost, and names the last of them.
fn lost_packets(text: &str, context: &mut Context) -> Option<QlogEventKind> {
    #[derive(Deserialize)]
    struct LostText {
        largest_lost_packet_num: u64,
        lost_bytes: Option<u64>,
        lost_packets: u64,
    }
    let lost: LostText = serde_json::from_str(text).ok()?;
    if lost.lost_packets != 1 {
        context.summary.count("packets_lost event: several packets, one number");
        return Some(QlogEventKind::Other("loss:packets_lost".to_owned()));
    }
    Some(QlogEventKind::PacketLost(QlogPacket {
        packet_number: Some(lost.largest_lost_packet_num),
        length: lost.lost_bytes,
        ..QlogPacket::default()
    }))
}

#[derive(Deserialize)]
struct MetricsText<'a> {
    #[serde(borrow)]
    smoothed_rtt: Option<&'a RawValue>,
    rtt_variance: Option<&'a RawValue>,
    latest_rtt: Option<&'a RawValue>,
    min_rtt: Option<&'a RawValue>,
    congestion_window: Option<&'a RawValue>,
    /// aioquic's and picoquic's name.
    cwnd: Option<&'a RawValue>,
    /// mvfst's name.
    current_cwnd: Option<&'a RawValue>,
    bytes_in_flight: Option<&'a RawValue>,
    ssthresh: Option<&'a RawValue>,
    pto_count: Option<&'a RawValue>,
    pacing_rate: Option<&'a RawValue>,
}

fn metrics(text: &str, context: &mut Context) -> Option<QlogMetrics> {
    let metrics: MetricsText = serde_json::from_str(text).ok()?;
    let event = "metrics";
    let congestion_window = metrics.congestion_window.or(metrics.cwnd).or(metrics.current_cwnd);
    let is_quiche = context.dialect == Dialect::Quiche || text.contains("\"cf_");
    let rate_unit = if is_quiche { BITS_PER_BYTE } else { 1 };
    Some(QlogMetrics {
        smoothed_rtt_ns: context.duration(event, "smoothed_rtt", metrics.smoothed_rtt),
        rtt_variance_ns: context.duration(event, "rtt_variance", metrics.rtt_variance),
        latest_rtt_ns: context.duration(event, "latest_rtt", metrics.latest_rtt),
        min_rtt_ns: context.duration(event, "min_rtt", metrics.min_rtt),
        congestion_window_bytes: context.whole(event, "congestion_window", congestion_window),
        bytes_in_flight_bytes: context.whole(event, "bytes_in_flight", metrics.bytes_in_flight),
        ssthresh_bytes: context.whole(event, "ssthresh", metrics.ssthresh),
        pto_count: context.whole(event, "pto_count", metrics.pto_count),
        pacing_rate_bps: context.member(event, "pacing_rate", metrics.pacing_rate, |text| {
            let rate = u64::try_from(decimal::scaled(text.get(), 1)?).ok()?;
            rate.checked_mul(rate_unit)
        }),
    })
}

fn congestion_state(text: &str) -> Option<QlogEventKind> {
    #[derive(Deserialize)]
    struct StateText {
        new: String,
    }
    let state: StateText = serde_json::from_str(text).ok()?;
    Some(QlogEventKind::CongestionState { new: state.new })
}

fn loss_timer(text: &str) -> Option<QlogEventKind> {
    #[derive(Deserialize)]
    struct TimerText {
        event_type: String,
        #[serde(default)]
        timer_type: String,
    }
    let timer: TimerText = serde_json::from_str(text).ok()?;
    Some(QlogEventKind::LossTimer { event: timer.event_type, timer: timer.timer_type })
}

fn parse_space(name: &str) -> Option<QlogSpace> {
    let name: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
    match name.as_str() {
        "initial" => Some(QlogSpace::Initial),
        "handshake" => Some(QlogSpace::Handshake),
        "0rtt" | "zerortt" | "0rttprotected" => Some(QlogSpace::ZeroRtt),
        "1rtt" | "onertt" | "1rttprotected" | "short" => Some(QlogSpace::OneRtt),
        "retry" => Some(QlogSpace::Retry),
        "versionnegotiation" => Some(QlogSpace::VersionNegotiation),
        "statelessreset" => Some(QlogSpace::StatelessReset),
        _ => None,
    }
}

impl Context<'_> {
    /// A member's value; one that is there but not understood is counted.
    fn member<T>(
        &mut self,
        event: &str,
        name: &str,
        value: Option<&RawValue>,
        parse: impl FnOnce(&RawValue) -> Option<T>,
    ) -> Option<T> {
        let parsed = parse(value?);
        if parsed.is_none() {
            self.summary.count(&format!("{name} of a {event} event"));
        }
        parsed
    }

    fn whole(&mut self, event: &str, name: &str, value: Option<&RawValue>) -> Option<u64> {
        self.member(event, name, value, |text| decimal::whole(text.get()))
    }

    fn duration(&mut self, event: &str, name: &str, value: Option<&RawValue>) -> Option<u64> {
        let unit_ns = if self.dialect == Dialect::Quinn { NANOS_PER_SECOND } else { self.clock.unit_ns };
        self.member(event, name, value, |text| u64::try_from(decimal::scaled(text.get(), unit_ns)?).ok())
    }

    fn point(&mut self, event: &str, name: &str, value: Option<&RawValue>) -> Option<i64> {
        let clock = self.clock;
        self.member(event, name, value, |text| clock.point_ns(text.get()))
    }
}
