//! What the forwarder says of itself, and the list of packets that a path dropped: parts of `path.json`.

use quiclab_units::Duration;
use serde::{Deserialize, Serialize};

use crate::nanoseconds;

/// What moved packets through the stages in user space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForwarderSeen {
    /// Why packets were moved in user space and not by the kernel.
    pub why: String,
    /// Whether its thread ran with a real-time priority, before the endpoints.
    pub is_realtime: bool,
    /// How much later than planned packets left the path; `None` where none left.
    pub lateness: Option<LatenessSeen>,
    /// Super-packets that came in; `None` where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub super_packets: Option<SuperPacketsSeen>,
}

/// Frames of many packets each, as the forwarder met them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuperPacketsSeen {
    /// Frames that passed whole. Stages and [`LatenessSeen`] count each as one packet.
    pub whole: u64,
    /// Frames that were cut where they came in.
    pub cut: u64,
    /// The packets that they became.
    pub packets: u64,
}

/// 99 of 100 packets must not leave the forwarder later than this: 1 % of a delay of 20 ms.
const LATEST: Duration = Duration::from_micros(200);

impl ForwarderSeen {
    /// What to look at before trusting the run, where packets left so late that the path was another one.
    pub fn why_late(&self) -> Option<String> {
        let LatenessSeen { packets, median, percentile_99, largest } = self.lateness?;
        (percentile_99 > LATEST).then(|| {
            let milliseconds = |time: Duration| format!("{:.3} ms", time.as_nanos() as f64 / 1e6);
            let priority = if self.is_realtime { "with" } else { "without" };
            format!(
                "of {packets} packets 1 % left the forwarder {} late or later, expected less than {LATEST} (median {}, largest \
                 {}); its thread ran {priority} real-time priority",
                milliseconds(percentile_99),
                milliseconds(median),
                milliseconds(largest)
            )
        })
    }
}

/// How much later than planned packets left the path. The median and the 99th percentile are exact to 1/32 of their value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatenessSeen {
    /// Packets that left.
    pub packets: u64,
    /// Half of them were at most this late.
    #[serde(rename = "median_ns", with = "nanoseconds")]
    pub median: Duration,
    /// 99 of 100 were at most this late.
    #[serde(rename = "percentile_99_ns", with = "nanoseconds")]
    pub percentile_99: Duration,
    /// The latest one.
    #[serde(rename = "largest_ns", with = "nanoseconds")]
    pub largest: Duration,
}

/// A packet that a stage dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropSeen {
    /// When, since the path's own start: when the server listened.
    #[serde(rename = "time_ns", with = "nanoseconds")]
    pub time: Duration,
    /// Its direction, `to_client` or `to_server`.
    pub direction: String,
    /// Name of the stage.
    pub stage: String,
    /// Why, such as `queue_full`.
    pub cause: String,
    /// Its place among the packets that entered this direction of the path, from 1.
    pub packet: u64,
    /// Length of its frame.
    pub bytes: u32,
    /// The connection that it belongs to, from 1; `None` where packets were not read.
    pub connection: Option<u32>,
    /// Its place among its sender's datagrams on that connection, from 1.
    pub datagram: Option<u64>,
    /// What it held, in words.
    pub held: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarder(percentile_99_ns: u64) -> ForwarderSeen {
        let [median, percentile_99, largest] = [3_500, percentile_99_ns, 900_000].map(Duration::from_nanos);
        let lateness = Some(LatenessSeen { packets: 1000, median, percentile_99, largest });
        ForwarderSeen { why: String::new(), is_realtime: false, lateness, super_packets: None }
    }

    #[test]
    fn a_forwarder_is_late_beyond_200_microseconds_and_says_how_late() {
        assert_eq!(forwarder(200_000).why_late(), None);
        let message = forwarder(200_001).why_late().unwrap();
        for words in
            ["of 1000 packets", "0.200 ms late", "less than 200 us", "0.004 ms", "0.900 ms", "without real-time"]
        {
            assert!(message.contains(words), "{message}");
        }
        assert_eq!(ForwarderSeen { lateness: None, ..forwarder(1) }.why_late(), None);
    }
}
