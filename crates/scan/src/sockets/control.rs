//! What the kernel says beside a datagram or an error.

use std::ffi::c_void;
use std::net::{IpAddr, Ipv6Addr};
use std::{mem, ptr};

use super::address::ipv4;

/// Room for a time stamp, an address, a traffic class; or for an error with the address of who sent it.
pub const CONTROL_BYTES: usize = 256;
/// The two bits of Explicit Congestion Notification, RFC 3168 section 5.
const ECN_MASK: u8 = 3;

/// Memory that is aligned as control messages must be.
#[derive(Clone)]
#[repr(C, align(8))]
pub struct Control([u8; CONTROL_BYTES]);

impl Control {
    /// Makes memory without messages.
    pub const fn empty() -> Self {
        Control([0; CONTROL_BYTES])
    }

    /// Its beginning, as a message header points to it.
    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}

/// Beside a datagram.
#[derive(Default)]
pub struct OfReceived {
    /// Nanoseconds since the Unix epoch.
    pub unix_ns: Option<u64>,
    /// Address to which it was sent.
    pub local: Option<IpAddr>,
    /// 0 where the kernel does not say.
    pub ecn: u8,
}

/// # Safety
/// The kernel has filled in the header's control data, which are still there.
pub unsafe fn of_received(message: &libc::msghdr) -> OfReceived {
    let mut seen = OfReceived::default();
    // SAFETY: by the caller.
    unsafe {
        visit(message, |level, kind, data| match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                seen.unix_ns = read::<libc::timespec>(data).map(nanoseconds);
            }
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                seen.local = read::<libc::in_pktinfo>(data).map(|info| ipv4(info.ipi_addr).into());
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                seen.local = read::<libc::in6_pktinfo>(data).map(|info| Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
            }
            (libc::IPPROTO_IP, libc::IP_TOS) => {
                seen.ecn = data.first().copied().unwrap_or_default() & ECN_MASK;
            }
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                seen.ecn = read::<libc::c_int>(data).unwrap_or_default() as u8 & ECN_MASK;
            }
            _ => {}
        });
    }
    seen
}

/// Beside nothing: what the kernel reports of a datagram that was sent.
pub enum OfReport {
    /// Type, code and information of an ICMP error, and who sent it.
    Icmp { kind: u8, code: u8, information: u32, sender: Option<IpAddr> },
    /// When the datagram with this number left, in nanoseconds since the Unix epoch.
    Left { number: u32, unix_ns: u64 },
}

/// `None`: the report is of something else, such as an error of this host.
///
/// # Safety
/// The kernel has filled in the header's control data, which are still there.
pub unsafe fn of_report(message: &libc::msghdr) -> Option<OfReport> {
    let (mut error, mut sender, mut unix_ns) = (None, None, None);
    // SAFETY: by the caller.
    unsafe {
        visit(message, |level, kind, data| match (level, kind) {
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                error = read::<libc::sock_extended_err>(data);
                sender = data.get(mem::size_of::<libc::sock_extended_err>()..).and_then(address_in);
            }
            // The first of three times is the kernel's own.
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => unix_ns = read::<libc::timespec>(data).map(nanoseconds),
            _ => {}
        });
    }
    let error = error?;
    match error.ee_origin {
        libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6 => {
            Some(OfReport::Icmp { kind: error.ee_type, code: error.ee_code, information: error.ee_info, sender })
        }
        libc::SO_EE_ORIGIN_TIMESTAMPING => unix_ns.map(|unix_ns| OfReport::Left { number: error.ee_data, unix_ns }),
        _ => None,
    }
}

/// The address of the sender, which stands behind an error. `None`: the kernel does not say.
fn address_in(data: &[u8]) -> Option<IpAddr> {
    let family = read::<libc::sa_family_t>(data)?;
    match i32::from(family) {
        libc::AF_INET => read::<libc::sockaddr_in>(data).map(|address| ipv4(address.sin_addr).into()),
        libc::AF_INET6 => read::<libc::sockaddr_in6>(data).map(|it| Ipv6Addr::from(it.sin6_addr.s6_addr).into()),
        _ => None,
    }
}

fn nanoseconds(time: libc::timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// # Safety
/// As for [`of_received`].
unsafe fn visit(message: &libc::msghdr, mut each: impl FnMut(libc::c_int, libc::c_int, &[u8])) {
    // SAFETY: by the caller; the kernel wrote whole control messages, whose lengths the macros follow.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = next.as_ref() {
            let length = header.cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
            each(header.cmsg_level, header.cmsg_type, std::slice::from_raw_parts(libc::CMSG_DATA(next), length));
            next = libc::CMSG_NXTHDR(message, next);
        }
    }
}

/// A plain struct of the kernel's. `None`: the message is too short for it.
fn read<T: Copy>(data: &[u8]) -> Option<T> {
    // SAFETY: there are enough bytes, and the callers read structs of numbers, for which all bytes are valid.
    (data.len() >= mem::size_of::<T>()).then(|| unsafe { ptr::read_unaligned(data.as_ptr().cast()) })
}
