//! What this endpoint can do.

use quiclab_contract::{
    Extras, Gso, Http, IpVersion, Pacing, Support,
    TestCase::{ChaCha20, Handshake, Http3, Perf, Resumption, Retry, Transfer, ZeroRtt},
    no_rules,
    perf::Load,
};
use tquic::CongestionControlAlgorithm;

/// Everything this endpoint was asked to do.
pub type Settings = quiclab_contract::Settings<CongestionControlAlgorithm>;

/// What it can do.
pub const SUPPORT: Support<CongestionControlAlgorithm> = Support {
    // In `chacha20` a server need do nothing: BoringSSL takes what it is offered.
    server: &[Handshake, Transfer, Retry, ChaCha20, Resumption, ZeroRtt, Http3, Perf],
    client: &[Handshake, Transfer, Retry, Resumption, ZeroRtt, Http3, Perf],
    http: &[Http::H3, Http::Hq],
    congestion_control: &[
        ("bbr", CongestionControlAlgorithm::Bbr),
        ("bbr3", CongestionControlAlgorithm::Bbr3),
        ("cubic", CongestionControlAlgorithm::Cubic),
        ("copa", CongestionControlAlgorithm::Copa),
    ],
    gso: &[Gso::Off, Gso::On],
    pacing: &[Pacing::User, Pacing::Off],
    ip: &[IpVersion::V4, IpVersion::V6],
    certificate_delay: false,
    extras: Extras { perf_loads: &Load::WITHOUT_PERIODIC, ..Extras::NONE },
    rules: no_rules,
};

#[cfg(test)]
mod tests {
    use quiclab_contract::testing::{assert_not_supported, exit_status, parse};

    use super::*;

    #[test]
    fn a_plain_transfer_uses_what_tquic_does_by_itself() {
        let settings = parse(&SUPPORT, &[]).unwrap();
        assert_eq!((settings.congestion_control, settings.gso.is_on()), (CongestionControlAlgorithm::Bbr, false));
        assert_eq!((settings.pacing, settings.http), (Pacing::User, Http::H3));
    }

    #[test]
    fn what_it_cannot_do_is_refused_and_not_ignored() {
        let own = [
            ("TESTCASE", "keyupdate"),
            ("TESTCASE", "chacha20"),
            ("TESTCASE", "v2"),
            ("QUICLAB_CCA", "reno"),
            ("QUICLAB_PACING", "txtime"),
            ("QUICLAB_CERT_DELAY", "200"),
        ];
        assert_not_supported(&SUPPORT, &own);
        assert_eq!(exit_status(&SUPPORT, &[("TESTCASE", "chacha20"), ("ROLE", "server")]), 0);
    }
}
