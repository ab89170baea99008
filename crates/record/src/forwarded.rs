//! What the forwarder says of itself, and the list of packets that a path dropped: parts of `path.json`.

use quiclab_agent_protocol::forwarder::{Lateness, SuperPackets};
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
    pub lateness: Option<Lateness>,
    /// Super-packets that came in; `None` where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub super_packets: Option<SuperPackets>,
}

/// 99 of 100 packets must not leave the forwarder later than this: 1 % of a delay of 20 ms.
const LATEST: Duration = Duration::from_micros(200);

impl ForwarderSeen {
    /// What to look at before trusting the run, where packets left so late that the path was another one.
    pub fn why_late(&self) -> Option<String> {
        let late = self.lateness?;
        let [median, percentile_99, largest] =
            [late.median_ns, late.percentile_99_ns, late.largest_ns].map(Duration::from_nanos);
        (percentile_99 > LATEST).then(|| {
            let milliseconds = |time: Duration| format!("{:.3} ms", time.as_nanos() as f64 / 1e6);
            let priority = if self.is_realtime { "with" } else { "without" };
            format!(
                "of {} packets 1 % left the forwarder {} late or later, expected less than {LATEST} (median {}, largest \
                 {}); its thread ran {priority} real-time priority",
                late.packets,
                milliseconds(percentile_99),
                milliseconds(median),
                milliseconds(largest)
            )
        })
    }
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
        let lateness = Some(Lateness { packets: 1000, median_ns: 3_500, percentile_99_ns, largest_ns: 900_000 });
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
