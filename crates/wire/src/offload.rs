//! What network cards do for hosts: completing checksums, and cutting super-packets into the packets that a wire carries.
//!
//! Contains: the header with which Linux hands frames to user space and takes them back ([`header`]), the Internet checksum
//! ([`checksum`]), and segmentation of UDP and TCP over IPv4 and IPv6 ([`SuperPacket`]).
//! Does not contain: sockets, and what packets hold above UDP and TCP.
//!
//! Everywhere a *buffer* is such a header and the Ethernet frame behind it. To cut a buffer: [`SuperPacket::read`], then
//! [`SuperPacket::packets`].

pub mod checksum;
pub mod header;
mod super_packet;

pub use super_packet::{CutError, SuperPacket};
