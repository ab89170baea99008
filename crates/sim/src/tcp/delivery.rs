//! How fast segments arrive (draft-cheng-iccrg-delivery-rate-estimation-00).

use quiclab_units::{Duration, Time};

/// What is known at sending, kept with each segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// `P.sent_time`.
    sent: Time,
    /// `P.delivered`.
    delivered: u64,
    /// `P.delivered_time`.
    delivered_time: Time,
    /// `P.first_sent_time`.
    first_sent: Time,
    /// `P.is_app_limited`.
    is_limited_by_application: bool,
    /// `P.lost` (draft-ietf-ccwg-bbr-06, section 4.1.2.1.2).
    lost: u64,
    /// `P.tx_in_flight` (the same section), the segment included.
    in_flight: u64,
    /// Whether it had been sent before.
    is_retransmission: bool,
}

/// `C`, of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivery {
    delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    /// `C.app_limited`: what is delivered up to here was limited by the application.
    limited_until: u64,
    /// `C.lost`: segments that were taken for lost.
    lost: u64,
    /// The segment of this acknowledgment that was sent last.
    newest: Option<Stamp>,
}

/// `rs`: how fast segments have arrived over about a round-trip time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Segments per second; `None` where the time was too short to tell.
    pub rate: Option<f64>,
    /// `rs.prior_delivered`: segments that had arrived when the newest one of these was sent.
    pub prior_delivered: u64,
    /// Segments that have arrived by now.
    pub delivered: u64,
    /// Whether the application kept it low.
    pub is_limited_by_application: bool,
    /// `RS.lost`: segments that were taken for lost since the newest one of these was sent.
    pub lost: u64,
    /// `RS.tx_in_flight`: segments in flight when it was sent, itself included.
    pub in_flight: u64,
    /// `RS.rtt` (draft-ietf-ccwg-bbr-06, section 4.2): the round-trip time of the newest one of these; `None` if it was sent more than once.
    pub rtt: Option<Duration>,
}

impl RateSample {
    /// `RS.delivered`: segments that have arrived since the newest one of these was sent.
    pub fn sampled(&self) -> u64 {
        self.delivered - self.prior_delivered
    }
}

/// A segment that is taken for lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// When that was found.
    pub now: Time,
    /// Which one.
    pub sequence: u64,
    /// `P.tx_in_flight`: segments in flight when it was sent, itself included.
    pub in_flight: u64,
    /// Segments that were taken for lost since then, itself included.
    pub lost: u64,
    /// Segments that have arrived by now.
    pub delivered: u64,
    /// Whether the application had nothing to send when it was sent.
    pub is_limited_by_application: bool,
}

impl Delivery {
    /// Stamps a segment before it is sent, which makes it so many in flight (section 3.2). `is_first`: all that was sent before has been
    /// acknowledged in order (`SND.NXT == SND.UNA`). Segments that are only taken for lost do not count as acknowledged: the interval would
    /// be too short, and the rate too high.
    pub(crate) fn on_sent(&mut self, now: Time, is_first: bool, in_flight: u64, is_retransmission: bool) -> Stamp {
        if is_first {
            self.first_sent = now;
            self.delivered_time = now;
        }
        Stamp {
            sent: now,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent: self.first_sent,
            is_limited_by_application: self.is_limited_by_application(),
            lost: self.lost,
            in_flight,
            is_retransmission,
        }
    }

    /// Whether the application had nothing to send within the last round-trip time.
    pub(crate) fn is_limited_by_application(&self) -> bool {
        self.limited_until > 0
    }

    /// A segment is taken for lost.
    pub(crate) fn on_lost(&mut self, now: Time, sequence: u64, stamp: Stamp) -> LostSegment {
        self.lost += 1;
        LostSegment {
            now,
            sequence,
            in_flight: stamp.in_flight,
            lost: self.lost - stamp.lost,
            delivered: self.delivered,
            is_limited_by_application: stamp.is_limited_by_application,
        }
    }

