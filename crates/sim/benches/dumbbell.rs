//! What a packet costs: few and many flows over a dumbbell, or those of a number that is an argument, for a profiler, with a second number for other
//! seconds than those of the comparison. Counts are exact, times are of this machine.

use std::time::Instant;

use quiclab_path::{
    queue::{Limit, drop_tail::DropTail},
    random::Random,
};
use quiclab_sim::{
    simulation::Simulation,
    tcp::{
        Tcp,
        congestion::{hystart::SlowStart, reno::Reno},
        receiver::{Receiver, ReceiverSettings},
        sender::{Recovery, Sender, SenderSettings},
    },
    topology::{Chain, Hop},
    workload::{Source, Workload},
};
use quiclab_units::{Duration, Rate, Time};

struct Scenario {
    flows: u32,
    bits_per_second: u64,
    packet_bytes: u32,
    seconds: u64,
}

/// The round-trip time of every flow.
const ROUND_TRIP: Duration = Duration::from_millis(100);

fn main() {
    println!("flows  Mbit/s  simulated s  packets at stages  wall s  million packets/s  segments delivered  drops");
    let wanted: Vec<u64> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let mut costs = Vec::new();
    for mut scenario in [
        Scenario { flows: 50, bits_per_second: 57_000_000, packet_bytes: 576, seconds: 100 },
        Scenario { flows: 5000, bits_per_second: 10_000_000_000, packet_bytes: 1500, seconds: 60 },
    ] {
        if wanted.first().is_none_or(|flows| *flows == scenario.flows.into()) {
            scenario.seconds = wanted.get(1).copied().unwrap_or(scenario.seconds);
            costs.push(run(&scenario));
        }
    }
    if let [few, many] = costs[..] {
        println!("a packet of many flows costs {:.2} times one of few (asked: 1.5 at most)", many / few);
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(peak) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
        println!("memory at most: {}", peak.trim());
    }
}

/// Gives the seconds that a packet took.
#[allow(clippy::disallowed_methods, reason = "a benchmark takes the time")]
fn run(scenario: &Scenario) -> f64 {
    let begin = Instant::now();
    let mut simulation = Simulation::default();
    let pipe = scenario.bits_per_second / 8 / u64::from(scenario.packet_bytes) * ROUND_TRIP.as_nanos() / 1_000_000_000;
    let rate = Rate::from_bits_per_second(scenario.bits_per_second);
    let side_rate = Rate::from_bits_per_second(4 * scenario.bits_per_second);
    let hop = Hop::symmetric(rate, Duration::from_millis(40));
    let queue = DropTail::new(Limit::Packets(pipe / 4));
    let chain = Chain::build(&mut simulation, side_rate, [(hop, queue)]).expect("a rate of more than 0");
    let settings = SenderSettings {
        packet_bytes: scenario.packet_bytes,
        recovery: Recovery::NewReno,
        ..SenderSettings::default()
    };
    for _ in 0..scenario.flows {
        let reno = Reno::new(1.0, f64::INFINITY, SlowStart::standard(1.0));
        let sender = Sender::new(settings, Box::new(reno));
        let start = Time::from_nanos(0);
        let source = Source::new(sender, Workload::Long, start, Random::new(0, "source"));
        let pair = [Tcp::Source(Box::new(source)), Tcp::Receiver(Receiver::new(ReceiverSettings::default()))];
        chain.add_flow(&mut simulation, pair, [Duration::from_millis(5); 2], 0..1);
    }
    simulation.run_until(Time::from_nanos(scenario.seconds * 1_000_000_000), u64::MAX);
    let seconds = begin.elapsed().as_secs_f64();
    let packets: u64 = simulation.all_accounts().map(|(_, account)| account.entered).sum();
    let (_, bottleneck) = simulation.accounts(chain.hop(0)).next().expect("a hop begins with a link");
    println!(
        "{:5}  {:6}  {:11}  {packets:17}  {seconds:6.2}  {:17.1}  {:18}  {:5}",
        scenario.flows,
        scenario.bits_per_second / 1_000_000,
        scenario.seconds,
        packets as f64 / seconds / 1e6,
        bottleneck.left,
        bottleneck.all_dropped(),
    );
    seconds / packets as f64
}
