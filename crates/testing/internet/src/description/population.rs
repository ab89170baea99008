//! Many hosts at once.

use std::{collections::BTreeSet, net::IpAddr, ops::Range};

use ipnet::IpNet;
use quiclab_units::Duration;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use super::{BadDescription, Behaviour, Delay, Description, Host, Name, Resolution};
use crate::table::draw;

/// Hosts of one kind in one group.
#[derive(Clone, Debug, PartialEq)]
pub struct Population {
    /// Name of their group.
    pub group: String,
    /// How many.
    pub count: usize,
    /// RTT of the nearest.
    pub least_rtt: Duration,
    /// How much longer those of the others are, drawn for each from the description's seed: distances. It is the same in all packets.
    pub distance: Delay,
    /// Added to each packet.
    pub jitter: Delay,
    /// What they do.
    pub behaviour: Behaviour,
    /// Whether they have IPv6 addresses.
    pub is_ipv6: bool,
    /// Names are this, the number of the host in the description, and `.example`; `None`: they have none.
    pub name: Option<String>,
}

impl Description {
    /// Adds hosts at the first free addresses of a group, and their names. Answers their numbers among all hosts. The same calls give the
    /// same hosts.
    ///
    /// # Errors
    /// Where there is no such group, or it has not so many free addresses.
    pub fn populate(&mut self, population: &Population) -> Result<Range<usize>, BadDescription> {
        let first = self.hosts.len();
        let addresses = self.free_addresses(population)?;
        // A stream of its own for each population, so that a change of one moves no host of another.
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(first as u64 + 1);
        for (number, address) in (first..).zip(addresses) {
            let distance = draw(population.distance, &mut random);
            let rtt = population.least_rtt + Duration::from_nanos(distance);
            let behaviour = population.behaviour.clone();
            self.hosts.push(Host { jitter: population.jitter, ..Host::new(address, rtt, behaviour) });
            if let Some(name) = &population.name {
                self.names.push(Name {
                    name: format!("{name}{number}.example"),
                    resolution: Resolution::Addresses { addresses: vec![address], has_https_record: false },
                });
            }
        }
        Ok(first..self.hosts.len())
    }

    fn free_addresses(&self, population: &Population) -> Result<Vec<IpAddr>, BadDescription> {
        let group = self.groups.iter().find(|group| group.name == population.group);
        let taken: BTreeSet<_> = self.hosts.iter().map(|host| host.address).collect();
        let prefixes = group.iter().flat_map(|group| &group.prefixes);
        let free = prefixes
            .filter(|prefix| prefix.addr().is_ipv6() == population.is_ipv6)
            .flat_map(addresses_of)
            .filter(|address| !taken.contains(address));
        let found: Vec<_> = free.take(population.count).collect();
        match found.len() == population.count {
            true => Ok(found),
            false => Err(BadDescription::NoRoom {
                group: population.group.clone(),
                free: found.len(),
                wanted: population.count,
            }),
        }
    }
}

/// Addresses of a prefix, in the order of numbers. The first and the last of IPv4, which people take for those of a network, are
/// left out, and so is the first of IPv6.
fn addresses_of(prefix: &IpNet) -> Box<dyn Iterator<Item = IpAddr>> {
    match prefix {
        IpNet::V4(prefix) => Box::new(prefix.hosts().map(IpAddr::V4)),
        IpNet::V6(prefix) => Box::new(prefix.hosts().skip(1).map(IpAddr::V6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::Group;

    fn description() -> Description {
        Description {
            seed: 5,
            groups: vec![Group {
                name: "near".to_owned(),
                origin_as: 64500,
                prefixes: ["100.64.0.0/29", "2001:db8::/64", "100.65.0.0/24"].map(|one| one.parse().unwrap()).into(),
            }],
            ..Description::default()
        }
    }

    fn population(count: usize) -> Population {
        Population {
            group: "near".to_owned(),
            count,
            least_rtt: Duration::from_millis(5),
            distance: Delay::Uniform(Duration::from_millis(20)),
            jitter: Delay::None,
            behaviour: Behaviour::Silent,
            is_ipv6: false,
            name: Some("host".to_owned()),
        }
    }

    #[test]
    fn hosts_have_free_addresses_names_and_distances() {
        let mut one = description();
        assert_eq!(one.populate(&population(4)), Ok(0..4));
        assert_eq!(one.populate(&Population { is_ipv6: true, name: None, ..population(2) }), Ok(4..6));
        assert_eq!(one.populate(&population(4)), Ok(6..10));
        let addresses: Vec<_> = one.hosts.iter().map(|host| host.address.to_string()).collect();
        let expected =
            ["100.64.0.1", "100.64.0.2", "100.64.0.3", "100.64.0.4", "2001:db8::1", "2001:db8::2", "100.64.0.5"];
        assert_eq!(addresses[..7], expected);
        assert_eq!(addresses[7..], ["100.64.0.6", "100.65.0.1", "100.65.0.2"]);
        let names: Vec<_> = one.names.iter().map(|name| name.name.as_str()).collect();
        assert_eq!((names.len(), names[0], names[4]), (8, "host0.example", "host6.example"));
        assert!(one.hosts.iter().all(|host| (5..=25).contains(&(host.rtt.as_nanos() / 1_000_000))));
        assert_ne!(one.hosts[0].rtt, one.hosts[1].rtt);
        assert_eq!(one.check(), Ok(()));
        let mut again = description();
        again.populate(&population(4)).unwrap();
        assert_eq!(again.hosts, one.hosts[..4]);
    }

    #[test]
    fn a_group_that_is_full_is_told() {
        let mut one = description();
        assert_eq!(one.populate(&population(260)), Ok(0..260));
        let error = one.populate(&population(1)).unwrap_err().to_string();
        assert_eq!(error, "group \"near\": found 0 free addresses, expected 1");
        let elsewhere = Population { group: "far".to_owned(), ..population(1) };
        assert!(description().populate(&elsewhere).is_err());
    }
}
