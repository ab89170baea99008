//! The QUIC and TLS configuration: tquic's own values, plus what the settings ask for.

use std::{
    fs::{File, OpenOptions},
    io::BufWriter,
    sync::Once,
};

use anyhow::{Context, Result, anyhow};
use quiclab_contract::{Http, Pacing, Role, TestCase, hq, perf};
use tquic::{Connection, TlsConfig};

use crate::settings::Settings;

/// Time without any packet after which a connection is given up, in milliseconds.
const IDLE_TIMEOUT_MS: u64 = 30_000;

/// How long a server may take to complete the handshake, in milliseconds. A server itself has tquic's own limit, 30 s.
const HANDSHAKE_TIMEOUT_MS: u64 = 10_000;

/// Builds the configuration of all connections.
///
/// # Errors
/// Where tquic refuses a value, or a certificate file cannot be read.
pub fn config(settings: &Settings) -> Result<Box<tquic::Config>> {
    let mut config = tquic::Config::new()?;
    config.set_tls_config(tls(settings)?);
    let algorithm = settings.congestion_control;
    config.set_congestion_control_algorithm(algorithm);
    // There can be thousands of connections in a second.
    static SAID: Once = Once::new();
    SAID.call_once(|| eprintln!("congestion control handed to tquic: {algorithm:?}"));
    config.enable_pacing(settings.pacing == Pacing::User);
    config.enable_retry(settings.role == Role::Server && settings.test_case == TestCase::Retry);
    config.set_max_idle_timeout(IDLE_TIMEOUT_MS);
    if settings.role == Role::Client {
        config.set_max_handshake_timeout(HANDSHAKE_TIMEOUT_MS);
    }
    // The windows start at tquic's own values (10 MiB, 5 MiB per stream) and may grow far above the bandwidth-delay
    // products of interest, so that the congestion window and not flow control is what limits the sender.
    config.set_max_connection_window(48 * 1024 * 1024);
    config.set_max_stream_window(32 * 1024 * 1024);
    Ok(Box::new(config))
}

fn tls(settings: &Settings) -> Result<TlsConfig> {
    let file = |name: &str| {
        let path = settings.certs.join(name);
        path.into_os_string().into_string().map_err(|path| anyhow!("CERTS: {path:?} is not UTF-8"))
    };
    let alpn = match (settings.test_case, settings.http) {
        (TestCase::Perf, _) => perf::ALPN.to_vec(),
        (_, Http::H3) => b"h3".to_vec(),
        (_, Http::Hq) => hq::ALPN.to_vec(),
    };
    let early_data = settings.test_case == TestCase::ZeroRtt;
    match settings.role {
        Role::Server => {
            let (chain, key) = (file("cert.pem")?, file("priv.key")?);
            TlsConfig::new_server_config(&chain, &key, vec![alpn], early_data)
                .with_context(|| format!("CERTS: {chain}, {key}"))
        }
        Role::Client => {
            let authority = file("ca.pem")?;
            let mut tls = TlsConfig::new_client_config(vec![alpn], early_data)?;
            tls.set_ca_certs(&authority).with_context(|| authority.clone())?;
            tls.set_verify(true);
            Ok(tls)
        }
    }
}

/// Starts the key log and the qlog of a connection, where they were asked for.
///
/// # Errors
/// Where a file cannot be opened.
pub fn start_logs(quic: &mut Connection, settings: &Settings) -> Result<()> {
    if let Some(path) = &settings.key_log {
        let file = OpenOptions::new().create(true).append(true).open(path);
        quic.set_keylog(Box::new(file.with_context(|| format!("SSLKEYLOGFILE {}", path.display()))?));
    }
    if let Some(folder) = &settings.qlog {
        let path = folder.join(format!("{}.sqlog", quic.trace_id()));
        let file = File::create(&path).with_context(|| format!("QLOGDIR: creating {}", path.display()))?;
        quic.set_qlog(Box::new(BufWriter::new(file)), "quiclab".to_owned(), quic.trace_id().to_owned());
    }
    Ok(())
}

/// Why a client's connection is over, in words.
pub fn end_of(quic: &Connection) -> String {
    if quic.is_handshake_timeout() {
        return format!("handshake: not done within {HANDSHAKE_TIMEOUT_MS} ms");
    }
    if quic.is_idle_timeout() {
        return "idle timeout".to_owned();
    }
    match (quic.local_error(), quic.peer_error()) {
        (Some(error), _) => format!("error of this side: {error:?}"),
        (None, Some(error)) => format!("error of the other side: {error:?}"),
        (None, None) => "no reason given".to_owned(),
    }
}
