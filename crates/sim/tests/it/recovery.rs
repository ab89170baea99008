//! How senders repair losses, against numbers of other simulations and closed forms.

use quiclab_path::queue::Limit;
use quiclab_sim::{
    measures,
    scenario::{Queue, Scenario},
    tcp::sender::Recovery,
    topology::Hop,
    workload::Workload,
};
use quiclab_units::{Duration, Rate};

use crate::common::{PACKET, group, scenario};

/// One flow at 10 Mbit/s and 100 ms with a buffer of one bandwidth-delay product, for the length of a saw-tooth.
fn one_flow(recovery: Recovery) -> Scenario {
    const RATE: u64 = 10_000_000;
    let mut one = group("flow", 1, false, 5, Workload::Long);
    one.sender.recovery = recovery;
    one.begin_within = Duration::ZERO;
    let buffer = Limit::Packets(RATE / 8 / 10 / u64::from(PACKET));
    Scenario {
        hops: vec![(
            Hop::symmetric(Rate::from_bits_per_second(RATE), Duration::from_millis(40)),
            Queue::DropTail(buffer),
        )],
        side_rate: Rate::from_bits_per_second(4 * RATE),
        duration: Duration::from_millis(21_700),
        ..scenario(vec![one], 1, 1)
    }
}

/// The losses of slow start are repaired by the timer, which sends again what has arrived, and the duplicates that this causes are of no new loss. An independent
/// simulation by RFC 6582 has 0.864 of the link, and 0.363 where recoveries begin by these duplicates.
#[test]
fn duplicates_of_what_a_timeout_sent_again_begin_no_recovery() {
    for recovery in [Recovery::NewReno, Recovery::Reno] {
        let flow = one_flow(recovery);
        let outcome = flow.run().unwrap();
        let counters = outcome.flows[0].counters;
        let share = measures::metrics(&flow, &outcome)["goodput_bps"] / 1e7;
        assert!((share / 0.864 - 1.0).abs() < 0.03, "{recovery:?}: {share} of the link, expected 0.864: {counters:?}");
    }
}
