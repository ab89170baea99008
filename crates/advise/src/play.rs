//! Client, server, and the path between them.

use std::collections::BTreeMap;

use quiclab_units::{Duration, Time};
use serde::Serialize;

use crate::{
    client::Client,
    datagram::{
        FromClient, FromServer, LARGE_SERVER_HELLO_BYTES, OTHER_HANDSHAKE_BYTES, ROOM_BYTES, SERVER_HELLO_BYTES,
    },
    question::{FirstAck, Loss, Question, QuestionError},
    server::Server,
};

/// How a handshake went. Times in nanoseconds since the client began.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Handshake {
    /// When the response began to arrive at the client; `None` where it had not after many timeouts.
    pub first_byte_ns: Option<u64>,
    /// The client's first sample of the round-trip time.
    pub first_sample_ns: Option<u64>,
    /// The client's probe timeout after its first sample: three times the sample.
    pub first_pto_ns: Option<u64>,
    /// Datagrams that the client's timer sent.
    pub client_probes: u32,
    /// Datagrams that the server's timer sent.
    pub server_probes: u32,
    /// How long the amplification limit kept the server from sending.
    pub blocked_ns: u64,
    /// Whether the server's first flight fits into three times the ClientHello.
    pub fits: bool,
    /// Everything in order.
    pub events: Vec<Event>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// When, since the client began.
    pub at_ns: u64,
    /// What.
    pub what: EventKind,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The client sends a datagram.
    ClientSends,
    /// The client's timer sends a datagram.
    ClientProbes,
    /// The server sends a datagram.
    ServerSends,
    /// The server's timer, or a declared loss, sends a datagram.
    ServerRepeats,
    /// A datagram to the client is lost.
    LostToClient,
    /// A datagram to the server is lost.
    LostToServer,
    /// The server has its certificate.
    CertificateReady,
    /// The response begins to arrive.
    FirstByte,
}

/// What is under way.
enum Arrival {
    AtClient(FromServer),
    AtServer(FromClient),
    Ready,
}

/// No handshake that ends takes more steps.
const MOST_STEPS: u32 = 20_000;
/// One that takes longer has failed.
const LONGEST: Time = Time::from_nanos(120_000_000_000);

/// Plays a handshake with one request.
///
/// # Errors
/// [`Question::check`].
pub fn handshake(question: &Question, first_ack: FirstAck, loss: Loss) -> Result<Handshake, QuestionError> {
    question.check()?;
    let server_hello = if question.hello_datagrams > 1 { LARGE_SERVER_HELLO_BYTES } else { SERVER_HELLO_BYTES };
    let flight = server_hello + OTHER_HANDSHAKE_BYTES + question.certificate.as_bytes();
    let mut play = Play {
        question,
        loss,
        client: Client::new(question, server_hello, flight),
        server: Server::new(question, first_ack, server_hello, flight),
        arrivals: BTreeMap::new(),
        order: 0,
        free: [Time::from_nanos(0); 2],
        has_server_begun: false,
        second_flight: SecondFlight::NotYet,
        events: Vec::new(),
    };
    play.run();
    let Play { client, server, events, .. } = play;
    let fits = flight.div_ceil(ROOM_BYTES) <= 3 * u64::from(question.hello_datagrams);
    Ok(Handshake {
        first_byte_ns: client.first_byte.map(Time::as_nanos),
        first_sample_ns: client.first_sample.map(Duration::as_nanos),
        first_pto_ns: client.first_sample.map(|sample| sample.as_nanos() * 3),
        client_probes: client.probes,
        server_probes: server.probes,
        blocked_ns: server.blocked.as_nanos(),
        fits,
        events,
    })
}

/// Where the client's second flight is.
#[derive(PartialEq, Eq)]
enum SecondFlight {
    NotYet,
    Begun,
    Over,
}

struct Play<'a> {
    question: &'a Question,
    loss: Loss,
    client: Client,
    server: Server,
    /// Arrivals by time, and in the order in which they were sent.
    arrivals: BTreeMap<(Time, u64), Arrival>,
    order: u64,
    /// When the link towards the client, and towards the server, is free again.
    free: [Time; 2],
    has_server_begun: bool,
    second_flight: SecondFlight,
    events: Vec<Event>,
}

