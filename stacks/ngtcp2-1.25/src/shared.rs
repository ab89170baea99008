//! What the callbacks of a connection work on.

use std::{
    cell::{Cell, RefCell},
    ffi::c_int,
    fs::File,
    io::BufWriter,
};

use anyhow::{Error, Result};
use aws_lc_sys as ssl;
use ngtcp2_sys::{NGTCP2_ERR_CALLBACK_FAILURE, ngtcp2_cid, ngtcp2_conn, ngtcp2_crypto_conn_ref};

use crate::{application::Application, hold::Hold, tls::Ticket};

/// What callbacks of ngtcp2 and AWS-LC can reach.
pub struct Shared {
    pub quic: Cell<*mut ngtcp2_conn>,
    pub application: RefCell<Box<dyn Application>>,
    /// The first thing that went wrong in a callback.
    pub failure: RefCell<Option<Error>>,
    /// Connection IDs of this side since the last look: true, given; false, retired.
    pub routes: RefCell<Vec<(ngtcp2_cid, bool)>>,
    pub qlog: RefCell<Option<BufWriter<File>>>,
    pub ticket: RefCell<Option<Ticket>>,
    /// What a server waits for.
    pub hold: Option<Hold>,
    /// True once the handshake is confirmed.
    pub confirmed: Cell<bool>,
}

impl Shared {
    /// The state behind a TLS object.
    ///
    /// # Safety
    /// `tls` must belong to a [`Connection`] that lives.
    pub unsafe fn of_tls<'a>(tls: *mut ssl::SSL) -> &'a Self {
        // SAFETY: `Connection::new` has put the reference there, whose user data is the state.
        unsafe {
            let reference = ssl::SSL_get_ex_data(tls, 0).cast::<ngtcp2_crypto_conn_ref>();
            &*(*reference).user_data.cast::<Self>()
        }
    }

    /// Notes what went wrong, if it is the first, and what to answer ngtcp2.
    pub fn note(&self, outcome: Result<()>) -> c_int {
        match outcome {
            Ok(()) => 0,
            Err(error) => {
                self.failure.borrow_mut().get_or_insert(error);
                NGTCP2_ERR_CALLBACK_FAILURE
            }
        }
    }
}
