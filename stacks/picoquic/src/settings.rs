//! What this endpoint can do.

use std::ffi::CStr;

use quiclab_contract::{
    Asked, Extras, Gso, Http, IpVersion, Pacing, SettingsError, Support,
    TestCase::{self, ChaCha20, Handshake, Http3, KeyUpdate, Perf, Resumption, Retry, Transfer, Version2, ZeroRtt},
    perf::Load,
};

/// Everything this endpoint was asked to do.
pub type Settings = quiclab_contract::Settings<CongestionControl>;

/// A congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionControl {
    /// As in `QUICLAB_CCA`.
    pub name: &'static str,
    /// As picoquic calls it.
    pub algorithm: &'static CStr,
}

/// A row of [`SUPPORT`].
const fn named(name: &'static str, algorithm: &'static CStr) -> (&'static str, CongestionControl) {
    (name, CongestionControl { name, algorithm })
}

const SERVER: &[TestCase] = &[Handshake, Transfer, Http3, Retry, ChaCha20, Resumption, ZeroRtt, Version2, Perf];
const CLIENT: &[TestCase] =
    &[Handshake, Transfer, Http3, Retry, ChaCha20, KeyUpdate, Resumption, ZeroRtt, Version2, Perf];

/// The settings that this endpoint supports.
pub const SUPPORT: Support<CongestionControl> = Support {
    server: SERVER,
    client: CLIENT,
    http: &[Http::H3, Http::Hq],
    congestion_control: &[
        named("bbr3", c"bbr"),
        named("bbr", c"bbr1"),
        named("cubic", c"cubic"),
        named("reno", c"newreno"),
        named("dcubic", c"dcubic"),
        named("prague", c"prague"),
        named("fast", c"fast"),
        named("c4", c"c4"),
    ],
    gso: &[Gso::On, Gso::Off],
    pacing: &[Pacing::User],
    ip: &[IpVersion::V4, IpVersion::V6],
    certificate_delay: true,
    extras: Extras { perf_loads: &[Load::Bulk, Load::Bidirectional, Load::Requests], ..Extras::NONE },
    rules,
};

fn rules(settings: &mut Settings, asked: &Asked) -> Result<(), SettingsError> {
    // What waits is asked in resumed sessions too, which need no certificate.
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
    fn a_plain_transfer_uses_what_picoquic_does_by_itself() {
        let settings = parse(&SUPPORT, &[]).unwrap();
        let found = (settings.http, settings.congestion_control.algorithm, settings.gso.is_on(), settings.pacing);
        assert_eq!(found, (Http::H3, c"bbr", true, Pacing::User));
    }

    #[test]
    fn what_it_cannot_do_is_refused_and_not_ignored() {
        let own =
            [("QUICLAB_CCA", "bbr2"), ("QUICLAB_PACING", "off"), ("QUICLAB_PACING", "txtime"), ("QUICLAB_HTTP", "h2")];
        assert_not_supported(&SUPPORT, &own);
        let late = [("TESTCASE", "zerortt"), ("REQUESTS", "https://a/1 https://a/2"), ("QUICLAB_CERT_DELAY", "200")];
        assert_eq!(exit_status(&SUPPORT, &late), 127);
        assert_eq!(exit_status(&SUPPORT, &late[2..]), 0);
    }
}
