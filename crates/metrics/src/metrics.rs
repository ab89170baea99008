//! Every metric, each declared once: its field of [`Metrics`], its definition, what it needs, and what a comparison may make of it.
//!
//! A new metric is an entry here, filled in by a meter in a file of its own, and a line in the columns of the report. The tables of
//! docs/reference/metrics.md follow from the declarations. Metrics of a part of the connection begin with its name (`handshake_client_`);
//! the place of an entry is its place in `metrics.json` and in the tables. `null` is text for people: what withholds a value is `needs`,
//! or the meter.

use crate::entries::{Number, UnfitEntry, measured, number};
use crate::metric::{
    Better::{Higher, Lower, Neither},
    Metric,
    Theme::{Delay, Goodput, Handshake, Loss, Other, Pacing},
    metrics,
};
use crate::needs::{
    CAUSES, COUNTS, EXCHANGES, HANDSHAKE,
    Need::{Beginning, Ending, EveryPacket, NoPeerCopies, OwnFrames, PacketNumbers, PeerFrames},
    PACKETS, RECOVERY, REPEATED, SLOW_START_END, SPACING, STREAMS,
};
use crate::pacing::{PacingMetrics, Phase, phase_of};

/// Step of counts, bytes, nanoseconds, bits per second.
const UNIT: f64 = 1.0;
/// Step of shares and quotients.
const THOUSANDTH: f64 = 1e-3;

