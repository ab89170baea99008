//! The server: answers until it is killed.

use std::{
    io,
    time::{Duration, Instant},
};

use anyhow::Result;
use neqo_common::Datagram;
use neqo_crypto::AntiReplay;
use neqo_transport::Output;
use quiclab_contract::{Http, TestCase};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    nss::Database,
    server_h3::H3,
    server_streams::Streams,
    settings::Settings,
    transport::{self, ANTI_REPLAY_WINDOW},
    udp::Socket,
};

/// Hash functions and their bits in NSS's filter against replay, as neqo's own programs have them.
const ANTI_REPLAY: (usize, usize) = (7, 14);

/// Connections and what they carry.
pub trait Server {
    /// Takes a datagram, or none. What to send or to wait for.
    fn process(&mut self, datagram: Option<Datagram<&mut [u8]>>, now: Instant) -> Output;
    /// True where [`Self::handle`] has something to do.
    fn has_events(&self) -> bool;
    /// Does what is due. What goes wrong on a connection is its own matter.
    fn handle(&mut self, now: Instant);
}

/// Serves until SIGTERM.
///
/// # Errors
/// Where the socket or the certificate cannot be used. What a client does wrong is its own connection's matter.
pub async fn run(settings: &Settings) -> Result<()> {
    let _database = Database::new(settings)?;
    let (functions, bits) = ANTI_REPLAY;
    // Its first window begins now, whatever the clock of the connections says.
    let anti_replay = AntiReplay::new(Instant::now(), ANTI_REPLAY_WINDOW, functions, bits)?;
    match (settings.test_case, settings.http) {
        (TestCase::Perf, _) | (_, Http::Hq) => serve(Streams::new(settings, anti_replay)?, settings).await,
        (_, Http::H3) => serve(H3::new(settings, anti_replay)?, settings).await,
    }
}

async fn serve(mut server: impl Server, settings: &Settings) -> Result<()> {
    let mut socket = Socket::bind(settings.local())?;
    // What neqo has of its qlogs is written when the connections are dropped.
    let mut termination = signal(SignalKind::terminate())?;
    loop {
        server.handle(transport::clock(settings));
        let timeout = flush(&mut server, settings, &socket).await?;
        if server.has_events() {
            continue;
        }
        tokio::select! {
            biased;
            _ = termination.recv() => return Ok(()),
            outcome = socket.wait(timeout) => outcome?,
        }
        receive(&mut server, settings, &mut socket).await?;
    }
}

/// Takes all that has arrived.
async fn receive(server: &mut impl Server, settings: &Settings, socket: &mut Socket) -> Result<()> {
    loop {
        let mut due = Vec::new();
        let Some(datagrams) = socket.receive()? else { return Ok(()) };
        for datagram in datagrams {
            match server.process(Some(datagram), transport::clock(settings)) {
                Output::Datagram(datagram) => due.push(datagram),
                Output::Callback(_) | Output::None => {}
            }
        }
        for datagram in due {
            socket.send(&datagram).await?;
        }
        flush(server, settings, socket).await?;
    }
}

/// Sends what is due. How long to wait then, if neqo says so.
async fn flush(server: &mut impl Server, settings: &Settings, socket: &Socket) -> io::Result<Option<Duration>> {
    loop {
        match server.process(None, transport::clock(settings)) {
            Output::Datagram(datagram) => socket.send(&datagram).await?,
            Output::Callback(time) => return Ok(Some(time)),
            Output::None => return Ok(None),
        }
    }
}
