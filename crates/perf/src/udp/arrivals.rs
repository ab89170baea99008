//! Datagrams of a test, and what arrived of them.

use serde::{Deserialize, Serialize};

/// Bytes that a datagram begins with; the rest are zeros.
pub const HEADER: usize = 24;

/// What is in the first bytes of a datagram, in network byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Number of the test: datagrams of others are not counted.
    pub test: u64,
    /// Counted from 0.
    pub sequence: u64,
    /// When it was sent, on the sender's clock, in nanoseconds.
    pub sent_ns: u64,
}

impl Datagram {
    /// Writes it as the first [`HEADER`] bytes of a datagram.
    pub fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        for (place, number) in [self.test, self.sequence, self.sent_ns].into_iter().enumerate() {
            bytes[place * 8..(place + 1) * 8].copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    /// Reads it from a datagram; `None`: it is too short.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let number = |place: usize| Some(u64::from_be_bytes(bytes.get(place * 8..(place + 1) * 8)?.try_into().ok()?));
        Some(Self { test: number(0)?, sequence: number(1)?, sent_ns: number(2)? })
    }
}

/// What has arrived so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Datagrams.
    pub packets: u64,
    /// Bytes of their UDP payload.
    pub bytes: u64,
    /// Datagrams that were sent before one that had arrived already.
    pub out_of_order: u64,
    /// One more than the largest number that arrived: as many were sent at least.
    pub expected: u64,
    /// Interarrival jitter, in nanoseconds (RFC 3550, section 6.4.1).
    pub jitter_ns: f64,
    /// When the first and the last one arrived, on the receiver's clock, in nanoseconds.
    pub first_ns: u64,
    /// See `first_ns`.
    pub last_ns: u64,
    /// Arrival time minus send time of the last one: clocks of two machines, so that it can have any value.
    pub(super) transit_ns: i64,
}

impl Arrivals {
    /// One arrives.
    pub fn take(&mut self, datagram: Datagram, bytes: u64, at_ns: u64) {
        let transit_ns = at_ns.wrapping_sub(datagram.sent_ns).cast_signed();
        if self.packets == 0 {
            self.first_ns = at_ns;
        } else {
            // RFC 3550, appendix A.8: J += (|D| - J) / 16.
            let difference = transit_ns.wrapping_sub(self.transit_ns).unsigned_abs() as f64;
            self.jitter_ns += (difference - self.jitter_ns) / 16.0;
        }
        (self.transit_ns, self.last_ns) = (transit_ns, at_ns);
        if datagram.sequence < self.expected {
            self.out_of_order += 1;
        }
        self.packets += 1;
        self.bytes += bytes;
        self.expected = self.expected.max(datagram.sequence.saturating_add(1));
    }

    /// Datagrams that have not arrived, of `sent`. A datagram that came twice hides one that was lost.
    pub fn lost(&self, sent: u64) -> u64 {
        sent.saturating_sub(self.packets)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn datagram(sequence: u64, sent_ns: u64) -> Datagram {
        Datagram { test: 7, sequence, sent_ns }
    }

    #[test]
    fn bytes_are_in_network_order() {
        let bytes = datagram(0x0102, 3).to_bytes();
        assert_eq!((bytes[7], bytes[14], bytes[15], bytes[23]), (7, 1, 2, 3));
        assert_eq!(Datagram::of_bytes(&bytes), Some(datagram(0x0102, 3)));
        assert_eq!(Datagram::of_bytes(&bytes[..23]), None);
    }

    #[test]
    fn losses_and_their_order_are_counted() {
        let mut arrivals = Arrivals::default();
        for sequence in [0, 1, 4, 3, 5] {
            arrivals.take(datagram(sequence, 0), 100, 0);
        }
        assert_eq!((arrivals.packets, arrivals.bytes, arrivals.out_of_order, arrivals.expected), (5, 500, 1, 6));
        assert_eq!((arrivals.lost(6), arrivals.lost(10), arrivals.lost(0)), (1, 5, 0));
    }

    #[test]
    fn a_steady_flow_has_no_jitter_whatever_the_clocks_say() {
        let mut arrivals = Arrivals::default();
        for number in 0..100 {
            arrivals.take(datagram(number, u64::MAX - 1000 + number), 1, number);
        }
        assert_eq!(arrivals.jitter_ns, 0.0);
    }

    /// The C code of RFC 3550, appendix A.8, in its own units, with the floating-point variant of its comment.
    fn of_the_rfc(packets: &[(u64, u64)]) -> f64 {
        let (mut transit, mut jitter) = (None, 0.0);
        for (sent, arrival) in packets {
            let new = *arrival as i64 - *sent as i64;
            if let Some(old) = transit {
                let d: i64 = new - old;
                jitter += (1.0 / 16.0) * (d.abs() as f64 - jitter);
            }
            transit = Some(new);
        }
        jitter
    }

    proptest! {
        #[test]
        fn jitter_is_that_of_the_rfc(packets in proptest::collection::vec((0..1_u64 << 40, 0..1_u64 << 40), 0..50)) {
            let mut arrivals = Arrivals::default();
            for (number, (sent, arrival)) in packets.iter().enumerate() {
                arrivals.take(datagram(number as u64, *sent), 1, *arrival);
            }
            let expected = of_the_rfc(&packets);
            prop_assert!((arrivals.jitter_ns - expected).abs() <= 1e-9 * expected.max(1.0));
        }

        #[test]
        fn foreign_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), at: u64) {
            if let Some(datagram) = Datagram::of_bytes(&bytes) {
                let mut arrivals = Arrivals::default();
                arrivals.take(datagram, 1, at);
                arrivals.take(datagram, 1, at.wrapping_mul(3));
            }
        }
    }
}
