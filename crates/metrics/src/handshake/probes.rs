//! What was sent again in a handshake: probes, and retransmissions of what had arrived.

use std::collections::{BTreeMap, BTreeSet};

use quiclab_units::{Duration, Time};
use quiclab_wire::QuicForm;

use super::log::{Frame, Packet};
use super::view::View;
use crate::ranges::RangeSet;

/// Datagrams closer than this are sent on the same timeout.
pub(super) const SAME_TIMEOUT: Duration = Duration::from_millis(1);

/// What a datagram brings that was not sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// Nothing ack-eliciting.
    Nothing,
    /// Something that was not sent before.
    New,
    /// Bytes of CRYPTO or STREAM frames that were sent before, and nothing else that is ack-eliciting but PING.
    Again,
    /// PING in Initial or Handshake packets, and nothing else that is ack-eliciting.
    Ping,
}

/// Bytes of CRYPTO and STREAM frames that one end has sent.
#[derive(Default)]
pub(super) struct SentBytes {
    crypto: [RangeSet; 3],
    streams: BTreeMap<u64, RangeSet>,
}

impl SentBytes {
    /// Packets of one datagram.
    pub(super) fn on_packets<'a>(&mut self, packets: impl IntoIterator<Item = &'a Packet>) -> Sent {
        let (mut is_new, mut is_again, mut is_ping) = (false, false, false);
        for packet in packets {
            let Some(space) = packet.space() else { continue };
            for frame in &packet.frames {
                let (sent, offset, end) = match frame {
                    Frame::Crypto { offset, end } => (&mut self.crypto[usize::from(space)], *offset, *end),
                    Frame::Stream { id, offset, end } => (self.streams.entry(*id).or_default(), *offset, *end),
                    Frame::Ping if packet.form != QuicForm::OneRtt => {
                        is_ping = true;
                        continue;
                    }
                    Frame::Ping | Frame::HandshakeDone | Frame::Other => {
                        is_new = true;
                        continue;
                    }
                    Frame::Ack { .. } | Frame::Close => continue,
                };
                let new = sent.insert(offset, end);
                is_new |= new > 0;
                is_again |= new < end - offset;
            }
        }
        match (is_new, is_again, is_ping) {
            (true, ..) => Sent::New,
            (_, true, _) => Sent::Again,
            (_, _, true) => Sent::Ping,
            _ => Sent::Nothing,
        }
    }
}

/// What one end sent although it had nothing new to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Repeats {
    /// Datagrams that only ask for an answer, or only repeat while no acknowledgment of a later packet had made a loss likely.
    pub(super) probes: u64,
    /// Datagrams with CRYPTO data that was sent before, all of it in packets that arrived, but for the second of two probes.
    pub(super) spurious: u64,
    /// Packets of Initial and Handshake form that could not be read.
    pub(super) hidden: u64,
}

/// When datagrams were sent that only ask for an answer, or only repeat while no acknowledgment of a later packet had made a loss likely.
pub(super) fn probes(view: &View) -> Vec<Time> {
    probe_events(view).into_iter().map(|place| view.events[place].time).collect()
}

/// Their places among the events.
fn probe_events(view: &View) -> BTreeSet<usize> {
    let mut sent = SentBytes::default();
    let mut losses = Losses::default();
    let mut probes = BTreeSet::new();
    for (place, event) in view.events.iter().enumerate() {
        for packet in event.packets {
            losses.on_packet(packet, event.is_sent);
        }
        if !event.is_sent {
            // RFC 9000 section 17.2.5.2 and 6.2: the client begins again.
            if event.has_form(QuicForm::Retry) || event.has_form(QuicForm::VersionNegotiation) {
                sent = SentBytes::default();
            }
            continue;
        }
        // What is declared lost is sent again; a PING alone brings nothing back.
        let is_probe = match sent.on_packets(event.packets) {
            Sent::Again => !losses.are_likely(),
            Sent::Ping => true,
            Sent::New | Sent::Nothing => false,
        };
        if is_probe {
            probes.insert(place);
        }
    }
    probes
}

/// CRYPTO bytes of one datagram: its space, where they begin, and where they end.
type CryptoBytes = Vec<(usize, u64, u64)>;

