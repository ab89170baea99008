//! What an ICMP error about a datagram means for a handshake, and whether to believe it.
//!
//! Anybody who has seen one datagram of a scan knows the port that it comes from, and can send errors about addresses that other datagrams
//! go to. Who quotes the connection ID of a datagram has seen that datagram: a router on its way, or the server.

use std::net::{IpAddr, SocketAddr};

use crate::answer::Outcome;
use crate::handshake::LONG_HEADER;

/// Bytes of a long header up to the end of the longest destination connection ID, RFC 9000 section 17.2.
pub const QUOTE_BYTES: usize = BEFORE_ID + LONGEST_ID;
/// First byte, version, length of the connection ID.
const BEFORE_ID: usize = 6;
const LONGEST_ID: usize = 20;

/// The beginning of the UDP payload that an ICMP error quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    bytes: [u8; QUOTE_BYTES],
    length: usize,
}

impl Quote {
    /// Makes a quote of a payload, which may be longer.
    pub fn new(payload: &[u8]) -> Self {
        let length = payload.len().min(QUOTE_BYTES);
        let mut bytes = [0; QUOTE_BYTES];
        bytes[..length].copy_from_slice(&payload[..length]);
        Quote { bytes, length }
    }

    /// The bytes that it has.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// What the datagrams of a handshake have in common until the server has answered: version, length and bytes of the connection ID, which is
/// random. Without the first byte, which header protection changes.
#[derive(Debug, PartialEq, Eq)]
pub struct Mark(Box<[u8]>);

/// What a quote says of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It has seen a datagram of the handshake.
    Seen,
    /// Nothing: the quote ends before the end of the connection ID, as where a router quotes eight bytes behind the IP header (RFC 792).
    Short,
    /// It quotes something else.
    Other,
}

impl Mark {
    /// Makes the mark of the first datagram. `None`: it has no long header.
    pub fn new(datagram: &[u8]) -> Option<Self> {
        let id_bytes = usize::from(*datagram.get(BEFORE_ID - 1)?);
        let is_long = datagram[0] & LONG_HEADER != 0 && id_bytes <= LONGEST_ID;
        let mark = datagram.get(1..BEFORE_ID + id_bytes).filter(|_| is_long)?;
        Some(Mark(mark.into()))
    }

    /// Compares it with a quote.
    pub fn proof(&self, quote: &Quote) -> Proof {
        let Some((first, rest)) = quote.bytes().split_first() else { return Proof::Short };
        match rest {
            _ if first & LONG_HEADER == 0 => Proof::Other,
            _ if rest.starts_with(&self.0) => Proof::Seen,
            _ if self.0.starts_with(rest) => Proof::Short,
            _ => Proof::Other,
        }
    }
}

/// An error that a router or the server's host sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpError {
    /// Where the datagram was going to.
    pub destination: SocketAddr,
    /// Type of the message: of ICMPv4 or ICMPv6, as the destination is.
    pub kind: u8,
    /// Code of the message, within its type.
    pub code: u8,
    /// Largest size that fits, in bytes, for datagrams that are too big.
    pub information: u32,
    /// Who sent the message, as far as its source address is genuine.
    pub sender: Option<IpAddr>,
    /// What it quotes of the datagram.
    pub quote: Quote,
}

impl IcmpError {
    /// The end of a handshake that had no answer. `None`: it may yet have one.
    pub fn outcome(&self) -> Option<Outcome> {
        if self.destination.is_ipv4() { self.outcome_v4() } else { self.outcome_v6() }
    }

    /// Types and codes of RFC 792, and of RFC 1812 section 5.2.7.1.
    fn outcome_v4(&self) -> Option<Outcome> {
        match (self.kind, self.code) {
            (3, 3) => Some(Outcome::Refused),
            (3, 9 | 10 | 13) => Some(Outcome::Prohibited),
            // Fragmentation needed.
            (3, 4) => None,
            (3 | 11 | 12, _) => Some(Outcome::Unreachable),
            _ => None,
        }
    }

