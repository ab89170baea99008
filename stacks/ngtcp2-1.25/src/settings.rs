//! What the environment asks for, and what this endpoint answers: yes, or "not supported".

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    path::PathBuf,
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
    pub key_log: Option<PathBuf>,
    /// Folder for one qlog file per connection; `None`: no qlog.
    pub qlog: Option<PathBuf>,
    pub http: HttpVersion,
    /// Most requests a client has open at the same time; `None`: as many as the server allows.
    pub streams: Option<usize>,
    pub ip: IpVersion,
    pub congestion_control: CongestionControl,
    /// True: packets of one batch leave in one system call, cut apart by the kernel (UDP_SEGMENT).
    pub gso: bool,
    pub pacing: Pacing,
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
    /// All requests over one connection: `transfer`, `handshake`.
    Plain,
    /// The server answers the first Initial with a Retry packet.
    Retry,
    /// All requests but the first over a second connection, by the session of the first one.
    Resumption,
    /// The same, with the requests of the second connection as early data.
    ZeroRtt,
    /// No cipher suite but TLS_CHACHA20_POLY1305_SHA256.
    ChaCha20,
    /// The client updates its keys once.
    KeyUpdate,
    /// QUIC version 2, agreed on by compatible version negotiation.
    V2,
}

impl TestCase {
    /// True where a session of one connection is used by another.
    pub fn takes_two_connections(self) -> bool {
        matches!(self, Self::Resumption | Self::ZeroRtt)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/0.9 over QUIC, as the QUIC Interop Runner uses it.
    Hq,
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

/// Who spaces the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// ngtcp2, which says when the next batch may be sent.
    User,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    Reno,
    Cubic,
    Bbr,
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

const SUPPORTED_TEST_CASES: &str = "handshake, transfer, retry, chacha20, keyupdate, resumption, zerortt, v2";

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
            Some("transfer" | "handshake") => TestCase::Plain,
            Some("retry") => TestCase::Retry,
            Some("chacha20") => TestCase::ChaCha20,
            Some("keyupdate") => TestCase::KeyUpdate,
            Some("v2") => TestCase::V2,
            Some("resumption") => TestCase::Resumption,
            Some("zerortt") => TestCase::ZeroRtt,
            _ => return Err(refuse("TESTCASE", SUPPORTED_TEST_CASES)),
        };
        let http = match value("QUICLAB_HTTP") {
            None | Some("hq") => HttpVersion::Hq,
            Some(_) => return Err(refuse("QUICLAB_HTTP", "hq")),
        };
        let ip = match value("QUICLAB_IP") {
            None | Some("4") => IpVersion::V4,
            Some("6") => IpVersion::V6,
            Some(_) => return Err(refuse("QUICLAB_IP", "4, 6")),
        };
        if !matches!(value("QUICLAB_CERT_DELAY"), None | Some("0")) {
            return Err(refuse("QUICLAB_CERT_DELAY", "0"));
        }
        let streams = match value("QUICLAB_STREAMS").map(str::parse) {
            None => None,
            Some(Ok(0)) | Some(Err(_)) => return Err(refuse("QUICLAB_STREAMS", "numbers from 1 on")),
            Some(Ok(most)) => Some(most),
        };
        let congestion_control = match value("QUICLAB_CCA") {
            None | Some("cubic") => CongestionControl::Cubic,
            Some("reno") => CongestionControl::Reno,
            Some("bbr") => CongestionControl::Bbr,
            Some(_) => return Err(refuse("QUICLAB_CCA", "cubic, reno, bbr")),
        };
        let pacing = match value("QUICLAB_PACING") {
            None | Some("user") => Pacing::User,
            Some(_) => return Err(refuse("QUICLAB_PACING", "user")),
        };
        let gso = match value("QUICLAB_GSO") {
            None | Some("on") => true,
            Some("off") => false,
            Some(_) => return Err(refuse("QUICLAB_GSO", "on, off")),
        };
        let port = match value("QUICLAB_PORT") {
            None => 443,
            Some(text) => text.parse().map_err(|_| invalid("QUICLAB_PORT", "a port, 0 to 65535"))?,
        };
        let requests = match role {
            Role::Server => Vec::new(),
            Role::Client => Request::parse_all(value("REQUESTS").unwrap_or_default())?,
        };
        if requests.len() == 1 && test_case.takes_two_connections() {
            return Err(invalid("REQUESTS", "at least two URLs, for two connections"));
        }
        let path = |name| value(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        Ok(Self {
            role,
            test_case,
            requests,
            www: folder("WWW", "/www"),
            downloads: folder("DOWNLOADS", "/downloads"),
            certs: folder("CERTS", "/certs"),
            key_log: path("SSLKEYLOGFILE"),
            qlog: path("QLOGDIR"),
            http,
            streams,
            ip,
            congestion_control,
            gso,
            pacing,
            port,
        })
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
