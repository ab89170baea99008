//! Each stage against a closed form, or against its source transcribed word by word.

use quiclab_path::{
    delay::Delay,
    link::Link,
    loss::{burst::BurstLoss, gilbert_elliott::GilbertElliott},
    packet::{Ecn, Packet},
    pipeline::Pipeline,
    queue::{
        Limit, QueueDiscipline,
        drop_head::DropHead,
        drop_tail::DropTail,
        fq_codel::{FqCoDel, FqCoDelSettings},
        netem::Netem,
        red::{Red, RedSettings},
    },
    random::Random,
    stage::{Fates, Stage},
    token_bucket::TokenBucket,
    wire::Wire,
};
use quiclab_units::{Duration, Rate, Time};

fn time(nanoseconds: u64) -> Time {
    Time::from_nanos(nanoseconds)
}

fn packet(bytes: u32) -> Packet<u64> {
    Packet::new(bytes, 0, Ecn::NotCapable, 0)
}

fn link<Q: QueueDiscipline<u64> + 'static>(bits_per_second: u64, queue: Q) -> Pipeline<u64> {
    let rate = Rate::from_bits_per_second(bits_per_second).try_into().unwrap();
    Pipeline::new(vec![Box::new(Link::new(rate, queue))])
}

/// The nth of packets that wait for each other ends when all bits so far have been sent, to the nanosecond.
#[test]
fn a_million_packets_leave_a_link_at_exact_times() {
    for rate in [57_000_000, 39_999_983, 3] {
        let mut path = link(rate, DropTail::new(Limit::Packets(u64::MAX)));
        let count = 1_000_000u64;
        for _ in 0..count {
            path.handle_packet(time(7), packet(1500));
        }
        for number in 1..=count {
            let (left, _) = path.poll_packet(time(u64::MAX - 1)).unwrap();
            let exact = u128::from(number) * 12_000 * 1_000_000_000 / u128::from(rate);
            assert_eq!(u128::from(left.as_nanos()), exact + 7, "packet {number} at {rate} bit/s");
        }
    }
}

/// A wire is a link that never drops and a delay, whatever comes.
#[test]
fn a_wire_is_a_link_and_a_delay() {
    let (rate, delay) = (Rate::from_bits_per_second(7_000_003).try_into().unwrap(), Duration::from_micros(3_333));
    let mut wire: Wire<u64> = Wire::new(rate, delay);
    let queue = DropTail::new(Limit::Packets(u64::MAX));
    let mut both: Pipeline<u64> = Pipeline::new(vec![Box::new(Link::new(rate, queue)), Box::new(Delay::new(delay))]);
    let mut random = Random::new(6, "arrivals");
    let mut now = 0;
    for number in 0..50_000 {
        now += random.up_to(2_000_000);
        let packet = Packet { payload: number, ..packet(40 + random.up_to(1460) as u32) };
        wire.handle_packet(time(now), packet.clone());
        both.handle_packet(time(now), packet);
        while let Some(arrived) = wire.poll_packet(time(now)) {
            assert_eq!(both.poll_packet(time(now)), Some(arrived));
        }
        assert_eq!(both.poll_packet(time(now)), None);
    }
}

/// Poisson arrivals at a constant service time: the mean wait is load / (2 (1 - load)) service times (Pollaczek and Khinchine).
#[test]
fn the_delay_of_a_queue_is_that_of_m_d_1() {
    let service = 1_000_000.0; // 1000 bytes at 8 Mbit/s, in nanoseconds
    for load in [0.3, 0.6, 0.8] {
        let mut path = link(8_000_000, DropTail::new(Limit::Packets(u64::MAX)));
        let mut random = Random::new(1, "arrivals");
        let (mut now, mut waited, count) = (0.0, 0.0, 400_000);
        for _ in 0..count {
            now += service / load * random.exponential();
            let mut arriving = packet(1000);
            arriving.payload = now as u64;
            path.handle_packet(time(now as u64), arriving);
        }
        while let Some((left, packet)) = path.poll_packet(time(u64::MAX - 1)) {
            waited += (left.as_nanos() - packet.payload) as f64 - service;
        }
        let (found, expected) = (waited / f64::from(count) / service, load / (2.0 * (1.0 - load)));
        assert!((found / expected - 1.0).abs() < 0.03, "load {load}: {found} service times, expected {expected}");
    }
}

