//! A sender at its tap: its trains, and what it knew before each of them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use quiclab_inputs::open_unlinked;
use quiclab_metrics::{Analysis, AnalysisSettings};
use quiclab_record::{Record, layout::SENDER_TAP, wire_role};
use quiclab_testbed::contract::SERVER_PORT;
use quiclab_units::Time;
use quiclab_wire::{CaptureReader, Dissector, DissectorSettings, Observed, QuicForm, Role, Segment, Transport};

/// The trains of a sender.
pub struct Sender {
    /// The trains in order of time.
    pub trains: Vec<Train>,
}

/// Packets that left close together, and what came before the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Train {
    /// How many.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
    /// Time since the sender's first packet, by which the metrics name a train.
    pub start_ns: u64,
    /// Time since the first packet at the tap, as `quiclab packets` shows it.
    pub time_ns: u64,
    /// Number of its first 1-RTT packet.
    pub number: Option<u64>,
    /// Time since the sender's packet before it.
    pub gap_before_ns: Option<u64>,
    /// Time since the last acknowledgment; like the next two `None` where not every one of its flow could be read, or none had come.
    pub since_ack_ns: Option<u64>,
    /// Packets (TCP: bytes) that it newly acknowledged.
    pub newly_acknowledged: Option<u64>,
    /// Bytes of payload that were sent and neither acknowledged nor lost, as the metrics count them.
    pub bytes_in_flight: Option<u64>,
}

/// What the tap has shown so far.
struct Seen {
    sender: Role,
    threshold_ns: u64,
    /// When the first packet passed the tap, whoever sent it.
    origin: Option<Time>,
    first: Option<Time>,
    last: Option<Time>,
    analysis: Analysis,
    /// Time of the last acknowledgment of each flow, and how much it newly acknowledged.
    acks: BTreeMap<usize, (Time, u64)>,
    /// Numbers that were sent and not acknowledged, by flow and packet number space.
    outstanding: BTreeMap<(usize, u8), BTreeSet<u64>>,
    /// TCP: the last acknowledgment number, by flow.
    tcp_acknowledged: BTreeMap<usize, u32>,
    trains: Vec<Train>,
}

impl Sender {
    /// The measured sender at its tap of a record.
    ///
    /// # Errors
    /// Where its capture cannot be read.
    pub fn read(record: &Record) -> Result<Self> {
        let path = record.capture();
        let place = || path.display().to_string();
        let mut reader = CaptureReader::new(open_unlinked(&path).with_context(place)?).with_context(place)?;
        let settings = DissectorSettings { server_port: Some(SERVER_PORT), ..DissectorSettings::default() };
        let mut dissector = Dissector::new(settings);
        let threshold_ns = record.run.run.settings.analysis.train_threshold.as_nanos();
        let sender = wire_role(record.run.run.settings.workload.sender.role());
        let mut seen = Seen::new(sender, threshold_ns);
        let mut on_segment = |_, segment: &Segment, observed: Option<&Observed>| {
            seen.origin.get_or_insert(segment.time);
            let Some(observed) = observed else { return };
            if observed.sender == sender {
                seen.on_sent(segment, observed);
            } else {
                seen.on_received(segment, observed);
            }
            seen.analysis.on_packet(segment, observed);
        };
        reader.dissect(&mut dissector, Some(SENDER_TAP), &mut on_segment).with_context(place)?;
        Ok(Self { trains: seen.trains })
    }
}

impl Seen {
    fn new(sender: Role, threshold_ns: u64) -> Self {
        Self {
            sender,
            threshold_ns,
            origin: None,
            first: None,
            last: None,
            analysis: Analysis::new(AnalysisSettings::default()),
            acks: BTreeMap::new(),
            outstanding: BTreeMap::new(),
            tcp_acknowledged: BTreeMap::new(),
            trains: Vec::new(),
        }
    }

    fn on_sent(&mut self, segment: &Segment, observed: &Observed) {
        let time = segment.time;
        let since = |before: Time| time.checked_since(before).map_or(0, |time| time.as_nanos());
        let first = *self.first.get_or_insert(time);
        let gap = self.last.replace(time).map(since);
        if gap.is_none_or(|gap| gap >= self.threshold_ns) {
            // Where that is not known, neither is which acknowledgment was the last one.
            let bytes_in_flight = self.analysis.bytes_in_flight(observed.flow, self.sender);
            let ack = self.acks.get(&observed.flow).filter(|_| bytes_in_flight.is_some());
            self.trains.push(Train {
                start_ns: since(first),
                time_ns: self.origin.map_or(0, since),
                gap_before_ns: gap,
                since_ack_ns: ack.map(|(time, _)| since(*time)),
                newly_acknowledged: ack.map(|(_, newly)| *newly),
                bytes_in_flight,
                ..Train::default()
            });
        }
        if let Some(train) = self.trains.last_mut() {
            train.packets += 1;
            train.bytes += u64::from(segment.frame_length);
            let one_rtt = observed.packets.iter().filter(|packet| packet.form == QuicForm::OneRtt);
            train.number = train.number.or_else(|| one_rtt.filter_map(|packet| packet.packet_number).next());
        }
        for packet in observed.packets {
            if let Some((space, number)) = packet.form.packet_number_space().zip(packet.packet_number) {
                self.outstanding.entry((observed.flow, space)).or_default().insert(number);
            }
        }
    }

    fn on_received(&mut self, segment: &Segment, observed: &Observed) {
        let newly = match segment.transport {
            Transport::Tcp { acknowledgment_number, flags, .. } if flags.ack => {
                let last = self.tcp_acknowledged.entry(observed.flow).or_insert(acknowledgment_number);
                let advance = acknowledgment_number.wrapping_sub(*last);
                // Serial numbers: an acknowledgment that comes late is behind.
                let is_ahead = (advance as i32) > 0;
                *last = if is_ahead { acknowledgment_number } else { *last };
                if is_ahead { u64::from(advance) } else { 0 }
            }
            Transport::Tcp { .. } => 0,
            Transport::Udp => self.newly_acknowledged(observed),
        };
        if newly > 0 {
            self.acks.insert(observed.flow, (segment.time, newly));
        }
    }

    /// How many packets a datagram of the receiver acknowledges for the first time.
    fn newly_acknowledged(&mut self, observed: &Observed) -> u64 {
        let mut newly = 0;
        for packet in observed.packets {
            let Some(space) = packet.form.packet_number_space() else { continue };
            let Some(outstanding) = self.outstanding.get_mut(&(observed.flow, space)) else { continue };
            let acks = observed.frames[packet.frames.clone()].iter().filter_map(|frame| frame.acknowledgment());
            for range in acks.flat_map(|ack| &ack.ranges) {
                let numbers: Vec<_> = outstanding.range(range.clone()).copied().collect();
                newly += numbers.iter().filter(|number| outstanding.remove(number)).count() as u64;
            }
        }
        newly
    }
}
