//! The server of the model.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use quiclab_metrics::RttEstimate;
use quiclab_units::{Duration, Time};

use crate::{
    datagram::{FULL_BYTES, FromClient, FromServer, OVERHEAD_BYTES, ROOM_BYTES, SMALL_BYTES, Space, backed_off, pto},
    question::{FirstAck, Question},
    ranges::Ranges,
};

/// What a server may send, in terms of what it has received, before it knows the client's address (RFC 9000, section 8.1).
const AMPLIFICATION: u64 = 3;
/// Fewer TLS bytes than this are not worth a datagram of their own while the flight goes on.
const LEAST_BYTES: u64 = 100;
/// Datagrams that one expired timer sends (RFC 9002, section 6.2.4).
const PROBES: usize = 2;
/// `kPacketThreshold`, RFC 9002 section 6.1.1.
const PACKET_THRESHOLD: u64 = 3;

/// The server.
pub struct Server {
    first_ack: FirstAck,
    delay: Duration,
    hello_datagrams: u32,
    server_hello_bytes: u64,
    flight_bytes: u64,
    estimate: RttEstimate,
    /// Probe timeout before the first sample.
    default_pto: Duration,
    hello: BTreeSet<u32>,
    /// Whether it still repeats its flight when a part of the ClientHello is repeated: once, as RFC 9002 section 6.2.3 recommends.
    may_repeat_early: bool,
    /// Numbers of the client's datagrams, by space.
    received: [BTreeSet<u64>; 2],
    received_bytes: u64,
    sent_bytes: u64,
    is_validated: bool,
    /// When it has its certificate.
    pub ready_at: Option<Time>,
    is_ready: bool,
    next_number: u64,
    /// Bytes sent for the first time so far.
    sent: u64,
    acknowledged: Ranges,
    in_flight: BTreeMap<u64, (Range<u64>, Time)>,
    largest_acknowledged: Option<u64>,
    /// Ranges declared lost.
    lost: Vec<Range<u64>>,
    last_eliciting: Time,
    timeouts: u32,
    is_done: bool,
    /// The limit keeps it from sending.
    blocked_since: Option<Time>,
    /// How long it did.
    pub blocked: Duration,
    /// Datagrams sent by an expired timer.
    pub probes: u32,
}

impl Server {
    pub fn new(question: &Question, first_ack: FirstAck, server_hello_bytes: u64, flight_bytes: u64) -> Self {
        Self {
            first_ack,
            delay: question.delay,
            hello_datagrams: question.hello_datagrams,
            server_hello_bytes,
            flight_bytes,
            estimate: RttEstimate::default(),
            default_pto: question.server_pto,
            hello: BTreeSet::new(),
            may_repeat_early: question.repeats_flight,
            received: [BTreeSet::new(), BTreeSet::new()],
            received_bytes: 0,
            sent_bytes: 0,
            is_validated: false,
            ready_at: None,
            is_ready: false,
            next_number: 0,
            sent: 0,
            acknowledged: Ranges::default(),
            in_flight: BTreeMap::new(),
            largest_acknowledged: None,
            lost: Vec::new(),
            last_eliciting: Time::from_nanos(0),
            timeouts: 0,
            is_done: false,
            blocked_since: None,
            blocked: Duration::ZERO,
            probes: 0,
        }
    }

