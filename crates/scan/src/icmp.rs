//! What an ICMP error about a datagram means for a handshake.

use std::net::SocketAddr;

use crate::answer::Outcome;

/// An error that a router or the server's host sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpError {
    /// Where the datagram was going to.
    pub destination: SocketAddr,
    /// Of ICMPv4 or ICMPv6, as the destination is.
    pub kind: u8,
    /// Of that type.
    pub code: u8,
    /// For datagrams that are too big: the largest size that fits, in bytes.
    pub information: u32,
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

    /// For people.
    pub fn describe(&self) -> String {
        let family = if self.destination.is_ipv4() { "ICMP" } else { "ICMPv6" };
        let is_too_big = matches!((self.destination.is_ipv4(), self.kind, self.code), (true, 3, 4) | (false, 2, _));
        if is_too_big {
            return format!("{family}: datagram too big, the path takes {} bytes", self.information);
        }
        format!("{family} type {} code {}", self.kind, self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(destination: &str, kind: u8, code: u8) -> IcmpError {
        IcmpError { destination: destination.parse().expect("an address"), kind, code, information: 1280 }
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
        assert_eq!(of("[2001:db8::1]:443", 2, 0).describe(), "ICMPv6: datagram too big, the path takes 1280 bytes");
    }
}
