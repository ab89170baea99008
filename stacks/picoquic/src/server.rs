//! The server: answers until it is killed.

use std::{
    ffi::{c_int, c_void},
    ptr, slice, thread,
    time::Duration,
};

use anyhow::Result;
use quiclab_contract::{Http, TestCase};

use crate::{
    application::{Application, Quic},
    events::{Connection, on_event},
    ffi, h3, hq, perf,
    quic::{self, Context},
    settings::Settings,
};

/// The state that picoquic hands to [`on_new`].
pub struct Server<'a> {
    settings: &'a Settings,
    /// The name in ALPN.
    pub alpn: &'static [u8],
    /// The probe timeout before the first round-trip time; `None`: picoquic's own.
    default_pto: Option<Duration>,
    /// States of connections. picoquic has their addresses.
    #[allow(clippy::vec_box, reason = "an address must not change")]
    connections: Vec<Box<Connection>>,
}

/// A server and its context, which reports to it.
pub struct Running<'a> {
    pub context: Context,
    // Freed after the context.
    server: Box<Server<'a>>,
}

/// Serves until the process is killed. `default_pto`: as in [`Server`].
///
/// # Errors
/// Where the socket or the certificate cannot be used. What a client does wrong is its own connection's matter.
pub fn run(settings: &Settings, default_pto: Option<Duration>) -> Result<()> {
    let mut running = begin(settings, ptr::null_mut())?;
    running.server.default_pto = default_pto;
    let state: *mut Server = &mut *running.server;
    let context = &running.context;
    context.run(settings, || {
        // SAFETY: the server lives, and nothing else uses it between two rounds of the loop.
        unsafe { (*state).look() };
        // SAFETY: the context lives, and so does what it gives.
        let newest = unsafe { ffi::picoquic_get_first_cnx(context.pointer) };
        if !newest.is_null() {
            Quic(newest).report();
        }
        false
    })
}

/// A server that waits for its first datagram. `clock`: as of [`Context::new`].
///
/// # Errors
/// Where the certificate cannot be used.
pub fn begin(settings: &Settings, clock: *mut u64) -> Result<Running<'_>> {
    let mut server =
        Box::new(Server { settings, alpn: quic::alpn(settings), default_pto: None, connections: Vec::new() });
    let state: *mut Server = &mut *server;
    let context = Context::new(settings, clock, Some(on_new), state.cast())?;
    // SAFETY: the context lives.
    unsafe {
        ffi::picoquic_set_alpn_select_fn_v2(context.pointer, Some(select_alpn));
        if settings.test_case == TestCase::Retry {
            // Every client's address is validated.
            ffi::picoquic_set_cookie_mode(context.pointer, 1);
        }
    }
    Ok(Running { context, server })
}

impl Running<'_> {
    /// Says what went wrong, and forgets what is over. Not to be called from picoquic's callbacks.
    pub fn look(&mut self) {
        self.server.look();
    }
}

impl Server<'_> {
    fn accept(&mut self) -> Result<*mut Connection> {
        let application: Box<dyn Application> = match (self.settings.test_case, self.settings.http) {
            (TestCase::Perf, _) => Box::<perf::Server>::default(),
            (_, Http::H3) => Box::new(h3::Server::new(self.settings)?),
            _ => Box::new(hq::Server::new(self.settings)),
        };
        self.connections.push(Box::new(Connection::new(application)));
        Ok(self.connections.last_mut().map_or(ptr::null_mut(), |connection| ptr::from_mut(&mut **connection)))
    }

    /// Says what went wrong, and forgets what is over.
    fn look(&mut self) {
        for connection in &mut self.connections {
            if let Some(error) = connection.failure.take() {
                eprintln!("{error:#}");
            }
        }
        self.connections.retain(|connection| !connection.is_over);
    }
}

/// picoquic's callback for a connection that has no state yet: it gets one, and the event.
unsafe extern "C" fn on_new(
    quic: *mut ffi::picoquic_cnx_t,
    stream: u64,
    bytes: *mut u8,
    length: usize,
    event: ffi::picoquic_call_back_event_t,
    state: *mut c_void,
    stream_context: *mut c_void,
) -> c_int {
    // SAFETY: the state is what `run` has handed over, and outlives the context.
    unsafe {
        let connection = match (*state.cast::<Server>()).accept() {
            Ok(connection) => connection,
            Err(error) => {
                eprintln!("{error:#}");
                return -1;
            }
        };
        ffi::picoquic_set_callback(quic, Some(on_event), connection.cast());
        on_event(quic, stream, bytes, length, event, connection.cast(), stream_context)
    }
}

/// Chooses the name in ALPN of the test case: each server has one only. Otherwise picoquic refuses the connection.
///
/// picoquic asks when it has a whole ClientHello, before it makes an answer. Therefore this is also where a late certificate is waited
/// for, by the only thread that there is, and where the connection gets its probe timeout.
unsafe extern "C" fn select_alpn(
    quic: *mut ffi::picoquic_quic_t,
    list: *mut ffi::picoquic_iovec_t,
    count: usize,
) -> usize {
    // SAFETY: the server's own default state, what the client offers, and the connection that it belongs to, for the call.
    let (server, offered, connection) = unsafe {
        let state = ffi::picoquic_get_default_callback_context(quic).cast::<Server>();
        (&*state, slice::from_raw_parts(list, count), (*quic).cnx_in_progress)
    };
    if !connection.is_null() {
        if let Some(pto) = server.default_pto {
            Quic(connection).set_default_pto(pto);
        }
        let delay = server.settings.certificate_delay;
        if !delay.is_zero() {
            thread::sleep(delay.saturating_sub(Quic(connection).age()));
        }
    }
    let is_it = |name: &ffi::picoquic_iovec_t| {
        // SAFETY: as above.
        !name.base.is_null() && unsafe { slice::from_raw_parts(name.base.cast::<u8>(), name.len) } == server.alpn
    };
    offered.iter().position(is_it).unwrap_or(count)
}