/// In any span no more leaves than the bucket holds and the rate brings, and a waiting packet leaves as soon as that allows.
#[test]
fn a_token_bucket_keeps_to_its_curve() {
    let (rate, burst) = (8_000_000u64, 3000u64); // a byte per microsecond
    let bucket = TokenBucket::new(
        Rate::from_bits_per_second(rate).try_into().unwrap(),
        burst,
        DropTail::new(Limit::Packets(u64::MAX)),
    );
    let mut path: Pipeline<u64> = Pipeline::new(vec![Box::new(bucket)]);
    let mut random = Random::new(2, "arrivals");
    let mut now = 0;
    let (mut tokens, mut counted) = (burst as f64, 0.0f64);
    let mut expected = Vec::new();
    for _ in 0..20_000 {
        now += random.up_to(1_600_000);
        let bytes = 40 + random.up_to(1460) as u32;
        path.handle_packet(time(now), packet(bytes));
        // Fluid tokens, in bytes, by floating point.
        let begins = counted.max(now as f64);
        let available = (tokens + (begins - counted) / 1000.0).min(burst as f64);
        let wait = ((f64::from(bytes) - available) * 1000.0).max(0.0);
        expected.push(begins + wait);
        tokens = available + wait / 1000.0 - f64::from(bytes);
        counted = begins + wait;
    }
    for (number, expected) in expected.into_iter().enumerate() {
        let (left, _) = path.poll_packet(time(u64::MAX - 1)).unwrap();
        assert!((left.as_nanos() as f64 - expected).abs() < 2.0, "packet {number}: {left:?}, expected {expected}");
    }
}

/// The published bottleneck: a token bucket with netem below, whose limit counts what travels and what waits.
#[test]
fn netem_below_a_bucket_shares_one_limit() {
    let bucket = TokenBucket::new(
        Rate::from_bits_per_second(40_000_000).try_into().unwrap(),
        1535,
        Netem::new(Duration::from_millis(20), 143),
    );
    let mut path: Pipeline<u64> = Pipeline::new(vec![Box::new(bucket)]);
    for _ in 0..200 {
        path.handle_packet(time(0), packet(1500));
    }
    let left: Vec<Time> = std::iter::from_fn(|| path.poll_packet(time(10_000_000_000))).map(|(left, _)| left).collect();
    assert_eq!(left.len(), 143);
    assert_eq!(left[0], time(20_000_000));
    // The bucket held 35 bytes more than the first packet, and each packet takes 300 microseconds.
    assert_eq!(left[1], time(20_000_000 + 1465 * 200));
    assert_eq!(left[142], time(20_000_000 + 1465 * 200 + 141 * 300_000));
}

/// In steady overload the packet that waits for tokens counts towards the limit as well, so the whole bottleneck holds the limit, never
/// one more: Linux 6.1 compares `sch->q.qlen`, in which a packet that was peeked at stays.
#[test]
fn netem_below_a_bucket_in_steady_overload_holds_its_limit_and_no_more() {
    let bucket = TokenBucket::new(
        Rate::from_bits_per_second(40_000_000).try_into().unwrap(),
        1535,
        Netem::new(Duration::from_millis(20), 143),
    );
    let mut path: Pipeline<u64> = Pipeline::new(vec![Box::new(bucket)]);
    let mut most = 0;
    let (mut entered, mut left) = (0u64, 0u64);
    // Three packets come in the time that two take.
    for number in 0..3000 {
        let now = time(number * 200_000);
        path.handle_packet(now, packet(1500));
        entered += 1;
        left += std::iter::from_fn(|| path.poll_packet(now)).count() as u64;
        most = most.max(path.accounts().map(|(_, account)| account.waiting.packets).sum::<u64>());
    }
    assert_eq!(most, 143);
    assert!(entered - left > 1000, "it overflowed");
}

