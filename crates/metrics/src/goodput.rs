//! `goodput_wire_bps`, `goodput_process_bps`: application bytes per second, twice.
//!
//! On the wire the time runs from the first to the last server packet with 1-RTT protection. Over TCP and TLS the
//! counterpart of such a packet is a server segment with payload behind the client's Finished; keys apart, the first TLS
//! record of type application data from the client is (or follows) its Finished (RFC 8446 sections 4.4.4 and 5.2; in TLS
//! 1.2 it is the request, RFC 5246 section 7.3). What the server sends as application data before it is its handshake.

use quiclab_wire::{Packet, TlsContentType};

use crate::Input;
use crate::flow::Sender;
use crate::output::RunMetrics;
use crate::warnings::WarningCode;

/// Largest relative difference between goodput by process and on the wire that is not worth a warning.
pub const PROCESS_DIFFERENCE_LIMIT: f64 = 0.05;

pub(crate) fn measure(input: &Input, run: &mut RunMetrics) {
    let Some(response_bytes) = input.observation.response_bytes else {
        return;
    };
    let bits = response_bytes.as_bytes() as f64 * 8.0;
    let wire =
        response_interval_ns(input, run).and_then(|interval_ns| rate(bits, interval_ns, "response on the wire", run));
    let process = input
        .observation
        .client_lifetime
        .and_then(|lifetime| rate(bits, lifetime.as_nanos(), "client's lifetime", run));
    if let (Some(wire), Some(process)) = (wire, process) {
        let difference = (process - wire).abs() / wire;
        if difference > PROCESS_DIFFERENCE_LIMIT {
            run.warn(
                WarningCode::GoodputProcessDiffers,
                format!(
                    "goodput is {:.2} Mbit/s on the wire and {:.2} Mbit/s by the client's lifetime ({:.1} % apart): does the \
                     client wait before or after the transfer, for example for an idle timeout?",
                    wire / 1e6,
                    process / 1e6,
                    difference * 100.0
                ),
            );
        }
    }
    run.metrics.goodput_wire_bps = wire;
    run.metrics.goodput_process_bps = process;
}

fn rate(bits: f64, interval_ns: u64, what: &str, run: &mut RunMetrics) -> Option<f64> {
    if interval_ns == 0 {
        run.warn(WarningCode::GoodputIntervalEmpty, format!("the {what} took no time, so it has no goodput"));
        return None;
    }
    Some(bits / (interval_ns as f64 / 1e9))
}

/// From the first to the last server packet with 1-RTT protection, or what comes nearest to it.
fn response_interval_ns(input: &Input, run: &mut RunMetrics) -> Option<u64> {
    let packets = &input.flow.packets;
    let (first, last) = (*packets.first()?, *packets.last()?);
    let protected = if first.is_tcp() { behind_client_finished(input) } else { with_one_rtt(packets, run) };
    let (start, end) = match protected {
        Protected::Between(start, end) => (start, end),
        Protected::None => {
            run.warn(
                WarningCode::GoodputNoProtectedPackets,
                "no packet from the server has 1-RTT protection: the handshake did not complete".to_owned(),
            );
            return None;
        }
        Protected::Unknown => {
            run.warn(
                WarningCode::GoodputFirstToLastPacket,
                "the capture does not show where 1-RTT protection begins (payload bytes or the client's packets are \
                 missing), so goodput on the wire is over the time from the first to the last packet and includes the \
                 handshake"
                    .to_owned(),
            );
            (first, last)
        }
    };
    // Backwards time has its own warning.
    Some(end.time.checked_since(start.time)?.as_nanos())
}

/// First and last server packet with 1-RTT protection.
enum Protected<'a> {
    Between(&'a Packet, &'a Packet),
    /// There is none.
    None,
    /// The capture does not tell.
    Unknown,
}

fn with_one_rtt<'a>(packets: &[&'a Packet], run: &mut RunMetrics) -> Protected<'a> {
    let known: Vec<Option<bool>> =
        packets.iter().map(|packet| packet.quic().and_then(|datagram| datagram.has_one_rtt())).collect();
    let is_protected = |one_rtt: &Option<bool>| *one_rtt == Some(true);
    let (Some(first), Some(last)) = (known.iter().position(is_protected), known.iter().rposition(is_protected)) else {
        return if known.iter().any(Option::is_none) { Protected::Unknown } else { Protected::None };
    };
    let uncertain = known[..first].iter().chain(&known[last + 1..]).filter(|one_rtt| one_rtt.is_none()).count();
    if uncertain > 0 {
        run.warn(
            WarningCode::GoodputEdgesUncertain,
            format!(
                "{uncertain} packets before the first or behind the last one known to have 1-RTT protection were cut too \
                 short to tell: capture with a larger snap length"
            ),
        );
    }
    Protected::Between(packets[first], packets[last])
}

fn behind_client_finished<'a>(input: &Input<'a>) -> Protected<'a> {
    let packets = &input.flow.both_directions;
    let finished = packets.iter().position(|(packet, sender)| {
        *sender == Sender::Client
            && packet
                .tcp()
                .and_then(|segment| segment.tls)
                .is_some_and(|records| records.contains(TlsContentType::ApplicationData))
    });
    let Some(finished) = finished else {
        return Protected::Unknown;
    };
    let mut response = packets[finished..]
        .iter()
        .filter(|(packet, sender)| *sender == Sender::Server && packet.payload_length > 0)
        .map(|(packet, _)| *packet);
    let Some(first) = response.next() else {
        return Protected::None;
    };
    Protected::Between(first, response.next_back().unwrap_or(first))
}
