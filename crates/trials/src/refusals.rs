//! What a stack does not claim, and must refuse.

use std::collections::BTreeSet;

use quiclab_experiment::{
    run::word,
    stack::{CONGESTION_CONTROL, CertificateDelay, Role, StackManifest},
};

use super::claims::SEGMENTS;

/// A test case that nobody has; drawn once, by hand.
const NO_TEST_CASE: &str = "t7f3a9c1e";

/// Values of the contract's settings that a stack may claim, by variable.
const KNOWN: &[(&str, &[&str])] = &[
    ("QUICLAB_CCA", CONGESTION_CONTROL),
    ("QUICLAB_GSO", &["off", "on", "paced"]),
    ("QUICLAB_PACING", &["off", "user", "txtime"]),
    ("QUICLAB_HTTP", &["h3", "hq", "h2"]),
    ("QUICLAB_IP", &["4", "6"]),
    ("QUICLAB_TXTIME_CLOCK", &["tai"]),
    ("QUICLAB_HYSTART", &["on", "off"]),
    ("QUICLAB_GSO_RATE", &[]),
    (FIRST_ACK, &["instant", "padded", "wait"]),
    (KEY_EXCHANGE, &["x25519", "x25519mlkem768"]),
];
const FIRST_ACK: &str = "QUICLAB_FIRST_ACK";
/// What only clients are asked for.
pub const KEY_EXCHANGE: &str = "QUICLAB_KEY_EXCHANGE";
/// What only servers are asked for.
pub const OF_SERVERS: [&str; 2] = ["QUICLAB_CERT_DELAY", FIRST_ACK];

/// Variables with values that a stack must refuse: what nobody has, and what it does not claim.
pub fn unclaimed(manifest: &StackManifest) -> Vec<(String, String)> {
    let mut asked: Vec<(String, String)> = vec![("TESTCASE".into(), NO_TEST_CASE.into())];
    // The interop runner's contract has no other variable that could be refused.
    if manifest.is_of_interop_runner() {
        return asked;
    }
    asked.extend([
        ("QUICLAB_NO_SUCH_SETTING".into(), "1".into()),
        ("SERVER_PARAMS".into(), "-x".into()),
        ("CLIENT_PARAMS".into(), "-x".into()),
    ]);
    for (variable, values) in KNOWN {
        let claimed = claimed(manifest, variable);
        let unclaimed = values.iter().filter(|value| !claimed.contains(**value)).chain([&"nonsense"]);
        asked.extend(unclaimed.map(|value| ((*variable).to_owned(), (*value).to_owned())));
    }
    if !manifest.gso_segments {
        asked.push(("QUICLAB_GSO_SEGMENTS".into(), SEGMENTS.to_string()));
    }
    if manifest.certificate_delay == CertificateDelay::None && manifest.has(Role::Server) {
        asked.push(("QUICLAB_CERT_DELAY".into(), "200".into()));
    }
    if !manifest.default_pto {
        asked.push(("QUICLAB_DEFAULT_PTO".into(), "300".into()));
    }
    if !manifest.has(Role::Client) {
        asked.retain(|(variable, _)| variable != KEY_EXCHANGE);
    }
    if !manifest.has(Role::Server) {
        asked.retain(|(variable, _)| !OF_SERVERS.contains(&variable.as_str()));
    }
    asked
}

/// The values of a variable of the contract that a stack claims.
pub fn claimed(manifest: &StackManifest, variable: &str) -> BTreeSet<String> {
    match variable {
        "QUICLAB_CCA" => manifest.congestion_control.iter().cloned().collect(),
        "QUICLAB_GSO" => manifest.gso.iter().map(word).collect(),
        "QUICLAB_PACING" => manifest.pacing.iter().map(word).collect(),
        "QUICLAB_HTTP" => manifest.http.iter().map(word).collect(),
        "QUICLAB_TXTIME_CLOCK" => manifest.txtime_clocks.iter().map(word).collect(),
        FIRST_ACK => manifest.first_ack.iter().map(word).collect(),
        KEY_EXCHANGE => manifest.key_exchanges.iter().map(word).collect(),
        "QUICLAB_HYSTART" if manifest.hystart => ["on", "off"].map(str::to_owned).into(),
        "QUICLAB_HYSTART" | "QUICLAB_GSO_RATE" => BTreeSet::new(),
        _ => manifest.ip.iter().map(word).collect(),
    }
}
