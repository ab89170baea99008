//! How far packets could be read.

use quiclab_wire::Decryption;

/// Share of the packets that may be unread before sums over their frames are null.
const MOST_UNREAD: f64 = 0.01;

/// How many QUIC packets could be read how far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecryptionCounts {
    /// Decrypted and authenticated.
    pub verified: u64,
    /// Packet number known, payload cut by the capture.
    pub header_only: u64,
    /// No key.
    pub no_keys: u64,
    /// Keys that do not fit.
    pub failed: u64,
    /// Not encrypted: Retry, Version Negotiation, other versions.
    pub not_protected: u64,
}

impl DecryptionCounts {
    pub(crate) fn count(&mut self, decryption: Decryption) {
        match decryption {
            Decryption::Verified => self.verified += 1,
            Decryption::HeaderOnly => self.header_only += 1,
            Decryption::NoKeys => self.no_keys += 1,
            Decryption::Failed => self.failed += 1,
            Decryption::NotProtected => self.not_protected += 1,
        }
    }

    /// Whether so much was decrypted that sums over frames mean something.
    pub(crate) fn is_nearly_all(&self) -> bool {
        let unread = self.header_only + self.no_keys + self.failed;
        self.verified > 0 && unread as f64 <= MOST_UNREAD * (unread + self.verified) as f64
    }
}
