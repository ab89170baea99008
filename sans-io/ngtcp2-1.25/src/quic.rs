//! ngtcp2's object of a connection, with what is called on it.

use std::{
    ffi::{CStr, c_int},
    fmt, mem, ptr,
};

use rustls::quic::{DirectionalKeys, Keys};

use crate::{
    ffi::*,
    keys::{IV, crypto_context, header_handle, packet_handle},
};

/// A negative answer of ngtcp2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuicError(pub c_int);

impl fmt::Display for QuicError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        // SAFETY: a static text for every number.
        f.write_str(&unsafe { CStr::from_ptr(ngtcp2_strerror(self.0)) }.to_string_lossy())
    }
}

impl std::error::Error for QuicError {}

/// What ngtcp2 answers.
pub type QuicResult<T> = Result<T, QuicError>;

fn check(code: c_int) -> QuicResult<()> {
    if code < 0 { Err(QuicError(code)) } else { Ok(()) }
}

/// A length, or an error.
fn length(found: ngtcp2_ssize) -> QuicResult<usize> {
    usize::try_from(found).map_err(|_| QuicError(found as c_int))
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug)]
pub enum Reason {
    /// The application says so, with its code.
    Application(u64),
    /// TLS says so.
    Alert(u8),
    /// ngtcp2 says so.
    Error(QuicError),
}

/// Where an endpoint is, and its peer. The simulator has no addresses that an endpoint sees, so these are any two.
pub struct Addresses {
    local: sockaddr_in,
    remote: sockaddr_in,
}

impl Addresses {
    /// The same two for both sides.
    pub fn new() -> Self {
        const INTERNET: u16 = 2;
        let address = |last| sockaddr_in {
            sin_family: INTERNET,
            sin_port: 443_u16.to_be_bytes(),
            sin_addr: [192, 0, 2, last],
            sin_zero: [0; 8],
        };
        Self { local: address(1), remote: address(2) }
    }

    /// The path between them, which must not be used when `self` is gone.
    pub fn path(&self) -> ngtcp2_path {
        let address = |of: &sockaddr_in| ngtcp2_addr {
            addr: ptr::from_ref(of).cast_mut(),
            addrlen: mem::size_of::<sockaddr_in>() as u32,
        };
        ngtcp2_path { local: address(&self.local), remote: address(&self.remote), user_data: ptr::null_mut() }
    }
}

/// The object of a connection. Copies are the same object.
#[derive(Clone, Copy)]
pub struct Quic(*mut ngtcp2_conn);

