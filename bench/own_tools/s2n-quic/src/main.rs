//! The plainest server and client over s2n-quic: the server sends as many zeros as the client asks for, on one stream.
//!
//!     s2n-quic-loop server 127.0.0.1:4433 CERTIFICATE KEY [WINDOW]
//!     s2n-quic-loop client 127.0.0.1:4433 CERTIFICATE BYTES [WINDOW]
//!
//! WINDOW is what a stream and a connection may have ahead, and a stream may have waiting to be sent, in bytes; without it, the
//! library's values. The client prints bytes and seconds, from its request to the end of the response, as JSON.

use std::{path::Path, time::Instant};

use anyhow::{Context, Error, Result, bail, ensure};
use bytes::Bytes;
use s2n_quic::{
    Client, Connection, Server,
    client::Connect,
    provider::{limits::Limits, tls::rustls},
};

/// What one call hands to the library.
static PIECE: [u8; 1 << 16] = [0; 1 << 16];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["server", address, certificate, key, ref window @ ..] => server(address, certificate, key, window).await,
        ["client", address, certificate, bytes, ref window @ ..] => {
            client(address, certificate, bytes.parse().context("BYTES")?, window).await
        }
        _ => bail!("usage: server ADDRESS CERTIFICATE KEY [WINDOW] | client ADDRESS CERTIFICATE BYTES [WINDOW]"),
    }
}

fn limits(window: &[&str]) -> Result<Limits> {
    let [window] = window else { return Ok(Limits::new()) };
    let window: u32 = window.parse().context("WINDOW")?;
    Ok(Limits::new()
        .with_data_window(window.into())?
        .with_bidirectional_local_data_window(window.into())?
        .with_bidirectional_remote_data_window(window.into())?
        .with_max_send_buffer_size(window)?)
}

async fn server(address: &str, certificate: &str, key: &str, window: &[&str]) -> Result<()> {
    let tls = rustls::Server::builder().with_certificate(Path::new(certificate), Path::new(key));
    let tls = tls.and_then(|tls| tls.build()).map_err(Error::from_boxed)?;
    let mut server = Server::builder().with_tls(tls)?.with_io(address)?.with_limits(limits(window)?)?.start()?;
    eprintln!("listening");
    while let Some(connection) = server.accept().await {
        tokio::spawn(async {
            if let Err(error) = serve(connection).await {
                eprintln!("{error:#}");
            }
        });
    }
    Ok(())
}

async fn serve(mut connection: Connection) -> Result<()> {
    let Some(stream) = connection.accept_bidirectional_stream().await? else { return Ok(()) };
    let (mut receive, mut send) = stream.split();
    let mut request = Vec::new();
    while let Some(bytes) = receive.receive().await? {
        request.extend_from_slice(&bytes);
    }
    let mut left = u64::from_be_bytes(request[..].try_into().context("a request has 8 bytes")?);
    while left > 0 {
        let piece = left.min(PIECE.len() as u64);
        send.send(Bytes::from_static(&PIECE[..piece as usize])).await?;
        left -= piece;
    }
    send.finish()?;
    let _ = connection.accept().await;
    Ok(())
}

async fn client(address: &str, certificate: &str, bytes: u64, window: &[&str]) -> Result<()> {
    let tls = rustls::Client::builder().with_certificate(Path::new(certificate));
    let tls = tls.and_then(|tls| tls.build()).map_err(Error::from_boxed)?;
    let client = Client::builder().with_tls(tls)?.with_io("127.0.0.1:0")?.with_limits(limits(window)?)?.start()?;
    let connect = Connect::new(address.parse::<std::net::SocketAddr>()?).with_server_name("localhost");
    let mut connection = client.connect(connect).await?;
    let (mut receive, mut send) = connection.open_bidirectional_stream().await?.split();
    let began = Instant::now();
    send.send(Bytes::copy_from_slice(&bytes.to_be_bytes())).await?;
    send.finish()?;
    let mut received = 0;
    while let Some(bytes) = receive.receive().await? {
        received += bytes.len() as u64;
    }
    let seconds = began.elapsed().as_secs_f64();
    ensure!(received == bytes, "received {received} of {bytes} bytes");
    println!("{{\"bytes\":{received},\"seconds\":{seconds}}}");
    Ok(())
}