    /// Types and codes of RFC 4443: 1 is administratively prohibited, 5 a failed policy for sources, 6 a route that rejects.
    fn outcome_v6(&self) -> Option<Outcome> {
        match (self.kind, self.code) {
            (1, 4) => Some(Outcome::Refused),
            (1, 1 | 5 | 6) => Some(Outcome::Prohibited),
            (1 | 3 | 4, _) => Some(Outcome::Unreachable),
            _ => None,
        }
    }

    /// Describes the error for people.
    pub fn describe(&self) -> String {
        let family = if self.destination.is_ipv4() { "ICMP" } else { "ICMPv6" };
        let from = self.sender.map_or(String::new(), |sender| format!(" from {sender}"));
        let is_too_big = matches!((self.destination.is_ipv4(), self.kind, self.code), (true, 3, 4) | (false, 2, _));
        if is_too_big {
            return format!("{family}{from}: datagram too big, the path takes {} bytes", self.information);
        }
        format!("{family} type {} code {}{from}", self.kind, self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(destination: &str, kind: u8, code: u8) -> IcmpError {
        let destination = destination.parse().expect("an address");
        let sender = "2001:db8::9".parse().ok();
        IcmpError { destination, kind, code, information: 1280, sender, quote: Quote::new(&[]) }
    }

    #[test]
    fn codes_of_both_families_mean_the_same() {
        let cases = [
            (Some(Outcome::Refused), (3, 3), (1, 4)),
            (Some(Outcome::Prohibited), (3, 13), (1, 1)),
            (Some(Outcome::Prohibited), (3, 10), (1, 6)),
            (Some(Outcome::Unreachable), (3, 1), (1, 3)),
            (Some(Outcome::Unreachable), (11, 0), (3, 0)),
            (None, (3, 4), (2, 0)),
        ];
        for (outcome, v4, v6) in cases {
            assert_eq!(of("192.0.2.1:443", v4.0, v4.1).outcome(), outcome, "{v4:?}");
            assert_eq!(of("[2001:db8::1]:443", v6.0, v6.1).outcome(), outcome, "{v6:?}");
        }
    }

    #[test]
    fn a_datagram_that_is_too_big_tells_how_much_fits() {
        let described = of("[2001:db8::1]:443", 2, 0).describe();
        assert_eq!(described, "ICMPv6 from 2001:db8::9: datagram too big, the path takes 1280 bytes");
    }

    #[test]
    fn a_quote_proves_that_a_datagram_was_seen_only_with_all_of_its_connection_id() {
        for id_bytes in [8, 20] {
            let mut datagram = [&[0xc3, 0, 0, 0, 1, id_bytes][..], &[7; 20], &[0; 100]].concat();
            let whole = BEFORE_ID + usize::from(id_bytes);
            let mark = Mark::new(&datagram).expect("a long header");
            for length in 0..datagram.len() {
                let expected = if length < whole { Proof::Short } else { Proof::Seen };
                assert_eq!(mark.proof(&Quote::new(&datagram[..length])), expected, "{length} of {id_bytes}");
            }
            // The bits that header protection changes.
            datagram[0] = 0xcf;
            assert_eq!(mark.proof(&Quote::new(&datagram)), Proof::Seen);
            for place in 1..whole {
                datagram[place] ^= 1;
                assert_eq!(mark.proof(&Quote::new(&datagram)), Proof::Other, "{place} of {id_bytes}");
                datagram[place] ^= 1;
            }
            datagram[0] = 0x43;
            assert_eq!(mark.proof(&Quote::new(&datagram)), Proof::Other, "a short header");
        }
    }

    #[test]
    fn what_has_no_long_header_has_no_mark() {
        let long = [&[0xc0, 0, 0, 0, 1, 20][..], &[1; 20]].concat();
        assert!(Mark::new(&long).is_some());
        assert_eq!(Mark::new(&long[..25]), None);
        assert_eq!(Mark::new(&[&[0x40][..], &long[1..]].concat()), None);
        assert_eq!(Mark::new(&[&[0xc0, 0, 0, 0, 1, 21][..], &[1; 40]].concat()), None);
        assert_eq!(Mark::new(&[]), None);
    }
}