// Every `unsafe` below rests on `new`: the object lives. What slices and references point to lives during the call, and
// ngtcp2 copies what it keeps.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Quic {
    /// # Safety
    /// The object must live as long as any copy of `self` is used.
    pub unsafe fn new(object: *mut ngtcp2_conn) -> Self {
        Self(object)
    }

    /// Frees it.
    ///
    /// # Safety
    /// No copy of `self` may be used after this.
    pub unsafe fn delete(self) {
        unsafe { ngtcp2_conn_del(self.0) };
    }

    /// True for the side that answers.
    pub fn is_server(self) -> bool {
        unsafe { ngtcp2_conn_is_server2(self.0) != 0 }
    }

    /// The connection ID that packets go to now.
    pub fn destination(self) -> ngtcp2_cid {
        unsafe { *ngtcp2_conn_get_dcid2(self.0) }
    }

    /// Takes a datagram.
    pub fn read(self, path: &ngtcp2_path, ecn: u8, payload: &[u8], now: u64) -> QuicResult<()> {
        let info = ngtcp2_pkt_info { ecn };
        check(unsafe {
            let (bytes, length) = (payload.as_ptr(), payload.len());
            ngtcp2_conn_read_pkt_versioned(self.0, path, NGTCP2_PKT_INFO_VERSION, &info, bytes, length, now)
        })
    }

    /// When it wants to be called again; `None`: never.
    pub fn expiry(self) -> Option<u64> {
        Some(unsafe { ngtcp2_conn_get_expiry2(self.0) }).filter(|&time| time != u64::MAX)
    }

    /// Tells it that the time of [`Self::expiry`] has come.
    pub fn handle_expiry(self, now: u64) -> QuicResult<()> {
        check(unsafe { ngtcp2_conn_handle_expiry(self.0, now) })
    }

    /// Writes as many packets as ngtcp2 would send at once, its send quantum, each by a call of `write_packet`. They have
    /// one ECN mark and, but for the last, one length. Its pacer waits then. The bytes, the length of a packet, the mark.
    pub fn write(self, room: usize, write_packet: ngtcp2_write_pkt, now: u64) -> QuicResult<(Vec<u8>, usize, u8)> {
        let mut info = ngtcp2_pkt_info { ecn: 0 };
        let mut bytes = Vec::with_capacity(room);
        let mut segment = 0;
        // ngtcp2 writes at most the capacity, and says how much it wrote. There is one path: it need not name it.
        unsafe {
            let written = ngtcp2_conn_write_aggregate_pkt_versioned(
                self.0,
                ptr::null_mut(),
                NGTCP2_PKT_INFO_VERSION,
                &mut info,
                bytes.as_mut_ptr(),
                room,
                &mut segment,
                write_packet,
                now,
            );
            bytes.set_len(length(written)?);
        }
        Ok((bytes, segment, info.ecn))
    }

    /// Writes the packet that closes the connection; empty where there is nothing to say.
    pub fn close(self, room: usize, reason: Reason, now: u64) -> QuicResult<(Vec<u8>, u8)> {
        let mut info = ngtcp2_pkt_info { ecn: 0 };
        let mut bytes = vec![0; room];
        let written = unsafe {
            // A plain structure for which zeros are valid, filled by ngtcp2.
            let mut error: ngtcp2_ccerr = mem::zeroed();
            match reason {
                Reason::Application(code) => ngtcp2_ccerr_set_application_error(&mut error, code, ptr::null(), 0),
                Reason::Alert(alert) => ngtcp2_ccerr_set_tls_alert(&mut error, alert, ptr::null(), 0),
                Reason::Error(QuicError(code)) => ngtcp2_ccerr_set_liberr(&mut error, code, ptr::null(), 0),
            }
            let (start, version) = (bytes.as_mut_ptr(), NGTCP2_PKT_INFO_VERSION);
            let path = ptr::null_mut();
            ngtcp2_conn_write_connection_close_versioned(self.0, path, version, &mut info, start, room, &error, now)
        };
        bytes.truncate(length(written)?);
        Ok((bytes, info.ecn))
    }

    /// The transport parameters of this side, for TLS, as the connection ID and the version that both sides will have make
    /// them. A server's object knows those later than rustls asks: it has the peer's parameters first, and no version but this.
    pub fn local_parameters(self, source: ngtcp2_cid, version: u32) -> QuicResult<Vec<u8>> {
        let mut bytes = vec![0; 512];
        let written = unsafe {
            let mut parameters = *ngtcp2_conn_get_local_transport_params2(self.0);
            parameters.initial_scid = source;
            parameters.initial_scid_present = 1;
            parameters.version_info.chosen_version = version;
            let (start, length) = (bytes.as_mut_ptr(), bytes.len());
            ngtcp2_transport_params_encode_versioned(start, length, NGTCP2_TRANSPORT_PARAMS_VERSION, &parameters)
        };
        bytes.truncate(length(written)?);
        Ok(bytes)
    }

    /// Takes those of the peer, as TLS has them.
    pub fn set_remote_parameters(self, bytes: &[u8]) -> QuicResult<()> {
        check(unsafe { ngtcp2_conn_decode_and_set_remote_transport_params(self.0, bytes.as_ptr(), bytes.len()) })
    }

    /// Hands over what TLS has to say.
    pub fn submit_crypto_data(self, level: ngtcp2_encryption_level, data: &[u8]) -> QuicResult<()> {
        check(unsafe { ngtcp2_conn_submit_crypto_data(self.0, level, data.as_ptr(), data.len()) })
    }

    /// Installs the keys of Initial packets.
    pub fn install_initial_keys(self, keys: Keys) -> QuicResult<()> {
        let context = crypto_context(&*keys.local.packet);
        let (rx, rx_header) = (packet_handle(keys.remote.packet), header_handle(keys.remote.header));
        let (tx, tx_header) = (packet_handle(keys.local.packet), header_handle(keys.local.header));
        check(unsafe {
            ngtcp2_conn_set_initial_crypto_ctx(self.0, &context);
            let iv = IV.as_ptr();
            ngtcp2_conn_install_initial_key(self.0, &rx, iv, &rx_header, &tx, iv, &tx_header, IV.len())
        })
    }

    /// Installs the keys of Handshake packets, which say what the suite of the connection is.
    pub fn install_handshake_keys(self, keys: Keys) -> QuicResult<()> {
        let context = crypto_context(&*keys.local.packet);
        let (rx, rx_header) = (packet_handle(keys.remote.packet), header_handle(keys.remote.header));
        let (tx, tx_header) = (packet_handle(keys.local.packet), header_handle(keys.local.header));
        unsafe {
            ngtcp2_conn_set_crypto_ctx(self.0, &context);
            let (iv, length) = (IV.as_ptr(), IV.len());
            check(ngtcp2_conn_install_rx_handshake_key(self.0, &rx, iv, length, &rx_header))?;
            check(ngtcp2_conn_install_tx_handshake_key(self.0, &tx, iv, length, &tx_header))
        }
    }

    /// Installs a key of 1-RTT packets that come.
    pub fn install_rx_key(self, keys: DirectionalKeys) -> QuicResult<()> {
        let (packet, header) = (packet_handle(keys.packet), header_handle(keys.header));
        // The secret is rustls' own matter.
        check(unsafe { ngtcp2_conn_install_rx_key(self.0, ptr::null(), 0, &packet, IV.as_ptr(), IV.len(), &header) })
    }

    /// Installs a key of 1-RTT packets that go.
    pub fn install_tx_key(self, keys: DirectionalKeys) -> QuicResult<()> {
        let (packet, header) = (packet_handle(keys.packet), header_handle(keys.header));
        check(unsafe { ngtcp2_conn_install_tx_key(self.0, ptr::null(), 0, &packet, IV.as_ptr(), IV.len(), &header) })
    }

    /// TLS has nothing more to wait for.
    pub fn complete_handshake(self) {
        unsafe { ngtcp2_conn_tls_handshake_completed(self.0) };
    }

    /// The alert that TLS failed with.
    pub fn set_alert(self, alert: u8) {
        unsafe { ngtcp2_conn_set_tls_alert(self.0, alert) };
    }

    /// What was set by [`Self::set_alert`].
    pub fn alert(self) -> u8 {
        unsafe { ngtcp2_conn_get_tls_alert2(self.0) }
    }

    /// Opens a bidirectional stream. `None`: the peer allows no more now.
    pub fn open_bidirectional(self) -> QuicResult<Option<i64>> {
        let mut stream = -1;
        Self::opened(unsafe { ngtcp2_conn_open_bidi_stream(self.0, &mut stream, ptr::null_mut()) }, stream)
    }

    /// Opens a stream of this side. `None`: the peer allows no more now.
    pub fn open_unidirectional(self) -> QuicResult<Option<i64>> {
        let mut stream = -1;
        Self::opened(unsafe { ngtcp2_conn_open_uni_stream(self.0, &mut stream, ptr::null_mut()) }, stream)
    }

    fn opened(code: c_int, stream: i64) -> QuicResult<Option<i64>> {
        match code {
            0 => Ok(Some(stream)),
            NGTCP2_ERR_STREAM_ID_BLOCKED => Ok(None),
            code => Err(QuicError(code)),
        }
    }

    /// Abandons this side of the stream. An error would say that the stream is gone already.
    pub fn reset(self, stream: i64, code: u64) {
        unsafe { ngtcp2_conn_shutdown_stream_write(self.0, 0, stream, code) };
    }

    /// Lets the peer send as many bytes more: they are read.
    pub fn extend(self, stream: i64, bytes: usize) {
        unsafe {
            ngtcp2_conn_extend_max_stream_offset(self.0, stream, bytes as u64);
            ngtcp2_conn_extend_max_offset(self.0, bytes as u64);
        }
    }

    /// Lets the peer open one request more, where `stream` was one.
    pub fn extend_requests(self, stream: i64) {
        unsafe {
            if self.is_server() && ngtcp2_is_bidi_stream(stream) != 0 {
                ngtcp2_conn_extend_max_streams_bidi(self.0, 1);
            }
        }
    }
}
