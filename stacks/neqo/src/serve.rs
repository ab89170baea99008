//! Answers requests over a socket until it is told to end.

use std::{env, io, time::Duration};

use anyhow::Result;
use neqo_transport::Output;
use quiclab_contract::{Http, TestCase};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    nss::Database,
    server::{self, Server},
    server_h3::H3,
    server_streams::Streams,
    settings::Settings,
    transport,
    udp::Socket,
};

/// Serves until SIGTERM.
///
/// # Errors
/// Where the socket or the certificate cannot be used. What a client does wrong is its own connection's matter.
pub async fn run(settings: &Settings) -> Result<()> {
    let _database = Database::new(settings, &env::temp_dir())?;
    let anti_replay = server::anti_replay()?;
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

/// Sends what is due. Returns how long to wait then, if neqo says so.
async fn flush(server: &mut impl Server, settings: &Settings, socket: &Socket) -> io::Result<Option<Duration>> {
    loop {
        match server.process(None, transport::clock(settings)) {
            Output::Datagram(datagram) => socket.send(&datagram).await?,
            Output::Callback(time) => return Ok(Some(time)),
            Output::None => return Ok(None),
        }
    }
}
