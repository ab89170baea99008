//! 50 flows over 57 Mbit/s for 100 s.
use std::time::Instant;
use quiclab_path::queue::{Limit, drop_tail::DropTail};
use quiclab_sim::{simulation::Simulation, tcp::{Tcp, congestion::{reno::Reno, cubic::Cubic, hystart::SlowStart, CongestionControl}, receiver::{Receiver, ReceiverSettings}, sender::{Recovery, Sender, SenderSettings, PacingSettings}}, topology::Dumbbell};
use quiclab_units::{Duration, Rate, Time};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let flows: u64 = args[1].parse().unwrap();
    let rate: u64 = args[2].parse().unwrap();
    let seconds: u64 = args[3].parse().unwrap();
    let paced = args.get(4).is_some_and(|a| a == "paced");
    let begin = Instant::now();
    let mut simulation = Simulation::default();
    let bdp = rate / 8 / 10 / 616;
    let bytes = 616;
    let dumbbell = Dumbbell { rate: Rate::from_bits_per_second(rate), side_factor: 4, delay: Duration::from_millis(40) };
    let built = dumbbell.build(&mut simulation, DropTail::new(Limit::Packets(bdp / 4))).unwrap();
    let mut ids = Vec::new();
    for _ in 0..flows {
        let cc: Box<dyn CongestionControl> = if args.iter().any(|a| a == "cubic") { Box::new(Cubic::new(1.0, 1e9, SlowStart::hystart(false))) } else { Box::new(Reno::new(1.0, 1e9, SlowStart::standard(1.0))) };
        let recovery = if args.iter().any(|a| a == "sack") { Recovery::Selective } else if args.iter().any(|a| a == "newreno") { Recovery::NewReno } else { Recovery::Reno };
        let mut sender = Sender::new(SenderSettings { recovery, packet_bytes: bytes, pacing: paced.then_some(PacingSettings { gain: 1.0, burst: 1 }), ..SenderSettings::default() }, cc);
        sender.write(u64::MAX);
        let pair = [Tcp::Sender(Box::new(sender)), Tcp::Receiver(Receiver::new(ReceiverSettings::default()))];
        ids.push(built.add_flow(&mut simulation, pair, [Duration::from_millis(5); 2]));
    }
    let stopped = simulation.run_until(Time::from_nanos(seconds * 1_000_000_000), u64::MAX);
    let took = begin.elapsed().as_secs_f64();
    let (mut sum, mut timeouts, mut recoveries) = (0, 0, 0);
    for [sender, receiver] in &ids {
        if let Tcp::Receiver(receiver) = simulation.endpoint(*receiver) { sum += receiver.in_order(); }
        if let Tcp::Sender(sender) = simulation.endpoint(*sender) { timeouts += sender.counters().timeouts; recoveries += sender.counters().recoveries; }
    }
    let stages: u64 = (0..2 + 4 * flows as u32).map(|id| simulation.pipelines().nth(id as usize).unwrap().accounts().map(|(_, account)| account.entered).sum::<u64>()).sum();
    println!("{stopped:?}: {sum} segments, {timeouts} timeouts, {recoveries} recoveries, {} calls, {stages} packets at stages, {took:.2} s, {:.1} M/s", simulation.handled(), (stages as f64) / took / 1e6);
    for (name, account) in simulation.pipeline(built.bottleneck).accounts() { println!("{name}: {account:?}"); }
}
