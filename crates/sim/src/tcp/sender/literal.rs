//! The sender beside literal transcriptions of the RFCs' rules, on thousands of random patterns of loss, equal at every step.
//!
//! The transcriptions count in segments, SMSS is 1, and a sequence number is that of a segment. Where the sender deviates from its RFC on purpose, the transcription
//! says so at the rule.

mod duplicates;
mod selective;

use std::collections::BTreeMap;

use quiclab_path::random::Random;

use super::*;
use crate::tcp::{
    congestion::{hystart::SlowStart, reno::Reno},
    receiver::{Receiver, ReceiverSettings},
};

/// What can be seen of a sender after each step.
#[derive(Debug, PartialEq)]
struct State {
    /// Segments that it has sent in this step.
    sent: Vec<u64>,
    /// Congestion window, with what fast recovery adds.
    window: f64,
    threshold: f64,
    in_flight: u64,
    /// When its retransmission timer expires.
    expires: Option<Time>,
}

/// A transcription, which has no end of data to send.
trait Literal {
    fn begin(&mut self, now: Time) -> State;
    fn on_acknowledgment(&mut self, now: Time, acknowledgment: &Acknowledgment) -> State;
    fn on_timeout(&mut self, now: Time) -> State;
}

/// A path that loses, delays and reorders segments and acknowledgments.
#[derive(Debug)]
struct Weather {
    loss: f64,
    /// Probability of a burst of losses, and its length.
    burst: (f64, u64),
    acknowledgment_loss: f64,
    /// Milliseconds there and back that vary from packet to packet.
    jitter: u64,
    /// Packets that the path holds; more are lost.
    room: u64,
    delayed: bool,
}

impl Weather {
    fn of(random: &mut Random) -> Self {
        let kind = random.up_to(3);
        Self {
            loss: if kind == 0 { 0.0 } else { random.unit() * random.unit() * 0.4 },
            burst: (random.unit() * 0.02, random.up_to(20)),
            acknowledgment_loss: if kind == 1 { random.unit() * 0.5 } else { 0.0 },
            jitter: if kind == 2 { random.up_to(60) } else { 0 },
            room: 5 + random.up_to(60),
            delayed: random.unit() < 0.3,
        }
    }
}

enum Event {
    Data(Segment),
    Acknowledgment(Segment),
    /// The receiver's timer.
    Delayed,
}

/// Events by their time in nanoseconds and their order.
#[derive(Default)]
struct Events {
    all: BTreeMap<(u64, u64), Event>,
    count: u64,
}

impl Events {
    fn push(&mut self, time: Time, event: Event) {
        self.count += 1;
        self.all.insert((time.as_nanos(), self.count), event);
    }
}

impl Sender {
    fn state(&self, outbox: &mut Outbox<Segment>) -> State {
        let inflation = match &self.repair {
            Repair::Duplicates(duplicates) => duplicates.inflation(),
            Repair::Selective(_) => 0.0,
        };
        State {
            sent: outbox.packets.iter().filter_map(|(_, _, segment)| sequence(segment)).collect(),
            window: self.congestion.window() + inflation,
            threshold: self.congestion.threshold(),
            in_flight: self.in_flight(),
            expires: self.expires,
        }
    }
}

fn sequence(segment: &Segment) -> Option<u64> {
    match segment {
        Segment::Data { sequence, .. } => Some(*sequence),
        Segment::Acknowledgment { .. } => None,
    }
}

/// What happened in a comparison, so that no one passes in which nothing did.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    steps: u64,
    recoveries: u64,
    timeouts: u64,
    repeated_timeouts: u64,
}

