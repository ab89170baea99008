//! One flow over a dumbbell, against closed forms.

use quiclab_path::{
    pipeline::Account,
    queue::{Limit, drop_tail::DropTail},
    random::Random,
};
use quiclab_sim::{
    simulation::{EndpointId, Simulation, Stopped},
    tcp::{
        Tcp,
        congestion::{hystart::SlowStart, reno::Reno},
        receiver::{Receiver, ReceiverSettings},
        sender::{PacingSettings, Recovery, Sender, SenderSettings},
    },
    topology::{Chain, Hop},
    workload::{Source, Workload},
};
use quiclab_units::{Duration, Rate, Time};

/// 10 Mbit/s and 100 ms of round trip: 125 packets of 1000 bytes.
const RATE: u64 = 10_000_000;
const PIPE: f64 = 125.0;
const PACKET: u32 = 1000;

/// One transfer.
fn once(segments: u64) -> Workload {
    Workload::Arrivals { transfers: vec![(Time::from_nanos(0), segments)] }
}

struct Flow {
    simulation: Simulation<Tcp>,
    chain: Chain,
    ids: [EndpointId; 2],
}

impl Flow {
    fn new(buffer: u64, recovery: Recovery, is_paced: bool, workload: Workload) -> Self {
        let mut simulation = Simulation::default();
        // 2 x (5 + 40 + 5) ms, less what 1000 and 40 bytes take on three links there and back.
        let delay = Duration::from_nanos(40_000_000 - (800_000 + 2 * 200_000 + 32_000 + 2 * 8_000) / 2);
        let hop = Hop::symmetric(Rate::from_bits_per_second(RATE), delay);
        let queue = DropTail::new(Limit::Packets(buffer));
        let chain = Chain::build(&mut simulation, Rate::from_bits_per_second(4 * RATE), [(hop, queue)]).unwrap();
        let settings = SenderSettings {
            packet_bytes: PACKET,
            recovery,
            pacing: is_paced.then_some(PacingSettings { gain: 1.0, burst: 1 }),
            ..SenderSettings::default()
        };
        let sender = Sender::new(settings, Box::new(Reno::new(1.0, f64::INFINITY, SlowStart::standard(1.0))));
        let source = Source::new(sender, workload, Time::from_nanos(0), Random::new(1, "source"));
        let pair = [Tcp::Source(Box::new(source)), Tcp::Receiver(Receiver::new(ReceiverSettings::default()))];
        let ids = chain.add_flow(&mut simulation, pair, [Duration::from_millis(5); 2], 0..1);
        Self { simulation, chain, ids }
    }

    fn run(&mut self, milliseconds: u64) -> Stopped {
        self.simulation.run_until(Time::from_nanos(milliseconds * 1_000_000), u64::MAX)
    }

    fn sender(&self) -> &Sender {
        match self.simulation.endpoint(self.ids[0]) {
            Tcp::Source(source) => source.sender(),
            Tcp::Receiver(_) => unreachable!("the first of the pair sends"),
        }
    }

    fn bottleneck(&self) -> Account {
        self.simulation.accounts(self.chain.hop(0)).next().unwrap().1
    }
}

/// What has left a link has entered the next one, at any time.
#[test]
fn no_packet_is_lost_between_two_links() {
    let mut flow = Flow::new(31, Recovery::NewReno, false, Workload::Long);
    for milliseconds in [1, 50, 333, 3000] {
        flow.run(milliseconds);
        let accounts: Vec<_> = flow.simulation.all_accounts().collect();
        let [link, delay, back, left, right, right_back, left_back] = accounts[..] else {
            panic!("found {} accounts, expected those of a dumbbell", accounts.len());
        };
        for [(_, before), (name, behind)] in
            [[left, link], [link, delay], [delay, right], [right_back, back], [back, left_back]]
        {
            assert_eq!(before.left, behind.entered, "{name} after {milliseconds} ms");
        }
        for (name, account) in [left, link, delay, right, right_back, back, left_back] {
            let left = account.left + account.all_dropped() + account.waiting.packets;
            assert_eq!(account.entered, left, "{name} after {milliseconds} ms");
        }
        assert_eq!(left.1.entered, flow.sender().counters().sent);
    }
}

/// A window in each round-trip time, doubled each time: 2^n - 1 segments after n of them.
#[test]
fn slow_start_doubles_in_each_round_trip() {
    // RFC 5681, section 3.1.
    let mut flow = Flow::new(1000, Recovery::NewReno, false, Workload::Long);
    for round in 1..=5u64 {
        flow.run(round * 100 + 20);
        assert_eq!(flow.sender().acknowledged(), (1 << round) - 1, "after {round} round-trip times");
        assert_eq!(flow.sender().congestion_window(), f64::from(1 << round));
    }
}

/// A paced sender sends window(t)/RTT and hears of it a round-trip time later, so that the window grows by window(t - RTT) in each: e^x with x = e^-x, 1.763 in a round-trip time.
#[test]
fn paced_slow_start_grows_by_its_closed_form() {
    let mut flow = Flow::new(1000, Recovery::NewReno, true, Workload::Long);
    let mut windows = Vec::new();
    for round in 1..=8u64 {
        flow.run(round * 100);
        windows.push(flow.sender().congestion_window());
    }
    assert!(windows[7] < PIPE, "the pipe is not full: {windows:?}");
    let factor = (windows[7] / windows[4]).cbrt();
    assert!((factor / 1.763 - 1.0).abs() < 0.03, "{factor}: {windows:?}");
}

