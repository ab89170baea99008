//! The client: fetches every URL, stores the bodies, and says whether all of it is right.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use aws_lc_sys as ssl;
use ngtcp2_sys::{
    NGTCP2_ERR_INVALID_STATE, ngtcp2_conn_decode_and_set_0rtt_transport_params,
    ngtcp2_conn_encode_0rtt_transport_params2, ngtcp2_conn_initiate_key_update,
};
use nix::sys::socket::SockaddrStorage;
use quiclab_contract::{
    Request, TestCase,
    perf::{Exchanges, Load},
};

use crate::{
    application::Application,
    connection::{Connection, Start, State},
    glue::{explain, now},
    hq, perf,
    settings::Settings,
    tls::{Ticket, TlsContext},
    udp::Socket,
};

/// The code of a connection that ends well: neither HTTP/0.9 nor perf names one.
const NO_ERROR: u64 = 0;

/// What the second connection takes from the first.
struct Session {
    ticket: Ticket,
    /// The server's transport parameters, for early data.
    parameters: Vec<u8>,
}

/// Fetches and stores.
///
/// # Errors
/// Where the handshake fails or takes too long, the server's certificate does not verify, an answer is not 200 or shorter
/// or longer than announced, the connection ends early, or a file cannot be written.
pub fn run(settings: &Settings) -> Result<()> {
    if settings.perf_load == Load::Handshakes {
        return shake_hands(settings);
    }
    let peer = SockaddrStorage::from(settings.resolve()?);
    let context = TlsContext::new(settings)?;
    let (first, others) = settings.connections();
    if others.is_empty() {
        fetch(settings, &context, &peer, first, None, false)?;
        return Ok(());
    }
    let session = fetch(settings, &context, &peer, first, None, true)?.context("the server gave no session ticket")?;
    fetch(settings, &context, &peer, others, Some(&session), false)?;
    Ok(())
}

/// Opens connections until the time is over: one per URL at a time, each in a thread of its own.
fn shake_hands(settings: &Settings) -> Result<()> {
    let peer = SockaddrStorage::from(settings.resolve()?);
    let deadline = Instant::now() + settings.perf_duration.unwrap_or_default();
    let has_failed = AtomicBool::new(false);
    let one = || {
        let context = TlsContext::new(settings)?;
        while Instant::now() < deadline && !has_failed.load(Ordering::Relaxed) {
            fetch(settings, &context, &peer, &[], None, false)
                .inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let all: Vec<_> = settings.requests.iter().map(|_| scope.spawn(one)).collect();
        let outcomes = all.into_iter().map(|one| one.join().unwrap_or_else(|_| bail!("a thread panicked")));
        outcomes.collect()
    })
}

/// Fetches `requests` over one connection. Its session, where `keep_session` says to wait for one.
fn fetch(
    settings: &Settings,
    context: &TlsContext,
    peer: &SockaddrStorage,
    requests: &[Request],
    session: Option<&Session>,
    keep_session: bool,
) -> Result<Option<Session>> {
    let began = (settings.perf_load == Load::Handshakes).then(Instant::now);
    let mut socket = Socket::bind(settings)?;
    let application: Box<dyn Application> = match settings.perf {
        Some(sizes) => {
            let exchanges = Exchanges::new(sizes, requests.len(), settings.streams, settings.perf_duration);
            Box::new(perf::Client::new(exchanges.with(settings.perf_load).every(settings.perf_period), began))
        }
        None => Box::new(hq::Client::new(requests, settings)),
    };
    let tls = context.session(Some(settings.host()))?;
    let local = socket.local();
    let mut connection = Connection::new(settings, tls, application, &local, peer, &Start::Client)?;
    if let Some(session) = session {
        resume(&connection, session, settings.test_case == TestCase::ZeroRtt)?;
    }
    let mut update_due = settings.test_case == TestCase::KeyUpdate;
    loop {
        connection.advance(&mut socket)?;
        connection.report();
        if connection.shared.application.borrow().is_complete()
            && (!keep_session || connection.shared.ticket.borrow().is_some())
        {
            break;
        }
        let mut timeout = Duration::from_nanos(connection.expiry().saturating_sub(now()));
        if let Some(due) = connection.shared.application.borrow().next_due() {
            timeout = timeout.min(due.saturating_duration_since(Instant::now()));
        }
        // A full socket is the first thing to wait for.
        socket.wait(if socket.is_full() { None } else { Some(timeout) })?;
        socket.flush()?;
        while let Some(received) = socket.receive()? {
            if connection.read(&mut socket, &received)? == State::Over {
                bail!("the server closed the connection early");
            }
            if update_due && connection.shared.confirmed.get() {
                update_due = !update_keys(&connection)?;
            }
        }
    }
    if session.is_some() {
        check_session(&connection, settings.test_case == TestCase::ZeroRtt)?;
    }
    ensure!(!update_due, "the keys could not be updated");
    let kept = if keep_session { Some(session_of(&connection)?) } else { None };
    connection.close(&mut socket, NO_ERROR);
    Ok(kept)
}

/// Lets the connection begin with a session, and with early data where that is asked for.
fn resume(connection: &Connection, session: &Session, early_data: bool) -> Result<()> {
    // SAFETY: all of them live; AWS-LC takes a reference of its own.
    let outcome = unsafe { ssl::SSL_set_session(connection.tls.pointer, session.ticket.0) };
    ensure!(outcome == 1, "the session was refused");
    if early_data {
        // SAFETY: as above; ngtcp2 keeps a copy.
        let (capable, outcome) = unsafe {
            let parameters = &session.parameters;
            (
                ssl::SSL_SESSION_early_data_capable(session.ticket.0),
                ngtcp2_conn_decode_and_set_0rtt_transport_params(
                    connection.quic(),
                    parameters.as_ptr(),
                    parameters.len(),
                ),
            )
        };
        ensure!(capable == 1, "the server's ticket allows no early data");
        ensure!(outcome == 0, "parameters of early data: {}", explain(outcome));
    }
    Ok(())
}

/// Looks whether the session was taken, and the early data too.
fn check_session(connection: &Connection, early_data: bool) -> Result<()> {
    // SAFETY: the object lives.
    let (reused, accepted) = unsafe {
        (ssl::SSL_session_reused(connection.tls.pointer), ssl::SSL_early_data_accepted(connection.tls.pointer))
    };
    ensure!(reused == 1, "the server did not resume the session");
    ensure!(!early_data || accepted == 1, "the server did not take the early data");
    Ok(())
}

/// What another connection needs to go on where this one ends.
fn session_of(connection: &Connection) -> Result<Session> {
    let ticket = connection.shared.ticket.take().context("the server gave no session ticket")?;
    let mut parameters = vec![0; 512];
    // SAFETY: ngtcp2 writes at most the length given.
    let length = unsafe {
        ngtcp2_conn_encode_0rtt_transport_params2(connection.quic(), parameters.as_mut_ptr(), parameters.len())
    };
    parameters.truncate(usize::try_from(length).context("parameters of early data")?);
    Ok(Session { ticket, parameters })
}

/// Begins a key update (RFC 9001, section 6). False: not possible yet.
fn update_keys(connection: &Connection) -> Result<bool> {
    // SAFETY: the connection lives.
    match unsafe { ngtcp2_conn_initiate_key_update(connection.quic(), now()) } {
        0 => Ok(true),
        NGTCP2_ERR_INVALID_STATE => Ok(false),
        code => bail!("updating keys: {}", explain(code)),
    }
}
