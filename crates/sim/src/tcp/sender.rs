//! The sender: what may be sent, and what is lost (RFC 5681, RFC 6582).

use quiclab_path::packet::Ecn;
use quiclab_units::{Duration, Time};

use super::rtt::{RtoSettings, RttEstimator};
use crate::{
    endpoint::{Endpoint, Outbox},
    pacer::Pacer,
    segment::Segment,
};

/// How losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Fast recovery ends with the first new acknowledgment (RFC 5681, section 3.2).
    Reno,
    /// It ends when all that was sent before it has arrived (RFC 6582).
    NewReno,
}

/// How a sender behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderSettings {
    /// Length of a packet with a full segment, in bytes as the path counts them.
    pub packet_bytes: u32,
    /// The first window, in segments.
    pub initial_window: f64,
    /// The largest window that the receiver offers, in segments.
    pub largest_window: f64,
    /// Where slow start ends at the latest, in segments.
    pub initial_threshold: f64,
    /// How losses are repaired.
    pub recovery: Recovery,
    /// Whether packets are spaced.
    pub pacing: Option<PacingSettings>,
    /// Of the retransmission timer.
    pub rto: RtoSettings,
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
            packet_bytes: 576,
            initial_window: 1.0,
            largest_window: 1e9,
            initial_threshold: 1e9,
            recovery: Recovery::Reno,
            pacing: None,
            rto: RtoSettings::default(),
        }
    }
}

/// Sends segments and repairs losses.
#[derive(Debug)]
pub struct Sender {
    settings: SenderSettings,
    /// Segments that the application has written; the end of the flow where it writes no more.
    written: u64,
    /// `SND.UNA`: the first that is not acknowledged.
    acknowledged: u64,
    /// `SND.NXT`: the next one to send; goes back to the first one after a timeout.
    next: u64,
    /// The first that was never sent.
    highest: u64,
    /// `cwnd`, in segments.
    window: f64,
    /// `ssthresh`, in segments.
    threshold: f64,
    duplicates: u32,
    /// In fast recovery: how much larger the window is by segments that have left the path (RFC 5681, section 3.2, steps 3 and 4).
    inflation: Option<f64>,
    /// `recover`: what had been sent when recovery began last; no recovery begins below it (RFC 6582, section 3.2).
    recover: u64,
    rtt: RttEstimator,
    /// When the retransmission timer expires.
    expires: Option<Time>,
    pacer: Option<Pacer>,
    counters: Counters,
}

/// What a sender has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Times that fast recovery began.
    pub recoveries: u64,
    /// Times that the retransmission timer expired.
    pub timeouts: u64,
}

impl Sender {
    /// With nothing to send yet.
    pub fn new(settings: SenderSettings) -> Self {
        Self {
            settings,
            written: 0,
            acknowledged: 0,
            next: 0,
            highest: 0,
            window: settings.initial_window,
            threshold: settings.initial_threshold,
            duplicates: 0,
            inflation: None,
            recover: 0,
            rtt: RttEstimator::new(settings.rto),
            expires: None,
            pacer: settings.pacing.map(|pacing| Pacer::new(pacing.burst)),
            counters: Counters::default(),
        }
    }

    /// The application writes so many segments more, which go out as soon as the endpoint is called.
    pub fn write(&mut self, segments: u64) {
        self.written = self.written.saturating_add(segments);
    }

    /// `cwnd`, in segments, without what fast recovery adds.
    pub fn congestion_window(&self) -> f64 {
        self.window
    }

    /// `ssthresh`, in segments.
    pub fn slow_start_threshold(&self) -> f64 {
        self.threshold
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

    /// The round-trip time; `None` before the first sample.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    fn in_flight(&self) -> f64 {
        (self.next - self.acknowledged) as f64
    }

    fn usable_window(&self) -> f64 {
        (self.window + self.inflation.unwrap_or(0.0)).min(self.settings.largest_window)
    }

    fn send(&mut self, sequence: u64, now: Time, outbox: &mut Outbox) {
        let is_retransmission = sequence < self.highest;
        self.counters.sent += 1;
        self.counters.retransmitted += u64::from(is_retransmission);
        self.highest = self.highest.max(sequence + 1);
        let segment = Segment::Data { sequence, sent: now, is_retransmission };
        outbox.send(self.settings.packet_bytes, Ecn::NotCapable, segment);
        // RFC 6298, section 5.1.
        if self.expires.is_none() {
            self.expires = Some(now + self.rtt.timeout());
        }
    }

