//! Packets and ACKs made so that every number is known on paper.

use quiclab_units::Time;
use quiclab_wire::{Ack, QuicFrame};

use super::*;
use crate::metrics::Metrics;

const APPLICATION: usize = 2;
const MILLISECOND: u64 = 1_000_000;

#[derive(Default)]
struct Sender(RecoveryMeter);

fn stream(offset: u64, length: u64) -> Vec<QuicFrame> {
    vec![QuicFrame::Stream { stream: 0, offset, length, fin: false, head: None }]
}

impl Sender {
    /// A packet of 1000 bytes.
    fn send(&mut self, number: u64, at_ms: u64, frames: &[QuicFrame]) -> SentEffect {
        let time = Time::from_nanos(at_ms * MILLISECOND);
        self.0.on_sent(APPLICATION, number, time, 1_000, Some(frames), Time::default())
    }

    /// Packet n at n ms, each with the next 100 bytes of stream 0.
    fn send_all(&mut self, numbers: std::ops::Range<u64>) {
        for number in numbers {
            self.send(number, number, &stream(number * 100, 100));
        }
    }

    /// All at 0 ms.
    fn send_at_once(&mut self, numbers: std::ops::Range<u64>) {
        for number in numbers {
            self.send(number, 0, &stream(number * 100, 100));
        }
    }

    fn ack(&mut self, ranges: &[std::ops::RangeInclusive<u64>], at_ms: u64) -> AckEffect {
        let ack = Ack { encoded_delay: 125, ranges: ranges.to_vec(), ecn: None };
        self.0.on_ack(APPLICATION, &ack, 3, Time::from_nanos(at_ms * MILLISECOND))
    }

    fn metrics(&mut self) -> Metrics {
        let mut run = RunMetrics::empty();
        self.0.finish(&mut run);
        run.metrics
    }
}

#[test]
fn an_rtt_is_from_the_largest_newly_acknowledged_packet_to_its_ack() {
    // RFC 9002 section 5.1.
    let mut sender = Sender::default();
    sender.send_all(0..3);
    sender.ack(&[0..=1], 41);
    // Acknowledges nothing new, then something new that is not the largest: no samples.
    sender.ack(&[0..=1], 60);
    sender.send(3, 62, &stream(300, 100));
    sender.ack(&[3..=3], 102);
    sender.ack(&[2..=3], 103);
    let metrics = sender.metrics();
    assert_eq!(
        (metrics.rtt_samples, metrics.rtt_min_ns, metrics.rtt_max_ns),
        (Some(2), Some(40_000_000), Some(40_000_000))
    );
    assert_eq!(metrics.acks_received, Some(4));
    // 125 x 2^3 µs.
    assert_eq!(metrics.ack_delay_median_ns, Some(1_000_000));
}

#[test]
fn an_ack_of_nothing_ack_eliciting_is_no_sample() {
    // RFC 9002 section 5.1.
    let mut sender = Sender::default();
    sender.send(0, 0, &[QuicFrame::Padding { length: 10 }]);
    sender.ack(&[0..=0], 40);
    assert_eq!(sender.metrics().rtt_samples, Some(0));
}

#[test]
fn a_packet_three_behind_is_lost_and_one_two_behind_is_not() {
    // RFC 9002 section 6.1.1.
    for (acknowledged, lost) in [(2, 0), (3, 1)] {
        let mut sender = Sender::default();
        sender.send_at_once(0..4);
        sender.ack(&[acknowledged..=acknowledged], 40);
        assert_eq!(sender.metrics().packets_lost, Some(lost), "{acknowledged}");
    }
}

#[test]
fn the_first_loss_is_kept_with_the_time_of_the_ack_that_declared_it() {
    let mut sender = Sender::default();
    sender.send_all(0..10);
    sender.ack(&[2..=3, 0..=0], 41);
    assert_eq!(sender.0.first_loss, None);
    // Packet 1 is three behind now, and later packet 5.
    sender.ack(&[2..=4, 0..=0], 42);
    sender.ack(&[6..=9, 2..=4, 0..=0], 47);
    let [sent, declared] = [1, 42].map(|at_ms| Time::from_nanos(at_ms * MILLISECOND));
    assert_eq!(sender.0.first_loss, Some(FirstLoss { number: 1, sent, declared }));
}

