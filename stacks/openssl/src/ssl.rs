//! Connections and streams of OpenSSL.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_long, c_uint},
    net::{IpAddr, SocketAddr},
    os::fd::{AsRawFd as _, BorrowedFd},
    ptr,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use quiclab_contract::TestCase;

use crate::{
    context::{Context, Session, alpn},
    ffi,
    settings::Settings,
};

/// Longest description of an error, in bytes.
const MOST_TEXT: usize = 256;

/// Writes may be partial, and repeated from another place.
const MODE: c_long = (ffi::SSL_MODE_ENABLE_PARTIAL_WRITE | ffi::SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER) as c_long;

/// Of BIO_ADDR: IPv4 and IPv6 of the C library.
const FAMILIES: (c_int, c_int) = (2, 10);

/// Takes all errors from OpenSSL's queue, the last one first.
pub fn errors() -> String {
    let mut texts = Vec::new();
    // SAFETY: plain calls; the buffer is as long as it says, and gets a zero at its end.
    unsafe {
        loop {
            let code = ffi::ERR_get_error();
            if code == 0 {
                break;
            }
            let mut text = [0 as c_char; MOST_TEXT];
            ffi::ERR_error_string_n(code, text.as_mut_ptr(), text.len());
            texts.insert(0, CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned());
        }
    }
    if texts.is_empty() { "no reason given".to_owned() } else { texts.join("; ") }
}

/// A listener, a connection or a stream.
pub struct Ssl(*mut ffi::SSL);

impl Drop for Ssl {
    fn drop(&mut self) {
        // SAFETY: held by this value. A stream that is concluded is still sent by its connection.
        unsafe { ffi::SSL_free(self.0) };
    }
}

/// How a call ended that could not go on.
enum Stop {
    /// It has to wait.
    Waits,
    /// The stream ends here.
    End,
    /// It failed, as the error queue says.
    Failed,
}

/// The result of a read from a stream.
pub enum Read {
    /// So many bytes.
    Bytes(usize),
    /// The end.
    End,
    /// Nothing yet.
    Nothing,
}

impl Ssl {
    /// Takes over the object of a pointer; `None`: the pointer is null.
    fn from(pointer: *mut ffi::SSL) -> Option<Self> {
        (!pointer.is_null()).then_some(Self(pointer))
    }

    /// A listener on a socket. Clients have to prove their addresses by a Retry in that test case only, where OpenSSL by itself wants it of all.
    ///
    /// # Errors
    /// Where OpenSSL refuses.
    pub fn listen(context: &Context, settings: &Settings, socket: BorrowedFd) -> Result<Self> {
        let validates = settings.test_case == TestCase::Retry;
        let flags = if validates { 0 } else { u64::from(ffi::SSL_LISTENER_FLAG_NO_VALIDATE) };
        // SAFETY: the context lives; the listener holds it, and the socket outlives the listener.
        unsafe {
            let listener = Self::from(ffi::SSL_new_listener(context.pointer, flags));
            let listener = listener.with_context(|| format!("SSL_new_listener: {}", errors()))?;
            ensure!(ffi::SSL_set_fd(listener.0, socket.as_raw_fd()) == 1, "SSL_set_fd: {}", errors());
            ensure!(ffi::SSL_set_blocking_mode(listener.0, 0) == 1, "SSL_set_blocking_mode: {}", errors());
            ensure!(ffi::SSL_listen(listener.0) == 1, "SSL_listen: {}", errors());
            Ok(listener)
        }
    }

    /// A connection that has come; `None`: there is none.
    ///
    /// # Errors
    /// Where OpenSSL refuses a setting.
    pub fn accept(&self) -> Result<Option<Self>> {
        // SAFETY: a listener; what it gives out is held by the result.
        unsafe {
            ffi::ERR_clear_error();
            let flags = u64::from(ffi::SSL_ACCEPT_CONNECTION_NO_BLOCK);
            let Some(connection) = Self::from(ffi::SSL_accept_connection(self.0, flags)) else { return Ok(None) };
            ensure!(ffi::SSL_set_blocking_mode(connection.0, 0) == 1, "SSL_set_blocking_mode: {}", errors());
            connection.has_streams_only()?;
            Ok(Some(connection))
        }
    }

