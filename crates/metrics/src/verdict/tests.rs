use super::*;
use crate::bursts::{Burst, BurstCause};
use crate::output::{RunMetrics, Withheld};
use crate::slow_start::{SlowStart, SlowStartEnd};

/// A run and its packets of which nothing is remarkable, though everything is known.
fn quiet() -> (RunMetrics, PacketFacts) {
    let mut run = RunMetrics::empty();
    let metrics = &mut run.metrics;
    metrics.packets_sent = Some(1000);
    metrics.duration_ns = Some(2_000_000_000);
    metrics.acks_received = Some(500);
    metrics.burst_share_of_packets = Some(0.049);
    metrics.burst_share_ack = Some(0.9);
    metrics.burst_share_batch = Some(0.0);
    metrics.steady.burst_share_of_packets = Some(0.049);
    metrics.cpu_busy_share = Some(0.6);
    metrics.burst_share_late_timer = Some(0.0);
    metrics.burst_share_bucket = Some(0.0);
    metrics.server_receive_buffer_drops = Some(0);
    metrics.client_receive_buffer_drops = Some(0);
    metrics.handshake_amplification_excess_bytes = Some(0);
    metrics.handshake_amplification_blocked_ns = Some(0);
    metrics.handshake_client_spurious_retransmissions = Some(0);
    metrics.handshake_server_spurious_retransmissions = Some(0);
    metrics.rtt_min_ns = Some(40_000_000);
    metrics.congestion_window_reductions = Some(4);
    metrics.congestion_window_restorations = Some(1);
    metrics.packets_lost = Some(100);
    metrics.packets_lost_spuriously = Some(2);
    metrics.goodput_wire_bps = Some(30e6);
    metrics.goodput_process_bps = Some(20.1e6);
    metrics.slow_start_end_ns = Some(500);
    run.slow_start = Some(SlowStart { ended_by: SlowStartEnd::FirstLoss, evidence: String::new() });
    // A tenth of the samples is just below 60 ms.
    run.distributions.rtt_ns = vec![(42_000_000, 9), (63_599_000, 1), (90_000_000, 90)];
    let packets = PacketFacts {
        queue: Some(QueueFacts {
            longest_ns: 4_000_001,
            drops_ns: (501..=540).collect(),
            waits_at_drops_ns: [vec![2_000_000; 19], vec![2_000_001; 21]].concat(),
            at_limit: vec![true; 40],
        }),
        blocked_ns: Some(vec![1, 2]),
        idle_ns: Some(vec![(7, 100_000_000), (900, 99_000_000)]),
    };
    (run, packets)
}

fn found(run: &RunMetrics, packets: &PacketFacts) -> Vec<Verdict> {
    let verdicts = judge(&Evidence { run, packets: Some(packets) });
    assert_eq!(verdicts.not_judged, []);
    verdicts.found
}

