//! What hosts without a real server say.

use rand_chacha::{ChaCha8Rng, rand_core::Rng};

use crate::{
    description::{Behaviour, Rubbish},
    quic::{
        self, InitialKeys, LongHeader, SMALLEST_INITIAL, ack_frame, close_frame, crypto_frame, long_header, new_id,
    },
};

/// Bytes of rubbish behind a long header, or in a CRYPTO frame.
const RUBBISH_BYTES: usize = 300;
/// Most bytes of a datagram of random bytes.
const MOST_RANDOM_BYTES: u64 = 1200;
/// RFC 9000 section 19.6: no offset may be greater.
const GREATEST_OFFSET: u64 = (1 << 62) - 1;
/// No frame has this type (of one byte) in RFC 9000, nor in an extension.
const UNKNOWN_FRAME: u8 = 0x3f;

/// What a host must remember of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Version and destination connection ID of its first Initial packet: what the keys follow from.
    first: Option<(u32, Box<[u8]>)>,
    /// The client's own connection ID.
    client_id: Box<[u8]>,
    own_id: [u8; 8],
    next_packet_number: u32,
}

impl Memory {
    pub(crate) fn new(random: &mut ChaCha8Rng) -> Self {
        Self { first: None, client_id: Box::default(), own_id: new_id(random), next_packet_number: 0 }
    }

    fn learn(&mut self, header: &LongHeader) {
        self.client_id = header.source.into();
        if self.first.is_none() && header.is_initial() {
            self.first = Some((header.version, header.destination.into()));
        }
    }

    fn keys(&self) -> Option<InitialKeys> {
        let (version, id) = self.first.as_ref()?;
        InitialKeys::new(*version, id)
    }

    /// An Initial packet for the client: an acknowledgment of `header`'s packet, then `frames`.
    fn initial(&mut self, header: &LongHeader, frames: &[u8], least_bytes: usize) -> Option<Vec<u8>> {
        let keys = self.keys().filter(|_| header.is_initial())?;
        let frames = [&ack_frame(keys.packet_number(header)?)[..], frames].concat();
        let number = self.next_packet_number;
        self.next_packet_number = number.wrapping_add(1);
        keys.initial(header.source, &self.own_id, number, &frames, least_bytes)
    }
}

/// The datagram with which a host without a server answers one of a client, if any.
pub(crate) fn react(
    behaviour: &Behaviour,
    memory: &mut Memory,
    datagram: &[u8],
    random: &mut ChaCha8Rng,
) -> Option<Vec<u8>> {
    if let Behaviour::Rubbish(Rubbish::Bytes) = behaviour {
        return Some(random_bytes(1 + (random.next_u64() % MOST_RANDOM_BYTES) as usize, random));
    }
    let header = long_header(datagram)?;
    memory.learn(&header);
    match behaviour {
        Behaviour::VersionNegotiation { versions, .. }
            if header.version != 0 && !versions.contains(&header.version) =>
        {
            Some(quic::version_negotiation(&header, versions, random))
        }
        Behaviour::RetryForEver if header.is_initial() && header.version == quic::VERSION_1 => {
            let token = random_bytes(RUBBISH_BYTES / 4, random);
            quic::retry(&header, &token, random)
        }
        Behaviour::AckOnly => memory.initial(&header, &[], 0),
        Behaviour::CloseAtOnce { code, reason } => {
            memory.initial(&header, &close_frame(*code, reason.as_bytes()), SMALLEST_INITIAL)
        }
        Behaviour::Rubbish(kind) => rubbish(*kind, memory, &header, random),
        _ => None,
    }
}

fn rubbish(kind: Rubbish, memory: &mut Memory, header: &LongHeader, random: &mut ChaCha8Rng) -> Option<Vec<u8>> {
    match kind {
        Rubbish::Bytes => None,
        Rubbish::LongHeader => Some(long_rubbish(header.version, header.source, &memory.own_id, random)),
        Rubbish::WrongConnectionId => {
            let keys = memory.keys()?;
            keys.initial(&new_id(random), &memory.own_id, 0, &ack_frame(0), SMALLEST_INITIAL)
        }
        Rubbish::Crypto => {
            let data = random_bytes(RUBBISH_BYTES, random);
            memory.initial(header, &crypto_frame(0, &data), SMALLEST_INITIAL)
        }
        Rubbish::FarCrypto => {
            let data = random_bytes(1, random);
            memory.initial(header, &crypto_frame(GREATEST_OFFSET - 1, &data), SMALLEST_INITIAL)
        }
        Rubbish::UnknownFrame => memory.initial(header, &[UNKNOWN_FRAME], SMALLEST_INITIAL),
    }
}

