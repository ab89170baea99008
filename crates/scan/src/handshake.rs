//! One handshake in flight: the stack's connection, and what is remembered beside it.

mod exchange;
mod record;

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use bytes::Bytes;
use quinn_proto::{Connection, ConnectionError, ConnectionEvent, Event, VarInt};

use crate::answer::{Answer, HttpAnswer, Outcome};
use crate::clock::{Clock, Moment};
use crate::http3;
use crate::icmp::{IcmpError, Mark, Proof, Quote};
use crate::settings::ScanSettings;
use crate::sockets::Received;
use crate::tls::SecretLines;
use crate::wheel::TimerKey;

use exchange::Exchange;
pub use record::Record;

/// Headers of IP and UDP, counted with each datagram against [`ScanSettings::most_bytes`].
const HEADER_BYTES: u64 = 28;
/// A last datagram waits for room in its socket for so long after the timeout.
const GRACE_NS: u64 = 1_000_000_000;
/// TLS alerts about certificates, bad_certificate to unknown_ca (RFC 8446 section 6.2), as QUIC's errors (RFC 9001 section 4.8).
const CERTIFICATE_ERRORS: std::ops::RangeInclusive<u64> = 0x12a..=0x130;
/// The first byte of a Retry packet without its unused bits, RFC 9000 section 17.2.5.
const RETRY: u8 = 0xf0;
const FORM_AND_TYPE: u8 = 0xf0;
/// The bit that short headers do not have.
pub const LONG_HEADER: u8 = 0x80;
/// Things to know about a handshake at most.
const MOST_NOTES: usize = 8;

/// What all handshakes share and each of them needs at times.
pub struct Shared {
    /// Settings of the scanner.
    pub settings: ScanSettings,
    /// Clock of the scanner.
    pub clock: Clock,
    /// What the stack's last call left.
    pub secrets: std::sync::Arc<SecretLines>,
}

/// How a handshake ended, before everything that it sends has left.
#[derive(Debug)]
struct End {
    outcome: Outcome,
    note: Option<String>,
}

/// A handshake in flight.
pub struct Handshake {
    /// Tells it from earlier ones at the same place.
    pub generation: u32,
    /// Index of its socket.
    pub lane: u32,
    /// The next handshake with the same address, by place.
    pub next_of_address: Option<u32>,
    /// The one before it.
    pub previous_of_address: Option<u32>,
    /// The timer that is set, and its time.
    pub timer: Option<(TimerKey, u64)>,
    /// Whether it waits to be driven.
    pub is_dirty: bool,
    /// Whether it waits for its answer to be handed out.
    pub is_settled: bool,
    /// Datagrams that were handed out and not yet sent.
    pub queued: u32,
    /// Mark of its datagrams. `None` before the first one.
    pub mark: Option<Mark>,
    /// The stack's part.
    pub connection: Connection,
    record: Record,
    /// When the handshake completed, by the time of its last datagram.
    connected_ns: Option<u64>,
    /// When the last datagram came.
    last_ns: u64,
    server_name: Option<Box<str>>,
    exchange: Option<Box<Exchange>>,
    http: Option<Box<HttpAnswer>>,
    end: Option<Box<End>>,
    notes: Vec<String>,
    foreign_datagrams: u32,
    short_icmp_errors: u32,
    /// Whether a Retry or Version Negotiation packet came, which the stack does not count.
    has_bare_answer: bool,
}

impl Handshake {
    /// Makes a handshake before its first datagram.
    pub fn new(
        generation: u32,
        lane: u32,
        connection: Connection,
        server_name: Option<String>,
        record: Record,
    ) -> Self {
        Handshake {
            generation,
            lane,
            next_of_address: None,
            previous_of_address: None,
            timer: None,
            is_dirty: false,
            is_settled: false,
            queued: 0,
            mark: None,
            connection,
            record,
            connected_ns: None,
            last_ns: 0,
            server_name: server_name.map(String::into_boxed_str),
            exchange: None,
            http: None,
            end: None,
            notes: Vec::new(),
            foreign_datagrams: 0,
            short_icmp_errors: 0,
            has_bare_answer: false,
        }
    }

    /// The server's.
    pub fn address(&self) -> SocketAddr {
        self.record.address()
    }

    /// Whether nothing came back yet.
    pub fn is_unanswered(&self) -> bool {
        self.record.received_datagrams() == 0
    }

    /// When it ends at the latest, in monotonic nanoseconds.
    pub fn deadline_ns(&self, settings: &ScanSettings) -> u64 {
        self.record.start().monotonic_ns.saturating_add(settings.timeout.as_nanos() as u64)
    }

    /// Whether its answer need not wait for what it still has to send.
    pub fn may_leave(&self, now_ns: u64, settings: &ScanSettings) -> bool {
        self.queued == 0 || now_ns > self.deadline_ns(settings).saturating_add(GRACE_NS)
    }

