//! What a handshake sent before it had an answer. Most targets of a scan never answer, so this is what the scanner's memory
//! consists of: once there are several datagrams, they are kept without their padding, and what they repeat is kept once.

use rustls::Side;
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::quic::{DirectionalKeys, Keys, Version};

use crate::settings::SMALLEST_DATAGRAM;

/// RFC 9001 section 5.4.2: the sample begins where it would if the packet number had four bytes, and is as long as a block.
const SAMPLE_OFFSET: usize = 4;
const SAMPLE_BYTES: usize = 16;
/// Bytes of the tag of AEAD_AES_128_GCM.
const TAG_BYTES: usize = 16;
/// The only version whose Initial packets are shortened.
const VERSION_1: [u8; 4] = [0, 0, 0, 1];
/// Type and length of the packet number in the first byte of a long header, RFC 9000 section 17.2.
const TYPE_MASK: u8 = 0xf0;
const INITIAL: u8 = 0xc0;
const NUMBER_LENGTH_MASK: u8 = 0x03;

/// A datagram that was sent.
#[derive(Debug)]
struct Sent {
    monotonic_ns: u64,
    bytes: Kept,
}

#[derive(Debug)]
enum Kept {
    Whole(Box<[u8]>),
    Short(Short),
}

/// The one Initial packet of a datagram, without protection.
#[derive(Debug)]
struct Short {
    header: Box<[u8]>,
    number: u32,
    datagram_bytes: u16,
    /// Index into [`FirstFlight::payloads`].
    payload: u16,
}

/// Datagrams in the order in which they were sent.
#[derive(Debug, Default)]
pub struct FirstFlight {
    sent: Vec<Sent>,
    /// Different payloads without the padding at their end. A probe repeats the ClientHello.
    payloads: Vec<Box<[u8]>>,
}

impl FirstFlight {
    /// Keeps a datagram.
    pub fn push(&mut self, monotonic_ns: u64, bytes: Vec<u8>) {
        let is_alone = self.sent.is_empty() && bytes.len() <= usize::from(SMALLEST_DATAGRAM);
        // Whole: an answer, if there is one, usually comes before a second one is sent.
        let bytes = if is_alone { Kept::Whole(bytes.into_boxed_slice()) } else { self.shorten(&bytes) };
        if let [Sent { bytes: Kept::Whole(first), .. }] = &mut self.sent[..] {
            let first = std::mem::take(first);
            self.sent[0].bytes = self.shorten(&first);
        }
        self.sent.reserve_exact(1);
        self.sent.push(Sent { monotonic_ns, bytes });
    }

    fn shorten(&mut self, datagram: &[u8]) -> Kept {
        let Some((header, number, payload)) = open(datagram) else { return Kept::Whole(datagram.into()) };
        let place = self.payloads.iter().position(|known| **known == *payload).unwrap_or_else(|| {
            self.payloads.reserve_exact(1);
            self.payloads.push(payload.into_boxed_slice());
            self.payloads.len() - 1
        });
        let (datagram_bytes, payload) = (datagram.len() as u16, place as u16);
        Kept::Short(Short { header: header.into_boxed_slice(), number, datagram_bytes, payload })
    }

    /// Each datagram as it was, with the monotonic time in nanoseconds.
    pub fn into_datagrams(self) -> impl Iterator<Item = (u64, Vec<u8>)> {
        let FirstFlight { sent, payloads } = self;
        sent.into_iter().map(move |sent| {
            let bytes = match sent.bytes {
                Kept::Whole(bytes) => bytes.into_vec(),
                Kept::Short(short) => short.restore(&payloads[usize::from(short.payload)]),
            };
            (sent.monotonic_ns, bytes)
        })
    }
}

/// Header, packet number and payload without the padding at its end, of a datagram that is one Initial packet of QUIC version 1. The
/// keys are those of the packet's own destination, as they are until a server has answered.
fn open(datagram: &[u8]) -> Option<(Vec<u8>, u32, Vec<u8>)> {
    let Place { destination, number_at } = place(datagram)?;
    let keys = keys(destination)?;
    let mut bytes = datagram.to_vec();
    let sample_at = number_at + SAMPLE_OFFSET;
    let sample = datagram.get(sample_at..sample_at + SAMPLE_BYTES)?;
    let (first, rest) = bytes.split_first_mut()?;
    // Changes only as many bytes as the number has.
    keys.header.decrypt_in_place(sample, first, rest.get_mut(number_at - 1..number_at + 3)?).ok()?;
    let header_bytes = number_at + 1 + usize::from(*first & NUMBER_LENGTH_MASK);
    // Complete, because nothing was acknowledged yet and numbers begin with 0.
    let number = bytes[number_at..header_bytes].iter().fold(0u32, |number, &byte| number << 8 | u32::from(byte));
    let mut payload = bytes.split_off(header_bytes);
    let plain = keys.packet.decrypt_in_place(number.into(), &bytes, &mut payload).ok()?;
    let used = plain.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    payload.truncate(used);
    payload.shrink_to_fit();
    u16::try_from(datagram.len()).ok().map(|_| (bytes, number, payload))
}

impl Short {
    /// The datagram as it was: the same bytes with the same key and number give the same packet.
    fn restore(&self, payload: &[u8]) -> Vec<u8> {
        let mut bytes = [&self.header, payload].concat();
        self.protect(&mut bytes).expect("a packet that was opened with these keys");
        bytes
    }

