//! Every packet that enters a path is accounted for, whatever the stages and whenever it is looked at.

use std::collections::BTreeSet;

use proptest::prelude::*;
use quiclab_path::{
    bit_errors::BitErrors,
    delay::Delay,
    duplicate::Duplicate,
    jitter::{Jitter, JitterDistribution, Order},
    link::Link,
    loss::{
        burst::BurstLoss, gilbert_elliott::GilbertElliott, independent::IndependentLoss, list::ListedLoss,
        rule::RuleLoss,
    },
    packet::{Ecn, Packet},
    pipeline::Pipeline,
    probability::Probability,
    queue::{
        Limit, QueueDiscipline,
        codel::{CoDel, CoDelSettings},
        drop_head::DropHead,
        drop_tail::DropTail,
        fq_codel::{FqCoDel, FqCoDelSettings},
        netem::Netem,
        pie::{Pie, PieSettings},
        red::{Red, RedSettings},
    },
    random::Random,
    reorder::Reorder,
    stage::Stage,
    token_bucket::TokenBucket,
};
use quiclab_units::{Duration, Rate, Time};

type Boxed = Box<dyn Stage<u32>>;

fn share(value: f64) -> Probability {
    value.try_into().unwrap()
}

/// The stage of this number; more than there are come round again.
fn stage(number: usize, seed: u64) -> Boxed {
    let random = |name: &str| Random::new(seed, name);
    let rate = Rate::from_bits_per_second(8_000_000).try_into().unwrap();
    let limit = Limit::Packets(5);
    fn link<Q: QueueDiscipline<u32> + 'static>(queue: Q) -> Boxed {
        Box::new(Link::new(Rate::from_bits_per_second(8_000_000).try_into().unwrap(), queue))
    }
    let short = Duration::from_micros(700);
    match number % 18 {
        0 => link(DropTail::new(limit)),
        1 => link(DropTail::new(Limit::Bytes(4000))),
        2 => link(DropHead::new(Limit::Bytes(4000))),
        3 => link(CoDel::new(
            CoDelSettings { target: short, interval: Duration::from_millis(2), largest_packet_bytes: 100 },
            Limit::Packets(50),
        )),
        4 => link(FqCoDel::new(FqCoDelSettings { queues: 3, limit_packets: 20, ..FqCoDelSettings::default() }, seed)),
        5 => link(Pie::new(
            PieSettings { target: short, burst_allowance: Duration::ZERO, ..PieSettings::default() },
            Limit::Packets(50),
            random("pie"),
        )),
        6 => link(
            Red::new(
                RedSettings {
                    weight: 0.2,
                    least_threshold: 1.0,
                    most_threshold: 4.0,
                    most_probability: 0.5,
                    is_gentle: seed.is_multiple_of(2),
                    packet_time: Duration::from_millis(1),
                },
                Limit::Packets(10),
                random("red"),
            )
            .unwrap(),
        ),
        7 => Box::new(TokenBucket::new(rate, 2000, DropTail::new(limit))),
        8 => Box::new(TokenBucket::new(rate, 1535, Netem::new(short, 7))),
        9 => Box::new(Delay::new(short)),
        16 => Box::new(Netem::new(short, 7)),
        10 => Box::new(Jitter::new(JitterDistribution::Exponential { mean: short }, Order::Lost, random("jitter"))),
        11 => Box::new(Reorder::new(share(0.3), short, random("reorder"))),
        12 => Box::new(Duplicate::new(share(0.3), random("duplicate"))),
        13 => Box::new(BitErrors::new(share(0.0001), random("bits"))),
        14 => Box::new(IndependentLoss::new(share(0.3), random("loss"))),
        15 => Box::new(BurstLoss::new(
            GilbertElliott {
                to_bad: share(0.2),
                to_good: share(0.4),
                loss_in_good: share(0.01),
                loss_in_bad: share(0.9),
            },
            random("burst"),
        )),
        _ => match seed % 2 {
            0 => Box::new(ListedLoss::new(BTreeSet::from([1, 3, 7]))),
            _ => Box::new(RuleLoss::new(|_, packet: &Packet<u32>| packet.bytes > 1400)),
        },
    }
}

/// Stages of different names.
fn path(numbers: &[usize], seed: u64) -> Pipeline<u32> {
    let mut stages: Vec<Boxed> = Vec::new();
    for number in numbers {
        let stage = stage(*number, seed);
        if stages.iter().all(|other| other.name() != stage.name()) {
            stages.push(stage);
        }
    }
    Pipeline::new(stages)
}

fn assert_balanced(path: &Pipeline<u32>) {
    for (name, account) in path.accounts() {
        assert_eq!(
            account.entered + account.copied,
            account.left + account.all_dropped() + account.waiting.packets,
            "{name}: {account:?}"
        );
    }
}

/// What arrived, and when, of packets that come `gaps` nanoseconds after each other; looked at after each of them where `often`.
fn arrivals(numbers: &[usize], seed: u64, packets: &[(u64, u32, u64)], often: bool) -> Vec<(Time, Packet<u32>)> {
    let mut path = path(numbers, seed);
    path.keep_dropped();
    let mut now = Time::from_nanos(1);
    let mut arrived = Vec::new();
    for (index, (gap, bytes, flow)) in packets.iter().enumerate() {
        let enters = now + Duration::from_nanos(*gap);
        while let Some(time) = path.next_time().filter(|time| often && *time < enters) {
            assert!(time >= now, "{time:?} is before {now:?}");
            now = time;
            let before = arrived.len();
            arrived.extend(std::iter::from_fn(|| path.poll_packet(time)));
            assert!(arrived[before..].iter().all(|(at, _)| *at == time), "late: {:?} at {time:?}", &arrived[before..]);
            assert_balanced(&path);
        }
        now = enters;
        let ecn = if index % 2 == 0 { Ecn::NotCapable } else { Ecn::Capable };
        path.handle_packet(now, Packet::new(*bytes, *flow, ecn, index as u32));
        assert_balanced(&path);
    }
    let end = now + Duration::from_secs(1000);
    arrived.extend(std::iter::from_fn(|| path.poll_packet(end)));
    assert_balanced(&path);
    assert_eq!(path.next_time(), None);
    let mut dropped = 0;
    while path.poll_dropped().is_some() {
        dropped += 1;
    }
    let copied: u64 = path.accounts().map(|(_, account)| account.copied).sum();
    assert_eq!(packets.len() as u64 + copied, arrived.len() as u64 + dropped);
    arrived
}

proptest! {
    #[test]
    fn nothing_is_lost_and_polling_changes_nothing(
        numbers in prop::collection::vec(0usize..18, 0..6),
        seed in 0u64..1000,
        packets in prop::collection::vec((0u64..3_000_000, 40u32..1515, 0u64..4), 0..60),
    ) {
        let often = arrivals(&numbers, seed, &packets, true);
        let rarely = arrivals(&numbers, seed, &packets, false);
        prop_assert_eq!(often, rarely);
    }
}
