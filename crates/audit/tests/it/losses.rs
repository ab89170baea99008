//! Losses, counted and listed.

use quiclab_audit::{Account, Law, ListedDrop};

use crate::capture::{assert_kept, assert_only, audited, law, lost, path, sent};

fn counted(dropped: u64, waiting: u64) -> Account {
    Account { dropped, waiting, ..Account::default() }
}

fn listed(drops: &[(u64, u32)], waiting: u64) -> Account {
    let list =
        drops.iter().map(|(packet, bytes)| ListedDrop { packet: *packet, bytes: *bytes, stage: "queue".to_owned() });
    Account { listed: Some(list.collect()), ..counted(drops.len() as u64, waiting) }
}

#[test]
fn losses_are_as_many_as_the_stages_counted() {
    let packets = [sent(1, 0, 5), lost(2, 6), sent(3, 8, 9), lost(4, 10)];
    for account in [counted(2, 0), counted(1, 1), counted(0, 2)] {
        assert_kept(&audited(&packets, &path(Vec::new(), account)));
    }
    let report = audited(&packets, &path(Vec::new(), counted(1, 0)));
    assert_only(&report, Law::LossesAccounted, 6, "2 packets did not leave, and the stages account for 1");
    let report = audited(&packets, &path(Vec::new(), counted(3, 0)));
    assert_only(&report, Law::LossesAccounted, 6, "the stages account for 3 packets that did not leave");
}

#[test]
fn a_loss_that_no_stage_lists_is_named_and_so_is_a_listed_one_that_left() {
    let packets = [sent(1, 0, 5), lost(2, 6), sent(3, 8, 9), lost(4, 10), sent(5, 12, 13)];
    let with = |account| audited(&packets, &path(Vec::new(), account));
    assert_kept(&with(listed(&[(2, 1000), (4, 1000)], 0)));
    assert_only(&with(listed(&[(4, 1000)], 0)), Law::LossesAccounted, 3, "it did not leave, and no stage lists it");
    assert_only(&with(listed(&[(2, 1000), (4, 999)], 0)), Law::LossesAccounted, 6, "with 999 bytes, and it has 1000");
    let report = with(listed(&[(2, 1000), (3, 1000), (4, 1000)], 0));
    assert_only(&report, Law::LossesAccounted, 4, "the stage queue lists it as dropped, and it left");
    let report = with(listed(&[(2, 1000), (4, 1000), (6, 1000)], 0));
    assert_only(&report, Law::LossesAccounted, 7, "lists packet 6 as dropped, and 5 entered");
    // What waited at the end entered last.
    assert_kept(&with(listed(&[(2, 1000)], 1)));
    assert_only(&with(listed(&[(4, 1000)], 0)), Law::LossesAccounted, 3, "it did not leave");
}

#[test]
fn losses_that_nobody_counted_are_not_audited() {
    let mut audited_path = path(Vec::new(), Account { is_not_final: Some("too early".to_owned()), ..counted(0, 0) });
    let report = audited(&[lost(1, 0), sent(2, 1, 2)], &audited_path);
    assert_kept(&report);
    assert_eq!(law(&report, Law::LossesAccounted).not_audited, ["how many packets are missing: too early"]);
    audited_path.directions[0].account = None;
    let report = audited(&[lost(1, 0), sent(2, 1, 2)], &audited_path);
    assert_eq!(law(&report, Law::LossesAccounted).not_audited.len(), 1);
    assert_eq!(law(&audited(&[sent(2, 1, 2)], &audited_path), Law::LossesAccounted).not_audited.len(), 0);
}