    fn protect(&self, bytes: &mut Vec<u8>) -> Option<()> {
        let Place { destination, number_at } = place(&self.header)?;
        let keys = keys(destination)?;
        bytes.resize(usize::from(self.datagram_bytes) - TAG_BYTES, 0);
        let (header, payload) = bytes.split_at_mut(self.header.len());
        let tag = keys.packet.encrypt_in_place(self.number.into(), header, payload).ok()?;
        bytes.extend_from_slice(tag.as_ref());
        let sample_at = number_at + SAMPLE_OFFSET;
        let sample: [u8; SAMPLE_BYTES] = bytes.get(sample_at..sample_at + SAMPLE_BYTES)?.try_into().ok()?;
        let (first, rest) = bytes.split_first_mut()?;
        let number = rest.get_mut(number_at - 1..self.header.len() - 1)?;
        keys.header.encrypt_in_place(&sample, first, number).ok()
    }
}

/// Where the parts of an Initial packet are, RFC 9000 section 17.2.2.
struct Place<'a> {
    destination: &'a [u8],
    number_at: usize,
}

/// `None`: the datagram does not begin with an Initial packet. The packet's length is not looked at: a datagram of several does not
/// open, because the whole of it is taken as one.
fn place(datagram: &[u8]) -> Option<Place<'_>> {
    let (&first, rest) = datagram.split_first()?;
    let rest = rest.strip_prefix(&VERSION_1)?;
    if first & TYPE_MASK != INITIAL {
        return None;
    }
    let (destination, rest) = id(rest)?;
    let (_, rest) = id(rest)?;
    let (token_bytes, rest) = variable_integer(rest)?;
    let rest = rest.get(usize::try_from(token_bytes).ok()?..)?;
    let (_, rest) = variable_integer(rest)?;
    Some(Place { destination, number_at: datagram.len() - rest.len() })
}

/// A connection ID behind the byte of its length.
fn id(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = bytes.split_first()?;
    rest.split_at_checked(length.into())
}

/// RFC 9000 section 16.
pub fn variable_integer(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let &first = bytes.first()?;
    let (encoded, rest) = bytes.split_at_checked(1 << (first >> 6))?;
    let (first, others) = encoded.split_first()?;
    let value = others.iter().fold(u64::from(first & 0x3f), |value, &byte| value << 8 | u64::from(byte));
    Some((value, rest))
}

/// The client's Initial keys, RFC 9001 section 5.2.
fn keys(destination: &[u8]) -> Option<DirectionalKeys> {
    let suite = TLS13_AES_128_GCM_SHA256.tls13()?;
    Some(Keys::initial(Version::V1, suite, suite.quic?, destination, Side::Client).local)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An Initial packet of the client, protected.
    fn initial(destination: &[u8], number: u8, payload: &[u8], bytes: usize) -> Vec<u8> {
        let mut header = vec![0xc0, 0, 0, 0, 1, destination.len() as u8];
        header.extend_from_slice(destination);
        header.extend_from_slice(&[0, 0]);
        let length = (bytes - header.len() - 2) as u16 | 0x4000;
        header.extend_from_slice(&length.to_be_bytes());
        header.push(number);
        Short { header: header.into(), number: number.into(), datagram_bytes: bytes as u16, payload: 0 }
            .restore(payload)
    }

    proptest! {
        #[test]
        fn a_datagram_is_restored_byte_for_byte(
            destination in prop::collection::vec(any::<u8>(), 8..=20),
            number in any::<u8>(),
            payload in prop::collection::vec(any::<u8>(), 0..400),
            bytes in 1200usize..=1452,
        ) {
            let datagram = initial(&destination, number, &payload, bytes);
            let (_, opened, plain) = open(&datagram).expect("an Initial packet");
            prop_assert_eq!(opened, u32::from(number));
            prop_assert!(plain.len() <= payload.len() && payload.starts_with(&plain));
            let again = initial(&destination, number.wrapping_add(1), &payload, bytes);
            let mut flight = FirstFlight::default();
            for (time, bytes) in (0..).zip([&datagram, &again, &datagram]) {
                flight.push(time, bytes.clone());
            }
            prop_assert_eq!(flight.payloads.len(), 1);
            let back: Vec<_> = flight.into_datagrams().collect();
            prop_assert_eq!(back, [(0, datagram.clone()), (1, again), (2, datagram)]);
        }

        #[test]
        fn any_bytes_come_back(datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..4)) {
            let mut flight = FirstFlight::default();
            for datagram in &datagrams {
                flight.push(1, [&[0xc3, 0, 0, 0, 1], &datagram[..]].concat());
            }
            let back: Vec<_> = flight.into_datagrams().map(|(_, bytes)| bytes[5..].to_vec()).collect();
            prop_assert_eq!(back, datagrams);
        }
    }

    /// RFC 9001 appendix A.2: the beginning and the end of the protected packet of its client.
    #[test]
    fn the_example_of_the_rfc_has_these_keys() {
        let destination = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];
        let mask = keys(&destination).expect("keys").header;
        let sample = [0xd1, 0xb1, 0xc9, 0x8d, 0xd7, 0x68, 0x9f, 0xb8, 0xec, 0x11, 0xd2, 0x42, 0xb1, 0x23, 0xdc, 0x9b];
        let (mut first, mut number) = (0xc3, [0, 0, 0, 2]);
        mask.encrypt_in_place(&sample, &mut first, &mut number).expect("a mask");
        assert_eq!((first, number), (0xc0, [0x7b, 0x9a, 0xec, 0x34]));
    }
}
