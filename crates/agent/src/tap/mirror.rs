//! A tap at a mirror port: it sees frames that are for others, those of one server alone, both ways.

use std::io;

use anyhow::{Context, Result};

use super::{Keeps, Plain, Tap, set_option};
use crate::topology::index;

/// Bytes to keep of a whole frame: longer than any.
const WHOLE_FRAME: u32 = 1 << 18;

impl Tap {
    /// Starts to capture the frames of the server with this link-layer address that arrive at `interface`. `by_hardware`: with the time stamps
    /// of the network card, which makes some already.
    ///
    /// # Errors
    /// As [`Tap::open`].
    pub fn open_at_mirror(
        name: &str,
        interface: &str,
        kept: Option<u32>,
        ring_bytes: u64,
        server: [u8; 6],
        by_hardware: bool,
    ) -> Result<Self> {
        let program = of_server(server, kept.unwrap_or(WHOLE_FRAME));
        let place = index(interface)?;
        let keeps = Keeps { bytes: kept, headers_of_cross_traffic: false };
        Self::open_by(name, interface, keeps, ring_bytes, false, &program, |socket| {
            let everything = libc::packet_mreq {
                mr_ifindex: place as libc::c_int,
                mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
                mr_alen: 0,
                mr_address: [0; 8],
            };
            // The kernel takes it back when the socket is closed.
            let set = |option, value: &[u8]| set_option(socket, libc::SOL_PACKET, option, value);
            set(libc::PACKET_ADD_MEMBERSHIP, super::AsBytes::as_bytes(&Plain(everything)))
                .with_context(|| format!("interface {interface}: frames for others"))?;
            if by_hardware {
                let stamps = libc::SOF_TIMESTAMPING_RAW_HARDWARE as libc::c_int;
                set(libc::PACKET_TIMESTAMP, super::AsBytes::as_bytes(&Plain(stamps))).context("PACKET_TIMESTAMP")?;
            }
            Ok::<(), anyhow::Error>(())
        })
        .map_err(|error| match error.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::PermissionDenied) => error.context("a mirror port needs root"),
            _ => error,
        })
    }
}

/// Keeps so many bytes of the frames from and to a server, and nothing of others.
fn of_server(server: [u8; 6], bytes: u32) -> Vec<libc::sock_filter> {
    let one = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = |width: u32, at: u32| one(libc::BPF_LD | libc::BPF_ABS | width, 0, 0, at);
    let equals = |value: u32, jt: u8, jf: u8| one(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, jt, jf, value);
    let first = u32::from_be_bytes([server[0], server[1], server[2], server[3]]);
    let last = u32::from(u16::from_be_bytes([server[4], server[5]]));
    vec![
        // The source.
        load(libc::BPF_W, 6),
        equals(first, 0, 2),
        load(libc::BPF_H, 10),
        equals(last, 4, 0),
        // The destination.
        load(libc::BPF_W, 0),
        equals(first, 0, 3),
        load(libc::BPF_H, 4),
        equals(last, 0, 1),
        one(libc::BPF_RET | libc::BPF_K, 0, 0, bytes),
        one(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel's interpreter answers, for the instructions that are used here.
    fn kept(program: &[libc::sock_filter], frame: &[u8]) -> u32 {
        let (mut place, mut accumulator) = (0, 0);
        loop {
            let one = program[place];
            place += 1;
            match u32::from(one.code) & 7 {
                libc::BPF_RET => return one.k,
                libc::BPF_LD => {
                    let width = if u32::from(one.code) & 0x18 == libc::BPF_W { 4 } else { 2 };
                    let bytes = &frame[one.k as usize..one.k as usize + width];
                    accumulator = bytes.iter().fold(0, |value, byte| value << 8 | u32::from(*byte));
                }
                _ => place += usize::from(if accumulator == one.k { one.jt } else { one.jf }),
            }
        }
    }

    #[test]
    fn frames_from_and_to_the_server_are_kept_and_no_others() {
        let (server, client, other) = ([2, 1, 2, 3, 4, 5], [2, 9, 9, 9, 9, 9], [2, 1, 2, 3, 4, 6]);
        let program = of_server(server, 200);
        let of = |to: [u8; 6], from: [u8; 6]| kept(&program, &[&to[..], &from, &[8, 0], &[0; 60]].concat());
        assert_eq!([of(client, server), of(server, client)], [200, 200]);
        assert_eq!([of(client, other), of(other, client), of(other, other), of([2, 9, 2, 3, 4, 5], client)], [0; 4]);
    }
}
