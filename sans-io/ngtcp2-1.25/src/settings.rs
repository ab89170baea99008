//! What this endpoint can do.

use quiclab_sans_io::contract::{
    Extras, Gso, Http, IpVersion, Pacing, Support,
    TestCase::{Handshake, Transfer},
    no_rules,
};

/// Everything this endpoint was asked to do.
pub type Settings = quiclab_sans_io::contract::Settings<CongestionControl>;

/// What ngtcp2 calls NGTCP2_CC_ALGO_.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    Cubic,
    Reno,
    Bbr,
}

/// What it can do; stack.toml says the same.
pub const SUPPORT: Support<CongestionControl> = Support {
    server: &[Handshake, Transfer],
    client: &[Handshake, Transfer],
    http: &[Http::H3, Http::Hq],
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
    use quiclab_sans_io::contract::testing::{assert_not_supported, parse};

    use super::*;

    #[test]
    fn a_plain_transfer_uses_what_ngtcp2_does_by_itself() {
        let settings = parse(&SUPPORT, &[]).unwrap();
        let found = (settings.http, settings.congestion_control, settings.gso.is_on(), settings.pacing);
        assert_eq!(found, (Http::H3, CongestionControl::Cubic, true, Pacing::User));
    }

    #[test]
    fn what_it_cannot_do_is_refused_and_not_ignored() {
        let own = [
            ("TESTCASE", "retry"),
            ("TESTCASE", "zerortt"),
            ("QUICLAB_CCA", "bbr2"),
            ("QUICLAB_PACING", "off"),
            ("QUICLAB_PACING", "txtime"),
            ("QUICLAB_GSO", "paced"),
            ("QUICLAB_GSO_SEGMENTS", "10"),
            ("QUICLAB_CERT_DELAY", "200"),
        ];
        assert_not_supported(&SUPPORT, &own);
    }
}
