//! What is set in BoringSSL itself, below quiche: a cipher suite, a key exchange, and a certificate that takes its
//! time.
//!
//! A release of quiche that brings a BoringSSL of its own has no way to it; the settings are refused there.

use std::sync::Arc;

use anyhow::{Result, ensure};
use boring::{
    ex_data::Index,
    ssl::{SelectCertError, Ssl, SslContextBuilder, SslMethod, SslRef},
};
use foreign_types::ForeignTypeRef;

use crate::{handshake::KeyExchange, hold::Hold};

/// TLS_CHACHA20_POLY1305_SHA256, RFC 8446, appendix B.4.
const CHACHA20_POLY1305_SHA256: u16 = 0x1303;

/// Makes `quic`, which has sent nothing yet, offer TLS_CHACHA20_POLY1305_SHA256 and no other cipher suite.
///
/// # Errors
/// Where BoringSSL refuses.
pub fn offer_chacha20_only(quic: &mut quiche::Connection) -> Result<()> {
    let ssl: &mut SslRef = quic.as_mut();
    let suites = [CHACHA20_POLY1305_SHA256];
    // SAFETY: `ssl` is alive, and BoringSSL copies the list, which is of the length given; no flags are allowed.
    let done =
        unsafe { boring_sys::SSL_set1_tls13_ciphers(ssl.as_ptr(), suites.as_ptr(), std::ptr::null(), suites.len()) };
    ensure!(done == 1, "BoringSSL refuses TLS_CHACHA20_POLY1305_SHA256");
    Ok(())
}

/// Makes `quic`, which has sent nothing yet, offer one key exchange and no other.
///
/// # Errors
/// Where BoringSSL refuses.
pub fn offer_key_exchange(quic: &mut quiche::Connection, exchange: KeyExchange) -> Result<()> {
    let ssl: &mut SslRef = quic.as_mut();
    Ok(ssl.set_curves_list(exchange.group())?)
}

/// Holds the server's certificate back, connection by connection, while quiche goes on: it acknowledges what arrives.
pub struct DelayedCertificate {
    hold: Index<Ssl, Arc<Hold>>,
}

impl DelayedCertificate {
    /// A configuration whose handshakes stop at the certificate until it is due.
    ///
    /// # Errors
    /// Where BoringSSL is out of memory.
    pub fn config(version: u32) -> Result<(quiche::Config, Self)> {
        let index = Ssl::new_ex_index::<Arc<Hold>>()?;
        let mut builder = SslContextBuilder::new(SslMethod::tls())?;
        // Asked again whenever quiche sends or receives.
        builder.set_select_certificate_callback(move |hello| match hello.ssl().ex_data(index) {
            Some(hold) if !hold.asks() => Err(SelectCertError::RETRY),
            _ => Ok(()),
        });
        Ok((quiche::Config::with_boring_ssl_ctx_builder(version, builder)?, Self { hold: index }))
    }

    /// Sets what a new connection waits for.
    pub fn hold(&self, quic: &mut quiche::Connection, hold: Arc<Hold>) {
        let ssl: &mut SslRef = quic.as_mut();
        ssl.set_ex_data(self.hold, hold);
    }
}
