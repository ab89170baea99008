//! What this endpoint can do.

use quiclab_contract::{
    Extras, Gso, Http, IpVersion, Pacing, Support,
    TestCase::{ChaCha20, Handshake, KeyUpdate, Resumption, Retry, Transfer, Version2, ZeroRtt},
    no_rules,
};

/// Everything this endpoint was asked to do.
pub type Settings = quiclab_contract::Settings<CongestionControl>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    Cubic,
    Reno,
    Bbr,
}

/// What it can do. It has HTTP/0.9 only, so nothing else looks at that setting.
pub const SUPPORT: Support<CongestionControl> = Support {
    server: &[Handshake, Transfer, Retry, ChaCha20, Resumption, ZeroRtt, Version2],
    client: &[Handshake, Transfer, Retry, ChaCha20, KeyUpdate, Resumption, ZeroRtt, Version2],
    http: &[Http::Hq],
    congestion_control: &[
        ("cubic", CongestionControl::Cubic),
        ("reno", CongestionControl::Reno),
        ("bbr", CongestionControl::Bbr),
    ],
    gso: &[Gso::On, Gso::Off],
    pacing: &[Pacing::User],
    ip: &[IpVersion::V4, IpVersion::V6],
    certificate_delay: false,
    extras: Extras::NONE,
    rules: no_rules,
};

#[cfg(test)]
mod tests {
    use quiclab_contract::testing::{assert_not_supported, parse};

    use super::*;

    #[test]
    fn a_plain_transfer_uses_what_ngtcp2_does_by_itself() {
        let settings = parse(&SUPPORT, &[]).unwrap();
        let found = (settings.http, settings.congestion_control, settings.gso.is_on(), settings.pacing);
        assert_eq!(found, (Http::Hq, CongestionControl::Cubic, true, Pacing::User));
    }

    #[test]
    fn what_it_cannot_do_is_refused_and_not_ignored() {
        let own = [
            ("TESTCASE", "http3"),
            ("QUICLAB_CCA", "bbr2"),
            ("QUICLAB_PACING", "off"),
            ("QUICLAB_PACING", "txtime"),
            ("QUICLAB_HTTP", "h3"),
            ("QUICLAB_CERT_DELAY", "200"),
        ];
        assert_not_supported(&SUPPORT, &own);
    }
}
