//! Packets that were made up, copied or changed.

use quiclab_audit::{Account, Law, StageKind, audit};

use crate::capture::{Sent, assert_kept, assert_only, audited, capture, law, lost, path, sent, stage};

fn nothing() -> quiclab_audit::AuditedPath {
    path(Vec::new(), Account::default())
}

#[test]
fn a_packet_that_did_not_enter_is_named() {
    let packets = [sent(1, 0, 5), Sent { entered: None, ..sent(2, 0, 7) }, sent(3, 8, 9)];
    assert_only(&audited(&packets, &nothing()), Law::NoneCreated, 3, "1000 bytes that did not pass the tap sender");
}

#[test]
fn a_copy_is_named_unless_the_path_made_it() {
    let packets = [sent(1, 0, 5), Sent { entered: None, ..sent(1, 0, 7) }, sent(3, 8, 9)];
    assert_only(&audited(&packets, &nothing()), Law::NoneDuplicated, 3, "one more copy of frame 1 than the 0");
    let copying = |copied| path(vec![stage("copies", StageKind::Copy)], Account { copied, ..Account::default() });
    assert_kept(&audited(&packets, &copying(Some(1))));
    let report = audited(&packets, &copying(None));
    assert_kept(&report);
    assert_eq!(law(&report, Law::NoneDuplicated).not_audited.len(), 1);
    // A copy that was counted and did not leave was dropped, and somebody counted that.
    assert_only(
        &audited(&[sent(1, 0, 5), lost(2, 6)], &copying(Some(0))),
        Law::LossesAccounted,
        3,
        "1 packets did not leave",
    );
}

#[test]
fn a_changed_byte_is_named_with_its_place_unless_the_path_changes_bytes() {
    for place in [38, 60, 127] {
        let packets = [sent(1, 0, 5), Sent { changed_at: Some(place), ..sent(2, 6, 7) }, sent(3, 8, 9)];
        assert_only(
            &audited(&packets, &nothing()),
            Law::ContentUnchanged,
            4,
            &format!(
                "1 of its bytes changed, at offset {place} first, and no stage accounts for it; it entered as frame 3"
            ),
        );
        let flips = |changed| path(vec![stage("flips", StageKind::Change)], Account { changed, ..Account::default() });
        assert_kept(&audited(&packets, &flips(1)));
        assert_eq!(audited(&packets, &flips(0)).violated(), 1);
    }
}

#[test]
fn a_change_behind_the_bytes_by_which_packets_are_matched_shows_where_both_taps_kept_all() {
    let packets = [sent(1, 0, 5), Sent { changed_at: Some(900), ..sent(2, 6, 7) }];
    assert_only(&audited(&packets, &nothing()), Law::ContentUnchanged, 4, "its bytes changed behind the first 128");
    let cut = capture(&packets, Some(128));
    let report = audit(|| Ok(&cut[..]), &nothing()).unwrap();
    assert_kept(&report);
    let reason = "what is behind byte 128 of long packets: a tap keeps no more (tap.snaplen)";
    assert_eq!(law(&report, Law::ContentUnchanged).not_audited, [reason]);
}

#[test]
fn marks_are_those_that_the_stages_counted_and_only_of_packets_that_understand_them() {
    let marked = |from| [Sent { ecn: [from, 3], ..sent(1, 0, 5) }];
    let counted = |marked| path(Vec::new(), Account { marked, ..Account::default() });
    assert_kept(&audited(&marked(1), &counted(1)));
    assert_kept(&audited(&marked(2), &counted(1)));
    assert_only(&audited(&marked(2), &counted(0)), Law::ContentUnchanged, 2, "its ECN bits changed from 2 to 3");
    assert_only(&audited(&marked(0), &counted(1)), Law::ContentUnchanged, 2, "its ECN bits changed from 0 to 3");
}

#[test]
fn a_capture_without_the_server_is_not_audited() {
    let other = quiclab_audit::AuditedPath { server_port: 4433, ..nothing() };
    let report = audited(&[sent(1, 0, 5)], &other);
    assert_eq!(report.not_audited.as_deref(), Some("no packet at the taps has the port 4433 of the server"));
    assert_eq!(report.directions, []);
}

#[test]
fn a_capture_that_is_none_is_an_error_and_short_frames_are_no_panic() {
    assert!(audit(|| Ok(&b"nonsense"[..]), &nothing()).is_err());
    for kept in 1..200 {
        let cut = capture(&[sent(1, 0, 5), sent(2, 6, 7)], Some(kept));
        let report = audit(|| Ok(&cut[..]), &nothing()).unwrap();
        assert_kept(&report);
        assert_eq!(report.not_audited.is_some(), kept < 80, "{kept}");
    }
}
