//! picoquic as a sans-IO endpoint (docs/reference/sans-io-endpoint.md): server or client, by `ROLE`.
//!
//! picoquic takes the time as an argument and has no sockets but in its packet loop, which is not used here. OpenSSL reads the date and
//! draws random numbers by itself: it gets those of the run ([`machine`], [`random`]). Read [`endpoint`] first (an order in, an answer
//! out). Applications, certificates and settings are those of the endpoint for virtual machines, by the link `vm` to its sources.
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod endpoint;
mod random;
mod settings;

#[path = "../common/addresses.rs"]
mod addresses;
#[path = "../vm/application.rs"]
mod application;
#[allow(dead_code, reason = "with its packet loop")]
#[path = "../vm/client.rs"]
mod client;
#[path = "../vm/events.rs"]
mod events;
#[path = "../vm/files.rs"]
mod files;
#[path = "../vm/h3.rs"]
mod h3;
#[path = "../vm/hq.rs"]
mod hq;
#[path = "../common/machine.rs"]
mod machine;
#[path = "../vm/perf.rs"]
mod perf;
#[allow(dead_code, reason = "with its packet loop")]
#[path = "../vm/quic.rs"]
mod quic;
#[allow(dead_code, reason = "with its packet loop")]
#[path = "../vm/server.rs"]
mod server;

use std::process::ExitCode;

use endpoint::{Client, Server};
use quiclab_contract::Role;
use quiclab_sans_io::serve_each;
use settings::{SUPPORT, Settings};

/// picoquic's C interface, as bindgen reads it from the headers.
#[allow(
    missing_docs,
    non_camel_case_types,
    non_upper_case_globals,
    non_snake_case,
    dead_code,
    unsafe_op_in_unsafe_fn,
    unnecessary_transmutes,
    clippy::all,
    reason = "written by bindgen"
)]
mod ffi {
    include!(concat!(env!("OUT_DIR"), "/picoquic.rs"));
}

fn main() -> ExitCode {
    quiclab_sans_io::main(&SUPPORT, |settings: Settings, seed| {
        // picoquic has no function that gives the name back.
        eprintln!("congestion control handed to picoquic: {}", settings.congestion_control.name);
        random::keep_to_the_seed()?;
        match settings.role {
            Role::Client => serve_each(settings.role, &seed, |_| Client::new(&settings)),
            Role::Server => serve_each(settings.role, &seed, |_| Server::new(&settings)),
        }
    })
}
