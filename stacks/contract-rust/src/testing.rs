//! For tests of the tables of stacks.

use std::collections::BTreeMap;

use crate::{Settings, SettingsError, Support};

/// The settings of a client that fetches one file by the stack's defaults, but for `changes`.
///
/// # Errors
/// Those of [`Settings::parse`].
pub fn parse<C: Copy>(support: &Support<C>, changes: &[(&str, &str)]) -> Result<Settings<C>, SettingsError> {
    let plain = [("ROLE", "client"), ("TESTCASE", "transfer"), ("REQUESTS", "https://server:4433/file10M")];
    let variables: BTreeMap<_, _> =
        plain.iter().chain(changes).map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Settings::parse(support, variables)
}

/// The exit status that such a client is refused with; 0: it is not refused.
pub fn exit_status<C: Copy>(support: &Support<C>, changes: &[(&str, &str)]) -> u8 {
    parse(support, changes).map_or_else(|error| error.exit_status(), |_| 0)
}

/// Asserts that each of `values` alone is refused with 127, as is what no stack has.
///
/// # Panics
/// Where one is not.
pub fn assert_not_supported<C: Copy>(support: &Support<C>, values: &[(&str, &str)]) {
    let never = [
        ("TESTCASE", "no-such-case"),
        ("TESTCASE", ""),
        ("QUICLAB_CCA", "CUBIC"),
        ("QUICLAB_GSO", "both"),
        ("QUICLAB_GSO_RATE", "fast"),
        ("QUICLAB_HYSTART", "maybe"),
        ("QUICLAB_TXTIME_CLOCK", "realtime"),
        ("QUICLAB_HTTP", "h2"),
        ("QUICLAB_IP", "46"),
        ("QUICLAB_NO_SUCH_SETTING", "1"),
        ("SERVER_PARAMS", "--anything"),
        ("CLIENT_PARAMS", "--anything"),
    ];
    for &value in never.iter().chain(values) {
        assert_eq!(exit_status(support, &[value]), crate::NOT_SUPPORTED, "{value:?}");
    }
}

#[cfg(test)]
pub(crate) use own::*;

#[cfg(test)]
mod own {
    use std::{fs, path::PathBuf};

    use crate::{
        Clock, Extras, Gso, GsoRate, Http, IpVersion, Pacing, Request, Support, TestCase, no_rules, perf::Load,
    };

    /// A stack that can do much.
    pub(crate) fn support() -> Support<u8> {
        use TestCase::{ChaCha20, Handshake, Http3, KeyUpdate, Perf, Resumption, Retry, Transfer, Version2, ZeroRtt};
        Support {
            server: &[Handshake, Transfer, Retry, Http3, Perf],
            client: &[Handshake, Transfer, Retry, ChaCha20, KeyUpdate, Resumption, ZeroRtt, Version2, Http3, Perf],
            http: &[Http::H3, Http::Hq],
            congestion_control: &[("cubic", 1), ("bbr", 2)],
            gso: &[Gso::On, Gso::Off, Gso::Paced],
            pacing: &[Pacing::User, Pacing::TxTime],
            ip: &[IpVersion::V4, IpVersion::V6],
            certificate_delay: true,
            extras: Extras {
                gso_segments: true,
                gso_rates: &[GsoRate::Mark, GsoRate::Message],
                txtime_clocks: &[Clock::Monotonic, Clock::Tai],
                hystart: true,
                perf_loads: &Load::ALL,
            },
            rules: no_rules,
        }
    }

    pub(crate) fn request(path: &str) -> Request {
        let file_name = path.rsplit('/').next().unwrap_or_default();
        Request { host: "server".to_owned(), port: 4433, path: path.to_owned(), file_name: file_name.to_owned() }
    }

    /// An empty folder, until it is dropped.
    pub(crate) struct Folder(pub(crate) PathBuf);

    impl Folder {
        pub(crate) fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("quiclab-contract-{}-{name}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
