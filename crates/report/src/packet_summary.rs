//! What the packets of a run tell besides its metrics.

use quiclab_metrics::PacketFacts;

use crate::LookPacket;

/// A run has about as many steps of time.
const STEPS: u64 = 200;
/// Steps are no shorter, and are multiples of this.
const SHORTEST_STEP_NS: u64 = 10_000_000;

/// One run whose packets were looked at one by one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacketSummary {
    /// What the packets show, for verdicts.
    pub facts: PacketFacts,
    /// The server's first packet, since the first packet at the tap.
    pub server_start_ns: u64,
    /// Path of the page with the packets, from the report; `None` where it was not written.
    pub page: Option<String>,
    /// What the packets show over time, for pictures.
    pub over_time: OverTime,
}

/// The bottleneck over time, in steps since the first packet at the tap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OverTime {
    /// Length of a step.
    pub step_ns: u64,
    /// The longest wait of the packets that were sent in a step; `None`: there are none. Empty where waits are not known.
    pub queue_ns: Vec<Option<u64>>,
    /// New bytes of streams at the time at which they leave the bottleneck, or the sender where that is not known. Empty where
    /// they are not known.
    pub goodput_bps: Vec<f64>,
}

impl OverTime {
    /// What the packets of one transfer show over time.
    pub fn of(packets: &[LookPacket]) -> Self {
        let server = || packets.iter().filter(|packet| packet.is_server);
        let left = |packet: &LookPacket| packet.time_ns + packet.behind_bottleneck_after_ns.unwrap_or(0);
        let Some(end) = server().map(left).max() else { return Self::default() };
        let step_ns = (end / STEPS).div_ceil(SHORTEST_STEP_NS).max(1) * SHORTEST_STEP_NS;
        let steps = (end / step_ns) as usize + 1;
        let shortest = server().filter_map(|packet| packet.behind_bottleneck_after_ns).min();
        let mut queue_ns = vec![None; if shortest.is_some() { steps } else { 0 }];
        let mut bytes = vec![0_u64; steps];
        for packet in server() {
            let crossing = packet.behind_bottleneck_after_ns;
            if let (Some(crossing), Some(shortest)) = (crossing, shortest) {
                let longest = &mut queue_ns[(packet.time_ns / step_ns) as usize];
                *longest = (*longest).max(Some(crossing - shortest));
            }
            if !packet.is_dropped {
                bytes[(left(packet) / step_ns) as usize] += packet.new_stream_bytes;
            }
        }
        let is_known = bytes.iter().any(|bytes| *bytes > 0);
        let rate = |bytes: u64| bytes as f64 * 8e9 / step_ns as f64;
        Self {
            step_ns,
            queue_ns,
            goodput_bps: if is_known { bytes.into_iter().map(rate).collect() } else { Vec::new() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(time_ms: u64, crossing_ms: Option<u64>, new_stream_bytes: u64) -> LookPacket {
        LookPacket {
            time_ns: time_ms * 1_000_000,
            is_server: true,
            behind_bottleneck_after_ns: crossing_ms.map(|ms| ms * 1_000_000),
            is_dropped: crossing_ms.is_none(),
            new_stream_bytes,
            ..LookPacket::default()
        }
    }

    #[test]
    fn the_queue_is_that_of_when_packets_are_sent_and_goodput_that_of_when_they_leave_it() {
        let packets =
            [packet(0, Some(20), 1000), packet(5, Some(24), 1000), packet(25, None, 1000), packet(31, Some(22), 500)];
        let found = OverTime::of(&packets);
        assert_eq!(found.step_ns, 10_000_000);
        assert_eq!(found.queue_ns, [Some(4_000_000), None, None, Some(2_000_000), None, None]);
        // 2000 bytes in 10 ms are 1.6 Mbit/s; what was dropped is none.
        assert_eq!(found.goodput_bps, [0.0, 0.0, 1_600_000.0, 0.0, 0.0, 400_000.0]);
    }

    #[test]
    fn what_is_not_known_is_not_drawn() {
        let mut alone = packet(0, None, 0);
        alone.is_dropped = false;
        let found = OverTime::of(&[alone]);
        assert!(found.queue_ns.is_empty() && found.goodput_bps.is_empty());
        assert_eq!(OverTime::of(&[]), OverTime::default());
    }
}
