//! What this endpoint can do.

use std::ops::Deref;

use quiclab_contract::{
    Asked, Extras, Gso, Http, IpVersion, Pacing, SettingsError, Support,
    TestCase::{ChaCha20, Handshake, KeyUpdate, Perf, Resumption, Retry, Transfer, Version2, ZeroRtt},
    perf::Load,
};

use crate::handshake::{self, FirstAck, KeyExchange};

type Contract = quiclab_contract::Settings<CongestionControl>;

/// Everything this endpoint was asked to do.
pub struct Settings {
    pub contract: Contract,
    pub handshake: handshake::Handshake,
}

impl Deref for Settings {
    type Target = Contract;

    fn deref(&self) -> &Contract {
        &self.contract
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    Cubic,
    Reno,
    Bbr,
}

/// What it can do. Beside perf it has HTTP/0.9 only, so nothing else looks at that setting.
pub const SUPPORT: Support<CongestionControl> = Support {
    server: &[Handshake, Transfer, Retry, ChaCha20, Resumption, ZeroRtt, Version2, Perf],
    client: &[Handshake, Transfer, Retry, ChaCha20, KeyUpdate, Resumption, ZeroRtt, Version2, Perf],
    http: &[Http::Hq],
    congestion_control: &[
        ("cubic", CongestionControl::Cubic),
        ("reno", CongestionControl::Reno),
        ("bbr", CongestionControl::Bbr),
    ],
    gso: &[Gso::On, Gso::Off],
    pacing: &[Pacing::User],
    ip: &[IpVersion::V4, IpVersion::V6],
    certificate_delay: true,
    extras: Extras { perf_loads: &Load::ALL, ..Extras::NONE },
    rules,
};

/// What it can do about handshakes.
pub const HANDSHAKE: handshake::Support = handshake::Support {
    first_ack: &[FirstAck::Instant, FirstAck::Wait],
    default_pto: true,
    key_exchanges: &[KeyExchange::X25519, KeyExchange::X25519MlKem768],
};

fn rules(settings: &mut Contract, asked: &Asked) -> Result<(), SettingsError> {
    // AWS-LC asks for a certificate in resumed sessions too, which need none.
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
        ];
        assert_not_supported(&SUPPORT, &own);
        let late = [("TESTCASE", "zerortt"), ("REQUESTS", "https://a/1 https://a/2"), ("QUICLAB_CERT_DELAY", "200")];
        assert_eq!(exit_status(&SUPPORT, &late), 127);
        assert_eq!(exit_status(&SUPPORT, &late[2..]), 0);
    }
}
