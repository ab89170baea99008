//! Datagrams that the kernel hands over together: UDP_GRO, Linux 5.0.

use std::{
    io::IoSliceMut,
    net::{SocketAddr, UdpSocket},
    os::fd::AsRawFd,
};

use nix::{
    cmsg_space,
    errno::Errno,
    sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt},
};

/// Datagrams of one peer, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes of all of them.
    pub length: usize,
    /// Bytes of each, but for the last, which may be shorter. Never 0.
    pub segment: usize,
    /// Who sent them.
    pub from: SocketAddr,
}

/// Lets the kernel hand over several datagrams with one system call. The socket is to be read by [`receive`] from then on.
///
/// # Errors
/// Where the kernel has no UDP_GRO.
pub fn turn_on(socket: &UdpSocket) -> Result<(), Errno> {
    setsockopt(socket, sockopt::UdpGroSegment, &true)
}

/// Reads what the kernel has at once. A datagram that is longer than `buffer` is cut.
///
/// # Errors
/// What the kernel answers.
pub fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> Result<Received, Errno> {
    let mut control = cmsg_space!(i32);
    let mut whole = [IoSliceMut::new(buffer)];
    let message = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut whole, Some(&mut control), MsgFlags::empty())?;
    let from = message.address.as_ref().and_then(address).ok_or(Errno::EAFNOSUPPORT)?;
    let segment = message.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::UdpGroSegments(segment) => usize::try_from(segment).ok(),
        _ => None,
    });
    let length = message.bytes;
    Ok(Received { length, segment: segment.unwrap_or(length).max(1), from })
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|address| SocketAddr::V4((*address).into()));
    v4.or_else(|| storage.as_sockaddr_in6().map(|address| SocketAddr::V6((*address).into())))
}

#[cfg(test)]
mod tests {
    use nix::sys::socket::{ControlMessage, sendmsg};

    use super::*;

    #[test]
    fn what_was_sent_together_arrives_together_with_its_lengths() {
        for own in ["127.0.0.1:0", "[::1]:0"] {
            let [receiver, sender] = [own; 2].map(|own| UdpSocket::bind(own).unwrap());
            turn_on(&receiver).unwrap();
            let from = sender.local_addr().unwrap();
            let to = SockaddrStorage::from(receiver.local_addr().unwrap());
            let payload = [std::io::IoSlice::new(&[7; 2500])];
            let cut = [ControlMessage::UdpGsoSegments(&1000)];
            sendmsg(sender.as_raw_fd(), &payload, &cut, MsgFlags::empty(), Some(&to)).unwrap();
            let mut buffer = [0; 4096];
            assert_eq!(receive(&receiver, &mut buffer), Ok(Received { length: 2500, segment: 1000, from }));
            sender.send_to(&[1; 12], receiver.local_addr().unwrap()).unwrap();
            assert_eq!(receive(&receiver, &mut buffer), Ok(Received { length: 12, segment: 12, from }));
            // A datagram without any bytes is one, too.
            sender.send_to(&[], receiver.local_addr().unwrap()).unwrap();
            assert_eq!(receive(&receiver, &mut buffer), Ok(Received { length: 0, segment: 1, from }));
        }
    }
}
