//! BBR version 1 over a dumbbell: what its draft says that it does.

use crate::watched::{Path, Seen, rate_share, watch};
use quiclab_path::{probability::Probability, random::Random};
use quiclab_sim::{
    fairness::jain,
    tcp::congestion::{CongestionControl, bbr::Bbr},
};

fn bbr() -> Box<dyn CongestionControl> {
    Box::new(Bbr::new(10.0, Random::new(1, "bbr")))
}

/// One flow at 40 ms.
fn alone(buffer: u64, seconds: u64) -> Vec<Seen> {
    watch(&Path { buffer, ..Path::default() }, vec![bbr()], seconds)
}

/// Segments in a bandwidth-delay product of 50 Mbit/s and 40 ms: 166.7.
fn pipe() -> f64 {
    Path::default().pipe()
}

#[test]
fn it_fills_the_link_with_a_short_queue() {
    let seen = alone(1000, 30);
    // Startup sends 2.89 times what arrives, and lasts three rounds longer than needed: the queue holds that, and is drained.
    let startup = seen[..1000].iter().map(|one| one.queue).fold(0.0, f64::max);
    assert!(startup > pipe() && startup < 3.0 * pipe(), "{startup} packets queued in startup");
    assert_eq!(seen.last().unwrap().drops, 0, "nothing was dropped");
    // Steady: the rate is used but for the probes of the delay, and the median queue is what the phase with a low gain leaves: three quanta of a
    // millisecond each (section 4.2.3.2), and the packet that is being sent.
    let share = rate_share(&seen[2_000..], 0);
    assert!(share > 0.95, "{share} of the rate");
    let mut queue: Vec<f64> = seen[2_000..].iter().map(|one| one.queue).collect();
    queue.sort_by(f64::total_cmp);
    assert!(queue[queue.len() / 2] < 0.12 * pipe(), "{} packets queued in the median", queue[queue.len() / 2]);
    assert!(queue[queue.len() - 1] < 0.6 * pipe(), "{} packets queued at most", queue[queue.len() - 1]);
}

#[test]
fn it_probes_for_the_delay_every_ten_seconds() {
    let seen = alone(1000, 35);
    let mut probes = Vec::new();
    for (millisecond, one) in seen.iter().enumerate().skip(1_000) {
        if one.window <= 4.0 && probes.last().is_none_or(|last| millisecond - last > 1_000) {
            probes.push(millisecond);
        }
    }
    assert_eq!(probes.len(), 3, "{probes:?}");
    for pair in probes.windows(2) {
        // 10 s since the last one's end, which took 200 ms and what it takes to have four packets in flight.
        assert!((10_000..10_600).contains(&(pair[1] - pair[0])), "{probes:?}");
    }
    // Its window comes back.
    let later = seen[probes[0] + 1_500].window;
    assert!((1.8 * pipe()..2.4 * pipe()).contains(&later), "{later}");
}

/// Section 4.3.5: rates measured in the probe are ignored. At 10 ms it lasts twenty rounds, more than the ten that the filter covers.
#[test]
fn a_probe_of_the_delay_does_not_forget_the_rate() {
    let path = Path { rtt_milliseconds: 10, ..Path::default() };
    let seen = watch(&path, vec![bbr()], 14);
    let probe = (9_000..13_000).find(|millisecond| seen[*millisecond].window <= 4.0).unwrap();
    let end = (probe..).find(|millisecond| seen[*millisecond].window > 4.0).unwrap();
    assert!((200..260).contains(&(end - probe)), "{probe} to {end}");
    let share = rate_share(&seen[end + 50..end + 550], 0);
    assert!(share > 0.95, "{share} of the rate after the probe");
}

#[test]
fn losses_do_not_slow_it_down() {
    // A buffer of a tenth of the pipe overflows at each probe for more.
    let seen = alone(pipe() as u64 / 10, 30);
    assert!(seen.last().unwrap().drops > 100, "nothing was lost, so nothing was tested");
    let share = rate_share(&seen[2_000..], 0);
    assert!(share > 0.9, "{share} of the rate");
}

/// Section 4.2.3.4: packets are conserved in the first round of a recovery only, and later losses do not begin another one.
#[test]
fn losses_in_every_round_do_not_hold_the_window_back() {
    let loss = Some(Probability::try_from(0.03).unwrap());
    let seen = watch(&Path { loss, ..Path::default() }, vec![bbr()], 30);
    let share = rate_share(&seen[5_000..], 0);
    assert!(share > 0.8, "{share} of the rate");
}

/// A flow that starts while others fill the queue takes its delay for that of the path, and takes more than its share, until all probe for the delay
/// at the same time (section 4.3.5). With room for everything in flight nothing else keeps them apart.
#[test]
fn flows_share_once_they_have_measured_the_delay_together() {
    let path = Path { rtt_milliseconds: 20, buffer: 1000, apart_milliseconds: 10, ..Path::default() };
    let controllers =
        (0..10).map(|flow| -> Box<dyn CongestionControl> { Box::new(Bbr::new(10.0, Random::new(flow, "bbr"))) });
    let seen = watch(&path, controllers.collect(), 40);
    assert_eq!(seen.last().unwrap().drops, 0, "nothing was dropped");
    let fairness = |seen: &[Seen]| jain((0..10).map(|flow| rate_share(seen, flow))).unwrap();
    let [early, late] = [fairness(&seen[5_000..10_000]), fairness(&seen[35_000..])];
    assert!(early < 0.5, "{early} before the first probe");
    assert!(late > 0.95, "{late} after three");
}
