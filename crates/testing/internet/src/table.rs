//! Which host has an address.

use std::{
    collections::{BTreeMap, HashMap},
    net::{IpAddr, SocketAddr, SocketAddrV4},
};

use rand_chacha::{ChaCha8Rng, rand_core::Rng};
use rand_distr::{Distribution, Exp1, StandardNormal};

use crate::description::{Delay, Description, Host};

/// All hosts. One that never answers costs its entry.
#[derive(Debug)]
pub(crate) struct Table {
    hosts: Vec<Host>,
    servers: Vec<Option<SocketAddrV4>>,
    by_address: HashMap<IpAddr, u32>,
}

impl Table {
    /// Makes the table of a description that was checked.
    pub(crate) fn new(description: &Description) -> Self {
        let servers: BTreeMap<_, _> = description.servers.iter().map(|one| (one.name.as_str(), one.address)).collect();
        let server_of = |host: &Host| match servers.get(host.behaviour.server()?)? {
            SocketAddr::V4(address) => Some(*address),
            SocketAddr::V6(_) => None,
        };
        Self {
            servers: description.hosts.iter().map(server_of).collect(),
            by_address: description.hosts.iter().map(|host| host.address).zip(0..).collect(),
            hosts: description.hosts.clone(),
        }
    }

    /// Number of the host at an address.
    pub(crate) fn find(&self, address: IpAddr) -> Option<u32> {
        self.by_address.get(&address).copied()
    }

    pub(crate) fn host(&self, number: u32) -> &Host {
        &self.hosts[number as usize]
    }

    /// Where the real server of a host listens.
    pub(crate) fn server(&self, number: u32) -> Option<SocketAddrV4> {
        self.servers[number as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.hosts.len()
    }
}

/// Nanoseconds that a packet takes to a host, or from it. What is odd of an RTT belongs to the way back.
pub(crate) fn one_way(host: &Host, is_to_host: bool, random: &mut ChaCha8Rng) -> u64 {
    let rtt = host.rtt.as_nanos();
    let half = if is_to_host { rtt / 2 } else { rtt - rtt / 2 };
    half + draw(host.jitter, random)
}

/// Nanoseconds of a delay.
pub(crate) fn draw(delay: Delay, random: &mut ChaCha8Rng) -> u64 {
    match delay {
        Delay::None => 0,
        Delay::Constant(span) => span.as_nanos(),
        Delay::Uniform(most) => {
            // A product of 128 bits, of which the upper half is uniform: no remainder prefers small numbers.
            ((u128::from(random.next_u64()) * (u128::from(most.as_nanos()) + 1)) >> 64) as u64
        }
        Delay::Exponential(mean) => {
            let times: f64 = Exp1.sample(random);
            (times * mean.as_nanos() as f64) as u64
        }
        Delay::LogNormal { median, sigma } => {
            let deviations: f64 = StandardNormal.sample(random);
            (median.as_nanos() as f64 * (sigma * deviations).exp()) as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use quiclab_units::Duration;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;
    use crate::description::Behaviour;

    fn mean(of: Delay) -> f64 {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        (0..20_000).map(|_| draw(of, &mut random) as f64).sum::<f64>() / 20_000.0
    }

    #[test]
    fn both_halves_of_an_odd_rtt_are_the_whole() {
        let host = Host::new([100, 64, 0, 1].into(), Duration::from_nanos(7), Behaviour::Silent);
        let mut random = ChaCha8Rng::seed_from_u64(7);
        assert_eq!([true, false].map(|is_to_host| one_way(&host, is_to_host, &mut random)), [3, 4]);
    }

    #[test]
    fn jitter_has_its_mean_and_its_most() {
        let span = Duration::from_micros(100);
        assert_eq!(draw(Delay::None, &mut ChaCha8Rng::seed_from_u64(7)), 0);
        // Standard errors: 28.9 us and 100 us by the root of 20000.
        assert!((mean(Delay::Uniform(span)) - 50_000.0).abs() < 5.0 * 204.0);
        assert!((mean(Delay::Exponential(span)) - 100_000.0).abs() < 5.0 * 707.0);
        assert_eq!(draw(Delay::Constant(span), &mut ChaCha8Rng::seed_from_u64(7)), 100_000);
        // Of a log-normal distribution: the median times e to half the variance. Its standard deviation is 60.4 us.
        let expected = 100_000.0 * 0.125_f64.exp();
        assert!((mean(Delay::LogNormal { median: span, sigma: 0.5 }) - expected).abs() < 5.0 * 427.0);
        let mut random = ChaCha8Rng::seed_from_u64(7);
        assert!((0..20_000).all(|_| draw(Delay::Uniform(span), &mut random) <= 100_000));
    }
}
