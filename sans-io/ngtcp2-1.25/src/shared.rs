//! What the callbacks of a connection work on.

use std::{
    cell::RefCell,
    ffi::c_int,
    fs::File,
    io::{BufWriter, Write},
};

use anyhow::{Error, Result};
use rand_chacha::{ChaCha20Rng, rand_core::RngCore};

use crate::{application::Application, ffi::NGTCP2_ERR_CALLBACK_FAILURE, handshake::Handshake};

/// What ngtcp2's callbacks can reach.
pub struct Shared {
    pub application: RefCell<Application>,
    /// `None` only before ngtcp2 has made the transport parameters that it begins with.
    pub handshake: RefCell<Option<Handshake>>,
    /// All that QUIC has of random bytes.
    pub random: RefCell<ChaCha20Rng>,
    /// The first thing that went wrong in a callback.
    pub failure: RefCell<Option<Error>>,
    pub qlog: RefCell<Option<BufWriter<File>>>,
}

impl Shared {
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

    pub fn fill_random(&self, bytes: &mut [u8]) {
        self.random.borrow_mut().fill_bytes(bytes);
    }

    pub fn write_qlog(&self, data: &[u8]) {
        if let Some(file) = &mut *self.qlog.borrow_mut()
            && let Err(error) = file.write_all(data)
        {
            self.failure.borrow_mut().get_or_insert(Error::new(error).context("QLOGDIR"));
        }
    }
}
