//! A sender at its tap: its trains, and what it knew before each of them.

use std::{collections::BTreeMap, fs::File};

use anyhow::{Context, Result};
use quiclab_testbed::{contract::SERVER_PORT, measure::SENDER_TAP, record::Record};
use quiclab_units::Time;
use quiclab_wire::{
    CaptureReader, Dissector, DissectorSettings, Observed, QuicForm, QuicFrame, Role, Segment, Transport,
};

/// `kPacketThreshold`, RFC 9002 section 6.1.1.
const PACKET_THRESHOLD: u64 = 3;

/// The trains of a sender.
pub struct Sender {
    /// In order of time.
    pub trains: Vec<Train>,
}

/// Packets that left close together, and what came before the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Train {
    /// How many.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
    /// Since the sender's first packet.
    pub start_ns: u64,
    /// Number of its first 1-RTT packet.
    pub number: Option<u64>,
    /// Since the sender's packet before it.
    pub gap_before_ns: Option<u64>,
    /// Since the last acknowledgment.
    pub since_ack_ns: Option<u64>,
    /// Packets (TCP: bytes) that it newly acknowledged.
    pub newly_acknowledged: Option<u64>,
    /// Bytes of payload.
    pub bytes_in_flight: Option<u64>,
}

/// What the tap has shown so far.
#[derive(Default)]
struct Seen {
    threshold_ns: u64,
    first: Option<Time>,
    last: Option<Time>,
    flight: Flight,
    last_ack: Option<(Time, u64)>,
    trains: Vec<Train>,
}

/// What is sent and neither acknowledged nor lost.
#[derive(Default)]
struct Flight {
    /// Bytes by packet number space and number.
    packets: BTreeMap<(u8, u64), u64>,
    /// TCP: sequence number behind the last byte sent, and the last acknowledgment.
    tcp_next: Option<u32>,
    tcp_acknowledged: Option<u32>,
}

impl Sender {
    /// The server at the sender's tap of a record.
    ///
    /// # Errors
    /// Where its capture cannot be read.
    pub fn read(record: &Record) -> Result<Self> {
        let path = record.capture();
        let place = || path.display().to_string();
        let mut reader = CaptureReader::new(File::open(&path).with_context(place)?).with_context(place)?;
        let settings = DissectorSettings { server_port: Some(SERVER_PORT), ..DissectorSettings::default() };
        let mut dissector = Dissector::new(settings);
        let threshold_ns = record.run.run.settings.analysis.train_threshold.as_nanos();
        let mut seen = Seen { threshold_ns, ..Seen::default() };
        let mut on_segment = |_, segment: &Segment, observed: Option<&Observed>| {
            let Some(observed) = observed else { return };
            match observed.sender {
                Role::Server => seen.on_sent(segment, observed),
                Role::Client => seen.on_received(segment, observed),
            }
        };
        reader.dissect(&mut dissector, Some(SENDER_TAP), &mut on_segment).with_context(place)?;
        Ok(Self { trains: seen.trains })
    }
}

impl Seen {
    fn on_sent(&mut self, segment: &Segment, observed: &Observed) {
        let time = segment.time;
        let since = |before: Time| time.checked_since(before).map_or(0, |time| time.as_nanos());
        let first = *self.first.get_or_insert(time);
        let gap = self.last.replace(time).map(since);
        if gap.is_none_or(|gap| gap >= self.threshold_ns) {
            self.trains.push(Train {
                start_ns: since(first),
                gap_before_ns: gap,
                since_ack_ns: self.last_ack.map(|(ack, _)| since(ack)),
                newly_acknowledged: self.last_ack.map(|(_, newly)| newly),
                // Without a single acknowledgment that could be read, nothing is known of what is in flight.
                bytes_in_flight: self.last_ack.map(|_| self.flight.bytes()),
                ..Train::default()
            });
        }
        if let Some(train) = self.trains.last_mut() {
            train.packets += 1;
            train.bytes += u64::from(segment.frame_length);
            let one_rtt = observed.packets.iter().filter(|packet| packet.form == QuicForm::OneRtt);
            train.number = train.number.or_else(|| one_rtt.filter_map(|packet| packet.packet_number).next());
        }
        self.flight.on_sent(segment, observed);
    }

    fn on_received(&mut self, segment: &Segment, observed: &Observed) {
        let newly = self.flight.on_received(segment, observed);
        if newly > 0 {
            self.last_ack = Some((segment.time, newly));
        }
    }
}

impl Flight {
    fn bytes(&self) -> u64 {
        let tcp =
            self.tcp_next.zip(self.tcp_acknowledged).map_or(0, |(next, acknowledged)| next.wrapping_sub(acknowledged));
        self.packets.values().sum::<u64>() + u64::from(tcp)
    }

    fn on_sent(&mut self, segment: &Segment, observed: &Observed) {
        if let Transport::Tcp { sequence_number, .. } = segment.transport {
            let end = sequence_number.wrapping_add(segment.payload_length);
            // Serial numbers: what was sent again is behind.
            let is_ahead = self.tcp_next.is_none_or(|next| (end.wrapping_sub(next) as i32) > 0);
            self.tcp_next = if is_ahead { Some(end) } else { self.tcp_next };
        }
        for packet in observed.packets {
            let frames = &observed.frames[packet.frames.clone()];
            let counts = |frame: &QuicFrame| frame.is_ack_eliciting() || matches!(frame, QuicFrame::Padding { .. });
            if let Some((space, number)) = space(packet.form).zip(packet.packet_number)
                && frames.iter().any(counts)
            {
                self.packets.insert((space, number), u64::from(packet.length));
            }
        }
    }

    /// How many packets (TCP: bytes) are newly acknowledged.
    fn on_received(&mut self, segment: &Segment, observed: &Observed) -> u64 {
        let mut newly = 0;
        if let Transport::Tcp { acknowledgment_number, flags, .. } = segment.transport
            && flags.ack
        {
            let before = self.tcp_acknowledged.unwrap_or(acknowledgment_number);
            let advance = acknowledgment_number.wrapping_sub(before);
            if (advance as i32) >= 0 {
                self.tcp_acknowledged = Some(acknowledgment_number);
                newly += u64::from(advance);
            }
        }
        for packet in observed.packets {
            let Some(space) = space(packet.form) else { continue };
            for frame in &observed.frames[packet.frames.clone()] {
                let QuicFrame::Ack(ack) = frame else { continue };
                for range in &ack.ranges {
                    let acknowledged = self.packets.range((space, *range.start())..=(space, *range.end()));
                    let keys: Vec<_> = acknowledged.map(|(key, _)| *key).collect();
                    newly += keys.len() as u64;
                    for key in keys {
                        self.packets.remove(&key);
                    }
                }
                let lost = (space, 0)..(space, ack.largest().saturating_sub(PACKET_THRESHOLD - 1));
                let keys: Vec<_> = self.packets.range(lost).map(|(key, _)| *key).collect();
                for key in keys {
                    self.packets.remove(&key);
                }
            }
        }
        newly
    }
}

/// Of packet numbers.
fn space(form: QuicForm) -> Option<u8> {
    match form {
        QuicForm::Initial => Some(0),
        QuicForm::Handshake => Some(1),
        QuicForm::ZeroRtt | QuicForm::OneRtt => Some(2),
        _ => None,
    }
}
