//! What a scan would send, before it sends anything.

use std::{
    collections::{BTreeMap, HashMap},
    hash::BuildHasherDefault,
    net::IpAddr,
};

use ipnet::IpNet;
use quiclab_units::Duration;
use serde::Serialize;

use crate::targets::{
    exclusions::network,
    pace::Frequency,
    seen::{AsItIs, hash},
};

/// What one connection takes at most, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Packets to the server, with those that are sent again.
    pub packets_sent: u64,
    /// Bytes of UDP payload to the server.
    pub bytes_sent: u64,
    /// Packets that the server may send.
    pub packets_received: u64,
    /// Bytes of UDP payload that the server may send.
    pub bytes_received: u64,
}

/// Counts targets; 20 bytes of memory for each address, and 60 for each network.
#[derive(Clone, Debug)]
pub struct Plan {
    cost: Cost,
    targets: u64,
    unresolved: u64,
    excluded: u64,
    connections: u64,
    by_address: HashMap<u64, u32, BuildHasherDefault<AsItIs>>,
    most_of_an_address: u32,
    by_network: BTreeMap<IpNet, (u64, u64)>,
}

/// What a scan takes at most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Targets of the list, without duplicates.
    pub targets: u64,
    /// Targets whose names have no address yet; they are in no other number.
    pub unresolved: u64,
    /// Targets that are not asked.
    pub excluded: u64,
    /// Different addresses.
    pub addresses: u64,
    /// Connections: one for each target and address of it.
    pub connections: u64,
    /// All connections together.
    pub cost: Cost,
    /// The least time it takes, in nanoseconds: by the rate, and by the address with the most connections at one a second.
    pub duration_ns: u64,
    /// How many networks there are, of 256 addresses (/24), or of IPv6 (/48).
    pub networks: u64,
    /// Networks with the most connections, at most as many as were wanted.
    pub busiest: Vec<PrefixLoad>,
}

/// What one network gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrefixLoad {
    /// The /24 or /48, in text form.
    pub prefix: String,
    /// Different addresses in it.
    pub addresses: u64,
    /// Connections to it.
    pub connections: u64,
    /// All of them together.
    pub cost: Cost,
}

impl Cost {
    /// Multiplies the cost of one by the number of connections. Saturates.
    pub fn times(self, connections: u64) -> Self {
        Self {
            packets_sent: self.packets_sent.saturating_mul(connections),
            bytes_sent: self.bytes_sent.saturating_mul(connections),
            packets_received: self.packets_received.saturating_mul(connections),
            bytes_received: self.bytes_received.saturating_mul(connections),
        }
    }
}

impl Plan {
    /// A plan of nothing. `cost`: of one connection.
    pub fn new(cost: Cost) -> Self {
        let (by_address, by_network) = Default::default();
        let (targets, unresolved, excluded, connections, most_of_an_address) = Default::default();
        Self { cost, targets, unresolved, excluded, connections, by_address, most_of_an_address, by_network }
    }

    /// Adds a target and the addresses that are asked for it; none: its name is not resolved.
    pub fn add(&mut self, addresses: &[IpAddr]) {
        self.targets += 1;
        self.unresolved += u64::from(addresses.is_empty());
        for address in addresses {
            self.connections += 1;
            let of_address = self.by_address.entry(hash(address)).or_default();
            let of_network = self.by_network.entry(network(*address)).or_default();
            of_network.0 += u64::from(*of_address == 0);
            of_network.1 += 1;
            *of_address = of_address.saturating_add(1);
            self.most_of_an_address = self.most_of_an_address.max(*of_address);
        }
    }

    /// Adds a target that is not asked.
    pub fn add_excluded(&mut self) {
        self.targets += 1;
        self.excluded += 1;
    }

