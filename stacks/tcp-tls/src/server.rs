//! The server: answers every connection in a thread of its own, until it is told to stop.

use std::{net::TcpStream, sync::Arc, thread};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{SigSet, Signal};
use quiclab_contract::perf::{CHUNK, COUNTERS, HEAD, ZEROS};
use rustls::ServerConfig;

use crate::{
    channel::Channel,
    settings::Settings,
    sockets::{listen, tell_congestion_control},
    tls,
};

/// First byte of a TLS handshake: RFC 8446, section 5.1.
const TLS_HANDSHAKE: u8 = 22;

/// SIGTERM waits until [`run`] looks for it.
pub fn hold_back_termination() {
    // It fails for no set of real signals.
    let _ = SigSet::from(Signal::SIGTERM).thread_block();
}

/// Serves until SIGTERM.
///
/// # Errors
/// Where the certificate cannot be used or the port not be had.
pub fn run(settings: Settings) -> Result<()> {
    let config = settings.has_tls.then(|| tls::server(&settings)).transpose()?;
    let listener = listen(&settings)?;
    thread::spawn(move || {
        for stream in listener.incoming() {
            let config = config.clone();
            let outcome = stream.map_err(anyhow::Error::from).and_then(|stream| {
                thread::Builder::new()
                    .spawn(move || {
                        if let Err(error) = answer(stream, config.as_ref()) {
                            eprintln!("{error:#}");
                        }
                    })
                    .context("starting a thread")
            });
            if let Err(error) = outcome {
                eprintln!("{error:#}");
            }
        }
    });
    SigSet::from(Signal::SIGTERM).wait().context("waiting for SIGTERM")?;
    Ok(())
}

/// Reads a request to its end, and sends as many bytes as it asks for.
fn answer(stream: TcpStream, config: Option<&Arc<ServerConfig>>) -> Result<()> {
    stream.set_nodelay(true)?;
    tell_congestion_control(&stream);
    let mut channel = Channel::open(stream, config.map(tls::connection_from).transpose()?)?;
    let mut head = [0; HEAD as usize];
    let mut received = 0;
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = channel.read(&mut buffer).context("reading a request")?;
        let data = &buffer[..length];
        if length == 0 {
            break;
        }
        if received == 0 && config.is_none() && data[0] == TLS_HANDSHAKE {
            bail!("found a TLS handshake, expected a client without TLS: CLIENT_PARAMS=plain");
        }
        if received < head.len() {
            let missing = &mut head[received..];
            let taken = missing.len().min(length);
            missing[..taken].copy_from_slice(&data[..taken]);
        }
        received = received.saturating_add(length);
    }
    if received < head.len() {
        bail!("found a request of {received} bytes, expected at least {HEAD}");
    }
    let mut left = u64::from_be_bytes(head);
    while left > 0 {
        let length = left.min(CHUNK as u64);
        channel.write(&ZEROS[..length as usize]).context("sending a response")?;
        left -= length;
    }
    channel.end().context("ending a response")?;
    COUNTERS.exchanged();
    Ok(())
}
