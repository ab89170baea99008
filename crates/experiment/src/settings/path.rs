//! What lies between the hosts.

use quiclab_units::{ByteCount, Duration, Rate};

use super::{
    Draft, Settings,
    declaration::section,
    takes::{PacketNumbers, count, rate, size, time, word, words},
};

/// The largest frame without jumbo frames: a bucket below it could never let one through.
pub(crate) const LARGEST_FRAME: ByteCount = ByteCount::from_bytes(1514);
/// The kernel keeps the depth of a bucket in 32 bits.
const DEEPEST_BUCKET: ByteCount = ByteCount::from_bytes(u32::MAX as u64);
/// The kernel adds delays to its clock in signed 64-bit nanoseconds; this is far from where that wraps around.
pub(crate) const LONGEST_DELAY: Duration = Duration::from_secs(86_400);
/// The kernel looks packets of a list up by their number, in a map of this size.
const LAST_LISTED_PACKET: u32 = 4096;

section! {
    /// The bottleneck: token bucket with a netem child towards the client, netem towards the server.
    pub struct Path as path {
        /// IP version
        ip: IpVersion = IpVersion::V4, takes word::<IpVersion>(), sets "QUICLAB_IP" of Both;
        /// of the token bucket towards the client; counts frames with their Ethernet header, without check sequence
        rate: Rate = Rate::from_bits_per_second(40_000_000),
            takes rate().positive().whole(8, "a multiple of 8 bit/s");
        /// depth of the bucket: at least one whole frame, or none ever passes
        burst: ByteCount = ByteCount::from_bytes(1535),
            takes size().at_least(LARGEST_FRAME).at_most(DEEPEST_BUCKET).because("a smaller bucket never lets a full frame pass");
        /// one way, from server to client. With none the kernel of a TCP server sees the queue and holds packets back
        /// ([limitations](../../LIMITATIONS.md))
        delay_to_client: Duration = Duration::from_millis(20), takes time().at_most(LONGEST_DELAY);
        /// one way, from client to server
        delay_to_server: Duration = Duration::from_millis(20), takes time().at_most(LONGEST_DELAY);
        /// packets towards the client, delay line and queue together. The default is rate x 2 x delay / 1392 B; it does not follow when you change
        /// those
        queue_limit_packets: u32 = 143, takes count();
        /// packets in the delay line towards the server
        return_limit_packets: u32 = 1000, takes count();
        /// the packets towards the server that are dropped, counted from 1
        drops_to_server: Vec<u32> = Vec::new(), takes PacketNumbers { most: LAST_LISTED_PACKET };
    }
}

words! {
    /// Version of the Internet Protocol.
    pub enum IpVersion {
        /// IPv4.
        V4 = "4",
        /// IPv6.
        V6 = "6",
    }
}
