//! One ngtcp2 connection with its TLS state and its application.

use std::{cell::RefCell, ptr, rc::Rc};

use anyhow::{Error, Result, anyhow};
use quiclab_sans_io::{Buffer, Received, wire::BUFFER_LIMIT};
use rand_chacha::{ChaCha20Rng, rand_core::RngCore};
use rustls::quic::Suite;

use crate::{
    application::Application,
    callbacks,
    ffi::*,
    handshake::{self, Handshake},
    quic::{Addresses, Quic, QuicError, QuicResult, Reason},
    settings::Settings,
    shared::Shared,
    transport,
};

/// Bytes of the connection IDs given to peers, as in ngtcp2's own programs.
const CID_LENGTH: usize = 18;

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Open,
    /// The peer has closed it: nothing more is to be sent.
    Over,
}

/// What to send, in datagrams or in batches of them.
pub struct Outgoing {
    pub buffers: Vec<Buffer>,
    /// True: what ngtcp2 gives at once stays together.
    pub is_batched: bool,
}

/// The header of a client's first Initial. `None`: the datagram begins no connection.
pub fn accept(datagram: &[u8]) -> Option<FirstInitial> {
    // SAFETY: a plain structure for which zeros are valid; ngtcp2 reads no more than the length given.
    let (outcome, header) = unsafe {
        let mut header: ngtcp2_pkt_hd = std::mem::zeroed();
        (ngtcp2_accept(&mut header, datagram.as_ptr(), datagram.len()), header)
    };
    (outcome == 0).then_some(FirstInitial { source: header.scid, destination: header.dcid })
}

/// The client's connection IDs in its first Initial.
#[derive(Clone, Copy)]
pub struct FirstInitial {
    source: ngtcp2_cid,
    destination: ngtcp2_cid,
}

pub struct Connection {
    /// Counted only because ngtcp2 has a pointer to it, beside this one.
    shared: Rc<Shared>,
    addresses: Addresses,
    quic: Quic,
}

impl Connection {
    /// A connection that has sent and received nothing: a client's, or a server's that `first` begins.
    ///
    /// # Errors
    /// Where ngtcp2 or rustls refuses, or the qlog cannot be created.
    pub fn new(
        settings: &Settings,
        start: handshake::Start,
        initial: Suite,
        first: Option<FirstInitial>,
        mut random: ChaCha20Rng,
        now: u64,
    ) -> Result<Self> {
        let mut random_cid = || {
            let mut cid = ngtcp2_cid { datalen: CID_LENGTH, data: [0; 20] };
            random.fill_bytes(&mut cid.data[..CID_LENGTH]);
            cid
        };
        let source = random_cid();
        let original = first.map_or_else(random_cid, |first| first.destination);
        let shared = Rc::new(Shared {
            application: RefCell::new(Application::new(settings)),
            handshake: RefCell::default(),
            random: RefCell::new(random),
            failure: RefCell::default(),
            qlog: RefCell::new(transport::qlog(settings, &original)?),
        });
        let state = Rc::as_ptr(&shared).cast_mut().cast();
        let mut config = transport::settings(settings, now);
        config.rand_ctx.native_handle = state;
        let mut parameters = transport::parameters(settings);
        if first.is_some() {
            parameters.original_dcid = original;
            parameters.original_dcid_present = 1;
        }
        let addresses = Addresses::new();
        let (path, callbacks) = (addresses.path(), callbacks::table());
        let (new, peer): (NewConnection, _) = match &first {
            None => (ngtcp2_conn_client_new_versioned, &original),
            Some(first) => (ngtcp2_conn_server_new_versioned, &first.source),
        };
        let mut object = ptr::null_mut();
        // SAFETY: everything pointed to lives during the call; ngtcp2 keeps copies, and `state`, which outlives it.
        let outcome = unsafe {
            new(
                &mut object,
                peer,
                &source,
                &path,
                transport::V1,
                NGTCP2_CALLBACKS_VERSION,
                &callbacks,
                NGTCP2_SETTINGS_VERSION,
                &config,
                NGTCP2_TRANSPORT_PARAMS_VERSION,
                &parameters,
                ptr::null(),
                state,
            )
        };
        if outcome != 0 {
            return Err(Error::new(QuicError(outcome)).context("a new connection"));
        }
        // SAFETY: `drop` frees it, after which nothing uses it.
        let quic = unsafe { Quic::new(object) };
        let connection = Self { shared, addresses, quic };
        let handshake = Handshake::new(start, initial, quic.local_parameters(source, transport::V1)?)?;
        connection.shared.handshake.replace(Some(handshake));
        Ok(connection)
    }

