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
fn a_plain_transfer_uses_what_ngtcp2_does_by_itself() {
    let settings = parse(&[]).unwrap();
    assert_eq!((settings.congestion_control, settings.gso), (CongestionControl::Cubic, true));
    assert_eq!((settings.pacing, settings.http), (Pacing::User, HttpVersion::Hq));
    assert_eq!((settings.port, settings.www, settings.key_log), (443, PathBuf::from("/www"), None));
    assert_eq!((settings.streams, settings.ip, settings.qlog), (None, IpVersion::V4, None));
}

#[test]
fn every_declared_setting_is_honoured() {
    for (name, expected) in
        [("reno", CongestionControl::Reno), ("cubic", CongestionControl::Cubic), ("bbr", CongestionControl::Bbr)]
    {
        assert_eq!(parse(&[("QUICLAB_CCA", name)]).unwrap().congestion_control, expected);
    }
    assert!(!parse(&[("QUICLAB_GSO", "off")]).unwrap().gso);
    assert_eq!(parse(&[("QUICLAB_PORT", "4433"), ("QUICLAB_PACING", "user")]).unwrap().port, 4433);
    let settings = parse(&[("QUICLAB_STREAMS", "4"), ("QUICLAB_IP", "6"), ("QUICLAB_HTTP", "hq")]).unwrap();
    assert_eq!((settings.streams, settings.ip, settings.http), (Some(4), IpVersion::V6, HttpVersion::Hq));
    assert_eq!(parse(&[("QLOGDIR", "/q")]).unwrap().qlog, Some(PathBuf::from("/q")));
}

#[test]
fn every_declared_test_case_is_done() {
    for case in ["handshake", "transfer", "retry", "chacha20", "keyupdate", "v2"] {
        assert!(parse(&[("TESTCASE", case)]).is_ok(), "{case}");
    }
    let two = ("REQUESTS", "https://server:4433/a https://server:4433/b");
    assert!(parse(&[("TESTCASE", "zerortt"), two]).unwrap().test_case.takes_two_connections());
    assert!(is_invalid(&[("TESTCASE", "resumption")]), "one URL is too few for two connections");
}

#[test]
fn what_it_cannot_do_is_refused_and_not_ignored() {
    for change in [
        ("TESTCASE", "ecn"),
        ("TESTCASE", ""),
        ("QUICLAB_CCA", "bbr2"),
        ("QUICLAB_CCA", "CUBIC"),
        ("QUICLAB_GSO", "paced"),
        ("QUICLAB_PACING", "off"),
        ("QUICLAB_PACING", "txtime"),
        ("QUICLAB_HTTP", "h2"),
        ("QUICLAB_STREAMS", "0"),
        ("QUICLAB_STREAMS", "all"),
        ("QUICLAB_IP", "46"),
        ("QUICLAB_CERT_DELAY", "200"),
        ("QUICLAB_INVENTED", "1"),
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
    assert_eq!((second.host.as_str(), second.port, second.file_name.as_str()), ("server", 4433, "c"));
}
