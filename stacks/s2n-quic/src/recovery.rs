//! What the library says of the newest connection's path, for lines of progress.

use quiclab_contract::perf::{COUNTERS, Path};
use s2n_quic::provider::event::{
    ConnectionInfo, ConnectionMeta, Subscriber,
    events::{PacketLost, RecoveryMetrics},
};

/// Listens to the events of an endpoint.
#[derive(Debug, Default)]
pub struct Recovery {
    /// The library's number of the newest connection.
    newest: u64,
}

/// What is kept of each connection.
#[derive(Debug, Default)]
pub struct Losses {
    packets: u64,
}

impl Subscriber for Recovery {
    type ConnectionContext = Losses;

    fn create_connection_context(&mut self, meta: &ConnectionMeta, _: &ConnectionInfo) -> Losses {
        self.newest = meta.id;
        Losses::default()
    }

    fn on_packet_lost(&mut self, losses: &mut Losses, _: &ConnectionMeta, event: &PacketLost) {
        // The loss of a probe of the path's MTU says nothing of the path (RFC 9000, section 14.4).
        losses.packets += u64::from(!event.is_mtu_probe);
    }

    fn on_recovery_metrics(&mut self, losses: &mut Losses, meta: &ConnectionMeta, event: &RecoveryMetrics) {
        if meta.id == self.newest {
            let (rtt, window) = (event.smoothed_rtt, event.congestion_window.into());
            COUNTERS.path(|| Some(Path { rtt, window, lost: losses.packets }));
        }
    }
}
