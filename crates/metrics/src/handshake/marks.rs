//! What happened in a handshake besides its datagrams: samples of the round-trip time, probe timeouts, waits for the
//! amplification limit.

use std::collections::{BTreeMap, BTreeSet};

use quiclab_units::{Duration, Time};
use quiclab_wire::{Capture, Flow, Observed, Role, Segment};

use super::HandshakeMeter;
use super::amplification::amplification;
use super::joined::{Handshakes, MOST_HANDSHAKES};
use super::log::Frame;
use super::probes::{SAME_TIMEOUT, probes};
use super::round_trips::{estimates, samples};
use super::timer::Timer;
use super::view::{View, Views};

/// Something that happened at one end of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeMark {
    /// The end at which it happened.
    pub side: Role,
    /// When, by the clock of the capture.
    pub time: Time,
    /// What.
    pub what: HandshakeEvent,
}

/// What happened at one end of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeEvent {
    /// Its first sample of the round-trip time.
    FirstSample {
        /// The sample.
        rtt: Duration,
        /// The probe timeout after it, for packets of the handshake.
        pto: Duration,
    },
    /// Its probe timer expired, as RFC 9002 has it.
    TimeoutDue {
        /// What it had waited: the probe timeout with its back-off.
        pto: Duration,
        /// Whose packets it waited for: `Initial`, `Handshake`, `1-RTT`.
        space: &'static str,
        /// How many times the timeout was doubled.
        doubled: u32,
    },
    /// It sent something only because it waited in vain.
    Probe {
        /// Time since the last ack-eliciting packet that it had sent before; `None` where there was none.
        waited: Option<Duration>,
        /// Whether it had a sample of the round-trip time by then.
        has_sample: bool,
    },
    /// It had data left to send and not enough of its amplification limit; the mark is at the beginning.
    Blocked {
        /// When it could send again.
        until: Time,
    },
}

/// The marks of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeMarks {
    /// Address of the client, and of the server.
    pub addresses: [std::net::SocketAddr; 2],
    /// The marks, in the order of time.
    pub marks: Vec<HandshakeMark>,
}

/// Collects the handshakes of a capture. Feed it every packet, then ask it once.
#[derive(Default)]
pub struct HandshakeMarkMeter {
    flows: BTreeMap<usize, HandshakeMeter>,
}

impl HandshakeMarkMeter {
    /// The next packet.
    pub fn on_packet(&mut self, segment: &Segment, observed: &Observed) {
        if observed.flow < MOST_HANDSHAKES {
            self.flows.entry(observed.flow).or_default().on_packet(segment, observed, true);
        }
    }

    /// The marks of each connection. `flows` are those of the dissector.
    pub fn finish(mut self, flows: &[Flow], capture: &Capture) -> Vec<HandshakeMarks> {
        let logs = (0..flows.len()).map(|flow| self.flows.get_mut(&flow)?.take_log()).collect();
        let handshakes = Handshakes::new(logs, flows, capture);
        let mut seen = BTreeSet::new();
        let mut all = Vec::new();
        for (number, flow) in flows.iter().enumerate() {
            let addresses = [flow.address(Role::Client), flow.address(Role::Server)];
            // Both taps' flows have the same views.
            let Some(views) = handshakes.views(number) else { continue };
            if !seen.insert((addresses, flow.original_destination_connection_id())) {
                continue;
            }
            let delays = Role::BOTH.map(|side| flow.max_ack_delay(side.peer()));
            all.push(HandshakeMarks { addresses, marks: marks(&views, delays) });
        }
        all
    }
}

/// `max_ack_delays`: of the peers of client and server.
pub(super) fn marks(views: &Views, max_ack_delays: [Duration; 2]) -> Vec<HandshakeMark> {
    let mut marks = Vec::new();
    for (side, delay) in Role::BOTH.into_iter().zip(max_ack_delays) {
        let view = views.of(side);
        let mut add = |time, what| marks.push(HandshakeMark { side, time, what });
        timeouts(view, side, delay, &mut add);
    }
    let server = &views.server;
    if server.is_exact {
        for (since, until) in amplification(server).map_or(Vec::new(), |account| account.waits) {
            marks.push(HandshakeMark { side: Role::Server, time: since, what: HandshakeEvent::Blocked { until } });
        }
    }
    marks.sort_by_key(|mark| mark.time);
    marks
}

fn timeouts(view: &View, side: Role, max_ack_delay: Duration, add: &mut dyn FnMut(Time, HandshakeEvent)) {
    let samples = samples(view);
    // Times of another end are not known well enough to say when its timer expired.
    let known = view.way_and_back.filter(|_| view.is_exact && samples.hidden_before == 0);
    let after_each = known.map(|missing| estimates(&samples.list, missing)).unwrap_or_default();
    if let Some((first, estimate)) = after_each.first() {
        add(first.time, HandshakeEvent::FirstSample { rtt: first.rtt, pto: estimate.pto(Duration::ZERO) });
    }
    let probes = probes(view);
    let mut timer = Timer::new(side, max_ack_delay);
    let mut next_estimate = after_each.iter().peekable();
    let mut last_eliciting: Option<Time> = None;
    for event in &view.events {
        // What is sent at that very time is sent because of it, as in the simulator.
        let has_expired = |time: Time| time < event.time || (event.is_sent && time == event.time);
        if let Some(due) = timer.due().filter(|due| has_expired(due.time)) {
            add(due.time, HandshakeEvent::TimeoutDue { pto: due.pto, space: due.space, doubled: due.doubled });
            timer.on_expiry();
        }
        let is_probe = event.is_sent && probes.contains(&event.time);
        // A timeout may send two datagrams, RFC 9002 section 6.2.4.
        let waited = last_eliciting.and_then(|last| event.time.checked_since(last));
        if is_probe && waited.is_none_or(|waited| waited >= SAME_TIMEOUT) {
            add(event.time, HandshakeEvent::Probe { waited, has_sample: timer.has_sample() });
            timer.on_probe();
        }
        timer.on_event(event);
        while let Some((_, estimate)) = next_estimate.next_if(|(sample, _)| sample.time <= event.time) {
            timer.on_estimate(*estimate);
        }
        let is_eliciting = event.packets.iter().any(super::log::Packet::is_ack_eliciting);
        if event.is_sent && is_eliciting {
            last_eliciting = Some(event.time);
        }
        if event.packets.iter().flat_map(|packet| &packet.frames).any(|frame| matches!(frame, Frame::Close)) {
            return;
        }
    }
}
