//! What both ends of a connection have sent and received: which flight a datagram is part of, and whether it repeats what was sent before.

use std::collections::{BTreeMap, VecDeque};

use quiclab_path::content::{Content, ContentFrame, DataKind, Direction, Flight, PacketForm, Probe};

use crate::{
    ranges::Ranges,
    reading::{Reading, space},
};

/// Most streams of one sender that are followed. Data of others always counts as new.
const MAXIMUM_STREAMS: usize = 4096;
/// Most control frames of one sender that are remembered. Others always count as new.
const MAXIMUM_CONTROL_FRAMES: usize = 4096;
/// Most unacknowledged packets of one packet number space that are remembered, the latest.
const MAXIMUM_UNACKNOWLEDGED: usize = 4096;
/// Most beginnings of flights remembered for one stream.
const MAXIMUM_BEGINNINGS: usize = 256;
/// A datagram of this length need not be a probe of the path MTU (RFC 9000, section 14.1).
const SMALLEST_MAXIMUM_DATAGRAM: u32 = 1200;

/// One connection.
#[derive(Default)]
pub(crate) struct Connection {
    /// The senders, by [`index`] of the direction in which they send.
    senders: [Sender; 2],
}

fn index(direction: Direction) -> usize {
    match direction {
        Direction::ToClient => 0,
        Direction::ToServer => 1,
    }
}

/// One end.
#[derive(Default)]
struct Sender {
    datagrams: u64,
    probes: u64,
    /// The flight of its latest datagram, and how many datagrams that flight has.
    flight: u32,
    flight_datagrams: u64,
    /// The latest flight of its peer of which it has received data.
    received_flight: u32,
    /// Bytes of its longest datagram, apart from probes of the path MTU.
    longest: u32,
    sent: BTreeMap<DataKind, Sent>,
    control: BTreeMap<u64, u32>,
    /// Packet numbers that it has acknowledged, by space.
    acknowledged: [Ranges; 3],
    /// The largest number of its own packets that it knows to have arrived, by space.
    largest_acknowledged: [Option<u64>; 3],
    /// Data in packets above that: packet number, what, from, to.
    unacknowledged: [VecDeque<(u64, DataKind, u64, u64)>; 3],
}

/// What was sent of one stream of bytes.
#[derive(Default)]
struct Sent {
    bytes: Ranges,
    /// Where each flight began in it: offset, flight.
    beginnings: Vec<(u64, u32)>,
}

impl Sent {
    /// The flight in which the byte at `offset` was sent first.
    fn flight_of(&self, offset: u64) -> Option<u32> {
        let behind = self.beginnings.partition_point(|(begin, _)| *begin <= offset);
        self.beginnings.get(behind.checked_sub(1)?).map(|(_, flight)| *flight)
    }
}

/// What the frames of a datagram are to those before it.
#[derive(Default)]
struct Novelty {
    has_new_data: bool,
    is_ack_eliciting: bool,
    /// Repeats data of packets that cannot have been declared lost.
    repeats_unlost: bool,
    repeats_data: bool,
    data_flight: Option<u32>,
}

impl Connection {
    /// A datagram enters the path.
    pub(crate) fn on_sent(&mut self, direction: Direction, connection: u32, reading: Reading) -> Content {
        let sender = &mut self.senders[index(direction)];
        sender.datagrams += 1;
        // The client speaks first: its first flight answers nothing, the server's first answers the client's first.
        let number = match direction {
            Direction::ToServer => sender.received_flight + 1,
            Direction::ToClient => sender.received_flight.max(1),
        };
        let (flight, probe, data_flight) = sender.place(number, &reading);
        Content {
            direction,
            connection,
            datagram: sender.datagrams,
            flight,
            data_flight,
            probe,
            packets: reading.packets,
            is_whole: reading.is_whole,
        }
    }

    /// A datagram leaves the path, and is received.
    pub(crate) fn on_delivered(&mut self, content: &Content) {
        let receiver = &mut self.senders[index(content.direction.reverse())];
        if let Some(flight) = content.data_flight {
            receiver.received_flight = receiver.received_flight.max(flight);
        }
        for packet in &content.packets {
            let is_restart = matches!(packet.form, PacketForm::Retry | PacketForm::VersionNegotiation);
            if is_restart && packet.is_read && content.direction == Direction::ToClient {
                receiver.restart();
            }
            let Some(space) = space(packet.form) else { continue };
            for frame in &packet.frames {
                if let ContentFrame::Ack { largest } = frame {
                    receiver.on_acknowledged(space, *largest);
                }
            }
        }
    }
}