    /// A datagram of the client arrives. Returns the answers.
    pub fn receive(&mut self, datagram: &FromClient, now: Time) -> Vec<FromServer> {
        self.received_bytes += datagram.bytes;
        self.is_validated |= datagram.has_handshake;
        let space = if datagram.has_handshake { Space::Handshake } else { Space::Initial };
        self.received[space as usize].insert(datagram.number);
        let mut is_repeated_hello = false;
        if let Some(part) = datagram.hello {
            is_repeated_hello = !self.hello.insert(part);
            if self.hello.len() == self.hello_datagrams as usize {
                self.ready_at.get_or_insert(now + self.delay);
            }
        }
        for (space, acks) in [&datagram.initial_acks, &datagram.handshake_acks].into_iter().enumerate() {
            if let Some(acks) = acks {
                self.on_acks(space, acks, now);
            }
        }
        if datagram.has_request && !self.is_done {
            self.is_done = true;
            return vec![self.datagram(FULL_BYTES, |datagram| datagram.has_response = true)];
        }
        // RFC 9002, section 6.2.2.1: a timeout that the limit held back is made up for before anything new is sent.
        let is_overdue = self.is_ready && self.timeout().is_some_and(|time| time <= now);
        let mut answers = if is_overdue { self.expire(now) } else { Vec::new() };
        if is_repeated_hello && answers.is_empty() && self.sent > 0 && !self.is_done && self.may_repeat_early {
            self.may_repeat_early = false;
            answers = self.repeat(now);
        }
        answers.extend(self.send(now));
        if answers.is_empty() && datagram.is_eliciting && (self.is_ready || self.first_ack != FirstAck::Wait) {
            let is_first = self.next_number == 0;
            let bytes = if is_first && self.first_ack == FirstAck::Padded { FULL_BYTES } else { SMALL_BYTES };
            if self.budget() >= bytes && !self.is_done {
                answers.push(self.datagram(bytes, |_| ()));
            }
        }
        answers
    }

    /// Notes that the server has its certificate, and sends what waited for it.
    pub fn ready(&mut self, now: Time) -> Vec<FromServer> {
        self.is_ready = true;
        self.send(now)
    }

    fn budget(&self) -> u64 {
        if self.is_validated {
            return u64::MAX;
        }
        (AMPLIFICATION * self.received_bytes).saturating_sub(self.sent_bytes)
    }

    fn datagram(&mut self, bytes: u64, fill: impl FnOnce(&mut FromServer)) -> FromServer {
        let number = self.next_number;
        self.next_number += 1;
        self.sent_bytes += bytes;
        let mut datagram = FromServer { number, bytes, acks: self.received.clone(), ..FromServer::default() };
        fill(&mut datagram);
        datagram
    }

    /// Sends what is lost and what is new, as far as the limit lets it.
    fn send(&mut self, now: Time) -> Vec<FromServer> {
        let mut datagrams = Vec::new();
        if !self.is_ready || self.is_done {
            return datagrams;
        }
        while let Some(range) = self.lost.pop() {
            let Some(datagram) = self.carry(range.clone(), now) else {
                self.lost.push(range);
                break;
            };
            let carried = datagram.flight.as_ref().map_or(range.start, |carried| carried.end);
            if carried < range.end {
                self.lost.push(carried..range.end);
            }
            datagrams.push(FromServer { is_repeat: true, ..datagram });
        }
        while self.lost.is_empty() && self.sent < self.flight_bytes {
            let Some(datagram) = self.carry(self.sent..self.flight_bytes, now) else { break };
            self.sent = datagram.flight.as_ref().map_or(self.sent, |range| range.end);
            datagrams.push(datagram);
        }
        let is_blocked = self.sent < self.flight_bytes || !self.lost.is_empty();
        match (self.blocked_since, is_blocked) {
            (None, true) => self.blocked_since = Some(now),
            (Some(since), false) => {
                self.blocked = self.blocked + now.checked_since(since).unwrap_or_default();
                self.blocked_since = None;
            }
            _ => {}
        }
        datagrams
    }

    /// A datagram with the beginning of a range, as much as fits; `None` where the limit leaves no room for it.
    fn carry(&mut self, range: Range<u64>, now: Time) -> Option<FromServer> {
        let room = ROOM_BYTES.min(self.budget().saturating_sub(OVERHEAD_BYTES));
        let wanted = range.end - range.start;
        if room < wanted.min(LEAST_BYTES) {
            return None;
        }
        let range = range.start..range.start + wanted.min(room);
        // A datagram with an Initial packet that asks for an acknowledgment is padded (RFC 9000, section 14.1).
        let has_initial = range.start < self.server_hello_bytes;
        let bytes = range.end - range.start + OVERHEAD_BYTES;
        let bytes = if has_initial { bytes.max(FULL_BYTES.min(self.budget())) } else { bytes };
        let datagram = self.datagram(bytes, |datagram| datagram.flight = Some(range.clone()));
        self.in_flight.insert(datagram.number, (range, now));
        self.last_eliciting = now;
        Some(datagram)
    }

