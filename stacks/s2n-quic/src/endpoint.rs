//! How the library is configured: sockets, limits, congestion control.

use std::sync::Once;

use anyhow::Result;
use quiclab_contract::TestCase;
use s2n_quic::{
    Client, Server,
    provider::{
        congestion_controller::{Bbr, Cubic, Endpoint, PathInfo},
        endpoint_limits::{ConnectionAttempt, Limiter, Outcome},
        io::tokio::Provider as Io,
        limits::Limits,
    },
};

use crate::{
    recovery::Recovery,
    settings::{CongestionControl, Settings},
    tls,
};

/// Bytes that the peer may send ahead, on a stream as on the connection; the library's own value, 3.75 MB, could limit
/// transfers.
const WINDOW: u64 = 16 * 1024 * 1024;

/// Bytes of one stream that are sent and not acknowledged, or wait to be sent; the library's own value, 512 KB, would
/// limit transfers.
const SEND_BUFFER: u32 = 16 * 1024 * 1024;

/// A server on the port of the settings.
///
/// # Errors
/// Where the certificate cannot be used or the port not be had.
pub fn server(settings: &Settings) -> Result<Server> {
    let builder = Server::builder()
        .with_io(io(settings)?)?
        .with_tls(tls::server(settings)?)?
        .with_limits(limits()?)?
        .with_event(Recovery::default())?
        .with_endpoint_limits(Gate { retry: settings.test_case == TestCase::Retry })?;
    Ok(match settings.congestion_control {
        CongestionControl::Cubic => builder.with_congestion_controller(Named(Cubic::default()))?.start()?,
        CongestionControl::Bbr => builder.with_congestion_controller(Named(Bbr::default()))?.start()?,
    })
}

/// A client on a port of its own.
///
/// # Errors
/// Where `ca.pem` cannot be used.
pub fn client(settings: &Settings) -> Result<Client> {
    let builder = Client::builder()
        .with_io(io(settings)?)?
        .with_tls(tls::client(settings)?)?
        .with_limits(limits()?)?
        .with_event(Recovery::default())?;
    Ok(match settings.congestion_control {
        CongestionControl::Cubic => builder.with_congestion_controller(Named(Cubic::default()))?.start()?,
        CongestionControl::Bbr => builder.with_congestion_controller(Named(Bbr::default()))?.start()?,
    })
}

/// A socket on all addresses of one IP version.
fn io(settings: &Settings) -> Result<Io> {
    let io =
        Io::builder().with_receive_address(settings.local())?.with_only_v6(true)?.with_gso(settings.gso.is_on())?;
    Ok(io.build()?)
}

fn limits() -> Result<Limits> {
    Ok(Limits::new()
        .with_data_window(WINDOW)?
        .with_bidirectional_local_data_window(WINDOW)?
        .with_bidirectional_remote_data_window(WINDOW)?
        .with_max_send_buffer_size(SEND_BUFFER)?)
}

/// Says how a connection attempt without a valid token is answered.
struct Gate {
    retry: bool,
}

impl Limiter for Gate {
    fn on_connection_attempt(&mut self, _: &ConnectionAttempt) -> Outcome {
        if self.retry { Outcome::retry() } else { Outcome::allow() }
    }
}

/// A congestion control that says its name on stderr, once: there can be thousands of connections in a second.
#[derive(Debug)]
struct Named<E>(E);

impl<E: Endpoint> Endpoint for Named<E> {
    type CongestionController = E::CongestionController;

    fn new_congestion_controller(&mut self, path: PathInfo) -> Self::CongestionController {
        static SAID: Once = Once::new();
        SAID.call_once(|| eprintln!("congestion control: {}", std::any::type_name::<Self::CongestionController>()));
        self.0.new_congestion_controller(path)
    }
}
