//! What is honoured, what is refused with 127, what is refused with 1.

use super::*;
use crate::testing::{assert_not_supported, exit_status, support};

fn parse(changes: &[(&str, &str)]) -> Result<Settings<u8>, SettingsError> {
    crate::testing::parse(&support(), changes)
}

const TWO: (&str, &str) = ("REQUESTS", "https://server/a https://server/b");

#[test]
fn what_is_not_set_is_the_first_value_of_the_table_or_what_the_contract_says() {
    let settings = parse(&[]).unwrap();
    assert_eq!((settings.role, settings.test_case), (Role::Client, TestCase::Transfer));
    assert_eq!((settings.http, settings.congestion_control), (Http::H3, 1));
    assert_eq!((settings.gso.is_on(), settings.pacing), (true, Pacing::User));
    assert_eq!((settings.ip, settings.port, settings.streams), (IpVersion::V4, 443, None));
    assert_eq!(settings.certificate_delay, Duration::ZERO);
    let folders = (settings.www, settings.downloads, settings.certs);
    assert_eq!(folders, (PathBuf::from("/www"), PathBuf::from("/downloads"), PathBuf::from("/certs")));
    assert_eq!((settings.logs, settings.key_log, settings.qlog), (None, None, None));
}

#[test]
fn every_setting_is_honoured() {
    let settings = parse(&[
        ("QUICLAB_CCA", "bbr"),
        ("QUICLAB_CERT_DELAY", "200"),
        ("QUICLAB_GSO", "off"),
        ("QUICLAB_HTTP", "hq"),
        ("QUICLAB_IP", "6"),
        ("QUICLAB_PACING", "txtime"),
        ("QUICLAB_PORT", "4433"),
        ("QUICLAB_STREAMS", "4"),
        ("WWW", "/w"),
        ("DOWNLOADS", "/d"),
        ("CERTS", "/c"),
        ("LOGS", "/l"),
        ("SSLKEYLOGFILE", "/k"),
        ("QLOGDIR", "/q"),
        ("SERVER_PARAMS", ""),
    ])
    .unwrap();
    assert_eq!((settings.congestion_control, settings.certificate_delay), (2, Duration::from_millis(200)));
    assert_eq!((settings.gso.is_on(), settings.http), (false, Http::Hq));
    assert_eq!((settings.ip, settings.pacing), (IpVersion::V6, Pacing::TxTime));
    assert_eq!((settings.port, settings.streams), (4433, Some(4)));
    let folders = (settings.www, settings.downloads, settings.certs);
    assert_eq!(folders, (PathBuf::from("/w"), PathBuf::from("/d"), PathBuf::from("/c")));
    let logs = [settings.logs, settings.key_log, settings.qlog].map(Option::unwrap);
    assert_eq!(logs, ["/l", "/k", "/q"].map(PathBuf::from));
}

#[test]
fn empty_names_of_logs_are_no_logs() {
    let settings = parse(&[("LOGS", ""), ("SSLKEYLOGFILE", ""), ("QLOGDIR", "")]).unwrap();
    assert_eq!((settings.logs, settings.key_log, settings.qlog), (None, None, None));
}

#[test]
fn every_test_case_has_its_name() {
    for (name, test_case) in [
        ("handshake", TestCase::Handshake),
        ("transfer", TestCase::Transfer),
        ("retry", TestCase::Retry),
        ("chacha20", TestCase::ChaCha20),
        ("keyupdate", TestCase::KeyUpdate),
        ("resumption", TestCase::Resumption),
        ("zerortt", TestCase::ZeroRtt),
        ("v2", TestCase::Version2),
        ("http3", TestCase::Http3),
    ] {
        assert_eq!(parse(&[("TESTCASE", name), TWO]).unwrap().test_case, test_case, "{name}");
    }
}

#[test]
fn roles_have_test_cases_of_their_own() {
    let server = |name| exit_status(&support(), &[("ROLE", "server"), ("TESTCASE", name)]);
    assert_eq!((server("retry"), server("keyupdate")), (0, 127));
}