    /// The application has nothing more to send, or the controller keeps the window small on purpose, with so many segments in flight (section 3.4).
    pub(crate) fn on_nothing_to_send(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// A segment has arrived (section 3.3, `UpdateRateSample`).
    pub(crate) fn on_arrived(&mut self, stamp: Stamp) {
        self.delivered += 1;
        let key = |stamp: &Stamp| (stamp.delivered, stamp.sent);
        if self.newest.is_none_or(|newest| key(&stamp) >= key(&newest)) {
            self.newest = Some(stamp);
        }
    }

    /// All segments of an acknowledgment have been told (section 3.3, `GenerateRateSample`). `None` where there were none.
    pub(crate) fn sample(&mut self, now: Time, least_rtt: Option<Duration>) -> Option<RateSample> {
        let newest = self.newest.take()?;
        self.delivered_time = now;
        self.first_sent = newest.sent;
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let since = |late: Time, early: Time| late.checked_since(early).unwrap_or_default();
        let interval = since(newest.sent, newest.first_sent).max(since(now, newest.delivered_time));
        let is_long = interval > Duration::ZERO && least_rtt.is_none_or(|least| interval >= least);
        Some(RateSample {
            rate: is_long.then(|| (self.delivered - newest.delivered) as f64 / interval.as_secs_f64()),
            prior_delivered: newest.delivered,
            delivered: self.delivered,
            is_limited_by_application: newest.is_limited_by_application,
            lost: self.lost - newest.lost,
            in_flight: newest.in_flight,
            rtt: (!newest.is_retransmission).then(|| since(now, newest.sent)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::from_nanos(milliseconds * 1_000_000)
    }

    /// Ten segments at once, whose acknowledgments come 1 ms apart: the rate is that of the acknowledgments, not of the sending.
    #[test]
    fn a_burst_does_not_look_faster_than_it_arrives() {
        let mut delivery = Delivery::default();
        let stamps: Vec<Stamp> = (0..10).map(|sent| delivery.on_sent(at(0), sent == 0, sent + 1, false)).collect();
        let mut last = None;
        for (number, stamp) in stamps.into_iter().enumerate() {
            delivery.on_arrived(stamp);
            last = delivery.sample(at(100 + number as u64), None);
        }
        // 10 segments in 109 ms, the first round-trip time included.
        let rate = last.unwrap().rate.unwrap();
        assert!((rate - 10.0 / 0.109).abs() < 0.01, "{rate}");
        let stamps: Vec<Stamp> = (0..10).map(|_| delivery.on_sent(at(109), false, 1, false)).collect();
        for (number, stamp) in stamps.into_iter().enumerate() {
            delivery.on_arrived(stamp);
            last = delivery.sample(at(209 + number as u64), None);
        }
        let rate = last.unwrap().rate.unwrap();
        assert!((rate - 10.0 / 0.109).abs() < 0.01, "{rate}");
    }

    /// Acknowledgments that come all at once: the rate is that of the sending.
    #[test]
    fn compressed_acknowledgments_do_not_look_fast() {
        let mut delivery = Delivery::default();
        let stamps: Vec<Stamp> =
            (0..101).map(|number| delivery.on_sent(at(number), number == 0, number + 1, false)).collect();
        delivery.on_arrived(stamps[0]);
        delivery.sample(at(100), None);
        stamps[1..].iter().for_each(|stamp| delivery.on_arrived(*stamp));
        let sample = delivery.sample(at(201), None).unwrap();
        // The last of them was sent at 100 ms, when nothing had arrived.
        assert_eq!((sample.prior_delivered, sample.delivered), (0, 101));
        assert!((sample.rate.unwrap() - 101.0 / 0.201).abs() < 0.01, "{sample:?}");
    }

    #[test]
    fn a_sample_shorter_than_a_round_trip_tells_nothing_and_a_silent_application_is_told() {
        let mut delivery = Delivery::default();
        let stamp = delivery.on_sent(at(0), true, 1, false);
        delivery.on_nothing_to_send(1);
        let late = delivery.on_sent(at(5), false, 2, false);
        delivery.on_arrived(stamp);
        let sample = delivery.sample(at(40), Some(Duration::from_millis(50))).unwrap();
        assert_eq!((sample.rate, sample.is_limited_by_application), (None, false));
        delivery.on_arrived(late);
        assert!(delivery.sample(at(60), None).unwrap().is_limited_by_application);
        assert_eq!(delivery.sample(at(60), None), None);
    }

    /// draft-ietf-ccwg-bbr-06, sections 4.1.2.2 and 5.5.10.2.
    #[test]
    fn losses_are_counted_from_when_a_segment_was_sent() {
        let mut delivery = Delivery::default();
        let stamps: Vec<Stamp> = (0..5).map(|sent| delivery.on_sent(at(sent), sent == 0, sent + 1, false)).collect();
        delivery.on_arrived(stamps[1]);
        let lost = delivery.on_lost(at(50), 0, stamps[0]);
        assert_eq!((lost.in_flight, lost.lost, lost.delivered), (1, 1, 1));
        let late = delivery.on_sent(at(50), false, 4, true);
        assert_eq!(delivery.on_lost(at(51), 2, stamps[2]).lost, 2);
        delivery.on_arrived(late);
        let sample = delivery.sample(at(100), None).unwrap();
        // One of the two losses was found after it had left.
        assert_eq!((sample.lost, sample.in_flight, sample.sampled(), sample.rtt), (1, 4, 1, None));
    }
}
