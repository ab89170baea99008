//! What a peer says in the handshake of TLS: to a client with the seeded provider, and to its key exchange.

#![no_main]

use std::sync::{Arc, OnceLock};

use quiclab_sans_io::{Seed, tls::Randomness};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::CryptoProvider,
    quic::{ClientConnection, Version},
    version::TLS13,
};

fn provider() -> &'static CryptoProvider {
    // Its parts live as long as the process.
    static PROVIDER: OnceLock<CryptoProvider> = OnceLock::new();
    PROVIDER.get_or_init(|| Randomness::new(&Seed::parse(&"7".repeat(64), "client").unwrap()).provider())
}

fn config() -> Arc<ClientConfig> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    let make = || {
        let mut config = ClientConfig::builder_with_provider(Arc::new(provider().clone()))
            .with_protocol_versions(&[&TLS13])
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        config.alpn_protocols = vec![b"hq-interop".to_vec()];
        Arc::new(config)
    };
    CONFIG.get_or_init(make).clone()
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((kind, input)) = input.split_first() else { return };
    if kind % 2 == 0 {
        for group in &provider().kx_groups {
            if let Ok(exchange) = group.start() {
                let _ = exchange.complete(input);
            }
        }
        return;
    }
    let name = "server".try_into().unwrap();
    let mut connection = ClientConnection::new(config(), Version::V1, name, vec![0x01, 0x01, 0x00]).unwrap();
    let mut hello = Vec::new();
    connection.write_hs(&mut hello);
    assert_eq!(hello[0], 1, "a ClientHello");
    // With the length that is right, so that something is read.
    let length = (input.len() as u32).to_be_bytes();
    let message = [&[2, length[1], length[2], length[3]], input].concat();
    if connection.read_hs(&message).is_ok() {
        connection.write_hs(&mut hello);
    }
});