#[test]
fn what_a_stack_cannot_do_is_refused_and_not_ignored() {
    let own = [("QUICLAB_CCA", "reno"), ("QUICLAB_PACING", "off"), ("QUICLAB_GSO", "")];
    assert_not_supported(&support(), &own);
    let error = parse(&[("QUICLAB_CCA", "reno")]).unwrap_err();
    assert_eq!(error.to_string(), "QUICLAB_CCA: found \"reno\", this endpoint supports cubic, bbr");
    assert!(parse(&[("TESTCASE", "http3"), ("QUICLAB_HTTP", "hq")]).is_err());
    let without = Support { certificate_delay: false, ..support() };
    assert_eq!(exit_status(&without, &[("QUICLAB_CERT_DELAY", "200")]), 127);
    assert_eq!(exit_status(&without, &[("QUICLAB_CERT_DELAY", "0")]), 0);
}

#[test]
fn a_variable_that_must_be_set_is_not_guessed() {
    let variables = [("ROLE".to_owned(), "server".to_owned())];
    let found = Settings::parse(&support(), variables).unwrap_err();
    assert_eq!(found.exit_status(), 127);
    assert_eq!(Settings::parse(&support(), []).unwrap_err().exit_status(), 1);
}

#[test]
fn a_rule_sees_all_values_and_can_change_them() {
    fn rule(settings: &mut Settings<u8>, asked: &Asked) -> Result<(), SettingsError> {
        if asked.value("QUICLAB_PACING").is_none() {
            settings.pacing = Pacing::TxTime;
        }
        if settings.gso.is_on() { Ok(()) } else { Err(asked.refusal("QUICLAB_GSO", "on")) }
    }
    let support = Support { rules: rule, ..support() };
    assert_eq!(crate::testing::parse(&support, &[]).unwrap().pacing, Pacing::TxTime);
    assert_eq!(exit_status(&support, &[("QUICLAB_GSO", "off")]), 127);
}

#[test]
fn what_cannot_be_read_is_a_failure() {
    let changes = [
        ("ROLE", "observer"),
        ("REQUESTS", ""),
        ("QUICLAB_PORT", "65536"),
        ("TESTCASE", "resumption"),
        ("QUICLAB_STREAMS", "0"),
        ("QUICLAB_STREAMS", "all"),
        ("QUICLAB_CERT_DELAY", "200 ms"),
        ("QUICLAB_CERT_DELAY", "-1"),
    ];
    for change in changes {
        assert_eq!(exit_status(&support(), &[change]), 1, "{change:?}");
    }
}

#[test]
fn requests_are_split_where_there_are_two_connections() {
    let count = |changes: &[_]| {
        let settings = parse(changes).unwrap();
        let (first, second) = settings.connections();
        (first.len(), second.len())
    };
    assert_eq!(count(&[TWO]), (2, 0));
    assert_eq!(count(&[TWO, ("TESTCASE", "zerortt")]), (1, 1));
    assert_eq!(count(&[TWO, ("ROLE", "server")]), (0, 0));
}

#[test]
fn each_role_has_its_addresses() {
    let server = parse(&[("ROLE", "server"), ("QUICLAB_PORT", "4433")]).unwrap();
    assert_eq!((server.local(), server.host()), (SocketAddr::from(([0, 0, 0, 0], 4433)), ""));
    assert!(server.resolve().is_err());
    let client = parse(&[("REQUESTS", "https://[:]/a"), ("QUICLAB_IP", "6")]);
    assert!(client.is_err(), "a literal address of IPv6 is no host of the contract");
    let client = parse(&[("REQUESTS", "https://127.0.0.1:4433/a")]).unwrap();
    assert_eq!((client.local(), client.host()), (SocketAddr::from(([0, 0, 0, 0], 0)), "127.0.0.1"));
    assert_eq!(client.resolve().unwrap(), SocketAddr::from(([127, 0, 0, 1], 4433)));
}