metrics! {
    /// Packets of the flow.
    packets_sent: u64 { unit: "packets", about: Other, better: Neither, step: UNIT,
        needs: PACKETS, null: "there is no flow" }
    /// Bytes of their frames on the wire, with the link header and without the frame check sequence.
    bytes_sent: u64 { unit: "bytes", about: Other, better: Neither, step: UNIT,
        needs: COUNTS, null: "there is no flow" }
    /// Bytes after their UDP or TCP headers.
    payload_bytes_sent: u64 { unit: "bytes", about: Other, better: Neither, step: UNIT,
        needs: COUNTS, null: "there is no flow" }
    /// Time of the flow's last packet minus time of its first, in the order of the capture; 0 for one packet.
    duration_ns: u64 { unit: "ns", about: Goodput, better: Lower, step: UNIT,
        needs: &[], null: "there is no flow; the last packet has an earlier time than the first" }
    /// `bytes_sent` x 8, divided by `duration_ns`. Counts headers, so it is not goodput.
    throughput_bps: f64 { unit: "bit/s", about: Goodput, better: Neither, step: UNIT,
        needs: COUNTS, null: "the duration is 0 or null" }
    /// Median of the gaps. A *gap* is the time between two consecutive packets of the flow. For an even number of
    /// gaps it is the mean of the middle two, rounded down.
    gap_median_ns: u64 { unit: "ns", about: Pacing, better: Neither, step: UNIT,
        needs: SPACING, null: "fewer than two packets" }
    /// Gaps strictly below 100 000 ns, divided by all gaps. The bound is fixed and does not depend on the train
    /// threshold.
    gap_share_below_100us: f64 { unit: "0 to 1", about: Pacing, better: Lower, step: THOUSANDTH, judged: by_default,
        needs: SPACING, null: "fewer than two packets" }
    /// Standard deviation of the gaps (divided by n - 1), divided by their mean. 0 for an even flow, 1 for a Poisson
    /// process.
    gap_coefficient_of_variation: f64 { unit: "", about: Pacing, better: Lower, step: THOUSANDTH, judged: by_default,
        needs: SPACING, null: "fewer than three packets; all gaps are 0" }
    /// Packets that are a train of 1, divided by all packets. A *train* is a maximal run of packets in which every
    /// gap is strictly below the threshold (a setting of the experiment, 0.1 ms by default); a lone packet is a train
    /// of 1.
    train_share_of_packets_1: f64 { unit: "0 to 1", about: Pacing, better: Neither, step: THOUSANDTH,
        needs: SPACING, null: "there is no flow" }
    /// Packets in trains of at most 5 packets, divided by all **packets**.
    train_share_of_packets_le_5: f64 { unit: "0 to 1", about: Pacing, better: Higher, step: THOUSANDTH, judged: by_default,
        needs: SPACING, null: "there is no flow" }
    /// Trains of at most 5 packets, divided by all **trains**. Never less than the share of packets: do not compare
    /// the two.
    train_share_of_trains_le_5: f64 { unit: "0 to 1", about: Pacing, better: Higher, step: THOUSANDTH,
        needs: SPACING, null: "there is no flow" }
    /// Length of the longest train.
    train_max_packets: u64 { unit: "packets", about: Pacing, better: Lower, step: UNIT, judged: by_default,
        needs: SPACING, null: "there is no flow" }
    /// Bytes of the frames in the largest train.
    burst_max_bytes: u64 { unit: "bytes", about: Pacing, better: Lower, step: UNIT,
        needs: SPACING, null: "there is no flow" }
    /// Mean over the trains of the bytes of their frames.
    burst_mean_bytes: f64 { unit: "bytes", about: Pacing, better: Lower, step: UNIT,
        needs: SPACING, null: "there is no flow" }
    /// Largest number of bytes of frames in any 1 ms (a window that ends with a packet and contains those less than 1
    /// ms before it), divided by 1 ms and by the mean rate.
    peak_to_mean_1ms: f64 { unit: "", about: Pacing, better: Lower, step: THOUSANDTH, judged: by_default,
        needs: SPACING, null: "the flow is not longer than 1 ms" }
    /// The same for 10 ms.
    peak_to_mean_10ms: f64 { unit: "", about: Pacing, better: Lower, step: THOUSANDTH,
        needs: SPACING, null: "the flow is not longer than 10 ms" }
    /// Packets in trains of more than 5 packets (*bursty packets*), divided by all packets: 1 minus
    /// `train_share_of_packets_le_5`.
    burst_share_of_packets: f64 { unit: "0 to 1", about: Pacing, better: Lower, step: THOUSANDTH,
        needs: SPACING, null: "there is no flow" }
    /// Share of the bursty packets that are in trains with this cause: none of the connection's data had been
    /// acknowledged yet. The eight shares add up to 1. [Bursts](../concepts/bursts.md) explains what counts as evidence.
    burst_share_start_up: f64 { unit: "0 to 1", about: Pacing, better: Neither, step: THOUSANDTH,
        needs: CAUSES, null: "no bursty packets" }
    /// An ACK ended a loss recovery. Needs keys.
    burst_share_recovery_end: f64 { unit: "0 to 1", about: Pacing, better: Neither, step: THOUSANDTH,
        needs: CAUSES, null: "no bursty packets" }
    /// Planned apart, sent together. Needs planned send times.
    burst_share_late_timer: f64 { unit: "0 to 1", about: Pacing, better: Neither, step: THOUSANDTH,
        needs: CAUSES, null: "no bursty packets" }
    /// Sent together: GSO, sendmmsg, one release of the queueing discipline.
    burst_share_batch: f64 { unit: "0 to 1", about: Pacing, better: Neither, step: THOUSANDTH,
        needs: CAUSES, null: "no bursty packets" }
    /// Nothing was in flight before. Needs keys.
    burst_share_application_pause: f64 { unit: "0 to 1", about: Pacing, better: Neither, step: THOUSANDTH,
        needs: CAUSES, null: "no bursty packets" }
    /// The pacer's bucket was full, and the train emptied it. Needs keys.
    burst_share_bucket: f64 { unit: "0 to 1", about: Pacing, better: Neither, step: THOUSANDTH,
        needs: CAUSES, null: "no bursty packets" }
    /// ACKs freed that much window at once. Needs keys.
    burst_share_ack: f64 { unit: "0 to 1", about: Pacing, better: Neither, step: THOUSANDTH,
        needs: CAUSES, null: "no bursty packets" }
    /// Nothing shows one of these causes.
    burst_share_unknown: f64 { unit: "0 to 1", about: Pacing, better: Neither, step: THOUSANDTH,
        needs: CAUSES, null: "no bursty packets" }
    /// Packets that the pacer's token bucket holds: the constant maximum length of the trains that follow a pause and
    /// were ended by the pacer, not by the congestion window. [Bursts](../concepts/bursts.md#a-full-bucket) has the
    /// rule. Needs keys.
    pacing_bucket_packets: u64 { unit: "packets", about: Pacing, better: Neither, step: UNIT,
        needs: CAUSES,
        null: "fewer than five trains show it; the length is not constant, or is that of the sender's batches \
            at line rate" }
    /// Time from the flow's first packet to the end of slow start; see [below](#slow-start-and-after-it).
    slow_start_end_ns: u64 { unit: "ns", about: Other, better: Neither, step: UNIT,
        needs: SLOW_START_END, null: "it did not end, or the end is not known" }
    /// Response bytes × 8, divided by the time from the first to the last packet of the flow with 1-RTT protection
    /// (see below). This is the goodput to use. The response bytes are those the client stored (a run's
    /// `workload.size`, `--response-size`). If they are not known, the bytes of streams are used, with a warning.
    goodput_wire_bps: f64 { unit: "bit/s", about: Goodput, better: Higher, step: UNIT, judged: by_default,
        needs: &[EveryPacket, Beginning, Ending, OwnFrames],
        null: "neither is known; no packet has 1-RTT protection; the time is 0 or negative" }
    /// Response bytes × 8, divided by the lifetime of the client process. It exists because publications use it. It
    /// includes start-up, handshake, and anything the client waits for at its end.
    goodput_process_bps: f64 { unit: "bit/s", about: Goodput, better: Higher, step: UNIT,
        needs: &[], null: "size or lifetime is not known; the lifetime is 0" }
    /// Bytes in STREAM frames, each counted once (TCP: bytes of segments). Needs keys.
    stream_bytes: u64 { unit: "bytes", about: Other, better: Neither, step: UNIT,
        needs: STREAMS, null: "no frames were read" }
    /// Packets with STREAM or CRYPTO bytes (TCP: any bytes) that had been sent before. Needs keys.
    packets_retransmitted: u64 { unit: "packets", about: Loss, better: Lower, step: UNIT,
        needs: REPEATED, null: "no frames were read" }
    /// Bytes of these packets that had been sent before. Needs keys.
    retransmitted_bytes: u64 { unit: "bytes", about: Loss, better: Lower, step: UNIT,
        needs: REPEATED, null: "no frames were read" }
    /// Packets that RFC 9002 section 6.1 declares lost (3 packets or 9/8 RTT before one that was acknowledged), minus
    /// those acknowledged later. Packets in flight at the end are not lost. In the nine QUIC runs of the quick
    /// baseline it equals `drops_packets` exactly; with quiche-0.24 it was 1 or 2 below. Needs the keys of both ends.
    packets_lost: u64 { unit: "packets", about: Loss, better: Lower, step: UNIT,
        needs: RECOVERY, null: "no ACKs were read; TCP" }
    /// Packets declared lost and acknowledged later.
    packets_lost_spuriously: u64 { unit: "packets", about: Loss, better: Lower, step: UNIT,
        needs: RECOVERY, null: "like `packets_lost`" }
    /// Packets with a smaller number than an earlier one at the tap. Needs packet numbers: keys, and 20 bytes after
    /// the header.
    packets_reordered: u64 { unit: "packets", about: Other, better: Neither, step: UNIT,
        needs: &[PacketNumbers], null: "no packet numbers; TCP" }
    /// Copies of packets: the same number again if numbers are known; otherwise the same first 64 bytes of payload
    /// among the last 8 datagrams; for TCP the same segment within 1 ms. The other metrics include them.
    packets_duplicated: u64 { unit: "packets", about: Other, better: Neither, step: UNIT,
        needs: &[], null: "nothing could be compared, or there are no copies and numbers are not known" }
    /// Numbers between the smallest and the largest that the tap did not see: lost before it, not captured, or
    /// skipped by the sender on purpose (RFC 9000 section 21.4).
    packet_numbers_missing: u64 { unit: "packets", about: Other, better: Neither, step: UNIT,
        needs: &[PacketNumbers], null: "no packet numbers; TCP" }
    /// ACK frames from the peer (TCP: segments that acknowledge something new).
    acks_received: u64 { unit: "", about: Other, better: Neither, step: UNIT,
        needs: &[NoPeerCopies, EveryPacket, PeerFrames], null: "no ACKs were read" }
    /// Median of the delay the peer reports for the largest packet of an ACK that gives an RTT sample, 1-RTT packets
    /// only.
    ack_delay_median_ns: u64 { unit: "ns", about: Other, better: Neither, step: UNIT,
        needs: RECOVERY, null: "no such ACK; TCP" }
    /// Largest sum of the bytes of QUIC packets (TCP: of data) that were sent and neither acknowledged nor declared
    /// lost. Packets without ack-eliciting frames or PADDING do not count (RFC 9002 section 2). Needs the keys of
    /// both ends.
    bytes_in_flight_max: u64 { unit: "bytes", about: Other, better: Neither, step: UNIT,
        needs: RECOVERY, null: "no ACKs were read" }
    /// Mean over time of the same.
    bytes_in_flight_mean: f64 { unit: "bytes", about: Other, better: Neither, step: UNIT,
        needs: RECOVERY, null: "like `bytes_in_flight_max`" }
    /// Updates of the congestion window in the server's qlog that are more than a tenth below the previous value.
    congestion_window_reductions: u64 { unit: "times", about: Loss, better: Neither, step: UNIT,
        needs: &[], null: "`tap.qlog` was false; the stack logs no window" }
    /// Updates that jump from below nine tenths of the window before the last reduction to at least that window: the
    /// sender considered the loss spurious.
    congestion_window_restorations: u64 { unit: "times", about: Loss, better: Neither, step: UNIT,
        needs: &[], null: "the same" }
    /// RTT samples: ACKs that newly acknowledge their largest packet and something ack-eliciting (RFC 9002 section
    /// 5.1); for TCP, acknowledgments of segments sent once (RFC 6298 section 3). They include the delay at the
    /// receiver.
    rtt_samples: u64 { unit: "", about: Other, better: Neither, step: UNIT,
        needs: RECOVERY, null: "no ACKs were read" }
    /// The smallest.
    rtt_min_ns: u64 { unit: "ns", about: Delay, better: Neither, step: UNIT,
        needs: RECOVERY, null: "no samples" }
    /// The median.
    rtt_median_ns: u64 { unit: "ns", about: Delay, better: Lower, step: UNIT,
        needs: RECOVERY, null: "no samples" }
    /// The nearest-rank 95th percentile.
    rtt_p95_ns: u64 { unit: "ns", about: Delay, better: Lower, step: UNIT, judged: by_default,
        needs: RECOVERY, null: "no samples" }
    /// Largest RTT sample.
    rtt_max_ns: u64 { unit: "ns", about: Delay, better: Lower, step: UNIT,
        needs: RECOVERY, null: "no samples" }
    /// Smoothed RTT at the end of the flow, according to RFC 9002 section 5.3 without its limit by max_ack_delay (TCP: RFC 6298
    /// section 2).
    smoothed_rtt_ns: u64 { unit: "ns", about: Delay, better: Neither, step: UNIT,
        needs: RECOVERY, null: "no samples" }
    /// Exchanges: bidirectional streams of the client whose response is complete. This metric and the four below are those of the
    /// tap behind the bottleneck in a record, where they show what the client waits for, and those of the tap otherwise. They
    /// exist for the server's direction only. Needs the keys of both ends, and whole packets: `tap.bottleneck_snaplen = "full"`.
    exchanges_complete: u64 { unit: "", about: Other, better: Neither, step: UNIT,
        needs: EXCHANGES, null: "no exchange was seen; the tap keeps less than whole packets; TCP" }
    /// Median of the exchange latencies. An *exchange latency* is the time from the first packet with STREAM bytes of a request to
    /// the packet that completes its response.
    exchange_latency_median_ns: u64 { unit: "ns", about: Delay, better: Lower, step: UNIT,
        needs: EXCHANGES, null: "as above" }
    /// The nearest-rank 95th percentile.
    exchange_latency_p95_ns: u64 { unit: "ns", about: Delay, better: Lower, step: UNIT,
        needs: EXCHANGES, null: "as above; fewer than 20 exchanges" }
    /// The nearest-rank 99th percentile.
    exchange_latency_p99_ns: u64 { unit: "ns", about: Delay, better: Lower, step: UNIT,
        needs: EXCHANGES, null: "as above; fewer than 100 exchanges" }
    /// The longest exchange latency.
    exchange_latency_max_ns: u64 { unit: "ns", about: Delay, better: Lower, step: UNIT,
        needs: EXCHANGES, null: "as above" }
    /// Time in which the server had sent every byte of the responses to all requests so far, divided by the time from the first
    /// request to the end of the last response; at the sender's tap. The application limits the sender then, not congestion.
    nothing_to_send_share: f64 { unit: "0 to 1", about: Other, better: Neither, step: THOUSANDTH,
        needs: EXCHANGES, null: "fewer than two exchanges; TCP" }
    /// Time from the client's first packet to the server's first, at the tap. This metric and the five below exist for the
    /// server's direction only.
    handshake_first_reply_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "the client's first packet (Initial, SYN) was not captured" }
    /// Time from the client's first packet to the server's first Initial with a CRYPTO frame (TCP: its first TLS
    /// handshake record). Later than the first reply if the server sent an instant ACK.
    handshake_server_hello_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "as above; the payload was not captured" }
    /// Time from the client's first packet to the server's first with 1-RTT protection.
    handshake_first_one_rtt_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "as above; TCP" }
    /// Time from the client's first packet to its first Handshake packet with a CRYPTO frame (TCP: its first TLS
    /// application data record). Needs keys.
    handshake_client_finished_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "as above" }
    /// Time from the client's first packet to the server's first HANDSHAKE_DONE. Needs keys.
    handshake_confirmed_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "as above; TCP" }
    /// Time from the client's first packet to the server's first STREAM data on a bidirectional stream of the client
    /// (TCP: first payload after the client's Finished). Needs keys.
    time_to_first_byte_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "as above" }
    /// Time at the client from its first Initial to its first Handshake packet with a CRYPTO frame, its Finished. The client's
    /// times are those at the tap behind the bottleneck where there is one. Elsewhere they are those at the tap, plus the
    /// time from the tap to the client and back where it counts; `handshake.estimated` names those. Needs keys.
    handshake_client_complete_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "no Finished; TCP" }
    /// Time at the client from its first Initial to the first HANDSHAKE_DONE. Needs keys.
    handshake_client_confirmed_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "no HANDSHAKE_DONE; it is not known how far from the client the tap is; TCP" }
    /// Time to first byte at the client: to the server's first STREAM data on a bidirectional stream of the client. Needs
    /// keys.
    handshake_client_first_byte_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "no answer; it is not known how far from the client the tap is; TCP" }
    /// Time at the server, whose handshake is then also confirmed, from the client's first Initial to its first Handshake packet
    /// with a CRYPTO frame. Needs keys.
    handshake_server_complete_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "no Finished; TCP" }
    /// Time from the client's first Initial to the server's first ACK in an Initial packet, at the server's tap.
    handshake_first_ack_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "no ACK in an Initial packet; TCP" }
    /// Bytes of UDP payload of that datagram: 1200 or more if it is padded.
    handshake_first_ack_bytes: u64 { unit: "bytes", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "as above" }
    /// Datagrams of the server with an ACK in an Initial packet before its ServerHello. 0: it waits. 1: it sends an instant
    /// ACK; more than 1: it also acknowledges probes before the ServerHello.
    handshake_instant_acks: u64 { unit: "", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "no ServerHello; TCP" }
    /// Time from the first ACK to the ServerHello; 0 if they are in one datagram.
    handshake_ack_to_hello_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "no ServerHello, no ACK before it; TCP" }
    /// Time from the arrival of the last datagram of the ClientHello at the server's tap to the departure of the ServerHello.
    handshake_server_processing_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "no ServerHello; the tap is not known to be at the server; TCP" }
    /// The client's first RTT sample (RFC 9002 section 5.1), recomputed from packets: the first ACK that newly acknowledges its
    /// largest packet and something ack-eliciting. Needs keys if that ACK is not in an Initial packet.
    handshake_client_first_rtt_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "no sample; it is not known how far from the client the tap is; TCP" }
    /// The probe timeout after that sample: the sample plus the larger of twice the sample and 1 ms (RFC 9002 section 6.2.1),
    /// without max_ack_delay.
    handshake_client_first_pto_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "as above" }
    /// Samples that the client could take in the datagrams of the handshake and up to 16 after it. Needs keys.
    handshake_client_rtt_samples: u64 { unit: "", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "as above" }
    /// The timeout without a sample: from the client's last ack-eliciting Initial to the first datagram that only repeats or
    /// asks for an answer (PING), where nothing came back in between.
    handshake_client_default_pto_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "the server answered before that; TCP" }
    /// The server's, likewise.
    handshake_server_first_rtt_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "no sample; it is not known how far from the server the tap is; TCP" }
    /// The server's, likewise.
    handshake_server_first_pto_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "as above" }
    /// The server's, likewise.
    handshake_server_rtt_samples: u64 { unit: "", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "as above" }
    /// The server's, likewise, from the last ack-eliciting Initial or Handshake packet of its first flight.
    handshake_server_default_pto_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "the client answered before that; TCP" }
    /// ACK Delay of the server's first ACK frame in an Initial packet, as the frame reports it.
    handshake_server_initial_ack_delay_reported_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "no such frame; TCP" }
    /// The true one: from the arrival of the largest packet that it acknowledges to its departure.
    handshake_server_initial_ack_delay_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "as above; the tap is not known to be at the server" }
    /// ACK Delay of the server's first ACK frame in a Handshake packet, as the frame reports it. Needs keys.
    handshake_server_handshake_ack_delay_reported_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "no such frame; TCP" }
    /// The true one: from the arrival of the largest packet that it acknowledges to its departure.
    handshake_server_handshake_ack_delay_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "as above; the tap is not known to be at the server" }
    /// ACK Delay of the client's first ACK frame in an Initial packet, as the frame reports it.
    handshake_client_initial_ack_delay_reported_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "no such frame; TCP" }
    /// The true one: from the arrival of the largest packet that it acknowledges to its departure.
    handshake_client_initial_ack_delay_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "as above; the tap is not known to be at the client" }
    /// ACK Delay of the client's first ACK frame in a Handshake packet, as the frame reports it. Needs keys.
    handshake_client_handshake_ack_delay_reported_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "no such frame; TCP" }
    /// The true one: from the arrival of the largest packet that it acknowledges to its departure.
    handshake_client_handshake_ack_delay_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "as above; the tap is not known to be at the client" }
    /// Datagrams of the client that bring nothing ack-eliciting but PING in Initial and Handshake packets, or that only repeat
    /// CRYPTO or STREAM bytes while no packet sent after an unacknowledged one was acknowledged: sent on a probe timeout, or
    /// to speed the handshake up. Needs keys.
    handshake_client_probes: u64 { unit: "datagrams", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "no Initial packets; TCP" }
    /// The server's, likewise.
    handshake_server_probes: u64 { unit: "datagrams", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "as above" }
    /// Datagrams of the client with CRYPTO bytes that it had sent before, all of which had been in packets that arrived: those
    /// that the tap at the other end saw or that were ever acknowledged. The second of two probes less than 1 ms apart may
    /// repeat the first (RFC 9002 section 6.2.4). Without a tap at the other end it is a lower bound. Needs keys.
    handshake_client_spurious_retransmissions: u64 { unit: "datagrams", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "as above" }
    /// The server's, likewise.
    handshake_server_spurious_retransmissions: u64 { unit: "datagrams", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "as above" }
    /// UDP payload that the server received before the client's address was validated (RFC 9000 section 8.1): before the
    /// datagram with the first Handshake packet, or with a token.
    handshake_amplification_received_bytes: u64 { unit: "bytes", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "the tap is not known to be at the server; the capture cut or missed a datagram that matters; TCP" }
    /// UDP payload that it sent by then. It may be three times the bytes received.
    handshake_amplification_sent_bytes: u64 { unit: "bytes", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "as above" }
    /// The most by which the server exceeded the limit; 0 if it kept it.
    handshake_amplification_excess_bytes: u64 { unit: "bytes", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "as above" }
    /// How long the limit held the server up: from the datagram that left less than 1200 bytes of it, to the first datagram
    /// after the client raised or lifted it, if that one brings new CRYPTO bytes. Needs keys if there was such a wait.
    handshake_amplification_blocked_ns: u64 { unit: "ns", about: Handshake, better: Lower, step: UNIT,
        needs: HANDSHAKE, null: "as above" }
    /// Datagrams of the ClientHello: those of the client with new CRYPTO bytes in Initial packets.
    handshake_client_flight_1_datagrams: u64 { unit: "datagrams", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "they were not all captured or read; TCP" }
    /// QUIC packets in these datagrams.
    handshake_client_flight_1_packets: u64 { unit: "packets", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "as above" }
    /// Datagrams of the server with new CRYPTO bytes in Initial and Handshake packets: ServerHello to Finished. Needs keys.
    handshake_server_flight_1_datagrams: u64 { unit: "datagrams", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "they were not all captured or read; TCP" }
    /// QUIC packets in these datagrams.
    handshake_server_flight_1_packets: u64 { unit: "packets", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "as above" }
    /// Datagrams of the client from its first answer to the ServerHello, with an ACK in an Initial packet or a Handshake packet,
    /// to the last of its Finished and its first request. Needs keys.
    handshake_client_flight_2_datagrams: u64 { unit: "datagrams", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "they were not all captured or read; TCP" }
    /// QUIC packets in these datagrams.
    handshake_client_flight_2_packets: u64 { unit: "packets", about: Handshake, better: Neither, step: UNIT,
        needs: HANDSHAKE, null: "as above" }
    /// The first `smoothed_rtt` in the client's qlog that is a sample: not the initial RTT, which some stacks log before.
    handshake_client_logged_first_smoothed_rtt_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: &[], null: "`tap.qlog` was false; the stack does not log it" }
    /// The `rtt_variance` logged with it.
    handshake_client_logged_first_rttvar_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: &[], null: "the same" }
    /// The probe timeout that follows from the two: the first plus the larger of four times the second and 1 ms.
    handshake_client_logged_first_pto_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: &[], null: "the same" }
    /// Changes of `smoothed_rtt` or `rtt_variance` in that qlog. Compare the RTT samples that the connection allows.
    handshake_client_logged_rtt_updates: u64 { unit: "", about: Handshake, better: Neither, step: UNIT,
        needs: &[], null: "the same" }
    /// The server's, likewise.
    handshake_server_logged_first_smoothed_rtt_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: &[], null: "`tap.qlog` was false; the stack does not log it" }
    /// The server's, likewise.
    handshake_server_logged_first_rttvar_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: &[], null: "the same" }
    /// The server's, likewise.
    handshake_server_logged_first_pto_ns: u64 { unit: "ns", about: Handshake, better: Neither, step: UNIT,
        needs: &[], null: "the same" }
    /// The server's, likewise.
    handshake_server_logged_rtt_updates: u64 { unit: "", about: Handshake, better: Neither, step: UNIT,
        needs: &[], null: "the same" }
    /// Standard deviation of (time at the tap - planned send time), joined by packet number or by CRC32c of the
    /// datagram; datagrams with the same CRC32c are skipped, with the warning `planned_times_not_joined`. The clocks
    /// can differ; the value includes their drift.
    precision_sd_ns: f64 { unit: "ns", about: Pacing, better: Lower, step: UNIT,
        needs: &[], null: "no plan; fewer than two packets joined; another tap saw the sender's packets first" }
    /// Packets with a planned time.
    precision_samples: u64 { unit: "packets", about: Other, better: Neither, step: UNIT,
        needs: &[], null: "no plan" }
    /// Packets dropped at the bottleneck towards the client, by the queue's own counters. Without counters, the
    /// packets from the server's port at the sender's tap, plus the copies that the path made, minus those at the tap
    /// behind the bottleneck.
    drops_packets: u64 { unit: "packets", about: Loss, better: Lower, step: UNIT, judged: by_default,
        needs: &[],
        null: "neither counters nor a second tap; no counters, and the path makes copies that nobody counted \
            (stage `duplicate` in the virtual machine); more packets behind the bottleneck than before it" }
    /// Share of the transfer in which the machine that both endpoints run on was not idle. On a host with other work:
    /// CPU time of both endpoints as a share of one CPU, 1 at most.
    cpu_busy_share: f64 { unit: "0 to 1", about: Other, better: Neither, step: THOUSANDTH,
        needs: &[], null: "it was not measured, or is not between 0 and 1" }
    /// CPU time of the server's processes, user and system, from the client's start to its end, divided by the response bytes
    /// in units of 10^9. This metric and those below exist where time is real.
    server_cpu_s_per_gb: f64 { unit: "s/GB", about: Other, better: Lower, step: THOUSANDTH,
        needs: &[], null: "what the hosts did was not sampled (`host.json`)" }
    /// CPU time of the client's processes from its start to its end, divided likewise.
    client_cpu_s_per_gb: f64 { unit: "s/GB", about: Other, better: Lower, step: THOUSANDTH,
        needs: &[], null: "what the hosts did was not sampled (`host.json`)" }
    /// Share of that CPU time of the server that it spent in the kernel.
    server_kernel_cpu_share: f64 { unit: "0 to 1", about: Other, better: Neither, step: THOUSANDTH,
        needs: &[], null: "what the hosts did was not sampled (`host.json`), or it was less than the hundredth of a second in which the kernel counts" }
    /// Share of that CPU time of the client that it spent in the kernel.
    client_kernel_cpu_share: f64 { unit: "0 to 1", about: Other, better: Neither, step: THOUSANDTH,
        needs: &[], null: "as above" }
    /// Cycles of the processor for the server's processes, kernel included, divided by the response bytes.
    server_cycles_per_byte: f64 { unit: "1/byte", about: Other, better: Lower, step: THOUSANDTH,
        needs: &[], null: "the machine has no such counter, or this user may not read it" }
    /// The client's, likewise.
    client_cycles_per_byte: f64 { unit: "1/byte", about: Other, better: Lower, step: THOUSANDTH,
        needs: &[], null: "as above" }
    /// Share of the client's lifetime in which the core of the machine that was idle least was not idle.
    /// Other programs, interrupts and time stolen by a hypervisor count too.
    busiest_core_share: f64 { unit: "0 to 1", about: Other, better: Neither, step: THOUSANDTH,
        needs: &[], null: "what the hosts did was not sampled (`host.json`)" }
    /// System calls of the server's processes, divided by the response bytes in units of 10^6.
    server_system_calls_per_mb: f64 { unit: "1/MB", about: Other, better: Lower, step: THOUSANDTH,
        needs: &[], null: "only root may count them" }
    /// The client's, likewise.
    client_system_calls_per_mb: f64 { unit: "1/MB", about: Other, better: Lower, step: THOUSANDTH,
        needs: &[], null: "as above" }
    /// Times that a thread of the server gave up its core or lost it, while the client lived. Of a thread that ended, up to a
    /// step before its end.
    server_context_switches: u64 { unit: "times", about: Other, better: Lower, step: UNIT,
        needs: &[], null: "what the hosts did was not sampled (`host.json`)" }
    /// The client's, likewise.
    client_context_switches: u64 { unit: "times", about: Other, better: Lower, step: UNIT,
        needs: &[], null: "what the hosts did was not sampled (`host.json`)" }
    /// Datagrams that reached the server's host and found the receive buffer of their UDP socket full.
    server_receive_buffer_drops: u64 { unit: "datagrams", about: Other, better: Lower, step: UNIT,
        needs: &[], null: "what the hosts did was not sampled (`host.json`)" }
    /// The client's, likewise.
    client_receive_buffer_drops: u64 { unit: "datagrams", about: Other, better: Lower, step: UNIT,
        needs: &[], null: "what the hosts did was not sampled (`host.json`)" }
    /// Packets in the largest buffer that the server's kernel gave to its interface, before segmentation: what one call with GSO
    /// or TCP sent at once.
    server_send_batch_max_packets: u64 { unit: "packets", about: Other, better: Neither, step: UNIT,
        needs: &[], null: "only root may count them" }
    /// Mean over the server's packets: how many were in the same buffer.
    server_send_batch_mean_packets: f64 { unit: "packets", about: Other, better: Neither, step: THOUSANDTH,
        needs: &[], null: "as above" }
    /// Packets in the largest buffer that the client's kernel took from its interface, behind any merging (GRO).
    client_receive_batch_max_packets: u64 { unit: "packets", about: Other, better: Neither, step: UNIT,
        needs: &[], null: "as above" }
    /// Mean over these packets: how many were in the same buffer.
    client_receive_batch_mean_packets: f64 { unit: "packets", about: Other, better: Neither, step: THOUSANDTH,
        needs: &[], null: "as above" }
    /// CPU time of quiclab's own sampling, as a share of one CPU.
    sampler_cpu_share: f64 { unit: "0 to 1", about: Other, better: Neither, step: THOUSANDTH,
        needs: &[], null: "what the hosts did was not sampled (`host.json`)" }
}

impl Metrics {
    /// The metric of this name: `None` where there is none of it, `Some(None)` where it could not be measured.
    pub fn value(&self, name: &str) -> Option<Option<f64>> {
        self.number(name).map(|number| number.and_then(|number| number.as_f64()))
    }

    /// Makes the metrics of these names null.
    pub(crate) fn clear(&mut self, names: &[&str]) {
        for name in names {
            self.set(name, None).expect("needs name metrics that there are");
        }
    }
}
