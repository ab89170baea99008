//! ngtcp2 as a sans-IO endpoint (docs/reference/sans-io-endpoint.md): server or client, by `ROLE`.
//!
//! ngtcp2's C library does QUIC, rustls does TLS; this program is what lies between, and HTTP's streams. Read
//! [`settings`] first (what is honoured, what is refused), then [`endpoint`] (an order in, an answer out), [`connection`] (how
//! packets come and go), [`handshake`] and [`keys`] (TLS), [`callbacks`] (what ngtcp2 reports). What is `unsafe` lies in
//! [`callbacks`], [`connection`], [`keys`], [`quic`] and [`transport`]; [`ffi`] has what C declares.
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod application;
mod callbacks;
mod connection;
mod endpoint;
mod ffi;
mod handshake;
mod keys;
mod outbox;
mod quic;
mod settings;
mod shared;
mod transport;

use std::{process::ExitCode, sync::Arc};

use endpoint::Peer;
use quiclab_sans_io::{serve_each, tls::Tls};
use settings::SUPPORT;

fn main() -> ExitCode {
    quiclab_sans_io::main(&SUPPORT, |settings, seed| {
        // ngtcp2 names it nowhere, not even in its qlog.
        eprintln!("congestion control handed to ngtcp2: {:?}", settings.congestion_control);
        let tls = Tls::new(&settings, &seed)?;
        let settings = Arc::new(settings);
        serve_each(settings.role, &seed, |seed| Peer::new(Arc::clone(&settings), tls.begin(seed), seed))
    })
}