#[test]
fn a_packet_is_lost_after_nine_eighths_of_the_rtt_and_not_before() {
    // RFC 9002 section 6.1.2.
    // The RTT is 8 ms, so 9 ms; packet 0 was sent at 0.
    for (at_ms, lost) in [(8, 0), (9, 1)] {
        let mut sender = Sender::default();
        sender.send(0, 0, &stream(0, 100));
        sender.send(1, at_ms - 8, &stream(100, 100));
        sender.ack(&[1..=1], at_ms);
        assert_eq!(sender.metrics().packets_lost, Some(lost), "{at_ms}");
    }
}

#[test]
fn a_loss_that_is_acknowledged_later_was_spurious() {
    let mut sender = Sender::default();
    sender.send_at_once(0..5);
    let effect = sender.ack(&[4..=4], 40);
    assert_eq!(effect.newly_lost_bytes, 2_000, "packets 0 and 1");
    sender.ack(&[4..=4, 0..=0], 41);
    let metrics = sender.metrics();
    assert_eq!((metrics.packets_lost, metrics.packets_lost_spuriously), (Some(1), Some(1)));
}

#[test]
fn a_recovery_ends_with_a_packet_sent_after_it_began() {
    // RFC 9002 section 7.3.2.
    let mut sender = Sender::default();
    sender.send_all(0..5);
    sender.ack(&[4..=4], 6);
    // Sent before the loss was known.
    assert!(!sender.ack(&[3..=4], 7).ends_recovery);
    sender.send(5, 8, &stream(0, 100));
    assert!(sender.ack(&[3..=5], 50).ends_recovery);
    sender.send(6, 51, &stream(500, 100));
    assert!(!sender.ack(&[3..=6], 90).ends_recovery, "it has ended");
}

#[test]
fn bytes_in_flight_are_those_of_packets_that_count() {
    let mut sender = Sender::default();
    sender.send_all(0..3);
    assert_eq!(sender.0.bytes_in_flight(), 3_000);
    // RFC 9002 section 2: an ACK alone is not in flight.
    let ack = Ack { encoded_delay: 0, ranges: vec![0..=0], ecn: None };
    sender.send(3, 3, &[QuicFrame::Ack(ack)]);
    assert_eq!(sender.0.bytes_in_flight(), 3_000);
    let effect = sender.ack(&[0..=1], 40);
    assert_eq!((effect.newly_acknowledged_packets, effect.newly_acknowledged_bytes), (2, 2_000));
    assert_eq!(sender.0.bytes_in_flight(), 1_000);
    assert_eq!(sender.metrics().bytes_in_flight_max, Some(3_000));
}

#[test]
fn handshake_packets_leave_the_flight_with_the_first_ack_of_data() {
    // RFC 9002 section 6.4.
    let mut sender = Sender::default();
    let crypto = [QuicFrame::Crypto { offset: 0, data: 0..50 }];
    sender.0.on_sent(0, 0, Time::default(), 1_200, Some(&crypto), Time::default());
    sender.send_all(0..1);
    assert_eq!(sender.0.bytes_in_flight(), 2_200);
    sender.ack(&[0..=0], 40);
    assert_eq!(sender.0.bytes_in_flight(), 0);
}

#[test]
fn bytes_sent_again_are_retransmissions_and_counted_once() {
    let mut sender = Sender::default();
    assert!(!sender.send(0, 0, &stream(0, 100)).is_retransmission);
    assert!(!sender.send(1, 1, &stream(100, 100)).is_retransmission);
    // 50 bytes again, 50 new ones.
    assert!(sender.send(2, 2, &stream(150, 100)).is_retransmission);
    let metrics = sender.metrics();
    assert_eq!((metrics.packets_retransmitted, metrics.retransmitted_bytes), (Some(1), Some(50)));
    assert_eq!(metrics.stream_bytes, Some(250));
}

#[test]
fn the_same_number_again_is_the_tap_seeing_double() {
    let mut sender = Sender::default();
    sender.send_all(0..2);
    assert!(sender.send(1, 1, &stream(100, 100)).is_duplicate);
    let metrics = sender.metrics();
    assert_eq!((metrics.packets_duplicated, metrics.packets_retransmitted), (Some(1), Some(0)));
    assert_eq!(sender.0.bytes_in_flight(), 2_000);
}

#[test]
fn numbers_out_of_order_and_numbers_that_never_came_are_counted() {
    let mut sender = Sender::default();
    for (place, number) in [10, 12, 11, 15].into_iter().enumerate() {
        sender.send(number, place as u64, &stream(number * 100, 100));
    }
    let metrics = sender.metrics();
    assert_eq!((metrics.packets_reordered, metrics.packet_numbers_missing), (Some(1), Some(2)));
}
