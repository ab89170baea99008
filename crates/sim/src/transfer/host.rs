//! A host: what lies between a stack and the wire. Timers that are late, system calls and packets that cost CPU time, a queue that knows
//! send times, a network card. Each effect is a setting of its own, and all of them can be nothing.

use std::collections::{BTreeMap, VecDeque};

use quiclab_path::{
    clock::PositiveRate,
    packet::{Ecn, Packet},
    random::Random,
    wire::Wire,
};
use quiclab_units::{Duration, Time};

use super::stack::{Answer, Buffer, Datagram};

/// What a host is like. [`HostSettings::default`] costs nothing and is never late.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostSettings {
    /// Timers end at multiples of it; 0 for at any time.
    pub timer_step: Duration,
    /// Mean of the exponentially distributed time by which a timer ends later than that; 0 for never late.
    pub timer_lateness: Duration,
    /// CPU time of a system call that sends or receives.
    pub call_cost: Duration,
    /// CPU time of a packet that is sent or received.
    pub packet_cost: Duration,
    /// Rate of the network card, which a packet has left when its last bit has; `None` for one that takes no time.
    pub card_rate: Option<PositiveRate>,
    /// Least time between two bundles in which packets reach the stack; 0 for each by itself.
    pub receive_coalescing: Duration,
    /// What stands before the network card.
    pub queue: SendQueue,
}

/// What becomes of planned send times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendQueue {
    /// They are ignored: what is handed over is sent.
    #[default]
    Direct,
    /// They are kept as Linux's `fq` does: nothing leaves before its time, and what has one beyond the horizon is dropped.
    Fair {
        /// How far ahead a send time may be.
        horizon: Duration,
    },
    /// They are kept as Linux's `etf` does without offload: what has no time, or one that is over, is dropped; all else leaves `delta`
    /// before its time.
    EarliestFirst {
        /// How long before its time a packet is taken up.
        delta: Duration,
        /// Whether the time is the latest one, so that packets leave at once.
        deadline: bool,
    },
}

/// A host, its CPU and its network card.
#[derive(Debug)]
pub(super) struct Host {
    settings: HostSettings,
    /// Bytes of a frame around a datagram.
    overhead: u64,
    random: Random,
    /// What waits for the stack.
    arrived: Vec<Datagram>,
    /// When the stack can be called for what waits.
    readable: Option<Time>,
    /// When the last bundle reached the stack.
    bundle: Option<Time>,
    /// What the stack asked for, and when its timer ends.
    timer: Option<(Time, Time)>,
    /// When the CPU is free.
    free: Time,
    busy: Duration,
    /// What waits for its send time; equal ones in the order in which they came.
    queue: BTreeMap<(Time, u64), Buffer>,
    handed_over: u64,
    /// The network card, where it takes time.
    card: Option<Wire<Datagram>>,
    /// What has left where it does not.
    sent: VecDeque<(Time, Datagram)>,
    drops: u64,
}

/// What a host did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostUse {
    /// CPU time.
    pub busy: Duration,
    /// Datagrams that its queue dropped.
    pub queue_drops: u64,
}

impl Host {
    pub(super) fn new(settings: HostSettings, overhead: u64, random: Random) -> Self {
        Self {
            card: settings.card_rate.map(|rate| Wire::new(rate, Duration::ZERO)),
            settings,
            overhead,
            random,
            arrived: Vec::new(),
            readable: None,
            bundle: None,
            timer: None,
            free: Time::from_nanos(0),
            busy: Duration::ZERO,
            queue: BTreeMap::new(),
            handed_over: 0,
            sent: VecDeque::new(),
            drops: 0,
        }
    }

    /// The stack is to be called at `time`, for the first time.
    pub(super) fn start(&mut self, time: Time) {
        self.timer = Some((time, time));
    }

    /// Takes a datagram off the wire.
    pub(super) fn receive(&mut self, now: Time, datagram: Datagram) {
        self.arrived.push(datagram);
        if self.readable.is_none() {
            let next_bundle = self.bundle.map_or(now, |last| last + self.settings.receive_coalescing);
            self.readable = Some(next_bundle.max(now));
        }
    }

    /// When the stack is to be called.
    pub(super) fn wake_time(&self) -> Option<Time> {
        let timer = self.timer.map(|(_, end)| end);
        let reason = [self.readable, timer].into_iter().flatten().min()?;
        Some(reason.max(self.free))
    }

    /// What the stack is told at `now`, which is [`Host::wake_time`].
    pub(super) fn take_arrived(&mut self, now: Time) -> Vec<Datagram> {
        if self.readable.is_none_or(|time| time > now) {
            return Vec::new();
        }
        self.readable = None;
        self.bundle = Some(now);
        std::mem::take(&mut self.arrived)
    }

