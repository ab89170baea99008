//! What this endpoint can do.

use quiclab_contract::{
    Extras, Gso, Http, IpVersion, Pacing, Support,
    TestCase::{ChaCha20, Handshake, KeyUpdate, Perf, Retry, Transfer},
    no_rules,
    perf::Load,
};

/// Everything this endpoint was asked to do.
pub type Settings = quiclab_contract::Settings<CongestionControl>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    Cubic,
    /// Its version 2.
    Bbr,
}

/// What it can do.
pub const SUPPORT: Support<CongestionControl> = Support {
    server: &[Handshake, Transfer, Retry, ChaCha20, Perf],
    client: &[Handshake, Transfer, Retry, ChaCha20, KeyUpdate, Perf],
    http: &[Http::Hq],
    congestion_control: &[("cubic", CongestionControl::Cubic), ("bbr2", CongestionControl::Bbr)],
    gso: &[Gso::On, Gso::Off],
    pacing: &[Pacing::User],
    ip: &[IpVersion::V4, IpVersion::V6],
    certificate_delay: true,
    extras: Extras { perf_loads: &Load::ALL, ..Extras::NONE },
    rules: no_rules,
};

#[cfg(test)]
mod tests {
    use quiclab_contract::testing::{assert_not_supported, exit_status, parse};

    use super::*;

    #[test]
    fn a_plain_transfer_uses_cubic_with_offload() {
        let settings = parse(&SUPPORT, &[]).unwrap();
        let found = (settings.http, settings.congestion_control, settings.gso.is_on(), settings.pacing);
        assert_eq!(found, (Http::Hq, CongestionControl::Cubic, true, Pacing::User));
    }

    #[test]
    fn what_it_cannot_do_is_refused_and_not_ignored() {
        let own = [
            ("TESTCASE", "resumption"),
            ("TESTCASE", "zerortt"),
            ("TESTCASE", "v2"),
            ("TESTCASE", "http3"),
            ("QUICLAB_CCA", "reno"),
            ("QUICLAB_CCA", "bbr"),
            ("QUICLAB_PACING", "off"),
            ("QUICLAB_PACING", "txtime"),
            ("QUICLAB_HTTP", "h3"),
        ];
        assert_not_supported(&SUPPORT, &own);
        assert_eq!(exit_status(&SUPPORT, &[("TESTCASE", "keyupdate"), ("ROLE", "server")]), 127);
    }
}
