//! Rates and queues. Frames of 1000 bytes at 8 Mbit/s take 1 ms.

use quiclab_audit::{Account, AuditedPath, Law, Limit, Stage, StageKind, Timing};
use quiclab_units::Duration;

use crate::capture::{Sent, assert_kept, assert_only, audited, delay, law, path, sent, stage, violations};

const MS: u64 = 1_000_000;

fn rate(bits_per_second: u64, burst_bytes: Option<u64>) -> Stage {
    stage("rate", StageKind::Pace { bits_per_second, burst_bytes })
}

fn queue(limit: Limit, counts_held: bool) -> Stage {
    stage("queue", StageKind::Hold { at_least: Duration::ZERO, limit, counts_held, keeps_order: true })
}

/// A path whose times are those of a kernel.
fn in_kernel(path: AuditedPath) -> AuditedPath {
    AuditedPath { timing: Timing { is_exact: false, rounds_each_packet: true, in_words: String::new() }, ..path }
}

#[test]
fn a_link_sends_one_packet_after_the_other() {
    let path = path(vec![queue(Limit::Packets(9), false), rate(8_000_000, None), delay(50)], Account::default());
    let packets = [sent(1, 0, MS + 50), sent(2, 0, 2 * MS + 50), sent(3, 5 * MS, 6 * MS + 50)];
    assert_kept(&audited(&packets, &path));
    let early = [sent(1, 0, MS + 50), sent(2, 0, 2 * MS + 49), sent(3, 5 * MS, 6 * MS + 50)];
    assert_only(&audited(&early, &path), Law::Rate, 4, "1 ns before the stage rate could have carried it");
}

#[test]
fn a_link_that_rounds_each_packet_may_be_early_by_less_than_2_ns_for_each() {
    // 1000 bytes at 7 Mbit/s take 1142857.14 ns.
    let stages = || vec![queue(Limit::Packets(9), false), rate(7_000_000, None)];
    let at = |second| [sent(1, 0, 1_142_857), sent(2, 0, second)];
    let exact = path(stages(), Account::default());
    assert_kept(&audited(&at(2_285_714), &exact));
    assert_only(&audited(&at(2_285_713), &exact), Law::Rate, 4, "1 ns before");
    let kernel = in_kernel(path(stages(), Account::default()));
    assert_kept(&audited(&at(2_285_712), &kernel));
    assert_only(&audited(&at(2_285_711), &kernel), Law::Rate, 4, "1 ns before");
}

#[test]
fn a_bucket_lets_its_depth_pass_at_once_and_then_the_rate() {
    let path = path(vec![queue(Limit::Packets(9), true), rate(8_000_000, Some(2000))], Account::default());
    let packets =
        |third| [sent(1, 0, 0), sent(2, 0, 0), sent(3, 0, third), sent(4, 9 * MS, 9 * MS), sent(5, 9 * MS, 9 * MS)];
    assert_kept(&audited(&packets(MS), &path));
    assert_only(&audited(&packets(MS - 1), &path), Law::Rate, 6, "1 ns before the stage rate could have carried it");
}

#[test]
fn packets_that_all_are_late_and_come_at_once_are_over_the_rate_where_times_are_exact() {
    let stages = || vec![queue(Limit::Packets(9), false), rate(8_000_000, None)];
    let packets = [sent(1, 0, 50 * MS), sent(2, 0, 50 * MS + 1)];
    let words = "it is 1000 bytes more than the stage rate carries in that time";
    assert_only(&audited(&packets, &path(stages(), Account::default())), Law::Rate, 4, words);
    // A real clock does not tell whether the first one was late only between the rate and the tap.
    let report = audited(&packets, &in_kernel(path(stages(), Account::default())));
    assert_kept(&report);
    assert!(law(&report, Law::Rate).not_audited[0].contains("windows of time behind the stage rate"));

    let bucket = path(vec![queue(Limit::Packets(9), false), rate(8_000_000, Some(1514))], Account::default());
    let packets = [sent(1, 0, 50 * MS), sent(2, 0, 50 * MS)];
    assert_only(&audited(&packets, &bucket), Law::Rate, 4, "it is 486 bytes more");
}

