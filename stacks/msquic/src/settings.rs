//! What the environment asks for, and what this endpoint answers: yes, or "not supported".

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

/// Everything this endpoint was asked to do. If the value exists, it can be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub role: Role,
    pub test_case: TestCase,
    /// What the client fetches, in order. Empty for a server, never empty for a client.
    pub requests: Vec<Request>,
    /// Most requests that the client has open at the same time; `None`: as many as the server allows.
    pub streams: Option<usize>,
    /// Folder the server answers from.
    pub www: PathBuf,
    /// Folder the client stores bodies in, each under the last part of its URL's path.
    pub downloads: PathBuf,
    /// Folder of `cert.pem` (leaf first), `priv.key` and `ca.pem`.
    pub certs: PathBuf,
    /// File that TLS secrets are appended to; `None`: they are not.
    pub key_log: Option<PathBuf>,
    pub congestion_control: CongestionControl,
    /// True: the library spreads packets over the round-trip time.
    pub pacing: bool,
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

/// The contract's test cases, as far as this endpoint does something of its own in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestCase {
    /// `handshake` and `transfer`.
    Transfer,
    Retry,
    ChaCha20,
    /// For clients only.
    KeyUpdate,
    Resumption,
    ZeroRtt,
    Version2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    Cubic,
    Bbr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    V4,
    V6,
}

/// One URL of `REQUESTS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub host: String,
    pub port: u16,
    /// Begins with a slash.
    pub path: String,
    /// Last part of the path: the name of the stored file.
    pub file_name: String,
}

/// Why the settings were refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Well-formed, but not something this endpoint can do: exit status 127.
    #[error("{variable}: found {found:?}, this endpoint supports {supported}")]
    NotSupported { variable: String, found: String, supported: String },
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
        let variables = Variables(variables.into_iter().collect());
        variables.refuse_unknown()?;
        let role = match variables.value("ROLE") {
            Some("server") => Role::Server,
            Some("client") => Role::Client,
            _ => return Err(variables.invalid("ROLE", "server or client")),
        };
        let test_case = variables.test_case(role)?;
        if !matches!(variables.value("QUICLAB_HTTP"), None | Some("hq")) {
            return Err(variables.refuse("QUICLAB_HTTP", "hq"));
        }
        let congestion_control = match variables.value("QUICLAB_CCA") {
            None | Some("cubic") => CongestionControl::Cubic,
            Some("bbr") => CongestionControl::Bbr,
            Some(_) => return Err(variables.refuse("QUICLAB_CCA", "cubic, bbr")),
        };
        if !matches!(variables.value("QUICLAB_GSO"), None | Some("on")) {
            return Err(variables.refuse("QUICLAB_GSO", "on"));
        }
        let pacing = match variables.value("QUICLAB_PACING") {
            None | Some("user") => true,
            Some("off") => false,
            Some(_) => return Err(variables.refuse("QUICLAB_PACING", "user, off")),
        };
        let ip = match variables.value("QUICLAB_IP") {
            None | Some("4") => IpVersion::V4,
            Some("6") => IpVersion::V6,
            Some(_) => return Err(variables.refuse("QUICLAB_IP", "4, 6")),
        };
        let streams = match variables.number("QUICLAB_STREAMS", "a whole number, at least 1")? {
            Some(0) => return Err(variables.invalid("QUICLAB_STREAMS", "a whole number, at least 1")),
            streams => streams.map(|streams: u32| streams as usize),
        };
        let milliseconds: Option<u32> = variables.number("QUICLAB_CERT_DELAY", "milliseconds, a whole number")?;
        let requests = match role {
            Role::Server => Vec::new(),
            Role::Client => parse_requests(variables.value("REQUESTS").unwrap_or_default(), test_case)?,
        };
        let not_empty = |name| variables.value(name).filter(|value| !value.is_empty());
        let folder = |name, default: &str| PathBuf::from(variables.value(name).unwrap_or(default));
        Ok(Self {
            role,
            test_case,
            requests,
            streams,
            www: folder("WWW", "/www"),
            downloads: folder("DOWNLOADS", "/downloads"),
            certs: folder("CERTS", "/certs"),
            key_log: not_empty("SSLKEYLOGFILE").map(PathBuf::from),
            congestion_control,
            pacing,
            ip,
            certificate_delay: Duration::from_millis(milliseconds.unwrap_or(0).into()),
            port: variables.number("QUICLAB_PORT", "a port, 0 to 65535")?.unwrap_or(443),
        })
    }
}

