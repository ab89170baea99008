//! The sender: what may be sent, and when it is taken for lost.

use quiclab_path::packet::Ecn;
use quiclab_units::{Duration, Time};

use super::{
    congestion::{Acked, CongestionControl},
    duplicates::Duplicates,
    ecn::Answers,
    rtt::{RtoSettings, RttEstimator},
    scoreboard::Scoreboard,
};
use crate::{
    endpoint::{Endpoint, Outbox},
    pacer::Pacer,
    segment::Segment,
};

/// How losses are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// By duplicate acknowledgments; fast recovery ends with the first new one (RFC 5681, section 3.2).
    Reno,
    /// By duplicate acknowledgments; it ends when all that was sent before it has arrived (RFC 6582).
    NewReno,
    /// By selective acknowledgments (RFC 6675).
    Selective,
}

/// How a sender behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderSettings {
    /// Length of a packet with a full segment, in bytes as the path counts them.
    pub packet_bytes: u32,
    /// The largest window that the receiver offers, in segments.
    pub largest_window: f64,
    /// How losses are repaired.
    pub recovery: Recovery,
    /// Whether packets are spaced.
    pub pacing: Option<PacingSettings>,
    /// Of the retransmission timer.
    pub rto: RtoSettings,
    /// Whether queues may mark its packets (RFC 3168).
    pub ecn: bool,
}

/// How packets are spaced: one for each `smoothed_rtt / (gain x congestion_window)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacingSettings {
    /// 1 is the window in a round-trip time.
    pub gain: f64,
    /// Packets that may leave at once after a pause; 1 never sends two together.
    pub burst: u32,
}

impl Default for SenderSettings {
    fn default() -> Self {
        Self {
            packet_bytes: 1500,
            largest_window: 1e9,
            recovery: Recovery::Selective,
            pacing: None,
            rto: RtoSettings::default(),
            ecn: false,
        }
    }
}

/// Sends segments and repairs losses.
#[derive(Debug)]
pub struct Sender {
    settings: SenderSettings,
    congestion: Box<dyn CongestionControl>,
    /// The controller of a new connection.
    fresh: Box<dyn CongestionControl>,
    repair: Repair,
    answers: Answers,
    /// Segments that the application has written; the end of the flow where it writes no more.
    written: u64,
    /// `SND.UNA`: the first that is not acknowledged.
    acknowledged: u64,
    /// The first that was never sent.
    highest: u64,
    rtt: RttEstimator,
    /// When the retransmission timer expires.
    expires: Option<Time>,
    pacer: Pacer,
    counters: Counters,
    first_loss: Option<FirstLoss>,
}

/// What is known of losses.
#[derive(Debug)]
enum Repair {
    Duplicates(Duplicates),
    Selective(Scoreboard),
}

impl Repair {
    /// From this segment on.
    fn new(recovery: Recovery, first: u64) -> Self {
        match recovery {
            Recovery::Reno => Self::Duplicates(Duplicates::new(false, first)),
            Recovery::NewReno => Self::Duplicates(Duplicates::new(true, first)),
            Recovery::Selective => Self::Selective(Scoreboard::new(first)),
        }
    }
}

/// What a sender has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Times that losses were found without the timer.
    pub recoveries: u64,
    /// Times that the retransmission timer expired.
    pub timeouts: u64,
    /// Times that a mark made the window smaller.
    pub marks: u64,
}

/// The first loss that a sender saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstLoss {
    /// When it was found.
    pub time: Time,
    /// The congestion window before it shrank, in segments.
    pub window: f64,
}

impl Sender {
    /// With nothing to send yet.
    pub fn new(settings: SenderSettings, congestion: Box<dyn CongestionControl>) -> Self {
        Self {
            settings,
            congestion: congestion.boxed_clone(),
            fresh: congestion,
            repair: Repair::new(settings.recovery, 0),
            answers: Answers::default(),
            written: 0,
            acknowledged: 0,
            highest: 0,
            rtt: RttEstimator::new(settings.rto),
            expires: None,
            pacer: Pacer::new(settings.pacing.map_or(1, |pacing| pacing.burst)),
            counters: Counters::default(),
            first_loss: None,
        }
    }

