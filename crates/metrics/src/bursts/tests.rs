//! Trains made so that their cause is known.

use quiclab_units::{Duration, Time};

use super::*;

const THRESHOLD: Duration = Duration::from_nanos(100_000);
const RTT_NS: u64 = 40_000_000;

/// A sender in the middle of a transfer.
struct Sender {
    meter: BurstMeter,
    now_ns: u64,
    last_ns: Option<u64>,
}

impl Sender {
    fn new() -> Sender {
        Sender { meter: BurstMeter::default(), now_ns: 1_000_000_000, last_ns: None }
    }

    fn wait(&mut self, ns: u64) -> &mut Self {
        self.now_ns += ns;
        self
    }

    fn send(&mut self, change: impl FnOnce(&mut SentContext)) -> &mut Self {
        let gap = self.last_ns.map_or(Gap::None, |last| Gap::Of(self.now_ns - last));
        let mut context = SentContext {
            time: Time::from_nanos(self.now_ns),
            gap,
            begins_train: !matches!(gap, Gap::Of(gap) if gap < THRESHOLD.as_nanos()),
            frame_bytes: 1_400,
            bytes_in_flight_before: Some(100_000),
            smoothed_rtt_ns: Some(RTT_NS),
            ..SentContext::default()
        };
        change(&mut context);
        self.meter.on_sent(&context);
        self.last_ns = Some(self.now_ns);
        self
    }

    /// Packets this far apart, the first at once.
    fn train(&mut self, packets: u64, gap_ns: u64, change: impl Fn(u64, &mut SentContext)) -> &mut Self {
        for packet in 0..packets {
            if packet > 0 {
                self.wait(gap_ns);
            }
            self.send(|context| change(packet, context));
        }
        self
    }

    fn ack(&mut self, packets: u64, ends_recovery: bool) -> &mut Self {
        let effect = AckEffect {
            newly_acknowledged_packets: packets,
            newly_acknowledged_bytes: packets * 1_400,
            newly_lost_bytes: 0,
            ends_recovery,
        };
        self.meter.on_packet_of_peer(Time::from_nanos(self.now_ns), effect);
        self
    }

    fn causes(self) -> Vec<BurstCause> {
        let mut run = RunMetrics::empty();
        self.meter.finish(THRESHOLD, &mut run);
        run.distributions.bursts.iter().map(|burst| burst.cause).collect()
    }
}

#[test]
fn the_initial_window_is_start_up() {
    let mut sender = Sender::new();
    sender.train(10, 1_000, |_, context| context.before_first_acknowledgment = true);
    assert_eq!(sender.causes(), [BurstCause::StartUp]);
}

#[test]
fn five_packets_are_no_burst_and_six_are() {
    let mut sender = Sender::new();
    sender.train(5, 1_000, |_, _| {}).wait(1_000_000).train(6, 1_000, |_, _| {});
    let mut run = RunMetrics::empty();
    sender.meter.finish(THRESHOLD, &mut run);
    assert_eq!(run.distributions.bursts.len(), 1);
    assert_eq!(run.metrics.burst_share_of_packets, Some(6.0 / 11.0));
}

#[test]
fn packets_planned_for_one_time_are_a_batch() {
    let mut sender = Sender::new();
    sender.ack(10, false).wait(10_000);
    sender.train(10, 30_000, |_, context| context.planned_ns = Some(7));
    assert_eq!(sender.causes(), [BurstCause::Batch]);
}

#[test]
fn packets_planned_apart_and_sent_together_are_a_late_timer() {
    for (planned_gap_ns, cause) in [(100_000, BurstCause::LateTimer), (99_999, BurstCause::Unknown)] {
        let mut sender = Sender::new();
        // Another pair back to back, so that these gaps are not.
        sender.train(2, 100, |_, _| {}).wait(1_000_000);
        sender.train(10, 30_000, |packet, context| context.planned_ns = Some(packet as i64 * planned_gap_ns));
        assert_eq!(sender.causes(), [cause]);
    }
}

