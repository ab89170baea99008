//! What the environment asks for, and what this endpoint answers: yes, or "not supported".

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    path::PathBuf,
    time::Duration,
};

use crate::request::Request;

/// Everything this endpoint was asked to do. If the value exists, it can be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub role: Role,
    pub test_case: TestCase,
    /// What the client fetches, in order. Empty for a server, never empty for a client.
    pub requests: Vec<Request>,
    /// Folder the server answers from.
    pub www: PathBuf,
    /// Folder the client stores bodies in, each under the last part of its URL's path.
    pub downloads: PathBuf,
    /// Folder of `cert.pem` (leaf first), `priv.key` and `ca.pem`.
    pub certs: PathBuf,
    /// Where TLS secrets are appended; `None`: nowhere.
    pub key_log: Option<String>,
    /// Folder for one qlog file per connection; `None`: no qlog.
    pub qlog: Option<String>,
    /// One of cubic, reno, bbr2: names that quiche knows.
    pub congestion_control: &'static str,
    /// True: packets of one batch leave in one system call, cut apart by the kernel (UDP_SEGMENT).
    pub gso: bool,
    /// Most requests a client has open at the same time; `None`: as many as the server allows.
    pub streams: Option<usize>,
    pub ip: IpVersion,
    /// How long the server's certificate takes to come.
    pub certificate_delay: Duration,
    /// UDP port the server listens on.
    pub port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Server,
    Client,
}

/// What is to happen beside a plain transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestCase {
    /// All requests over one connection: `transfer`, `handshake`, `http3`.
    Plain,
    /// The server answers the first Initial with a Retry packet.
    Retry,
    /// The client offers TLS_CHACHA20_POLY1305_SHA256 only.
    ChaCha20,
    /// All requests but the first over a second connection, by the session of the first one.
    Resumption,
    /// A server's part only: it takes early data.
    ZeroRtt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    V4,
    V6,
}

impl IpVersion {
    /// The address that stands for all of the family.
    pub fn unspecified(self) -> IpAddr {
        match self {
            Self::V4 => Ipv4Addr::UNSPECIFIED.into(),
            Self::V6 => Ipv6Addr::UNSPECIFIED.into(),
        }
    }
}

/// Why the settings were refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Well-formed, but not something this endpoint can do: exit status 127.
    #[error("{variable}: found {found:?}, this endpoint supports {supported}")]
    NotSupported { variable: String, found: String, supported: &'static str },
    /// Not well-formed: exit status 1.
    #[error("{variable}: found {found:?}, expected {expected}")]
    Invalid { variable: &'static str, found: String, expected: &'static str },
}

/// The variables with the prefix `QUICLAB_` that are understood here. Any other one is a setting that would be ignored.
const KNOWN: [&str; 8] = [
    "QUICLAB_CCA",
    "QUICLAB_CERT_DELAY",
    "QUICLAB_GSO",
    "QUICLAB_HTTP",
    "QUICLAB_IP",
    "QUICLAB_PACING",
    "QUICLAB_PORT",
    "QUICLAB_STREAMS",
];

