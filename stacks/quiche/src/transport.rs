//! The QUIC and TLS configuration: what quiche's own example programs set, plus what the settings ask for.

use std::{
    fs::{File, OpenOptions},
    io::{BufWriter, Read},
};

use anyhow::{Context, Result, anyhow};
use quiclab_contract::{Pacing, Role, TestCase};

use crate::{http::Http, settings::Settings};

/// Largest UDP payload, in bytes. 1350 is what quiche's own programs use, and what the published captures show.
pub const MAX_UDP_PAYLOAD: usize = 1350;

/// Time without any packet after which a connection is given up, in milliseconds.
const IDLE_TIMEOUT_MS: u64 = 30_000;

/// Connection IDs that each end has of the other at most, and so paths that quiche keeps: of a connection whose peer moves, it forgets none.
/// quiche's own default is 2, which is one move; this is what quic-go and MsQuic have.
const CONNECTION_IDS: u64 = 4;

/// Completes the configuration of all connections, and says which congestion control quiche accepted: it names none in
/// its qlog, and has no way to ask for it.
///
/// # Errors
/// Where quiche refuses a value, or a certificate file cannot be read.
pub fn configure(config: &mut quiche::Config, settings: &Settings) -> Result<()> {
    let file = |name: &str| {
        let path = settings.certs.join(name);
        path.into_os_string().into_string().map_err(|path| anyhow!("CERTS: {path:?} is not UTF-8"))
    };
    match settings.role {
        Role::Server => {
            let (chain, key) = (file("cert.pem")?, file("priv.key")?);
            config.load_cert_chain_from_pem_file(&chain).with_context(|| chain.clone())?;
            config.load_priv_key_from_pem_file(&key).with_context(|| key.clone())?;
        }
        Role::Client => {
            let authority = file("ca.pem")?;
            config.load_verify_locations_from_file(&authority).with_context(|| authority.clone())?;
            config.verify_peer(true);
        }
    }
    config.set_application_protos(Http::protocols(settings))?;
    let algorithm: quiche::CongestionControlAlgorithm = settings.congestion_control.quiche_name().parse()?;
    config.set_cc_algorithm(algorithm);
    eprintln!("congestion control: {algorithm:?}");
    config.enable_pacing(settings.pacing == Pacing::TxTime);
    if let Some(hystart) = settings.hystart {
        config.enable_hystart(hystart);
    }
    if settings.key_log.is_some() {
        config.log_keys();
    }
    if settings.test_case == TestCase::ZeroRtt {
        config.enable_early_data();
    }

    #[cfg(feature = "boring")]
    if let Some(rtt) = settings.handshake.initial_rtt() {
        config.set_initial_rtt(rtt);
    }

    config.set_max_idle_timeout(IDLE_TIMEOUT_MS);
    config.set_max_recv_udp_payload_size(MAX_UDP_PAYLOAD);
    config.set_max_send_udp_payload_size(MAX_UDP_PAYLOAD);
    config.set_active_connection_id_limit(CONNECTION_IDS);
    // Windows that grow with the transfer, far above the bandwidth-delay products of interest, so that the congestion
    // window and not flow control is what limits the sender. Start and limits are those of quiche's programs.
    config.set_initial_max_data(10_000_000);
    config.set_max_connection_window(24 * 1024 * 1024);
    config.set_initial_max_stream_data_bidi_local(1_000_000);
    config.set_initial_max_stream_data_bidi_remote(1_000_000);
    config.set_initial_max_stream_data_uni(1_000_000);
    config.set_max_stream_window(16 * 1024 * 1024);
    config.set_initial_max_streams_bidi(100);
    config.set_initial_max_streams_uni(100);
    Ok(())
}

/// Makes a new connection log what the settings ask for: TLS secrets, qlog.
///
/// # Errors
/// Where a file cannot be opened.
pub fn log(quic: &mut quiche::Connection, settings: &Settings) -> Result<()> {
    if let Some(path) = &settings.key_log {
        let file = OpenOptions::new().create(true).append(true).open(path);
        quic.set_keylog(Box::new(file.with_context(|| format!("SSLKEYLOGFILE {}", path.display()))?));
    }
    if let Some(folder) = &settings.qlog {
        let role = settings.role.name();
        let path = folder.join(format!("{}-{role}.sqlog", quic.trace_id()));
        let file = File::create(&path).with_context(|| format!("QLOGDIR {}", path.display()))?;
        let title = format!("quiche {role}, {}", settings.congestion_control.quiche_name());
        quic.set_qlog(Box::new(BufWriter::new(file)), title, String::new());
    }
    Ok(())
}

/// A connection id of the longest kind, from the kernel's random numbers (which the laboratory seeds).
///
/// # Errors
/// Where `/dev/urandom` cannot be read.
pub fn random_connection_id() -> Result<quiche::ConnectionId<'static>> {
    Ok(quiche::ConnectionId::from_vec(random::<{ quiche::MAX_CONN_ID_LEN }>()?.to_vec()))
}

/// Bytes from the kernel's random numbers.
///
/// # Errors
/// Where `/dev/urandom` cannot be read.
pub fn random<const LENGTH: usize>() -> Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes)).context("/dev/urandom")?;
    Ok(bytes)
}
