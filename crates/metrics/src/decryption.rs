//! How far packets could be read.

use quiclab_wire::{Decryption, QuicPacket};

/// How many QUIC packets could be read how far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecryptionCounts {
    /// Decrypted and authenticated.
    pub verified: u64,
    /// Payload cut by the capture.
    pub header_only: u64,
    /// Packets with a payload cut by the capture whose number is not known either.
    pub header_only_without_number: u64,
    /// No key.
    pub no_keys: u64,
    /// Keys that do not fit.
    pub failed: u64,
    /// Packets that are not encrypted: Retry, Version Negotiation, other versions.
    pub not_protected: u64,
}

impl DecryptionCounts {
    pub(crate) fn count(&mut self, packet: &QuicPacket) {
        match packet.decryption {
            Decryption::Verified => self.verified += 1,
            Decryption::HeaderOnly => {
                self.header_only += 1;
                self.header_only_without_number += u64::from(packet.packet_number.is_none());
            }
            Decryption::NoKeys => self.no_keys += 1,
            Decryption::Failed => self.failed += 1,
            Decryption::NotProtected => self.not_protected += 1,
        }
    }

    /// Packets that are protected: those that anything could be read of.
    pub(crate) fn protected(&self) -> u64 {
        self.verified + self.header_only + self.no_keys + self.failed
    }

    /// Packets whose number is not known.
    pub(crate) fn without_number(&self) -> u64 {
        self.unopened() + self.header_only_without_number
    }

    /// Packets whose frames are not known.
    pub(crate) fn closed(&self) -> u64 {
        self.unopened() + self.header_only
    }

    fn unopened(&self) -> u64 {
        self.no_keys + self.failed
    }

    /// Why they could not be opened, one sentence without its end. `sender`: of the packets.
    pub(crate) fn in_words(&self, sender: quiclab_wire::Role) -> String {
        let kinds = [
            (self.no_keys, "without keys"),
            (self.failed, "that its keys do not decrypt"),
            (self.header_only, "cut by the snap length"),
        ];
        let kinds: Vec<String> =
            kinds.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        let hint = if self.no_keys >= self.failed.max(self.header_only) {
            "pass the key log of this connection with --keys"
        } else if self.failed >= self.header_only {
            "they are damaged or forged, or the key log is the wrong one"
        } else {
            "capture whole packets (snap length 0)"
        };
        format!(
            "of the {}'s {} protected packets, the frames of {} are not known: {}; {hint}",
            sender.name(),
            self.protected(),
            self.closed(),
            kinds.join(", ")
        )
    }
}
