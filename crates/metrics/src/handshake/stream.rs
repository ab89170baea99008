//! Handshakes of a capture without end: each is handed out some datagrams after it is over, and forgotten.

use std::collections::VecDeque;
use std::net::SocketAddr;

use indexmap::IndexMap;
use quiclab_units::{Duration, Time};
use quiclab_wire::{Dissector, DissectorSettings, Flow, QuicForm, Role, Segment, long_header_form};
use rustc_hash::FxBuildHasher;

use super::class::HandshakeClass;
use super::classifier::HandshakeClassifier;

/// A handshake that is not over so long after the last one that began with it is handed out as it is.
const TIMEOUT: Duration = Duration::from_nanos(10_000_000_000);
/// Handshakes that are forgotten together.
const HANDSHAKES_PER_EPOCH: usize = 4_096;
/// An epoch takes handshakes for so long.
const EPOCH: Duration = Duration::from_nanos(1_000_000_000);
/// Handshakes in memory: with more, the oldest are handed out as they are.
const MOST_HANDSHAKES: usize = 400_000;
/// RFC 9000 section 14.1: what a client's datagram with an Initial packet has at least.
const SMALLEST_FIRST_DATAGRAM: u32 = 1_200;

/// One handshake.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenHandshake {
    /// Time of the client's first datagram.
    pub time: Time,
    /// The server.
    pub server: SocketAddr,
    /// The client.
    pub client: SocketAddr,
    /// The name the client asked for.
    pub server_name: Option<String>,
    /// How the server answered.
    pub class: HandshakeClass,
}

/// Both directions between two addresses at one tap.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    interface: u32,
    low: SocketAddr,
    high: SocketAddr,
}

/// The newest connection of a pair.
#[derive(Clone, Copy)]
struct Place {
    epoch: u64,
    flow: usize,
}

/// Handshakes that began about the same time.
struct Epoch {
    dissector: Dissector,
    /// When each handshake began and what was seen of it, by flow of the dissector; `None` once it was handed out.
    handshakes: Vec<Option<(Time, HandshakeClassifier)>>,
    pairs: Vec<Pair>,
    first: Time,
    last: Time,
}

/// Finds the handshakes among packets. Feed it every packet in the order of time, then [`finish`](Self::finish).
#[derive(Default)]
pub struct HandshakeStream {
    settings: DissectorSettings,
    key_log: Vec<u8>,
    pairs: IndexMap<Pair, Place, FxBuildHasher>,
    epochs: VecDeque<Epoch>,
    /// Number of the first of them.
    first_epoch: u64,
    cut_short: u64,
}

impl HandshakeStream {
    /// `key_log`: lines of secrets, where there are any; without them the classes have what needs none.
    pub fn new(settings: DissectorSettings, key_log: &[u8]) -> Self {
        HandshakeStream { settings, key_log: key_log.to_vec(), ..HandshakeStream::default() }
    }

    /// Adds secrets, for handshakes that begin later.
    pub fn add_keys(&mut self, key_log: &[u8]) {
        self.key_log.extend_from_slice(key_log);
        self.key_log.push(b'\n');
        self.epochs.iter_mut().for_each(|epoch| epoch.dissector.add_keys(key_log));
    }

    /// Handshakes that were handed out before their time because there were too many.
    pub fn cut_short(&self) -> u64 {
        self.cut_short
    }

    /// The next packet.
    pub fn on_segment(&mut self, segment: &Segment, on_handshake: &mut dyn FnMut(SeenHandshake)) {
        let Some(first) = segment.payload.first().filter(|_| !segment.is_tcp()) else { return };
        let is_long = first & 0x80 != 0;
        if !is_long && self.pairs.is_empty() {
            return;
        }
        let pair = Pair {
            interface: if self.settings.interfaces_are_one_tap { 0 } else { segment.interface },
            low: segment.source.min(segment.destination),
            high: segment.source.max(segment.destination),
        };
        let place = self.pairs.get(&pair).copied();
        match (place, is_long) {
            (Some(place), false) => self.on_short(place, segment, on_handshake),
            (Some(place), true) => self.on_long(pair, place.epoch, segment, on_handshake),
            (None, false) => {}
            (None, true) => {
                if begins(segment) && self.settings.server_port.is_none_or(|port| segment.destination.port() == port) {
                    let epoch = self.epoch_for(segment.time, on_handshake);
                    self.on_long(pair, epoch, segment, on_handshake);
                }
            }
        }
    }

    /// Hands out what is left.
    pub fn finish(&mut self, on_handshake: &mut dyn FnMut(SeenHandshake)) {
        while !self.epochs.is_empty() {
            self.close_first(on_handshake);
        }
    }

    /// Packets of a connection whose handshake is over are not looked at: most packets are such.
    fn on_short(&mut self, place: Place, segment: &Segment, on_handshake: &mut dyn FnMut(SeenHandshake)) {
        let Some(epoch) = self.epoch(place.epoch) else { return };
        if epoch.handshakes.get(place.flow).is_some_and(Option::is_some) {
            epoch.on_segment(segment, on_handshake);
        }
    }

