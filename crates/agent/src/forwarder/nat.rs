//! The addresses and ports that the server sees of a client behind an address translator.
//!
//! The stage `rebind` says by which binding a packet travels; which address and port that is, is decided here, from the run's seed.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
};

use anyhow::{Result, ensure};
use quiclab_path::{
    random::Random,
    spec::{StageSettings, StageSpec},
};

/// Most ports that are given out: they are drawn at random, and most draws must find a free one.
const MOST_BINDINGS: usize = 60_000;
/// Last bytes of addresses: neither a network's nor a broadcast address.
const LAST_BYTES: std::ops::RangeInclusive<u8> = 1..=254;

/// A translator. Binding 0 is the client's own address and port.
#[derive(Debug)]
pub struct Nat {
    seed: u64,
    changes_address: bool,
    last_bytes: Random,
    /// Last byte of the address of each binding from 1.
    drawn: Vec<u8>,
    given: BTreeMap<(SocketAddr, u32), SocketAddr>,
    /// Whose each one is, and of which binding.
    owners: BTreeMap<SocketAddr, (SocketAddr, u32)>,
}

impl Nat {
    /// Makes the translator for the stages towards the server; `None` where none of them translates.
    pub fn of(stages: &[StageSpec], seed: u64) -> Option<Self> {
        let changes_address = stages.iter().find_map(|stage| match &stage.settings {
            StageSettings::Rebind(settings) => Some(settings.address),
            _ => None,
        })?;
        Some(Self {
            seed,
            changes_address,
            last_bytes: Random::new(seed, "rebind addresses"),
            drawn: Vec::new(),
            given: BTreeMap::new(),
            owners: BTreeMap::new(),
        })
    }

    /// The binding to which a packet of the server is addressed.
    pub fn binding_of(&self, destination: SocketAddr) -> u32 {
        self.owners.get(&destination).map_or(0, |(_, binding)| *binding)
    }

    /// Whom a packet of the server is for.
    pub fn owner_of(&self, destination: SocketAddr) -> SocketAddr {
        self.owners.get(&destination).map_or(destination, |(owner, _)| *owner)
    }

    /// Address and port with which the client's packet from `source` leaves.
    ///
    /// # Errors
    /// Where there are no ports left.
    pub fn outward(&mut self, source: SocketAddr, binding: u32) -> Result<SocketAddr> {
        if let Some(given) = self.given.get(&(source, binding)) {
            return Ok(*given);
        }
        ensure!(
            self.owners.len() < MOST_BINDINGS,
            "the stage rebind has given out {MOST_BINDINGS} ports\nhint: a longer time between changes"
        );
        let given = if binding == 0 { source } else { self.draw(source, binding) };
        self.given.insert((source, binding), given);
        self.owners.insert(given, (source, binding));
        Ok(given)
    }

    fn draw(&mut self, source: SocketAddr, binding: u32) -> SocketAddr {
        let address = if self.changes_address { self.address(source.ip(), binding) } else { source.ip() };
        let mut ports = Random::new(self.seed, &format!("rebind port {source} {binding}"));
        loop {
            let port = 1 + ports.up_to(u64::from(u16::MAX) - 1) as u16;
            let given = SocketAddr::new(address, port);
            if !self.owners.contains_key(&given) && port != source.port() {
                return given;
            }
        }
    }

    /// The client's address with another last byte, neither its own nor that of the binding before.
    fn address(&mut self, own: IpAddr, binding: u32) -> IpAddr {
        let last_of = |address: IpAddr| match address {
            IpAddr::V4(address) => address.octets()[3],
            IpAddr::V6(address) => address.octets()[15],
        };
        while self.drawn.len() < binding as usize {
            let span = u64::from(LAST_BYTES.end() - LAST_BYTES.start());
            let byte = LAST_BYTES.start() + self.last_bytes.up_to(span) as u8;
            if self.drawn.last() != Some(&byte) && byte != last_of(own) {
                self.drawn.push(byte);
            }
        }
        let byte = self.drawn[binding as usize - 1];
        match own {
            IpAddr::V4(address) => {
                let [first, second, third, _] = address.octets();
                [first, second, third, byte].into()
            }
            IpAddr::V6(address) => {
                let mut octets = address.octets();
                octets[15] = byte;
                octets.into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use quiclab_path::scenario::compile;

    use super::*;

    fn nat(options: &str) -> Nat {
        let scenario = format!("rebind --delay=15ms --bandwidth=10Mbps --queue=25 --first-rebind=1s {options}");
        Nat::of(&compile(&scenario).unwrap().to_server, 7).unwrap()
    }

    fn client() -> SocketAddr {
        "193.167.0.100:50000".parse().unwrap()
    }

    #[test]
    fn a_path_without_rebind_has_no_translator() {
        let scenario = compile("simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25").unwrap();
        assert!(Nat::of(&scenario.to_server, 7).is_none());
    }

    #[test]
    fn every_binding_has_its_own_port_and_leads_back_to_the_client() {
        let mut nat = nat("");
        let given: Vec<_> = (0..100).map(|binding| nat.outward(client(), binding).unwrap()).collect();
        assert_eq!(given[0], client());
        for (binding, one) in given.iter().enumerate() {
            assert_eq!(one.ip(), client().ip());
            assert_eq!((nat.owner_of(*one), nat.binding_of(*one)), (client(), binding as u32));
            assert_eq!(given.iter().filter(|other| *other == one).count(), 1, "{one}");
        }
        assert_eq!(nat.outward(client(), 5).unwrap(), given[5]);
        let stranger = "193.167.0.100:1".parse().unwrap();
        assert_eq!((nat.owner_of(stranger), nat.binding_of(stranger)), (stranger, 0));
    }

    #[test]
    fn an_address_changes_its_last_byte_and_is_neither_the_clients_nor_the_one_before() {
        let ipv6: SocketAddr = "[fd00:cafe:cafe::100]:50000".parse().unwrap();
        let mut nat = nat("--rebind-addr");
        let mut before = client().ip();
        for binding in 1..300 {
            let found = nat.outward(client(), binding).unwrap().ip();
            assert!(
                found != before && found != client().ip() && found.to_string().starts_with("193.167.0."),
                "{found}"
            );
            before = found;
            let found = nat.outward(ipv6, binding).unwrap().ip();
            assert!(found != ipv6.ip() && found.to_string().starts_with("fd00:cafe:cafe::1"), "{found}");
        }
    }

    #[test]
    fn ports_follow_from_the_seed() {
        let [mut one, mut same] = [nat(""), nat("")];
        assert_eq!(one.outward(client(), 3).unwrap(), same.outward(client(), 3).unwrap());
        let mut other = Nat { seed: 8, ..nat("") };
        assert_ne!(one.outward(client(), 3).unwrap(), other.outward(client(), 3).unwrap());
    }
}
