//! TCP of the kernel over this machine's loopback, as iperf3 uses it: one connection, a thread for each end; plain, or with TLS 1.3.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName},
};

use crate::roofline::{
    clock::Watch,
    part::{Cost, Unmeasured},
};

/// Bytes of a write and of a read: iperf3's.
const BLOCK: usize = 128 << 10;
/// The name in the certificate.
const NAME: &str = "localhost";

/// What protects the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Nothing.
    Plain,
    /// TLS 1.3 with AES-128-GCM in the program, by rustls with ring. Kernel TLS is not used.
    Tls,
}

/// The cost of sending and receiving.
///
/// # Errors
/// Where the kernel refuses a socket or a thread, or TLS fails.
pub fn measure(protection: Protection, time: Duration) -> Result<Cost, Unmeasured> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    let (receiver, _) = listener.accept()?;
    match protection {
        Protection::Plain => both(sender, receiver, time, drop),
        Protection::Tls => {
            let (client, server) = configurations().map_err(|error| Unmeasured::Tls(error.to_string()))?;
            let tls = |error: rustls::Error| Unmeasured::Tls(error.to_string());
            let name = ServerName::try_from(NAME).map_err(|error| Unmeasured::Tls(error.to_string()))?;
            let client = ClientConnection::new(Arc::new(client), name).map_err(tls)?;
            let server = ServerConnection::new(Arc::new(server)).map_err(tls)?;
            both(StreamOwned::new(client, sender), StreamOwned::new(server, receiver), time, |mut sender| {
                sender.conn.send_close_notify();
                // What is wrong here, the receiver's sum tells.
                let _ = sender.flush();
            })
        }
    }
}

/// Sends for `time` in this thread and receives in another one. `end` ends the connection. The first block is not measured: it has the
/// handshake in it.
fn both<S: Read + Write, R: Read + Write + Send + 'static>(
    mut sender: S,
    mut receiver: R,
    time: Duration,
    end: impl FnOnce(S),
) -> Result<Cost, Unmeasured> {
    let reading = thread::Builder::new().spawn(move || -> Result<(Watch, u64), Unmeasured> {
        let mut buffer = vec![0; BLOCK];
        receiver.read_exact(&mut buffer)?;
        let (mut watch, mut bytes) = (Watch::default(), 0);
        watch.during(|| {
            loop {
                match receiver.read(&mut buffer)? {
                    0 => return Ok(()),
                    length => bytes += length as u64,
                }
            }
        })?;
        Ok((watch, bytes))
    })?;
    let zeros = vec![0; BLOCK];
    sender.write_all(&zeros)?;
    let mut watch = Watch::default();
    let mut sent = 0;
    let until = Instant::now() + time;
    watch.during(|| {
        while Instant::now() < until {
            sender.write_all(&zeros)?;
            sent += BLOCK as u64;
        }
        Ok(())
    })?;
    end(sender);
    let (received_watch, found) = reading.join().map_err(|_| Unmeasured::Ring)??;
    if found != sent {
        return Err(Unmeasured::Lost { found, sent });
    }
    Ok(Cost { send_ns_per_byte: watch.ns_per_byte(sent), receive_ns_per_byte: received_watch.ns_per_byte(found) })
}

/// Makes the configurations of a client that trusts the server's certificate, which is made for this, and of the server.
fn configurations() -> Result<(ClientConfig, ServerConfig), Box<dyn std::error::Error>> {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let certificate = CertificateDer::from(made.cert.der().to_vec());
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
    let aes_128_gcm = vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256];
    let provider = Arc::new(CryptoProvider { cipher_suites: aes_128_gcm, ..ring::default_provider() });
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone())?;
    let versions = &[&rustls::version::TLS13];
    let client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    // Nobody reads them, and a socket that is closed with something unread resets its connection.
    server.send_tls13_tickets = 0;
    Ok((client, server))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_costs_more_than_none() {
        let time = Duration::from_millis(30);
        let plain = measure(Protection::Plain, time).unwrap();
        let tls = measure(Protection::Tls, time).unwrap();
        // Together: on a busy machine either end may do more of the work.
        let both = |cost: &Cost| cost.send_ns_per_byte + cost.receive_ns_per_byte;
        assert!(both(&tls) > both(&plain), "{plain:?} {tls:?}");
        assert!(tls.send_ns_per_byte > 0.0 && tls.receive_ns_per_byte > 0.0);
    }
}
