//! The plainest server and client over quinn: the server sends as many zeros as the client asks for, on one stream.
//!
//!     quinn-loop server 127.0.0.1:4433 CERTIFICATE KEY [WINDOW]
//!     quinn-loop client 127.0.0.1:4433 CERTIFICATE BYTES [WINDOW]
//!
//! WINDOW is the receive window of a stream in bytes; without it, the library's. The client prints bytes and seconds, from its request
//! to the end of the response, as JSON. ../noq is the same program with noq in place of quinn.

use std::{sync::Arc, time::Instant};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use quinn::{ClientConfig, Endpoint, Incoming, RecvStream, ServerConfig, TransportConfig, VarInt};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
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

fn transport(window: &[&str]) -> Result<Arc<TransportConfig>> {
    let mut transport = TransportConfig::default();
    if let [window] = window {
        transport.stream_receive_window(VarInt::from_u32(window.parse().context("WINDOW")?));
    }
    Ok(Arc::new(transport))
}

async fn server(address: &str, certificate: &str, key: &str, window: &[&str]) -> Result<()> {
    let certificate = CertificateDer::from_pem_file(certificate)?;
    let mut config = ServerConfig::with_single_cert(vec![certificate], PrivateKeyDer::from_pem_file(key)?)?;
    config.transport_config(transport(window)?);
    let endpoint = Endpoint::server(config, address.parse()?)?;
    eprintln!("listening");
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async {
            if let Err(error) = serve(incoming).await {
                eprintln!("{error:#}");
            }
        });
    }
    Ok(())
}

async fn serve(incoming: Incoming) -> Result<()> {
    let connection = incoming.await?;
    let (mut send, mut receive) = connection.accept_bi().await?;
    let mut request = [0; 8];
    receive.read_exact(&mut request).await?;
    let mut left = u64::from_be_bytes(request);
    while left > 0 {
        let piece = left.min(PIECE.len() as u64);
        send.write_chunk(Bytes::from_static(&PIECE[..piece as usize])).await?;
        left -= piece;
    }
    send.finish()?;
    connection.closed().await;
    Ok(())
}

async fn client(address: &str, certificate: &str, bytes: u64, window: &[&str]) -> Result<()> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate)?)?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport(window)?);
    let endpoint = Endpoint::client("127.0.0.1:0".parse()?)?;
    let connection = endpoint.connect_with(config, address.parse()?, "localhost")?.await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    let began = Instant::now();
    send.write_all(&bytes.to_be_bytes()).await?;
    send.finish()?;
    let received = read(&mut receive).await?;
    let seconds = began.elapsed().as_secs_f64();
    ensure!(received == bytes, "received {received} of {bytes} bytes");
    println!("{{\"bytes\":{received},\"seconds\":{seconds}}}");
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

#[cfg(not(feature = "noq"))]
async fn read(receive: &mut RecvStream) -> Result<u64> {
    let mut received = 0;
    while let Some(chunk) = receive.read_chunk(usize::MAX, true).await? {
        received += chunk.bytes.len() as u64;
    }
    Ok(received)
}

#[cfg(feature = "noq")]
async fn read(receive: &mut RecvStream) -> Result<u64> {
    let mut received = 0;
    while let Some(bytes) = receive.read_chunk(usize::MAX).await? {
        received += bytes.len() as u64;
    }
    Ok(received)
}
