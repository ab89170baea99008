//! The client of the model: RFC 9002, appendix A, as far as a handshake needs it.

use std::collections::{BTreeMap, BTreeSet};

use quiclab_metrics::RttEstimate;
use quiclab_units::{Duration, Time};

use crate::{
    datagram::{FULL_BYTES, FromClient, FromServer, SMALL_BYTES, Space, backed_off, pto},
    question::Question,
    ranges::Ranges,
};

/// The client.
pub struct Client {
    hello_datagrams: u32,
    server_hello_bytes: u64,
    flight_bytes: u64,
    estimate: RttEstimate,
    /// Probe timeout before the first sample.
    default_pto: Duration,
    next_number: u64,
    /// Datagrams that ask for an acknowledgment and have none: space, time.
    in_flight: BTreeMap<u64, (Space, Time)>,
    /// Largest number that was acknowledged, by space.
    largest_acknowledged: [Option<u64>; 2],
    /// Parts of the ClientHello that are not acknowledged.
    hello_left: BTreeSet<u32>,
    /// Part of the ClientHello in each datagram, by the datagram's number.
    hello_of: BTreeMap<u64, u32>,
    arrived: Ranges,
    /// Datagrams of the server with an Initial packet, and with a Handshake packet that could be opened.
    received: [BTreeSet<u64>; 2],
    /// Handshake packets that came before the ServerHello.
    early: BTreeSet<u64>,
    /// Whether the client has sent a Handshake packet, and with it discarded the keys of Initial packets (RFC 9001, section 4.9.1).
    is_initial_discarded: bool,
    is_request_sent: bool,
    /// Whether a Handshake packet of the client was acknowledged: the server knows its address.
    is_known_to_server: bool,
    last_eliciting: Time,
    /// When the timer was last set with nothing in flight.
    timer_set: Time,
    timeouts: u32,
    /// The client's first sample.
    pub first_sample: Option<Duration>,
    /// When the response began to arrive.
    pub first_byte: Option<Time>,
    /// Datagrams sent by an expired timer.
    pub probes: u32,
}

impl Client {
    pub fn new(question: &Question, server_hello_bytes: u64, flight_bytes: u64) -> Self {
        Self {
            hello_datagrams: question.hello_datagrams,
            server_hello_bytes,
            flight_bytes,
            estimate: RttEstimate::default(),
            default_pto: question.client_pto,
            next_number: 0,
            in_flight: BTreeMap::new(),
            largest_acknowledged: [None; 2],
            hello_left: (0..question.hello_datagrams).collect(),
            hello_of: BTreeMap::new(),
            arrived: Ranges::default(),
            received: [BTreeSet::new(), BTreeSet::new()],
            early: BTreeSet::new(),
            is_initial_discarded: false,
            is_request_sent: false,
            is_known_to_server: false,
            last_eliciting: Time::from_nanos(0),
            timer_set: Time::from_nanos(0),
            timeouts: 0,
            first_sample: None,
            first_byte: None,
            probes: 0,
        }
    }

    /// The ClientHello.
    pub fn begin(&mut self, now: Time) -> Vec<FromClient> {
        (0..self.hello_datagrams).map(|part| self.hello(part, now)).collect()
    }

    fn hello(&mut self, part: u32, now: Time) -> FromClient {
        let mut datagram = self.datagram(FULL_BYTES);
        datagram.hello = Some(part);
        self.hello_of.insert(datagram.number, part);
        self.eliciting(datagram, Space::Initial, now)
    }

    fn datagram(&mut self, bytes: u64) -> FromClient {
        let number = self.next_number;
        self.next_number += 1;
        FromClient { number, bytes, ..FromClient::default() }
    }

    fn eliciting(&mut self, mut datagram: FromClient, space: Space, now: Time) -> FromClient {
        datagram.is_eliciting = true;
        self.in_flight.insert(datagram.number, (space, now));
        self.last_eliciting = now;
        datagram
    }

    /// A datagram of the server arrives. Returns the answers.
    pub fn receive(&mut self, datagram: &FromServer, now: Time) -> Vec<FromClient> {
        self.on_acks(datagram, now);
        if datagram.has_response {
            self.first_byte.get_or_insert(now);
            return Vec::new();
        }
        let Some(range) = datagram.flight.clone() else { return Vec::new() };
        let has_initial = range.start < self.server_hello_bytes;
        let has_handshake = range.end > self.server_hello_bytes;
        self.arrived.insert(range);
        let has_keys = self.arrived.contains(&(0..self.server_hello_bytes));
        if has_initial {
            self.received[Space::Initial as usize].insert(datagram.number);
        }
        if has_handshake {
            self.early.insert(datagram.number);
        }
        if has_keys {
            self.received[Space::Handshake as usize].append(&mut self.early);
        }
        self.answer(has_initial, now)
    }

