//! BBR version 3 over a dumbbell, against what draft-ietf-ccwg-bbr-06 promises.

use crate::watched::{Path, Seen, rate_share, watch};
use quiclab_path::{probability::Probability, random::Random};
use quiclab_sim::{
    fairness::jain,
    tcp::congestion::{CongestionControl, bbr::Bbr, bbr3::Bbr3, cubic::Cubic, hystart::SlowStart},
};

fn bbr3() -> Box<dyn CongestionControl> {
    Box::new(Bbr3::new(10.0, Random::new(1, "bbr3")))
}

/// One flow at 40 ms.
fn alone(buffer: u64, seconds: u64) -> Vec<Seen> {
    watch(&Path { buffer, ..Path::default() }, vec![bbr3()], seconds)
}

/// Segments in a bandwidth-delay product of 50 Mbit/s and 40 ms: 166.7.
fn pipe() -> f64 {
    Path::default().pipe()
}

/// Section 5.3.1.1: gains of 4 ln 2 and 2 let the rate double in each round, once a round has told the rate.
#[test]
fn startup_doubles_in_each_round() {
    let seen = alone(1000, 1);
    // Segments arrive half a round-trip time after they have left.
    let by_round = |round: usize| seen[40 * round + 19].arrived[0];
    let in_round = |round: usize| by_round(round + 1) - by_round(round);
    assert!((20.0..40.0).contains(&in_round(2)), "{} in the third round", in_round(2));
    for round in [3, 4] {
        let growth = in_round(round) / in_round(round - 1);
        assert!((1.8..2.2).contains(&growth), "round {round}: {growth} times as much");
    }
}

/// Sections 5.3.1 and 5.3.3: with a buffer of one bandwidth-delay product the link is full, and the queue short.
#[test]
fn it_fills_the_link_with_a_short_queue() {
    let seen = alone(pipe() as u64, 30);
    let share = rate_share(&seen[2_000..], 0);
    assert!(share > 0.95, "{share} of the rate");
    assert!(seen.last().unwrap().drops < 100, "{} drops", seen.last().unwrap().drops);
    let mut queue: Vec<f64> = seen[2_000..].iter().map(|one| one.queue).collect();
    queue.sort_by(f64::total_cmp);
    assert!(queue[queue.len() / 2] < 0.1 * pipe(), "{} packets queued in the median", queue[queue.len() / 2]);
    // ProbeBW_UP sends a quarter more for some rounds: up to 1.25 bandwidth-delay products above what the window allows.
    assert!(queue[queue.len() - 1] > 0.15 * pipe(), "it never probed");
}

/// Section 5.3.4: half of the window for 200 ms, five seconds after the end of the last time.
#[test]
fn it_probes_for_the_delay_every_five_seconds_at_half_of_the_window() {
    let seen = alone(1000, 32);
    let is_low = |one: &Seen| one.window < 0.55 * pipe();
    let mut probes: Vec<(usize, usize)> = Vec::new();
    for (millisecond, _) in seen.iter().enumerate().skip(2_000).filter(|(_, one)| is_low(one)) {
        match probes.last_mut() {
            Some((_, end)) if millisecond - *end < 1_000 => *end = millisecond,
            _ => probes.push((millisecond, millisecond)),
        }
    }
    assert!((5..=6).contains(&probes.len()), "{probes:?}");
    for (begin, end) in &probes {
        assert!((200..350).contains(&(end - begin)), "{probes:?}");
        let least = seen[*begin..=*end].iter().map(|one| one.window).fold(f64::INFINITY, f64::min);
        assert!((0.45 * pipe()..0.55 * pipe()).contains(&least), "a window of {least}");
    }
    for pair in probes.windows(2) {
        assert!((5_000..5_400).contains(&(pair[1].0 - pair[0].1)), "{probes:?}");
    }
}

/// The share of the link that one flow has where packets are lost at random.
fn share_at(controller: Box<dyn CongestionControl>, probability: f64, rtt_milliseconds: u64) -> f64 {
    let loss = Some(Probability::try_from(probability).unwrap());
    let seen = watch(&Path { rtt_milliseconds, buffer: 1000, loss, ..Path::default() }, vec![controller], 60);
    rate_share(&seen[15_000..], 0)
}

/// Section 5.5.10.3: a round with losses brings the rate down to what arrived in it, 1 - p of it; section 5.3.3.8: after 2 to 3 s or 63 rounds the flow
/// probes and starts again from the whole rate. The mean of n rounds is (1 - (1 - p)^n) / (n p). Where 2 % of what is in flight are few packets, chance
/// exceeds them at lower probabilities, and the flow has less. A margin of 1 % (section 2.5) and probes of the delay, 2 % (section 5.3.4.2), come off.
#[test]
fn random_losses_wear_the_rate_off_between_probes() {
    for (probability, rtt_milliseconds, rounds) in [(0.001, 40, 60.0), (0.005, 40, 60.0), (0.01, 200, 12.5)] {
        let expected = 0.97 * (1.0 - (1.0_f64 - probability).powf(rounds)) / (rounds * probability);
        let share = share_at(bbr3(), probability, rtt_milliseconds);
        assert!((share - expected).abs() < 0.05, "{share} of the rate at {probability}, expected {expected}");
    }
}

/// Section 2.8: above 2 % a probe is taken to have been too much. Version 1 does not care, and CUBIC's window is a small part of the pipe at 0.5 %.
#[test]
fn it_yields_to_losses_above_its_threshold() {
    let version_1 = share_at(Box::new(Bbr::new(10.0, Random::new(1, "bbr"))), 0.05, 40);
    let cubic = share_at(Box::new(Cubic::new(10.0, f64::INFINITY, SlowStart::standard(1.0))), 0.005, 40);
    let version_3 = share_at(bbr3(), 0.05, 40);
    assert!(version_1 > 0.7 && version_3 < 0.3 * version_1, "{version_1} and {version_3}");
    assert!(cubic < 0.25, "{cubic}");
}

/// Section 5.1.2: flows that start at different times come to share the link.
#[test]
fn a_later_flow_gets_its_share() {
    let path = Path { buffer: pipe() as u64, ..Path::default() };
    let seen = watch(&path, vec![bbr3(), Box::new(Bbr3::new(10.0, Random::new(2, "bbr3")))], 60);
    let late = [0, 1].map(|flow| rate_share(&seen[20_000..], flow));
    assert!(jain(late).unwrap() > 0.9, "{late:?}");
    assert!(late[0] + late[1] > 0.95, "{late:?}");
}

/// Section 5.3.3: in a buffer of a tenth of the pipe losses bound what it keeps in flight; version 1 loses many times as much.
#[test]
fn losses_in_a_short_buffer_bound_what_is_in_flight() {
    let buffer = pipe() as u64 / 10;
    let ours = alone(buffer, 30);
    let path = Path { buffer, ..Path::default() };
    let first = watch(&path, vec![Box::new(Bbr::new(10.0, Random::new(1, "bbr")))], 30);
    let drops = |seen: &[Seen]| seen.last().unwrap().drops - seen[2_000].drops;
    assert!(drops(&first) > 100, "nothing was lost, so nothing was tested");
    assert!(drops(&ours) * 3 < drops(&first), "{} and {}", drops(&ours), drops(&first));
    assert!(rate_share(&ours[2_000..], 0) > 0.85, "{} of the rate", rate_share(&ours[2_000..], 0));
}
