//! A description is checked as a whole before anything is made.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, SocketAddr},
};

use quiclab_units::Duration;

use super::{Behaviour, Delay, Description, Host};

/// Longest RTT, gap or jitter.
const LONGEST: Duration = Duration::from_secs(3600);
/// Greatest sigma of a log-normal delay.
const GREATEST_SIGMA: f64 = 3.0;
/// A reason phrase must leave room for the rest of its packet.
const MOST_REASON_BYTES: usize = 1000;
/// Greatest integer of QUIC, RFC 9000 section 16.
const GREATEST_INTEGER: u64 = (1 << 62) - 1;
/// Flows have addresses of their own on the loopback: those of 127.64.0.0/10.
const MOST_FLOWS: u32 = 1 << 22;
/// RFC 768; a kernel looks for the socket by them.
const UDP_HEADER_BYTES: usize = 8;
/// Smallest MTU of IPv6, RFC 8200 section 5, and the largest that buffers have room for.
const MTUS: std::ops::RangeInclusive<u32> = 1280..=9000;
/// IPv4 in a version negotiation: what one packet can list.
const MOST_VERSIONS: usize = 250;

/// A description contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDescription {
    /// A server that nobody can reach from the loopback.
    #[error("server {name:?}: found address {found}, expected one in 127.0.0.0/8, and not in 127.64.0.0/10")]
    ServerAddress {
        /// Name of the server.
        name: String,
        /// Its address.
        found: SocketAddr,
    },
    /// Two of the same.
    #[error("{what} {which}: found it twice")]
    Twice {
        /// Server, host or name.
        what: &'static str,
        /// Its name or address.
        which: String,
    },
    /// A host names a server that is missing.
    #[error("host {host}: its server {server:?} is not described")]
    UnknownServer {
        /// Address of the host.
        host: IpAddr,
        /// What it names.
        server: String,
    },
    /// An address that no group announces.
    #[error("host {host}: found address {address}, expected one of a group's prefixes")]
    NoGroup {
        /// Address of the host.
        host: IpAddr,
        /// The address.
        address: IpAddr,
    },
    /// A group has no address for a host, or does not exist.
    #[error("group {group:?}: found {free} free addresses, expected {wanted}")]
    NoRoom {
        /// Its name.
        group: String,
        /// How many it has, of the family that is asked for.
        free: usize,
        /// How many hosts there are to be.
        wanted: usize,
    },
    /// A host's value is out of its range.
    #[error("host {host}: {what}: found {found}, expected {expected}")]
    Value {
        /// Address of the host.
        host: IpAddr,
        /// Which one.
        what: &'static str,
        /// Value in the description.
        found: String,
        /// The range.
        expected: &'static str,
    },
    /// A setting is out of its range.
    #[error("settings: {what}: found {found}, expected {expected}")]
    Setting {
        /// Which one.
        what: &'static str,
        /// Value in the description.
        found: String,
        /// The range.
        expected: &'static str,
    },
    /// The whole of IPv4 or IPv6, or the loopback, cannot be a test network.
    #[error("group {group:?}: prefix {prefix} holds the loopback or the client's own address {address}")]
    Prefix {
        /// Its name.
        group: String,
        /// The prefix, as described.
        prefix: String,
        /// What it must not hold.
        address: IpAddr,
    },
}

