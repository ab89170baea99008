//! HTTP/3 and HTTP/0.9 over quiche 0.22.0 as a sans-IO endpoint: server or client, by `ROLE`.
//!
//! quiche reads clocks and draws random numbers by itself. This program gives it those of the run: it defines functions of
//! the C library itself, and a static link takes them ([`machine`]). Read that first, then [`settings`] (what is honoured,
//! what is refused), [`outbox`] (how packets leave), [`server`] and [`client`].
//!
//! What is not of sockets and clocks is that of the endpoint for virtual machines, by the link `vm` to its sources.
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod boring;
mod client;
mod clock;
mod outbox;
mod server;
mod settings;
mod streams;
mod transport;

#[path = "../common/addresses.rs"]
mod addresses;
#[path = "../common/machine.rs"]
mod machine;

// Its connections may have a late certificate, which this release cannot give them.
#[allow(dead_code)]
#[path = "../vm/accept.rs"]
mod accept;
#[path = "../vm/batch.rs"]
mod batch;
/// What a late certificate would need.
mod hold {
    /// This release holds no connection.
    pub enum Hold {}
}
#[path = "../vm/http.rs"]
mod http;
// There is no kernel that paces a batch.
#[allow(dead_code)]
#[path = "../vm/plan.rs"]
mod plan;
#[path = "../vm/planned.rs"]
mod planned;
#[path = "../vm/requests.rs"]
mod requests;
#[path = "../vm/response.rs"]
mod response;
#[path = "../vm/spread.rs"]
mod spread;

use std::{cell::RefCell, process::ExitCode, rc::Rc};

use accept::Acceptor;
use anyhow::Result;
use quiclab_contract::Role;
use quiclab_sans_io::{Seed, serve_each};
use settings::{SUPPORT, Settings};

fn main() -> ExitCode {
    boring::keep_to_the_seed();
    quiclab_sans_io::main(&SUPPORT, run)
}

/// Plays the role. Connections share what is configured, and the certificate that is read once. quiche draws everything random by `getrandom`, which
/// the loop gives another seed with each start; what BoringSSL has drawn by then it keeps, so its bytes follow from the first seed and their number.
fn run(settings: Settings, seed: Seed) -> Result<()> {
    match settings.role {
        Role::Client => {
            let config = Rc::new(RefCell::new(client::config(&settings)?));
            serve_each(settings.role, &seed, |_| client::Client::new(&settings, Rc::clone(&config)))
        }
        Role::Server => {
            let acceptor = Rc::new(RefCell::new(Acceptor::new(&settings)?));
            serve_each(settings.role, &seed, |_| server::Server::new(&settings, Rc::clone(&acceptor)))
        }
    }
}