    /// Acknowledges, and goes on where it has everything.
    fn answer(&mut self, has_initial: bool, now: Time) -> Vec<FromClient> {
        let acknowledges_handshake = !self.received[Space::Handshake as usize].is_empty();
        let is_complete = !self.is_request_sent && self.arrived.contains(&(0..self.flight_bytes));
        let acknowledges_initial = has_initial && !self.is_initial_discarded;
        if !acknowledges_initial && !acknowledges_handshake {
            return Vec::new();
        }
        let bytes = if acknowledges_initial || is_complete { FULL_BYTES } else { SMALL_BYTES };
        let mut datagram = self.datagram(bytes);
        if acknowledges_initial {
            datagram.initial_acks = Some(self.received[Space::Initial as usize].clone());
        }
        if acknowledges_handshake {
            self.with_handshake(&mut datagram);
        }
        if is_complete {
            self.is_request_sent = true;
            datagram.has_request = true;
            return vec![self.eliciting(datagram, Space::Handshake, now)];
        }
        vec![datagram]
    }

    fn with_handshake(&mut self, datagram: &mut FromClient) {
        datagram.has_handshake = true;
        datagram.handshake_acks = Some(self.received[Space::Handshake as usize].clone());
        if !self.is_initial_discarded {
            self.is_initial_discarded = true;
            // RFC 9002, section 6.2.2: discarding keys resets the timer and its back-off.
            self.in_flight.retain(|_, (space, _)| *space == Space::Handshake);
            self.timeouts = 0;
        }
    }

    fn on_acks(&mut self, datagram: &FromServer, now: Time) {
        let mut any_new = false;
        for (space, acks) in datagram.acks.iter().enumerate() {
            let Some(largest) = acks.last() else { continue };
            let newly: Vec<_> =
                acks.iter().filter_map(|number| Some((*number, self.in_flight.remove(number)?))).collect();
            for (number, _) in &newly {
                if let Some(part) = self.hello_of.get(number) {
                    self.hello_left.remove(part);
                }
            }
            self.is_known_to_server |= space == Space::Handshake as usize;
            let is_largest_new = self.largest_acknowledged[space].is_none_or(|former| former < *largest);
            self.largest_acknowledged[space] = self.largest_acknowledged[space].max(Some(*largest));
            if let Some((_, (_, sent))) = newly.iter().find(|(number, _)| number == largest)
                && is_largest_new
            {
                let sample = now.checked_since(*sent).unwrap_or_default();
                self.first_sample.get_or_insert(sample);
                self.estimate.on_sample(sample, Duration::ZERO);
            }
            any_new |= !newly.is_empty();
        }
        if any_new {
            self.timer_set = now;
            // RFC 9002, section 6.2.1: not reset while the client does not know whether the server has validated its address.
            if self.is_known_to_server {
                self.timeouts = 0;
            }
        }
    }

    /// When its timer expires (RFC 9002, section 6.2 and appendix A.8).
    pub fn timeout(&self) -> Option<Time> {
        if self.first_byte.is_some() {
            return None;
        }
        let since = if self.in_flight.is_empty() {
            if self.is_known_to_server {
                return None;
            }
            self.timer_set
        } else {
            self.last_eliciting
        };
        Some(since + backed_off(pto(&self.estimate, self.default_pto), self.timeouts))
    }

    /// The timer has expired.
    pub fn expire(&mut self, now: Time) -> Vec<FromClient> {
        self.timeouts += 1;
        self.timer_set = now;
        let mut probes = if self.is_request_sent {
            let mut datagram = self.datagram(FULL_BYTES);
            datagram.has_request = true;
            self.with_handshake(&mut datagram);
            vec![self.eliciting(datagram, Space::Handshake, now)]
        } else if self.is_initial_discarded {
            let mut datagram = self.datagram(SMALL_BYTES);
            self.with_handshake(&mut datagram);
            vec![self.eliciting(datagram, Space::Handshake, now)]
        } else if self.hello_left.is_empty() {
            let datagram = self.datagram(FULL_BYTES);
            vec![self.eliciting(datagram, Space::Initial, now)]
        } else {
            let left: Vec<_> = self.hello_left.iter().copied().take(2).collect();
            left.into_iter().map(|part| self.hello(part, now)).collect()
        };
        for probe in &mut probes {
            probe.is_probe = true;
            self.probes += 1;
        }
        probes
    }
}