impl Sender {
    /// Where a datagram belongs that it sends in flight `number`.
    fn place(&mut self, number: u32, reading: &Reading) -> (Flight, Probe, Option<u32>) {
        let is_outside =
            |form: PacketForm| matches!(form, PacketForm::Retry | PacketForm::VersionNegotiation | PacketForm::Unknown);
        if !reading.packets.is_empty() && reading.packets.iter().all(|packet| is_outside(packet.form)) {
            return (Flight::Outside, Probe::No, None);
        }
        let novelty = self.novelty(number, reading);
        let mut acknowledges = false;
        for (space, first, last) in &reading.acknowledged {
            acknowledges |= self.acknowledged[*space].insert(*first, last.saturating_add(1));
        }
        let has_one_rtt = reading.packets.iter().any(|packet| packet.form == PacketForm::OneRtt);
        let is_ping = novelty.is_ack_eliciting && !novelty.repeats_data;
        // A PING beside a new acknowledgment asks the peer to answer now and then; one in a longer datagram than ever probes the MTU.
        let solicits = is_ping && acknowledges && has_one_rtt;
        let probes_mtu = is_ping && reading.length > self.longest.max(SMALLEST_MAXIMUM_DATAGRAM) && has_one_rtt;
        if !probes_mtu {
            self.longest = self.longest.max(reading.length);
        }
        let is_part = novelty.has_new_data || solicits || (acknowledges && !novelty.is_ack_eliciting);
        if is_part && (novelty.has_new_data || reading.is_read()) {
            return (self.next_of_flight(number), Probe::No, novelty.data_flight);
        }
        if !reading.is_read() {
            return (Flight::Unknown, Probe::Unknown, novelty.data_flight);
        }
        if (is_ping && !probes_mtu) || novelty.repeats_unlost {
            self.probes += 1;
            return (Flight::Repeat, Probe::Number(self.probes), novelty.data_flight);
        }
        (Flight::Repeat, Probe::No, novelty.data_flight)
    }

    fn next_of_flight(&mut self, number: u32) -> Flight {
        if number != self.flight {
            self.flight = number;
            self.flight_datagrams = 0;
        }
        self.flight_datagrams += 1;
        Flight::Part { number, datagram: self.flight_datagrams }
    }

    /// Looks at every frame, and remembers it.
    fn novelty(&mut self, number: u32, reading: &Reading) -> Novelty {
        let mut novelty = Novelty::default();
        for packet in reading.packets.iter().filter(|packet| packet.is_read) {
            for frame in &packet.frames {
                novelty.is_ack_eliciting |= frame.is_ack_eliciting();
                self.on_data(number, packet.form, packet.number, frame, &mut novelty);
            }
        }
        for digest in &reading.control {
            let flight = match digest.and_then(|digest| self.control.get(&digest)) {
                Some(flight) => {
                    novelty.repeats_data = true;
                    *flight
                }
                None => {
                    novelty.has_new_data = true;
                    if let Some(digest) = digest
                        && self.control.len() < MAXIMUM_CONTROL_FRAMES
                    {
                        self.control.insert(*digest, number);
                    }
                    number
                }
            };
            novelty.data_flight = novelty.data_flight.max(Some(flight));
        }
        novelty
    }

    /// Looks at a CRYPTO or STREAM frame.
    fn on_data(
        &mut self,
        number: u32,
        form: PacketForm,
        packet_number: Option<u64>,
        frame: &ContentFrame,
        novelty: &mut Novelty,
    ) {
        let (kind, from, to) = match *frame {
            ContentFrame::Crypto { offset, length } => (DataKind::Crypto(form), offset, offset.saturating_add(length)),
            // The end of a stream counts as a byte behind the last one.
            ContentFrame::Stream { id, offset, length, fin } => {
                (DataKind::Stream(id), offset, offset.saturating_add(length).saturating_add(u64::from(fin)))
            }
            _ => return,
        };
        let is_followed = self.sent.contains_key(&kind) || self.sent.len() < MAXIMUM_STREAMS;
        let mut flight = number;
        let mut is_new = true;
        if is_followed {
            let sent = self.sent.entry(kind).or_default();
            is_new = sent.bytes.insert(from, to);
            if is_new {
                if sent.beginnings.len() < MAXIMUM_BEGINNINGS
                    && sent.beginnings.last().is_none_or(|(begin, flight)| *begin < from && *flight < number)
                {
                    sent.beginnings.push((from, number));
                }
            } else {
                flight = sent.flight_of(from).unwrap_or(number);
            }
        }
        novelty.data_flight = novelty.data_flight.max(Some(flight));
        let (Some(space), Some(packet_number)) = (space(form), packet_number) else { return };
        if is_new {
            novelty.has_new_data = true;
        } else {
            novelty.repeats_data = true;
            let mut earlier = self.unacknowledged[space].iter();
            novelty.repeats_unlost |= earlier.any(|(_, of, begin, end)| *of == kind && *begin < to && from < *end);
        }
        let unacknowledged = &mut self.unacknowledged[space];
        if unacknowledged.len() == MAXIMUM_UNACKNOWLEDGED {
            unacknowledged.pop_front();
        }
        unacknowledged.push_back((packet_number, kind, from, to));
    }

    /// It hears that its packet of this number has arrived. Packets before it may be declared lost now (RFC 9002, section 6.1), so what
    /// repeats them need not be a probe.
    fn on_acknowledged(&mut self, space: usize, largest: u64) {
        if self.largest_acknowledged[space].is_some_and(|known| known >= largest) {
            return;
        }
        self.largest_acknowledged[space] = Some(largest);
        self.unacknowledged[space].retain(|(number, ..)| *number > largest);
    }

    /// A client begins anew after Retry or Version Negotiation: what it has sent of its ClientHello went nowhere.
    fn restart(&mut self) {
        if self.received_flight > 0 {
            return;
        }
        let kept = (self.datagrams, self.probes, self.longest);
        *self = Self::default();
        (self.datagrams, self.probes, self.longest) = kept;
    }
}

#[cfg(test)]
mod tests;
