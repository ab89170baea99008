//! One ngtcp2 connection with its TLS state and its application.

use std::{
    cell::{Cell, RefCell},
    ffi::c_int,
    mem, ptr,
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use aws_lc_sys as ssl;
use ngtcp2_sys::*;
use nix::sys::socket::SockaddrStorage;
use quiclab_contract::perf::{COUNTERS, Path};

use crate::{
    application::{Application, Quic},
    callbacks,
    glue::{explain, now, path, path_storage, random_cid, remote},
    hold::Hold,
    settings::Settings,
    shared::Shared,
    tls::Tls,
    transport,
    udp::{Batch, MAX_UDP_PAYLOAD, Received, Socket},
};

/// Where a connection stands.
#[derive(Debug, PartialEq, Eq)]
pub enum State {
    Open,
    /// Nothing more is to be sent.
    Over,
}

/// How a new connection begins.
pub enum Start<'a> {
    Client,
    /// The header of the first Initial, the client's original destination where a Retry came before, and the token.
    Server {
        header: &'a ngtcp2_pkt_hd,
        original: Option<ngtcp2_cid>,
    },
}

pub struct Connection {
    pub shared: Box<Shared>,
    pub tls: Tls,
    reference: Box<ngtcp2_crypto_conn_ref>,
}

impl Connection {
    /// A connection that has sent and received nothing.
    ///
    /// # Errors
    /// Where ngtcp2 refuses, or the qlog cannot be created.
    pub fn new(
        settings: &Settings,
        tls: Tls,
        application: Box<dyn Application>,
        local: &SockaddrStorage,
        peer: &SockaddrStorage,
        start: &Start<'_>,
    ) -> Result<Self> {
        let (scid, random) = (random_cid()?, random_cid()?);
        let original = match start {
            Start::Client => random,
            Start::Server { header, original } => original.unwrap_or(header.dcid),
        };
        let shared = Box::new(Shared {
            quic: Cell::new(ptr::null_mut()),
            application: RefCell::new(application),
            failure: RefCell::default(),
            routes: RefCell::new(vec![(scid, true)]),
            qlog: RefCell::new(transport::qlog(settings, &original)?),
            ticket: RefCell::default(),
            hold: if matches!(start, Start::Server { .. }) { Hold::new(settings) } else { None },
            confirmed: Cell::new(false),
        });
        let state = ptr::from_ref(&*shared).cast_mut().cast();
        let mut config = transport::settings(settings, now());
        let mut parameters = transport::parameters(settings);
        let path = path(local, peer);
        let callbacks = callbacks::table();
        let mut quic = ptr::null_mut();
        // SAFETY: everything pointed to lives during the call; ngtcp2 keeps copies, and `state`, which outlives it.
        let outcome = unsafe {
            match start {
                Start::Client => ngtcp2_conn_client_new_versioned(
                    &mut quic,
                    &random,
                    &scid,
                    &path,
                    transport::V1,
                    NGTCP2_CALLBACKS_VERSION as c_int,
                    &callbacks,
                    NGTCP2_SETTINGS_VERSION as c_int,
                    &config,
                    NGTCP2_TRANSPORT_PARAMS_VERSION as c_int,
                    &parameters,
                    ptr::null(),
                    state,
                ),
                Start::Server { header, original: retried } => {
                    parameters.original_dcid = original;
                    parameters.original_dcid_present = 1;
                    if retried.is_some() {
                        parameters.retry_scid = header.dcid;
                        parameters.retry_scid_present = 1;
                        config.token = header.token;
                        config.tokenlen = header.tokenlen;
                        config.token_type = ngtcp2_token_type_NGTCP2_TOKEN_TYPE_RETRY;
                    }
                    ngtcp2_conn_server_new_versioned(
                        &mut quic,
                        &header.scid,
                        &scid,
                        &path,
                        header.version,
                        NGTCP2_CALLBACKS_VERSION as c_int,
                        &callbacks,
                        NGTCP2_SETTINGS_VERSION as c_int,
                        &config,
                        NGTCP2_TRANSPORT_PARAMS_VERSION as c_int,
                        &parameters,
                        ptr::null(),
                        state,
                    )
                }
            }
        };
        ensure!(outcome == 0, "a new connection: {}", explain(outcome));
        shared.quic.set(quic);
        let reference = Box::new(ngtcp2_crypto_conn_ref { get_conn: Some(callbacks::quic_of), user_data: state });
        let connection = Self { shared, tls, reference };
        // SAFETY: the TLS object, the connection and the reference belong to `connection` and die together.
        unsafe {
            ssl::SSL_set_ex_data(connection.tls.pointer, 0, ptr::from_ref(&*connection.reference).cast_mut().cast());
            ngtcp2_conn_set_tls_native_handle(quic, connection.tls.pointer.cast());
        }
        if matches!(start, Start::Server { .. }) {
            connection.set_server_parameters()?;
        }
        Ok(connection)
    }

