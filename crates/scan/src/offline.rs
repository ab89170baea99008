//! The handshakes without sockets and in virtual time, for fuzzing and tests from outside: whoever calls is the network.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::answer::{Answer, HttpAnswer};
use crate::clock::{Clock, Moment};
use crate::engine::Engine;
use crate::http3::ResponseReader;
use crate::icmp::{IcmpError, Quote};
use crate::settings::{HttpSettings, Request, ScanSettings};
use crate::sockets::Received;

/// The timeout of handshakes, after which [`Offline::finish`] looks.
const TIMEOUT: Duration = Duration::from_secs(5);

/// One handshake, and what it sends.
pub struct Offline {
    engine: Engine,
    server: SocketAddr,
}

impl Offline {
    /// Begins it.
    ///
    /// # Errors
    /// As those of [`Scanner::new`](crate::Scanner::new).
    pub fn new(http: Option<HttpSettings>) -> io::Result<Self> {
        let settings = ScanSettings { http, timeout: TIMEOUT, ..ScanSettings::default() };
        let mut engine = Engine::new(&settings, 1, Clock::virtual_at(Moment::default()))?;
        let server = SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 443));
        let socket = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 5_000));
        engine.ask(Request { id: 0, address: server, server_name: None, keeps_packets: true }, 0, socket);
        Ok(Offline { engine, server })
    }

    /// UDP payloads that are sent now.
    pub fn send(&mut self) -> Vec<Vec<u8>> {
        let mut payloads = Vec::new();
        while let Some(outgoing) = self.engine.outgoing(0).pop_front() {
            payloads.push(outgoing.bytes.clone());
            let now = self.engine.now();
            self.engine.on_sent(outgoing, now);
        }
        payloads
    }

    /// A datagram came from the server.
    pub fn receive(&mut self, payload: &[u8]) {
        let received = Received { source: self.server, local: None, unix_ns: None, ecn: 0, payload };
        let now = self.engine.now();
        self.engine.on_datagram(&received, now);
        self.engine.drive_marked();
    }

    /// An ICMP error of this type and code came, which quotes this UDP payload.
    pub fn receive_icmp(&mut self, kind: u8, code: u8, quoted: &[u8]) {
        let (sender, quote) = (Some(self.server.ip()), Quote::new(quoted));
        self.engine.on_icmp(&IcmpError { destination: self.server, kind, code, information: 0, sender, quote });
        self.engine.drive_marked();
    }

    /// Lets its time pass. Gives its answers, of which there is one, and whether nothing of it is left.
    pub fn finish(mut self) -> (Vec<Answer>, bool) {
        self.engine.pass(2 * TIMEOUT);
        self.engine.advance();
        self.send();
        let mut answers = Vec::new();
        self.engine.hand_out(&mut |answer| answers.push(answer));
        let is_empty = self.engine.is_empty();
        (answers, is_empty)
    }
}

/// Reads the stream of an HTTP/3 request in these pieces, up to the final response. `None`: it is not complete.
///
/// # Errors
/// Why it is no response, for people.
pub fn read_response<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    settings: &HttpSettings,
) -> Result<Option<HttpAnswer>, String> {
    let mut reader = ResponseReader::default();
    for piece in pieces {
        if let Some(answer) = reader.on_bytes(piece, settings).map_err(|error| error.to_string())? {
            return Ok(Some(answer));
        }
    }
    Ok(None)
}
