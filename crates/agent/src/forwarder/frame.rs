//! An Ethernet frame in the forwarder's hands: what the path needs to know of it, and the few bytes that the path changes.
//!
//! Hosts leave checksums of UDP and TCP to their cards. The kernel says so in a header of its own, `struct virtio_net_hdr`, which comes
//! before each frame and goes out before it again; so such a frame passes as it came.

mod rewrite;

use anyhow::{Result, ensure};
use quiclab_path::packet::Ecn;
use quiclab_wire::offload::{
    SuperPacket,
    checksum::complete_ipv4,
    header::{ETHERNET_BYTES as ETHERNET, HEADER_BYTES as VNET_HEADER, complete_checksum, is_super_packet},
};

pub use rewrite::Side;

const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
const IPV6_HEADER: usize = 40;
const UDP: u8 = 17;

/// A frame and the kernel's header before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    buffer: Vec<u8>,
}

/// What tells a flow from others: protocol, addresses and ports.
pub type FlowKey = [u8; 37];

impl Frame {
    /// A frame with its header, as a packet socket with `PACKET_VNET_HDR` hands it over.
    ///
    /// # Errors
    /// Where there is none.
    pub fn new(buffer: Vec<u8>) -> Result<Self> {
        let frame = buffer.len().saturating_sub(VNET_HEADER);
        ensure!(
            frame >= ETHERNET,
            "found {} bytes, expected a header of {VNET_HEADER} bytes and a frame",
            buffer.len()
        );
        Ok(Self { buffer })
    }

    /// Whether it is a super-packet, which a card or the kernel is yet to cut into packets.
    pub fn is_super_packet(&self) -> bool {
        is_super_packet(&self.buffer)
    }

    /// The packets of a super-packet, with their checksums left to a card; of another frame itself.
    ///
    /// # Errors
    /// A super-packet that cannot be cut.
    pub fn cut(self) -> Result<Vec<Self>> {
        let packets =
            SuperPacket::read(&self.buffer)?.map(|whole| whole.packets().map(|buffer| Self { buffer }).collect());
        Ok(packets.unwrap_or_else(|| vec![self]))
    }

    /// Its memory.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// The frame as the kernel takes it.
    pub fn buffer(&self) -> &[u8] {
        &self.buffer
    }

    /// The frame, from its Ethernet header on.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[VNET_HEADER..]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[VNET_HEADER..]
    }

    /// Its length as stages count it.
    pub fn length(&self) -> u32 {
        self.bytes().len() as u32
    }

    /// Its mark; frames without IP have none.
    pub fn ecn(&self) -> Ecn {
        let bytes = self.bytes();
        let bits = match (ip_version(bytes), bytes.get(ETHERNET + 1)) {
            (Some(4), Some(byte)) => byte & 3,
            (Some(6), Some(byte)) => byte >> 4 & 3,
            _ => 0,
        };
        match bits {
            0 => Ecn::NotCapable,
            3 => Ecn::CongestionExperienced,
            _ => Ecn::Capable,
        }
    }

    /// Sets its mark to "congestion experienced".
    pub fn mark(&mut self) {
        let bytes = self.bytes_mut();
        match ip_version(bytes) {
            Some(4) => {
                bytes[ETHERNET + 1] |= 3;
                renew_header_checksum(bytes);
            }
            // The checksum of the layer above covers addresses, length and protocol, and not these bits.
            Some(6) => bytes[ETHERNET + 1] |= 3 << 4,
            _ => {}
        }
    }

    /// Which flow it belongs to; frames of one kind without IP are one flow.
    pub fn flow(&self) -> FlowKey {
        let mut key = [0; 37];
        let bytes = self.bytes();
        let parts = match ip_version(bytes) {
            Some(4) => {
                let above = ETHERNET + header_length(bytes);
                (bytes.get(ETHERNET + 9), bytes.get(ETHERNET + 12..ETHERNET + 20), bytes.get(above..above + 4))
            }
            Some(6) => {
                let above = ETHERNET + IPV6_HEADER;
                (bytes.get(ETHERNET + 6), bytes.get(ETHERNET + 8..above), bytes.get(above..above + 4))
            }
            _ => {
                key[..2].copy_from_slice(&bytes[12..14]);
                return key;
            }
        };
        let (Some(protocol), Some(addresses), ports) = parts else { return key };
        key[0] = *protocol;
        key[1..=addresses.len()].copy_from_slice(addresses);
        if let Some(ports) = ports {
            key[33..].copy_from_slice(ports);
        }
        key
    }

    /// Flips a bit, counted from the frame's first one, so that the receiver's checksum rejects the frame: a checksum that was left to a
    /// card is computed before.
    ///
    /// A real card rejects every frame with a flipped bit by its check sequence, which these interfaces do not have. A bit that no other
    /// checksum covers is therefore replaced by one that the layer above IP covers, or IPv4's own.
    pub fn flip(&mut self, bit: u64) {
        self.complete_checksum();
        let bytes = self.bytes_mut();
        let first = match ip_version(bytes) {
            Some(4) => ETHERNET,
            Some(6) => ETHERNET + IPV6_HEADER,
            _ => 0,
        };
        let bits = (bytes.len() as u64).saturating_sub(first as u64) * 8;
        if bits == 0 {
            return;
        }
        let bit = bit.checked_sub(first as u64 * 8).filter(|bit| *bit < bits).unwrap_or(bit % bits);
        let flip = |bytes: &mut [u8], bit: u64| bytes[first + (bit / 8) as usize] ^= 0x80 >> (bit % 8);
        flip(bytes, bit);
        // A checksum of 0 says that there is none.
        let field = udp_checksum(bytes);
        if field.is_some_and(|field| bytes[field] == 0 && bytes[field + 1] == 0) {
            flip(bytes, bit);
            flip(bytes, bit ^ 1);
        }
    }

    /// Computes the checksum that the sender left to its card.
    fn complete_checksum(&mut self) {
        complete_checksum(&mut self.buffer);
    }
}

fn ip_version(bytes: &[u8]) -> Option<u8> {
    match bytes.get(12..14)?.try_into() {
        Ok(IPV4) if bytes.len() >= ETHERNET + 20 => Some(4),
        Ok(IPV6) if bytes.len() >= ETHERNET + IPV6_HEADER => Some(6),
        _ => None,
    }
}

/// Computes the checksum of the IPv4 header again; IPv6 has none.
fn renew_header_checksum(bytes: &mut [u8]) {
    if ip_version(bytes) != Some(4) {
        return;
    }
    let end = ETHERNET + header_length(bytes);
    if let Some(header) = bytes.get_mut(ETHERNET..end) {
        complete_ipv4(header);
    }
}

/// Length of the IPv4 header, at least 20.
fn header_length(bytes: &[u8]) -> usize {
    (usize::from(bytes[ETHERNET] & 0xf) * 4).max(20)
}

/// Where UDP's checksum is.
fn udp_checksum(bytes: &[u8]) -> Option<usize> {
    let (protocol, above) = match ip_version(bytes)? {
        4 => (bytes[ETHERNET + 9], ETHERNET + header_length(bytes)),
        _ => (bytes[ETHERNET + 6], ETHERNET + IPV6_HEADER),
    };
    (protocol == UDP && bytes.len() >= above + 8).then_some(above + 6)
}

#[cfg(test)]
pub(crate) mod tests;