    /// The application writes so many segments more, which go out as soon as the endpoint is called.
    pub fn write(&mut self, segments: u64) {
        self.written = self.written.saturating_add(segments);
    }

    /// The application writes no more than what has been sent.
    pub fn stop(&mut self) {
        self.written = self.highest;
    }

    /// Goes on as a new connection would that knows nothing of the path. Numbers of segments go on, and there is no handshake.
    ///
    /// # Panics
    /// Where something is on its way.
    pub fn reconnect(&mut self) {
        assert_eq!(self.acknowledged, self.highest, "a connection ends when all has arrived");
        self.congestion = self.fresh.boxed_clone();
        self.repair = Repair::new(self.settings.recovery, self.acknowledged);
        self.rtt = RttEstimator::new(self.settings.rto);
        self.expires = None;
        self.pacer = Pacer::new(self.settings.pacing.map_or(1, |pacing| pacing.burst));
    }

    /// `cwnd`, in segments, without what fast recovery adds.
    pub fn congestion_window(&self) -> f64 {
        self.congestion.window()
    }

    /// `ssthresh`, in segments.
    pub fn slow_start_threshold(&self) -> f64 {
        self.congestion.threshold()
    }

    /// Segments that have been acknowledged in order.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// True when all that was written has been acknowledged.
    pub fn is_done(&self) -> bool {
        self.acknowledged == self.written
    }

    /// What it has done.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The first loss that it saw, on any of its connections; `None` where there was none.
    pub fn first_loss(&self) -> Option<FirstLoss> {
        self.first_loss
    }

    /// The round-trip time; `None` before the first sample.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    /// Segments that are on their way, as far as the sender knows.
    pub fn in_flight(&self) -> u64 {
        match &self.repair {
            Repair::Duplicates(duplicates) => duplicates.in_flight(self.acknowledged),
            Repair::Selective(scoreboard) => scoreboard.in_flight(),
        }
    }

    /// The next segment that would be sent; `None` where there is none, or the window is full.
    fn sendable(&self) -> Option<u64> {
        let inflation = match &self.repair {
            Repair::Duplicates(duplicates) => duplicates.inflation(),
            Repair::Selective(_) => 0.0,
        };
        let window = (self.congestion.window() + inflation).min(self.settings.largest_window);
        if self.in_flight() as f64 + 1.0 > window {
            return None;
        }
        let next = match &self.repair {
            Repair::Duplicates(duplicates) => duplicates.next(),
            Repair::Selective(scoreboard) => scoreboard.lost().unwrap_or(self.highest),
        };
        (next < self.written).then_some(next)
    }

    fn send(&mut self, sequence: u64, now: Time, outbox: &mut Outbox<Segment>) {
        let is_retransmission = sequence < self.highest;
        self.counters.sent += 1;
        self.counters.retransmitted += u64::from(is_retransmission);
        self.highest = self.highest.max(sequence + 1);
        match &mut self.repair {
            Repair::Duplicates(duplicates) => duplicates.on_sent(sequence),
            Repair::Selective(scoreboard) => scoreboard.on_sent(sequence, now),
        }
        // What was sent before must not be marked (RFC 3168, section 6.1.5).
        let is_capable = self.settings.ecn && !is_retransmission;
        let has_reduced = is_capable && self.answers.tell();
        let segment = Segment::Data { sequence, sent: now, is_retransmission, has_reduced };
        let ecn = if is_capable { Ecn::Capable } else { Ecn::NotCapable };
        outbox.send(self.settings.packet_bytes, ecn, segment);
        // RFC 6298, section 5.1.
        if self.expires.is_none() {
            self.expires = Some(now + self.rtt.timeout());
        }
    }

    /// Sends what the window and the pacer allow.
    fn send_more(&mut self, now: Time, outbox: &mut Outbox<Segment>) {
        while let Some(sequence) = self.sendable() {
            if self.paced_time().is_some_and(|time| time > now) {
                return;
            }
            if let Some(interval) = self.interval() {
                self.pacer.on_sent(now, interval);
            }
            self.send(sequence, now, outbox);
        }
        let is_idle = self.highest == self.written && self.in_flight() as f64 + 1.0 <= self.congestion.window();
        if let Repair::Selective(scoreboard) = &mut self.repair
            && is_idle
            && scoreboard.lost().is_none()
        {
            scoreboard.on_nothing_to_send();
        }
    }

