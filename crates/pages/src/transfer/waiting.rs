//! Packets that wait until it is known what became of them.

use std::collections::{BTreeMap, VecDeque};

use quiclab_metrics::{PACKET_THRESHOLD, PayloadKey};
use quiclab_units::Time;
use quiclab_wire::{Ack, Observed, QuicForm, QuicFrame, QuicPacket, Role};

use super::row::Row;

/// A packet that so many later ones overtook on the way to the other tap was dropped; a path that reorders moves fewer.
const OVERTAKEN_BY: u32 = 64;
/// Longest time of the capture that a packet waits, in nanoseconds.
const LONGEST_WAIT_NS: u64 = 3_000_000_000;
/// Packets that wait at most.
const MOST_WAITING: usize = 20_000;

/// Flow, sender, packet number space, packet number.
type Number = (usize, u8, u8, u64);

struct Waiting {
    row: Row,
    time: Time,
    sender: Role,
    /// Numbers of its QUIC packets that ask for an ACK.
    numbers: Vec<Number>,
    payload: Option<PayloadKey>,
    overtaken: u32,
}

impl Waiting {
    fn is_decided(&self) -> bool {
        (self.numbers.is_empty() || self.row.is_lost == Some(true)) && self.payload.is_none()
    }
}

/// Packets in the order of the capture.
#[derive(Default)]
pub struct WaitingRows {
    rows: VecDeque<Waiting>,
    /// Identity of the first of `rows`; the others count up from it.
    first: u64,
    next_later: u64,
    numbers: BTreeMap<Number, u64>,
    /// Identity of a packet, or of one sent after the listed ones, by sender and payload.
    payloads: BTreeMap<(u8, PayloadKey), u64>,
}

fn number(observed: &Observed, packet: &QuicPacket) -> Option<Number> {
    let elicits = observed.frames[packet.frames.clone()].iter().any(QuicFrame::is_ack_eliciting);
    let number = packet.packet_number.filter(|_| elicits)?;
    Some((observed.flow, observed.sender as u8, packet.form.packet_number_space()?, number))
}

impl WaitingRows {
    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A packet that is to be listed. `payload`: what it is found by at the tap behind the bottleneck; `None` where it is
    /// not looked for.
    pub fn push(&mut self, row: Row, time: Time, observed: &Observed, payload: Option<PayloadKey>) {
        let identity = self.first + self.rows.len() as u64;
        let numbers: Vec<_> = observed.packets.iter().filter_map(|packet| number(observed, packet)).collect();
        self.numbers.extend(numbers.iter().map(|number| (*number, identity)));
        if let Some(payload) = payload {
            self.payloads.insert((observed.sender as u8, payload), identity);
        }
        self.rows.push_back(Waiting { row, time, sender: observed.sender, numbers, payload, overtaken: 0 });
    }

    /// A packet behind the listed ones, which may overtake them.
    pub fn push_later(&mut self, sender: Role, payload: PayloadKey) {
        if !self.rows.is_empty() && self.payloads.len() < MOST_WAITING {
            self.next_later += 1;
            let identity = self.first + self.rows.len() as u64 + self.next_later;
            self.payloads.insert((sender as u8, payload), identity);
        }
    }

    /// An ACK by the peer of `sender`, in a packet of this form.
    pub fn on_ack(&mut self, flow: usize, sender: Role, form: QuicForm, ack: &Ack, time: Time) {
        let Some(space) = form.packet_number_space() else { return };
        let key = |number: u64| (flow, sender as u8, space, number);
        for range in &ack.ranges {
            let found: Vec<_> =
                self.numbers.range(key(*range.start())..=key(*range.end())).map(|(key, at)| (*key, *at)).collect();
            for (number, identity) in found {
                self.numbers.remove(&number);
                let Some(waiting) = self.waiting(identity) else { continue };
                waiting.numbers.retain(|own| *own != number);
                if waiting.numbers.is_empty() {
                    waiting.row.acknowledged_after_ns = time.checked_since(waiting.time).map(|after| after.as_nanos());
                }
            }
        }
        let Some(below) = ack.largest().checked_sub(PACKET_THRESHOLD) else { return };
        let lost: Vec<_> = self.numbers.range(key(0)..=key(below)).map(|(_, identity)| *identity).collect();
        for identity in lost {
            if let Some(waiting) = self.waiting(identity) {
                waiting.row.is_lost = Some(true);
            }
        }
    }

    /// A packet at the tap behind the bottleneck.
    pub fn on_behind(&mut self, sender: Role, payload: PayloadKey, time: Time) {
        let Some(identity) = self.payloads.remove(&(sender as u8, payload)) else { return };
        if let Some(waiting) = self.waiting(identity) {
            waiting.payload = None;
            waiting.row.is_dropped = Some(false);
            waiting.row.behind_bottleneck_after_ns = time.checked_since(waiting.time).map(|after| after.as_nanos());
        }
        let before = usize::try_from(identity.saturating_sub(self.first)).unwrap_or(usize::MAX).min(self.rows.len());
        for waiting in self.rows.range_mut(..before).filter(|it| it.sender == sender && it.payload.is_some()) {
            waiting.overtaken += 1;
            if waiting.overtaken >= OVERTAKEN_BY {
                waiting.payload = None;
                waiting.row.is_dropped = Some(true);
            }
        }
    }

    /// Takes the next packet of which all is known by `now`, or that has waited long enough.
    pub fn pop(&mut self, now: Time) -> Option<Row> {
        let first = self.rows.front()?;
        let age = now.checked_since(first.time).map_or(0, |age| age.as_nanos());
        let is_over = first.is_decided() || age > LONGEST_WAIT_NS || self.rows.len() > MOST_WAITING;
        if is_over { self.pop_anyway() } else { None }
    }

    /// Takes the next packet with what is known of it.
    pub fn pop_anyway(&mut self) -> Option<Row> {
        let mut waiting = self.rows.pop_front()?;
        self.first += 1;
        for number in &waiting.numbers {
            self.numbers.remove(number);
        }
        if let Some(payload) = waiting.payload {
            self.payloads.remove(&(waiting.sender as u8, payload));
            waiting.row.is_dropped = (waiting.overtaken > 0).then_some(true);
        }
        Some(waiting.row)
    }

    fn waiting(&mut self, identity: u64) -> Option<&mut Waiting> {
        self.rows.get_mut(usize::try_from(identity.checked_sub(self.first)?).ok()?)
    }
}
