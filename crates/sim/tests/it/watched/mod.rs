//! Flows over one bottleneck, looked at in each millisecond.

use quiclab_path::{
    delay::Delay,
    link::Link,
    loss::independent::IndependentLoss,
    pipeline::Pipeline,
    probability::Probability,
    queue::{Limit, drop_tail::DropTail},
    random::Random,
    stage::Stage,
};
use quiclab_sim::{
    simulation::Simulation,
    tcp::{
        Tcp,
        congestion::CongestionControl,
        receiver::{Receiver, ReceiverSettings},
        sender::{Sender, SenderSettings},
    },
    workload::{Source, Workload},
};
use quiclab_units::{Duration, Rate, Time};

/// 50 Mbit/s.
pub const RATE: u64 = 50_000_000;

/// What flows cross.
pub struct Path {
    /// Round-trip time without queues.
    pub rtt_milliseconds: u64,
    /// Limit of the queue, in packets.
    pub buffer: u64,
    /// Probability of a loss in front of the bottleneck.
    pub loss: Option<Probability>,
    /// Each flow starts so many milliseconds after the one before.
    pub apart_milliseconds: u64,
}

impl Default for Path {
    fn default() -> Self {
        Self { rtt_milliseconds: 40, buffer: 1000, loss: None, apart_milliseconds: 5_000 }
    }
}

impl Path {
    /// Packets of 1500 bytes in a bandwidth-delay product.
    pub fn pipe(&self) -> f64 {
        RATE as f64 / 8.0 / 1500.0 * self.rtt_milliseconds as f64 / 1e3
    }
}

/// What was seen at the end of a millisecond.
pub struct Seen {
    /// Segments of each flow that have arrived.
    pub arrived: Vec<f64>,
    /// The first flow's.
    pub window: f64,
    /// Packets queued.
    pub queue: f64,
    /// Packets that the queue has dropped since the beginning.
    pub drops: u64,
}

/// The share of the link that a flow has had.
pub fn rate_share(seen: &[Seen], flow: usize) -> f64 {
    let segments = seen[seen.len() - 1].arrived[flow] - seen[0].arrived[flow];
    segments * 1500.0 * 8.0 / (RATE as f64 * (seen.len() - 1) as f64 / 1e3)
}

/// Flows with these controllers.
pub fn watch(path: &Path, controllers: Vec<Box<dyn CongestionControl>>, seconds: u64) -> Vec<Seen> {
    let mut simulation = Simulation::default();
    let one_way = Duration::from_micros(path.rtt_milliseconds * 500);
    let rate = Rate::from_bits_per_second(RATE).try_into().unwrap();
    let queue = DropTail::new(Limit::Packets(path.buffer));
    let mut stages: Vec<Box<dyn Stage<_>>> = Vec::new();
    if let Some(loss) = path.loss {
        stages.push(Box::new(IndependentLoss::new(loss, Random::new(1, "loss"))));
    }
    let link_number = stages.len();
    stages.push(Box::new(Link::new(rate, queue)));
    stages.push(Box::new(Delay::new(one_way)));
    let there = simulation.add_pipeline(Pipeline::new(stages));
    let back = simulation.add_wire(Rate::from_bits_per_second(RATE).try_into().unwrap(), one_way);
    let mut flows = Vec::new();
    for (number, controller) in (0..).zip(controllers) {
        let sender = Sender::new(SenderSettings::default(), controller);
        let start = Time::from_nanos(number * path.apart_milliseconds * 1_000_000);
        let source = Source::new(sender, Workload::Long, start, Random::new(1, "source"));
        let pair = [Tcp::Source(Box::new(source)), Tcp::Receiver(Receiver::new(ReceiverSettings::default()))];
        flows.push(simulation.add_pair(pair, [&[there.into()], &[back]]));
    }
    let seen = (1..=seconds * 1000).map(|millisecond| {
        simulation.run_until(Time::from_nanos(millisecond * 1_000_000), u64::MAX);
        let arrived = flows.iter().map(|[_, right]| match simulation.endpoint(*right) {
            Tcp::Receiver(receiver) => receiver.arrived() as f64,
            Tcp::Source(_) => unreachable!("the second of a pair receives"),
        });
        let window = match simulation.endpoint(flows[0][0]) {
            Tcp::Source(source) => source.sender().congestion_window(),
            Tcp::Receiver(_) => unreachable!("the first of a pair sends"),
        };
        let (_, link) = simulation.accounts(there).nth(link_number).unwrap();
        Seen { arrived: arrived.collect(), window, queue: link.waiting.packets as f64, drops: link.all_dropped() }
    });
    seen.collect()
}
