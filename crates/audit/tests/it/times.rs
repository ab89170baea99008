//! Delay and order.

use quiclab_audit::{Account, Law, StageKind};
use quiclab_units::Duration;

use crate::capture::{assert_kept, assert_only, audited, delay, law, path, sent, stage};

#[test]
fn a_packet_that_is_a_nanosecond_too_early_is_named_and_one_that_is_in_time_is_not() {
    let path = path(vec![delay(1000), delay(500)], Account::default());
    let packets = [sent(1, 0, 1500), sent(2, 10, 1510), sent(3, 4000, 5600)];
    let report = audited(&packets, &path);
    assert_kept(&report);
    assert_eq!(law(&report, Law::Delay).checked, 3);

    let early = [sent(1, 0, 1500), sent(2, 10, 1509), sent(3, 4000, 5600)];
    let report = audited(&early, &path);
    assert_only(&report, Law::Delay, 4, "1 ns before its delay of 1500 ns had passed; it entered as frame 2");
    let violation = &law(&report, Law::Delay).violations[0];
    assert_eq!((violation.tap.as_str(), violation.time_ns), ("behind", 9));
    assert_eq!(
        violation.in_words(),
        "frame 4 at the tap behind, 0.000000009 s: it left 1 ns before its delay of 1500 ns had passed; it entered as frame 2"
    );
}

#[test]
fn a_packet_that_left_before_it_entered_was_made_up() {
    let report = audited(&[sent(9, 0, 2), sent(1, 5, 3)], &path(Vec::new(), Account::default()));
    let laws: Vec<_> = report.laws().filter(|(_, law)| law.violated > 0).map(|(_, law)| law.law).collect();
    assert_eq!(laws, [Law::NoneCreated, Law::Delay]);
}

#[test]
fn a_packet_that_overtakes_is_named_unless_a_stage_reorders() {
    let packets = [sent(1, 0, 150), sent(2, 10, 120), sent(3, 20, 160)];
    assert_only(
        &audited(&packets, &path(vec![delay(100)], Account::default())),
        Law::Order,
        5,
        "it entered as frame 1, before frame 2, and left behind that",
    );
    let reorder = StageKind::Wait { at_least: Duration::ZERO, is_constant: false, keeps_order: false };
    let report = audited(&packets, &path(vec![delay(100), stage("late", reorder)], Account::default()));
    assert_kept(&report);
    assert_eq!(law(&report, Law::Order).not_audited, ["the stage late lets packets overtake others"]);
    assert_eq!(law(&report, Law::Order).checked, 0);
}

#[test]
fn behind_a_fair_queue_the_packets_of_a_flow_keep_their_order() {
    let fair = || {
        stage(
            "fair",
            StageKind::Hold {
                at_least: Duration::ZERO,
                limit: quiclab_audit::Limit::Packets(100),
                counts_held: false,
                keeps_order: false,
            },
        )
    };
    let with_port = |port, packet: crate::capture::Sent| crate::capture::Sent { port, ..packet };
    let of_two = [with_port(1, sent(1, 0, 30)), with_port(2, sent(2, 1, 20)), with_port(1, sent(3, 2, 40))];
    assert_kept(&audited(&of_two, &path(vec![fair()], Account::default())));
    let of_one = [with_port(1, sent(1, 0, 30)), with_port(2, sent(2, 1, 20)), with_port(1, sent(3, 2, 25))];
    assert_only(&audited(&of_one, &path(vec![fair()], Account::default())), Law::Order, 6, "it entered as frame 1");
}