#[test]
fn back_to_back_without_a_large_ack_is_a_batch() {
    let mut sender = Sender::new();
    sender.ack(2, false).wait(10_000);
    sender.train(10, 1_200, |_, _| {});
    assert_eq!(sender.causes(), [BurstCause::Batch]);
}

#[test]
fn an_ack_that_frees_half_of_a_train_explains_it_and_less_does_not() {
    // In slow start n packets acknowledged let 2 n go; one more may have been allowed before.
    for (acknowledged, cause) in [(6, BurstCause::Ack), (5, BurstCause::Batch)] {
        let mut sender = Sender::new();
        sender.ack(acknowledged, false).wait(10_000);
        sender.train(13, 1_200, |_, _| {});
        assert_eq!(sender.causes(), [cause], "{acknowledged}");
    }
}

#[test]
fn an_ack_counts_for_a_millisecond() {
    for (wait_ns, cause) in [(1_000_000, BurstCause::Ack), (1_000_001, BurstCause::Batch)] {
        let mut sender = Sender::new();
        sender.ack(10, false).wait(wait_ns);
        sender.train(10, 1_200, |_, _| {});
        assert_eq!(sender.causes(), [cause]);
    }
}

#[test]
fn the_end_of_a_recovery_is_told_from_other_acks() {
    let mut sender = Sender::new();
    sender.ack(10, true).wait(10_000);
    sender.train(10, 1_200, |_, _| {});
    assert_eq!(sender.causes(), [BurstCause::RecoveryEnd]);
}

#[test]
fn a_sender_that_had_nothing_to_send_made_a_pause() {
    for (pause_ns, cause) in [(RTT_NS / 2, BurstCause::ApplicationPause), (RTT_NS / 2 - 1, BurstCause::Batch)] {
        let mut sender = Sender::new();
        sender.send(|_| {}).wait(pause_ns);
        sender.train(10, 1_200, |packet, context| {
            if packet == 0 {
                context.bytes_in_flight_before = Some(0);
            }
        });
        assert_eq!(sender.causes(), [cause]);
    }
}

#[test]
fn packets_that_dribble_out_for_no_reason_are_unknown() {
    let mut sender = Sender::new();
    sender.train(2, 100, |_, _| {}).wait(1_000_000);
    sender.train(10, 50_000, |_, _| {});
    assert_eq!(sender.causes(), [BurstCause::Unknown]);
}

#[test]
fn what_an_ack_shows_to_be_lost_frees_window_too() {
    let mut sender = Sender::new();
    let effect = AckEffect {
        newly_acknowledged_packets: 1,
        newly_acknowledged_bytes: 1_400,
        newly_lost_bytes: 14_000,
        ends_recovery: false,
    };
    sender.meter.on_packet_of_peer(Time::from_nanos(sender.now_ns), effect);
    sender.wait(10_000).train(13, 1_200, |_, _| {});
    assert_eq!(sender.causes(), [BurstCause::Ack]);
}

#[test]
fn even_gaps_up_to_line_rate_are_a_batch_and_longer_ones_are_not() {
    for (gap_ns, cause) in [(15_000, BurstCause::Batch), (15_001, BurstCause::Unknown)] {
        let mut sender = Sender::new();
        sender.train(10, gap_ns, |_, _| {});
        assert_eq!(sender.causes(), [cause]);
    }
}

/// Trains as a full bucket makes them: a pause, an ACK of 40 packets, `packets` packets at once, and 1 ms later one more
/// without an ACK.
fn bucket_trains(sender: &mut Sender, packets: u64, trains: u64) {
    // A train without a packet before it has no pause.
    if sender.last_ns.is_none() {
        sender.send(|_| {});
    }
    for _ in 0..trains {
        sender.wait(5_000_000).ack(40, false).wait(10_000);
        sender.train(packets, 26_000, |_, _| {}).wait(1_000_000).send(|_| {});
    }
}