    /// AWS-LC reads the client's transport parameters only where its own are set before the ClientHello. ngtcp2 sets them
    /// again, with the version that was agreed on.
    fn set_server_parameters(&self) -> Result<()> {
        let mut encoded = [0; 512];
        // SAFETY: ngtcp2 writes at most the length given, AWS-LC keeps a copy.
        unsafe {
            let length = ngtcp2_conn_encode_local_transport_params2(self.quic(), encoded.as_mut_ptr(), encoded.len());
            ensure!(length >= 0, "transport parameters: {}", explain(length as c_int));
            let outcome = ssl::SSL_set_quic_transport_params(self.tls.pointer, encoded.as_ptr(), length as usize);
            ensure!(outcome == 1, "transport parameters refused");
            // What must not have changed for early data to be taken.
            let length = ngtcp2_conn_encode_0rtt_transport_params2(self.quic(), encoded.as_mut_ptr(), encoded.len());
            ensure!(length >= 0, "parameters of early data: {}", explain(length as c_int));
            let outcome = ssl::SSL_set_quic_early_data_context(self.tls.pointer, encoded.as_ptr(), length as usize);
            ensure!(outcome == 1, "parameters of early data refused");
        }
        Ok(())
    }

    /// ngtcp2's own object.
    pub fn quic(&self) -> *mut ngtcp2_conn {
        self.shared.quic.get()
    }

    /// Tells what ngtcp2 knows of the path, where a line of progress of `perf` needs that.
    pub fn report(&self) {
        COUNTERS.path(|| {
            // SAFETY: the connection lives; a plain structure for which zeros are valid, filled by ngtcp2.
            let found = unsafe {
                let mut found: ngtcp2_conn_info = mem::zeroed();
                ngtcp2_conn_get_conn_info2_versioned(self.quic(), NGTCP2_CONN_INFO_VERSION as c_int, &mut found);
                found
            };
            let rtt = Duration::from_nanos(found.smoothed_rtt);
            Some(Path { rtt, window: found.cwnd, lost: found.pkt_lost })
        });
    }

    /// Takes a datagram.
    ///
    /// # Errors
    /// Where the connection has failed. The peer is told.
    pub fn read(&mut self, socket: &mut Socket, received: &Received) -> Result<State> {
        let local = socket.local();
        let path = path(&local, &received.peer);
        let info = ngtcp2_pkt_info { ecn: received.ecn };
        // SAFETY: everything pointed to lives during the call.
        let outcome = unsafe {
            ngtcp2_conn_read_pkt_versioned(
                self.quic(),
                &path,
                NGTCP2_PKT_INFO_VERSION as c_int,
                &info,
                received.bytes.as_ptr(),
                received.bytes.len(),
                now(),
            )
        };
        if let Some(hold) = &self.shared.hold {
            hold.on_received();
        }
        match outcome {
            0 => Ok(State::Open),
            NGTCP2_ERR_DRAINING | NGTCP2_ERR_CLOSING | NGTCP2_ERR_DROP_CONN => Ok(State::Over),
            code => self.fail(socket, code),
        }
    }

    /// When something is to be done though nothing arrives, in nanoseconds of CLOCK_MONOTONIC.
    pub fn expiry(&self) -> u64 {
        let expiry = self.ngtcp2_expiry();
        self.shared.hold.as_ref().map_or(expiry, |hold| hold.expiry(expiry))
    }

    /// When ngtcp2 wants to be called again.
    fn ngtcp2_expiry(&self) -> u64 {
        // SAFETY: the connection lives.
        unsafe { ngtcp2_conn_get_expiry2(self.quic()) }
    }

    /// Lets time pass, then sends what may be sent.
    ///
    /// # Errors
    /// Where the connection has failed.
    pub fn advance(&mut self, socket: &mut Socket) -> Result<State> {
        let time = now();
        if self.ngtcp2_expiry() <= time {
            // SAFETY: the connection lives.
            match unsafe { ngtcp2_conn_handle_expiry(self.quic(), time) } {
                0 => {}
                // Nobody is there to be told.
                code @ (NGTCP2_ERR_IDLE_CLOSE | NGTCP2_ERR_HANDSHAKE_TIMEOUT) => bail!("{}", explain(code)),
                code => return self.fail(socket, code),
            }
        }
        let opened = self.shared.application.borrow_mut().open(Quic(self.quic()));
        if self.shared.note(opened) != 0 {
            return self.fail(socket, NGTCP2_ERR_CALLBACK_FAILURE);
        }
        let resumes = |connection: &Self| connection.shared.hold.as_ref().is_some_and(Hold::resumes);
        loop {
            if resumes(self) {
                // SAFETY: the connection lives. AWS-LC asks for the certificate again.
                match unsafe { ngtcp2_conn_continue_handshake(self.quic(), now()) } {
                    0 => {}
                    code => return self.fail(socket, code),
                }
            }
            if !self.shared.hold.as_ref().is_some_and(Hold::is_silent)
                && let State::Over = self.write(socket)?
            {
                return Ok(State::Over);
            }
            // An instant acknowledgment has left, and its certificate was there all the time.
            if !resumes(self) {
                return Ok(State::Open);
            }
        }
    }