/// The average against the recurrence of the paper, and the share of early drops against its probability.
#[test]
fn the_average_of_red_follows_its_recurrence() {
    let settings = RedSettings {
        weight: 0.002,
        least_threshold: 5.0,
        most_threshold: 15.0,
        most_probability: 0.02,
        is_gentle: false,
        packet_time: Duration::from_micros(100),
    };
    let mut red: Red<u64> = Red::new(settings, Limit::Packets(1000), Random::new(3, "red")).unwrap();
    let mut random = Random::new(3, "arrivals");
    let mut fates = Fates::default();
    let (mut average, mut idle_since, mut now) = (0.0f64, Some(0u64), 0u64);
    for _ in 0..200_000 {
        now += random.up_to(200_000);
        if random.unit() < 0.5 {
            average = match idle_since {
                Some(since) => (1.0f64 - 0.002).powf((now - since) as f64 / 100_000.0) * average,
                None => (1.0 - 0.002) * average + 0.002 * red.backlog().packets as f64,
            };
            red.enqueue(time(now), packet(1000), &mut fates);
            if red.backlog().packets > 0 {
                idle_since = None;
            }
            assert!((red.average() - average).abs() < 1e-9, "{} and {average}", red.average());
        } else if red.dequeue(time(now), &mut fates).is_some() && red.backlog().packets == 0 {
            idle_since = Some(now);
        }
    }
}

/// With the average held still, the number of packets from drop to drop is uniform. The paper's text says on 1 to 1/p; its pseudocode, which counts a packet
/// before it computes the probability, and which everybody follows, makes it 1 to 1/p - 1, with a mean of 1/(2p).
#[test]
fn red_spreads_its_drops_evenly() {
    let settings = RedSettings {
        weight: 1.0, // the average is the queue
        least_threshold: 0.0,
        most_threshold: 20.0,
        most_probability: 0.1,
        is_gentle: false,
        packet_time: Duration::from_micros(100),
    };
    let mut red: Red<u64> = Red::new(settings, Limit::Packets(1000), Random::new(4, "red")).unwrap();
    let mut fates = Fates::default();
    for _ in 0..10 {
        while red.backlog().packets < 10 {
            red.enqueue(time(1), packet(1000), &mut fates);
        }
    }
    let (mut gaps, mut gap) = (Vec::new(), 0u32);
    for _ in 0..400_000 {
        gap += 1;
        red.enqueue(time(1), packet(1000), &mut fates);
        if red.backlog().packets == 11 {
            red.dequeue(time(1), &mut fates);
        } else {
            gaps.push(gap);
            gap = 0;
        }
    }
    let gaps = &gaps[1..];
    let mean = gaps.iter().map(|gap| f64::from(*gap)).sum::<f64>() / gaps.len() as f64;
    assert!((mean / 10.0 - 1.0).abs() < 0.01, "p is 0.05: {mean} packets on average, expected 10");
    assert_eq!(gaps.iter().max(), Some(&19));
}

/// Packets that can be marked are let in up to the upper threshold and dropped from there on; the gentle form has it at twice the other's.
#[test]
fn red_marks_below_its_upper_threshold_and_drops_above() {
    // RFC 3168, section 7.
    for (is_gentle, threshold) in [(false, 10), (true, 20)] {
        let settings = RedSettings {
            weight: 1.0, // the average is the queue
            least_threshold: 1.0,
            most_threshold: 10.0,
            most_probability: 1.0,
            is_gentle,
            packet_time: Duration::from_micros(100),
        };
        let mut red: Red<u64> = Red::new(settings, Limit::Packets(1000), Random::new(7, "red")).unwrap();
        let mut fates = Fates::default();
        let capable = || Packet { ecn: Ecn::Capable, ..packet(1000) };
        (0..threshold).for_each(|_| red.enqueue(time(1), capable(), &mut fates));
        assert_eq!((red.backlog().packets, fates.dropped().count()), (threshold, 0), "gentle {is_gentle}");
        (0..5).for_each(|_| red.enqueue(time(1), capable(), &mut fates));
        assert_eq!((red.backlog().packets, fates.dropped().count()), (threshold, 5), "gentle {is_gentle}");
    }
}

