//! What really happened, as the Internet itself saw it.

use std::net::{IpAddr, SocketAddr};

use serde::Serialize;

use crate::description::{Behaviour, Description, Host};

/// Datagrams of each direction of a flow of which the truth keeps times.
pub const MOST_PASSED: usize = 32;

/// What an Internet has seen, from its start to its end.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// Flows that have ended, and then those that had not, up to `most_kept_flows` of the settings.
    pub flows: Vec<FlowTruth>,
    /// Datagrams to each host, in the order of the description.
    pub datagrams_to_host: Vec<u64>,
    /// Sums.
    pub counters: Counters,
    /// How much later than it was due a packet was handed to the kernel.
    pub lateness: Lateness,
}

/// Sums over all hosts. Those from `refused_flows` on are 0 where nothing was lost on the way, and the record is whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Datagrams of clients.
    pub from_clients: u64,
    /// Datagrams of clients to addresses without a host.
    pub to_nobody: u64,
    /// Datagrams of clients to silent hosts.
    pub to_silent: u64,
    /// Packets that are no UDP datagrams, or fragments.
    pub not_udp: u64,
    /// Packets to clients, with ICMP messages.
    pub to_clients: u64,
    /// Flows that began.
    pub flows: u64,
    /// Most flows at the same time.
    pub most_flows: u64,
    /// CPU time in which the thread that forwards worked, in nanoseconds.
    pub cpu_ns: u64,
    /// CPU time in which it waited for a packet that was due soon, in nanoseconds.
    pub spun_ns: u64,
    /// Whether that thread came before all ordinary ones of the machine.
    pub is_real_time: bool,
    /// Datagrams of clients that would have begun a flow, but there were too many.
    pub refused_flows: u64,
    /// Packets that were dropped because too many bytes were on their way.
    pub too_many_held: u64,
    /// Datagrams of servers that no packet to the client has room for.
    pub too_long: u64,
    /// Datagrams of servers to flows that were forgotten.
    pub to_forgotten_flows: u64,
    /// Packets that the kernel did not take, towards servers or clients.
    pub not_taken: u64,
    /// Datagrams that the kernel dropped because the scanner, or another process of this network namespace, did not read them in time;
    /// `None`: it does not say.
    pub dropped_at_scanner: Option<u64>,
    /// Datagrams that real servers did not read in time. Those of a server that has ended are not counted here, but as the scanner's.
    pub dropped_at_servers: Option<u64>,
    /// Datagrams of servers that the Internet did not read in time.
    pub dropped_inside: Option<u64>,
    /// Packets of clients that the kernel dropped because the Internet did not read them in time; `None`: it does not say.
    pub dropped_at_interface: Option<u64>,
    /// Packets and flows that the record lacks because the disk was too slow.
    pub not_recorded: u64,
    /// Packets that stand in the capture with a time that is a little too late, because a packet after them was written already.
    pub recorded_late: u64,
}

/// Percentiles of lateness, in nanoseconds, with two significant digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lateness {
    /// Half of all packets were at most so late.
    pub median_ns: u64,
    /// 99 % were.
    pub p99_ns: u64,
    /// All were.
    pub most_ns: u64,
}

/// A host, for the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostTruth {
    /// Its address.
    pub address: IpAddr,
    /// Its UDP port.
    pub port: u16,
    /// Name of its group.
    pub group: String,
    /// Origin AS of its group.
    pub origin_as: u32,
    /// [`Behaviour::word`].
    pub behaviour: &'static str,
    /// The real server behind it, if any.
    pub server: Option<String>,
    /// Its RTT without jitter, in nanoseconds.
    pub rtt_ns: u64,
    /// Whether it acknowledges a ClientHello before its ServerHello; `None`: not known, or it has no ServerHello.
    pub instant_ack: Option<bool>,
}

impl HostTruth {
    pub(crate) fn new(description: &Description, host: &Host) -> Self {
        let group = description.group_of(host.address);
        let server = host.behaviour.server();
        let described = description.servers.iter().find(|one| Some(one.name.as_str()) == server);
        Self {
            address: host.address,
            port: host.port,
            group: group.map(|group| group.name.clone()).unwrap_or_default(),
            origin_as: group.map_or(0, |group| group.origin_as),
            behaviour: host.behaviour.word(),
            server: server.map(str::to_owned),
            rtt_ns: host.rtt.as_nanos(),
            instant_ack: match host.behaviour {
                Behaviour::AckOnly => Some(true),
                _ => described.and_then(|server| server.instant_ack),
            },
        }
    }
}

/// All packets between a client's port and a host's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowTruth {
    /// The client.
    pub client: SocketAddr,
    /// The host that it asked.
    pub host: SocketAddr,
    /// Number of the host in the description, from 0.
    pub host_number: u32,
    /// [`Behaviour::word`] of the host.
    pub behaviour: &'static str,
    /// The real server behind it, if any.
    pub server: Option<String>,
    /// RTT of the host without jitter, in nanoseconds.
    pub rtt_ns: u64,
    /// How long the certificate took in this flow, in nanoseconds; `None` for hosts whose certificate is not held back.
    pub certificate_delay_ns: Option<u64>,
    /// Datagrams that reached the host.
    pub datagrams_to_host: u64,
    /// UDP payload of them.
    pub bytes_to_host: u64,
    /// Datagrams that left the host. An ICMP message is none.
    pub datagrams_to_client: u64,
    /// UDP payload of them.
    pub bytes_to_client: u64,
    /// The first [`MOST_PASSED`] datagrams to the host.
    pub to_host: Vec<Passed>,
    /// The first [`MOST_PASSED`] datagrams from it.
    pub to_client: Vec<Passed>,
}

/// A datagram on its way. Times are Unix times in nanoseconds, on a clock that was set when the Internet started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Passed {
    /// Time at the client's end of the way: when the Internet read it, or handed it to the client's kernel. `None`: not yet.
    pub at_client_ns: Option<u64>,
    /// Time at the host's end: when it went to the server's socket, or when the kernel took it from the server.
    pub at_host_ns: u64,
    /// UDP payload.
    pub bytes: u32,
}
