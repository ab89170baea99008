//! The columns of the handshake.

use quiclab_metrics::Metrics;

use super::column::{Column, MILLI_OF_NANO, Place, count};

/// Milliseconds of a metric in nanoseconds.
macro_rules! milliseconds {
    ($metric:ident, $heading:literal) => {
        column(stringify!($metric), $heading, |metrics| count(metrics.$metric), MILLI_OF_NANO, 3)
    };
}

/// A number without a unit.
macro_rules! plain {
    ($metric:ident, $heading:literal) => {
        column(stringify!($metric), $heading, |metrics| count(metrics.$metric), 1.0, 1)
    };
}

/// Columns of the handshake, in the order of the table: steps at the tap, steps at each end, the server's first answers, round trips, ACK
/// delays, probes, the amplification limit, flights.
pub(super) const HANDSHAKE: &[Column] = &[
    milliseconds!(handshake_first_reply_ns, "first reply, ms"),
    milliseconds!(handshake_server_hello_ns, "ServerHello, ms"),
    milliseconds!(handshake_first_one_rtt_ns, "first 1-RTT packet, ms"),
    milliseconds!(handshake_client_finished_ns, "client's Finished, ms"),
    milliseconds!(handshake_confirmed_ns, "HANDSHAKE_DONE, ms"),
    milliseconds!(time_to_first_byte_ns, "time to first byte at the tap, ms"),
    milliseconds!(handshake_client_complete_ns, "complete at the client, ms"),
    milliseconds!(handshake_client_confirmed_ns, "confirmed at the client, ms"),
    milliseconds!(handshake_client_first_byte_ns, "time to first byte at the client, ms"),
    milliseconds!(handshake_server_complete_ns, "complete at the server, ms"),
    milliseconds!(handshake_first_ack_ns, "first ACK, ms"),
    plain!(handshake_first_ack_bytes, "first ACK, bytes of its datagram"),
    plain!(handshake_instant_acks, "ACKs before the ServerHello"),
    milliseconds!(handshake_ack_to_hello_ns, "first ACK to ServerHello, ms"),
    milliseconds!(handshake_server_processing_ns, "ClientHello to ServerHello, ms"),
    milliseconds!(handshake_client_first_rtt_ns, "client: first RTT sample, ms"),
    milliseconds!(handshake_client_first_pto_ns, "client: first PTO, ms"),
    plain!(handshake_client_rtt_samples, "client: RTT samples"),
    milliseconds!(handshake_client_default_pto_ns, "client: PTO before any sample, ms"),
    milliseconds!(handshake_server_first_rtt_ns, "server: first RTT sample, ms"),
    milliseconds!(handshake_server_first_pto_ns, "server: first PTO, ms"),
    plain!(handshake_server_rtt_samples, "server: RTT samples"),
    milliseconds!(handshake_server_default_pto_ns, "server: PTO before any sample, ms"),
    milliseconds!(handshake_server_initial_ack_delay_reported_ns, "server: first Initial ACK delay as reported, ms"),
    milliseconds!(handshake_server_initial_ack_delay_ns, "server: first Initial ACK delay, ms"),
    milliseconds!(
        handshake_server_handshake_ack_delay_reported_ns,
        "server: first Handshake ACK delay as reported, ms"
    ),
    milliseconds!(handshake_server_handshake_ack_delay_ns, "server: first Handshake ACK delay, ms"),
    milliseconds!(handshake_client_initial_ack_delay_reported_ns, "client: first Initial ACK delay as reported, ms"),
    milliseconds!(handshake_client_initial_ack_delay_ns, "client: first Initial ACK delay, ms"),
    milliseconds!(
        handshake_client_handshake_ack_delay_reported_ns,
        "client: first Handshake ACK delay as reported, ms"
    ),
    milliseconds!(handshake_client_handshake_ack_delay_ns, "client: first Handshake ACK delay, ms"),
    plain!(handshake_client_probes, "client: probes"),
    plain!(handshake_server_probes, "server: probes"),
    plain!(handshake_client_spurious_retransmissions, "client: spurious retransmissions"),
    plain!(handshake_server_spurious_retransmissions, "server: spurious retransmissions"),
    plain!(handshake_amplification_received_bytes, "bytes received before validation"),
    plain!(handshake_amplification_sent_bytes, "bytes sent before validation"),
    plain!(handshake_amplification_excess_bytes, "bytes above the amplification limit"),
    milliseconds!(handshake_amplification_blocked_ns, "blocked by the amplification limit, ms"),
    plain!(handshake_client_flight_1_datagrams, "client's first flight, datagrams"),
    plain!(handshake_client_flight_1_packets, "client's first flight, packets"),
    plain!(handshake_server_flight_1_datagrams, "server's first flight, datagrams"),
    plain!(handshake_server_flight_1_packets, "server's first flight, packets"),
    plain!(handshake_client_flight_2_datagrams, "client's second flight, datagrams"),
    plain!(handshake_client_flight_2_packets, "client's second flight, packets"),
    milliseconds!(handshake_client_logged_first_smoothed_rtt_ns, "client: first smoothed_rtt in its qlog, ms"),
    milliseconds!(handshake_client_logged_first_rttvar_ns, "client: first rttvar in its qlog, ms"),
    milliseconds!(handshake_client_logged_first_pto_ns, "client: first PTO by its qlog, ms"),
    plain!(handshake_client_logged_rtt_updates, "client: changes of the RTT in its qlog"),
    milliseconds!(handshake_server_logged_first_smoothed_rtt_ns, "server: first smoothed_rtt in its qlog, ms"),
    milliseconds!(handshake_server_logged_first_rttvar_ns, "server: first rttvar in its qlog, ms"),
    milliseconds!(handshake_server_logged_first_pto_ns, "server: first PTO by its qlog, ms"),
    plain!(handshake_server_logged_rtt_updates, "server: changes of the RTT in its qlog"),
];

const fn column(
    metric: &'static str,
    heading: &'static str,
    value: fn(&Metrics) -> Option<f64>,
    divisor: f64,
    decimals: usize,
) -> Column {
    Column { metric, heading, value, divisor, decimals, place: Place::Handshake }
}
