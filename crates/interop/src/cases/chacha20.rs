//! `chacha20`: the cipher suite TLS_CHACHA20_POLY1305_SHA256.

use quiclab_wire::CipherSuite;

use crate::case::{Case, MIB, PLAIN, files};
use crate::checks::{Reasons, one_connection};
use crate::facts::Facts;

/// Number in TLS, RFC 8446 appendix B.4.
const CHACHA20: u16 = 0x1303;

pub(super) const CASE: Case = Case {
    name: "chacha20",
    abbreviation: "C20",
    description: "The client offers TLS_CHACHA20_POLY1305_SHA256 and no other cipher suite, and a file arrives.",
    client_test_case: "chacha20",
    files: files(1, MIB),
    judge,
    ..PLAIN
};

fn judge(_case: &Case, facts: &Facts, reasons: &mut Reasons) {
    let Some(connection) = one_connection(facts, reasons) else { return };
    if let Some(offer) = reasons.need(connection.tls.offer.as_ref(), || "no ClientHello could be read".to_owned()) {
        let offered: Vec<u16> = offer.cipher_suites.iter().copied().filter(|suite| !means_nothing(*suite)).collect();
        reasons.unless(offered == [CHACHA20], || {
            let names: Vec<String> = offered.iter().map(|suite| suite_name(*suite)).collect();
            format!(
                "expected the client to offer only TLS_CHACHA20_POLY1305_SHA256, found {}: {}",
                names.len(),
                names.join(", ")
            )
        });
    }
    if let Some(choice) = reasons.need(connection.tls.choice, || "no ServerHello could be read".to_owned()) {
        reasons.unless(choice.cipher_suite == CHACHA20, || {
            format!(
                "expected the server to choose TLS_CHACHA20_POLY1305_SHA256, found {}",
                suite_name(choice.cipher_suite)
            )
        });
    }
}

/// Values that are no cipher suites: those that keep servers used to what they do not know (RFC 8701 section 2), and
/// TLS_EMPTY_RENEGOTIATION_INFO_SCSV, by which a client says that it renegotiates safely (RFC 5746 section 3.3).
fn means_nothing(suite: u16) -> bool {
    const EMPTY_RENEGOTIATION_INFO: u16 = 0x00ff;
    let [high, low] = suite.to_be_bytes();
    suite == EMPTY_RENEGOTIATION_INFO || (high == low && low & 0x0f == 0x0a)
}

fn suite_name(number: u16) -> String {
    CipherSuite::from_number(number).map_or_else(|| format!("{number:#06x}"), |suite| suite.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::means_nothing;

    /// RFC 8701 section 2 lists sixteen, RFC 5746 section 3.3 one.
    #[test]
    fn seventeen_values_mean_nothing() {
        let values: Vec<u16> = (0..=u16::MAX).filter(|value| means_nothing(*value)).collect();
        assert_eq!((values.len(), values[0], values[1], values[16]), (17, 0x00ff, 0x0a0a, 0xfafa));
    }
}
