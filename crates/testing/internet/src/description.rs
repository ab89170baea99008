//! What the Internet consists of: networks, servers, hosts, names.

mod behaviour;
mod check;
mod population;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::IpNet;
use quiclab_units::Duration;

pub use behaviour::{Behaviour, Rubbish, Unreachable};
pub use check::BadDescription;
pub use population::Population;

/// Everything that a scanner can meet.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// Seed of all random numbers, such as those of jitter, of rubbish and of a population's distances.
    pub seed: u64,
    /// Networks. Every address of theirs leads to the Internet; one without a host is silent.
    pub groups: Vec<Group>,
    /// Real servers, which already listen.
    pub servers: Vec<Server>,
    /// Hosts, each at an address of a group.
    pub hosts: Vec<Host>,
    /// Names, for the resolver. Names that are missing here do not exist.
    pub names: Vec<Name>,
    /// How it runs.
    pub settings: Settings,
}

/// A network of one operator, such as a CDN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name for people, and for the truth.
    pub name: String,
    /// Autonomous system that announces the prefixes.
    pub origin_as: u32,
    /// Prefixes of the network: at least one, of IPv4 or IPv6.
    pub prefixes: Vec<IpNet>,
}

/// A QUIC server of this network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// What hosts call it.
    pub name: String,
    /// Where it listens: an address in 127.0.0.0/8. Hosts with IPv6 addresses use it, too.
    pub address: SocketAddr,
    /// Whether it acknowledges a ClientHello before it sends its ServerHello; `None`: not known.
    pub instant_ack: Option<bool>,
}

/// One address that answers, or does not.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Address in one of the groups.
    pub address: IpAddr,
    /// UDP port. What comes to other ports is answered by an ICMP message, port unreachable, unless the host is silent.
    pub port: u16,
    /// Time from a client to it and back, without jitter. Each direction takes half of it.
    pub rtt: Duration,
    /// How much longer than half an RTT each packet takes. Packets of one flow and direction keep their order.
    pub jitter: Delay,
    /// What it does with packets.
    pub behaviour: Behaviour,
}

impl Host {
    /// A host on port 443 without jitter.
    pub fn new(address: IpAddr, rtt: Duration, behaviour: Behaviour) -> Self {
        Self { address, port: 443, rtt, jitter: Delay::None, behaviour }
    }
}

/// How long something takes beyond what it must.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Delay {
    /// No longer.
    #[default]
    None,
    /// Always this long.
    Constant(Duration),
    /// Anything from 0 to this, all equally likely.
    Uniform(Duration),
    /// Exponentially distributed with this mean, as where a queue is sometimes long.
    Exponential(Duration),
    /// Log-normally distributed, as where a certificate comes from a store elsewhere.
    LogNormal {
        /// Half of all are shorter.
        median: Duration,
        /// Standard deviation of the natural logarithm, 0 to 3.
        sigma: f64,
    },
}

/// A name that the resolver knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name, without a dot at its end. Case does not matter.
    pub name: String,
    /// What the resolver says.
    pub resolution: Resolution,
}

/// How a name resolves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The name resolves to addresses: A and AAAA records, and none where the list has none of that family.
    Addresses {
        /// Addresses in the order of the answer.
        addresses: Vec<IpAddr>,
        /// Whether there is also an HTTPS record (RFC 9460) with `alpn` h3.
        has_https_record: bool,
    },
    /// SERVFAIL.
    ServerFailure,
    /// The resolver says nothing.
    NoAnswer,
}

