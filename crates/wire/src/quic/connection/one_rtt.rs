//! Opening 1-RTT packets: by the secrets of the handshake, or by trial where it was not captured.

use super::{Buffers, Connection, Space};
use crate::keylog::{ClientRandom, KeyLog, SecretLabel};
use crate::quic::keys::{
    NotOpened, OneRttKeys, Opened, ProtectedPacket, SMALLEST_SHORT_PACKET, open_payload, suites_of,
};
use crate::quic::packet::QuicPacket;
use crate::quic::protection::{PacketKey, Secret};
use crate::quic::{MAXIMUM_CONNECTION_ID_BYTES, VERSION_1};
use crate::role::Role;

/// Trials with every connection of the key log where the handshake was not captured: two packets, each with connection
/// IDs of every length.
const MAXIMUM_BLIND_TRIALS: u32 = 2 * (MAXIMUM_CONNECTION_ID_BYTES as u32 + 1);
/// Connections of a key log tried so.
const MAXIMUM_BLIND_CONNECTIONS: usize = 64;
/// Multiples of a packet number's window tried so, as far as they begin among the first 4 million packets of a connection:
/// one for numbers of three and four bytes, which reach further by themselves.
const BLIND_WINDOWS: u64 = 64;
const BLIND_PACKETS: u64 = 1 << 22;
impl Connection {
    /// Whether its next 1-RTT packet of this sender may be tried with every connection of a key log.
    pub(crate) fn tries_blindly(&self, sender: Role) -> bool {
        self.client_random.is_none()
            && self.one_rtt[sender as usize].is_none()
            && self.blind_trials < MAXIMUM_BLIND_TRIALS
    }

    pub(super) fn open_one_rtt(
        &mut self,
        sender: Role,
        packet: &ProtectedPacket,
        key_log: &KeyLog,
        buffers: &mut Buffers,
        row: &mut QuicPacket,
    ) -> Result<Opened, NotOpened> {
        let label = [SecretLabel::ClientTraffic, SecretLabel::ServerTraffic][sender as usize];
        if self.one_rtt[sender as usize].is_none() {
            self.find_one_rtt_keys(sender, label, packet, key_log, buffers)?;
        }
        if self.one_rtt[sender as usize].is_some() {
            let opened = self.open_by_one_rtt_keys(sender, packet, buffers, row);
            if !matches!(opened, Err(NotOpened::Failed)) {
                return opened;
            }
        }
        self.try_one_rtt_secrets(sender, label, packet, key_log, buffers, row)
    }

    /// Several TLS sessions may have one client random. If the keys at hand, if there are any, open nothing, this tries the
    /// secrets of all.
    fn try_one_rtt_secrets(
        &mut self,
        sender: Role,
        label: SecretLabel,
        packet: &ProtectedPacket,
        key_log: &KeyLog,
        buffers: &mut Buffers,
        row: &mut QuicPacket,
    ) -> Result<Opened, NotOpened> {
        let secrets = self.client_random.as_ref().map_or(&[][..], |random| key_log.secrets(random, label));
        let (Some(suite), [_, _, ..]) = (self.suite, secrets) else {
            return Err(NotOpened::Failed);
        };
        let version = self.version.unwrap_or(VERSION_1);
        let has_loss_bits = self.sends_loss_bits(sender);
        let before = self.one_rtt[sender as usize].take();
        let phase_before = row.key_phase;
        let mut result = Err(NotOpened::Failed);
        for secret in secrets {
            let keys = Secret::new(suite, version, secret).and_then(|secret| OneRttKeys::of(secret, has_loss_bits));
            let Some(keys) = keys else { continue };
            self.one_rtt[sender as usize] = Some(Box::new(keys));
            result = self.open_by_one_rtt_keys(sender, packet, buffers, row);
            match result {
                Ok(Opened::Whole { .. }) => return result,
                Ok(Opened::Cut(_)) => {
                    result = Ok(Opened::Cut(None));
                    break;
                }
                Err(_) => {}
            }
        }
        self.one_rtt[sender as usize] = before;
        row.key_phase = phase_before;
        result
    }