    fn on_acks(&mut self, space: usize, acks: &BTreeSet<u64>, now: Time) {
        let Some(largest) = acks.last().copied() else { return };
        let is_sample = self.in_flight.get(&largest).map(|(_, sent)| *sent);
        let mut any_new = false;
        for number in acks {
            let Some((range, _)) = self.in_flight.get(number).cloned() else { continue };
            let part = if space == Space::Initial as usize {
                range.start..range.end.min(self.server_hello_bytes)
            } else {
                range.start.max(self.server_hello_bytes)..range.end
            };
            any_new |= !self.acknowledged.contains(&part);
            self.acknowledged.insert(part);
            if self.acknowledged.contains(&range) {
                self.in_flight.remove(number);
            }
        }
        if !any_new {
            return;
        }
        self.timeouts = 0;
        if let Some(sent) = is_sample {
            self.estimate.on_sample(now.checked_since(sent).unwrap_or_default(), Duration::ZERO);
        }
        self.largest_acknowledged = self.largest_acknowledged.max(Some(largest));
        self.declare_lost(now);
    }

    /// RFC 9002, section 6.1, at an acknowledgment or when the time of a datagram has come.
    fn declare_lost(&mut self, now: Time) {
        let Some(largest) = self.largest_acknowledged else { return };
        let threshold = self.time_threshold();
        let lost: Vec<_> = self
            .in_flight
            .iter()
            .filter(|(number, (_, sent))| {
                **number < largest && (largest - **number >= PACKET_THRESHOLD || *sent + threshold <= now)
            })
            .map(|(number, _)| *number)
            .collect();
        for number in lost.into_iter().rev() {
            let Some((range, _)) = self.in_flight.remove(&number) else { continue };
            // A datagram with both kinds of packets can be acknowledged in parts.
            let middle = self.server_hello_bytes.clamp(range.start, range.end);
            for part in [range.start..middle, middle..range.end] {
                self.lost.extend(self.acknowledged.first_gap(part, u64::MAX));
            }
        }
    }

    fn time_threshold(&self) -> Duration {
        let rtt = self.estimate.smoothed().max(self.estimate.latest()).unwrap_or_default();
        Duration::from_nanos((rtt.as_nanos() * 9 / 8).max(1_000_000))
    }

    /// When a datagram is lost because a later one was acknowledged.
    fn loss_time(&self) -> Option<Time> {
        let largest = self.largest_acknowledged?;
        let earliest = self.in_flight.range(..largest).map(|(_, (_, sent))| *sent).min()?;
        Some(earliest + self.time_threshold())
    }

    /// When its timer expires. It has none where the limit keeps it from sending (RFC 9002, section 6.2.2.1).
    pub fn timeout(&self) -> Option<Time> {
        if self.is_done || self.in_flight.is_empty() || self.budget() < SMALL_BYTES + LEAST_BYTES {
            return None;
        }
        let pto = self.last_eliciting + backed_off(pto(&self.estimate, self.default_pto), self.timeouts);
        Some(self.loss_time().map_or(pto, |time| time.min(pto)))
    }

    /// The timer has expired.
    pub fn expire(&mut self, now: Time) -> Vec<FromServer> {
        if self.loss_time().is_some_and(|time| time <= now) {
            self.declare_lost(now);
            return self.send(now);
        }
        self.timeouts += 1;
        let datagrams = self.repeat(now);
        self.probes += datagrams.len() as u32;
        self.last_eliciting = now;
        datagrams
    }

    /// What a timeout sends: the beginning of what is not acknowledged, then what was never sent, if anything (RFC 9002, section 6.2.4), or more of
    /// the former.
    fn repeat(&mut self, now: Time) -> Vec<FromServer> {
        let mut repeated = self.acknowledged.clone();
        let mut datagrams = Vec::new();
        for _ in 0..PROBES {
            if !datagrams.is_empty() && self.sent < self.flight_bytes {
                let Some(datagram) = self.carry(self.sent..self.flight_bytes, now) else { break };
                self.sent = datagram.flight.as_ref().map_or(self.sent, |range| range.end);
                datagrams.push(datagram);
                continue;
            }
            let Some(range) = repeated.first_gap(0..self.sent, ROOM_BYTES) else { break };
            let Some(datagram) = self.carry(range, now) else { break };
            repeated.insert(datagram.flight.clone().unwrap_or_default());
            datagrams.push(FromServer { is_repeat: true, ..datagram });
        }
        datagrams
    }
}
