//! The classifier: from the packets of one handshake to how its server answered. Needs no secret for most of it.

use quiclab_units::{Duration, Time};
use quiclab_wire::{Flow, Observed, QuicForm, Role, Segment};

use super::amplification::{Amplification, amplification};
use super::answers::{FirstAnswers, first_ack_delay, first_answers};
use super::class::{FirstAnswer, HandshakeClass};
use super::guess;
use super::log::{Frame, HandshakeLog};
use super::round_trips::samples;
use super::view::{Event, View};

/// RFC 9000 section 14.1: bytes of a datagram that proves that the path carries datagrams of full size.
const FULL_DATAGRAM: u64 = 1_200;
/// A server that sends nothing for so long waits for something: what is sent together leaves in microseconds.
const SILENCE: Duration = Duration::from_nanos(500_000);
/// What cannot be said where the server's Initial packets were not read.
const UNREAD_INITIAL: &str = "Initial packets of the server could not be read";

/// Looks at one connection. Feed it every datagram in the order of time, from the client's first on.
#[derive(Debug, Default)]
pub struct HandshakeClassifier {
    log: HandshakeLog,
}

impl HandshakeClassifier {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next datagram of the connection.
    pub fn on_datagram(&mut self, segment: &Segment, observed: &Observed) {
        let is_over = self.is_over();
        self.log.on_datagram(segment, observed, is_over);
    }

    /// Both ends have sent 1-RTT packets.
    fn is_over(&self) -> bool {
        self.log.has_one_rtt == [true; 2]
    }

    /// Whether what follows changes nothing: the handshake was over some datagrams ago.
    pub fn is_settled(&self) -> bool {
        self.log.is_full()
    }

    /// What is known by now. `flow`: the connection's, of the dissector that read the datagrams.
    pub fn finish(&self, flow: &Flow) -> HandshakeClass {
        classify(&self.log, flow)
    }
}

/// Classifies a handshake by what was kept of it.
pub(super) fn classify(log: &HandshakeLog, flow: &Flow) -> HandshakeClass {
    let client = View::of(Role::Client, log, None);
    let server = ServerSide::of(log, &client);
    let begin = log.datagrams.iter().find(|datagram| datagram.sender == Role::Client).map(|datagram| datagram.time);
    let since = |time: Option<Time>| Some(time?.checked_since(begin?)?.as_nanos());
    let answers = first_answers(client.received());
    let [before_ack, before_hello] = answers.hidden_before;
    let mut unread = Vec::new();
    let tls = flow.tls_handshake();
    let first_answer = if before_hello == 0 { first_answer(&answers, &client, log) } else { None };
    if before_hello > 0 {
        unread.push(UNREAD_INITIAL.to_owned());
    } else if first_answer.is_none() {
        unread.push("the first answers of the server are not in the capture".to_owned());
    }
    let first_ack = answers.first_ack.filter(|_| before_ack == 0);
    let hello = answers.hello.filter(|_| before_hello == 0);
    let wait = first_ack.zip(hello).and_then(|((ack, _), hello)| hello.checked_since(ack));
    let handshake_delay = first_ack_delay(&server.view, QuicForm::Handshake);
    if handshake_delay.hidden_before > 0 {
        unread.push("Handshake packets of the server could not be read".to_owned());
    }
    let initial_delay = first_ack_delay(&server.view, QuicForm::Initial).reported.map(Duration::as_nanos);
    let has_exponent = tls.is_some_and(|tls| tls.server_parameters.is_some());
    if !has_exponent && initial_delay.is_some_and(|delay| delay > 0) {
        unread
            .push("the unit of ACK delays is in the server's transport parameters, which could not be read".to_owned());
    }
    let flight = server.first_flight();
    let account = server.account.as_ref();
    if let Err(why) = account {
        unread.push(format!("{why}, so the bytes before the server knew the client's address are not known"));
    }
    let account = account.ok().filter(|account| account.received > 0);
    if log.is_cut {
        unread.push("only the first datagrams were looked at".to_owned());
    }
    let is_instant = first_answer == Some(FirstAnswer::Instant);
    let mut class = HandshakeClass {
        first_answer,
        first_ack_ns: since(first_ack.map(|(time, _)| time)),
        first_ack_bytes: first_ack.map(|(_, bytes)| u64::from(bytes)),
        is_ack_padded: first_ack.filter(|_| is_instant).map(|(_, bytes)| u64::from(bytes) >= FULL_DATAGRAM),
        server_hello_ns: since(hello),
        ack_to_hello_ns: wait.map(Duration::as_nanos),
        first_rtt_ns: first_round_trip(&client),
        initial_ack_delay_ns: initial_delay.filter(|delay| has_exponent || *delay == 0),
        handshake_ack_delay_ns: handshake_delay
            .reported
            .filter(|_| handshake_delay.hidden_before == 0)
            .map(Duration::as_nanos),
        first_flight_datagrams: flight.map(|(datagrams, _)| datagrams),
        first_flight_bytes: flight.map(|(_, bytes)| bytes),
        unvalidated_received_bytes: account.map(|account| account.received),
        unvalidated_sent_bytes: account.map(|account| account.sent),
        amplification_factor: account.map(|account| account.sent as f64 / account.received as f64),
        blocked_ns: account.filter(|account| account.hidden == 0).map(|account| account.blocked.as_nanos()),
        has_retry: client.received().any(|event| event.has_form(QuicForm::Retry)),
        version: flow.quic_version(),
        offered_versions: log.offered_versions.clone(),
        connection_id_bytes: log.server_id_bytes.map(u64::from),
        transport_parameters: tls.and_then(|tls| tls.server_parameters.clone()),
        application_protocol: tls.and_then(|tls| tls.application_protocol.clone()),
        certificate_bytes: tls.and_then(|tls| tls.certificate_bytes).map(u64::from),
        closes: log.closes.clone(),
        is_complete: log.has_one_rtt[Role::Client as usize],
        stack: None,
        unread,
    };
    class.stack = guess::stack(&class).map(str::to_owned);
    class
}

