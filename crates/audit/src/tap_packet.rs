//! A packet at a tap: what tells it from others, without what may change on the way.

use std::hash::{DefaultHasher, Hasher};

use quiclab_units::Time;
use quiclab_wire::Frame;

/// Bytes of a frame by which packets are matched. Taps keep at least so many, unless the experiment says otherwise.
pub(crate) const COMPARED_BYTES: usize = 128;

const ETHERNET_BYTES: usize = 14;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];
const IPV6_BYTES: usize = 40;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// A packet at a tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TapPacket {
    /// Number of its frame in the capture, from 1.
    pub(crate) frame: u64,
    pub(crate) time: Time,
    /// Bytes on the wire.
    pub(crate) length: u32,
    /// Digest of the bytes that are compared.
    pub(crate) key: u64,
    /// Digest of all bytes, where the tap kept all.
    pub(crate) whole: Option<u64>,
    /// Digest of protocol, addresses and ports.
    pub(crate) flow: u64,
    /// The two bits of Explicit Congestion Notification (RFC 3168 section 5); 0 where there is no IP header.
    pub(crate) ecn: u8,
    /// Checksum of the IPv4 header.
    pub(crate) checksum: u16,
}

/// Reads frames of a capture as packets at a tap.
#[derive(Debug, Default)]
pub(crate) struct TapReader {
    /// Bytes compared at most.
    pub(crate) compared: usize,
    /// Addresses and ports may change on the way.
    pub(crate) is_translated: bool,
    /// The frame without what may change.
    masked: Vec<u8>,
}

impl TapReader {
    pub(crate) fn new(compared: usize, is_translated: bool) -> Self {
        Self { compared, is_translated, masked: Vec::new() }
    }

    pub(crate) fn read(&mut self, number: u64, frame: &Frame) -> TapPacket {
        let fields = self.mask(frame.captured);
        let compared = self.masked.len().min(self.compared);
        let is_whole = frame.captured.len() as u64 >= u64::from(frame.length);
        TapPacket {
            frame: number,
            time: frame.time,
            length: frame.length,
            key: digest(&[&self.masked[..compared], &frame.length.to_le_bytes()]),
            whole: is_whole.then(|| digest(&[&self.masked])),
            ..fields
        }
    }

    /// The bytes without what may change on the way.
    pub(crate) fn masked(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.mask(bytes);
        self.masked.clone()
    }

    /// Fills `masked`, and returns what is in the fields that it clears.
    fn mask(&mut self, bytes: &[u8]) -> TapPacket {
        self.masked.clear();
        self.masked.extend_from_slice(bytes);
        let mut found = TapPacket {
            frame: 0,
            time: Time::from_nanos(0),
            length: 0,
            key: 0,
            whole: None,
            flow: 0,
            ecn: 0,
            checksum: 0,
        };
        let Some((protocol, addresses, ports)) = self.mask_ip(&mut found) else { return found };
        let port_bytes = self.masked.get(ports..ports + 4).unwrap_or_default();
        let address_bytes = self.masked.get(addresses.clone()).unwrap_or_default();
        found.flow = digest(&[&[protocol], address_bytes, port_bytes]);
        if self.is_translated {
            self.clear(addresses);
            self.clear(ports..ports + 4);
            match protocol {
                UDP => self.clear(ports + 6..ports + 8),
                TCP => self.clear(ports + 16..ports + 18),
                _ => {}
            }
        }
        found
    }

    /// Clears marks and checksum of the IP header. Returns the protocol, where the addresses are, and where the ports begin.
    fn mask_ip(&mut self, found: &mut TapPacket) -> Option<(u8, std::ops::Range<usize>, usize)> {
        let ethertype: [u8; 2] = self.masked.get(12..ETHERNET_BYTES)?.try_into().ok()?;
        let at = ETHERNET_BYTES;
        match ethertype {
            ETHERTYPE_IPV4 => {
                let header = self.masked.get_mut(at..at + 20)?;
                found.ecn = header[1] & 3;
                found.checksum = u16::from_be_bytes([header[10], header[11]]);
                header[1] &= !3;
                header[10..12].fill(0);
                let length = usize::from(header[0] & 0xf) * 4;
                Some((header[9], at + 12..at + 20, at + length))
            }
            ETHERTYPE_IPV6 => {
                let header = self.masked.get_mut(at..at + IPV6_BYTES)?;
                found.ecn = (header[1] >> 4) & 3;
                header[1] &= !0x30;
                Some((header[6], at + 8..at + 40, at + IPV6_BYTES))
            }
            _ => None,
        }
    }

    fn clear(&mut self, range: std::ops::Range<usize>) {
        let end = range.end.min(self.masked.len());
        if let Some(bytes) = self.masked.get_mut(range.start..end) {
            bytes.fill(0);
        }
    }
}

/// The same for the same bytes in every process.
fn digest(parts: &[&[u8]]) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.iter().for_each(|part| hasher.write(part));
    hasher.finish()
}
