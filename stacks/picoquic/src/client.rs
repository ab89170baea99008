//! The client: fetches every URL, stores the bodies, and says whether all of it is right.

use std::{
    ffi::{CString, c_char, c_int},
    net::SocketAddr,
    ptr,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use nix::sys::socket::{SockaddrLike, SockaddrStorage};
use quiclab_contract::{Http, Request, TestCase, perf::Exchanges};

use crate::{
    application::{Application, Quic},
    events::{Connection, on_event},
    ffi, h3, hq, perf,
    quic::{self, Context},
    settings::Settings,
};

/// How long a handshake may take, in microseconds.
const HANDSHAKE_TIMEOUT: u64 = 10_000_000;

/// Version 2 of QUIC (RFC 9369, section 3.1).
const VERSION_2: u32 = 0x6b33_43cf;

/// Fetches and stores. `default_pto`: the probe timeout before the first round-trip time, `None` for picoquic's own.
///
/// # Errors
/// Where the handshake fails or takes too long, the server's certificate does not verify, an answer is shorter or longer than
/// announced, the connection ends early, or a file cannot be written.
pub fn run(settings: &Settings, default_pto: Option<Duration>) -> Result<()> {
    let mut context = context(settings, ptr::null_mut())?;
    context.default_pto = default_pto;
    let (first, others) = settings.connections();
    fetch(settings, &context, first, !others.is_empty())?;
    if !others.is_empty() {
        fetch(settings, &context, others, false)?;
    }
    Ok(())
}

/// A client's context. `clock`: as of [`Context::new`].
///
/// # Errors
/// As [`Context::new`].
pub fn context(settings: &Settings, clock: *mut u64) -> Result<Context> {
    let context = Context::new(settings, clock, None, ptr::null_mut())?;
    // SAFETY: the context lives.
    unsafe { ffi::picoquic_set_default_handshake_timeout(context.pointer, HANDSHAKE_TIMEOUT) };
    Ok(context)
}

/// Fetches `requests` over one connection. It ends no sooner than a session ticket has come where `keep_session` says so.
fn fetch(settings: &Settings, context: &Context, requests: &[Request], keep_session: bool) -> Result<()> {
    let mut fetch = Fetch::begin(settings, context, settings.resolve()?, requests, keep_session)?;
    context.run(settings, || fetch.step(settings, context))?;
    fetch.check(settings, context)
}

/// A connection that fetches files.
pub struct Fetch {
    quic: Quic,
    /// Made by a box. picoquic has this address, and does not call back between two rounds of sending and receiving.
    state: *mut Connection,
    keep_session: bool,
    resumes: bool,
    update_due: bool,
    is_closing: bool,
}

impl Fetch {
    /// Begins a connection to `peer` for `requests`.
    ///
    /// # Errors
    /// Where picoquic refuses, or a session that should be resumed is not there.
    pub fn begin(
        settings: &Settings,
        context: &Context,
        peer: SocketAddr,
        requests: &[Request],
        keep_session: bool,
    ) -> Result<Self> {
        let application: Box<dyn Application> = match settings.perf {
            Some(sizes) => {
                let exchanges = Exchanges::new(sizes, requests.len(), settings.streams, settings.perf_duration);
                Box::new(perf::Client::new(exchanges.with(settings.perf_load)))
            }
            None if settings.http == Http::H3 => Box::new(h3::Client::new(requests, settings)?),
            None => Box::new(hq::Client::new(requests, settings)),
        };
        let resumes = settings.test_case.takes_two_connections() && !keep_session;
        let mut connection = Box::new(Connection::new(application));
        let quic = begin(settings, context, peer, &mut *connection, resumes)?;
        Ok(Self {
            quic,
            state: Box::into_raw(connection),
            keep_session,
            resumes,
            update_due: settings.test_case == TestCase::KeyUpdate,
            is_closing: false,
        })
    }

    /// Does what is due after a round of sending and receiving. True: all is done or has failed, and the packet that closes the connection has left.
    pub fn step(&mut self, settings: &Settings, context: &Context) -> bool {
        // SAFETY: it lives as long as `self`.
        let connection = unsafe { &mut *self.state };
        let quic = self.quic;
        if connection.is_over {
            return true;
        }
        if self.is_closing {
            // The packet that says so has left.
            return quic.state() >= ffi::picoquic_state_closing;
        }
        quic.report();
        if self.update_due && quic.state() == ffi::picoquic_state_ready {
            // SAFETY: the connection lives.
            self.update_due = unsafe { ffi::picoquic_start_key_rotation(quic.0) } != 0;
        }
        let has_ticket = !self.keep_session || has_ticket(settings, context);
        if connection.failure.is_some() || connection.application.is_complete() && has_ticket {
            quic.close(connection.application.codes().done);
            self.is_closing = true;
        }
        false
    }

    /// Says whether all of it is right.
    ///
    /// # Errors
    /// The first thing that is not.
    pub fn check(&mut self, settings: &Settings, context: &Context) -> Result<()> {
        // SAFETY: the connection lives as long as `self`, and so does its state.
        let (is_resumed, connection) =
            unsafe { (ffi::picoquic_tls_is_psk_handshake(self.quic.0) != 0, &mut *self.state) };
        if let Some(error) = connection.failure.take() {
            return Err(error);
        }
        ensure!(connection.application.is_complete(), "the connection ended early");
        ensure!(!self.keep_session || has_ticket(settings, context), "the server gave no session ticket");
        ensure!(!self.update_due, "the keys could not be updated");
        ensure!(!self.resumes || is_resumed, "the server did not resume the session");
        Ok(())
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        // SAFETY: made by `begin`, and not used again; the connection reports to its state until it is deleted.
        unsafe {
            ffi::picoquic_delete_cnx(self.quic.0);
            drop(Box::from_raw(self.state));
        }
    }
}

/// Begins a connection whose state is `state`, with early data where it resumes a session and the test case says so.
fn begin(
    settings: &Settings,
    context: &Context,
    peer: SocketAddr,
    state: *mut Connection,
    resumes: bool,
) -> Result<Quic> {
    let peer = SockaddrStorage::from(peer);
    let (host, alpn) = (CString::new(settings.host())?, CString::new(quic::alpn(settings))?);
    // SAFETY: everything pointed to lives during the calls; picoquic keeps copies.
    unsafe {
        let null = ffi::picoquic_connection_id_t { id: [0; 20], id_len: 0 };
        let quic = ffi::picoquic_create_cnx(
            context.pointer,
            null,
            null,
            peer.as_ptr().cast(),
            ffi::picoquic_get_quic_time(context.pointer),
            1,
            host.as_ptr(),
            alpn.as_ptr(),
            1,
        );
        ensure!(!quic.is_null(), "picoquic cannot begin a connection");
        ffi::picoquic_set_callback(quic, Some(on_event), state.cast());
        if settings.test_case == TestCase::Version2 {
            ffi::picoquic_set_desired_version(quic, VERSION_2);
        }
        if let Some(pto) = context.default_pto {
            Quic(quic).set_default_pto(pto);
        }
        let outcome = ffi::picoquic_start_client_cnx(quic);
        ensure!(outcome == 0, "picoquic cannot begin a connection: {outcome:#x}");
        let quic = Quic(quic);
        if resumes && settings.test_case == TestCase::ZeroRtt {
            ensure!(ffi::picoquic_is_0rtt_available(quic.0) != 0, "the server's ticket allows no early data");
            (*state).application.open(quic).context("early data")?;
        }
        Ok(quic)
    }
}

unsafe extern "C" {
    /// The session ticket for a server, of any version of QUIC where `version` is 0. Zero: there is one. No header for applications
    /// has it, and picoquic reports no ticket in another way.
    fn picoquic_get_ticket(
        quic: *mut ffi::picoquic_quic_t,
        server: *const c_char,
        server_length: u16,
        alpn: *const c_char,
        alpn_length: u16,
        version: u32,
        ticket: *mut *mut u8,
        ticket_length: *mut u16,
        parameters: *mut ffi::picoquic_tp_t,
        mark_used: c_int,
    ) -> c_int;
}

/// True once the context has a session ticket of the server.
fn has_ticket(settings: &Settings, context: &Context) -> bool {
    let (Ok(host), Ok(alpn)) = (CString::new(settings.host()), CString::new(quic::alpn(settings))) else {
        return false;
    };
    let (mut ticket, mut length) = (ptr::null_mut(), 0);
    // SAFETY: the context lives; picoquic lends the ticket, which is not used.
    let outcome = unsafe {
        picoquic_get_ticket(
            context.pointer,
            host.as_ptr(),
            host.as_bytes().len() as u16,
            alpn.as_ptr(),
            alpn.as_bytes().len() as u16,
            0,
            &mut ticket,
            &mut length,
            ptr::null_mut(),
            0,
        )
    };
    outcome == 0
}
