use std::net::SocketAddr;

use quiclab_wire::{Flow, TcpFlags, Transport};

use super::*;

const SENDER: u32 = 0;
const BEHIND: u32 = 1;

/// A run by hand: every packet has 1000 bytes of payload that tell its number.
struct Bench {
    meter: TimelineMeter,
    flow: Flow,
}

impl Bench {
    fn new(has_second_tap: bool) -> Self {
        let [server, client] = [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], 443)));
        let threshold = Duration::from_micros(100);
        Bench {
            meter: TimelineMeter::new(Role::Server, SENDER, has_second_tap.then_some(BEHIND), threshold),
            flow: Flow::between(server, client),
        }
    }

    fn packet(&mut self, interface: u32, time_ns: u64, number: u64) {
        let mut payload = [0x40; 1000];
        payload[20..28].copy_from_slice(&number.to_be_bytes());
        let segment = Segment {
            time: Time::from_nanos(1_000_000_000 + time_ns),
            interface,
            frame_length: 1042,
            captured_length: 1042,
            source: self.flow.address(Role::Server),
            destination: self.flow.address(Role::Client),
            payload_length: 1000,
            // The tap behind the bottleneck keeps less.
            payload: if interface == SENDER { &payload } else { &payload[..80] },
            ecn: 0,
            transport: Transport::Udp,
        };
        let observed = Observed {
            flow: interface as usize,
            sender: Role::Server,
            packets: &[],
            frames: &[],
            has_foreign_bytes: false,
            has_zero_padding: false,
            is_complete: true,
            connection: &self.flow,
        };
        self.meter.on_packet(&segment, Some(&observed));
    }
}

#[test]
fn the_queue_is_the_time_between_the_taps_above_its_smallest() {
    let mut bench = Bench::new(true);
    // Ten packets at once into a queue that lets one out each millisecond, 20 ms away: number n waits n ms.
    for number in 0..10 {
        bench.packet(SENDER, number, number);
    }
    for number in 0..10 {
        bench.packet(BEHIND, 20_000_000 + number * 1_000_000 + number, number);
    }
    let timeline = bench.meter.finish();
    assert_eq!(timeline.smallest_crossing_ns, Some(20_000_000));
    let waits: Vec<_> = timeline.queue_delay_ns.iter().map(|point| point.last).collect();
    assert_eq!(waits, (0..10).map(|number| number * 1_000_000).collect::<Vec<_>>());
    assert_eq!((timeline.drops, timeline.drops_ns.len()), (Some(0), 0));
}

#[test]
fn a_packet_that_never_comes_to_the_second_tap_is_a_drop_at_its_send_time() {
    let mut bench = Bench::new(true);
    for number in 0..100 {
        bench.packet(SENDER, number * 1_000_000, number);
        if number % 10 != 3 {
            bench.packet(BEHIND, number * 1_000_000 + 500_000, number);
        }
    }
    let timeline = bench.meter.finish();
    assert_eq!(timeline.drops, Some(10));
    assert_eq!(timeline.drops_ns, (0..10).map(|ten| ten * 10_000_000 + 3_000_000).collect::<Vec<_>>());
}

#[test]
fn without_a_second_tap_there_are_no_drops_to_speak_of() {
    for has_second_tap in [false, true] {
        let mut bench = Bench::new(has_second_tap);
        bench.packet(SENDER, 0, 0);
        let timeline = bench.meter.finish();
        assert_eq!((timeline.drops, timeline.smallest_crossing_ns), (None, None), "{has_second_tap}");
        assert!(timeline.drops_ns.is_empty() && timeline.queue_delay_ns.is_empty());
    }
}

#[test]
fn of_a_segment_that_is_sent_again_the_first_copy_was_dropped() {
    let mut crossings = Crossings::default();
    let key = |number: u64| {
        let mut payload = [0; 32];
        payload[..8].copy_from_slice(&number.to_be_bytes());
        let address = SocketAddr::from(([10, 0, 0, 1], 443));
        let flags = TcpFlags::default();
        let transport = Transport::Tcp { sequence_number: 1, acknowledgment_number: 1, flags, options: &[] };
        let (time, payload_length) = (Time::default(), 32);
        let (source, destination) = (address, address);
        let segment = Segment {
            time,
            interface: 0,
            frame_length: 90,
            captured_length: 90,
            source,
            destination,
            payload_length,
            payload: &payload,
            ecn: 0,
            transport,
        };
        PayloadKey::of(&segment).unwrap()
    };
    // Number 1 is dropped, 2 arrives, 1 is sent again and arrives.
    for (number, time) in [(1, 0), (2, 10), (1, 50)] {
        crossings.on_sent(key(number), time);
        if time > 0 {
            crossings.on_behind(key(number), time + 5);
        }
    }
    let mut timeline = Timeline::default();
    crossings.finish(&mut timeline);
    assert_eq!((timeline.drops_ns, timeline.smallest_crossing_ns), (vec![0], Some(5)));
}

#[test]
fn trains_of_more_than_five_packets_are_marked_with_begin_and_end() {
    let mut bench = Bench::new(false);
    let mut number = 0;
    // Trains of 5, 6 and 8, with gaps of 99 us within: just below the threshold.
    for (start, packets) in [(0, 5), (10_000_000, 6), (20_000_000, 8)] {
        for place in 0..packets {
            bench.packet(SENDER, start + place * 99_000, number);
            number += 1;
        }
    }
    let timeline = bench.meter.finish();
    let marked: Vec<_> = timeline.bursts.iter().map(|it| (it.start_ns, it.end_ns, it.packets, it.bytes)).collect();
    assert_eq!(marked, [(10_000_000, 10_495_000, 6, 6 * 1042), (20_000_000, 20_693_000, 8, 8 * 1042)]);
    assert_eq!((timeline.packets, timeline.duration_ns), (19, 20_693_000));
}

#[test]
fn the_sending_rate_is_that_of_each_five_milliseconds() {
    let mut bench = Bench::new(false);
    for (time, number) in [(0, 0), (1_000_000, 1), (5_000_000, 2), (21_000_000, 3)] {
        bench.packet(SENDER, time, number);
    }
    let timeline = bench.meter.finish();
    let rates: Vec<_> = timeline.sending_rate_bps.iter().map(|point| (point.time_ns, point.last)).collect();
    // A frame of 1042 bytes in 5 ms is 1.6672 Mbit/s.
    let one = 1042 * 8 * 200;
    assert_eq!(rates, [(0, 2 * one), (5_000_000, one), (10_000_000, 0), (20_000_000, one)]);
}
