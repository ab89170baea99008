//! The dumbbell of Aggarwal, Savage and Anderson, "Understanding the Performance of TCP Pacing" (INFOCOM 2000).

use quiclab_path::{probability::Probability, queue::Limit};
use quiclab_sim::{
    scenario::{Congestion, Group, Queue, Scenario},
    tcp::{
        congestion::hystart::SlowStart,
        receiver::ReceiverSettings,
        sender::{PacingSettings, Recovery, SenderSettings},
    },
    topology::Hop,
    workload::Workload,
};
use quiclab_units::{Duration, Rate};

/// The study's: 576 bytes, 57 Mbit/s.
pub const PACKET: u32 = 576;
pub const RATE: u64 = 57_000_000;

/// Flows of Reno with a first window of one segment, over hosts' links of this length.
pub fn group(name: &str, flows: u32, is_paced: bool, side_milliseconds: u64, workload: Workload) -> Group {
    Group {
        name: name.to_owned(),
        flows,
        sender: SenderSettings {
            packet_bytes: PACKET,
            recovery: Recovery::Selective,
            pacing: is_paced.then_some(PacingSettings { gain: 1.0, burst: 1 }),
            ..SenderSettings::default()
        },
        congestion: Congestion::Reno { initial_window: 1.0, slow_start: SlowStart::standard(1.0) },
        receiver: ReceiverSettings::default(),
        hops: 0..1,
        side_delays: [Duration::from_millis(side_milliseconds); 2],
        workload,
        begin_within: Duration::from_millis(100),
    }
}

/// Makes a scenario of one hop with a buffer of a quarter of the bandwidth-delay product at 100 ms.
pub fn scenario(groups: Vec<Group>, seconds: u64, seed: u64) -> Scenario {
    Scenario {
        hops: vec![(
            Hop::symmetric(Rate::from_bits_per_second(RATE), Duration::from_millis(40)),
            Queue::DropTail(Limit::Packets(RATE / 8 / 10 / u64::from(PACKET) / 4)),
        )],
        loss: Probability::default(),
        side_rate: Rate::from_bits_per_second(4 * RATE),
        groups,
        duration: Duration::from_secs(seconds),
        interval: Duration::from_secs(1),
        warm_up: Duration::ZERO,
        transfers_begin_by: None,
        seed,
        budget: u64::MAX,
    }
}