/// One datagram of a flood: for the client's connection ID, and nothing that it can open.
pub(crate) fn flood(memory: &Memory, random: &mut ChaCha8Rng) -> Vec<u8> {
    let version = memory.first.as_ref().map_or(quic::VERSION_1, |(version, _)| *version);
    long_rubbish(version, &memory.client_id, &memory.own_id, random)
}

/// Learns the client's connection IDs from its first packet.
pub(crate) fn learn(memory: &mut Memory, datagram: &[u8]) {
    if let Some(header) = long_header(datagram) {
        memory.learn(&header);
    }
}

fn long_rubbish(version: u32, destination: &[u8], source: &[u8], random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut packet = vec![0xc0 | (random.next_u32() as u8 & 0x0f)];
    packet.extend(version.to_be_bytes());
    for id in [destination, source] {
        packet.push(id.len() as u8);
        packet.extend(id);
    }
    packet.extend(random_bytes(RUBBISH_BYTES, random));
    packet
}

fn random_bytes(count: usize, random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = vec![0; count];
    random.fill_bytes(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::SeedableRng;

    use super::*;

    const REACTING: [Behaviour; 9] = [
        Behaviour::Rubbish(Rubbish::Bytes),
        Behaviour::Rubbish(Rubbish::LongHeader),
        Behaviour::Rubbish(Rubbish::WrongConnectionId),
        Behaviour::Rubbish(Rubbish::Crypto),
        Behaviour::Rubbish(Rubbish::FarCrypto),
        Behaviour::Rubbish(Rubbish::UnknownFrame),
        Behaviour::RetryForEver,
        Behaviour::AckOnly,
        Behaviour::CloseAtOnce { code: 2, reason: String::new() },
    ];

    /// An Initial packet whose protection nobody has put on, and long enough to look as if.
    fn initial() -> Vec<u8> {
        let mut packet = vec![0xc3, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 2, 9, 9, 0, 0x44, 0x9e];
        packet.resize(1200, 0x55);
        packet
    }

    #[test]
    fn every_host_answers_an_initial_packet_and_none_a_short_header() {
        for behaviour in &REACTING {
            let mut random = ChaCha8Rng::seed_from_u64(3);
            let mut memory = Memory::new(&mut random);
            assert!(react(behaviour, &mut memory, &initial(), &mut random).is_some(), "{behaviour:?}");
            let answer = react(behaviour, &mut memory, &[0x40; 40], &mut random);
            assert_eq!(answer.is_some(), *behaviour == Behaviour::Rubbish(Rubbish::Bytes), "{behaviour:?}");
        }
    }

    #[test]
    fn no_bytes_of_a_client_make_a_host_panic() {
        for behaviour in &REACTING {
            let mut random = ChaCha8Rng::seed_from_u64(3);
            for round in 0..2000 {
                let mut memory = Memory::new(&mut random);
                let mut datagram = initial();
                datagram.truncate(1 + (random.next_u32() % 1200) as usize);
                for _ in 0..round % 8 {
                    let place = random.next_u32() as usize % datagram.len().min(24);
                    datagram[place] = random.next_u32() as u8;
                }
                let _ = react(behaviour, &mut memory, &datagram, &mut random);
                learn(&mut memory, &datagram);
                assert!(flood(&memory, &mut random).len() > RUBBISH_BYTES);
            }
        }
    }

    #[test]
    fn a_listed_version_is_not_negotiated() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let mut memory = Memory::new(&mut random);
        let mut ask = |versions: &[u32]| {
            let behaviour = Behaviour::VersionNegotiation { versions: versions.to_vec(), server: None };
            react(&behaviour, &mut memory, &initial(), &mut random)
        };
        assert_eq!(ask(&[2, 1]), None);
        assert!(ask(&[2, 3]).is_some());
    }
}
