//! The settings of neqo's transport, which both roles share.

use std::{
    cell::RefCell,
    fs,
    rc::Rc,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use neqo_common::{Role, qlog::NeqoQlog};
use neqo_crypto::{Cipher, constants::TLS_CHACHA20_POLY1305_SHA256};
use neqo_http3::Http3Parameters;
use neqo_transport::{ConnectionIdGenerator, ConnectionParameters, RandomConnectionIdGenerator, StreamType, Version};
use quiclab_contract::{Http, Pacing, TestCase, hq, perf};

use crate::settings::Settings;

/// Bytes of a connection ID of a server.
const CONNECTION_ID: usize = 10;

/// Time that neqo's own programs add to the clock of a server that accepts early data, see [`clock`].
pub const ANTI_REPLAY_WINDOW: Duration = Duration::from_secs(10);

/// The time that a server hands to neqo. NSS refuses early data for the first window of its protection against replay, since a server that
/// was started anew does not know what it has accepted. Where early data is the test case, the clock runs ahead by that window.
pub fn clock(settings: &Settings) -> Instant {
    let ahead = if settings.test_case == TestCase::ZeroRtt { ANTI_REPLAY_WINDOW } else { Duration::ZERO };
    Instant::now() + ahead
}

/// The name in ALPN.
pub fn alpn(settings: &Settings) -> &'static str {
    let name: &[u8] = match (settings.test_case, settings.http) {
        (TestCase::Perf, _) => perf::ALPN,
        (_, Http::H3) => b"h3",
        (_, Http::Hq) => hq::ALPN,
    };
    str::from_utf8(name).unwrap_or_default()
}

/// Version 1 first; version 2 is preferred where the test case is about it, by compatible negotiation.
pub fn parameters(settings: &Settings) -> ConnectionParameters {
    let versions = match settings.test_case {
        TestCase::Version2 => vec![Version::Version2, Version::Version1],
        _ => vec![Version::Version1],
    };
    let parameters = ConnectionParameters::default();
    // So that more than 16 requests fit into early data: neqo's own server allows as many in this test case.
    let parameters = match settings.test_case {
        TestCase::ZeroRtt => parameters.max_streams(StreamType::BiDi, 100),
        _ => parameters,
    };
    parameters
        .versions(Version::Version1, versions)
        .cc_algorithm(settings.congestion_control.algorithm)
        .pacing(settings.pacing == Pacing::User)
}

/// The same [`parameters`] for HTTP/3, whose own are neqo's.
pub fn http_parameters(settings: &Settings) -> Http3Parameters {
    Http3Parameters::default().connection_parameters(parameters(settings))
}

/// The only cipher suites, in no order; empty: neqo's own choice.
pub fn ciphers(settings: &Settings) -> &'static [Cipher] {
    match settings.test_case {
        TestCase::ChaCha20 => &[TLS_CHACHA20_POLY1305_SHA256],
        _ => &[],
    }
}

/// Draws a server's connection IDs.
pub fn connection_ids() -> Rc<RefCell<dyn ConnectionIdGenerator>> {
    Rc::new(RefCell::new(RandomConnectionIdGenerator::new(CONNECTION_ID)))
}

/// The qlog of a client's connection, if one is asked for.
///
/// # Errors
/// Where the file cannot be written.
pub fn client_qlog(settings: &Settings) -> Result<NeqoQlog> {
    static CONNECTIONS: AtomicU64 = AtomicU64::new(0);
    let Some(folder) = &settings.qlog else { return Ok(NeqoQlog::disabled()) };
    let name = format!("client-{}", CONNECTIONS.fetch_add(1, Ordering::Relaxed));
    // neqo refuses a file that is there.
    let _ = fs::remove_file(folder.join(format!("{name}.sqlog")));
    let log = NeqoQlog::enabled_with_file(folder.clone(), Role::Client, None, None, name);
    log.with_context(|| format!("qlog in {}", folder.display()))
}