    /// Whether its outcome is certain.
    pub fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// A datagram of its connection came.
    pub fn on_datagram(&mut self, time_ns: u64, received: &Received<'_>, event: ConnectionEvent, shared: &Shared) {
        let was_handshaking = self.connection.is_handshaking();
        self.connection.handle_event(event);
        if was_handshaking && !self.connection.is_handshaking() && !self.connection.is_closed() {
            self.connected_ns = Some(time_ns);
        }
        self.last_ns = time_ns;
        self.has_bare_answer |= is_bare(received.payload);
        if is_version_negotiation(received.payload) && !stack_speaks(shared.settings.version) {
            // The stack believes that it speaks one of the versions that are offered.
            self.finish(Outcome::VersionNegotiation, Some("the server does not speak this version".into()));
        }
        self.on_bytes(time_ns, received, shared);
    }

    /// A datagram came from the server's address that belongs to no connection.
    pub fn on_stray_datagram(&mut self, time_ns: u64, received: &Received<'_>, shared: &Shared) {
        self.on_bytes(time_ns, received, shared);
    }

    fn on_bytes(&mut self, time_ns: u64, received: &Received<'_>, shared: &Shared) {
        self.record.on_received(time_ns, received, shared.secrets.take());
        let counted = self.record.received_bytes() + HEADER_BYTES * u64::from(self.record.received_datagrams());
        if counted > shared.settings.most_bytes as u64 {
            let outcome = if self.connected_ns.is_some() { Outcome::Completed } else { Outcome::Malformed };
            self.finish(outcome, Some(format!("the server sent more than {} bytes", shared.settings.most_bytes)));
        }
    }

    /// A datagram of its connection came from another address: the server has not proved that it may use that one.
    pub fn on_foreign_datagram(&mut self, source: SocketAddr) {
        if self.foreign_datagrams == 0 {
            self.note(format!("an answer came from another address, {source}, and was not read"));
        }
        self.foreign_datagrams += 1;
    }

    /// One of its datagrams has left.
    pub fn on_sent(&mut self, moment: Moment, bytes: Vec<u8>) {
        self.queued -= 1;
        self.record.on_sent(moment, bytes);
    }

    /// One of its datagrams could not be sent.
    pub fn on_send_failed(&mut self, error: &std::io::Error) {
        self.queued -= 1;
        if self.record.is_sent() {
            self.note(format!("a datagram was not sent: {error}"));
        } else {
            self.finish(Outcome::NotSent, Some(error.to_string()));
        }
    }

    /// What an ICMP error's quote says of its sender.
    pub fn proof(&self, quote: &Quote) -> Proof {
        self.mark.as_ref().map_or(Proof::Other, |mark| mark.proof(quote))
    }

    /// An ICMP error came for its address, which anybody may have sent.
    pub fn on_short_icmp(&mut self, error: &IcmpError) {
        if self.short_icmp_errors == 0 {
            self.note(format!("{} quotes no connection ID, and ended nothing", error.describe()));
        }
        self.short_icmp_errors = self.short_icmp_errors.saturating_add(1);
    }

    /// An ICMP error came for one of its datagrams.
    pub fn on_icmp(&mut self, outcome: Option<Outcome>, description: String) {
        match outcome {
            Some(outcome) if self.is_unanswered() => self.finish(outcome, Some(description)),
            _ => self.note(description),
        }
    }

    /// Takes what the stack has to say, and goes on with the request.
    pub fn poll(&mut self, shared: &Shared) {
        let (mut has_data, mut lost) = (false, None);
        while let Some(event) = self.connection.poll() {
            match event {
                // Completed and closed by one datagram.
                Event::Connected => self.connected_ns = self.connected_ns.or(Some(self.last_ns)),
                Event::ConnectionLost { reason } => lost = Some(reason),
                Event::Stream(_) => has_data = true,
                _ => {}
            }
        }
        // A server may close behind its response.
        if has_data {
            self.read_response(shared);
        }
        if let Some(reason) = lost {
            self.on_lost(&reason);
        }
        if self.is_over() || self.connected_ns.is_none() {
            return;
        }
        let is_confirmed = || self.connection.stats().frame_rx.handshake_done > 0;
        let is_done = match (&shared.settings.http, &self.exchange) {
            (Some(_), None) => {
                self.begin_exchange(shared);
                false
            }
            (Some(_), Some(exchange)) => exchange.is_over(),
            (None, _) => !shared.settings.waits_for_confirmation || is_confirmed(),
        };
        if is_done {
            self.finish(Outcome::Completed, None);
        }
    }

    fn begin_exchange(&mut self, shared: &Shared) {
        let Some(http) = &shared.settings.http else { return };
        let name = self.server_name.as_deref();
        let address = self.record.address();
        match Exchange::begin(&mut self.connection, http, name, address) {
            Ok(exchange) => self.exchange = Some(Box::new(exchange)),
            Err(why) => self.finish(Outcome::Completed, Some(why)),
        }
    }

    fn read_response(&mut self, shared: &Shared) {
        let (Some(http), Some(exchange)) = (&shared.settings.http, &mut self.exchange) else { return };
        match exchange.read(&mut self.connection, http) {
            Ok(Some(answer)) => {
                let cut = answer.cut.clone();
                self.http = Some(Box::new(answer));
                cut.into_iter().for_each(|cut| self.note(cut));
            }
            Ok(None) => {}
            Err(why) => self.note(why),
        }
    }

