//! Rows and results of a test, and their JSON.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Arrivals, UdpReading, UdpTest};
use crate::Asked;

/// What happened between two readings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UdpInterval {
    /// Seconds since the test began.
    pub start_seconds: f64,
    /// The same, at its end.
    pub end_seconds: f64,
    /// Datagrams that were sent.
    pub sent: u64,
    /// Datagrams that arrived.
    pub packets: u64,
    /// Bytes of their UDP payload.
    pub bytes: u64,
    /// Bits of UDP payload that arrived in a second, by the time between the readings.
    pub bits_per_second: f64,
    /// Datagrams that are missing among those up to the last one that arrived. Negative: more came than were missing, late ones.
    pub lost_packets: i64,
    /// Datagrams that were sent before one that had arrived already.
    pub out_of_order: u64,
    /// Jitter at the end of it, in nanoseconds.
    pub jitter_ns: f64,
}

impl UdpInterval {
    /// Makes an interval from what the receiver has at its beginning and its end, and how many were sent meanwhile. Counters of another
    /// machine that go back, or are beyond every test, give nothing and no overflow.
    pub fn of(before: (f64, &Arrivals), after: (f64, &Arrivals), sent: u64) -> Self {
        let ((start_seconds, before), (end_seconds, after)) = (before, after);
        let bytes = after.bytes.saturating_sub(before.bytes);
        let missing = |arrivals: &Arrivals| i128::from(arrivals.expected) - i128::from(arrivals.packets);
        Self {
            start_seconds,
            end_seconds,
            sent,
            packets: after.packets.saturating_sub(before.packets),
            bytes,
            bits_per_second: bytes as f64 * 8.0 / (end_seconds - start_seconds).max(1e-9),
            lost_packets: i64::try_from(missing(after) - missing(before)).unwrap_or(0),
            out_of_order: after.out_of_order.saturating_sub(before.out_of_order),
            jitter_ns: after.jitter_ns,
        }
    }
}

/// A whole test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UdpSummary {
    /// What was asked for.
    pub test: UdpTest,
    /// Datagrams that were sent.
    pub sent: u64,
    /// Datagrams that the sender's socket did not take.
    pub unsent: u64,
    /// Datagrams that arrived.
    pub packets: u64,
    /// Bytes of their UDP payload.
    pub bytes: u64,
    /// Bits of UDP payload that were sent in a second of the test. `None`: it was interrupted.
    pub sent_bits_per_second: Option<f64>,
    /// Bits that arrived, by the time from the first to the last arrival. `None`: fewer than two arrived.
    pub bits_per_second: Option<f64>,
    /// Datagrams that were sent and did not arrive.
    pub lost_packets: u64,
    /// Share of the sent datagrams that were lost, 0 to 1. `None`: none was sent.
    pub lost_share: Option<f64>,
    /// Datagrams that were sent before one that had arrived already.
    pub out_of_order: u64,
    /// Interarrival jitter at the end, in nanoseconds (RFC 3550, section 6.4.1). `None`: fewer than two arrived.
    pub jitter_ns: Option<f64>,
    /// Lost datagrams that the receiver's socket dropped, because its buffer was full.
    pub socket_drops: Option<u64>,
    /// What is not as it was asked for.
    pub notes: Vec<String>,
}

impl UdpSummary {
    /// Makes the summary from the last readings of both ends.
    pub fn of(test: UdpTest, sender: &UdpReading, receiver: &UdpReading) -> Self {
        let arrivals = &receiver.arrivals;
        let seconds = arrivals.last_ns.saturating_sub(arrivals.first_ns) as f64 / 1e9;
        let several = arrivals.packets > 1;
        // The first one arrives when the time begins.
        let bytes = arrivals.bytes.saturating_sub(u64::from(test.length));
        let sent_bits = sender.sent as f64 * 8.0 * f64::from(test.length);
        let sent_bits_per_second = sender.is_over.then(|| sent_bits * 1e9 / test.nanoseconds.max(1) as f64);
        let mut notes = Vec::new();
        if let Some(sent) = sent_bits_per_second.filter(|sent| *sent < 0.99 * test.bits_per_second as f64) {
            let asked = test.bits_per_second as f64;
            notes.push(format!(
                "the sender reached {:.1} % of the rate that was asked for: it is the limit, not the path",
                100.0 * sent / asked
            ));
        }
        if receiver.socket_drops.is_some_and(|drops| drops > 0) {
            notes.push("the receiver's socket dropped datagrams: the receiver is the limit, not the path".to_owned());
        }
        if arrivals.packets > sender.sent {
            notes.push("more datagrams arrived than were sent: the path copies some, which hides losses".to_owned());
        }
        Self {
            test,
            sent: sender.sent,
            unsent: sender.unsent,
            packets: arrivals.packets,
            bytes: arrivals.bytes,
            sent_bits_per_second,
            bits_per_second: (several && seconds > 0.0).then(|| bytes as f64 * 8.0 / seconds),
            lost_packets: arrivals.lost(sender.sent),
            lost_share: (sender.sent > 0).then(|| arrivals.lost(sender.sent) as f64 / sender.sent as f64),
            out_of_order: arrivals.out_of_order,
            jitter_ns: several.then_some(arrivals.jitter_ns),
            socket_drops: receiver.socket_drops,
            notes,
        }
    }
}