fn bucket(sender: Sender) -> Option<u64> {
    let mut run = RunMetrics::empty();
    sender.meter.finish(THRESHOLD, &mut run);
    run.metrics.pacing_bucket_packets
}

#[test]
fn five_trains_of_one_length_show_a_bucket_and_four_do_not() {
    for (trains, cause) in [(5, BurstCause::Bucket), (4, BurstCause::Ack)] {
        let mut sender = Sender::new();
        bucket_trains(&mut sender, 10, trains);
        assert_eq!(sender.causes(), vec![cause; trains as usize]);
    }
}

#[test]
fn a_bucket_has_the_length_of_the_trains_that_emptied_it() {
    for packets in [3, 10, 16] {
        let mut sender = Sender::new();
        bucket_trains(&mut sender, packets, 6);
        assert_eq!(bucket(sender), Some(packets));
    }
    let mut sender = Sender::new();
    bucket_trains(&mut sender, 2, 6);
    assert_eq!(bucket(sender), None, "two packets are ordinary pacing");
}

#[test]
fn one_longer_train_in_twenty_is_an_exception_and_more_are_not_a_bucket() {
    for (trains, found) in [(20, Some(10)), (19, None)] {
        let mut sender = Sender::new();
        bucket_trains(&mut sender, 10, trains);
        bucket_trains(&mut sender, 14, 1);
        assert_eq!(bucket(sender), found, "{trains}");
    }
}

/// quinn hands over ten segments at most, whatever its bucket holds.
#[test]
fn trains_as_long_as_batches_at_line_rate_show_no_bucket() {
    for (gap_ns, found) in [(15_001, Some(10)), (15_000, None)] {
        let mut sender = Sender::new();
        sender.send(|_| {});
        for _ in 0..6 {
            sender.wait(5_000_000).ack(40, false).wait(10_000);
            sender.train(10, gap_ns, |_, _| {}).wait(1_000_000).send(|_| {}).wait(8_000).send(|_| {});
        }
        assert_eq!(bucket(sender), found, "{gap_ns}");
    }
}

#[test]
fn a_bucket_s_length_is_more_common_than_one_packet_less() {
    for (shorter, found) in [(5, Some(10)), (6, None)] {
        let mut sender = Sender::new();
        bucket_trains(&mut sender, 9, shorter);
        bucket_trains(&mut sender, 10, 6);
        assert_eq!(bucket(sender), found, "{shorter}");
    }
}

#[test]
fn trains_that_the_window_ended_show_no_bucket() {
    let mut sender = Sender::new();
    for _ in 0..6 {
        // The next packet leaves behind an ACK only.
        sender.wait(5_000_000).ack(10, false).wait(10_000).train(10, 26_000, |_, _| {}).wait(1_000_000);
        sender.ack(1, false).send(|_| {});
    }
    assert_eq!(bucket(sender), None);
}

#[test]
fn two_packets_for_each_acknowledged_are_no_bucket() {
    let mut sender = Sender::new();
    for _ in 0..50 {
        sender.wait(1_000_000).ack(5, false).wait(10_000).train(10, 26_000, |_, _| {});
    }
    let causes = sender.causes();
    assert_eq!(causes, vec![BurstCause::Ack; 50]);
}

#[test]
fn trains_at_even_distances_show_no_bucket() {
    // A timer of 5 ms, an application that writes ten packets at a time, GSO batches of a busy machine. The pause before a
    // train has to be twice the wait behind it.
    for (wait_ns, found) in [(2_500_000, Some(10)), (2_500_001, None), (5_000_000, None)] {
        let mut sender = Sender::new();
        for _ in 0..6 {
            sender.wait(5_000_000).train(10, 26_000, |_, _| {}).wait(wait_ns).send(|_| {});
        }
        assert_eq!(bucket(sender), found, "{wait_ns}");
    }
}

