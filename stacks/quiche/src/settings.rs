//! What the environment asks for, and what this endpoint answers: yes, or "not supported".

use std::{collections::BTreeMap, path::PathBuf};

/// Everything this endpoint was asked to do. If the value exists, it can be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub role: Role,
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

/// Who spaces the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// No one.
    Off,
    /// The kernel's queueing discipline, by the send times that quiche plans (SO_TXTIME).
    TxTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    Reno,
    Cubic,
    Bbr2,
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
    NotSupported { variable: String, found: String, supported: &'static str },
    /// Not well-formed: exit status 1.
    #[error("{variable}: found {found:?}, expected {expected}")]
    Invalid { variable: &'static str, found: String, expected: &'static str },
}

impl CongestionControl {
    /// The name quiche knows it by.
    pub fn quiche_name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr2 => "bbr2",
        }
    }

    /// True where this release of quiche plans send times for this algorithm. CUBIC and Reno lost their pacer after
    /// quiche 0.24.6 (<https://github.com/cloudflare/quiche/pull/2297>): since then the planned time is always "now".
    fn plans_send_times(self) -> bool {
        cfg!(feature = "paced-loss-based") || self == Self::Bbr2
    }
}

/// The variables with the prefix `QUICLAB_` that are understood here. Any other one is a setting that would be ignored.
const KNOWN: [&str; 5] = ["QUICLAB_CCA", "QUICLAB_GSO", "QUICLAB_HTTP", "QUICLAB_PACING", "QUICLAB_PORT"];

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

        if value("TESTCASE") != Some("transfer") {
            return Err(refuse("TESTCASE", "transfer"));
        }
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
        if !matches!(value("QUICLAB_HTTP"), None | Some("h3")) {
            return Err(refuse("QUICLAB_HTTP", "h3"));
        }
        let congestion_control = match value("QUICLAB_CCA") {
            None | Some("cubic") => CongestionControl::Cubic,
            Some("reno") => CongestionControl::Reno,
            Some("bbr2") => CongestionControl::Bbr2,
            Some(_) => return Err(refuse("QUICLAB_CCA", "cubic, reno, bbr2")),
        };
        let pacing = match value("QUICLAB_PACING") {
            None if congestion_control.plans_send_times() => Pacing::TxTime,
            None | Some("off") => Pacing::Off,
            Some("txtime") if congestion_control.plans_send_times() => Pacing::TxTime,
            Some("txtime") => return Err(refuse("QUICLAB_PACING", "txtime with bbr2 only, off")),
            Some(_) => return Err(refuse("QUICLAB_PACING", "txtime, off")),
        };
        let gso = match value("QUICLAB_GSO") {
            None | Some("on") => true,
            Some("off") => false,
            Some(_) => return Err(refuse("QUICLAB_GSO", "on, off")),
        };
        let invalid = |variable: &'static str, expected| SettingsError::Invalid {
            variable,
            found: value(variable).unwrap_or_default().to_owned(),
            expected,
        };
        let role = match value("ROLE") {
            Some("server") => Role::Server,
            Some("client") => Role::Client,
            _ => return Err(invalid("ROLE", "server or client")),
        };
        let port = match value("QUICLAB_PORT") {
            None => 443,
            Some(text) => text.parse().map_err(|_| invalid("QUICLAB_PORT", "a port, 0 to 65535"))?,
        };
        let requests = match role {
            Role::Server => Vec::new(),
            Role::Client => parse_requests(value("REQUESTS").unwrap_or_default())?,
        };
        Ok(Self {
            role,
            requests,
            www: folder("WWW", "/www"),
            downloads: folder("DOWNLOADS", "/downloads"),
            certs: folder("CERTS", "/certs"),
            key_log: value("SSLKEYLOGFILE").filter(|path| !path.is_empty()).map(PathBuf::from),
            congestion_control,
            gso,
            pacing,
            port,
        })
    }
}

fn parse_requests(text: &str) -> Result<Vec<Request>, SettingsError> {
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

    /// Host and port as HTTP's `:authority` has them.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
