//! What picoquic reports of a connection.

use std::{
    ffi::{c_int, c_void},
    fmt, ptr, slice,
};

use anyhow::{Error, Result, anyhow};

use crate::{
    application::{Application, Quic},
    ffi,
};

/// A violation of the application's protocol by the peer.
#[derive(Debug)]
pub struct ProtocolError {
    /// The error code for the violation.
    pub code: u64,
    /// The violation in words, such as "a frame that h3zero cannot read".
    pub what: &'static str,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "found {} ({:#x})", self.what, self.code)
    }
}

impl std::error::Error for ProtocolError {}

/// The state of one connection.
pub struct Connection {
    pub application: Box<dyn Application>,
    /// The first error of the application or the transport.
    pub failure: Option<Error>,
    /// True once data may be sent both ways.
    pub is_ready: bool,
    /// True once the connection is over.
    pub is_over: bool,
}

impl Connection {
    /// A connection that has reported nothing.
    pub fn new(application: Box<dyn Application>) -> Self {
        Self { application, failure: None, is_ready: false, is_over: false }
    }

    /// Takes an event, and gives what picoquic's callback answers.
    #[allow(non_upper_case_globals, reason = "names of C")]
    fn on_event(
        &mut self,
        quic: Quic,
        stream: u64,
        bytes: *mut u8,
        length: usize,
        event: ffi::picoquic_call_back_event_t,
    ) -> c_int {
        use ffi::*;
        let outcome = match event {
            picoquic_callback_prepare_to_send => {
                // SAFETY: this is that callback.
                return unsafe { Quic::fill(bytes, length, stream, &mut *self.application) };
            }
            picoquic_callback_stream_data | picoquic_callback_stream_fin => {
                let fin = event == picoquic_callback_stream_fin;
                // SAFETY: picoquic lends so many bytes for the call; none may be a null pointer.
                let data = if length == 0 { &[] } else { unsafe { slice::from_raw_parts(bytes, length) } };
                self.application.on_data(quic, stream, data, fin).and_then(|()| self.application.open(quic))
            }
            picoquic_callback_stream_reset => {
                // SAFETY: the connection lives during the call.
                let code = unsafe { picoquic_get_remote_stream_error(quic.0, stream) };
                self.application.on_reset(quic, stream, code)
            }
            picoquic_callback_stop_sending => {
                quic.reset(stream, self.application.codes().stopped);
                Ok(())
            }
            picoquic_callback_almost_ready => self.application.open(quic),
            picoquic_callback_ready => {
                if !self.is_ready {
                    self.is_ready = true;
                    self.application.on_completed();
                }
                self.application.open(quic)
            }
            picoquic_callback_close | picoquic_callback_application_close | picoquic_callback_stateless_reset => {
                self.is_over = true;
                // The state may be freed before picoquic forgets the connection.
                // SAFETY: the connection lives during the call.
                unsafe { picoquic_set_callback(quic.0, Some(on_event), ptr::null_mut()) };
                self.over(quic)
            }
            _ => Ok(()),
        };
        if let Err(error) = outcome {
            let failed = self.application.codes().failed;
            quic.close(error.downcast_ref::<ProtocolError>().map_or(failed, |error| error.code));
            self.failure.get_or_insert(error);
        }
        0
    }

    /// Why the connection ended, where its application was not done.
    fn over(&self, quic: Quic) -> Result<()> {
        if self.application.is_complete() {
            return Ok(());
        }
        // SAFETY: the connection lives during the call.
        let (local, remote, application) = unsafe {
            let quic = quic.0;
            (
                ffi::picoquic_get_local_error(quic),
                ffi::picoquic_get_remote_error(quic),
                ffi::picoquic_get_application_error(quic),
            )
        };
        Err(anyhow!(
            "the connection ended early: error of this side {local:#x}, of the peer {remote:#x}, of its application {application:#x}"
        ))
    }
}

/// picoquic's callback for a connection whose context is a [`Connection`].
pub unsafe extern "C" fn on_event(
    quic: *mut ffi::picoquic_cnx_t,
    stream: u64,
    bytes: *mut u8,
    length: usize,
    event: ffi::picoquic_call_back_event_t,
    context: *mut c_void,
    _stream_context: *mut c_void,
) -> c_int {
    // The connection is over.
    if context.is_null() {
        return 0;
    }
    // SAFETY: whoever sets this callback keeps the connection's state until picoquic has forgotten it, and picoquic does not
    // call back while it is called from here.
    let connection = unsafe { &mut *context.cast::<Connection>() };
    connection.on_event(Quic(quic), stream, bytes, length, event)
}
