//! What is this endpoint's own in what is honoured and what is refused.

use quiclab_contract::testing::{assert_not_supported, exit_status, parse};

use super::*;

const TWO: (&str, &str) = ("REQUESTS", "https://server/a https://server/b");

#[test]
fn a_plain_transfer_uses_cubic_with_offload() {
    let settings = parse(&SUPPORT, &[]).unwrap();
    let found = (settings.http, settings.congestion_control, settings.gso.is_on());
    assert_eq!(found, (Http::H3, CongestionControl::Cubic, true));
    for name in ["cubic", "reno", "bbr2"] {
        let settings = parse(&SUPPORT, &[("QUICLAB_CCA", name)]).unwrap();
        assert_eq!(settings.congestion_control.quiche_name(), name);
    }
}

#[test]
fn send_times_are_the_default_where_quiche_plans_them_and_refused_where_not() {
    let plans = cfg!(feature = "paced-loss-based");
    assert_eq!(parse(&SUPPORT, &[]).unwrap().pacing == Pacing::TxTime, plans);
    assert_eq!(exit_status(&SUPPORT, &[("QUICLAB_PACING", "txtime"), ("QUICLAB_CCA", "cubic")]) == 0, plans);
    let bbr2 = ("QUICLAB_CCA", "bbr2");
    assert_eq!(parse(&SUPPORT, &[bbr2]).unwrap().pacing, Pacing::TxTime);
    assert_eq!(parse(&SUPPORT, &[bbr2, ("QUICLAB_PACING", "txtime")]).unwrap().pacing, Pacing::TxTime);
    assert_eq!(parse(&SUPPORT, &[bbr2, ("QUICLAB_PACING", "off")]).unwrap().pacing, Pacing::Off);
}

#[test]
fn only_a_server_that_hands_send_times_over_writes_them_down() {
    let paced = [("LOGS", "/logs"), ("QUICLAB_CCA", "bbr2"), ("QUICLAB_PACING", "txtime")];
    let planned = |changes: &[_]| planned(&parse(&SUPPORT, changes).unwrap());
    assert_eq!(planned(&paced), None);
    let server = |changes: &[_]| planned(&[&[("ROLE", "server")], changes].concat());
    assert_eq!(server(&paced), Some(PathBuf::from("/logs/planned.csv")));
    assert_eq!(server(&[("LOGS", "/logs"), ("QUICLAB_PACING", "off")]), None);
}

#[test]
fn what_goes_below_quiche_needs_its_boringssl() {
    let expected = if cfg!(feature = "boring") { 0 } else { 127 };
    assert_eq!(exit_status(&SUPPORT, &[("TESTCASE", "chacha20")]), expected);
    assert_eq!(exit_status(&SUPPORT, &[("TESTCASE", "chacha20"), ("ROLE", "server")]), 0);
    assert_eq!(exit_status(&SUPPORT, &[("QUICLAB_CERT_DELAY", "200")]), expected);
    assert_eq!(exit_status(&SUPPORT, &[("QUICLAB_CERT_DELAY", "0"), ("TESTCASE", "zerortt"), TWO]), 0);
    assert_eq!(exit_status(&SUPPORT, &[("QUICLAB_CERT_DELAY", "200"), ("TESTCASE", "resumption"), TWO]), 127);
}

#[test]
fn what_it_cannot_do_is_refused_and_not_ignored() {
    let own = [("TESTCASE", "keyupdate"), ("TESTCASE", "v2"), ("QUICLAB_CCA", "bbr"), ("QUICLAB_PACING", "user")];
    assert_not_supported(&SUPPORT, &own);
}