    /// True where all has come that was to come.
    pub fn is_complete(&self) -> bool {
        self.shared.application.borrow().is_complete()
    }

    /// When ngtcp2 wants to be called again; `None`: never.
    pub fn expiry(&self) -> Option<u64> {
        self.quic.expiry()
    }

    /// Takes a datagram.
    ///
    /// # Errors
    /// Where the connection has failed. The peer is told.
    pub fn read(&mut self, received: &Received, now: u64, outgoing: &mut Outgoing) -> Result<State> {
        match self.quic.read(&self.addresses.path(), received.ecn, &received.payload, now) {
            Ok(()) => Ok(State::Open),
            Err(QuicError(NGTCP2_ERR_DRAINING | NGTCP2_ERR_CLOSING | NGTCP2_ERR_DROP_CONN)) => Ok(State::Over),
            Err(error) => Err(self.fail(error, now, outgoing)),
        }
    }

    /// Lets time pass, then sends what may be sent.
    ///
    /// # Errors
    /// Where the connection has failed.
    pub fn advance(&mut self, now: u64, outgoing: &mut Outgoing) -> Result<()> {
        if self.expiry().is_some_and(|expiry| expiry <= now) {
            match self.quic.handle_expiry(now) {
                Ok(()) => {}
                // Nobody is there to be told.
                Err(error @ QuicError(NGTCP2_ERR_IDLE_CLOSE | NGTCP2_ERR_HANDSHAKE_TIMEOUT)) => {
                    return Err(error.into());
                }
                Err(error) => return Err(self.fail(error, now, outgoing)),
            }
        }
        let opened = self.shared.application.borrow_mut().open(self.quic);
        if self.shared.note(opened) != 0 {
            return Err(self.fail(QuicError(NGTCP2_ERR_CALLBACK_FAILURE), now, outgoing));
        }
        loop {
            match self.quic.write(BUFFER_LIMIT, callbacks::write_packet, now) {
                Ok((bytes, ..)) if bytes.is_empty() => break,
                Ok((bytes, segment, ecn)) => outgoing.push(bytes, segment, ecn),
                Err(error) => return Err(self.fail(error, now, outgoing)),
            }
        }
        // What ngtcp2 was not told of: a qlog that cannot be written.
        self.shared.failure.take().map_or(Ok(()), Err)
    }

    /// Closes the connection: all is done. No error here: nobody would be there to hear it.
    pub fn close(&mut self, now: u64, outgoing: &mut Outgoing) {
        let code = self.shared.application.borrow().no_error();
        let _ = self.send_close(Reason::Application(code), now, outgoing);
    }

    /// Tells the peer of an error of this side, and gives it in words.
    fn fail(&mut self, error: QuicError, now: u64, outgoing: &mut Outgoing) -> Error {
        let alert = self.quic.alert();
        let is_alert = error == QuicError(NGTCP2_ERR_CRYPTO);
        let reason = if is_alert { Reason::Alert(alert) } else { Reason::Error(error) };
        let _ = self.send_close(reason, now, outgoing);
        match self.shared.failure.take() {
            Some(failure) => failure,
            None if is_alert => anyhow!("TLS: alert {alert}"),
            None => error.into(),
        }
    }

    fn send_close(&mut self, reason: Reason, now: u64, outgoing: &mut Outgoing) -> QuicResult<()> {
        let (bytes, ecn) = self.quic.close(BUFFER_LIMIT, reason, now)?;
        if !bytes.is_empty() {
            let segment = bytes.len();
            outgoing.push(bytes, segment, ecn);
        }
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: made by `new`, freed only here, before the state that its callbacks need.
        unsafe { self.quic.delete() };
    }
}

impl Outgoing {
    fn push(&mut self, bytes: Vec<u8>, segment: usize, ecn: u8) {
        // A packet is never longer than a datagram.
        let length = segment.min(BUFFER_LIMIT) as u16;
        if self.is_batched {
            self.buffers.push(Buffer { ecn, segment: length, planned: None, payload: bytes });
            return;
        }
        for payload in bytes.chunks(segment) {
            self.buffers.extend(Buffer::datagram(ecn, payload.to_vec()));
        }
    }
}