impl Play<'_> {
    fn run(&mut self) {
        let mut now = Time::from_nanos(0);
        let hello = self.client.begin(now);
        self.send_to_server(hello, now);
        for _ in 0..MOST_STEPS {
            let arrival = self.arrivals.keys().next().map(|(time, _)| *time);
            let timers = [self.client.timeout(), self.server.timeout()];
            let Some(next) = [arrival, timers[0], timers[1]].into_iter().flatten().min() else { return };
            now = now.max(next);
            if self.client.first_byte.is_some() || now > LONGEST {
                return;
            }
            // What arrives in the moment in which a timer expires comes first.
            if arrival.is_some_and(|time| time <= now) {
                if let Some((_, arrival)) = self.arrivals.pop_first() {
                    self.arrive(arrival, now);
                }
            } else if timers[0].is_some_and(|time| time <= now) {
                let probes = self.client.expire(now);
                self.send_to_server(probes, now);
            } else {
                let probes = self.server.expire(now);
                self.send_to_client(probes, now);
            }
        }
    }

    fn arrive(&mut self, arrival: Arrival, now: Time) {
        match arrival {
            Arrival::Ready => {
                self.event(now, EventKind::CertificateReady);
                let sent = self.server.ready(now);
                self.send_to_client(sent, now);
            }
            Arrival::AtServer(datagram) => {
                let was_known = self.server.ready_at;
                let answers = self.server.receive(&datagram, now);
                if was_known.is_none()
                    && let Some(ready_at) = self.server.ready_at
                {
                    self.put(ready_at, Arrival::Ready);
                }
                self.send_to_client(answers, now);
            }
            Arrival::AtClient(datagram) => {
                if self.second_flight == SecondFlight::NotYet && datagram.flight.is_some() {
                    self.second_flight = SecondFlight::Begun;
                }
                let answers = self.client.receive(&datagram, now);
                self.send_to_server(answers, now);
                if self.client.first_byte == Some(now) {
                    self.event(now, EventKind::FirstByte);
                }
            }
        }
    }

    fn send_to_client(&mut self, datagrams: Vec<FromServer>, now: Time) {
        for datagram in datagrams {
            self.event(now, if datagram.is_repeat { EventKind::ServerRepeats } else { EventKind::ServerSends });
            let is_first = !std::mem::replace(&mut self.has_server_begun, true);
            let arrival = self.passes(0, datagram.bytes, now);
            let is_flight = datagram.flight.is_some() && !datagram.is_repeat;
            if self.loss == Loss::ServerFlightRest && is_flight && !is_first {
                self.event(now, EventKind::LostToClient);
            } else {
                self.put(arrival, Arrival::AtClient(datagram));
            }
        }
    }

    fn send_to_server(&mut self, datagrams: Vec<FromClient>, now: Time) {
        for datagram in datagrams {
            self.event(now, if datagram.is_probe { EventKind::ClientProbes } else { EventKind::ClientSends });
            let arrival = self.passes(1, datagram.bytes, now);
            let is_second = self.second_flight == SecondFlight::Begun && !datagram.is_probe;
            if is_second && datagram.has_request {
                self.second_flight = SecondFlight::Over;
            }
            if self.loss == Loss::ClientSecondFlight && is_second {
                self.event(now, EventKind::LostToServer);
            } else {
                self.put(arrival, Arrival::AtServer(datagram));
            }
        }
    }

    /// When a datagram arrives that is sent now.
    fn passes(&mut self, direction: usize, bytes: u64, now: Time) -> Time {
        let start = now.max(self.free[direction]);
        let takes = self.question.rate.map_or(0, |rate| {
            u64::try_from(u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate.as_bits_per_second().max(1)))
                .unwrap_or(u64::MAX)
        });
        self.free[direction] = start + Duration::from_nanos(takes);
        // The odd nanosecond of a round trip is on the way back.
        let half = self.question.rtt.as_nanos() / 2;
        let half = if direction == 0 { self.question.rtt.as_nanos() - half } else { half };
        self.free[direction] + Duration::from_nanos(half)
    }

    fn put(&mut self, time: Time, arrival: Arrival) {
        self.order += 1;
        self.arrivals.insert((time, self.order), arrival);
    }

    fn event(&mut self, now: Time, what: EventKind) {
        self.events.push(Event { at_ns: now.as_nanos(), what });
    }
}
