//! How much a tap keeps of each frame, as a program for the kernel's filter of sockets.

use quiclab_agent_protocol::cross_traffic::{PORT, SNAPLEN_BYTES};

const ETHERTYPE_AT: u32 = 12;
const IPV4_AT: u32 = 14;
const IPV4_PROTOCOL_AT: u32 = IPV4_AT + 9;
/// Place of the ports behind an IPv6 header without extensions.
const IPV6_PORTS_AT: u32 = 54;
const ETHERTYPE_IPV4: u32 = 0x0800;
const ETHERTYPE_IPV6: u32 = 0x86dd;
const TCP: u32 = 6;
const UDP: u32 = 17;
/// Bytes to keep of a whole frame: longer than any.
const WHOLE_FRAME: u32 = 1 << 18;

/// How much a tap keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeps {
    /// Bytes of each frame; `None` keeps all.
    pub bytes: Option<u32>,
    /// Whether only the headers of [cross traffic](quiclab_agent_protocol::cross_traffic) are kept.
    pub headers_of_cross_traffic: bool,
}

/// The program; empty where frames are kept whole.
pub(super) fn program(keeps: Keeps) -> Vec<libc::sock_filter> {
    let one = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = |from: u32, width: u32, at: u32| one(libc::BPF_LD | from | width, 0, 0, at);
    let equals = |value: u32, jt: u8, jf: u8| one(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, jt, jf, value);
    let ret = |bytes: u32| one(libc::BPF_RET | libc::BPF_K, 0, 0, bytes);
    let whole = keeps.bytes.unwrap_or(WHOLE_FRAME);
    if !keeps.headers_of_cross_traffic {
        return keeps.bytes.map(ret).into_iter().collect();
    }
    let port = u32::from(PORT);
    let (halfword, byte) = (libc::BPF_H, libc::BPF_B);
    vec![
        load(libc::BPF_ABS, halfword, ETHERTYPE_AT),
        equals(ETHERTYPE_IPV4, 0, 8),
        load(libc::BPF_ABS, byte, IPV4_PROTOCOL_AT),
        equals(UDP, 1, 0),
        equals(TCP, 0, 10),
        // The length of the IPv4 header goes into the index register.
        one(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0, 0, IPV4_AT),
        load(libc::BPF_IND, halfword, IPV4_AT),
        equals(port, 8, 0),
        load(libc::BPF_IND, halfword, IPV4_AT + 2),
        equals(port, 6, 5),
        equals(ETHERTYPE_IPV6, 0, 4),
        load(libc::BPF_ABS, halfword, IPV6_PORTS_AT),
        equals(port, 3, 0),
        load(libc::BPF_ABS, halfword, IPV6_PORTS_AT + 2),
        equals(port, 1, 0),
        ret(whole),
        ret(whole.min(SNAPLEN_BYTES)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel's interpreter does with the program (Documentation/networking/filter.rst). Loads beyond the frame keep nothing.
    fn kept(program: &[libc::sock_filter], frame: &[u8]) -> u32 {
        let (mut place, mut accumulator, mut index) = (0, 0, 0);
        loop {
            let one = program[place];
            place += 1;
            let at = |offset: usize| frame.get(offset).copied().map(u32::from);
            let read = |offset: usize, width: u32| match width {
                libc::BPF_B => at(offset),
                _ => Some(at(offset)? << 8 | at(offset + 1)?),
            };
            let code = u32::from(one.code);
            match code & 7 {
                libc::BPF_RET => return one.k.min(frame.len() as u32),
                libc::BPF_LDX => index = (at(one.k as usize).unwrap() & 0xf) * 4,
                libc::BPF_LD => {
                    let base = if code & 0xe0 == libc::BPF_IND { index } else { 0 };
                    match read((base + one.k) as usize, code & 0x18) {
                        Some(value) => accumulator = value,
                        None => return 0,
                    }
                }
                libc::BPF_JMP => place += usize::from(if accumulator == one.k { one.jt } else { one.jf }),
                other => panic!("class {other}"),
            }
        }
    }

    fn frame(ipv6: bool, protocol: u32, ports: [u16; 2]) -> Vec<u8> {
        let mut frame = vec![0; 1500];
        let ethertype = if ipv6 { ETHERTYPE_IPV6 } else { ETHERTYPE_IPV4 };
        frame[12..14].copy_from_slice(&(ethertype as u16).to_be_bytes());
        frame[14] = if ipv6 { 0x60 } else { 0x45 };
        frame[if ipv6 { 20 } else { 23 }] = protocol as u8;
        let place = if ipv6 { 54 } else { 34 };
        frame[place..place + 2].copy_from_slice(&ports[0].to_be_bytes());
        frame[place + 2..place + 4].copy_from_slice(&ports[1].to_be_bytes());
        frame
    }

    #[test]
    fn of_cross_traffic_the_headers_are_kept_and_of_all_else_as_much_as_asked_for() {
        let all = program(Keeps { bytes: None, headers_of_cross_traffic: true });
        let some = program(Keeps { bytes: Some(200), headers_of_cross_traffic: true });
        for ipv6 in [false, true] {
            for protocol in [TCP, UDP] {
                for ports in [[9, 9], [9, 443], [443, 9]] {
                    assert_eq!(kept(&all, &frame(ipv6, protocol, ports)), SNAPLEN_BYTES, "{ipv6} {protocol} {ports:?}");
                }
                let other = frame(ipv6, protocol, [443, 50_000]);
                assert_eq!((kept(&all, &other), kept(&some, &other)), (1500, 200));
            }
        }
        assert_eq!(kept(&all, &frame(false, 1, [9, 9])), 1500, "ICMP");
        let mut arp = frame(false, TCP, [9, 9]);
        arp[12..14].copy_from_slice(&[8, 6]);
        assert_eq!(kept(&all, &arp), 1500);
    }

    #[test]
    fn a_header_with_options_is_skipped() {
        let program = program(Keeps { bytes: None, headers_of_cross_traffic: true });
        let mut with_options = frame(false, TCP, [0, 0]);
        with_options[14] = 0x46;
        with_options[38..40].copy_from_slice(&9_u16.to_be_bytes());
        assert_eq!(kept(&program, &with_options), SNAPLEN_BYTES);
    }

    #[test]
    fn without_cross_traffic_the_filter_is_the_snap_length_alone() {
        assert!(program(Keeps { bytes: None, headers_of_cross_traffic: false }).is_empty());
        let only = program(Keeps { bytes: Some(128), headers_of_cross_traffic: false });
        assert_eq!((only.len(), kept(&only, &[0; 1500])), (1, 128));
    }
}
