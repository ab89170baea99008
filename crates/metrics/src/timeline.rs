//! What the page of a run draws over time: the queue between the taps, drops, trains, the sending rate.

mod crossing;
mod sender_log;

use std::collections::BTreeMap;

use quiclab_units::{Duration, Time};
use quiclab_wire::{FlowProtocol, Observed, QuicForm, Role, Segment};

use crate::payload_key::PayloadKey;
use crate::series::{Series, SeriesPoint};
use crate::trains::SHORT_TRAIN_PACKETS;

use crossing::Crossings;
pub use crossing::MOST_DROPS;
pub use sender_log::{SenderLog, SenderLogMeter};

/// Points of each curve at most, so that memory and page stay bounded however long the run is.
pub const TIMELINE_POINTS: usize = 20_000;
/// Long trains that are kept; more are counted.
const MOST_BURSTS: usize = 20_000;
/// Packet numbers of each flow by which a sender's log is brought to the time of the capture.
const MOST_NUMBERS: usize = 2_000;
/// Flows whose packet numbers are kept.
const MOST_FLOWS: usize = 64;
/// Over which the sending rate is taken.
const RATE_WINDOW_NS: u64 = 5_000_000;

/// A train of more than five packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineBurst {
    /// Time of the train's first packet, in ns.
    pub start_ns: u64,
    /// Time of the train's last packet, in ns.
    pub end_ns: u64,
    /// Packets in it.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
}

/// What the server of a record sent, over time. All times are nanoseconds since the first packet at the sender's tap.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The first packet at the sender's tap, by the capture's clock. `None`: there is none.
    pub first_packet: Option<Time>,
    /// Time of the last packet at the sender's tap.
    pub duration_ns: u64,
    /// The server's packets at the sender's tap.
    pub packets: u64,
    /// Bits of frames over 5 ms, in bit/s: what left the sender.
    pub sending_rate_bps: Vec<SeriesPoint>,
    /// Time between the taps less [`Timeline::smallest_crossing_ns`]: the wait in the bottleneck's queue, when each packet
    /// left it. Empty where no second tap saw a packet.
    pub queue_delay_ns: Vec<SeriesPoint>,
    /// The smallest time between the taps. `None`: no packet was seen at both.
    pub smallest_crossing_ns: Option<u64>,
    /// Why times between the taps are not shown although both saw packets; `None` where they are, or there are none.
    pub no_crossing: Option<String>,
    /// Send times of packets that never came to the second tap, ascending; at most [`MOST_DROPS`]. Empty where that saw
    /// none.
    pub drops_ns: Vec<u64>,
    /// How many there are. `None` where no second tap saw a packet.
    pub drops: Option<u64>,
    /// Packets that cannot be recognised at the second tap, too short or too little of them captured.
    pub not_followed: u64,
    /// Trains of more than five packets, in the order of time.
    pub bursts: Vec<TimelineBurst>,
    /// Trains that are not listed because there are too many.
    pub bursts_left_out: u64,
    /// Time of each flow's first packet, of either side, by flow.
    pub flow_start_ns: BTreeMap<usize, u64>,
    /// Time of the sender's first packet, by flow.
    pub sender_start_ns: BTreeMap<usize, u64>,
    /// Times of the sender's 1-RTT packets by packet number, the first ones, by flow.
    pub numbers: BTreeMap<usize, BTreeMap<u64, u64>>,
}

impl Timeline {
    /// Takes away the times between the taps, which mean nothing for this reason.
    pub fn withhold_crossing(&mut self, reason: String) {
        self.queue_delay_ns.clear();
        self.smallest_crossing_ns = None;
        self.no_crossing = Some(reason);
    }
}

/// Feed it every packet of a record.
pub struct TimelineMeter {
    sender: Role,
    sender_tap: u32,
    bottleneck_tap: Option<u32>,
    train_threshold_ns: u64,
    start: Option<Time>,
    timeline: Timeline,
    crossings: Crossings,
    rate: Series,
    window: (u64, u64),
    train: Option<TimelineBurst>,
}

