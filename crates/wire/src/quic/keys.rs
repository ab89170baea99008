//! Keys of a sender, and packets opened with them.

use std::ops::Range;

use super::packet_number::Numbers;
use super::protection::{CipherSuite, HeaderKey, PacketKey, SAMPLE_BYTES, Secret, TAG_BYTES, Unmasked};

/// Bytes of one packet as far as they were captured, and what of its header is not protected.
pub(crate) struct ProtectedPacket<'a> {
    pub(crate) captured: &'a [u8],
    /// Bytes it has on the wire.
    pub(crate) length: usize,
    pub(crate) packet_number_offset: usize,
}

/// Keys of one sender at one level.
pub(crate) struct Keys {
    pub(crate) secret: Secret,
    pub(crate) header: HeaderKey,
    pub(crate) packet: PacketKey,
}

impl Keys {
    pub(crate) fn of(secret: Secret) -> Option<Self> {
        let (header, packet) = secret.keys()?;
        Some(Keys { secret, header, packet })
    }
}

/// Keys of one sender at 1-RTT: the header key stays, the packet keys change with the phase.
pub(crate) struct OneRttKeys {
    pub(crate) current: Keys,
    pub(crate) phase: bool,
    pub(crate) previous: Option<PacketKey>,
    /// Secret and packet key of the phase to come.
    pub(crate) next: Option<(Secret, PacketKey)>,
}

impl OneRttKeys {
    pub(crate) fn of(secret: Secret, has_loss_bits: bool) -> Option<Self> {
        let mut current = Keys::of(secret)?;
        if has_loss_bits {
            current.header = current.header.beside_loss_bits();
        }
        Some(OneRttKeys { current, phase: false, previous: None, next: None })
    }
}

/// A packet whose header protection, at least, is gone.
pub(crate) enum Opened {
    Whole {
        packet_number: u64,
        /// Where the payload lies in the scratch buffer.
        payload: Range<usize>,
    },
    /// Its payload was not captured, so that nothing is authenticated. `None` where the keys are not known to be its own.
    Cut(Option<Unmasked>),
}

pub(crate) enum NotOpened {
    NoKeys,
    Failed,
}

pub(crate) fn open(
    header: &HeaderKey,
    key: &PacketKey,
    packet: &ProtectedPacket,
    numbers: Numbers,
    scratch: &mut Vec<u8>,
) -> Result<Opened, NotOpened> {
    let too_short = if packet.captured.len() < packet.length { NotOpened::NoKeys } else { NotOpened::Failed };
    let unmasked = header.unmask(packet.captured, packet.packet_number_offset).ok_or(too_short)?;
    if packet.captured.len() < packet.length {
        return Ok(Opened::Cut(Some(unmasked)));
    }
    let mut result = Err(NotOpened::Failed);
    for number in numbers.candidates(unmasked.truncated_packet_number, unmasked.packet_number_bytes) {
        result = open_payload(key, packet, &unmasked, number, scratch);
        if result.is_ok() {
            break;
        }
    }
    result
}

pub(crate) fn open_payload(
    key: &PacketKey,
    packet: &ProtectedPacket,
    unmasked: &Unmasked,
    number: u64,
    scratch: &mut Vec<u8>,
) -> Result<Opened, NotOpened> {
    scratch.clear();
    scratch.extend_from_slice(packet.captured);
    let payload = key.open(scratch, packet.packet_number_offset, unmasked, number).ok_or(NotOpened::Failed)?;
    Ok(Opened::Whole { packet_number: number, payload })
}

/// The suites that a secret of this length may belong to.
pub(crate) fn suites_of(secret: &[u8], known: Option<CipherSuite>) -> impl Iterator<Item = CipherSuite> {
    let all = [CipherSuite::Aes128Gcm, CipherSuite::ChaCha20Poly1305, CipherSuite::Aes256Gcm];
    let length = secret.len();
    all.into_iter().filter(move |suite| suite.secret_bytes() == length && known.is_none_or(|known| known == *suite))
}

/// The smallest packet that can be opened: RFC 9001 section 5.4.2.
pub(crate) const SMALLEST_SHORT_PACKET: usize = 1 + 4 + SAMPLE_BYTES;
const _: () = assert!(TAG_BYTES == SAMPLE_BYTES);
