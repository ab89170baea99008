//! Drops of a flow that shared its path: those of the other traffic are not counted, and the taps must agree with the rest.

use crate::common::{NAME, copy_of_record};
use quiclab_metrics::RunMetrics;
use quiclab_record::{CrossTrafficSeen, Record, measure::measure_record};
use quiclab_units::Duration;

/// The record's metrics, in which both taps have as many packets, if its queue had dropped `all` packets, and of `sent` packets of another sender all but `received` among them.
fn measured(all: u64, sent: u64, received: u64, is_complete: bool) -> RunMetrics {
    let copy = copy_of_record();
    let folder = copy.path().join(NAME);
    let Record { run, mut observed, .. } = Record::load(&folder).unwrap();
    observed.path.to_client[0].drops.insert("queue_full".to_owned(), all);
    observed.cross_traffic = Some(CrossTrafficSeen {
        packets_sent: sent,
        bytes_sent: 1_000 * sent,
        packets_received: received,
        bytes_received: 1_000 * received,
        retransmissions: None,
        lifetime: Duration::from_millis(100),
        is_complete,
    });
    measure_record(&folder, &run.run, &observed).unwrap()
}

fn about_drops(metrics: &RunMetrics) -> Vec<&str> {
    metrics.warnings.iter().map(|warning| warning.code.as_str()).filter(|code| code.starts_with("drops_")).collect()
}

#[test]
fn what_other_traffic_lost_in_the_queue_is_not_counted() {
    let metrics = measured(4, 10, 6, true);
    assert_eq!((metrics.metrics.drops_packets, about_drops(&metrics)), (Some(0), vec![]));
}

#[test]
fn counters_that_do_not_fit_the_taps_are_a_warning() {
    for (all, received) in [(4, 7), (5, 6)] {
        let metrics = measured(all, 10, received, true);
        assert_eq!((metrics.metrics.drops_packets, about_drops(&metrics)), (Some(1), vec!["drops_disagree"]));
    }
}

#[test]
fn counters_are_not_used_where_other_packets_were_still_on_their_way() {
    let metrics = measured(5, 10, 6, false);
    assert_eq!((metrics.metrics.drops_packets, about_drops(&metrics)), (Some(0), vec!["drops_from_taps"]));
    // Fewer drops than the others alone had.
    let metrics = measured(3, 10, 6, true);
    assert_eq!((metrics.metrics.drops_packets, about_drops(&metrics)), (Some(0), vec!["drops_from_taps"]));
}
