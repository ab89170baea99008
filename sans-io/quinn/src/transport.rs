//! How connections are configured: as ../../stacks/quinn does it, with keys and randomness of the seed.

use std::{
    any::Any,
    fs::File,
    io::{BufWriter, Write},
    sync::Arc,
    time::{Instant, SystemTime},
};

use anyhow::{Context, Result};
use quiclab_sans_io::{Seed, tls};
use quinn_proto::{
    ClientConfig, Connection, EndpointConfig, QlogConfig, ServerConfig, TimeSource, TransportConfig, VarInt,
    congestion::{Bbr, BbrConfig, ControllerFactory, Cubic, CubicConfig, NewReno, NewRenoConfig},
    crypto::rustls::{QuicClientConfig, QuicServerConfig},
};
use ring::{hkdf, hmac};

use crate::settings::{CongestionControl, Settings};

/// Bytes of one stream that the peer may send ahead; the library's own value, 1.25 MB, would limit transfers. The
/// library does not limit a connection as a whole.
const STREAM_WINDOW: VarInt = VarInt::from_u32(16 * 1024 * 1024);

/// What is the same for all connections.
pub fn endpoint(seed: &Seed) -> EndpointConfig {
    let reset_key = hmac::Key::new(hmac::HMAC_SHA256, &seed.key("stateless reset"));
    let mut config = EndpointConfig::new(Arc::new(reset_key));
    config.rng_seed(Some(seed.key("endpoint")));
    config
}

/// The client's side of its connection. `base`: the start of the run.
///
/// # Errors
/// Where TLS is not fit for QUIC, or the qlog file cannot be created.
pub fn client(settings: &Settings, tls: Arc<rustls::ClientConfig>, base: Instant) -> Result<ClientConfig> {
    let tls = QuicClientConfig::with_initial(tls, tls::initial_suite()?)?;
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(connection(settings, 1, base)?);
    Ok(config)
}

/// The server's side; a connection has a [`connection`] of its own in it.
///
/// # Errors
/// Where TLS is not fit for QUIC.
pub fn server(tls: Arc<rustls::ServerConfig>, seed: &Seed) -> Result<ServerConfig> {
    let tls = QuicServerConfig::with_initial(tls, tls::initial_suite()?)?;
    let token_key = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&seed.key("tokens"));
    let mut config = ServerConfig::new(Arc::new(tls), Arc::new(token_key));
    config.time_source(Arc::new(FixedTime));
    Ok(config)
}

/// The transport configuration of connection `number`, which owns its qlog file.
///
/// # Errors
/// Where the qlog file cannot be created.
pub fn connection(settings: &Settings, number: usize, base: Instant) -> Result<Arc<TransportConfig>> {
    let controller: Arc<dyn ControllerFactory + Send + Sync> = match settings.congestion_control {
        CongestionControl::Cubic => Arc::new(CubicConfig::default()),
        CongestionControl::Reno => Arc::new(NewRenoConfig::default()),
        CongestionControl::Bbr => Arc::new(BbrConfig::default()),
    };
    let mut config = TransportConfig::default();
    config
        .congestion_controller_factory(controller)
        .enable_segmentation_offload(settings.gso.is_on())
        .stream_receive_window(STREAM_WINDOW);
    if settings.qlog.is_some() {
        let (title, writer) = qlog(settings, number)?;
        let mut qlog = QlogConfig::default();
        qlog.writer(writer).title(Some(title)).start_time(base);
        config.qlog_stream(qlog.into_stream());
    }
    Ok(Arc::new(config))
}

/// Name and writer of a connection's qlog file.
fn qlog(settings: &Settings, number: usize) -> Result<(String, Box<dyn Write + Send + Sync>)> {
    let title = format!("quinn-{}-{number}", settings.role.name());
    let path = settings.qlog.as_deref().context("QLOGDIR: found no folder")?.join(format!("{title}.sqlog"));
    let file = File::create(&path).with_context(|| path.display().to_string())?;
    Ok((title, Box::new(BufWriter::new(file))))
}

/// The algorithm that the connection's controller is an instance of.
pub fn congestion_control(connection: &Connection) -> &'static str {
    let controller: Box<dyn Any> = connection.congestion_state().clone_box().into_any();
    if controller.is::<Cubic>() {
        "cubic"
    } else if controller.is::<NewReno>() {
        "reno"
    } else if controller.is::<Bbr>() {
        "bbr"
    } else {
        "unknown"
    }
}

/// What stands in tokens as the time of their issue.
struct FixedTime;

impl TimeSource for FixedTime {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + tls::NOW
    }
}
