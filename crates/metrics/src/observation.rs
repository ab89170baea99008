//! What was seen of one run.

use std::collections::BTreeMap;

use quiclab_units::{ByteCount, Duration};
use quiclab_wire::Capture;

/// Packets closer together than this belong to one train, unless the experiment says otherwise: 0.1 ms, as published.
pub const DEFAULT_TRAIN_THRESHOLD: Duration = Duration::from_nanos(100_000);

/// What was seen of one run. `None` is "not known"; it leads to a null in the metrics, never to a 0.
#[derive(Clone, Debug)]
pub struct Observation<'a> {
    /// The whole capture, every tap.
    pub capture: &'a Capture,
    /// Interface of the tap at the sender's egress, after its qdisc and any segmentation, before the path.
    pub sender_tap: u32,
    /// Interface of the tap behind the bottleneck.
    pub bottleneck_tap: Option<u32>,
    /// UDP or TCP port of the server, the sender of the flow.
    pub server_port: u16,
    /// Gaps strictly below it join two packets into a train.
    pub train_threshold: Duration,
    /// Application bytes of the response, as the client stored them.
    pub response_bytes: Option<ByteCount>,
    /// From the start of the client process to its end.
    pub client_lifetime: Option<Duration>,
    /// Packets dropped towards the client by the bottleneck's own counters.
    pub queue_drops_packets: Option<u64>,
    /// Packets that the capture itself lost, by name of the tap. A tap that did not say is absent.
    pub capture_losses_packets: BTreeMap<String, u64>,
    /// Share of the transfer in which the machine that both endpoints ran on was not idle, 0 to 1.
    pub cpu_busy_share: Option<f64>,
}

impl<'a> Observation<'a> {
    /// A capture of which nothing else is known: sender's tap at interface 0, no second tap, the default train threshold.
    pub fn of_capture(capture: &'a Capture, server_port: u16) -> Self {
        Observation {
            capture,
            sender_tap: 0,
            bottleneck_tap: None,
            server_port,
            train_threshold: DEFAULT_TRAIN_THRESHOLD,
            response_bytes: None,
            client_lifetime: None,
            queue_drops_packets: None,
            capture_losses_packets: BTreeMap::new(),
            cpu_busy_share: None,
        }
    }
}
