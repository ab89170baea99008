//! UDP sockets over this machine's loopback.
//!
//! One thread sends as much as the receiver's buffer holds, then receives it, and so on: no datagram is lost, nobody waits, and the cost
//! of each end is known apart. What the kernel does to deliver a datagram over a loopback, it does while it is sent.

use std::{
    io::IoSlice,
    net::{SocketAddr, UdpSocket},
    os::fd::AsRawFd,
    time::{Duration, Instant},
};

use nix::{
    cmsg_space,
    sys::socket::{
        ControlMessage, MsgFlags, SockaddrIn, recvmsg, sendmsg, setsockopt,
        sockopt::{UdpGroSegment, UdpGsoSegment},
    },
};

use crate::roofline::{
    clock::Watch,
    part::{Cost, Unmeasured},
};

/// Most bytes of a batch: UDP's own limit is 65,507.
const LARGEST_BATCH: usize = 65_000;
/// Most packets of a batch (UDP_MAX_SEGMENTS of kernels before 6.9).
const MOST_SEGMENTS: usize = 64;
/// Packets in the receiver's buffer at the same time, one by one: a default buffer of 208 KiB holds 90.
const BURST: usize = 32;

/// What a system call carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// A packet.
    One,
    /// A batch of as many packets as the kernel takes: UDP_SEGMENT, and UDP_GRO at the receiver.
    Offload,
}

/// The cost of sending and receiving packets of `packet_bytes`.
///
/// # Errors
/// Where the kernel lacks the offload or refuses a socket, or where a datagram is lost.
pub fn measure(packet_bytes: usize, batch: Batch, time: Duration) -> Result<Cost, Unmeasured> {
    let receiver = UdpSocket::bind("127.0.0.1:0")?;
    let sender = UdpSocket::bind("127.0.0.1:0")?;
    let SocketAddr::V4(address) = receiver.local_addr()? else { return Err(Unmeasured::Ring) };
    let address = SockaddrIn::from(address);
    receiver.set_nonblocking(true)?;
    let kernel = |what| move |source| Unmeasured::Kernel { what, source };
    let (each, burst) = match batch {
        Batch::One => (packet_bytes, BURST),
        Batch::Offload => {
            setsockopt(&sender, UdpGsoSegment, &(packet_bytes as i32)).map_err(kernel("UDP_SEGMENT"))?;
            setsockopt(&receiver, UdpGroSegment, &true).map_err(kernel("UDP_GRO"))?;
            (packet_bytes * (LARGEST_BATCH / packet_bytes).clamp(1, MOST_SEGMENTS), 1)
        }
    };
    let zeros = vec![0; each];
    let mut buffer = vec![0; 1 << 16];
    let (mut send, mut receive, mut bytes) = (Watch::default(), Watch::default(), 0);
    let end = Instant::now() + time;
    while Instant::now() < end {
        send.during(|| {
            for _ in 0..burst {
                let no_control: &[ControlMessage] = &[];
                let slices = [IoSlice::new(&zeros)];
                sendmsg(sender.as_raw_fd(), &slices, no_control, MsgFlags::empty(), Some(&address))
                    .map_err(kernel("sendmsg"))?;
            }
            Ok(())
        })?;
        let sent = (burst * each) as u64;
        let mut found = 0;
        receive.during(|| {
            while found < sent {
                let mut control = cmsg_space!(i32);
                let mut slices = [std::io::IoSliceMut::new(&mut buffer)];
                let control = (batch == Batch::Offload).then_some(control.as_mut_slice());
                match recvmsg::<SockaddrIn>(receiver.as_raw_fd(), &mut slices, control, MsgFlags::empty()) {
                    Ok(message) => found += message.bytes as u64,
                    Err(nix::Error::EAGAIN) => return Err(Unmeasured::Lost { found, sent }),
                    Err(source) => return Err(Unmeasured::Kernel { what: "recvmsg", source }),
                }
            }
            Ok(())
        })?;
        bytes += sent;
    }
    Ok(Cost { send_ns_per_byte: send.ns_per_byte(bytes), receive_ns_per_byte: receive.ns_per_byte(bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_every_size_arrive_one_by_one_and_in_batches() {
        for packet_bytes in [1200, 1452, 8972] {
            for batch in [Batch::One, Batch::Offload] {
                match measure(packet_bytes, batch, Duration::from_millis(5)) {
                    Ok(cost) => assert!(cost.bits_per_second() > 0.0),
                    // Large packets fill the buffer earlier.
                    Err(Unmeasured::Lost { .. }) if packet_bytes > 1500 => {}
                    Err(Unmeasured::Kernel { what: "UDP_SEGMENT" | "UDP_GRO", .. }) if batch == Batch::Offload => {}
                    Err(error) => panic!("{packet_bytes}, {batch:?}: {error}"),
                }
            }
        }
    }
}