/// The one verdict after a change to the quiet run.
fn only(change: impl FnOnce(&mut RunMetrics, &mut PacketFacts)) -> Verdict {
    let (mut run, mut packets) = quiet();
    change(&mut run, &mut packets);
    let mut found = found(&run, &packets);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn just_inside_every_bound_nothing_is_said() {
    let (run, packets) = quiet();
    assert_eq!(found(&run, &packets), []);
}

#[test]
fn a_run_of_which_nothing_is_known_gets_no_verdict_and_a_reason_for_each_rule() {
    let verdicts = judge(&Evidence { run: &RunMetrics::empty(), packets: None });
    assert_eq!(verdicts.found, []);
    let named: Vec<_> = verdicts.not_judged.iter().map(|one| one.rule).collect();
    assert_eq!(named, verdict_rules().collect::<Vec<_>>());
}

#[test]
fn the_reason_is_that_for_which_the_metric_was_withheld() {
    let (mut run, packets) = quiet();
    run.metrics.congestion_window_restorations = None;
    run.withheld = vec![Withheld { reason: "no qlog".into(), metrics: vec!["congestion_window_restorations".into()] }];
    let verdicts = judge(&Evidence { run: &run, packets: Some(&packets) });
    assert_eq!(verdicts.not_judged[0].rule, "window_restored");
    assert!(verdicts.not_judged[0].reason.ends_with("no qlog"));
}

#[test]
fn trains_behind_acks_name_how_often_the_client_acknowledges() {
    let verdict = only(|run, _| {
        run.metrics.burst_share_of_packets = Some(0.17);
        run.metrics.acks_received = Some(100);
        let burst = |start_ns, packets, cause| Burst { start_ns, packets, bytes: 1, cause, evidence: String::new() };
        run.distributions.bursts = vec![burst(5, 9, BurstCause::Ack), burst(70, 12, BurstCause::Ack)];
    });
    assert_eq!((verdict.rule, verdict.at_ns), ("ack_trains", Some(70)));
    let text = "17 % of the packets leave in trains of more than 5, 90 % of them behind acknowledgments; the client \
                sends an acknowledgment for every 10.0 packets.";
    assert_eq!(verdict.text, text);
}

#[test]
fn batches_name_the_length_that_most_packets_are_in() {
    let verdict = only(|run, _| {
        run.metrics.burst_share_of_packets = Some(0.9);
        run.metrics.burst_share_ack = Some(0.49);
        run.metrics.burst_share_batch = Some(0.5);
        run.distributions.trains = vec![(1, 500), (10, 30), (16, 20)];
    });
    assert_eq!(verdict.rule, "batches");
    assert!(verdict.text.starts_with("Batches of 16: 90 % of the packets"), "{}", verdict.text);
}

#[test]
fn pacing_is_judged_after_slow_start_alone() {
    let verdict = only(|run, _| run.metrics.steady.burst_share_of_packets = Some(0.5));
    assert_eq!((verdict.rule, verdict.at_ns), ("not_paced", Some(500)));
}

#[test]
fn a_busy_host_is_named_with_its_share() {
    let verdict = only(|run, _| run.metrics.cpu_busy_share = Some(0.86));
    assert_eq!(verdict.text, "The host, not the stack: its CPU was busy for 86 % of the transfer.");
}

#[test]
fn a_handshake_that_the_amplification_limit_blocked_names_the_time() {
    let verdict = only(|run, _| run.metrics.handshake_amplification_blocked_ns = Some(40_100_000));
    assert!(verdict.text.starts_with("The amplification limit blocked the handshake for 40.1 ms"));
}

#[test]
fn a_window_that_is_restored_twice_is_restored_again_and_again() {
    let verdict = only(|run, _| run.metrics.congestion_window_restorations = Some(2));
    assert_eq!(verdict.rule, "window_restored");
}

#[test]
fn losses_that_are_taken_back_must_be_many_and_a_share() {
    let (mut run, packets) = quiet();
    run.metrics.packets_lost_spuriously = Some(11);
    assert_eq!(found(&run, &packets), []);
    let verdict = only(|run, _| run.metrics.packets_lost_spuriously = Some(12));
    assert_eq!(verdict.rule, "spurious_losses");
}

/// Drops at these times, at a full queue or not.
fn drops_at(packets: &mut PacketFacts, times: &[(u64, bool)]) {
    let (drops_ns, at_limit): (Vec<u64>, Vec<bool>) = times.iter().copied().unzip();
    let waits_at_drops_ns = vec![4_000_001; drops_ns.len()];
    packets.queue = Some(QueueFacts { longest_ns: 4_000_001, drops_ns, waits_at_drops_ns, at_limit });
}

#[test]
fn drops_of_a_full_queue_before_the_end_of_slow_start_are_its_overflow() {
    let full = |times: &[u64]| times.iter().map(|time| (*time, true)).collect::<Vec<_>>();
    let verdict = only(|_, packets| drops_at(packets, &full(&[400, 401, 402, 403, 500, 501, 502, 503, 504, 505])));
    assert_eq!((verdict.rule, verdict.at_ns), ("slow_start_overflow", Some(400)));
    assert!(verdict.text.contains("dropped 5 packets there while it was full, 50 % of all 10"), "{}", verdict.text);
    let (run, mut packets) = quiet();
    drops_at(&mut packets, &full(&[400, 401, 402, 403, 501]));
    assert_eq!(found(&run, &packets), []);
}

#[test]
fn drops_of_a_queue_that_is_not_full_are_no_overflow() {
    let times = |others: u64| [vec![(400, true); 5], (0..others).map(|by| (410 + by, false)).collect()].concat();
    let (run, mut packets) = quiet();
    drops_at(&mut packets, &times(6));
    assert_eq!(found(&run, &packets), []);
    assert_eq!(only(|_, packets| drops_at(packets, &times(5))).at_ns, Some(400));
    packets.queue = None;
    let verdicts = judge(&Evidence { run: &run, packets: Some(&packets) });
    assert!(verdicts.not_judged.iter().any(|one| one.rule == "slow_start_overflow"), "{:?}", verdicts.not_judged);
}

#[test]
fn one_datagram_that_a_full_receive_buffer_lost_is_the_hosts() {
    let verdict = only(|run, _| run.metrics.client_receive_buffer_drops = Some(1));
    assert_eq!(verdict.rule, "receive_buffer_drops");
    assert!(verdict.text.contains("0 at the server, 1 at the client"), "{}", verdict.text);
}

#[test]
fn one_byte_above_the_amplification_limit_is_a_fault_of_the_server() {
    let verdict = only(|run, _| run.metrics.handshake_amplification_excess_bytes = Some(1));
    assert_eq!((verdict.rule, verdict.at_ns), ("amplification_exceeded", Some(0)));
}

#[test]
fn trains_that_were_planned_apart_or_empty_a_bucket_are_named_so() {
    for (rule, cause) in [("plan_not_kept", BurstCause::LateTimer), ("full_bucket", BurstCause::Bucket)] {
        let change = |share: f64, bursty: f64| {
            move |run: &mut RunMetrics, _: &mut PacketFacts| {
                run.metrics.burst_share_of_packets = Some(bursty);
                run.metrics.burst_share_ack = Some(0.49);
                *match cause {
                    BurstCause::Bucket => &mut run.metrics.burst_share_bucket,
                    _ => &mut run.metrics.burst_share_late_timer,
                } = Some(share);
                let burst = |start_ns, packets| Burst { start_ns, packets, bytes: 1, cause, evidence: String::new() };
                run.distributions.bursts = vec![burst(5, 9), burst(70, 12)];
            }
        };
        let verdict = only(change(0.5, 0.05));
        assert_eq!((verdict.rule, verdict.at_ns), (rule, Some(70)));
        for (share, bursty) in [(0.499, 0.05), (0.5, 0.0499)] {
            let (mut run, mut packets) = quiet();
            change(share, bursty)(&mut run, &mut packets);
            assert_eq!(found(&run, &packets), []);
        }
    }
}

#[test]
fn a_sender_that_flow_control_blocks_is_not_limited_by_its_application() {
    let verdict = only(|_, packets| {
        packets.blocked_ns = Some(vec![4, 8, 9]);
        packets.idle_ns = Some(vec![(7, 1_500_000_000)]);
    });
    assert_eq!((verdict.rule, verdict.at_ns), ("flow_control_limited", Some(4)));
}

#[test]
fn a_tenth_of_the_time_with_nothing_in_flight_is_the_applications() {
    let verdict = only(|_, packets| packets.idle_ns = Some(vec![(7, 50_000_000), (900, 150_000_000)]));
    assert_eq!((verdict.rule, verdict.at_ns), ("application_limited", Some(900)));
}

#[test]
fn a_sender_that_has_sent_all_for_half_of_the_time_is_limited_by_its_application() {
    let verdict = only(|run, _| run.metrics.nothing_to_send_share = Some(0.5));
    assert_eq!((verdict.rule, verdict.at_ns), ("application_limited", None));
    assert!(verdict.text.contains("not congestion: for 50 % of it"), "{}", verdict.text);
    let (mut run, packets) = quiet();
    run.metrics.nothing_to_send_share = Some(0.499);
    assert_eq!(found(&run, &packets), []);
}

#[test]
fn responses_that_leave_at_once_are_not_paced_although_slow_start_has_no_end() {
    let rules = |share: f64, nothing_to_send: f64| {
        let (mut run, packets) = quiet();
        run.metrics.steady.burst_share_of_packets = None;
        run.metrics.nothing_to_send_share = Some(nothing_to_send);
        run.metrics.burst_share_of_packets = Some(share);
        run.metrics.burst_share_ack = Some(0.49);
        let verdicts = judge(&Evidence { run: &run, packets: Some(&packets) });
        let found: Vec<_> = verdicts.found.iter().map(|verdict| verdict.rule).collect();
        (found, verdicts.not_judged.len())
    };
    assert_eq!(rules(0.5, 0.5), (vec!["application_limited", "not_paced"], 0));
    assert_eq!(rules(0.499, 0.5), (vec!["application_limited"], 0));
    assert_eq!(rules(0.5, 0.499), (vec![], 1), "slow start goes on for another reason");
}

#[test]
fn a_client_that_lives_a_second_longer_waits_for_something() {
    let verdict = only(|run, _| run.metrics.goodput_process_bps = Some(20e6));
    assert_eq!(verdict.rule, "idle_end_in_goodput");
    assert!(verdict.text.starts_with("The client lives 1.0 s longer"), "{}", verdict.text);
}

/// The queue of the quiet run with another longest wait.
fn drops(packets: &mut PacketFacts, longest_ns: u64, waits_ns: &[u64]) {
    let drops_ns = (0..waits_ns.len() as u64).map(|place| 600 + place).collect();
    let at_limit = vec![false; waits_ns.len()];
    packets.queue = Some(QueueFacts { longest_ns, drops_ns, waits_at_drops_ns: waits_ns.to_vec(), at_limit });
}

#[test]
fn half_of_the_drops_without_a_full_queue_are_random() {
    let verdict = only(|_, packets| drops(packets, 10_000_000, &[9_000_000, 5_000_000, 4_999_999, 0]));
    assert_eq!((verdict.rule, verdict.at_ns), ("random_loss", Some(602)));
    let (run, mut packets) = quiet();
    for waits in [&[5_000_000, 5_000_000, 4_999_999][..], &[0, 0]] {
        drops(&mut packets, 10_000_000, waits);
        assert_eq!(found(&run, &packets), []);
    }
}

#[test]
fn a_queue_of_a_tenth_of_the_rtt_that_drops_is_short() {
    let full = |longest: u64, count: usize| {
        move |_: &mut RunMetrics, packets: &mut PacketFacts| drops(packets, longest, &vec![longest; count])
    };
    let verdict = only(full(4_000_000, 5));
    assert_eq!((verdict.rule, verdict.at_ns), ("short_queue", Some(600)));
    assert!(
        verdict.text.contains("longer than 4.0 ms, 10 % of the smallest RTT, and it dropped 5 packets (0.5 %)"),
        "{}",
        verdict.text
    );
    let (mut run, mut packets) = quiet();
    for (longest, count) in [(4_000_001, 5), (4_000_000, 4)] {
        full(longest, count)(&mut run, &mut packets);
        assert_eq!(found(&run, &packets), []);
    }
}

#[test]
fn a_queue_in_which_nine_of_ten_samples_wait_half_an_rtt_stands() {
    let verdict = only(|run, _| run.distributions.rtt_ns = vec![(42_000_000, 9), (63_600_000, 1), (90_000_000, 90)]);
    assert_eq!(verdict.rule, "standing_queue");
    assert!(verdict.text.contains("above 60.0 ms, 1.5 times the smallest one (40.0 ms)"), "{}", verdict.text);
    // Less than 5 ms is not worth a word, however short the path is.
    let (mut run, packets) = quiet();
    run.metrics.rtt_min_ns = Some(1_000_000);
    run.distributions.rtt_ns = vec![(6_360_000, 100)];
    assert_eq!(found(&run, &packets).len(), 1);
    run.distributions.rtt_ns = vec![(6_359_000, 100)];
    assert_eq!(found(&run, &packets), []);
}

#[test]
fn nineteen_samples_of_the_rtt_are_too_few_to_see_a_standing_queue() {
    let (mut run, packets) = quiet();
    run.distributions.rtt_ns = vec![(90_000_000, 19)];
    let verdicts = judge(&Evidence { run: &run, packets: Some(&packets) });
    assert_eq!((verdicts.found, verdicts.not_judged[0].rule), (vec![], "standing_queue"));
}

#[test]
fn one_datagram_of_the_handshake_that_had_arrived_is_repeated_needlessly() {
    let verdict = only(|run, _| run.metrics.handshake_server_spurious_retransmissions = Some(1));
    assert_eq!((verdict.rule, verdict.at_ns), ("handshake_repeated", Some(0)));
    assert!(verdict.text.contains("had arrived: 0 of the client, 1 of the server"), "{}", verdict.text);
}

#[test]
fn the_timeout_is_blamed_only_where_no_answer_can_have_been_dropped() {
    let of = |drops: Option<u64>| {
        let verdict = only(|run, _| {
            run.metrics.handshake_client_spurious_retransmissions = Some(1);
            run.metrics.drops_packets = drops;
        });
        verdict.text
    };
    assert!(of(Some(0)).contains("the probe timeout expired before an answer could come"), "{}", of(Some(0)));
    let dropped = of(Some(2));
    assert!(dropped.contains("an answer may have been among them") && !dropped.contains("timeout"), "{dropped}");
    assert!(of(None).ends_with("1 of the client, 0 of the server."), "{}", of(None));
}