#[test]
fn a_rate_behind_which_packets_overtake_is_not_audited() {
    let late = StageKind::Wait { at_least: Duration::ZERO, is_constant: false, keeps_order: false };
    let stages = vec![queue(Limit::Packets(9), false), rate(8_000_000, None), stage("late", late)];
    let report = audited(&[sent(1, 0, MS), sent(2, 0, 1)], &path(stages, Account::default()));
    assert_eq!(law(&report, Law::Rate).checked, 0);
    let why = "the stage rate: behind it late changes the order, so the order at the rate is not known";
    assert_eq!(law(&report, Law::Rate).not_audited, [why]);
    assert_eq!(
        law(&report, Law::Buffer).not_audited,
        ["the queue queue: the times at it are not known, because late delays packets differently"]
    );
}

#[test]
fn a_rate_that_the_auditor_cannot_follow_is_said() {
    let unknown = StageKind::PaceUnknown { why: "it is a trace".to_owned() };
    let stages = vec![queue(Limit::Packets(9), false), stage("trace", unknown)];
    let report = audited(&[sent(1, 0, 1)], &path(stages, Account::default()));
    assert_eq!(law(&report, Law::Rate).not_audited, ["the stage trace: it is a trace"]);
}

/// So many packets that come at once to a link of 1 ms for each.
fn at_once(count: u8) -> Vec<Sent> {
    (1..=count).map(|number| sent(number, 0, u64::from(number) * MS)).collect()
}

#[test]
fn a_queue_holds_its_limit_apart_from_the_packet_that_is_being_sent() {
    for limit in [Limit::Packets(2), Limit::Bytes(2000), Limit::Bytes(2999)] {
        let path = path(vec![queue(limit, false), rate(8_000_000, None)], Account::default());
        assert_kept(&audited(&at_once(3), &path));
        assert_only(&audited(&at_once(4), &path), Law::Buffer, 4, "with it the queue queue held at least 3");
    }
    let path = path(vec![queue(Limit::Packets(2), false), rate(8_000_000, None)], Account::default());
    let report = audited(&at_once(4), &in_kernel(path));
    assert_kept(&report);
    assert!(law(&report, Law::Buffer).not_audited[0].contains("when packets came to it"));
}

#[test]
fn the_packet_that_waits_for_tokens_counts_where_the_queue_counts_it() {
    let held = |counts_held| {
        path(vec![queue(Limit::Packets(2), counts_held), rate(8_000_000, Some(1000))], Account::default())
    };
    // The first one takes all tokens, and the others wait 1 ms each.
    let packets = |count: u8| (0..count).map(|number| sent(number, 0, u64::from(number) * MS)).collect::<Vec<_>>();
    assert_kept(&audited(&packets(4), &held(false)));
    assert_only(&audited(&packets(5), &held(false)), Law::Buffer, 6, "held at least 3 packets, and has room for 2");
    assert_kept(&audited(&packets(3), &held(true)));
    assert_only(&audited(&packets(4), &held(true)), Law::Buffer, 5, "held at least 3 packets, and has room for 2");
}

#[test]
fn a_delay_line_holds_its_limit_and_what_leaves_makes_room() {
    let line = StageKind::Hold {
        at_least: Duration::from_millis(1),
        limit: Limit::Packets(2),
        counts_held: true,
        keeps_order: true,
    };
    let path = path(vec![stage("line", line)], Account::default());
    let packets = |third| [sent(1, 0, MS), sent(2, 10, MS + 10), sent(3, third, MS + third)];
    assert_kept(&audited(&packets(MS), &path));
    let found = violations(&audited(&packets(MS - 1), &path));
    assert_eq!(found.iter().map(|(law, frame, _)| (*law, *frame)).collect::<Vec<_>>(), [(Law::Buffer, 3)]);
}

#[test]
fn copies_are_in_a_queue_and_at_a_rate_only_where_they_are_made_before() {
    let copies = || stage("copies", StageKind::Copy);
    let stages = || vec![queue(Limit::Packets(1), false), rate(8_000_000, None)];
    let account = || Account { copied: Some(2), ..Account::default() };
    let copy = |number, left| Sent { entered: None, ..sent(number, 0, left) };
    let packets = [sent(1, 0, MS), copy(1, MS), sent(2, 0, 2 * MS), copy(2, 2 * MS)];
    let behind = path([stages(), vec![copies()]].concat(), account());
    assert_kept(&audited(&packets, &behind));
    let before = audited(&packets, &path([vec![copies()], stages()].concat(), account()));
    assert!(law(&before, Law::Rate).violated > 0 && law(&before, Law::Buffer).violated > 0, "{before:?}");
}
