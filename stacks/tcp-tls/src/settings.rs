//! What this endpoint can do.

use std::{collections::BTreeMap, ops::Deref};

use quiclab_contract::{Extras, Gso, Http, IpVersion, Pacing, SettingsError, Support, TestCase, no_rules, perf::Load};

/// What it can do by the contract that endpoints in Rust share. That has no word for HTTP/2 and other habits of TCP: [`Settings::parse`].
const SUPPORT: Support<&'static str> = Support {
    server: &[TestCase::Perf],
    client: &[TestCase::Perf],
    http: &[Http::Hq],
    congestion_control: &[("cubic", "cubic"), ("reno", "reno"), ("bbr", "bbr")],
    gso: &[Gso::On],
    pacing: &[Pacing::Off],
    ip: &[IpVersion::V4, IpVersion::V6],
    certificate_delay: false,
    extras: Extras { perf_loads: &Load::WITHOUT_PERIODIC, ..Extras::NONE },
    rules: no_rules,
};

/// The variables with the prefix `QUICLAB_` that this endpoint looks at.
const KNOWN: [&str; 15] = [
    "QUICLAB_CCA",
    "QUICLAB_CCA_SET",
    "QUICLAB_CERT_DELAY",
    "QUICLAB_GSO",
    "QUICLAB_HTTP",
    "QUICLAB_IP",
    "QUICLAB_PACING",
    "QUICLAB_PERF_DURATION",
    "QUICLAB_PERF_INTERVAL",
    "QUICLAB_PERF_LATENCIES",
    "QUICLAB_PERF_LOAD",
    "QUICLAB_PERF_PROGRESS",
    "QUICLAB_PERF_REQUEST",
    "QUICLAB_PERF_RESPONSE",
    "QUICLAB_PORT",
];
/// Those and the number of streams.
const STREAMS: &str = "QUICLAB_STREAMS";

/// Everything this endpoint was asked to do. If the value exists, it can be done.
#[derive(Clone, Debug)]
pub struct Settings {
    contract: quiclab_contract::Settings<&'static str>,
    /// False: nothing but TCP.
    pub has_tls: bool,
    /// False: the route of each packet sets the congestion control.
    pub sets_congestion_control: bool,
}

impl Deref for Settings {
    type Target = quiclab_contract::Settings<&'static str>;

    fn deref(&self) -> &Self::Target {
        &self.contract
    }
}

impl Settings {
    /// Reads the endpoint contract.
    ///
    /// # Errors
    /// As the contract has them.
    pub fn parse(variables: impl IntoIterator<Item = (String, String)>) -> Result<Self, SettingsError> {
        let mut variables: BTreeMap<_, _> = variables.into_iter().collect();
        let refuse = |variable: &str, found: &str, supported: &str| SettingsError::NotSupported {
            variable: variable.to_owned(),
            found: found.to_owned(),
            supported: supported.to_owned(),
        };
        for (name, found) in &variables {
            if name.starts_with("QUICLAB_") && !KNOWN.contains(&name.as_str()) && name != STREAMS {
                return Err(refuse(name, found, "no such setting"));
            }
        }
        let mut take = |name: &str, supported: &[&str], otherwise: &str| match variables.remove(name) {
            Some(found) if !supported.contains(&found.as_str()) => Err(refuse(name, &found, otherwise)),
            found => Ok(found.unwrap_or_default()),
        };
        take("QUICLAB_HTTP", &["h2"], "h2")?;
        let sets_congestion_control = take("QUICLAB_CCA_SET", &["route"], "route")?.is_empty();
        let server = take("SERVER_PARAMS", &["", "plain"], "nothing, or plain: no TLS")?;
        let client = take("CLIENT_PARAMS", &["", "plain"], "nothing, or plain: no TLS")?;
        let is_client = variables.get("ROLE").is_some_and(|role| role == "client");
        let has_tls = if is_client { client.is_empty() } else { server.is_empty() };
        Ok(Self { contract: quiclab_contract::Settings::parse(&SUPPORT, variables)?, has_tls, sets_congestion_control })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(changes: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let plain = [
            ("ROLE", "client"),
            ("TESTCASE", "perf"),
            ("REQUESTS", "https://server:4433/1"),
            ("QUICLAB_PERF_REQUEST", "8"),
            ("QUICLAB_PERF_RESPONSE", "1"),
        ];
        let variables: BTreeMap<_, _> =
            plain.iter().chain(changes).map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Settings::parse(variables)
    }

    #[test]
    fn without_a_word_it_is_tls_with_cubic() {
        let settings = parse(&[]).unwrap();
        assert!(settings.has_tls && settings.sets_congestion_control);
        assert_eq!(settings.congestion_control, "cubic");
        for value in
            [("QUICLAB_HTTP", "h2"), ("QUICLAB_GSO", "on"), ("QUICLAB_PACING", "off"), ("QUICLAB_CERT_DELAY", "0")]
        {
            assert!(parse(&[value]).unwrap().has_tls, "{value:?}");
        }
        assert!(!parse(&[("QUICLAB_CCA_SET", "route")]).unwrap().sets_congestion_control);
    }

    #[test]
    fn it_has_all_loads() {
        for (name, load) in ["bulk", "bidirectional", "requests", "handshakes"].into_iter().zip(Load::WITHOUT_PERIODIC)
        {
            let settings = parse(&[("QUICLAB_PERF_LOAD", name), ("QUICLAB_PERF_DURATION", "9")]).unwrap();
            assert_eq!(settings.perf_load, load);
        }
    }

    #[test]
    fn each_role_has_its_own_parameters() {
        assert!(!parse(&[("CLIENT_PARAMS", "plain")]).unwrap().has_tls);
        assert!(parse(&[("SERVER_PARAMS", "plain")]).unwrap().has_tls);
        let server = [("ROLE", "server"), ("SERVER_PARAMS", "plain")];
        // The sizes belong to a client.
        assert!(parse(&server).is_err());
        let variables = [("TESTCASE", "perf"), server[0], server[1]];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert!(!Settings::parse(variables).unwrap().has_tls);
    }

    #[test]
    fn what_it_cannot_do_is_refused() {
        for value in [
            ("TESTCASE", "transfer"),
            ("QUICLAB_HTTP", "hq"),
            ("QUICLAB_HTTP", "h3"),
            ("QUICLAB_CCA", "copa"),
            ("QUICLAB_CCA_SET", "yes"),
            ("QUICLAB_GSO", "off"),
            ("QUICLAB_PACING", "user"),
            ("QUICLAB_HYSTART", "off"),
            ("QUICLAB_MTU", "9000"),
            ("QUICLAB_CERT_DELAY", "5"),
            ("QUICLAB_NO_SUCH_SETTING", "1"),
            ("CLIENT_PARAMS", "tls"),
        ] {
            assert_eq!(parse(&[value]).map_err(|error| error.exit_status()).err(), Some(127), "{value:?}");
        }
    }
}
