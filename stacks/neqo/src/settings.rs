//! The settings that this endpoint supports.

use std::ops::Deref;

use neqo_transport::CongestionControlAlgorithm;
use quiclab_contract::{
    Extras, Gso, Http, IpVersion, Pacing, Support,
    TestCase::{self, ChaCha20, Handshake, Http3, KeyUpdate, Perf, Resumption, Retry, Transfer, Version2, ZeroRtt},
    no_rules,
    perf::Load,
};

use crate::handshake::{self, KeyExchange};

/// Everything this endpoint was asked to do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Settings that every stack can be asked for.
    pub contract: quiclab_contract::Settings<CongestionControl>,
    /// Settings of handshakes, which few stacks have.
    pub handshake: handshake::Handshake,
}

impl Deref for Settings {
    type Target = quiclab_contract::Settings<CongestionControl>;

    fn deref(&self) -> &Self::Target {
        &self.contract
    }
}

/// A congestion control.
#[derive(Clone, Copy, Debug)]
pub struct CongestionControl {
    /// Its name in `QUICLAB_CCA`.
    pub name: &'static str,
    /// The variant of neqo's own enumeration that selects it.
    pub algorithm: CongestionControlAlgorithm,
}

/// A row of [`SUPPORT`].
const fn named(name: &'static str, algorithm: CongestionControlAlgorithm) -> (&'static str, CongestionControl) {
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
        named("cubic", CongestionControlAlgorithm::Cubic),
        named("reno", CongestionControlAlgorithm::NewReno),
    ],
    gso: &[Gso::Off],
    pacing: &[Pacing::User, Pacing::Off],
    ip: &[IpVersion::V4, IpVersion::V6],
    certificate_delay: false,
    extras: Extras { perf_loads: &[Load::Bulk, Load::Bidirectional, Load::Requests], ..Extras::NONE },
    rules: no_rules,
};

/// The settings of handshakes that this endpoint supports.
pub const HANDSHAKE: handshake::Support = handshake::Support {
    first_ack: &[],
    default_pto: false,
    key_exchanges: &[KeyExchange::X25519, KeyExchange::X25519MlKem768],
};

#[cfg(test)]
mod tests {
    use quiclab_contract::testing::{assert_not_supported, parse};

    use super::*;

    #[test]
    fn a_plain_transfer_uses_what_neqo_does_by_itself() {
        let settings = parse(&SUPPORT, &[]).unwrap();
        let found = (settings.http, settings.congestion_control.name, settings.gso, settings.pacing);
        assert_eq!(found, (Http::H3, "cubic", Gso::Off, Pacing::User));
    }

    #[test]
    fn what_it_cannot_do_is_refused_and_not_ignored() {
        let own = [
            ("QUICLAB_CCA", "bbr"),
            ("QUICLAB_GSO", "on"),
            ("QUICLAB_PACING", "txtime"),
            ("QUICLAB_CERT_DELAY", "200"),
            ("QUICLAB_HYSTART", "off"),
        ];
        assert_not_supported(&SUPPORT, &own);
    }
}