impl Description {
    /// Checks everything that can be checked without a kernel.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self) -> Result<(), BadDescription> {
        self.check_settings()?;
        self.check_groups()?;
        let mut servers = BTreeMap::new();
        for server in &self.servers {
            if !is_on_loopback(server.address) {
                return Err(BadDescription::ServerAddress { name: server.name.clone(), found: server.address });
            }
            if servers.insert(server.name.as_str(), ()).is_some() {
                return Err(BadDescription::Twice { what: "server", which: server.name.clone() });
            }
        }
        let mut addresses = BTreeSet::new();
        for host in &self.hosts {
            if !addresses.insert(host.address) {
                return Err(BadDescription::Twice { what: "host", which: host.address.to_string() });
            }
            if let Some(server) = host.behaviour.server().filter(|server| !servers.contains_key(server)) {
                return Err(BadDescription::UnknownServer { host: host.address, server: server.to_owned() });
            }
            self.check_host(host)?;
        }
        let mut names = BTreeSet::new();
        for name in &self.names {
            if !names.insert(name.name.to_ascii_lowercase()) {
                return Err(BadDescription::Twice { what: "name", which: name.name.clone() });
            }
        }
        Ok(())
    }

    fn check_settings(&self) -> Result<(), BadDescription> {
        let settings = &self.settings;
        let bad = |what, found: String, expected| Err(BadDescription::Setting { what, found, expected });
        if !MTUS.contains(&settings.mtu) {
            return bad("mtu", settings.mtu.to_string(), "1280 to 9000 bytes");
        }
        if !(1..=MOST_FLOWS).contains(&settings.most_flows) {
            return bad("most_flows", settings.most_flows.to_string(), "1 to 4194304");
        }
        if settings.flow_lifetime == Duration::ZERO || settings.flow_lifetime > LONGEST {
            return bad("flow_lifetime", settings.flow_lifetime.to_string(), "more than 0, at most 3600 s");
        }
        if settings.resolver.is_some_and(|resolver| !resolver.ip().is_loopback()) {
            return bad("resolver", format!("{:?}", settings.resolver), "an address of the loopback");
        }
        Ok(())
    }

    fn check_groups(&self) -> Result<(), BadDescription> {
        let own: [IpAddr; 4] = [
            IpAddr::from([127, 0, 0, 1]),
            std::net::Ipv6Addr::LOCALHOST.into(),
            self.settings.client_v4.into(),
            self.settings.client_v6.into(),
        ];
        for group in &self.groups {
            for prefix in &group.prefixes {
                if let Some(address) = own.iter().find(|address| prefix.contains(*address)) {
                    return Err(BadDescription::Prefix {
                        group: group.name.clone(),
                        prefix: prefix.to_string(),
                        address: *address,
                    });
                }
            }
        }
        Ok(())
    }

    fn check_host(&self, host: &Host) -> Result<(), BadDescription> {
        let mut addresses = vec![host.address];
        let mut spans = vec![("rtt", host.rtt)];
        spans.extend(longest_of(host.jitter).map(|span| ("jitter", span)));
        let bad =
            |what, found: String, expected| Err(BadDescription::Value { host: host.address, what, found, expected });
        match &host.behaviour {
            Behaviour::FromAnotherAddress { address, .. } => {
                if address.is_ipv4() != host.address.is_ipv4() || *address == host.address {
                    return bad("address", address.to_string(), "another one of the same family");
                }
                addresses.push(*address);
            }
            Behaviour::IcmpAboutOthers { others, quoted, .. } => {
                if let Some(other) = others.iter().find(|other| other.is_ipv4() != host.address.is_ipv4()) {
                    return bad("others", other.to_string(), "addresses of the same family");
                }
                if *quoted < UDP_HEADER_BYTES {
                    return bad("quoted", format!("{quoted} bytes"), "at least 8 bytes");
                }
            }
            Behaviour::LateCertificate { delay, .. } => spans.extend(longest_of(*delay).map(|span| ("delay", span))),
            Behaviour::Trickle { gap, .. } => spans.push(("gap", *gap)),
            Behaviour::Flood { interval, lasting } => {
                if *interval == Duration::ZERO {
                    return bad("interval", interval.to_string(), "more than 0");
                }
                spans.extend([("interval", *interval), ("lasting", *lasting)]);
            }
            Behaviour::CloseAtOnce { code, .. } if *code > GREATEST_INTEGER => {
                return bad("code", code.to_string(), "less than 2^62");
            }
            Behaviour::CloseAtOnce { reason, .. } if reason.len() > MOST_REASON_BYTES => {
                return bad("reason", format!("{} bytes", reason.len()), "at most 1000 bytes");
            }
            Behaviour::VersionNegotiation { versions, .. } if versions.len() > MOST_VERSIONS => {
                return bad("versions", format!("{} of them", versions.len()), "at most 250");
            }
            _ => {}
        }
        let certificate_delay = match host.behaviour {
            Behaviour::LateCertificate { delay, .. } => delay,
            _ => Delay::None,
        };
        for delay in [host.jitter, certificate_delay] {
            if let Delay::LogNormal { sigma, .. } = delay
                && !(0.0..=GREATEST_SIGMA).contains(&sigma)
            {
                return bad("sigma", sigma.to_string(), "0 to 3");
            }
        }
        if let Some((what, span)) = spans.into_iter().find(|(_, span)| *span > LONGEST) {
            return bad(what, span.to_string(), "at most 3600 s");
        }
        match addresses.into_iter().find(|address| self.group_of(*address).is_none()) {
            Some(address) => Err(BadDescription::NoGroup { host: host.address, address }),
            None => Ok(()),
        }
    }
}

/// What of a delay must be in range.
fn longest_of(delay: Delay) -> Option<Duration> {
    match delay {
        Delay::None => None,
        Delay::Constant(span) | Delay::Uniform(span) | Delay::Exponential(span) => Some(span),
        Delay::LogNormal { median, .. } => Some(median),
    }
}