#[test]
fn a_train_of_another_length_or_one_that_the_window_ended_did_not_empty_the_bucket() {
    let mut sender = Sender::new();
    bucket_trains(&mut sender, 10, 10);
    bucket_trains(&mut sender, 8, 1);
    sender.wait(5_000_000).ack(10, false).wait(10_000).train(10, 26_000, |_, _| {});
    let mut expected = vec![BurstCause::Bucket; 10];
    expected.extend([BurstCause::Ack; 2]);
    assert_eq!(sender.causes(), expected);
}

#[test]
fn what_follows_half_an_rtt_later_did_not_wait_for_the_pacer() {
    for (wait_ns, found) in [(RTT_NS / 2 - 1, Some(10)), (RTT_NS / 2, None)] {
        let mut sender = Sender::new();
        for _ in 0..6 {
            sender.wait(RTT_NS).ack(40, false).wait(10_000).train(10, 26_000, |_, _| {}).wait(wait_ns).send(|_| {});
        }
        assert_eq!(bucket(sender), found, "{wait_ns}");
    }
}

#[test]
fn a_small_packet_or_a_repeated_one_behind_a_train_shows_no_room_in_the_window() {
    for (frame_bytes, is_retransmission, found) in [(700, false, Some(10)), (699, false, None), (1_400, true, None)] {
        let mut sender = Sender::new();
        for _ in 0..6 {
            sender.wait(5_000_000).ack(40, false).wait(10_000).train(10, 26_000, |_, _| {}).wait(1_000_000);
            sender.send(|context| {
                context.frame_bytes = frame_bytes;
                context.is_retransmission = is_retransmission;
            });
        }
        assert_eq!(bucket(sender), found, "{frame_bytes}");
    }
}

#[test]
fn without_acks_no_bucket_is_found() {
    let mut sender = Sender::new();
    for _ in 0..6 {
        sender.wait(5_000_000).train(10, 26_000, |_, context| context.bytes_in_flight_before = None).wait(1_000_000);
        sender.send(|context| context.bytes_in_flight_before = None);
    }
    assert_eq!(bucket(sender), None);
}

#[test]
fn each_phase_has_the_causes_of_its_own_packets() {
    let mut run = RunMetrics::empty();
    run.slow_start = Some(crate::slow_start::SlowStart {
        ended_by: crate::slow_start::SlowStartEnd::FirstLoss,
        evidence: String::new(),
    });
    let mut sender = Sender::new();
    // Ten packets of an ACK, of which the last seven are after slow start, and a batch of eight after it.
    sender.ack(10, false).wait(10_000).train(10, 1_200, |packet, context| context.is_steady = packet >= 3);
    sender.wait(5_000_000).train(8, 1_200, |_, context| context.is_steady = true);
    sender.wait(5_000_000).send(|context| context.is_steady = true);
    sender.meter.finish(THRESHOLD, &mut run);
    let metrics = &run.metrics;
    assert_eq!(metrics.burst_share_of_packets, Some(18.0 / 19.0));
    assert_eq!((metrics.burst_share_ack, metrics.burst_share_batch), (Some(10.0 / 18.0), Some(8.0 / 18.0)));
    // Three packets are no burst.
    assert_eq!((metrics.slow_start.burst_share_of_packets, metrics.slow_start.burst_share_ack), (Some(0.0), None));
    assert_eq!(metrics.steady.burst_share_of_packets, Some(15.0 / 16.0));
    assert_eq!(
        (metrics.steady.burst_share_ack, metrics.steady.burst_share_batch),
        (Some(7.0 / 15.0), Some(8.0 / 15.0))
    );
}

#[test]
fn without_phases_the_whole_flow_alone_has_causes() {
    let mut run = RunMetrics::empty();
    let mut sender = Sender::new();
    sender.train(8, 1_200, |_, _| {});
    sender.meter.finish(THRESHOLD, &mut run);
    assert_eq!(run.metrics.burst_share_batch, Some(1.0));
    assert_eq!(run.metrics.slow_start, crate::pacing::PacingMetrics::default());
}