/// The environment.
struct Variables(BTreeMap<String, String>);

impl Variables {
    fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn refuse(&self, name: &str, supported: &str) -> SettingsError {
        SettingsError::NotSupported {
            variable: name.to_owned(),
            found: self.value(name).unwrap_or_default().to_owned(),
            supported: supported.to_owned(),
        }
    }

    fn invalid(&self, variable: &'static str, expected: &'static str) -> SettingsError {
        SettingsError::Invalid { variable, found: self.value(variable).unwrap_or_default().to_owned(), expected }
    }

    /// Settings that nothing here would look at.
    fn refuse_unknown(&self) -> Result<(), SettingsError> {
        for name in self.0.keys() {
            if name.starts_with("QUICLAB_") && !KNOWN.contains(&name.as_str()) {
                return Err(self.refuse(name, "no such setting"));
            }
        }
        for name in ["SERVER_PARAMS", "CLIENT_PARAMS"] {
            if self.value(name).is_some_and(|found| !found.is_empty()) {
                return Err(self.refuse(name, "no parameters"));
            }
        }
        Ok(())
    }

    fn test_case(&self, role: Role) -> Result<TestCase, SettingsError> {
        Ok(match self.value("TESTCASE") {
            Some("handshake" | "transfer") => TestCase::Transfer,
            Some("retry") => TestCase::Retry,
            Some("chacha20") => TestCase::ChaCha20,
            Some("keyupdate") if role == Role::Client => TestCase::KeyUpdate,
            Some("resumption") => TestCase::Resumption,
            Some("zerortt") => TestCase::ZeroRtt,
            Some("v2") => TestCase::Version2,
            _ => {
                let supported =
                    "handshake, transfer, retry, chacha20, resumption, zerortt, v2; a client also keyupdate";
                return Err(self.refuse("TESTCASE", supported));
            }
        })
    }

    /// `None` where the variable is not set.
    fn number<T: std::str::FromStr>(
        &self,
        name: &'static str,
        expected: &'static str,
    ) -> Result<Option<T>, SettingsError> {
        self.value(name).map(|text| text.parse().map_err(|_| self.invalid(name, expected))).transpose()
    }
}

fn parse_requests(text: &str, test_case: TestCase) -> Result<Vec<Request>, SettingsError> {
    let invalid =
        |found: &str, expected| SettingsError::Invalid { variable: "REQUESTS", found: found.to_owned(), expected };
    let requests = text
        .split_ascii_whitespace()
        .map(|url| Request::parse(url).ok_or_else(|| invalid(url, "https://HOST[:PORT]/FILE")))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(first) = requests.first() else {
        return Err(invalid(text, "at least one URL"));
    };
    if let Some(other) = requests.iter().find(|request| (&request.host, request.port) != (&first.host, first.port)) {
        return Err(invalid(&other.host, "the same host and port in every URL"));
    }
    if matches!(test_case, TestCase::Resumption | TestCase::ZeroRtt) && requests.len() < 2 {
        return Err(invalid(text, "at least two URLs, for two connections"));
    }
    Ok(requests)
}

impl Request {
    /// `None` where `url` is not `https://HOST[:PORT]/PATH` with a file name at its end.
    fn parse(url: &str) -> Option<Self> {
        let (authority, path) = url.strip_prefix("https://")?.split_once('/')?;
        let (host, port) = match authority.split_once(':') {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (authority, 443),
        };
        let file_name = path.rsplit('/').next()?;
        if host.is_empty() || matches!(file_name, "" | "." | "..") {
            return None;
        }
        Some(Self { host: host.to_owned(), port, path: format!("/{path}"), file_name: file_name.to_owned() })
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