    /// A connection to a server, which has not begun.
    ///
    /// # Errors
    /// Where OpenSSL refuses a setting.
    pub fn connect_to(
        context: &Context,
        settings: &Settings,
        socket: BorrowedFd,
        server: SocketAddr,
        session: Option<&Session>,
    ) -> Result<Self> {
        let host = CString::new(settings.host())?;
        let names = alpn(settings);
        // SAFETY: the context lives, and the connection holds it; the socket outlives the connection; OpenSSL copies the rest.
        unsafe {
            let connection = Self::from(ffi::SSL_new(context.pointer));
            let connection = connection.with_context(|| format!("SSL_new: {}", errors()))?;
            ensure!(ffi::SSL_set_fd(connection.0, socket.as_raw_fd()) == 1, "SSL_set_fd: {}", errors());
            ensure!(ffi::SSL_set_blocking_mode(connection.0, 0) == 1, "SSL_set_blocking_mode: {}", errors());
            let (name, kind) = (ffi::SSL_CTRL_SET_TLSEXT_HOSTNAME as c_int, ffi::TLSEXT_NAMETYPE_host_name as c_long);
            let outcome = ffi::SSL_ctrl(connection.0, name, kind, host.as_ptr().cast_mut().cast());
            ensure!(outcome == 1 && ffi::SSL_set1_host(connection.0, host.as_ptr()) == 1, "{host:?}: {}", errors());
            let outcome = ffi::SSL_set_alpn_protos(connection.0, names.as_ptr(), names.len() as c_uint);
            // The only function of these for which zero is success.
            ensure!(outcome == 0, "SSL_set_alpn_protos: {}", errors());
            let address = ffi::BIO_ADDR_new();
            let known = set_address(address, server) && ffi::SSL_set1_initial_peer_addr(connection.0, address) == 1;
            ffi::BIO_ADDR_free(address);
            ensure!(known, "{server}: {}", errors());
            if let Some(session) = session {
                ensure!(ffi::SSL_set_session(connection.0, session.0) == 1, "SSL_set_session: {}", errors());
            }
            connection.has_streams_only()?;
            Ok(connection)
        }
    }

    /// A connection has no stream of its own, and streams of the peer are to be accepted.
    fn has_streams_only(&self) -> Result<()> {
        // SAFETY: a connection.
        unsafe {
            let none = ffi::SSL_DEFAULT_STREAM_MODE_NONE;
            ensure!(ffi::SSL_set_default_stream_mode(self.0, none) == 1, "SSL_set_default_stream_mode: {}", errors());
            let accept = ffi::SSL_INCOMING_STREAM_POLICY_ACCEPT as c_int;
            let outcome = ffi::SSL_set_incoming_stream_policy(self.0, accept, 0);
            ensure!(outcome == 1, "SSL_set_incoming_stream_policy: {}", errors());
            ffi::SSL_ctrl(self.0, ffi::SSL_CTRL_MODE as c_int, MODE, ptr::null_mut());
        }
        Ok(())
    }

    /// Goes on with a client's handshake. True: it is complete.
    ///
    /// # Errors
    /// Where it fails, for example because nobody trusted has signed the server's certificate.
    pub fn connect(&self) -> Result<bool> {
        // SAFETY: a connection.
        let outcome = unsafe {
            ffi::ERR_clear_error();
            ffi::SSL_connect(self.0)
        };
        if outcome == 1 {
            return Ok(true);
        }
        match self.stop(outcome) {
            Stop::Waits => Ok(false),
            Stop::End | Stop::Failed => bail!("handshake: {}", errors()),
        }
    }

    /// True where the session of another connection was resumed.
    pub fn is_resumed(&self) -> bool {
        // SAFETY: a connection.
        unsafe { ffi::SSL_session_reused(self.0) == 1 }
    }

