//! What this endpoint can do.

use quiclab_contract::{
    Extras, Gso, Http, IpVersion, Pacing, Support,
    TestCase::{self, ChaCha20, Handshake, KeyUpdate, Perf, Resumption, Retry, Transfer, Version2, ZeroRtt},
    no_rules,
    perf::Load,
};

/// Everything this endpoint was asked to do.
pub type Settings = quiclab_contract::Settings<CongestionControl>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    Cubic,
    Bbr,
}

/// What it can do.
pub const SUPPORT: Support<CongestionControl> = Support {
    server: &[Handshake, Transfer, Retry, ChaCha20, Resumption, ZeroRtt, Version2, Perf],
    client: CLIENT,
    http: &[Http::Hq],
    congestion_control: &[("cubic", CongestionControl::Cubic), ("bbr", CongestionControl::Bbr)],
    gso: &[Gso::On],
    pacing: &[Pacing::User, Pacing::Off],
    ip: &[IpVersion::V4, IpVersion::V6],
    certificate_delay: true,
    extras: Extras { perf_loads: &Load::WITHOUT_PERIODIC, ..Extras::NONE },
    rules: no_rules,
};

const CLIENT: &[TestCase] = &[Handshake, Transfer, Retry, ChaCha20, KeyUpdate, Resumption, ZeroRtt, Version2, Perf];

#[cfg(test)]
mod tests {
    use quiclab_contract::testing::{assert_not_supported, exit_status, parse};

    use super::*;

    #[test]
    fn a_plain_transfer_uses_cubic_with_offload_and_pacing() {
        let settings = parse(&SUPPORT, &[]).unwrap();
        let found = (settings.http, settings.congestion_control, settings.gso.is_on(), settings.pacing);
        assert_eq!(found, (Http::Hq, CongestionControl::Cubic, true, Pacing::User));
    }

    #[test]
    fn what_it_cannot_do_is_refused_and_not_ignored() {
        let own = [
            ("TESTCASE", "http3"),
            ("QUICLAB_CCA", "reno"),
            ("QUICLAB_CCA", "bbr2"),
            ("QUICLAB_GSO", "off"),
            ("QUICLAB_PACING", "txtime"),
            ("QUICLAB_HTTP", "h3"),
        ];
        assert_not_supported(&SUPPORT, &own);
        assert_eq!(exit_status(&SUPPORT, &[("TESTCASE", "keyupdate"), ("ROLE", "server")]), 127);
    }
}
