//! Addresses as the kernel has them.

use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Room for the address of either family.
#[derive(Clone, Copy)]
#[repr(C)]
pub union RawAddress {
    storage: libc::sockaddr_storage,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl RawAddress {
    /// Makes an address of no family.
    pub fn empty() -> Self {
        // SAFETY: all zeros is a valid value of this plain struct.
        RawAddress { storage: unsafe { zeroed() } }
    }

    /// Makes the kernel's form of an address, with its length in bytes.
    pub fn new(address: SocketAddr) -> (Self, libc::socklen_t) {
        let mut raw = RawAddress::empty();
        match address {
            SocketAddr::V4(address) => {
                raw.v4 = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: address.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
                    sin_zero: [0; 8],
                };
                (raw, size_of::<libc::sockaddr_in>() as libc::socklen_t)
            }
            SocketAddr::V6(address) => {
                raw.v6 = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: address.port().to_be(),
                    sin6_flowinfo: address.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                    sin6_scope_id: address.scope_id(),
                };
                (raw, size_of::<libc::sockaddr_in6>() as libc::socklen_t)
            }
        }
    }

    /// `None` for other families.
    pub fn address(&self) -> Option<SocketAddr> {
        // SAFETY: every byte of the union is initialised, and every field is plain numbers.
        let (family, v4, v6) = unsafe { (self.storage.ss_family, self.v4, self.v6) };
        match i32::from(family) {
            libc::AF_INET => Some(SocketAddrV4::new(ipv4(v4.sin_addr), u16::from_be(v4.sin_port)).into()),
            libc::AF_INET6 => {
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                Some(SocketAddrV6::new(ip, u16::from_be(v6.sin6_port), v6.sin6_flowinfo, v6.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

/// The IPv4 address in network order.
pub fn ipv4(address: libc::in_addr) -> Ipv4Addr {
    Ipv4Addr::from(address.s_addr.to_ne_bytes())
}

/// The unspecified address of a family with any port.
pub fn unspecified(is_v6: bool) -> SocketAddr {
    let ip: IpAddr = if is_v6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    SocketAddr::new(ip, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_as_they_went() {
        for text in ["192.0.2.1:443", "[2001:db8::5]:4433", "[fe80::1%3]:1"] {
            let address: SocketAddr = text.parse().expect("an address");
            assert_eq!(RawAddress::new(address).0.address(), Some(address));
        }
        assert_eq!(RawAddress::empty().address(), None);
    }
}
