//! The sender: what may be sent, and when it is taken for lost.

#[cfg(test)]
mod literal;
mod settings;
#[cfg(test)]
mod tests;

use quiclab_path::packet::Ecn;
use quiclab_units::{Duration, Time};

use super::{
    congestion::{Acked, CongestionControl},
    duplicates::Duplicates,
    ecn::Answers,
    rtt::RttEstimator,
    scoreboard::Scoreboard,
};
use crate::{
    endpoint::{Endpoint, Outbox},
    pacer::Pacer,
    segment::Segment,
};

pub use settings::{PacingSettings, Recovery, SenderSettings};

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
    /// The pacer's own round-trip time in nanoseconds; `None` without timestamps and before the first sample.
    pacing_rtt: Option<u64>,
    /// The first segment that was not acknowledged when the retransmission timer expired last.
    timed_out: Option<u64>,
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
    Selective(Box<Scoreboard>),
}

impl Repair {
    /// Makes the repair of losses from segment `first` on.
    fn new(recovery: Recovery, first: u64) -> Self {
        match recovery {
            Recovery::Reno => Self::Duplicates(Duplicates::new(false, first)),
            Recovery::NewReno => Self::Duplicates(Duplicates::new(true, first)),
            Recovery::Selective => Self::Selective(Box::new(Scoreboard::new(first))),
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
    /// Makes a sender with nothing to send yet.
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
            pacing_rtt: None,
            timed_out: None,
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
        self.pacing_rtt = None;
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
        let (inflation, is_owed) = match &self.repair {
            Repair::Duplicates(duplicates) => (duplicates.inflation(), false),
            Repair::Selective(scoreboard) => (0.0, scoreboard.owes_retransmission()),
        };
        let window = (self.congestion.window() + inflation).min(self.settings.largest_window);
        if self.in_flight() as f64 + 1.0 > window && !is_owed {
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
            if matches!(&self.repair, Repair::Selective(scoreboard) if scoreboard.is_idle()) {
                self.congestion.on_restart_from_idle(now);
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
            (None, Some(pacing)) => {
                let rtt = self.pacing_rtt.or(self.rtt.smoothed().map(Duration::as_nanos))?;
                rtt as f64 / (pacing.gain * self.congestion.window())
            }
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
        // By timestamps a segment that was sent again tells its time too (RFC 7323, section 4.1). Without them it must not be asked (RFC 6298, section 3),
        // and a timeout that was doubled remains until something new arrives.
        let echoed = now.checked_since(ack.echo).filter(|_| ack.is_first || self.settings.has_timestamps());
        let rtt = echoed.filter(|_| is_new);
        if let Some(sample) = rtt {
            self.rtt.on_sample(sample);
        }
        if let Some(sample) = echoed.filter(|_| self.settings.has_timestamps()) {
            let sample = sample.as_nanos();
            self.pacing_rtt = Some(self.pacing_rtt.map_or(sample, |rtt| (7 * rtt + sample) / 8));
        }
        let before = self.acknowledged;
        self.acknowledged = self.acknowledged.max(ack.next);
        let mut answer = match &mut self.repair {
            Repair::Duplicates(duplicates) if is_new => duplicates.on_new(before, ack.next, self.congestion.window()),
            Repair::Duplicates(duplicates) => duplicates.on_duplicate(ack.next, before, self.highest),
            Repair::Selective(scoreboard) => scoreboard.on_acknowledgment(now, ack.next, &ack.selective, self.highest),
        };
        let rate_sample = match &mut self.repair {
            Repair::Duplicates(_) => None,
            Repair::Selective(scoreboard) => {
                scoreboard.newly_lost().for_each(|lost| self.congestion.on_segment_lost(&lost));
                scoreboard.rate_sample(now, self.rtt.least())
            }
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
        if let Repair::Selective(scoreboard) = &mut self.repair
            && self.congestion.is_probing_delay()
        {
            scoreboard.on_nothing_to_send();
        }
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
            self.congestion.on_loss(now, self.flight(before));
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

    /// FlightSize (RFC 5681, section 2) is what is not acknowledged in order, whatever else has arrived. The threshold is to be "no more than" half of it
    /// (equation 4); half the window is less where limited transmit, fast recovery or a timeout have let more leave than that.
    fn flight(&self, acknowledged: u64) -> f64 {
        ((self.highest - acknowledged) as f64).min(self.congestion.window())
    }

    fn on_timeout(&mut self, now: Time) {
        self.note_loss(now);
        // A segment that the timer has sent again already does not lower the threshold any further (RFC 5681, section 3.1).
        if self.timed_out.replace(self.acknowledged) == Some(self.acknowledged) {
            self.congestion.on_repeated_timeout(now);
        } else {
            self.congestion.on_timeout(now, self.flight(self.acknowledged));
        }
        match &mut self.repair {
            Repair::Duplicates(duplicates) => duplicates.on_timeout(self.acknowledged, self.highest),
            Repair::Selective(scoreboard) => {
                scoreboard.on_timeout(now, self.highest);
                scoreboard.newly_lost().for_each(|lost| self.congestion.on_segment_lost(&lost));
            }
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
    /// Segment that is to be sent again at once, whatever the window.
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