impl TimelineMeter {
    /// `sender`: the end at `sender_tap`, whose packets count. `bottleneck_tap`: `None` where there is no second tap.
    pub fn new(sender: Role, sender_tap: u32, bottleneck_tap: Option<u32>, train_threshold: Duration) -> Self {
        let mut rate = Series::default();
        rate.want(TIMELINE_POINTS);
        TimelineMeter {
            sender,
            sender_tap,
            bottleneck_tap,
            train_threshold_ns: train_threshold.as_nanos(),
            start: None,
            timeline: Timeline::default(),
            crossings: Crossings::default(),
            rate,
            window: (0, 0),
            train: None,
        }
    }

    /// The next packet of the capture.
    pub fn on_packet(&mut self, segment: &Segment, observed: Option<&Observed>) {
        let is_behind = self.bottleneck_tap == Some(segment.interface);
        if segment.interface == self.sender_tap {
            self.start.get_or_insert(segment.time);
            self.timeline.first_packet = self.start;
        }
        let (Some(start), Some(observed)) = (self.start, observed) else { return };
        let time_ns = segment.time.checked_since(start).map_or(0, Duration::as_nanos);
        if segment.interface == self.sender_tap {
            self.timeline.duration_ns = self.timeline.duration_ns.max(time_ns);
            self.timeline.flow_start_ns.entry(observed.flow).or_insert(time_ns);
        }
        if observed.sender != self.sender {
            return;
        }
        if segment.interface == self.sender_tap {
            self.on_sent(time_ns, segment, observed);
        } else if is_behind && let Some(key) = PayloadKey::of(segment) {
            self.crossings.on_behind(key, time_ns);
        }
    }

    fn on_sent(&mut self, time_ns: u64, segment: &Segment, observed: &Observed) {
        self.timeline.packets += 1;
        self.timeline.sender_start_ns.entry(observed.flow).or_insert(time_ns);
        self.on_rate(time_ns, u64::from(segment.frame_length));
        match &mut self.train {
            Some(train) if time_ns.saturating_sub(train.end_ns) < self.train_threshold_ns => {
                train.end_ns = time_ns;
                train.packets += 1;
                train.bytes += u64::from(segment.frame_length);
            }
            train => {
                let bytes = u64::from(segment.frame_length);
                let ended = train.replace(TimelineBurst { start_ns: time_ns, end_ns: time_ns, packets: 1, bytes });
                self.close_train(ended);
            }
        }
        if self.bottleneck_tap.is_some() {
            match PayloadKey::of(segment) {
                Some(key) => self.crossings.on_sent(key, time_ns),
                None => self.timeline.not_followed += 1,
            }
        }
        if observed.connection.protocol() == FlowProtocol::Tcp || observed.flow >= MOST_FLOWS {
            return;
        }
        let numbers = self.timeline.numbers.entry(observed.flow).or_default();
        for packet in observed.packets.iter().filter(|packet| packet.form == QuicForm::OneRtt) {
            if let Some(number) = packet.packet_number
                && numbers.len() < MOST_NUMBERS
            {
                numbers.entry(number).or_insert(time_ns);
            }
        }
    }

    /// Windows follow each other without gaps; one in which nothing was sent has the rate 0.
    fn on_rate(&mut self, time_ns: u64, bytes: u64) {
        let begin = time_ns - time_ns % RATE_WINDOW_NS;
        if begin > self.window.0 {
            self.close_window();
            if begin > self.window.0 + RATE_WINDOW_NS {
                self.rate.add(Time::from_nanos(self.window.0 + RATE_WINDOW_NS), 0);
            }
            self.window = (begin, 0);
        }
        self.window.1 += bytes;
    }

    fn close_window(&mut self) {
        let (begin, bytes) = self.window;
        self.rate.begin(Time::from_nanos(0));
        self.rate.add(Time::from_nanos(begin), bytes * 8 * 1_000_000_000 / RATE_WINDOW_NS);
    }

    fn close_train(&mut self, train: Option<TimelineBurst>) {
        let Some(train) = train.filter(|train| train.packets > SHORT_TRAIN_PACKETS) else { return };
        if self.timeline.bursts.len() < MOST_BURSTS {
            self.timeline.bursts.push(train);
        } else {
            self.timeline.bursts_left_out += 1;
        }
    }

    /// What was seen.
    pub fn finish(mut self) -> Timeline {
        self.close_window();
        let last = self.train.take();
        self.close_train(last);
        let mut timeline = self.timeline;
        timeline.sending_rate_bps = self.rate.into_points();
        if self.bottleneck_tap.is_some() {
            self.crossings.finish(&mut timeline);
        }
        timeline
    }
}

#[cfg(test)]
mod tests;