/// How the Internet runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// IPv4 address of this machine, from which clients reach the hosts.
    pub client_v4: Ipv4Addr,
    /// IPv6 address, likewise.
    pub client_v6: Ipv6Addr,
    /// MTU of the way to the hosts, in bytes.
    pub mtu: u32,
    /// A flow without packets for this long is forgotten.
    pub flow_lifetime: Duration,
    /// Flows that exist at the same time. Packets that would begin another are dropped and counted.
    pub most_flows: u32,
    /// Bytes of packets on their way at the same time. Others are dropped and counted.
    pub most_held_bytes: usize,
    /// Truth about flows that [`Truth`](crate::Truth) keeps in memory. A record has all of them.
    pub most_kept_flows: usize,
    /// How long before a packet is due the thread no longer sleeps. Where scanner and servers need all CPUs, 0 leaves them more, and
    /// packets are as late as waking takes: some tens of microseconds.
    pub spin: Duration,
    /// Whether the thread that forwards comes before all ordinary ones of the machine, where the kernel lets this user have that
    /// (`SCHED_FIFO`). Without it, delays are only as exact as the machine is idle.
    pub is_real_time: bool,
    /// Where the resolver listens; `None`: there is none.
    pub resolver: Option<SocketAddr>,
    /// An existing folder for the record: server.pcapng, hosts.jsonl, flows.jsonl. `None`: no record.
    pub record: Option<std::path::PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            // RFC 2544 and RFC 5180 set these networks aside for tests.
            client_v4: Ipv4Addr::new(198, 18, 0, 1),
            client_v6: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1),
            mtu: 1500,
            flow_lifetime: Duration::from_secs(60),
            most_flows: 1 << 17,
            most_held_bytes: 256 << 20,
            most_kept_flows: 100_000,
            spin: Duration::from_micros(100),
            is_real_time: true,
            resolver: Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 53)),
            record: None,
        }
    }
}

impl Description {
    /// The groups' prefixes in the form of CAIDA's Routeviews prefix2as files: address, length and AS number, separated by
    /// tabs, one prefix a line. Those files have IPv4 or IPv6; this has IPv4 first.
    pub fn prefix2as(&self) -> String {
        let mut lines: Vec<_> = self
            .groups
            .iter()
            .flat_map(|group| group.prefixes.iter().map(|prefix| (prefix.trunc(), group.origin_as)))
            .collect();
        lines.sort();
        lines.dedup();
        lines
            .iter()
            .map(|(prefix, origin_as)| format!("{}\t{}\t{origin_as}\n", prefix.addr(), prefix.prefix_len()))
            .collect()
    }

    /// The group of an address: that with the longest prefix that holds it.
    pub fn group_of(&self, address: IpAddr) -> Option<&Group> {
        let prefixes = self.groups.iter().flat_map(|group| group.prefixes.iter().map(move |prefix| (prefix, group)));
        prefixes
            .filter(|(prefix, _)| prefix.contains(&address))
            .max_by_key(|(prefix, _)| prefix.prefix_len())
            .map(|(_, group)| group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, origin_as: u32, prefixes: &[&str]) -> Group {
        let prefixes = prefixes.iter().map(|prefix| prefix.parse().unwrap()).collect();
        Group { name: name.to_owned(), origin_as, prefixes }
    }

    #[test]
    fn prefixes_are_written_as_caida_writes_them() {
        let description = Description {
            groups: vec![
                group("far", 64501, &["2001:db8:7::/48", "100.64.0.0/10"]),
                group("near", 64500, &["100.100.0.0/16"]),
            ],
            ..Description::default()
        };
        assert_eq!(description.prefix2as(), "100.64.0.0\t10\t64501\n100.100.0.0\t16\t64500\n2001:db8:7::\t48\t64501\n");
    }

    #[test]
    fn the_longest_prefix_decides() {
        let description = Description {
            groups: vec![group("far", 1, &["100.64.0.0/10"]), group("near", 2, &["100.100.0.0/16"])],
            ..Description::default()
        };
        let name = |address: &str| description.group_of(address.parse().unwrap()).map(|group| group.name.as_str());
        assert_eq!(name("100.100.3.4"), Some("near"));
        assert_eq!(name("100.101.3.4"), Some("far"));
        assert_eq!(name("192.0.2.1"), None);
    }
}