    /// What all of it takes at a frequency, with the networks that have the most.
    pub fn summary(&self, frequency: Frequency, most_networks: usize) -> Summary {
        let by_rate = frequency.time_of(self.connections.saturating_sub(1));
        let by_address = Duration::from_secs(u64::from(self.most_of_an_address.saturating_sub(1)));
        let mut networks: Vec<_> = self.by_network.iter().collect();
        networks.sort_by_key(|(prefix, (_, connections))| (std::cmp::Reverse(*connections), **prefix));
        let load = |(prefix, (addresses, connections)): (&IpNet, &(u64, u64))| PrefixLoad {
            prefix: prefix.to_string(),
            addresses: *addresses,
            connections: *connections,
            cost: self.cost.times(*connections),
        };
        Summary {
            targets: self.targets,
            unresolved: self.unresolved,
            excluded: self.excluded,
            addresses: self.by_address.len() as u64,
            connections: self.connections,
            cost: self.cost.times(self.connections),
            duration_ns: by_rate.as_nanos().max(by_address.as_nanos()),
            networks: self.by_network.len() as u64,
            busiest: networks.into_iter().take(most_networks).map(load).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: Cost = Cost { packets_sent: 4, bytes_sent: 4800, packets_received: 10, bytes_received: 14_400 };

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_plan_says_how_much_goes_to_whom() {
        let mut plan = Plan::new(COST);
        plan.add(&addresses(&["10.0.1.1", "2001:7f8:1::1"]));
        plan.add(&addresses(&["10.0.1.1"]));
        plan.add(&addresses(&["10.0.1.2"]));
        plan.add(&addresses(&["10.0.2.1"]));
        plan.add(&addresses(&["2001:7f8:1:ff::2"]));
        plan.add(&[]);
        plan.add_excluded();
        let summary = plan.summary(Frequency::per_second(10).unwrap(), 2);
        assert_eq!((summary.targets, summary.unresolved, summary.excluded), (7, 1, 1));
        assert_eq!((summary.connections, summary.addresses, summary.networks), (6, 5, 3));
        assert_eq!((summary.cost.packets_sent, summary.cost.bytes_received), (24, 86_400));
        // The two to one address are a second apart; by the rate the sixth would start after half of one.
        assert_eq!(summary.duration_ns, 1_000_000_000);
        let busiest: Vec<_> =
            summary.busiest.iter().map(|load| (&*load.prefix, load.addresses, load.connections)).collect();
        assert_eq!(busiest, [("10.0.1.0/24", 2, 3), ("2001:7f8:1::/48", 2, 2)]);
        assert_eq!(summary.busiest[0].cost.bytes_sent, 14_400);
    }

    #[test]
    fn the_time_of_a_plan_is_that_of_a_pace() {
        use crate::targets::{Pace, Waiting};
        use quiclab_units::Time;

        let frequency = "7".parse().unwrap();
        let (mut plan, mut waiting) = (Plan::new(COST), Waiting::new(1000));
        for number in 0..200_u32 {
            // The second half has one address, which takes a second each: the first half fits between.
            let address = IpAddr::V4(std::net::Ipv4Addr::from_bits(0x0a00_0000 + number.min(100)));
            plan.add(&[address]);
            waiting.push(address, ()).unwrap();
        }
        let mut now = Time::from_nanos(0);
        let mut pace = Pace::new(frequency, 1, now);
        loop {
            match waiting.poll(&mut pace, now) {
                Ok(_) => {}
                Err(Some(at)) => now = at,
                Err(None) => break,
            }
        }
        let planned = plan.summary(frequency, 0).duration_ns;
        assert!((planned..=planned + planned / 50).contains(&now.as_nanos()), "{planned} ns planned, took {now:?}");
    }

    #[test]
    fn an_empty_plan_takes_no_time() {
        let summary = Plan::new(COST).summary(Frequency::DEFAULT, 10);
        assert!(summary.duration_ns == 0 && summary.busiest.is_empty() && summary.cost.bytes_sent == 0);
    }
}
