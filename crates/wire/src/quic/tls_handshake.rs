//! What the TLS handshake of a connection showed.

use super::hello::{ClientOffer, ServerChoice};

/// What the TLS handshake of a connection showed, as far as it was captured and could be decrypted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsHandshake {
    /// What the newest ClientHello offers: behind a HelloRetryRequest there is a second one.
    pub offer: Option<ClientOffer>,
    /// What the ServerHello chooses.
    pub choice: Option<ServerChoice>,
    /// Whether the server's EncryptedExtensions accept 0-RTT data.
    pub accepts_early_data: Option<bool>,
    /// What the server chose of the application protocols that the client offered (ALPN, RFC 7301), such as "h3". `None` where its
    /// EncryptedExtensions were not read, or name none.
    pub application_protocol: Option<String>,
    /// Numbers of the server's transport parameters, in its order, RFC 9000 section 18. `None` where its EncryptedExtensions were not
    /// read.
    pub server_parameters: Option<Vec<u64>>,
    /// Bytes of the server's Certificate message behind its header. `None` where none was seen: a resumed session has none.
    pub certificate_bytes: Option<u32>,
}
