//! Wires of the same rate and the same length share a lane: what travels on all of them, in the order of arrival.
//!
//! Hosts' links are alike and rarely busy, so that what enters one later arrives later, on whichever of them: one ring in the place of thousands, which the
//! processor reads ahead.

use std::collections::VecDeque;

use quiclab_path::{clock::PositiveRate, packet::Packet};
use quiclab_units::{Duration, Time};

use crate::events::Moment;

/// What travels on wires that are alike.
pub(crate) struct Lane<P> {
    pub(crate) rate: PositiveRate,
    pub(crate) delay: Duration,
    travelling: VecDeque<(Moment, Packet<P>)>,
}

impl<P> Lane<P> {
    pub(crate) fn new(rate: PositiveRate, delay: Duration) -> Self {
        Self { rate, delay, travelling: VecDeque::new() }
    }

    /// A packet whose last bit leaves its wire's link at `left`, the last one that was asked for.
    pub(crate) fn push(&mut self, left: Time, order: u64, packet: Packet<P>) {
        let time = Time::from_nanos(left.as_nanos().saturating_add(self.delay.as_nanos()));
        let arrival = (Moment::new(time, order), packet);
        // Only what waited for its link arrives after what comes later, so few packets or none go back.
        let later = self.travelling.iter().rev().take_while(|(other, _)| other.time() > time).count();
        if later == 0 {
            self.travelling.push_back(arrival);
        } else {
            self.travelling.insert(self.travelling.len() - later, arrival);
        }
    }

    /// When the next one arrives; [`Moment::NEVER`] where nothing travels.
    pub(crate) fn next(&self) -> Moment {
        self.travelling.front().map_or(Moment::NEVER, |(moment, _)| *moment)
    }

    pub(crate) fn pop(&mut self) -> Option<Packet<P>> {
        self.travelling.pop_front().map(|(_, packet)| packet)
    }

    /// What travels.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet<P>> {
        self.travelling.iter().map(|(_, packet)| packet)
    }
}

#[cfg(test)]
mod tests {
    use quiclab_path::{
        packet::Ecn,
        random::Random,
        wire::{Transmitter, Wire},
    };
    use quiclab_units::Rate;

    use super::*;

    /// Packets of a lane arrive when, and in the order in which, each of its wires alone delivers them.
    #[test]
    fn a_lane_delivers_what_its_wires_would() {
        const WIRES: u64 = 20;
        let rate: PositiveRate = Rate::from_bits_per_second(7_000_003).try_into().unwrap();
        let delay = Duration::from_micros(3_333);
        let mut lane = Lane::new(rate, delay);
        let mut transmitters = vec![Transmitter::default(); WIRES as usize];
        let mut wires: Vec<Wire<u64>> = (0..WIRES).map(|_| Wire::new(rate, delay)).collect();
        let mut random = Random::new(6, "arrivals");
        let (mut now, mut order, mut delivered) = (Time::from_nanos(0), 0, 0);
        for _ in 0..5000 {
            now = now + Duration::from_nanos(random.up_to(2_000_000));
            let wire = random.up_to(WIRES - 1);
            // Bursts of some hold up those that come next on other wires.
            for _ in 0..=random.up_to(if wire == 0 { 30 } else { 1 }) {
                order += 1;
                let packet = Packet {
                    number: order,
                    ..Packet::new(40 + random.up_to(1460) as u32, wire, Ecn::NotCapable, order)
                };
                let left = transmitters[wire as usize].send(now, packet.bytes, rate);
                wires[wire as usize].handle_packet(now, packet.clone());
                lane.push(left, order, packet);
            }
            let mut expected = Vec::new();
            for wire in &mut wires {
                expected.extend(
                    std::iter::from_fn(|| wire.poll_packet(now))
                        .map(|(time, packet)| (time, packet.payload, packet.flow)),
                );
            }
            expected.sort_unstable();
            let mut found = Vec::new();
            while lane.next().time() <= now {
                let time = lane.next().time();
                found.extend(lane.pop().map(|packet| (time, packet.payload, packet.flow)));
            }
            delivered += found.len();
            assert_eq!(found, expected);
        }
        assert_eq!(delivered + lane.packets().count(), order as usize);
    }
}
