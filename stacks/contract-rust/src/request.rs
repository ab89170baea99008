//! The URLs of `REQUESTS`.

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs},
};

use crate::{
    support::SettingsError,
    values::{IpVersion, TestCase},
};

/// One URL of `REQUESTS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Name of the server.
    pub host: String,
    /// UDP port of the server.
    pub port: u16,
    /// Begins with a slash.
    pub path: String,
    /// Last part of the path: the name of the stored file.
    pub file_name: String,
}

impl Request {
    /// Reads URLs with spaces between them, all of one host and port, as many as the test case needs.
    pub(crate) fn parse_all(text: &str, test_case: TestCase) -> Result<Vec<Self>, SettingsError> {
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
        if test_case.takes_two_connections() && requests.len() < 2 {
            return Err(invalid(text, "at least two URLs, for two connections"));
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

    /// Host and port as HTTP's `:authority` has them.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The URL, with its port.
    pub fn url(&self) -> String {
        format!("https://{}:{}{}", self.host, self.port, self.path)
    }

    /// The first address of the host in this IP version.
    pub(crate) fn resolve(&self, ip: IpVersion) -> io::Result<SocketAddr> {
        let addresses = (self.host.as_str(), self.port).to_socket_addrs();
        let mut addresses =
            addresses.map_err(|error| io::Error::new(error.kind(), format!("resolving {}: {error}", self.host)))?;
        addresses.find(|address| address.is_ipv6() == (ip == IpVersion::V6)).ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("{}: found no address of IP version {ip:?}", self.host))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<Vec<Request>> {
        Request::parse_all(text, TestCase::Transfer).ok()
    }

    #[test]
    fn a_url_names_the_file_it_is_stored_as() {
        let requests = parse("https://server:4433/a/b https://server:4433/c").unwrap();
        let [first, second] = &requests[..] else { panic!("expected two requests") };
        assert_eq!((first.path.as_str(), first.file_name.as_str()), ("/a/b", "b"));
        assert_eq!((second.url().as_str(), second.file_name.as_str()), ("https://server:4433/c", "c"));
        assert_eq!((second.host.as_str(), second.authority().as_str()), ("server", "server:4433"));
        assert_eq!(parse("https://server/c").unwrap()[0].port, 443);
    }

    #[test]
    fn other_urls_are_refused() {
        for text in [
            "",
            "http://server/file",
            "https://server:4433/",
            "https://server/a/..",
            "https://:4433/file",
            "https://server:70000/file",
            "https://server/a https://other/a",
            "https://server/a https://server:4433/a",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_host_is_resolved_by_ip_version() {
        let request = &parse("https://127.0.0.1:4433/a").unwrap()[0];
        assert_eq!(request.resolve(IpVersion::V4).unwrap(), SocketAddr::from(([127, 0, 0, 1], 4433)));
        let error = request.resolve(IpVersion::V6).unwrap_err();
        assert_eq!(error.to_string(), "127.0.0.1: found no address of IP version V6");
    }
}
