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

#[test]
fn every_declared_setting_is_honoured() {
    for name in ["cubic", "reno", "bbr2"] {
        assert_eq!(parse(&[("QUICLAB_CCA", name)]).unwrap().congestion_control, name);
    }
    let settings = parse(&[("QUICLAB_GSO", "off"), ("QUICLAB_STREAMS", "4"), ("QUICLAB_IP", "6")]).unwrap();
    assert_eq!((settings.gso, settings.streams, settings.ip), (false, Some(4), IpVersion::V6));
    let settings = parse(&[("QUICLAB_CERT_DELAY", "200"), ("QUICLAB_PACING", "off"), ("QUICLAB_HTTP", "h3")]).unwrap();
    assert_eq!(settings.certificate_delay, Duration::from_millis(200));
    assert_eq!(parse(&[("TESTCASE", "zerortt"), ("ROLE", "server")]).unwrap().test_case, TestCase::ZeroRtt);
}

#[test]
fn what_it_cannot_do_is_refused_and_not_ignored() {
    for change in [
        ("TESTCASE", "keyupdate"),
        ("TESTCASE", "zerortt"),
        ("TESTCASE", "v2"),
        ("QUICLAB_NO_SUCH_SETTING", "1"),
        ("QUICLAB_CCA", "bbr"),
        ("QUICLAB_GSO", "paced"),
        ("QUICLAB_PACING", "txtime"),
        ("QUICLAB_HTTP", "hq"),
        ("QUICLAB_STREAMS", "0"),
        ("QUICLAB_CERT_DELAY", "200 ms"),
        ("QUICLAB_IP", "46"),
        ("SERVER_PARAMS", "--anything"),
    ] {
        assert!(matches!(parse(&[change]), Err(SettingsError::NotSupported { .. })), "{change:?}");
    }
    let pair = [("TESTCASE", "resumption"), ("QUICLAB_CERT_DELAY", "200")];
    assert!(matches!(parse(&pair), Err(SettingsError::NotSupported { .. })));
}

#[test]
fn what_it_cannot_read_is_a_failure() {
    for change in [
        ("ROLE", "observer"),
        ("REQUESTS", ""),
        ("REQUESTS", "https://server:4433/"),
        ("TESTCASE", "resumption"),
        ("QUICLAB_PORT", "65536"),
    ] {
        assert!(matches!(parse(&[change]), Err(SettingsError::Invalid { .. })), "{change:?}");
    }
}