    /// Updates the keys. False: it is not allowed yet.
    pub fn update_keys(&self) -> bool {
        // SAFETY: a connection.
        unsafe {
            let update = ffi::SSL_key_update(self.0, ffi::SSL_KEY_UPDATE_NOT_REQUESTED as c_int);
            ffi::ERR_clear_error();
            update == 1
        }
    }

    /// Opens a stream with two directions; `None`: the server allows no more.
    pub fn open_stream(&self) -> Option<Self> {
        // SAFETY: a connection; the stream is held by the result.
        unsafe {
            let stream = ffi::SSL_new_stream(self.0, u64::from(ffi::SSL_STREAM_FLAG_NO_BLOCK));
            ffi::ERR_clear_error();
            Self::from(stream)
        }
    }

    /// A stream that the peer has opened; `None`: there is none.
    pub fn accept_stream(&self) -> Option<Self> {
        // SAFETY: a connection; the stream is held by the result.
        unsafe {
            let stream = ffi::SSL_accept_stream(self.0, u64::from(ffi::SSL_ACCEPT_STREAM_NO_BLOCK));
            ffi::ERR_clear_error();
            Self::from(stream)
        }
    }

    /// The number of a stream.
    pub fn number(&self) -> u64 {
        // SAFETY: a stream.
        unsafe { ffi::SSL_get_stream_id(self.0) }
    }

    /// Takes what has arrived on a stream.
    ///
    /// # Errors
    /// Where the peer has abandoned it, or the connection has ended.
    pub fn read(&self, buffer: &mut [u8]) -> Result<Read> {
        let mut length = 0;
        // SAFETY: a stream, and a buffer with its length.
        let outcome = unsafe {
            ffi::ERR_clear_error();
            ffi::SSL_read_ex(self.0, buffer.as_mut_ptr().cast(), buffer.len(), &mut length)
        };
        if outcome == 1 {
            return Ok(Read::Bytes(length));
        }
        match self.stop(outcome) {
            Stop::Waits => Ok(Read::Nothing),
            Stop::End => Ok(Read::End),
            Stop::Failed => bail!("reading: {}", errors()),
        }
    }

    /// Hands over bytes, and the end of the stream behind them where `is_last`. How many were taken; the end is, if all were.
    ///
    /// # Errors
    /// Where the peer wants no more of it, or the connection has ended.
    pub fn write(&self, bytes: &[u8], is_last: bool) -> Result<usize> {
        let mut length = 0;
        // SAFETY: a stream, and bytes with their length.
        let outcome = unsafe {
            ffi::ERR_clear_error();
            if bytes.is_empty() {
                if is_last { ffi::SSL_stream_conclude(self.0, 0) } else { 1 }
            } else {
                let flags = if is_last { u64::from(ffi::SSL_WRITE_FLAG_CONCLUDE) } else { 0 };
                ffi::SSL_write_ex2(self.0, bytes.as_ptr().cast(), bytes.len(), flags, &mut length)
            }
        };
        if outcome == 1 {
            return Ok(length);
        }
        match self.stop(outcome) {
            Stop::Waits => Ok(0),
            Stop::End | Stop::Failed => bail!("writing: {}", errors()),
        }
    }

    /// Ends the sending direction of a stream with an error code.
    pub fn reset(&self, code: u64) {
        let arguments = ffi::SSL_STREAM_RESET_ARGS { quic_error_code: code };
        // SAFETY: a stream, and arguments with their length.
        unsafe {
            ffi::SSL_stream_reset(self.0, &arguments, size_of_val(&arguments));
            ffi::ERR_clear_error();
        }
    }

    /// Sends, receives and lets timers fire.
    pub fn handle_events(&self) {
        // SAFETY: a listener or a connection. Its outcome only says whether it is alive, which others say better.
        unsafe {
            ffi::SSL_handle_events(self.0);
            ffi::ERR_clear_error();
        }
    }