/// `None` where it answered, and none of these was seen.
fn first_answer(answers: &FirstAnswers, client: &View, log: &HandshakeLog) -> Option<FirstAnswer> {
    let acknowledges = |event: &Event| event.frames(QuicForm::Initial).any(|frame| matches!(frame, Frame::Ack { .. }));
    Some(match (answers.first_ack, answers.hello) {
        (Some((ack, _)), Some(hello)) if answers.instant_acks == 0 && ack == hello => FirstAnswer::Coalesced,
        (Some(_), Some(_)) => FirstAnswer::Instant,
        (None, Some(_)) if client.received().any(acknowledges) => FirstAnswer::Later,
        (None, Some(_)) => FirstAnswer::HelloAlone,
        _ if log.closes.iter().any(|close| close.by_server) => FirstAnswer::Closed,
        (Some(_), None) => FirstAnswer::AckAlone,
        _ if !log.offered_versions.is_empty() => FirstAnswer::VersionNegotiation,
        _ if client.received().any(|event| event.has_form(QuicForm::Retry)) => FirstAnswer::RetryAlone,
        _ if client.received().next().is_none() => FirstAnswer::Silent,
        _ => return None,
    })
}

/// First round-trip time of the client at the tap, in nanoseconds: the first one of Initial packets.
fn first_round_trip(client: &View) -> Option<u64> {
    let samples = samples(client);
    let first = samples.list.first().filter(|sample| samples.hidden_before == 0 && sample.space == 0)?;
    Some(first.rtt.as_nanos())
}

/// What the server saw, by its own order of events, wherever the tap is.
struct ServerSide<'a> {
    view: View<'a>,
    account: Result<Amplification, String>,
}

impl<'a> ServerSide<'a> {
    /// What the client sends reaches the server later than the tap by the way between them, and an answer takes the way back: datagrams
    /// of the server may pass the tap in between that were sent before the client's arrived. The fastest answer at the tap says how long
    /// that can take at most, since the server may have waited: that of Initial packets, which can be read without keys too.
    fn of(log: &'a HandshakeLog, client: &View) -> Self {
        let mut view = View::of(Role::Server, log, None);
        let of_initial = samples(client).list.into_iter().filter(|sample| sample.space == 0);
        let longest = of_initial.map(|sample| sample.rtt).min().unwrap_or_default();
        let sent: Vec<Time> = view.sent().map(|event| event.time).collect();
        for event in view.events.iter_mut().filter(|event| !event.is_sent) {
            event.time = arrival(event.time, longest, &sent);
        }
        // What arrives when an answer leaves came before it.
        view.events.sort_by_key(|event| (event.time, event.is_sent));
        let account = amplification(&view);
        ServerSide { view, account }
    }

    /// Datagrams and bytes of the server until the client's first answer to it arrived. `None` where there were none.
    fn first_flight(&self) -> Option<(u64, u64)> {
        let answers = |event: &&Event| {
            let acknowledges = event.frames(QuicForm::Initial).any(|frame| matches!(frame, Frame::Ack { .. }));
            acknowledges || event.has_form(QuicForm::Handshake)
        };
        let end = self.view.received().find(answers).map(|event| event.time);
        let flight = self.view.sent().filter(|event| end.is_none_or(|end| event.time < end));
        let (datagrams, bytes) =
            flight.fold((0, 0), |(count, bytes), event| (count + 1, bytes + u64::from(event.bytes)));
        (datagrams > 0).then_some((datagrams, bytes))
    }
}

/// When a datagram of the client that passed the tap at `passed` arrived, among the datagrams that the server `sent`, by their times at the
/// tap. Only the order counts.
///
/// What arrives makes a server that was silent send again, and one that is sending goes on without a pause: the first silence that ended
/// until `longest` later ended with the arrival. Without any, all of that was on its way already.
fn arrival(passed: Time, longest: Duration, sent: &[Time]) -> Time {
    let latest = Time::from_nanos(passed.as_nanos().saturating_add(longest.as_nanos()));
    let silence = Duration::from_nanos(longest.as_nanos() / 4).min(SILENCE);
    let first = sent.partition_point(|time| *time <= passed);
    let behind = sent.partition_point(|time| *time <= latest);
    let mut begin = first.checked_sub(1).map_or(passed, |place| sent[place]);
    for end in &sent[first..behind] {
        if end.checked_since(begin).unwrap_or_default() > silence {
            return *end;
        }
        begin = *end;
    }
    latest
}
