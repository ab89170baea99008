//! Addresses that are never asked, and those that only a list may name.
//!
//! The lists follow the registries of special-purpose addresses of IANA (RFC 6890) as of 2025:
//! <https://www.iana.org/assignments/iana-ipv4-special-registry> and <https://www.iana.org/assignments/iana-ipv6-special-registry>.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::{Entry, Excluded, Origin, Source};

const fn v4(a: u8, b: u8, c: u8, length: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), length))
}

const fn v6(segments: [u16; 4], length: u8) -> IpNet {
    let [a, b, c, d] = segments;
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0), length))
}

/// Asked by nobody, whatever names them.
const NEVER: [(IpNet, &str); 10] = [
    (IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 32)), "the unspecified address"),
    (IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::BROADCAST, 32)), "the broadcast address"),
    (v4(224, 0, 0, 4), "multicast"),
    (v4(192, 0, 2, 24), "documentation, RFC 5737"),
    (v4(198, 51, 100, 24), "documentation, RFC 5737"),
    (v4(203, 0, 113, 24), "documentation, RFC 5737"),
    (v6([0; 4], 128), "the unspecified address"),
    (v6([0xff00, 0, 0, 0], 8), "multicast"),
    (v6([0x2001, 0xdb8, 0, 0], 32), "documentation, RFC 3849"),
    (v6([0x3fff, 0, 0, 0], 20), "documentation, RFC 9637"),
];

/// Asked if a list has the address itself.
const BY_ADDRESS_ONLY: [(IpNet, &str); 14] = [
    (v4(0, 0, 0, 8), "this network, RFC 791"),
    (v4(10, 0, 0, 8), "private, RFC 1918"),
    (v4(100, 64, 0, 10), "shared, RFC 6598"),
    (v4(127, 0, 0, 8), "loopback"),
    (v4(169, 254, 0, 16), "link-local, RFC 3927"),
    (v4(172, 16, 0, 12), "private, RFC 1918"),
    (v4(192, 0, 0, 24), "protocol assignments, RFC 6890"),
    (v4(192, 88, 99, 24), "relays of 6to4, RFC 7526"),
    (v4(192, 168, 0, 16), "private, RFC 1918"),
    (v4(198, 18, 0, 15), "benchmarks, RFC 2544"),
    (v4(240, 0, 0, 4), "reserved, RFC 1112"),
    (v6([0x2001, 0, 0, 0], 23), "protocol assignments, RFC 2928"),
    (v6([0x64, 0xff9b, 1, 0], 48), "local translation, RFC 8215"),
    (v6([0xfe80, 0, 0, 0], 10), "link-local, RFC 4291"),
];

/// Where addresses of hosts on the Internet are (RFC 4291 section 2.4 and the registry of IANA), and NAT64 to them.
const UNICAST: [IpNet; 2] = [v6([0x2000, 0, 0, 0], 3), v6([0x64, 0xff9b, 0, 0], 96)];

/// Why an address is not asked by default.
pub(super) fn excluded(address: IpAddr, origin: Origin) -> Option<Excluded> {
    let among = |prefixes: &[(IpNet, &'static str)]| {
        let (prefix, reason) = prefixes.iter().find(|(prefix, _)| prefix.contains(&address))?;
        Some(Excluded { entry: Entry::Prefix(*prefix), source: Source::Always(reason) })
    };
    among(&NEVER).or_else(|| {
        if origin == Origin::List {
            return None;
        }
        among(&BY_ADDRESS_ONLY).or_else(|| {
            let is_unicast = address.is_ipv4() || UNICAST.iter().any(|prefix| prefix.contains(&address));
            let source = Source::Always("no unicast address of the Internet");
            (!is_unicast).then(|| Excluded { entry: Entry::Prefix(address.into()), source })
        })
    })
}