fn is_on_loopback(address: SocketAddr) -> bool {
    match address {
        // 127.64.0.0/10 stands for clients.
        SocketAddr::V4(address) => address.ip().is_loopback() && address.ip().octets()[1] & 0xc0 != 64,
        SocketAddr::V6(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{Group, Name, Resolution, Server, Unreachable};

    fn with(change: impl FnOnce(&mut Description)) -> Result<(), String> {
        let behaviour = Behaviour::Serve { server: "one".to_owned() };
        let mut description = Description {
            groups: vec![Group {
                name: "near".to_owned(),
                origin_as: 64500,
                prefixes: vec!["100.64.0.0/16".parse().unwrap(), "2001:db8::/32".parse().unwrap()],
            }],
            servers: vec![Server {
                name: "one".to_owned(),
                address: "127.0.0.1:4433".parse().unwrap(),
                instant_ack: None,
            }],
            hosts: vec![Host::new([100, 64, 0, 1].into(), Duration::from_millis(10), behaviour)],
            names: vec![Name { name: "One.example".to_owned(), resolution: Resolution::ServerFailure }],
            ..Description::default()
        };
        change(&mut description);
        description.check().map_err(|error| error.to_string())
    }

    fn behaving(behaviour: Behaviour) -> Result<(), String> {
        with(|description| description.hosts[0].behaviour = behaviour)
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        assert_eq!(with(|_| ()), Ok(()));
        let refused = [
            with(|one| one.servers[0].address = "127.64.0.1:1".parse().unwrap()),
            with(|one| one.servers[0].address = "192.0.2.1:1".parse().unwrap()),
            with(|one| one.servers[0].address = "[::1]:1".parse().unwrap()),
            with(|one| one.servers[0].name = "two".to_owned()),
            with(|one| one.servers.push(one.servers[0].clone())),
            with(|one| one.hosts.push(one.hosts[0].clone())),
            with(|one| one.hosts[0].address = [100, 65, 0, 1].into()),
            with(|one| one.names.push(Name { name: "one.EXAMPLE".to_owned(), ..one.names[0].clone() })),
            with(|one| one.groups[0].prefixes.push("0.0.0.0/0".parse().unwrap())),
            with(|one| one.groups[0].prefixes.push("198.18.0.0/15".parse().unwrap())),
            with(|one| one.settings.mtu = 1279),
            with(|one| one.settings.most_flows = 0),
            with(|one| one.settings.flow_lifetime = Duration::ZERO),
            with(|one| one.settings.resolver = Some("192.0.2.1:53".parse().unwrap())),
        ];
        for (number, result) in refused.into_iter().enumerate() {
            assert!(result.is_err(), "{number}");
        }
    }

    #[test]
    fn limits_are_just_outside_of_what_is_allowed() {
        let reason = |bytes: usize| Behaviour::CloseAtOnce { code: 1, reason: "x".repeat(bytes) };
        let code = |code| Behaviour::CloseAtOnce { code, reason: String::new() };
        let versions = |count| Behaviour::VersionNegotiation { versions: vec![2; count], server: None };
        let flood = |nanos| Behaviour::Flood { interval: Duration::from_nanos(nanos), lasting: LONGEST };
        let late = |sigma| Behaviour::LateCertificate {
            server: "one".to_owned(),
            delay: Delay::LogNormal { median: LONGEST, sigma },
            keeps_first: true,
        };
        let about = |other: [u8; 4], quoted| {
            let others = vec![[100, 64, 0, 9].into(), other.into()];
            Behaviour::IcmpAboutOthers { why: Unreachable::Port, others, quoted }
        };
        let of_v6 = Behaviour::IcmpAboutOthers {
            why: Unreachable::Port,
            others: vec![std::net::Ipv6Addr::LOCALHOST.into()],
            quoted: 8,
        };
        for (inside, outside) in [
            (about([100, 64, 0, 1], 8), about([100, 64, 0, 1], 7)),
            (about([192, 0, 2, 1], 8), of_v6),
            (reason(1000), reason(1001)),
            (code((1 << 62) - 1), code(1 << 62)),
            (versions(250), versions(251)),
            (flood(1), flood(0)),
            (late(3.0), late(3.1)),
            (late(0.0), late(f64::NAN)),
        ] {
            assert_eq!(behaving(inside.clone()), Ok(()), "{inside:?}");
            assert!(behaving(outside.clone()).is_err(), "{outside:?}");
        }
        for (nanos, is_allowed) in [(LONGEST.as_nanos(), true), (LONGEST.as_nanos() + 1, false)] {
            let span = Duration::from_nanos(nanos);
            assert_eq!(with(|one| one.hosts[0].rtt = span).is_ok(), is_allowed);
            assert_eq!(with(|one| one.hosts[0].jitter = Delay::Uniform(span)).is_ok(), is_allowed);
        }
        let from = |address: &str| {
            let server = "one".to_owned();
            behaving(Behaviour::FromAnotherAddress { server, address: address.parse().unwrap() })
        };
        assert_eq!(from("100.64.0.2"), Ok(()));
        for address in ["100.64.0.1", "2001:db8::1", "192.0.2.1"] {
            assert!(from(address).is_err(), "{address}");
        }
    }
}