/// One test in the layout of `iperf3 -u -J`.
pub fn iperf_of_udp(asked: &Asked, intervals: &[UdpInterval], summary: &UdpSummary) -> Value {
    let is_sender = !summary.test.server_sends;
    let percent = |lost: f64, all: u64| if all == 0 { 0.0 } else { 100.0 * lost / all as f64 };
    let rows: Vec<_> = intervals
        .iter()
        .map(|row| {
            json!({
                "streams": [],
                "sum": {
                    "start": row.start_seconds,
                    "end": row.end_seconds,
                    "seconds": row.end_seconds - row.start_seconds,
                    "bytes": row.bytes,
                    "bits_per_second": row.bits_per_second,
                    "jitter_ms": row.jitter_ns / 1e6,
                    "lost_packets": row.lost_packets,
                    "packets": row.sent,
                    "lost_percent": percent(row.lost_packets as f64, row.sent),
                    "omitted": false,
                    "sender": is_sender,
                },
                "quiclab": row,
            })
        })
        .collect();
    let seconds = summary.test.nanoseconds as f64 / 1e9;
    let sum = |bytes: u64, rate: Option<f64>| {
        json!({
            "start": 0,
            "end": seconds,
            "seconds": seconds,
            "bytes": bytes,
            "bits_per_second": rate,
            "jitter_ms": summary.jitter_ns.map(|jitter| jitter / 1e6),
            "lost_packets": summary.lost_packets,
            "packets": summary.sent,
            "lost_percent": summary.lost_share.map(|share| 100.0 * share),
            "sender": is_sender,
        })
    };
    let sent_bytes = summary.sent.saturating_mul(u64::from(summary.test.length));
    json!({
        "start": {
            "version": asked.version,
            "test_start": {
                "protocol": asked.protocol,
                "num_streams": 1,
                "blksize": summary.test.length,
                "duration": seconds,
                "bytes": 0,
                "reverse": u8::from(!is_sender),
                "bidir": 0,
                "target_bitrate": summary.test.bits_per_second,
            },
            "quiclab": asked.more,
        },
        "intervals": rows,
        "end": {
            "sum": sum(summary.bytes, summary.bits_per_second),
            "sum_sent": sum(sent_bytes, summary.sent_bits_per_second),
            "sum_received": sum(summary.bytes, summary.bits_per_second),
            "quiclab": summary,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: UdpTest = UdpTest {
        number: 1,
        server_sends: false,
        length: 1000,
        bits_per_second: 8_000_000,
        nanoseconds: 1_000_000_000,
    };

    fn arrivals(packets: u64, expected: u64, last_ns: u64) -> Arrivals {
        Arrivals { packets, bytes: packets * 1000, expected, last_ns, ..Arrivals::default() }
    }

    #[test]
    fn a_late_packet_takes_a_loss_back() {
        let [first, second, third] = [arrivals(8, 10, 0), arrivals(18, 20, 0), arrivals(20, 20, 0)];
        let row = UdpInterval::of((0.0, &first), (1.0, &second), 10);
        assert_eq!((row.lost_packets, row.packets, row.bits_per_second), (0, 10, 80_000.0));
        assert_eq!(UdpInterval::of((1.0, &second), (2.0, &third), 0).lost_packets, -2);
        assert_eq!(UdpInterval::of((0.0, &Arrivals::default()), (1.0, &first), 10).lost_packets, 2);
    }

    #[test]
    fn the_summary_says_who_was_the_limit() {
        let sender = UdpReading { sent: 1000, is_over: true, ..UdpReading::default() };
        let receiver = UdpReading { arrivals: arrivals(900, 1000, 999_000_000), socket_drops: Some(0), ..sender };
        let found = UdpSummary::of(TEST, &sender, &receiver);
        assert_eq!((found.lost_packets, found.lost_share), (100, Some(0.1)));
        assert_eq!(found.sent_bits_per_second, Some(8e6));
        // 899 packets after the first, in 999 ms.
        assert!((found.bits_per_second.unwrap() - 899.0 * 8000.0 / 0.999).abs() < 1e-6, "{found:?}");
        assert!(found.notes.is_empty(), "{found:?}");
        let slow = UdpReading { sent: 900, ..sender };
        let dropping = UdpReading { socket_drops: Some(3), ..receiver };
        let notes = UdpSummary::of(TEST, &slow, &dropping).notes.join("; ");
        assert!(notes.contains("90.0 % of the rate") && notes.contains("socket dropped"), "{notes}");
        let nothing = UdpSummary::of(TEST, &UdpReading::default(), &UdpReading::default());
        assert_eq!((nothing.bits_per_second, nothing.jitter_ns, nothing.lost_share), (None, None, None));
    }
}