    /// How long until [`Self::handle_events`] is due; `None`: until something arrives.
    ///
    /// # Errors
    /// Where OpenSSL cannot say it.
    pub fn timeout(&self) -> Result<Option<Duration>> {
        // SAFETY: zeros are valid; everything lives during the call.
        let (outcome, time, is_infinite) = unsafe {
            let mut time: ffi::timeval = std::mem::zeroed();
            let mut is_infinite = 0;
            let outcome = ffi::SSL_get_event_timeout(self.0, &mut time, &mut is_infinite);
            (outcome, time, is_infinite)
        };
        ensure!(outcome == 1, "SSL_get_event_timeout: {}", errors());
        let [seconds, microseconds] = [time.tv_sec, time.tv_usec].map(|part| u64::try_from(part).unwrap_or(0));
        Ok((is_infinite == 0).then(|| Duration::from_secs(seconds) + Duration::from_micros(microseconds)))
    }

    /// True where something could not be sent because the socket was full.
    pub fn wants_to_send(&self) -> bool {
        // SAFETY: a listener or a connection.
        unsafe { ffi::SSL_net_write_desired(self.0) == 1 }
    }

    /// Why a connection has ended; `None`: it has not.
    pub fn end(&self) -> Option<String> {
        // SAFETY: zeros are valid; the reason lives as long as the connection.
        unsafe {
            let mut end: ffi::SSL_CONN_CLOSE_INFO = std::mem::zeroed();
            if ffi::SSL_get_conn_close_info(self.0, &mut end, size_of::<ffi::SSL_CONN_CLOSE_INFO>()) != 1 {
                ffi::ERR_clear_error();
                return None;
            }
            let reason = if end.reason.is_null() { c"" } else { CStr::from_ptr(end.reason) };
            let by = if end.flags & ffi::SSL_CONN_CLOSE_FLAG_LOCAL == 0 { "the peer closed it" } else { "closed here" };
            Some(format!("{by} with {:#x} {}", end.error_code, reason.to_string_lossy()).trim_end().to_owned())
        }
    }

    /// Ends a connection well, without waiting for an answer.
    pub fn close(&self) {
        // Otherwise OpenSSL waits until the peer has acknowledged the ends of all streams. Who frees the connection before that sends no
        // CONNECTION_CLOSE, and OpenSSL forbids to resume its session.
        let flags =
            ffi::SSL_SHUTDOWN_FLAG_RAPID | ffi::SSL_SHUTDOWN_FLAG_NO_BLOCK | ffi::SSL_SHUTDOWN_FLAG_NO_STREAM_FLUSH;
        let flags = u64::from(flags);
        // SAFETY: a connection; without arguments the code is 0.
        unsafe {
            ffi::SSL_shutdown_ex(self.0, flags, ptr::null(), 0);
            ffi::ERR_clear_error();
        }
    }

    /// Why a call could not go on.
    fn stop(&self, outcome: c_int) -> Stop {
        // SAFETY: the object that the call was for, on the same thread.
        match unsafe { ffi::SSL_get_error(self.0, outcome) } as c_uint {
            ffi::SSL_ERROR_WANT_READ | ffi::SSL_ERROR_WANT_WRITE => Stop::Waits,
            ffi::SSL_ERROR_ZERO_RETURN => Stop::End,
            _ => Stop::Failed,
        }
    }
}

/// Writes an address into one of OpenSSL.
///
/// # Safety
/// `address` is one that lives, or null.
unsafe fn set_address(address: *mut ffi::BIO_ADDR, to: SocketAddr) -> bool {
    let port = to.port().to_be();
    // SAFETY: by contract; the bytes live during the call.
    unsafe {
        let outcome = match to.ip() {
            _ if address.is_null() => 0,
            IpAddr::V4(ip) => ffi::BIO_ADDR_rawmake(address, FAMILIES.0, ip.octets().as_ptr().cast(), 4, port),
            IpAddr::V6(ip) => ffi::BIO_ADDR_rawmake(address, FAMILIES.1, ip.octets().as_ptr().cast(), 16, port),
        };
        outcome == 1
    }
}
