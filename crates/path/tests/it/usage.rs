//! How a link was used, against closed forms: whatever is behind the link, and however rarely it is looked at.

use quiclab_path::{
    delay::Delay,
    link::Link,
    packet::{Ecn, Packet},
    pipeline::Pipeline,
    queue::{Limit, drop_head::DropHead, drop_tail::DropTail},
    random::Random,
    usage::Usage,
};
use quiclab_units::{Duration, Rate, Time};

/// 1250 bytes at 10 Mbit/s take 1 ms.
const BYTES: u32 = 1250;
const SERVICE_NANOS: u64 = 1_000_000;

fn pipeline(delay: Duration, room: u64) -> Pipeline<()> {
    let link =
        Link::new(Rate::from_bits_per_second(10_000_000).try_into().unwrap(), DropTail::new(Limit::Packets(room)));
    Pipeline::new(vec![Box::new(link), Box::new(Delay::new(delay))])
}

fn packet() -> Packet<()> {
    Packet::new(BYTES, 0, Ecn::NotCapable, ())
}

fn at(nanoseconds: u64) -> Time {
    Time::from_nanos(nanoseconds)
}

/// Usage at `end` of a pipeline into which packets come at these times, and which is polled only when it says so.
fn usage(mut pipeline: Pipeline<()>, arrivals: &[u64], end: u64) -> Usage {
    let poll_until = |pipeline: &mut Pipeline<()>, until: u64| {
        while let Some(time) = pipeline.next_time().filter(|time| time.as_nanos() <= until) {
            while pipeline.poll_packet(time).is_some() {}
        }
    };
    for arrival in arrivals {
        poll_until(&mut pipeline, *arrival);
        pipeline.handle_packet(at(*arrival), packet());
    }
    poll_until(&mut pipeline, end);
    let next = pipeline.next_time();
    pipeline.catch_up(at(end));
    assert_eq!(pipeline.next_time(), next, "looking at it changes nothing");
    pipeline.usage(at(end)).unwrap()
}

/// Poisson arrivals at a load of r, each served for the same time s (M/D/1): r + r²/(2(1 - r)) packets in the system, which wait r s/(2(1 - r)) on average.
#[test]
fn a_queue_of_random_arrivals_has_the_mean_of_its_closed_form_whatever_the_delay_behind() {
    for (load, tolerance) in [(0.5, 0.01), (0.8, 0.03)] {
        let mut random = Random::new(3, "arrivals");
        let (mut now, mut arrivals) = (0.0, Vec::new());
        for _ in 0..400_000 {
            now += random.exponential() * SERVICE_NANOS as f64 / load;
            arrivals.push(now as u64);
        }
        let end = now as u64;
        let found =
            [0, 1, 10, 400].map(|delay| usage(pipeline(Duration::from_millis(delay), 1_000_000), &arrivals, end));
        assert!(found.iter().all(|usage| *usage == found[0]), "{found:?}");
        let Usage { packet_nanos, busy, started, waited_nanos } = found[0];
        let mean = packet_nanos as f64 / end as f64;
        let expected = load + load * load / (2.0 * (1.0 - load));
        assert!((mean / expected - 1.0).abs() < tolerance, "{mean} packets, expected {expected}");
        let wait = waited_nanos as f64 / started as f64 / SERVICE_NANOS as f64;
        let expected = load / (2.0 * (1.0 - load));
        assert!((wait / expected - 1.0).abs() < tolerance, "{wait} service times, expected {expected}");
        let share = busy.as_nanos() as f64 / end as f64;
        assert!((share / load - 1.0).abs() < 0.01, "{share} busy, expected {load}");
    }
}

/// Bursts of 100 into an idle link (D/D/1 with batches): 1 + 2 + ... + 100 service times in the system, and 0 + ... + 99 of waiting.
#[test]
fn a_burst_waits_for_the_packets_in_front() {
    const BURST: u64 = 100;
    const PERIOD: u64 = 1_000 * SERVICE_NANOS;
    let arrivals: Vec<u64> = (0..50).flat_map(|burst| [burst * PERIOD; BURST as usize]).collect();
    for delay in [0, 1, 400] {
        let found = usage(pipeline(Duration::from_millis(delay), BURST), &arrivals, 50 * PERIOD);
        let service = u128::from(SERVICE_NANOS);
        let expected = Usage {
            packet_nanos: 50 * 5050 * service,
            busy: Duration::from_nanos(50 * BURST * SERVICE_NANOS),
            started: 50 * BURST,
            waited_nanos: 50 * 4950 * service,
        };
        assert_eq!(found, expected, "{delay} ms");
    }
}

/// In the middle of the fourth packet of ten, three have left, seven are there, and half a packet's time of the busy time is of the fourth.
#[test]
fn usage_can_be_read_in_the_middle_of_a_packet() {
    let half = SERVICE_NANOS / 2;
    let found = usage(pipeline(Duration::from_millis(7), 10), &[0; 10], 3 * SERVICE_NANOS + half);
    let nanos = u128::from(SERVICE_NANOS);
    assert_eq!(found.packet_nanos, (10 + 9 + 8) * nanos + 7 * u128::from(half));
    assert_eq!(found.busy, Duration::from_nanos(3 * SERVICE_NANOS + half));
    assert_eq!((found.started, found.waited_nanos), (4, (1 + 2 + 3) * nanos));
}

/// A packet that is dropped from the head was in the queue until then, and does not count as waiting for the link.
#[test]
fn what_is_dropped_counts_until_then() {
    let queue = DropHead::new(Limit::Packets(2));
    let link = Link::new(Rate::from_bits_per_second(10_000_000).try_into().unwrap(), queue);
    // The first is being sent; the second makes room for the fourth after a quarter of its time.
    let quarter = SERVICE_NANOS / 4;
    let found = usage(Pipeline::new(vec![Box::new(link)]), &[0, 0, 0, quarter], 10 * SERVICE_NANOS);
    let times = [SERVICE_NANOS, quarter, 2 * SERVICE_NANOS, 3 * SERVICE_NANOS - quarter];
    assert_eq!(found.packet_nanos, times.map(u128::from).iter().sum());
    assert_eq!((found.started, found.busy), (3, Duration::from_nanos(3 * SERVICE_NANOS)));
    assert_eq!(found.waited_nanos, u128::from(SERVICE_NANOS + 2 * SERVICE_NANOS - quarter));
}