    /// Sends what may be sent.
    fn write(&mut self, socket: &mut Socket) -> Result<State> {
        while !socket.is_full() {
            let time = now();
            let (mut storage, mut info) = (path_storage(), ngtcp2_pkt_info { ecn: 0 });
            let mut bytes = Vec::with_capacity(MAX_UDP_PAYLOAD);
            let mut segment = 0;
            // SAFETY: ngtcp2 writes at most the capacity, and says how much it wrote. It sets the time of the next batch.
            let length = unsafe {
                let length = ngtcp2_conn_write_aggregate_pkt_versioned(
                    self.quic(),
                    &mut storage.path,
                    NGTCP2_PKT_INFO_VERSION as c_int,
                    &mut info,
                    bytes.as_mut_ptr(),
                    MAX_UDP_PAYLOAD,
                    &mut segment,
                    Some(callbacks::write_packet),
                    time,
                );
                bytes.set_len(usize::try_from(length).unwrap_or(0));
                length
            };
            if length < 0 {
                return self.fail(socket, length as c_int);
            }
            if length == 0 {
                break;
            }
            socket.send(Batch { bytes, segment, peer: remote(&storage)?, ecn: info.ecn })?;
            if let Some(hold) = &self.shared.hold {
                hold.on_sent();
            }
        }
        Ok(State::Open)
    }

    /// Closes with an application's error code. No error here: nobody would be there to hear it.
    pub fn close(&mut self, socket: &mut Socket, code: u64) {
        // SAFETY: a plain structure for which zeros are valid, filled by ngtcp2.
        let error = unsafe {
            let mut error: ngtcp2_ccerr = mem::zeroed();
            ngtcp2_ccerr_set_application_error(&mut error, code, ptr::null(), 0);
            error
        };
        let _ = self.send_close(socket, &error);
    }

    /// Tells the peer of an error of this side, and gives it in words.
    fn fail(&mut self, socket: &mut Socket, code: c_int) -> Result<State> {
        // SAFETY: as above.
        let error = unsafe {
            let mut error: ngtcp2_ccerr = mem::zeroed();
            match code {
                NGTCP2_ERR_CRYPTO => {
                    ngtcp2_ccerr_set_tls_alert(&mut error, ngtcp2_conn_get_tls_alert2(self.quic()), ptr::null(), 0);
                }
                code => ngtcp2_ccerr_set_liberr(&mut error, code, ptr::null(), 0),
            }
            error
        };
        let _ = self.send_close(socket, &error);
        if let Some(failure) = self.shared.failure.take() {
            return Err(failure);
        }
        Err(match code {
            NGTCP2_ERR_CRYPTO => anyhow!("TLS: alert {}", error.error_code & 0xff),
            code => anyhow!("{}", explain(code)),
        })
    }

    fn send_close(&mut self, socket: &mut Socket, error: &ngtcp2_ccerr) -> Result<()> {
        let (mut storage, mut info) = (path_storage(), ngtcp2_pkt_info { ecn: 0 });
        let mut bytes = vec![0; MAX_UDP_PAYLOAD];
        // SAFETY: ngtcp2 writes at most the length given.
        let length = unsafe {
            ngtcp2_conn_write_connection_close_versioned(
                self.quic(),
                &mut storage.path,
                NGTCP2_PKT_INFO_VERSION as c_int,
                &mut info,
                bytes.as_mut_ptr(),
                bytes.len(),
                error,
                now(),
            )
        };
        let segment = usize::try_from(length).context("CONNECTION_CLOSE cannot be sent")?;
        if segment > 0 && !socket.is_full() {
            bytes.truncate(segment);
            socket.send(Batch { bytes, segment, peer: remote(&storage)?, ecn: info.ecn })?;
        }
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: made by `new`, freed only here, before the TLS object and the state its callbacks need.
        unsafe { ngtcp2_conn_del(self.quic()) };
    }
}