    fn open_by_one_rtt_keys(
        &mut self,
        sender: Role,
        packet: &ProtectedPacket,
        buffers: &mut Buffers,
        row: &mut QuicPacket,
    ) -> Result<Opened, NotOpened> {
        let numbers = self.numbers_of(sender, Space::Application);
        let keys = self.one_rtt[sender as usize].as_mut().ok_or(NotOpened::NoKeys)?;
        let unmasked =
            keys.current.header.unmask(packet.captured, packet.packet_number_offset).ok_or(NotOpened::NoKeys)?;
        // RFC 9000 section 17.3.1: the third lowest bit.
        let phase = unmasked.first_byte & 0x04 != 0;
        row.key_phase = Some(phase);
        if packet.captured.len() < packet.length {
            return Ok(Opened::Cut(Some(unmasked)));
        }
        let scratch = &mut buffers.scratch;
        let mut try_key = |key: &PacketKey| {
            let mut candidates = numbers.candidates(unmasked.truncated_packet_number, unmasked.packet_number_bytes);
            let opened = candidates.find_map(|number| open_payload(key, packet, &unmasked, number, scratch).ok());
            opened.ok_or(NotOpened::Failed)
        };
        if phase == keys.phase {
            return try_key(&keys.current.packet);
        }
        // Before the largest number so far: reordered, from before the update. Otherwise an update, RFC 9001 section 6.3.
        if let Some(previous) = &keys.previous
            && let Ok(opened) = try_key(previous)
        {
            return Ok(opened);
        }
        if keys.next.is_none() {
            let next = keys.current.secret.next();
            keys.next = next.and_then(|secret| Some((secret.packet_key()?, secret))).map(|(key, secret)| (secret, key));
        }
        let Some((_, key)) = &keys.next else {
            return Err(NotOpened::Failed);
        };
        let opened = try_key(key)?;
        if let Some((secret, key)) = keys.next.take() {
            keys.current.secret = secret;
            keys.previous = Some(std::mem::replace(&mut keys.current.packet, key));
            keys.phase = phase;
            self.key_updates[sender as usize] += 1;
        }
        Ok(opened)
    }

    /// Finds a sender's keys by the handshake where it was seen, by trial where it was not. Finds none where the handshake leaves several
    /// secrets.
    fn find_one_rtt_keys(
        &mut self,
        sender: Role,
        label: SecretLabel,
        packet: &ProtectedPacket,
        key_log: &KeyLog,
        buffers: &mut Buffers,
    ) -> Result<(), NotOpened> {
        let version = self.version.unwrap_or(VERSION_1);
        if let Some(random) = self.client_random {
            let secrets = key_log.secrets(&random, label);
            if secrets.is_empty() {
                return Err(NotOpened::NoKeys);
            }
            if let Some(suite) = self.suite {
                let [secret] = secrets else { return Ok(()) };
                let has_loss_bits = self.sends_loss_bits(sender);
                let keys = Secret::new(suite, version, secret).and_then(|secret| OneRttKeys::of(secret, has_loss_bits));
                self.one_rtt[sender as usize] = keys.map(Box::new);
                return self.one_rtt[sender as usize].as_ref().map(|_| ()).ok_or(NotOpened::Failed);
            }
        }
        if key_log.connections() == 0 || self.blind_trials >= MAXIMUM_BLIND_TRIALS {
            return Err(NotOpened::NoKeys);
        }
        let is_long_enough = packet.captured.len() >= packet.packet_number_offset + SMALLEST_SHORT_PACKET - 1;
        if packet.captured.len() < packet.length || !is_long_enough {
            return Err(NotOpened::NoKeys);
        }
        self.blind_trials += 1;
        let randoms: Vec<ClientRandom> = match self.client_random {
            Some(random) => vec![random],
            None => {
                let free = key_log.client_randoms().filter(|random| !buffers.taken_randoms.contains(random));
                free.take(MAXIMUM_BLIND_CONNECTIONS).copied().collect()
            }
        };
        for random in randoms {
            let secrets = key_log.secrets(&random, label).iter();
            let known_suite = self.suite;
            let trials = secrets.flat_map(|secret| suites_of(secret, known_suite).map(move |suite| (secret, suite)));
            for (secret, suite, has_loss_bits) in
                trials.flat_map(|(secret, suite)| [(secret, suite, false), (secret, suite, true)])
            {
                let keys = Secret::new(suite, version, secret).and_then(|secret| OneRttKeys::of(secret, has_loss_bits));
                let Some(keys) = keys else { continue };
                let Some(unmasked) = keys.current.header.unmask(packet.captured, packet.packet_number_offset) else {
                    continue;
                };
                let window = 1_u64 << (8 * unmasked.packet_number_bytes);
                let windows = (BLIND_PACKETS / window).clamp(1, BLIND_WINDOWS);
                let found =
                    (0..windows).map(|multiple| multiple * window + unmasked.truncated_packet_number).find(|number| {
                        open_payload(&keys.current.packet, packet, &unmasked, *number, &mut buffers.scratch).is_ok()
                    });
                if let Some(number) = found {
                    // So that the number is decoded to the one that was found.
                    if let Some(before) = number.checked_sub(1) {
                        self.numbers_mut(sender, Space::Application).on_decrypted(before);
                    }
                    self.client_random = Some(random);
                    self.suite = Some(suite);
                    self.one_rtt[sender as usize] = Some(Box::new(keys));
                    return Ok(());
                }
            }
        }
        Err(NotOpened::Failed)
    }
}
