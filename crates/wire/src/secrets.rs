//! Secrets that a capture carries.

/// One Decryption Secrets Block.
#[derive(Clone, PartialEq, Eq)]
pub struct Secrets {
    /// `secrets_type` of the block; [`Secrets::TLS_KEY_LOG`] for SSLKEYLOGFILE lines.
    pub kind: u32,
    /// The block's data without its padding.
    pub data: Vec<u8>,
}

impl Secrets {
    /// `secrets_type` of a TLS key log ("TLSK").
    pub const TLS_KEY_LOG: u32 = 0x544c_534b;
}

impl std::fmt::Debug for Secrets {
    /// Shows kind and size only: secrets do not belong in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets")
            .field("kind", &format_args!("{:#010x}", self.kind))
            .field("bytes", &self.data.len())
            .finish()
    }
}