    /// The time between two packets; `None` where they are not spaced, or nothing is known of the path yet.
    fn interval(&self) -> Option<Duration> {
        let nanoseconds = match (self.congestion.pacing_rate(), self.settings.pacing) {
            (Some(rate), _) => 1e9 / rate,
            (None, Some(pacing)) => self.rtt.smoothed()?.as_nanos() as f64 / (pacing.gain * self.congestion.window()),
            (None, None) => return None,
        };
        Some(Duration::from_nanos(nanoseconds as u64))
    }

    /// When the pacer lets the next packet out; `None` where there is none.
    fn paced_time(&self) -> Option<Time> {
        (self.settings.pacing.is_some() || self.congestion.pacing_rate().is_some()).then(|| self.pacer.next_time())
    }

    fn on_acknowledgment(&mut self, now: Time, ack: Acknowledgment, outbox: &mut Outbox<Segment>) {
        let in_flight_before = self.in_flight();
        let in_flight = in_flight_before as f64;
        // What the pacer holds back would be in flight without it.
        let is_held = self.paced_time().is_some() && self.highest < self.written;
        let is_limited_by_window =
            in_flight + 2.0 > self.congestion.window() || (is_held && in_flight + 2.0 <= self.settings.largest_window);
        let is_new = ack.next > self.acknowledged;
        // Who has selective acknowledgments has timestamps too, by which also what was sent again tells its time (RFC 7323, section 4.1); others must
        // not ask it (RFC 6298, section 3), and keep a timeout that was doubled until something new arrives.
        let tells_time = ack.is_first || matches!(self.repair, Repair::Selective(_));
        let rtt = (is_new && tells_time).then(|| now.checked_since(ack.echo)).flatten();
        if let Some(sample) = rtt {
            self.rtt.on_sample(sample);
        }
        let before = self.acknowledged;
        self.acknowledged = self.acknowledged.max(ack.next);
        let mut answer = match &mut self.repair {
            Repair::Duplicates(duplicates) if is_new => duplicates.on_new(before, ack.next),
            Repair::Duplicates(duplicates) => duplicates.on_duplicate(ack.next, before, self.highest),
            Repair::Selective(scoreboard) => scoreboard.on_acknowledgment(ack.next, &ack.selective, self.highest),
        };
        let rate_sample = match &mut self.repair {
            Repair::Duplicates(_) => None,
            Repair::Selective(scoreboard) => scoreboard.rate_sample(now, self.rtt.least()),
        };
        self.congestion.on_acknowledged(&Acked {
            now,
            is_repairing: answer.is_repairing,
            lost: answer.lost,
            in_flight_before,
            in_flight: self.in_flight(),
            rate_sample,
            newly: answer.newly,
            rtt,
            smoothed_rtt: self.rtt.smoothed(),
            acknowledged: self.acknowledged,
            highest: self.highest,
            is_recovering: answer.is_recovering || answer.is_new_loss,
            is_limited_by_window,
            is_advancing: is_new,
            is_marked: ack.is_marked,
        });
        let is_asked = ack.is_marked && self.answers.is_asked_by(ack.next);
        if answer.is_new_loss {
            self.counters.recoveries += 1;
            self.note_loss(now);
            self.expires = Some(now + self.rtt.timeout());
        } else if is_asked {
            self.counters.marks += 1;
        }
        if answer.is_new_loss || is_asked {
            self.answers.on_reduced(self.highest);
            self.congestion.on_loss(now, in_flight.min(self.congestion.window()));
        }
        if let Some(sequence) = answer.retransmit.take() {
            self.send(sequence, now, outbox);
        }
        if is_new && !answer.keeps_timer {
            // RFC 6298, sections 5.2 and 5.3.
            self.expires = (self.acknowledged < self.highest).then(|| now + self.rtt.timeout());
        }
    }

    fn note_loss(&mut self, now: Time) {
        let window = self.congestion.window();
        self.first_loss.get_or_insert(FirstLoss { time: now, window });
    }

