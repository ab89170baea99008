//! What a connection carries: HTTP/0.9 or perf, of a server or a client.

use std::{ptr, time::Instant};

use anyhow::{Result, bail};
use ngtcp2_sys::{
    NGTCP2_ERR_STREAM_ID_BLOCKED, ngtcp2_conn, ngtcp2_conn_get_streams_bidi_left2, ngtcp2_conn_open_bidi_stream,
    ngtcp2_conn_shutdown_stream_write, ngtcp2_vec,
};

use crate::glue::explain;

/// Most parts of one [`Piece`].
pub const MAX_PARTS: usize = 16;

/// Stream data to be sent. The bytes stay where they are until the stream is closed.
pub struct Piece {
    pub stream: i64,
    pub parts: [ngtcp2_vec; MAX_PARTS],
    pub count: usize,
    /// True: nothing comes after these bytes.
    pub fin: bool,
}

/// What happens on the streams of one connection. `on_*`: the transport reports; `poll_*`: the transport asks.
pub trait Application {
    /// The handshake is complete (RFC 9001, section 4.1.1).
    fn on_completed(&mut self) {}

    /// Opens as many streams as are wanted and allowed. Called before each round of sending.
    fn open(&mut self, quic: Quic) -> Result<()>;
    /// Data in order.
    fn on_data(&mut self, quic: Quic, stream: i64, data: &[u8], fin: bool) -> Result<()>;
    /// The peer abandons its side of the stream.
    fn on_reset(&mut self, stream: i64, code: u64) -> Result<()>;
    /// Nothing more happens on the stream.
    fn on_closed(&mut self, stream: i64) -> Result<()>;
    /// The peer acknowledges the next `bytes` of the stream.
    fn on_acked(&mut self, stream: i64, bytes: u64) -> Result<()>;
    /// What to send next. `None`: nothing now.
    fn poll_piece(&mut self) -> Result<Option<Piece>>;
    /// `bytes` of the last piece went into a packet, and its end if all of them did.
    fn on_written(&mut self, piece: &Piece, bytes: usize) -> Result<()>;
    /// The peer's flow control forbids to send on the stream.
    fn on_blocked(&mut self, stream: i64);
    /// The peer's flow control lets the stream go on.
    fn on_unblocked(&mut self, stream: i64);
    /// The stream takes no more data.
    fn on_shut(&mut self, stream: i64);
    /// True where all has come that was to come.
    fn is_complete(&self) -> bool;
    /// When another stream is to be opened although nothing arrives. `None`: never.
    fn next_due(&self) -> Option<Instant> {
        None
    }
}

/// A connection, for an [`Application`] to open and abandon streams.
#[derive(Clone, Copy)]
pub struct Quic(pub *mut ngtcp2_conn);

impl Quic {
    /// Requests that the peer allows now.
    pub fn streams_left(self) -> u64 {
        // SAFETY: the connection lives as long as its application.
        unsafe { ngtcp2_conn_get_streams_bidi_left2(self.0) }
    }

    /// Opens a bidirectional stream. `None`: the peer allows no more now.
    ///
    /// # Errors
    /// What ngtcp2 answers.
    pub fn open_bidirectional(self) -> Result<Option<i64>> {
        let mut stream = -1;
        // SAFETY: as above; ngtcp2 writes the stream's number before it returns.
        match unsafe { ngtcp2_conn_open_bidi_stream(self.0, &mut stream, ptr::null_mut()) } {
            0 => Ok(Some(stream)),
            NGTCP2_ERR_STREAM_ID_BLOCKED => Ok(None),
            code => bail!("opening a stream: {}", explain(code)),
        }
    }

    /// Abandons this side of the stream.
    pub fn reset(self, stream: i64, code: u64) {
        // SAFETY: as above. An error: the stream is gone already.
        unsafe { ngtcp2_conn_shutdown_stream_write(self.0, 0, stream, code) };
    }
}