    /// Does what the stack answered at `now`, when it had been told of `received` datagrams.
    pub(super) fn accept(&mut self, now: Time, received: usize, answer: Answer) {
        let mut cpu = now;
        if received > 0 {
            cpu = cpu + self.cost(received);
        }
        for buffer in answer.buffers {
            cpu = cpu + self.cost(buffer.datagrams().len());
            self.hand_over(cpu, buffer);
        }
        self.busy = self.busy + cpu.checked_since(now).unwrap_or_default();
        self.free = cpu;
        self.timer = answer.next.map(|asked| match self.timer {
            // A timer that is set to the same time again goes on.
            Some((before, end)) if before == asked && end > now => (asked, end),
            _ => (asked, self.end_of_timer(asked)),
        });
    }

    /// When the host does something by itself.
    pub(super) fn send_time(&self) -> Option<Time> {
        let queued = self.queue.first_key_value().map(|((time, _), _)| *time);
        let card = self.card.as_ref().and_then(Wire::next_time);
        [queued, card, self.sent.front().map(|(time, _)| *time)].into_iter().flatten().min()
    }

    /// The next datagram that has left by `now`, and when that was.
    pub(super) fn poll_sent(&mut self, now: Time) -> Option<(Time, Datagram)> {
        while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((time, _), buffer) = entry.remove_entry();
            for datagram in buffer.datagrams() {
                match &mut self.card {
                    Some(card) => {
                        // A datagram has 65 507 bytes at most.
                        let bytes = (datagram.payload.len() as u64 + self.overhead) as u32;
                        card.handle_packet(time, Packet::new(bytes, 0, Ecn::NotCapable, datagram));
                    }
                    None => self.sent.push_back((time, datagram)),
                }
            }
        }
        match &mut self.card {
            Some(card) => card.poll_packet(now).map(|(time, packet)| (time, packet.payload)),
            None => self.sent.pop_front(),
        }
    }

    pub(super) fn used(&self) -> HostUse {
        HostUse { busy: self.busy, queue_drops: self.drops }
    }

    fn cost(&self, packets: usize) -> Duration {
        let HostSettings { call_cost, packet_cost, .. } = &self.settings;
        Duration::from_nanos(call_cost.as_nanos().saturating_add(packet_cost.as_nanos().saturating_mul(packets as u64)))
    }

    fn hand_over(&mut self, now: Time, buffer: Buffer) {
        let leaves = match (self.settings.queue, buffer.planned) {
            (SendQueue::Direct, _) | (SendQueue::Fair { .. }, None) => Some(now),
            (SendQueue::Fair { horizon }, Some(time)) => Some(time.max(now)).filter(|_| time <= now + horizon),
            (SendQueue::EarliestFirst { .. }, None) => None,
            (SendQueue::EarliestFirst { deadline: true, .. }, Some(time)) => Some(now).filter(|_| time > now),
            (SendQueue::EarliestFirst { delta, .. }, Some(time)) => {
                let taken_up = Time::from_nanos(time.as_nanos().saturating_sub(delta.as_nanos()));
                Some(taken_up.max(now)).filter(|_| time > now)
            }
        };
        match leaves {
            Some(time) => {
                self.queue.insert((time, self.handed_over), buffer);
                self.handed_over += 1;
            }
            None => self.drops += buffer.datagrams().len() as u64,
        }
    }

    fn end_of_timer(&mut self, asked: Time) -> Time {
        let HostSettings { timer_step, timer_lateness, .. } = &self.settings;
        let mut end = asked.as_nanos();
        if *timer_step > Duration::ZERO {
            end = end.div_ceil(timer_step.as_nanos()).saturating_mul(timer_step.as_nanos());
        }
        if *timer_lateness > Duration::ZERO {
            end = end.saturating_add((timer_lateness.as_nanos() as f64 * self.random.exponential()) as u64);
        }
        Time::from_nanos(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVERHEAD: u64 = 42;

    fn host(settings: HostSettings) -> Host {
        Host::new(settings, OVERHEAD, Random::new(1, "host"))
    }

    fn at(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    fn buffer(packets: usize, planned: Option<Time>) -> Buffer {
        Buffer { ecn: 0, segment: 1000, planned, payload: vec![0; 1000 * packets] }
    }

    fn answer(next: Option<Time>, buffers: Vec<Buffer>) -> Answer {
        Answer { is_done: false, next, buffers }
    }

    /// When the datagrams leave.
    fn sent(host: &mut Host) -> Vec<u64> {
        let mut times = Vec::new();
        while let Some(now) = host.send_time() {
            times.extend(host.poll_sent(now).map(|(time, _)| time.as_nanos() / 1000));
        }
        times
    }

    #[test]
    fn a_host_that_costs_nothing_sends_at_once() {
        let mut host = host(HostSettings::default());
        host.accept(at(5), 3, answer(Some(at(9)), vec![buffer(2, None), buffer(1, Some(at(100)))]));
        assert_eq!(sent(&mut host), [5, 5, 5]);
        assert_eq!((host.wake_time(), host.used().busy), (Some(at(9)), Duration::ZERO));
    }

    #[test]
    fn calls_and_packets_cost_the_time_in_which_nothing_else_happens() {
        let cost = HostSettings {
            call_cost: Duration::from_micros(2),
            packet_cost: Duration::from_micros(10),
            ..HostSettings::default()
        };
        let mut host = host(cost);
        host.accept(at(0), 1, answer(Some(at(1)), vec![buffer(1, None), buffer(3, None)]));
        // Received for 12, sent for 12, and 3 packets by one call for 32.
        assert_eq!(sent(&mut host), [24, 56, 56, 56]);
        assert_eq!((host.wake_time(), host.used().busy), (Some(at(56)), Duration::from_micros(56)));
    }

    #[test]
    fn a_card_spaces_what_it_is_given_at_once() {
        let rate = quiclab_units::Rate::from_bits_per_second(1_000_000_000).try_into().unwrap();
        let mut host = host(HostSettings { card_rate: Some(rate), ..HostSettings::default() });
        host.accept(at(0), 0, answer(None, vec![buffer(3, None)]));
        let times: Vec<_> = std::iter::from_fn(|| host.poll_sent(at(100))).map(|(time, _)| time.as_nanos()).collect();
        let frame = (1000 + OVERHEAD) * 8;
        assert_eq!(times, [frame, 2 * frame, 3 * frame]);
    }

    #[test]
    fn fq_keeps_packets_until_their_time_and_drops_what_is_beyond_its_horizon() {
        let queue = SendQueue::Fair { horizon: Duration::from_millis(1) };
        let mut host = host(HostSettings { queue, ..HostSettings::default() });
        let buffers = [None, Some(at(30)), Some(at(20)), Some(at(5)), Some(at(2000))];
        host.accept(at(10), 0, answer(None, buffers.map(|planned| buffer(1, planned)).into()));
        assert_eq!(sent(&mut host), [10, 10, 20, 30]);
        assert_eq!(host.used().queue_drops, 1);
    }

    #[test]
    fn etf_sends_before_the_time_and_drops_what_has_none_or_one_that_is_over() {
        let queue = |deadline| SendQueue::EarliestFirst { delta: Duration::from_micros(15), deadline };
        for (deadline, expected) in [(false, [10, 15]), (true, [10, 10])] {
            let mut host = host(HostSettings { queue: queue(deadline), ..HostSettings::default() });
            let buffers = [None, Some(at(30)), Some(at(20)), Some(at(10))];
            host.accept(at(10), 0, answer(None, buffers.map(|planned| buffer(1, planned)).into()));
            assert_eq!(sent(&mut host), expected);
            assert_eq!(host.used().queue_drops, 2);
        }
    }

    #[test]
    fn timers_end_at_steps_and_later_by_chance() {
        let step = HostSettings { timer_step: Duration::from_millis(1), ..HostSettings::default() };
        let mut stepping = host(step);
        stepping.accept(at(100), 0, answer(Some(at(1001)), Vec::new()));
        assert_eq!(stepping.wake_time(), Some(at(2000)));
        let mut late = host(HostSettings { timer_lateness: Duration::from_micros(50), ..HostSettings::default() });
        let mut sum = 0;
        for number in 1..=20_000 {
            let asked = at(number * 1000);
            late.accept(at(number * 1000 - 500), 0, answer(Some(asked), Vec::new()));
            sum += late.wake_time().unwrap().as_nanos() - asked.as_nanos();
        }
        let mean = sum as f64 / 20_000.0;
        // Five standard errors.
        assert!((mean / 50_000.0 - 1.0).abs() < 0.036, "{mean}");
    }

    #[test]
    fn packets_reach_the_stack_in_bundles() {
        let mut host = host(HostSettings { receive_coalescing: Duration::from_micros(100), ..HostSettings::default() });
        let datagram = Datagram { ecn: 0, payload: vec![0] };
        host.receive(at(10), datagram.clone());
        assert_eq!(host.wake_time(), Some(at(10)));
        assert_eq!(host.take_arrived(at(10)).len(), 1);
        host.receive(at(20), datagram.clone());
        host.receive(at(90), datagram);
        assert_eq!(host.wake_time(), Some(at(110)));
        assert!(host.take_arrived(at(109)).is_empty());
        assert_eq!(host.take_arrived(at(110)).len(), 2);
    }
}
