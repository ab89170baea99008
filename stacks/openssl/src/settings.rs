//! What this endpoint can do.

use std::ops::Deref;

use quiclab_contract::{
    Extras, Gso, Http, IpVersion, Pacing, Support,
    TestCase::{self, ChaCha20, Handshake, KeyUpdate, Perf, Resumption, Retry, Transfer},
    no_rules,
    perf::Load,
};

use crate::handshake::{self, KeyExchange};

/// Everything this endpoint was asked to do, all of which it supports.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The settings of the endpoint contract.
    pub contract: quiclab_contract::Settings<()>,
    /// The settings of handshakes, which few stacks support.
    pub handshake: handshake::Handshake,
}

impl Deref for Settings {
    type Target = quiclab_contract::Settings<()>;

    fn deref(&self) -> &Self::Target {
        &self.contract
    }
}

const SERVER: &[TestCase] = &[Handshake, Transfer, Retry, ChaCha20, Resumption, Perf];
const CLIENT: &[TestCase] = &[Handshake, Transfer, Retry, ChaCha20, KeyUpdate, Resumption, Perf];

/// The settings that this endpoint supports.
pub const SUPPORT: Support<()> = Support {
    server: SERVER,
    client: CLIENT,
    http: &[Http::Hq],
    congestion_control: &[("reno", ())],
    gso: &[Gso::Off],
    pacing: &[Pacing::Off],
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
    fn a_plain_transfer_uses_what_openssl_does_by_itself() {
        let settings = parse(&SUPPORT, &[]).unwrap();
        assert_eq!((settings.http, settings.gso, settings.pacing), (Http::Hq, Gso::Off, Pacing::Off));
    }

    #[test]
    fn what_it_cannot_do_is_refused_and_not_ignored() {
        let own = [
            ("QUICLAB_HTTP", "h3"),
            ("QUICLAB_CCA", "cubic"),
            ("QUICLAB_GSO", "on"),
            ("QUICLAB_PACING", "user"),
            ("QUICLAB_CERT_DELAY", "200"),
            ("QUICLAB_HYSTART", "off"),
        ];
        assert_not_supported(&SUPPORT, &own);
    }
}