/// The long-run loss, and how many packets are lost in a row.
#[test]
fn bursts_of_loss_are_as_long_as_the_channel_is_bad() {
    let share = |value: f64| value.try_into().unwrap();
    let channel =
        GilbertElliott { to_bad: share(0.01), to_good: share(0.25), loss_in_good: share(0.0), loss_in_bad: share(1.0) };
    let mut path: Pipeline<u64> = Pipeline::new(vec![Box::new(BurstLoss::new(channel, Random::new(5, "burst")))]);
    let count = 400_000u32;
    let arrived: Vec<u64> = (0..count)
        .filter_map(|_| {
            path.handle_packet(time(1), packet(100));
            path.poll_packet(time(1)).map(|(_, packet)| packet.number)
        })
        .collect();
    let lost = f64::from(count) - arrived.len() as f64;
    let runs = arrived.windows(2).filter(|pair| pair[1] - pair[0] > 1).count() as f64;
    let expected = channel.mean_loss().unwrap();
    assert!((lost / f64::from(count) / expected - 1.0).abs() < 0.05, "{lost} lost, expected a share of {expected}");
    assert!((lost / runs * 0.25 - 1.0).abs() < 0.05, "{} lost in a row, expected 4", lost / runs);
}

/// The channel begins good, and the state before the change decides about the packet: with certain changes, every second one is lost.
#[test]
fn a_burst_begins_with_the_packet_behind_the_change() {
    let share = |value: f64| value.try_into().unwrap();
    let channel =
        GilbertElliott { to_bad: share(1.0), to_good: share(1.0), loss_in_good: share(0.0), loss_in_bad: share(1.0) };
    let mut path: Pipeline<u64> = Pipeline::new(vec![Box::new(BurstLoss::new(channel, Random::new(5, "burst")))]);
    let passes: Vec<bool> = (0..6)
        .map(|_| {
            path.handle_packet(time(1), packet(100));
            path.poll_packet(time(1)).is_some()
        })
        .collect();
    assert_eq!(passes, [true, false, true, false, true, false]);
}

/// Two flows of different packet sizes get the same bytes, and one that sends rarely does not wait for them.
#[test]
fn flows_under_fq_codel_share_the_link() {
    // RFC 8290, section 4.2.
    let queue = FqCoDel::new(FqCoDelSettings { limit_packets: 1_000_000, ..FqCoDelSettings::default() }, 0);
    let mut path = link(8_000_000, queue);
    let mut bytes = [0u64; 3];
    let mut longest = 0;
    for step in 0..20_000u64 {
        let now = time(step * 1_000_000);
        path.handle_packet(now, Packet::new(1500, 1, Ecn::NotCapable, now.as_nanos()));
        for _ in 0..3 {
            path.handle_packet(now, Packet::new(500, 2, Ecn::NotCapable, now.as_nanos()));
        }
        if step % 10 == 0 {
            path.handle_packet(now, Packet::new(100, 3, Ecn::NotCapable, now.as_nanos()));
        }
        while let Some((left, packet)) = path.poll_packet(now) {
            bytes[packet.flow as usize - 1] += u64::from(packet.bytes);
            // At first all three are new.
            if packet.flow == 3 && packet.payload > 0 {
                longest = longest.max(left.as_nanos() - packet.payload);
            }
        }
    }
    let ratio = bytes[0] as f64 / bytes[1] as f64;
    assert!((ratio - 1.0).abs() < 0.01, "{bytes:?}");
    // The packet that is being sent, and itself.
    assert!(longest <= 1_600_000, "{longest} ns");
}

/// A full queue that drops at its head keeps what came last.
#[test]
fn drop_head_keeps_the_newest() {
    let mut queue: DropHead<u64> = DropHead::new(Limit::Packets(3));
    let mut fates = Fates::default();
    for number in 1..=5 {
        queue.enqueue(time(1), Packet { number, ..packet(100) }, &mut fates);
    }
    let left: Vec<u64> =
        std::iter::from_fn(|| queue.dequeue(time(1), &mut fates)).map(|(_, packet)| packet.number).collect();
    assert_eq!(left, [3, 4, 5]);
}

/// A queue of nothing has nothing to send.
#[test]
fn a_queue_without_room_drops_everything() {
    let mut path = link(8_000_000, DropTail::new(Limit::Packets(0)));
    path.handle_packet(time(1), packet(100));
    assert_eq!(path.next_time(), None);
    let (_, account) = path.accounts().next().unwrap();
    assert_eq!((account.entered, account.all_dropped()), (1, 1));
}

/// The name of a stage stands for its random numbers, so there can be only one.
#[test]
#[should_panic(expected = "two stages named delay")]
fn two_stages_of_one_name_are_refused() {
    let delay = || -> Box<dyn Stage<u64>> { Box::new(Delay::new(Duration::from_millis(1))) };
    Pipeline::new(vec![delay(), delay()]);
}