/// Two segments arrive for each acknowledgment, at four times the bottleneck's rate at most: half of each burst waits, so a buffer of B overflows at a window of 2 B.
#[test]
fn the_first_loss_of_reno_is_at_twice_the_buffer_and_that_of_paced_reno_later() {
    let buffer = 31; // a quarter of the pipe
    let window_at_loss = |is_paced| {
        let mut flow = Flow::new(buffer, Recovery::Reno, is_paced, Workload::Long);
        let (mut time, mut window) = (0, 0.0);
        while flow.bottleneck().all_dropped() == 0 {
            window = flow.sender().congestion_window();
            time += 1;
            flow.run(time);
        }
        window
    };
    let (plain, paced) = (window_at_loss(false), window_at_loss(true));
    assert!((plain / (2.0 * buffer as f64) - 1.0).abs() < 0.1, "{plain}");
    assert!(paced > PIPE, "{paced}: the pipe is full when a paced flow loses first");
}

/// In congestion avoidance the window grows by one in a round-trip time until pipe and buffer are full, and is halved. With a buffer of one pipe the link is always
/// busy, and between two losses 3/8 W^2 segments are delivered (Mathis and others, 1997).
#[test]
fn the_saw_tooth_has_its_closed_form() {
    let buffer = 125;
    let mut flow = Flow::new(buffer, Recovery::NewReno, false, Workload::Long);
    // Slow start and its losses are over, for which the timer may have been needed (RFC 6582, section 4).
    flow.run(60_000);
    let timeouts = flow.sender().counters().timeouts;
    let (mut peaks, mut troughs, mut delivered) = (Vec::new(), Vec::new(), Vec::new());
    let (mut last, mut recoveries) = (flow.sender().congestion_window(), flow.sender().counters().recoveries);
    for step in 0..400_000 {
        flow.run(60_000 + step);
        let sender = flow.sender();
        if sender.counters().recoveries > recoveries {
            recoveries = sender.counters().recoveries;
            peaks.push(last);
            troughs.push(sender.congestion_window());
            delivered.push(sender.acknowledged() as f64);
        }
        last = sender.congestion_window();
    }
    assert_eq!(flow.sender().counters().timeouts, timeouts);
    assert!(peaks.len() > 10, "{peaks:?}");
    let full = PIPE + buffer as f64;
    for (peak, trough) in peaks.iter().zip(&troughs) {
        // One is being sent; it takes a round-trip time to learn of a loss, in which the window grows by one more.
        assert!((peak - full).abs() < 3.0, "{peak}, expected {full}");
        assert!((trough - peak / 2.0).abs() < 1.0, "{trough} after {peak}");
    }
    for pair in delivered.windows(2) {
        let (found, expected) = (pair[1] - pair[0], 3.0 / 8.0 * full * full);
        assert!((found / expected - 1.0).abs() < 0.03, "{found} segments between two losses, expected {expected}");
    }
    // The link was never idle: 340 s at 1250 packets a second.
    let before = flow.sender().acknowledged();
    flow.run(60_000 + 400_000 + 100_000);
    let found = (flow.sender().acknowledged() - before) as f64;
    assert!((found / 125_000.0 - 1.0).abs() < 0.003, "{found} in 100 s");
}

/// Every segment of a flow of fixed size arrives whatever is lost, by each way of repairing losses.
#[test]
fn a_flow_of_fixed_size_ends() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Selective] {
        for is_paced in [false, true] {
            let mut flow = Flow::new(10, recovery, is_paced, once(5_000));
            assert_eq!(flow.run(1_000_000), Stopped::Quiet, "{recovery:?}, paced {is_paced}");
            let sender = flow.sender();
            assert!(sender.is_done() && sender.acknowledged() == 5_000 && sender.in_flight() == 0, "{recovery:?}");
            let account = flow.bottleneck();
            assert!(account.all_dropped() > 0, "nothing was lost, so nothing was tested");
            // What was sent again is what was dropped, and what a timeout took for lost without need.
            assert!(sender.counters().retransmitted >= account.all_dropped());
            if recovery == Recovery::Selective && sender.counters().timeouts == 0 {
                assert_eq!(sender.counters().retransmitted, account.all_dropped());
            }
        }
    }
}

/// The same again is the same, and a budget ends what would go on.
#[test]
fn a_simulation_can_be_repeated_and_bounded() {
    let run = || {
        let mut flow = Flow::new(31, Recovery::Selective, true, Workload::Long);
        flow.run(30_000);
        (flow.sender().counters(), flow.sender().congestion_window().to_bits(), flow.simulation.handled())
    };
    assert_eq!(run(), run());
    let mut flow = Flow::new(31, Recovery::Selective, true, Workload::Long);
    assert_eq!(flow.simulation.run_until(Time::from_nanos(u64::MAX), 10_000), Stopped::Budget);
    assert_eq!(flow.simulation.handled(), 10_000);
}
