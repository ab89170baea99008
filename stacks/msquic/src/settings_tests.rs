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
fn a_plain_transfer_uses_cubic_with_pacing() {
    let settings = parse(&[]).unwrap();
    assert_eq!((settings.congestion_control, settings.pacing), (CongestionControl::Cubic, true));
    assert_eq!((settings.port, settings.ip, settings.streams), (443, IpVersion::V4, None));
    assert_eq!((settings.certificate_delay, settings.key_log), (Duration::ZERO, None));
}

#[test]
fn every_declared_setting_is_honoured() {
    assert_eq!(parse(&[("QUICLAB_CCA", "cubic")]).unwrap().congestion_control, CongestionControl::Cubic);
    assert_eq!(parse(&[("QUICLAB_CCA", "bbr")]).unwrap().congestion_control, CongestionControl::Bbr);
    assert!(parse(&[("QUICLAB_GSO", "on")]).is_ok());
    assert!(parse(&[("QUICLAB_PACING", "user")]).unwrap().pacing);
    assert!(!parse(&[("QUICLAB_PACING", "off")]).unwrap().pacing);
    assert!(parse(&[("QUICLAB_HTTP", "hq")]).is_ok());
    assert_eq!(parse(&[("QUICLAB_IP", "6"), ("QUICLAB_PORT", "4433")]).unwrap().ip, IpVersion::V6);
    assert_eq!(parse(&[("QUICLAB_STREAMS", "4")]).unwrap().streams, Some(4));
    assert_eq!(parse(&[("QUICLAB_CERT_DELAY", "200")]).unwrap().certificate_delay, Duration::from_millis(200));
    assert_eq!(parse(&[("SSLKEYLOGFILE", "/keys")]).unwrap().key_log, Some(PathBuf::from("/keys")));
}

#[test]
fn every_declared_test_case_is_taken() {
    for (name, test_case) in [
        ("handshake", TestCase::Transfer),
        ("retry", TestCase::Retry),
        ("chacha20", TestCase::ChaCha20),
        ("keyupdate", TestCase::KeyUpdate),
        ("resumption", TestCase::Resumption),
        ("zerortt", TestCase::ZeroRtt),
        ("v2", TestCase::Version2),
    ] {
        let two = ("REQUESTS", "https://server/a https://server/b");
        assert_eq!(parse(&[("TESTCASE", name), two]).unwrap().test_case, test_case, "{name}");
    }
}

#[test]
fn what_it_cannot_do_is_refused_and_not_ignored() {
    for change in [
        ("TESTCASE", "http3"),
        ("TESTCASE", ""),
        ("QUICLAB_CCA", "bbr2"),
        ("QUICLAB_CCA", "CUBIC"),
        ("QUICLAB_GSO", "paced"),
        ("QUICLAB_GSO", "off"),
        ("QUICLAB_PACING", "txtime"),
        ("QUICLAB_HTTP", "h3"),
        ("QUICLAB_IP", "46"),
        ("QUICLAB_NO_SUCH_SETTING", "1"),
        ("SERVER_PARAMS", "--anything"),
        ("CLIENT_PARAMS", "--anything"),
    ] {
        assert!(is_not_supported(&[change]), "{change:?}");
    }
}

#[test]
fn values_that_do_not_go_together_are_refused() {
    assert!(is_not_supported(&[("TESTCASE", "keyupdate"), ("ROLE", "server")]));
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
        ("QUICLAB_STREAMS", "0"),
        ("QUICLAB_CERT_DELAY", "200 ms"),
    ] {
        assert!(is_invalid(&[change]), "{change:?}");
    }
    assert!(is_invalid(&[("TESTCASE", "resumption")]), "a second connection needs a second URL");
}

#[test]
fn a_url_names_the_file_it_is_stored_as() {
    let settings = parse(&[("REQUESTS", "https://server:4433/a/b https://server:4433/c")]).unwrap();
    let [first, second] = &settings.requests[..] else { panic!("expected two requests") };
    assert_eq!((first.path.as_str(), first.file_name.as_str()), ("/a/b", "b"));
    assert_eq!((second.path.as_str(), second.file_name.as_str()), ("/c", "c"));
}