    fn on_long(&mut self, pair: Pair, number: u64, segment: &Segment, on_handshake: &mut dyn FnMut(SeenHandshake)) {
        let Some(epoch) = self.epoch(number) else { return };
        let Some(flow) = epoch.on_segment(segment, on_handshake) else { return };
        if self.pairs.insert(pair, Place { epoch: number, flow }).is_none_or(|before| before.epoch != number)
            && let Some(epoch) = self.epoch(number)
        {
            epoch.pairs.push(pair);
        }
    }

    fn epoch(&mut self, number: u64) -> Option<&mut Epoch> {
        let place = number.checked_sub(self.first_epoch)?;
        self.epochs.get_mut(usize::try_from(place).ok()?)
    }

    /// The number of the epoch in which a handshake begins now.
    fn epoch_for(&mut self, now: Time, on_handshake: &mut dyn FnMut(SeenHandshake)) -> u64 {
        let is_over = |epoch: &Epoch| now.checked_since(epoch.last).is_some_and(|time| time > TIMEOUT);
        while self.epochs.front().is_some_and(is_over) {
            self.close_first(on_handshake);
        }
        while self.pairs.len() >= MOST_HANDSHAKES && self.epochs.len() > 1 {
            self.cut_short += self.close_first(on_handshake);
        }
        let takes = |epoch: &Epoch| {
            epoch.handshakes.len() < HANDSHAKES_PER_EPOCH
                && now.checked_since(epoch.first).is_none_or(|time| time < EPOCH)
        };
        if !self.epochs.back().is_some_and(takes) {
            let mut dissector = Dissector::new(self.settings.clone());
            dissector.add_keys(&self.key_log);
            let (handshakes, pairs) = (Vec::new(), Vec::new());
            self.epochs.push_back(Epoch { dissector, handshakes, pairs, first: now, last: now });
        }
        self.first_epoch + self.epochs.len() as u64 - 1
    }

    /// Gives how many handshakes were not over.
    fn close_first(&mut self, on_handshake: &mut dyn FnMut(SeenHandshake)) -> u64 {
        let Some(mut epoch) = self.epochs.pop_front() else { return 0 };
        let number = self.first_epoch;
        self.first_epoch += 1;
        for pair in &epoch.pairs {
            if self.pairs.get(pair).is_some_and(|place| place.epoch == number) {
                self.pairs.swap_remove(pair);
            }
        }
        (0..epoch.handshakes.len()).filter(|flow| epoch.hand_out(*flow, on_handshake)).count() as u64
    }
}

impl Epoch {
    /// Gives the flow. Several connections may follow each other between the same addresses.
    fn on_segment(&mut self, segment: &Segment, on_handshake: &mut dyn FnMut(SeenHandshake)) -> Option<usize> {
        let observed = self.dissector.on_segment(segment)?;
        let flow = observed.flow;
        if self.handshakes.len() <= flow {
            self.handshakes.resize_with(flow, || None);
            self.handshakes.push(Some((segment.time, HandshakeClassifier::new())));
            self.last = self.last.max(segment.time);
        }
        if let Some((_, classifier)) = &mut self.handshakes[flow] {
            classifier.on_datagram(segment, &observed);
            if classifier.is_settled() {
                self.hand_out(flow, on_handshake);
            }
        }
        Some(flow)
    }

    /// Whether there was something to hand out.
    fn hand_out(&mut self, flow: usize, on_handshake: &mut dyn FnMut(SeenHandshake)) -> bool {
        let Some((time, classifier)) = self.handshakes.get_mut(flow).and_then(Option::take) else { return false };
        let flow: &Flow = &self.dissector.flows()[flow];
        on_handshake(SeenHandshake {
            time,
            server: flow.address(Role::Server),
            client: flow.address(Role::Client),
            server_name: flow.server_name().map(str::to_owned),
            class: classifier.finish(flow),
        });
        true
    }
}

/// Whether a datagram can be the first of a client.
fn begins(segment: &Segment) -> bool {
    if segment.payload_length < SMALLEST_FIRST_DATAGRAM {
        return false;
    }
    match long_header_form(segment.payload) {
        Some(QuicForm::Initial) => true,
        // Other protocols have such a first bit too.
        Some(QuicForm::UnknownVersion) => asks_for_versions(segment.payload),
        _ => false,
    }
}

/// Whether a datagram has a version that is reserved to be refused (RFC 9000 section 15), or that of a draft.
fn asks_for_versions(datagram: &[u8]) -> bool {
    let Some(version) = datagram.get(1..5).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes) else {
        return false;
    };
    datagram[0] & 0x40 != 0 && (version & 0x0f0f_0f0f == 0x0a0a_0a0a || version >> 8 == 0x00ff_0000)
}
