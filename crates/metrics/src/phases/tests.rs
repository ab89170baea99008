//! Flows whose numbers before and after the boundary are known on paper.

use super::*;

const THRESHOLD: Duration = Duration::from_nanos(100_000);
const MILLISECOND: u64 = 1_000_000;
const FRAME: u32 = 1_250;

fn loss(declared_ns: u64) -> FirstLoss {
    FirstLoss { number: 7, sent: Time::from_nanos(2 * MILLISECOND), declared: Time::from_nanos(declared_ns) }
}

/// Ten trains of 20 packets, 10 µs apart, one every 10 ms from 1 ms on.
fn trains_of_20(meter: &mut PhaseMeter) {
    for train in 0..10 {
        for packet in 0..20 {
            let time = MILLISECOND + train * 10 * MILLISECOND + packet * 10_000;
            meter.on_packet(Time::from_nanos(time), FRAME, 1_200);
        }
    }
}

/// 500 packets, 1 ms apart, from 200 ms on.
fn single_packets(meter: &mut PhaseMeter) {
    for packet in 0..500 {
        meter.on_packet(Time::from_nanos((200 + packet) * MILLISECOND), FRAME, 1_200);
    }
}

fn finished(meter: PhaseMeter) -> RunMetrics {
    let mut run = RunMetrics::empty();
    meter.finish(&mut run);
    run
}

#[test]
fn each_phase_has_the_numbers_of_its_own_packets() {
    let mut meter = PhaseMeter::new(THRESHOLD);
    trains_of_20(&mut meter);
    meter.on_loss(loss(150 * MILLISECOND));
    single_packets(&mut meter);
    let run = finished(meter);
    assert_eq!(run.metrics.slow_start_end_ns, Some(149 * MILLISECOND), "from the first packet, which is at 1 ms");
    let slow_start = &run.metrics.slow_start;
    assert_eq!((slow_start.packets_sent, slow_start.train_max_packets), (Some(200), Some(20)));
    assert_eq!(slow_start.duration_ns, Some(90 * MILLISECOND + 190_000));
    assert_eq!(slow_start.gap_share_below_100us, Some(190.0 / 199.0));
    assert_eq!(slow_start.gap_median_ns, Some(10_000));
    assert_eq!((slow_start.train_share_of_packets_1, slow_start.train_share_of_packets_le_5), (Some(0.0), Some(0.0)));
    assert_eq!((slow_start.burst_max_bytes, slow_start.burst_mean_bytes), (Some(25_000), Some(25_000.0)));
    // 20 packets in any millisecond that holds a train; 200 in 90.19 ms.
    assert!((slow_start.peak_to_mean_1ms.unwrap() - 20.0 / (200.0 / 90.19)).abs() < 1e-9);
    let steady = &run.metrics.steady;
    assert_eq!((steady.packets_sent, steady.train_max_packets), (Some(500), Some(1)));
    assert_eq!(steady.duration_ns, Some(499 * MILLISECOND));
    assert_eq!((steady.gap_share_below_100us, steady.gap_coefficient_of_variation), (Some(0.0), Some(0.0)));
    assert_eq!(steady.train_share_of_packets_1, Some(1.0));
    // 500 packets of 1250 bytes in 499 ms.
    assert!((steady.throughput_bps.unwrap() - 5e6 / 0.499).abs() < 1e-3);
    assert_eq!(
        run.slow_start.unwrap(),
        SlowStart {
            ended_by: SlowStartEnd::FirstLoss,
            evidence: "packet 7, sent at 1.000 ms, was declared lost by the ACK at 149.000 ms".to_owned()
        }
    );
}

#[test]
fn a_train_across_the_boundary_is_cut_and_the_gap_there_counts_in_neither_phase() {
    let mut meter = PhaseMeter::new(THRESHOLD);
    for packet in 0..12 {
        if packet == 4 {
            meter.on_loss(loss(35_000));
        }
        meter.on_packet(Time::from_nanos(packet * 10_000), FRAME, 1_200);
    }
    let metrics = finished(meter).metrics;
    assert_eq!((metrics.slow_start.train_max_packets, metrics.steady.train_max_packets), (Some(4), Some(8)));
    assert_eq!((metrics.slow_start.duration_ns, metrics.steady.duration_ns), (Some(30_000), Some(70_000)));
    assert_eq!(metrics.slow_start.train_share_of_packets_le_5, Some(1.0));
    assert_eq!(metrics.steady.train_share_of_packets_le_5, Some(0.0));
}

#[test]
fn only_the_first_event_ends_slow_start() {
    let mut meter = PhaseMeter::new(THRESHOLD);
    meter.on_packet(Time::from_nanos(0), FRAME, 1_200);
    meter.on_log(Time::from_nanos(MILLISECOND), 3, LoggedEnd::WindowFell);
    meter.on_packet(Time::from_nanos(MILLISECOND), FRAME, 1_200);
    meter.on_loss(loss(5 * MILLISECOND));
    meter.on_retransmission(Time::from_nanos(6 * MILLISECOND));
    meter.on_packet(Time::from_nanos(6 * MILLISECOND), FRAME, 1_200);
    let run = finished(meter);
    assert_eq!(run.metrics.slow_start_end_ns, Some(MILLISECOND));
    assert_eq!((run.metrics.slow_start.packets_sent, run.metrics.steady.packets_sent), (Some(1), Some(2)));
    assert_eq!(run.slow_start.unwrap().ended_by, SlowStartEnd::WindowPeak);
}

#[test]
fn without_a_loss_all_of_it_is_slow_start() {
    let mut meter = PhaseMeter::new(THRESHOLD);
    trains_of_20(&mut meter);
    let run = finished(meter);
    assert_eq!(run.slow_start.unwrap().ended_by, SlowStartEnd::NotSeen);
    assert_eq!((run.metrics.slow_start_end_ns, run.metrics.slow_start.packets_sent), (None, Some(200)));
    assert_eq!(run.metrics.steady, PacingMetrics::default());
}

#[test]
fn a_loss_with_the_last_ack_leaves_nothing_after_slow_start() {
    let mut meter = PhaseMeter::new(THRESHOLD);
    trains_of_20(&mut meter);
    meter.on_loss(loss(150 * MILLISECOND));
    let metrics = finished(meter).metrics;
    assert_eq!(metrics.slow_start_end_ns, Some(149 * MILLISECOND));
    assert_eq!((metrics.slow_start.packets_sent, metrics.steady.packets_sent), (Some(200), None));
}