/// `arrived`: what the peer saw, where it was captured there.
pub(super) fn repeats(view: &View, peer: Option<&View>) -> Repeats {
    let arrived: Option<BTreeSet<_>> =
        peer.map(|peer| peer.received().flat_map(|event| event.packets).filter_map(name).collect());
    let acknowledged = acknowledged(view);
    let has_arrived = |packet: &Packet| {
        let Some(name) = name(packet) else { return false };
        let is_acknowledged = acknowledged.get(usize::from(name.0)).is_some_and(|numbers| contains(numbers, name.1));
        is_acknowledged || arrived.as_ref().is_some_and(|arrived| arrived.contains(&name))
    };
    let probes = probe_events(view);
    let mut repeats = Repeats { probes: probes.len() as u64, ..Repeats::default() };
    // CRYPTO data that was sent, and in packets that arrived.
    let mut sent: [RangeSet; 3] = Default::default();
    let mut safe: [RangeSet; 3] = Default::default();
    // What the first of two probes brought: RFC 9002 section 6.2.4 lets a second one repeat it.
    let mut first_probe: Option<(Time, CryptoBytes)> = None;
    for (place, event) in view.events.iter().enumerate() {
        let is_probe = probes.contains(&place);
        let is_second = |first: &(Time, CryptoBytes)| {
            is_probe && event.time.checked_since(first.0).is_some_and(|since| since < SAME_TIMEOUT)
        };
        let is_second = event.is_sent && first_probe.as_ref().is_some_and(is_second);
        let before = if is_second { None } else { first_probe.take() };
        add(&mut safe, before.into_iter().flat_map(|(_, bytes)| bytes));
        if !event.is_sent {
            // As in [`probes`].
            if event.has_form(QuicForm::Retry) || event.has_form(QuicForm::VersionNegotiation) {
                (sent, safe) = Default::default();
            }
            continue;
        }
        let of_handshake = |packet: &&Packet| matches!(packet.form, QuicForm::Initial | QuicForm::Handshake);
        repeats.hidden += event.packets.iter().filter(of_handshake).filter(|packet| packet.is_hidden()).count() as u64;
        let (mut repeated, mut needless) = (0, 0);
        let mut brought = CryptoBytes::new();
        for packet in event.packets {
            let Some(space) = packet.space().map(usize::from).filter(|space| *space < safe.len()) else { continue };
            for frame in &packet.frames {
                let Frame::Crypto { offset, end } = frame else { continue };
                repeated += end - offset - sent[space].insert(*offset, *end);
                needless += end - offset - safe[space].clone().insert(*offset, *end);
                if has_arrived(packet) {
                    brought.push((space, *offset, *end));
                }
            }
        }
        // Where some of it was lost, that is what it was sent for.
        repeats.spurious += u64::from(needless > 0 && needless == repeated);
        if is_probe && !is_second {
            first_probe = Some((event.time, brought));
        } else {
            add(&mut safe, first_probe.take().into_iter().flat_map(|(_, bytes)| bytes).chain(brought));
        }
    }
    repeats
}

fn add(sets: &mut [RangeSet; 3], bytes: impl IntoIterator<Item = (usize, u64, u64)>) {
    for (space, offset, end) in bytes {
        sets[space].insert(offset, end);
    }
}

fn name(packet: &Packet) -> Option<(u8, u64)> {
    Some((packet.space()?, packet.number?))
}

/// Numbers of this end's packets that the peer acknowledged at any time, by space.
fn acknowledged(view: &View) -> [Vec<(u64, u64)>; 3] {
    let mut all: [Vec<(u64, u64)>; 3] = Default::default();
    for packet in view.received().flat_map(|event| event.packets) {
        let Some(of_space) = packet.space().and_then(|space| all.get_mut(usize::from(space))) else { continue };
        for frame in &packet.frames {
            if let Frame::Ack { ranges, .. } = frame {
                of_space.extend(ranges);
            }
        }
    }
    all
}

fn contains(ranges: &[(u64, u64)], number: u64) -> bool {
    ranges.iter().any(|(begin, end)| (*begin..=*end).contains(&number))
}

/// Whether an acknowledgment shows that packets are missing: then RFC 9002 section 6.1 lets a sender declare them lost.
#[derive(Default)]
struct Losses {
    outstanding: [BTreeSet<u64>; 3],
    largest_acknowledged: [Option<u64>; 3],
}

impl Losses {
    fn on_packet(&mut self, packet: &Packet, is_sent: bool) {
        let Some(space) = packet.space().map(usize::from) else { return };
        if is_sent {
            self.outstanding[space].extend(packet.number.filter(|_| packet.is_ack_eliciting()));
            return;
        }
        for frame in &packet.frames {
            let Frame::Ack { ranges, .. } = frame else { continue };
            self.outstanding[space].retain(|number| !contains(ranges, *number));
            self.largest_acknowledged[space] =
                self.largest_acknowledged[space].max(ranges.first().map(|(_, end)| *end));
        }
    }

    /// Whether an ack-eliciting packet is unacknowledged that was sent before one that is.
    fn are_likely(&self) -> bool {
        let spaces = self.outstanding.iter().zip(self.largest_acknowledged);
        spaces.into_iter().any(|(outstanding, largest)| {
            largest.is_some_and(|largest| outstanding.first().is_some_and(|first| *first < largest))
        })
    }
}