impl Settings {
    /// Reads the endpoint contract from environment variables.
    ///
    /// # Errors
    /// [`SettingsError::NotSupported`] for whatever this endpoint cannot honour, [`SettingsError::Invalid`] for what
    /// cannot be understood.
    pub fn parse(variables: impl IntoIterator<Item = (String, String)>) -> Result<Self, SettingsError> {
        let variables: BTreeMap<String, String> = variables.into_iter().collect();
        let value = |name: &str| variables.get(name).map(String::as_str);
        let folder = |name, default: &str| PathBuf::from(value(name).unwrap_or(default));
        let text = |name| value(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let refuse = |name: &str, supported| SettingsError::NotSupported {
            variable: name.to_owned(),
            found: value(name).unwrap_or_default().to_owned(),
            supported,
        };
        let invalid = |variable: &'static str, expected| SettingsError::Invalid {
            variable,
            found: value(variable).unwrap_or_default().to_owned(),
            expected,
        };

        for name in variables.keys() {
            if name.starts_with("QUICLAB_") && !KNOWN.contains(&name.as_str()) {
                return Err(refuse(name, "no such setting"));
            }
        }
        for name in ["SERVER_PARAMS", "CLIENT_PARAMS"] {
            if value(name).is_some_and(|found| !found.is_empty()) {
                return Err(refuse(name, "no parameters"));
            }
        }
        let role = match value("ROLE") {
            Some("server") => Role::Server,
            Some("client") => Role::Client,
            _ => return Err(invalid("ROLE", "server or client")),
        };
        let test_case = match value("TESTCASE") {
            Some("transfer" | "handshake" | "http3") => TestCase::Plain,
            Some("retry") => TestCase::Retry,
            Some("chacha20") => TestCase::ChaCha20,
            Some("resumption") => TestCase::Resumption,
            // The library starts a client's HTTP/3 after the handshake only.
            Some("zerortt") if role == Role::Server => TestCase::ZeroRtt,
            _ => {
                let supported = "handshake, transfer, retry, chacha20, resumption, http3, zerortt (server)";
                return Err(refuse("TESTCASE", supported));
            }
        };
        if !matches!(value("QUICLAB_HTTP"), None | Some("h3")) {
            return Err(refuse("QUICLAB_HTTP", "h3"));
        }
        // The library could hand send times over with bbr2, but does not let its planned times be seen.
        if !matches!(value("QUICLAB_PACING"), None | Some("off")) {
            return Err(refuse("QUICLAB_PACING", "off"));
        }
        let congestion_control = match value("QUICLAB_CCA") {
            None | Some("cubic") => "cubic",
            Some("reno") => "reno",
            Some("bbr2") => "bbr2",
            Some(_) => return Err(refuse("QUICLAB_CCA", "cubic, reno, bbr2")),
        };
        let gso = match value("QUICLAB_GSO") {
            None | Some("on") => true,
            Some("off") => false,
            Some(_) => return Err(refuse("QUICLAB_GSO", "on, off")),
        };
        let ip = match value("QUICLAB_IP") {
            None | Some("4") => IpVersion::V4,
            Some("6") => IpVersion::V6,
            Some(_) => return Err(refuse("QUICLAB_IP", "4, 6")),
        };
        let certificate_delay = match value("QUICLAB_CERT_DELAY").map(str::parse) {
            None => Duration::ZERO,
            Some(Ok(milliseconds)) => Duration::from_millis(milliseconds),
            Some(Err(_)) => return Err(refuse("QUICLAB_CERT_DELAY", "whole numbers of milliseconds")),
        };
        // The callback that is held back is asked for resumed sessions too, which need no certificate.
        if !certificate_delay.is_zero() && matches!(test_case, TestCase::Resumption | TestCase::ZeroRtt) {
            return Err(refuse("QUICLAB_CERT_DELAY", "0 with resumption and zerortt"));
        }
        let streams = match value("QUICLAB_STREAMS").map(str::parse) {
            None => None,
            Some(Ok(0)) | Some(Err(_)) => return Err(refuse("QUICLAB_STREAMS", "numbers from 1 on")),
            Some(Ok(most)) => Some(most),
        };
        let port = match value("QUICLAB_PORT") {
            None => 443,
            Some(text) => text.parse().map_err(|_| invalid("QUICLAB_PORT", "a port, 0 to 65535"))?,
        };
        let requests = match role {
            Role::Server => Vec::new(),
            Role::Client => Request::parse_all(value("REQUESTS").unwrap_or_default())?,
        };
        if requests.len() == 1 && test_case == TestCase::Resumption {
            return Err(invalid("REQUESTS", "at least two URLs, for two connections"));
        }
        Ok(Self {
            role,
            test_case,
            requests,
            www: folder("WWW", "/www"),
            downloads: folder("DOWNLOADS", "/downloads"),
            certs: folder("CERTS", "/certs"),
            key_log: text("SSLKEYLOGFILE"),
            qlog: text("QLOGDIR"),
            congestion_control,
            gso,
            streams,
            ip,
            certificate_delay,
            port,
        })
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
