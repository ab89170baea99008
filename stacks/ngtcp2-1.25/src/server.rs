//! The server: answers GET requests from a folder until it is killed.

use std::{collections::HashMap, mem, slice, time::Duration};

use anyhow::Result;
use ngtcp2_sys::*;
use nix::sys::socket::{SockaddrLike, SockaddrStorage};
use quiclab_contract::TestCase;

use crate::{
    application::Application,
    connection::{Connection, Start, State},
    glue::{CID_LENGTH, fill_random, now, random_cid},
    hq, perf,
    settings::Settings,
    termination,
    tls::TlsContext,
    transport::{V1, V2},
    udp::{Batch, Received, Socket, address_length},
};

/// Most datagrams read before ngtcp2 may answer.
const RECEIVE_BATCH: usize = 64;

/// Longest Retry token: NGTCP2_CRYPTO_MAX_RETRY_TOKENLEN2 is less.
const MAX_TOKEN: usize = 256;

/// How long a Retry token is good for, in nanoseconds.
const TOKEN_LIFETIME: u64 = 10_000_000_000;

/// Serves until SIGTERM.
///
/// # Errors
/// Where the socket or the certificate cannot be used. What a client does wrong is its own connection's matter.
pub fn run(settings: Settings) -> Result<()> {
    termination::watch()?;
    let mut secret = [0; 32];
    fill_random(&mut secret)?;
    let context = TlsContext::new(&settings)?;
    let mut socket = Socket::bind(&settings)?;
    let (connections, routes) = (HashMap::new(), HashMap::new());
    let mut server = Server { settings, context, secret, connections, routes, next: 0 };
    while !termination::is_asked() {
        let expiry = server.connections.values().map(Connection::expiry).min();
        let timeout = expiry.map(|expiry| Duration::from_nanos(expiry.saturating_sub(now())));
        // A full socket is the first thing to wait for.
        socket.wait(if socket.is_full() { None } else { timeout })?;
        socket.flush()?;
        for _ in 0..RECEIVE_BATCH {
            let Some(received) = socket.receive()? else { break };
            server.receive(&mut socket, &received)?;
        }
        server.advance(&mut socket);
        server.report();
    }
    Ok(())
}

struct Server {
    settings: Settings,
    context: TlsContext,
    /// What Retry tokens are made with.
    secret: [u8; 32],
    connections: HashMap<u64, Connection>,
    /// Which connection a destination connection ID belongs to.
    routes: HashMap<Vec<u8>, u64>,
    /// Number of the next connection.
    next: u64,
}

impl Server {
    /// Hands a datagram to its connection, or begins one.
    fn receive(&mut self, socket: &mut Socket, received: &Received) -> Result<()> {
        // SAFETY: a plain structure for which zeros are valid; ngtcp2 reads no more than the length given, and what it
        // gives points into the datagram.
        let (outcome, ids) = unsafe {
            let mut ids: ngtcp2_version_cid = mem::zeroed();
            let (bytes, length) = (received.bytes.as_ptr(), received.bytes.len());
            (ngtcp2_pkt_decode_version_cid(&mut ids, bytes, length, CID_LENGTH), ids)
        };
        match outcome {
            0 => {}
            NGTCP2_ERR_VERSION_NEGOTIATION => return negotiate_version(socket, received, &ids),
            _ => return Ok(()),
        }
        // SAFETY: as above.
        let destination = unsafe { slice::from_raw_parts(ids.dcid, ids.dcidlen) };
        let number = match self.routes.get(destination) {
            Some(&number) => number,
            None => match self.accept(socket, received)? {
                Some(number) => number,
                None => return Ok(()),
            },
        };
        let Some(connection) = self.connections.get_mut(&number) else { return Ok(()) };
        match connection.read(socket, received) {
            Ok(State::Open) => self.route(number),
            Ok(State::Over) => self.forget(number),
            Err(error) => {
                eprintln!("connection {number}: {error:#}");
                self.forget(number);
            }
        }
        Ok(())
    }

    /// Begins a connection with its first datagram. `None`: it does not begin one, or a Retry was the answer.
    fn accept(&mut self, socket: &mut Socket, received: &Received) -> Result<Option<u64>> {
        // SAFETY: as above.
        let (outcome, header) = unsafe {
            let mut header: ngtcp2_pkt_hd = mem::zeroed();
            (ngtcp2_accept(&mut header, received.bytes.as_ptr(), received.bytes.len()), header)
        };
        if outcome != 0 {
            return Ok(None);
        }
        let mut original = None;
        if self.settings.test_case == TestCase::Retry {
            if header.tokenlen == 0 {
                self.retry(socket, received, &header)?;
                return Ok(None);
            }
            original = self.verify(&header, &received.peer);
            if original.is_none() {
                return Ok(None);
            }
        }
        let application: Box<dyn Application> = match self.settings.test_case {
            TestCase::Perf => Box::<perf::Server>::default(),
            _ => Box::new(hq::Server::new(&self.settings)),
        };
        let tls = self.context.session(None)?;
        let start = Start::Server { header: &header, original };
        let connection = Connection::new(&self.settings, tls, application, &socket.local(), &received.peer, &start)?;
        let number = self.next;
        self.next += 1;
        self.routes.insert(header.dcid.data[..header.dcid.datalen].to_vec(), number);
        self.connections.insert(number, connection);
        self.route(number);
        Ok(Some(number))
    }