    /// Sends what the window and the pacer allow.
    fn send_more(&mut self, now: Time, outbox: &mut Outbox) {
        while self.may_send() {
            if let (Some(pacer), Some(pacing)) = (&mut self.pacer, self.settings.pacing) {
                if pacer.next_time() > now {
                    return;
                }
                if let Some(rtt) = self.rtt.smoothed() {
                    pacer.on_sent(now, interval(rtt, pacing.gain * self.window));
                }
            }
            let sequence = self.next;
            self.next += 1;
            self.send(sequence, now, outbox);
        }
    }

    fn may_send(&self) -> bool {
        self.next < self.written && self.in_flight() + 1.0 <= self.usable_window()
    }

    fn on_new_acknowledgment(&mut self, now: Time, next: u64, outbox: &mut Outbox) {
        let newly = (next - self.acknowledged) as f64;
        self.acknowledged = next;
        self.next = self.next.max(next);
        self.duplicates = 0;
        match self.inflation {
            // A partial acknowledgment: the next hole is at its end (RFC 6582, section 3.2, step 3).
            Some(inflation) if self.settings.recovery == Recovery::NewReno && next < self.recover => {
                self.inflation = Some((inflation - newly + 1.0).max(0.0));
                self.send(next, now, outbox);
            }
            Some(_) => {
                // RFC 5681, section 3.2, step 6; the second form of RFC 6582, step 3, where the window was inflated far.
                self.inflation = None;
                self.window = self.threshold;
            }
            None if self.window < self.threshold => self.window += 1.0,
            None => self.window += 1.0 / self.window,
        }
        // RFC 6298, sections 5.2 and 5.3.
        self.expires = (self.acknowledged < self.next).then(|| now + self.rtt.timeout());
    }

    fn on_duplicate(&mut self, now: Time, outbox: &mut Outbox) {
        self.duplicates += 1;
        if let Some(inflation) = &mut self.inflation {
            *inflation += 1.0;
        } else if self.duplicates == DUPLICATE_THRESHOLD && self.acknowledged >= self.recover {
            self.threshold = half_of_flight(self.in_flight().min(self.window));
            self.recover = self.highest;
            self.window = self.threshold;
            self.inflation = Some(f64::from(DUPLICATE_THRESHOLD));
            self.counters.recoveries += 1;
            self.send(self.acknowledged, now, outbox);
            self.expires = Some(now + self.rtt.timeout());
        }
    }

    fn on_timeout(&mut self, now: Time) {
        // RFC 5681, section 3.1, equation 4; RFC 6582, section 3.2, step 4. All that was sent is taken for lost.
        self.threshold = half_of_flight(self.in_flight().min(self.window));
        self.window = 1.0;
        self.inflation = None;
        self.duplicates = 0;
        self.recover = self.highest;
        self.next = self.acknowledged;
        self.rtt.on_timeout();
        self.expires = None;
        self.counters.timeouts += 1;
        if let Some(pacer) = &mut self.pacer {
            pacer.reset(now);
        }
    }
}

/// RFC 5681, section 3.2.
const DUPLICATE_THRESHOLD: u32 = 3;

/// RFC 5681, equation 4.
fn half_of_flight(in_flight: f64) -> f64 {
    (in_flight / 2.0).max(2.0)
}

fn interval(rtt: Duration, window: f64) -> Duration {
    Duration::from_nanos((rtt.as_nanos() as f64 / window) as u64)
}

impl Endpoint for Sender {
    fn handle_segment(&mut self, now: Time, segment: Segment, outbox: &mut Outbox) {
        let Segment::Acknowledgment { next, echo, is_first, .. } = segment else { return };
        if next > self.acknowledged {
            if is_first && let Some(sample) = now.checked_since(echo) {
                self.rtt.on_sample(sample);
            }
            self.on_new_acknowledgment(now, next, outbox);
        } else if next == self.acknowledged && self.acknowledged < self.highest {
            self.on_duplicate(now, outbox);
        }
        self.send_more(now, outbox);
    }

    fn handle_timeout(&mut self, now: Time, outbox: &mut Outbox) {
        if self.expires.is_some_and(|expires| expires <= now) {
            self.on_timeout(now);
        }
        self.send_more(now, outbox);
    }

    fn next_timeout(&self) -> Option<Time> {
        let paced = match &self.pacer {
            Some(pacer) if self.may_send() => Some(pacer.next_time()),
            None if self.may_send() => Some(Time::from_nanos(0)),
            _ => None,
        };
        [self.expires, paced].into_iter().flatten().min()
    }
}