    fn on_lost(&mut self, reason: &ConnectionError) {
        if self.is_over() {
            return;
        }
        let outcome = match reason {
            _ if self.connected_ns.is_some() => Outcome::Completed,
            ConnectionError::VersionMismatch => Outcome::VersionNegotiation,
            ConnectionError::ConnectionClosed(_) | ConnectionError::ApplicationClosed(_) | ConnectionError::Reset => {
                Outcome::Closed
            }
            ConnectionError::TransportError(error) if CERTIFICATE_ERRORS.contains(&u64::from(error.code)) => {
                Outcome::Untrusted
            }
            ConnectionError::TransportError(_) => Outcome::Malformed,
            ConnectionError::TimedOut => self.outcome_of_timeout(),
            ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => Outcome::NotSent,
        };
        self.finish(outcome, Some(reason.to_string()));
    }

    /// Its time is over.
    pub fn on_deadline(&mut self, settings: &ScanSettings) {
        let note = match self.connected_ns {
            Some(_) if settings.http.is_some() => Some("no HTTP response in time".to_owned()),
            Some(_) => Some("the server did not confirm the handshake in time".to_owned()),
            None if !self.record.is_sent() => Some("the socket had no room in time".to_owned()),
            None => None,
        };
        self.finish(self.outcome_of_timeout(), note);
    }

    fn outcome_of_timeout(&self) -> Outcome {
        let frames = self.connection.stats().frame_rx;
        let has_frames = frames.acks + frames.crypto + frames.ping + frames.connection_close > 0;
        if self.connected_ns.is_some() {
            Outcome::Completed
        } else if !self.record.is_sent() {
            Outcome::NotSent
        } else if self.is_unanswered() {
            Outcome::Silent
        } else if has_frames || self.has_bare_answer {
            Outcome::TimedOut
        } else {
            Outcome::Malformed
        }
    }

    /// Settles the outcome; the first one stays.
    fn finish(&mut self, outcome: Outcome, note: Option<String>) {
        if self.end.is_none() {
            self.end = Some(Box::new(End { outcome, note }));
        }
    }

    fn note(&mut self, note: String) {
        if self.notes.len() < MOST_NOTES && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Says goodbye where somebody listens.
    pub fn close(&mut self, instant: Instant, settings: &ScanSettings) {
        let code = if settings.http.is_some() && self.connected_ns.is_some() { http3::NO_ERROR } else { 0 };
        if !self.is_unanswered() && !self.connection.is_closed() {
            self.connection.close(instant, VarInt::from_u32(code), Bytes::new());
        }
    }

    /// What became of it.
    pub fn into_answer(mut self: Box<Self>, shared: &Shared) -> Answer {
        let end = self.end.take().map_or(End { outcome: Outcome::NotSent, note: None }, |end| *end);
        let is_malformed_silence = end.outcome == Outcome::Malformed && end.note.is_none();
        let mut notes: Vec<String> = end.note.into_iter().collect();
        if is_malformed_silence {
            notes.push("nothing of what the server sent could be read".into());
        }
        notes.append(&mut self.notes);
        if self.foreign_datagrams > 1 {
            notes.push(format!("{} datagrams came from other addresses", self.foreign_datagrams));
        }
        if self.short_icmp_errors > 1 {
            notes.push(format!("{} ICMP errors quote no connection ID", self.short_icmp_errors));
        }
        if let Some(step_ns) = self.record.start().step_until(shared.clock.now()) {
            notes.push(format!("the clock was set by {:.3} s meanwhile", step_ns as f64 / 1e9));
        }
        let start_ns = self.record.start().monotonic_ns;
        Answer {
            handshake_ns: self.connected_ns.map(|time_ns| time_ns.saturating_sub(start_ns)),
            application_protocol: exchange::application_protocol(&self.connection),
            http: self.http.map(|http| *http),
            detail: (!notes.is_empty()).then(|| notes.join("; ")),
            ..self.record.into_answer(end.outcome)
        }
    }
}

/// A packet of a long header that has no frames: Retry, or Version Negotiation.
fn is_bare(payload: &[u8]) -> bool {
    is_version_negotiation(payload) || payload.first().is_some_and(|first| first & FORM_AND_TYPE == RETRY)
}

/// RFC 9000 section 17.2.1.
fn is_version_negotiation(payload: &[u8]) -> bool {
    matches!(payload, [first, 0, 0, 0, 0, ..] if first & LONG_HEADER != 0)
}

/// Whether the stack has the keys and rules of a version.
pub fn stack_speaks(version: u32) -> bool {
    quinn_proto::DEFAULT_SUPPORTED_VERSIONS.contains(&version)
}

/// The address that datagrams came to, with the port of the socket.
pub fn local_address(socket: SocketAddr, ip: Option<IpAddr>) -> SocketAddr {
    SocketAddr::new(ip.unwrap_or(socket.ip()), socket.port())
}