    /// Answers with a Retry packet (RFC 9000, section 8.1.2).
    fn retry(&self, socket: &mut Socket, received: &Received, header: &ngtcp2_pkt_hd) -> Result<()> {
        let source = random_cid()?;
        let mut token = [0; MAX_TOKEN];
        let mut bytes = vec![0; 1200];
        // SAFETY: ngtcp2 writes a token shorter than its room, and no more than the length given of the packet.
        let length = unsafe {
            let length = ngtcp2_crypto_generate_retry_token2(
                token.as_mut_ptr(),
                self.secret.as_ptr(),
                self.secret.len(),
                header.version,
                received.peer.as_ptr().cast(),
                address_length(&received.peer),
                &source,
                &header.dcid,
                now(),
            );
            let Ok(length) = usize::try_from(length) else { return Ok(()) };
            ngtcp2_crypto_write_retry(
                bytes.as_mut_ptr(),
                bytes.len(),
                header.version,
                &header.scid,
                &source,
                &header.dcid,
                token.as_ptr(),
                length,
            )
        };
        send_alone(socket, bytes, length, received)
    }

    /// The original destination that a Retry token proves. `None`: the token is not good.
    fn verify(&self, header: &ngtcp2_pkt_hd, peer: &SockaddrStorage) -> Option<ngtcp2_cid> {
        // SAFETY: ngtcp2 reads the token in the datagram, and fills the connection ID where it answers with zero.
        unsafe {
            let mut original: ngtcp2_cid = mem::zeroed();
            let outcome = ngtcp2_crypto_verify_retry_token2(
                &mut original,
                header.token,
                header.tokenlen,
                self.secret.as_ptr(),
                self.secret.len(),
                header.version,
                peer.as_ptr().cast(),
                address_length(peer),
                &header.dcid,
                TOKEN_LIFETIME,
                now(),
            );
            (outcome == 0).then_some(original)
        }
    }

    /// Notes connection IDs that were given and retired.
    fn route(&mut self, number: u64) {
        let Some(connection) = self.connections.get(&number) else { return };
        for (cid, given) in connection.shared.routes.take() {
            let cid = cid.data[..cid.datalen].to_vec();
            if given {
                self.routes.insert(cid, number);
            } else {
                self.routes.remove(&cid);
            }
        }
    }

    /// See [`Connection::report`]: of the newest connection, if it is not over.
    fn report(&self) {
        if let Some(newest) = self.next.checked_sub(1).and_then(|number| self.connections.get(&number)) {
            newest.report();
        }
    }

    fn forget(&mut self, number: u64) {
        self.connections.remove(&number);
        self.routes.retain(|_, other| *other != number);
    }

    /// Lets every connection send.
    fn advance(&mut self, socket: &mut Socket) {
        let mut over = Vec::new();
        for (&number, connection) in &mut self.connections {
            if let Err(error) = connection.advance(socket) {
                eprintln!("connection {number}: {error:#}");
                over.push(number);
            }
        }
        for number in over {
            self.forget(number);
        }
        let numbers: Vec<u64> = self.connections.keys().copied().collect();
        for number in numbers {
            self.route(number);
        }
    }
}

/// Tells a client which versions there are (RFC 9000, section 6).
fn negotiate_version(socket: &mut Socket, received: &Received, ids: &ngtcp2_version_cid) -> Result<()> {
    let versions = [V1, V2];
    let mut bytes = vec![0; 1200];
    // SAFETY: the IDs point into the datagram; ngtcp2 writes no more than the length given.
    let length = unsafe {
        ngtcp2_pkt_write_version_negotiation(
            bytes.as_mut_ptr(),
            bytes.len(),
            0,
            ids.scid,
            ids.scidlen,
            ids.dcid,
            ids.dcidlen,
            versions.as_ptr(),
            versions.len(),
        )
    };
    send_alone(socket, bytes, length, received)
}

/// Answers a datagram with a packet of no connection. A negative length: there is none.
fn send_alone(socket: &mut Socket, mut bytes: Vec<u8>, length: isize, received: &Received) -> Result<()> {
    let Ok(segment) = usize::try_from(length) else { return Ok(()) };
    if segment == 0 || socket.is_full() {
        return Ok(());
    }
    bytes.truncate(segment);
    socket.send(Batch { bytes, segment, peer: received.peer, ecn: 0 })
}
