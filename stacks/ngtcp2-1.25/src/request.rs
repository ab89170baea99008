//! The URLs of `REQUESTS`.

use crate::settings::SettingsError;

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

impl Request {
    /// Reads URLs with spaces between them, all of one host and port.
    ///
    /// # Errors
    /// [`SettingsError::Invalid`] where there is none, or one that is not of this kind.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, SettingsError> {
        let invalid =
            |found: &str, expected| SettingsError::Invalid { variable: "REQUESTS", found: found.to_owned(), expected };
        let requests = text
            .split_ascii_whitespace()
            .map(|url| Self::parse(url).ok_or_else(|| invalid(url, "https://HOST[:PORT]/FILE")))
            .collect::<Result<Vec<_>, _>>()?;
        let Some(first) = requests.first() else {
            return Err(invalid(text, "at least one URL"));
        };
        if let Some(other) = requests.iter().find(|request| (&request.host, request.port) != (&first.host, first.port))
        {
            return Err(invalid(&other.host, "the same host and port in every URL"));
        }
        Ok(requests)
    }

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