    fn on_timeout(&mut self, now: Time) {
        let in_flight = self.in_flight() as f64;
        self.note_loss(now);
        self.congestion.on_timeout(now, in_flight.min(self.congestion.window()));
        match &mut self.repair {
            Repair::Duplicates(duplicates) => duplicates.on_timeout(self.acknowledged, self.highest),
            Repair::Selective(scoreboard) => scoreboard.on_timeout(self.highest),
        }
        self.answers.on_reduced(self.highest);
        self.rtt.on_timeout();
        self.expires = None;
        self.counters.timeouts += 1;
        self.pacer.reset(now);
    }
}

/// What an acknowledgment brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Segments that have newly arrived.
    pub newly: u64,
    /// Segments that are newly known to be lost.
    pub lost: u64,
    /// A loss was found that is not of a window in which one was found before.
    pub is_new_loss: bool,
    /// Whether losses are being repaired after this acknowledgment.
    pub is_recovering: bool,
    /// The same, or those that the timer has found are.
    pub is_repairing: bool,
    /// To be sent again at once, whatever the window.
    pub retransmit: Option<u64>,
    /// Whether the retransmission timer goes on although something new has arrived.
    pub keeps_timer: bool,
}

/// [`Segment::Acknowledgment`].
struct Acknowledgment {
    next: u64,
    selective: [(u64, u64); 3],
    echo: Time,
    is_first: bool,
    is_marked: bool,
}

/// RFC 5681, section 3.2; RFC 6675, section 2.
pub(crate) const DUPLICATE_THRESHOLD: u32 = 3;

impl Endpoint for Sender {
    type Payload = Segment;

    fn handle_packet(&mut self, now: Time, _ecn: Ecn, segment: Segment, outbox: &mut Outbox<Segment>) {
        let Segment::Acknowledgment { next, selective, echo, is_first, is_marked } = segment else { return };
        // An older one says nothing new, and no receiver acknowledges what was not sent.
        if next >= self.acknowledged && next <= self.highest && self.acknowledged < self.highest {
            self.on_acknowledgment(now, Acknowledgment { next, selective, echo, is_first, is_marked }, outbox);
        }
        self.send_more(now, outbox);
    }

    fn handle_timeout(&mut self, now: Time, outbox: &mut Outbox<Segment>) {
        if self.expires.is_some_and(|expires| expires <= now) {
            self.on_timeout(now);
        }
        self.send_more(now, outbox);
    }

    fn next_timeout(&self) -> Option<Time> {
        let paced = self.sendable().map(|_| self.paced_time().unwrap_or_default());
        [self.expires, paced].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::{cubic::Cubic, hystart::SlowStart, reno::Reno};

    /// RFC 5681, section 3.1: an acknowledgment adds to the window that "cumulatively acknowledges new data", and section 3.2: the first two duplicates
    /// do not change it.
    #[test]
    fn a_duplicate_does_not_make_the_window_grow() {
        let at = |milliseconds: u64| Time::from_nanos(milliseconds * 1_000_000);
        for (recovery, threshold) in
            [Recovery::NewReno, Recovery::Selective].into_iter().flat_map(|recovery| [(recovery, 5.0), (recovery, 1e9)])
        {
            let slow_start = SlowStart::standard(1.0);
            let controllers: [Box<dyn CongestionControl>; 2] = [
                Box::new(Reno::new(10.0, threshold, slow_start.clone())),
                Box::new(Cubic::new(10.0, threshold, slow_start)),
            ];
            for controller in controllers {
                let mut sender = Sender::new(SenderSettings { recovery, ..SenderSettings::default() }, controller);
                let mut outbox = Outbox::default();
                sender.write(1000);
                sender.handle_timeout(at(0), &mut outbox);
                let mut told = Vec::new();
                // 1 and 2 arrive, 3 is lost, 4 and 5 arrive.
                for (next, selective) in [(1, (0, 0)), (2, (0, 0)), (2, (3, 4)), (2, (3, 5))] {
                    let selective = [selective, (0, 0), (0, 0)];
                    let segment =
                        Segment::Acknowledgment { next, selective, echo: at(0), is_first: true, is_marked: false };
                    sender.handle_packet(at(100 + next), Ecn::NotCapable, segment, &mut outbox);
                    told.push(sender.congestion_window());
                }
                assert!(10.0 < told[0] && told[0] < told[1], "{recovery:?}, {threshold}: {told:?}");
                assert_eq!(told[1..3], told[2..4], "{recovery:?}, {threshold}");
            }
        }
    }
}
