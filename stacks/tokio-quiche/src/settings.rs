//! What this endpoint can do.

use quiclab_contract::{
    Asked, Extras, Gso, Http, IpVersion, Pacing, SettingsError, Support,
    TestCase::{ChaCha20, Handshake, Http3, Perf, Resumption, Retry, Transfer, ZeroRtt},
    perf::Load,
};

/// Everything this endpoint was asked to do. Congestion controls have the names that quiche knows.
pub type Settings = quiclab_contract::Settings<&'static str>;

/// What it can do.
pub const SUPPORT: Support<&'static str> = Support {
    server: &[Handshake, Transfer, Retry, ChaCha20, Resumption, ZeroRtt, Http3, Perf],
    // The library starts a client's HTTP/3 after the handshake only: no early data.
    client: &[Handshake, Transfer, Retry, ChaCha20, Resumption, Http3, Perf],
    http: &[Http::H3],
    congestion_control: &[("cubic", "cubic"), ("reno", "reno"), ("bbr2", "bbr2")],
    gso: &[Gso::On, Gso::Off],
    // The library could hand send times over with bbr2, but does not let its planned times be seen.
    pacing: &[Pacing::Off],
    ip: &[IpVersion::V4, IpVersion::V6],
    certificate_delay: true,
    extras: Extras { perf_loads: &Load::ALL, ..Extras::NONE },
    rules,
};

fn rules(settings: &mut Settings, asked: &Asked) -> Result<(), SettingsError> {
    // The callback that is held back is asked for resumed sessions too, which need no certificate.
    if !settings.certificate_delay.is_zero() && settings.test_case.takes_two_connections() {
        return Err(asked.refusal("QUICLAB_CERT_DELAY", "0 with resumption and zerortt"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use quiclab_contract::testing::{assert_not_supported, exit_status, parse};

    use super::*;

    #[test]
    fn a_plain_transfer_uses_http3_and_cubic_with_offload() {
        let settings = parse(&SUPPORT, &[]).unwrap();
        let found = (settings.http, settings.congestion_control, settings.gso.is_on(), settings.pacing);
        assert_eq!(found, (Http::H3, "cubic", true, Pacing::Off));
    }

    #[test]
    fn what_it_cannot_do_is_refused_and_not_ignored() {
        let own = [
            ("TESTCASE", "keyupdate"),
            ("TESTCASE", "zerortt"),
            ("TESTCASE", "v2"),
            ("QUICLAB_CCA", "bbr"),
            ("QUICLAB_PACING", "txtime"),
            ("QUICLAB_HTTP", "hq"),
        ];
        assert_not_supported(&SUPPORT, &own);
        assert_eq!(exit_status(&SUPPORT, &[("TESTCASE", "zerortt"), ("ROLE", "server")]), 0);
        let two = ("REQUESTS", "https://server/a https://server/b");
        assert_eq!(exit_status(&SUPPORT, &[("TESTCASE", "resumption"), ("QUICLAB_CERT_DELAY", "200"), two]), 127);
        assert_eq!(exit_status(&SUPPORT, &[("TESTCASE", "resumption"), ("QUICLAB_CERT_DELAY", "0"), two]), 0);
    }
}
