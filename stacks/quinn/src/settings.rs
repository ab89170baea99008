//! What this endpoint can do.

use std::ops::Deref;

use quiclab_contract::{
    Extras, Gso, Http, IpVersion, Pacing, Support,
    TestCase::{self, ChaCha20, Handshake, Http3, KeyUpdate, Perf, Resumption, Retry, Transfer, ZeroRtt},
    hq, no_rules,
    perf::{self, Load},
};

use crate::{
    handshake::{self, KeyExchange},
    library, release,
};

/// Everything this endpoint was asked to do.
#[derive(Clone, Debug)]
pub struct Settings {
    pub contract: quiclab_contract::Settings<CongestionControl>,
    pub handshake: handshake::Handshake,
}

impl Settings {
    /// The only protocol that TLS is to agree on.
    pub fn alpn(&self) -> Vec<Vec<u8>> {
        let protocol = match (self.test_case, self.http) {
            (TestCase::Perf, _) => perf::ALPN,
            (_, Http::Hq) => hq::ALPN,
            (_, Http::H3) => b"h3",
        };
        vec![protocol.to_vec()]
    }
}

impl Deref for Settings {
    type Target = quiclab_contract::Settings<CongestionControl>;

    fn deref(&self) -> &Self::Target {
        &self.contract
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    Cubic,
    Reno,
    /// Which version of it: [`library::BBR`].
    Bbr,
}

const CLIENT: &[TestCase] = &[Handshake, Transfer, Retry, ChaCha20, KeyUpdate, Resumption, Http3, Perf, ZeroRtt];
/// [`CLIENT`] but for the last.
const CLIENT_WITHOUT_EARLY_DATA: &[TestCase] = CLIENT.split_at(CLIENT.len() - 1).0;

/// What it can do. Its token bucket paces always.
pub const SUPPORT: Support<CongestionControl> = Support {
    server: &[Handshake, Transfer, Retry, ChaCha20, Resumption, ZeroRtt, Http3, Perf],
    client: if library::EARLY_DATA && release::EARLY_DATA { CLIENT } else { CLIENT_WITHOUT_EARLY_DATA },
    http: &[Http::H3, Http::Hq],
    congestion_control: &[
        ("cubic", CongestionControl::Cubic),
        ("reno", CongestionControl::Reno),
        (library::BBR, CongestionControl::Bbr),
    ],
    gso: &[Gso::On, Gso::Off],
    pacing: &[Pacing::User],
    ip: &[IpVersion::V4, IpVersion::V6],
    certificate_delay: release::CERTIFICATE_DELAY,
    extras: Extras { perf_loads: &Load::ALL, ..Extras::NONE },
    rules: no_rules,
};

/// What it can do about handshakes.
pub const HANDSHAKE: handshake::Support =
    handshake::Support { first_ack: &[], default_pto: true, key_exchanges: &[KeyExchange::X25519] };

#[cfg(test)]
mod tests {
    use quiclab_contract::testing::{assert_not_supported, exit_status, parse};

    use super::*;

    #[test]
    fn a_plain_transfer_uses_http3_and_cubic_with_offload() {
        let settings = parse(&SUPPORT, &[]).unwrap();
        let found = (settings.http, settings.congestion_control, settings.gso.is_on(), settings.pacing);
        assert_eq!(found, (Http::H3, CongestionControl::Cubic, true, Pacing::User));
        let bbr = parse(&SUPPORT, &[("QUICLAB_CCA", library::BBR)]).unwrap();
        assert_eq!(bbr.congestion_control, CongestionControl::Bbr);
    }

    #[test]
    fn what_it_cannot_do_is_refused_and_not_ignored() {
        let own =
            [("TESTCASE", "v2"), ("QUICLAB_CCA", "bbr2"), ("QUICLAB_PACING", "off"), ("QUICLAB_PACING", "txtime")];
        assert_not_supported(&SUPPORT, &own);
        assert_eq!(exit_status(&SUPPORT, &[("TESTCASE", "keyupdate"), ("ROLE", "server")]), 127);
    }
}
