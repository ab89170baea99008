//! neqo as a sans-IO endpoint (docs/reference/sans-io-endpoint.md): server or client, by `ROLE`.
//!
//! neqo takes the time as an argument and has no sockets. NSS reads the date and draws random numbers by itself: it gets those of the run
//! ([`machine`]). Read [`endpoint`] first (an order in, an answer out). Connections, certificates and most settings are those of the
//! endpoint for virtual machines, by the link `vm` to its sources.
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod endpoint;
mod settings;

#[path = "../common/addresses.rs"]
mod addresses;
#[path = "../vm/certificates.rs"]
mod certificates;
#[allow(dead_code, reason = "with resumption")]
#[path = "../vm/client.rs"]
mod client;
#[path = "../vm/client_h3.rs"]
mod client_h3;
#[path = "../vm/client_streams.rs"]
mod client_streams;
#[allow(dead_code, reason = "its variables are not among those of programs for the simulator")]
#[path = "../vm/handshake.rs"]
mod handshake;
#[path = "../common/machine.rs"]
mod machine;
#[path = "../vm/nss.rs"]
mod nss;
#[path = "../vm/server.rs"]
mod server;
#[path = "../vm/server_h3.rs"]
mod server_h3;
#[path = "../vm/server_streams.rs"]
mod server_streams;
#[path = "../vm/transport.rs"]
mod transport;

use std::{path::Path, process::ExitCode};

use endpoint::{Fetching, Network, Serving};
use quiclab_contract::{Http, Role};
use quiclab_sans_io::serve_each;
use settings::{SUPPORT, Settings};

fn main() -> ExitCode {
    quiclab_sans_io::main(&SUPPORT, |contract, seed| {
        let settings = &Settings { contract, handshake: handshake::Handshake::default() };
        // neqo has no function that gives the name back.
        eprintln!("congestion control handed to neqo: {}", settings.congestion_control.name);
        let network = Network::new(settings);
        let requests = &settings.requests;
        match settings.role {
            Role::Client => {
                neqo_crypto::init()?;
                let connect = || client::connect(settings, network.local, network.peer);
                match settings.http {
                    Http::H3 => serve_each(settings.role, &seed, |_| {
                        Fetching::begin(network, || client_h3::H3::new(connect()?, settings, requests, None))
                    }),
                    Http::Hq => serve_each(settings.role, &seed, |_| {
                        Fetching::begin(network, || client_streams::Streams::new(connect()?, settings, requests))
                    }),
                }
            }
            Role::Server => {
                // The only folder that a program of the simulator can write to.
                let _database = nss::Database::new(settings, Path::new("."))?;
                match settings.http {
                    Http::H3 => serve_each(settings.role, &seed, |_| {
                        Serving::begin(network, || server_h3::H3::new(settings, server::anti_replay()?))
                    }),
                    Http::Hq => serve_each(settings.role, &seed, |_| {
                        Serving::begin(network, || server_streams::Streams::new(settings, server::anti_replay()?))
                    }),
                }
            }
        }
    })
}
