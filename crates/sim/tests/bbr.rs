//! BBR over a dumbbell: what its draft says that it does.

use quiclab_path::{
    queue::{Limit, drop_tail::DropTail},
    random::Random,
};
use quiclab_sim::{
    simulation::Simulation,
    tcp::{
        Tcp,
        congestion::bbr::Bbr,
        receiver::{Receiver, ReceiverSettings},
        sender::{Sender, SenderSettings},
    },
    topology::{Chain, Hop},
    workload::{Source, Workload},
};
use quiclab_units::{Duration, Rate, Time};

/// 50 Mbit/s and 40 ms: 166.7 packets of 1500 bytes.
const RATE: u64 = 50_000_000;
const PIPE: f64 = 50_000_000.0 / 8.0 / 1500.0 * 0.04;

/// Looks at a flow each millisecond: `(segments arrived, window, in flight, packets queued, drops)`.
fn watch(buffer: u64, seconds: u64) -> Vec<(f64, f64, f64, f64, u64)> {
    let mut simulation = Simulation::default();
    let hop = Hop::symmetric(Rate::from_bits_per_second(RATE), Duration::from_millis(16));
    let queue = DropTail::new(Limit::Packets(buffer));
    let chain = Chain::build(&mut simulation, Rate::from_bits_per_second(4 * RATE), [(hop, queue)]).unwrap();
    let sender = Sender::new(SenderSettings::default(), Box::new(Bbr::new(10.0, Random::new(1, "bbr"))));
    let source = Source::new(sender, Workload::Long, Time::from_nanos(0), Random::new(1, "source"));
    let pair = [Tcp::Source(Box::new(source)), Tcp::Receiver(Receiver::new(ReceiverSettings::default()))];
    let [left, right] = chain.add_flow(&mut simulation, pair, [Duration::from_millis(2); 2], 0..1);
    (1..=seconds * 1000)
        .map(|millisecond| {
            simulation.run_until(Time::from_nanos(millisecond * 1_000_000), u64::MAX);
            let (Tcp::Source(source), Tcp::Receiver(receiver)) =
                (simulation.endpoint(left), simulation.endpoint(right))
            else {
                unreachable!("a pair is a source and a receiver")
            };
            let (_, account) = simulation.accounts(chain.hop(0)).next().unwrap();
            let sender = source.sender();
            (
                receiver.arrived() as f64,
                sender.congestion_window(),
                sender.in_flight() as f64,
                account.waiting.packets as f64,
                account.all_dropped(),
            )
        })
        .collect()
}

#[test]
fn it_fills_the_link_with_a_short_queue() {
    let seen = watch(1000, 30);
    // Startup sends 2.89 times what arrives, and lasts three rounds longer than needed: the queue holds that, and is drained.
    let startup = seen[..1000].iter().map(|one| one.3).fold(0.0, f64::max);
    assert!(startup > PIPE && startup < 3.0 * PIPE, "{startup} packets queued in startup");
    assert_eq!(seen.last().unwrap().4, 0, "nothing was dropped");
    // Steady: the rate is used but for the probes of the delay, and the median queue is a few packets.
    let delivered = (seen[29_999].0 - seen[1_999].0) / 28.0 * 1500.0 * 8.0 / RATE as f64;
    assert!(delivered > 0.95, "{delivered} of the rate");
    let mut queue: Vec<f64> = seen[2_000..].iter().map(|one| one.3).collect();
    queue.sort_by(f64::total_cmp);
    assert!(queue[queue.len() / 2] < 0.1 * PIPE, "{} packets queued in the median", queue[queue.len() / 2]);
    assert!(queue[queue.len() - 1] < 0.6 * PIPE, "{} packets queued at most", queue[queue.len() - 1]);
}

#[test]
fn it_probes_for_the_delay_every_ten_seconds() {
    let seen = watch(1000, 35);
    let mut probes = Vec::new();
    for (millisecond, one) in seen.iter().enumerate().skip(1_000) {
        if one.1 <= 4.0 && probes.last().is_none_or(|last| millisecond - last > 1_000) {
            probes.push(millisecond);
        }
    }
    assert_eq!(probes.len(), 3, "{probes:?}");
    for pair in probes.windows(2) {
        // 10 s since the last one's end, which took 200 ms and what it takes to have four packets in flight.
        assert!((10_000..10_600).contains(&(pair[1] - pair[0])), "{probes:?}");
    }
    // Its window comes back.
    assert!((1.8 * PIPE..2.4 * PIPE).contains(&seen[probes[0] + 1_500].1), "{}", seen[probes[0] + 1_500].1);
}

#[test]
fn losses_do_not_slow_it_down() {
    // A buffer of a tenth of the pipe overflows at each probe for more.
    let seen = watch(PIPE as u64 / 10, 30);
    assert!(seen.last().unwrap().4 > 100, "nothing was lost, so nothing was tested");
    let delivered = (seen[29_999].0 - seen[1_999].0) / 28.0 * 1500.0 * 8.0 / RATE as f64;
    assert!(delivered > 0.9, "{delivered} of the rate");
}