/// Runs the sender over a path for so many steps, and the transcription beside it.
fn compare(recovery: Recovery, literal: &mut dyn Literal, initial: f64, seed: u64, steps: u64) -> Seen {
    let mut random = Random::new(seed, "weather");
    let weather = Weather::of(&mut random);
    let reno = Reno::new(initial, f64::INFINITY, SlowStart::standard(1.0));
    let mut sender = Sender::new(SenderSettings { recovery, ..SenderSettings::default() }, Box::new(reno));
    let delay = weather.delayed.then_some(Duration::from_millis(40));
    let mut receiver = Receiver::new(ReceiverSettings { delayed_acknowledgment: delay, ..ReceiverSettings::default() });
    let (mut events, mut outbox, mut answers) = (Events::default(), Outbox::default(), Outbox::default());
    let (mut on_path, mut to_lose, mut last_timeout) = (0_u64, 0_u64, None);
    let mut seen = Seen::default();
    let mut now = Time::from_nanos(0);
    sender.write(u64::MAX);
    sender.handle_timeout(now, &mut outbox);
    let mut expected = literal.begin(now);
    loop {
        let found = sender.state(&mut outbox);
        assert_eq!(found, expected, "{recovery:?}, seed {seed}, step {}, {now:?}, {weather:?}", seen.steps);
        for (_, _, segment) in outbox.packets.drain(..) {
            if random.unit() < weather.burst.0 {
                to_lose = weather.burst.1;
            }
            let is_lost = random.unit() < weather.loss || to_lose > 0 || on_path >= weather.room;
            to_lose = to_lose.saturating_sub(1);
            if !is_lost {
                on_path += 1;
                let delay =
                    Duration::from_millis(25 + random.up_to(weather.jitter)) + Duration::from_micros(100 * on_path);
                events.push(now + delay, Event::Data(segment));
            }
        }
        if seen.steps >= steps {
            seen.recoveries = sender.counters().recoveries;
            seen.timeouts = sender.counters().timeouts;
            return seen;
        }
        // Something happens at the sender.
        loop {
            let arrival = events.all.first_key_value().map(|((time, _), _)| Time::from_nanos(*time));
            if let Some(time) = sender.next_timeout().filter(|time| arrival.is_none_or(|arrival| *time < arrival)) {
                now = time;
                seen.repeated_timeouts += u64::from(last_timeout == Some(sender.acknowledged()));
                last_timeout = Some(sender.acknowledged());
                sender.handle_timeout(now, &mut outbox);
                expected = literal.on_timeout(now);
                break;
            }
            let Some(((time, _), event)) = events.all.pop_first() else { panic!("nothing happens: seed {seed}") };
            now = Time::from_nanos(time);
            match event {
                Event::Data(segment) => {
                    on_path -= 1;
                    receiver.handle_packet(now, Ecn::NotCapable, segment, &mut answers);
                }
                Event::Delayed => receiver.handle_timeout(now, &mut answers),
                Event::Acknowledgment(segment) => {
                    let Segment::Acknowledgment { next, selective, echo, is_first, is_marked } = segment else {
                        continue;
                    };
                    sender.handle_packet(now, Ecn::NotCapable, segment, &mut outbox);
                    expected =
                        literal.on_acknowledgment(now, &Acknowledgment { next, selective, echo, is_first, is_marked });
                    break;
                }
            }
            for (_, _, answer) in answers.packets.drain(..) {
                if random.unit() >= weather.acknowledgment_loss {
                    let delay = Duration::from_millis(25 + random.up_to(weather.jitter));
                    events.push(now + delay, Event::Acknowledgment(answer));
                }
            }
            if let Some(time) = receiver.next_timeout() {
                events.push(time, Event::Delayed);
            }
        }
        seen.steps += 1;
    }
}

/// Compares so many patterns with this way of repairing losses.
fn compare_all(recovery: Recovery, cases: u64, literal: impl Fn(f64) -> Box<dyn Literal>) -> Seen {
    let mut total = Seen::default();
    for seed in 0..cases {
        let initial = [1.0, 2.0, 4.0, 10.0, 30.0][(seed % 5) as usize];
        let seen = compare(recovery, &mut *literal(initial), initial, seed, 300);
        total.steps += seen.steps;
        total.recoveries += seen.recoveries;
        total.timeouts += seen.timeouts;
        total.repeated_timeouts += seen.repeated_timeouts;
    }
    total
}

/// The retransmission timer (RFC 6298, section 5), with round-trip times as the sender measures them.
struct Timer {
    rtt: RttEstimator,
    has_timestamps: bool,
    expires: Option<Time>,
}

impl Timer {
    fn new(has_timestamps: bool) -> Self {
        Self { rtt: RttEstimator::new(SenderSettings::default().rto), has_timestamps, expires: None }
    }

    /// An acknowledgment of new data: sections 3 and 4, and RFC 7323, section 4.1.
    fn measure(&mut self, now: Time, acknowledgment: &Acknowledgment) {
        if self.has_timestamps || acknowledgment.is_first {
            self.rtt.on_sample(now.checked_since(acknowledgment.echo).unwrap());
        }
    }

    /// 5.1: a segment is sent.
    fn on_sent(&mut self, now: Time) {
        if self.expires.is_none() {
            self.restart(now);
        }
    }

    fn restart(&mut self, now: Time) {
        self.expires = Some(now + self.rtt.timeout());
    }

    /// 5.2 and 5.3: new data are acknowledged.
    fn on_new(&mut self, now: Time, is_all: bool) {
        self.expires = None;
        if !is_all {
            self.restart(now);
        }
    }

    /// 5.5; 5.6 follows when the segment is sent.
    fn on_timeout(&mut self) {
        self.rtt.on_timeout();
        self.expires = None;
    }
}
