//! What is honoured, what is refused with 127, what is refused with 1.

use super::*;

fn parse(changes: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    let mut variables = BTreeMap::from([
        ("ROLE".to_owned(), "client".to_owned()),
        ("TESTCASE".to_owned(), "transfer".to_owned()),
        ("REQUESTS".to_owned(), "https://server:4433/file10M".to_owned()),
    ]);
    variables.extend(changes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    Settings::parse(variables)
}

/// True where the change makes the endpoint answer 127.
fn is_not_supported(changes: &[(&str, &str)]) -> bool {
    matches!(parse(changes), Err(SettingsError::NotSupported { .. }))
}

fn is_invalid(changes: &[(&str, &str)]) -> bool {
    matches!(parse(changes), Err(SettingsError::Invalid { .. }))
}

#[test]
fn a_plain_transfer_uses_cubic_with_offload() {
    let settings = parse(&[]).unwrap();
    assert_eq!((settings.congestion_control, settings.gso), (CongestionControl::Cubic, true));
    assert_eq!((settings.port, settings.www, settings.key_log), (443, PathBuf::from("/www"), None));
}

#[test]
fn every_declared_setting_is_honoured() {
    for name in ["cubic", "reno", "bbr2"] {
        assert_eq!(parse(&[("QUICLAB_CCA", name)]).unwrap().congestion_control.quiche_name(), name);
    }
    assert!(!parse(&[("QUICLAB_GSO", "off")]).unwrap().gso);
    assert_eq!(parse(&[("QUICLAB_PACING", "off")]).unwrap().pacing, Pacing::Off);
    assert_eq!(parse(&[("QUICLAB_PACING", "txtime"), ("QUICLAB_CCA", "bbr2")]).unwrap().pacing, Pacing::TxTime);
    assert_eq!(parse(&[("QUICLAB_PORT", "4433"), ("QUICLAB_HTTP", "h3")]).unwrap().port, 4433);
}

#[test]
fn send_times_are_refused_where_this_quiche_plans_none() {
    let asked = [("QUICLAB_PACING", "txtime"), ("QUICLAB_CCA", "cubic")];
    assert_eq!(is_not_supported(&asked), !cfg!(feature = "paced-loss-based"));
}

#[test]
fn what_the_contract_added_is_honoured() {
    assert_eq!(parse(&[]).unwrap().streams, None);
    let settings = parse(&[("QUICLAB_STREAMS", "4"), ("QUICLAB_IP", "6"), ("QUICLAB_HTTP", "hq")]).unwrap();
    assert_eq!((settings.streams, settings.ip, settings.http), (Some(4), IpVersion::V6, HttpVersion::Hq));
    assert_eq!(parse(&[("QLOGDIR", "/q")]).unwrap().qlog, Some(PathBuf::from("/q")));
    for case in ["handshake", "http3", "retry"] {
        assert!(parse(&[("TESTCASE", case)]).is_ok(), "{case}");
    }
    let two = ("REQUESTS", "https://server:4433/a https://server:4433/b");
    assert!(parse(&[("TESTCASE", "zerortt"), two]).unwrap().test_case.takes_two_connections());
    assert!(is_invalid(&[("TESTCASE", "resumption")]), "one URL is too few for two connections");
}

#[test]
fn only_a_server_that_hands_send_times_over_writes_them_down() {
    let paced = [("LOGS", "/logs"), ("QUICLAB_CCA", "bbr2"), ("QUICLAB_PACING", "txtime")];
    assert_eq!(parse(&paced).unwrap().planned, None);
    let server = |changes: &[_]| parse(&[&[("ROLE", "server")], changes].concat()).unwrap().planned;
    assert_eq!(server(&paced), Some(PathBuf::from("/logs/planned.csv")));
    assert_eq!(server(&[("LOGS", "/logs"), ("QUICLAB_PACING", "off")]), None);
}

#[test]
fn what_goes_below_quiche_needs_its_boringssl() {
    let has_boring = cfg!(feature = "boring");
    assert_eq!(parse(&[("TESTCASE", "chacha20")]).is_ok(), has_boring);
    assert!(parse(&[("TESTCASE", "chacha20"), ("ROLE", "server")]).is_ok());
    assert_eq!(parse(&[("QUICLAB_CERT_DELAY", "200")]).is_ok(), has_boring);
    assert!(parse(&[("QUICLAB_CERT_DELAY", "0")]).unwrap().certificate_delay.is_zero());
}

#[test]
fn values_that_do_not_go_together_are_refused() {
    assert!(is_not_supported(&[("TESTCASE", "http3"), ("QUICLAB_HTTP", "hq")]));
    assert!(is_not_supported(&[("TESTCASE", "resumption"), ("QUICLAB_CERT_DELAY", "200")]));
}

#[test]
fn what_it_cannot_do_is_refused_and_not_ignored() {
    for change in [
        ("TESTCASE", "keyupdate"),
        ("TESTCASE", ""),
        ("QUICLAB_CCA", "bbr"),
        ("QUICLAB_CCA", "CUBIC"),
        ("QUICLAB_GSO", "paced"),
        ("QUICLAB_PACING", "user"),
        ("QUICLAB_HTTP", "h2"),
        ("QUICLAB_STREAMS", "0"),
        ("QUICLAB_STREAMS", "all"),
        ("QUICLAB_IP", "46"),
        ("QUICLAB_CERT_DELAY", "200 ms"),
        ("SERVER_PARAMS", "--anything"),
    ] {
        assert!(is_not_supported(&[change]), "{change:?}");
    }
}

#[test]
fn what_it_cannot_read_is_a_failure() {
    for change in [
        ("ROLE", "observer"),
        ("REQUESTS", ""),
        ("REQUESTS", "http://server/file"),
        ("REQUESTS", "https://server:4433/"),
        ("REQUESTS", "https://server:70000/file"),
        ("REQUESTS", "https://server/a https://other/b"),
        ("QUICLAB_PORT", "65536"),
    ] {
        assert!(is_invalid(&[change]), "{change:?}");
    }
}

#[test]
fn a_url_names_the_file_it_is_stored_as() {
    let settings = parse(&[("REQUESTS", "https://server:4433/a/b https://server:4433/c")]).unwrap();
    let [first, second] = &settings.requests[..] else { panic!("expected two requests") };
    assert_eq!((first.path.as_str(), first.file_name.as_str()), ("/a/b", "b"));
    assert_eq!((second.authority().as_str(), second.file_name.as_str()), ("server:4433", "c"));
}
