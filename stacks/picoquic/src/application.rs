//! The application of a connection: HTTP/3, HTTP/0.9 or perf, of a server or a client.

use std::{ffi::c_int, mem, ptr, time::Duration};

use anyhow::{Result, ensure};
use quiclab_contract::perf::{COUNTERS, Path};

use crate::ffi;

/// What happens on the streams of one connection. `on_*`: the transport reports; the others: the transport asks.
pub trait Application {
    /// Error codes. HTTP/0.9 and perf name none.
    fn codes(&self) -> Codes {
        Codes { done: 0, failed: 1, stopped: 1 }
    }

    /// The handshake is complete (RFC 9001, section 4.1.1).
    fn on_completed(&mut self) {}

    /// Opens as many streams as are wanted. Called when data may be sent, and after whatever may change that.
    fn open(&mut self, quic: Quic) -> Result<()>;
    /// Data in order.
    fn on_data(&mut self, quic: Quic, stream: u64, data: &[u8], fin: bool) -> Result<()>;
    /// The peer abandons its side of the stream.
    fn on_reset(&mut self, quic: Quic, stream: u64, code: u64) -> Result<()>;
    /// The bytes to send next on the stream, and true where nothing comes after them. Asked only of streams that were activated.
    fn rest(&mut self, _stream: u64) -> Option<(&[u8], bool)> {
        None
    }
    /// `bytes` of what [`Self::rest`] gave go into a packet, and the end if all of them do.
    fn take(&mut self, _stream: u64, _bytes: usize) {}
    /// True where all has come that was to come.
    fn is_complete(&self) -> bool;
}

/// Error codes of an application.
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    /// The code that closes a connection that is no longer needed.
    pub done: u64,
    /// The code that closes a connection whose application failed on this side.
    pub failed: u64,
    /// The code that resets a stream that the peer does not want any more.
    pub stopped: u64,
}

/// A connection, for an [`Application`] to open and abandon streams.
#[derive(Clone, Copy)]
pub struct Quic(pub *mut ffi::picoquic_cnx_t);

impl Quic {
    /// The bidirectional stream to open next.
    pub fn next_stream(self) -> u64 {
        // SAFETY: the connection lives while picoquic calls its application.
        unsafe { ffi::picoquic_get_next_local_stream_id(self.0, 0) }
    }

    /// Sends a little on a stream, and its end where `fin`.
    ///
    /// # Errors
    /// Where picoquic refuses.
    pub fn send(self, stream: u64, data: &[u8], fin: bool) -> Result<()> {
        // SAFETY: as above; picoquic keeps a copy.
        let outcome = unsafe { ffi::picoquic_add_to_stream(self.0, stream, data.as_ptr(), data.len(), fin.into()) };
        ensure!(outcome == 0, "stream {stream}: picoquic_add_to_stream: {outcome:#x}");
        Ok(())
    }

    /// Lets picoquic ask for the stream's data when there is room for them.
    ///
    /// # Errors
    /// Where picoquic refuses.
    pub fn activate(self, stream: u64) -> Result<()> {
        // SAFETY: as above.
        let outcome = unsafe { ffi::picoquic_mark_active_stream(self.0, stream, 1, ptr::null_mut()) };
        ensure!(outcome == 0, "stream {stream}: picoquic_mark_active_stream: {outcome:#x}");
        Ok(())
    }

    /// Abandons this side of the stream.
    pub fn reset(self, stream: u64, code: u64) {
        // SAFETY: as above. An error: the stream is gone already.
        unsafe { ffi::picoquic_reset_stream(self.0, stream, code) };
    }

    /// The time since the connection's first packet.
    pub fn age(self) -> Duration {
        // SAFETY: as above. Only where picoquic's clock is the machine's.
        let (begin, now) = unsafe { (ffi::picoquic_get_cnx_start_time(self.0), ffi::picoquic_current_time()) };
        Duration::from_micros(now.saturating_sub(begin))
    }

    /// Sets the probe timeout until there is a round-trip time: of that picoquic computes another one.
    pub fn set_default_pto(self, pto: Duration) {
        // SAFETY: the connection lives, and nothing of picoquic runs meanwhile. It has its first path from its beginning.
        unsafe { (**(*self.0).path).retransmit_timer = pto.as_micros() as u64 };
    }

    /// Closes with an application's error code.
    pub fn close(self, code: u64) {
        // SAFETY: as above. An error: it is closed already.
        unsafe { ffi::picoquic_close(self.0, code) };
    }

    /// Where the connection stands.
    pub fn state(self) -> ffi::picoquic_state_enum {
        // SAFETY: as above.
        unsafe { ffi::picoquic_get_cnx_state(self.0) }
    }

    /// Tells what picoquic knows of the path, where a line of progress of `perf` needs that.
    pub fn report(self) {
        COUNTERS.path(|| {
            // SAFETY: as above; a plain structure for which zeros are valid, filled by picoquic.
            let found = unsafe {
                let mut found: ffi::picoquic_path_quality_t = mem::zeroed();
                ffi::picoquic_get_default_path_quality(self.0, &mut found);
                found
            };
            Some(Path { rtt: Duration::from_micros(found.rtt), window: found.cwin, lost: found.lost })
        });
    }

    /// Puts what is next of `application` into picoquic's packet, which has room for `room` bytes of the stream.
    ///
    /// # Safety
    /// `packet` must be what picoquic hands to its callback `prepare_to_send`.
    pub unsafe fn fill(packet: *mut u8, room: usize, stream: u64, application: &mut dyn Application) -> c_int {
        let (bytes, last) = application.rest(stream).unwrap_or((&[], true));
        let length = bytes.len().min(room);
        let fin = last && length == bytes.len();
        // SAFETY: as the caller promises; picoquic gives room for `length` bytes, or null.
        unsafe {
            let to = ffi::picoquic_provide_stream_data_buffer(packet.cast(), length, fin.into(), (!fin).into());
            if to.is_null() {
                return -1;
            }
            ptr::copy_nonoverlapping(bytes.as_ptr(), to, length);
        }
        application.take(stream, length);
        0
    }
}
