//! One line of a list, in any of the forms that people have.

use std::net::{IpAddr, Ipv6Addr};

use crate::targets::{
    name::{Name, is_autonomous_system},
    target::Host,
};

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub rank: Option<u64>,
    pub host: Host,
    pub port: Option<u16>,
}

/// Why a line says nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    pub found: String,
    pub expected: &'static str,
}

/// Words of header lines that are domains too: alone they are no header.
const DOMAINS: [&str; 2] = ["no", "id"];
/// Words of header lines. A line is one if all its fields are among them.
const HEADERS: [&str; 18] = [
    "rank", "position", "no", "id", "domain", "domains", "name", "names", "host", "hostname", "fqdn", "url", "ip",
    "ipv4", "ipv6", "address", "addr", "port",
];

enum Field {
    Number(u64),
    Address(IpAddr, Option<u16>),
    Name(Name, Option<u16>),
}

/// The part of a line before its comment. A `#` within a word belongs to the word, as in a URL.
pub(crate) fn without_comment(line: &str) -> &str {
    let mut before = None;
    for (at, letter) in line.char_indices() {
        if letter == '#' && before.is_none_or(char::is_whitespace) {
            return line[..at].trim();
        }
        before = Some(letter);
    }
    line.trim()
}

/// Whether a line without its comment names columns.
pub(crate) fn is_header(content: &str) -> bool {
    let is_among = |words: &[&str], field: &str| words.iter().any(|word| word.eq_ignore_ascii_case(field));
    !is_among(&DOMAINS, content) && !content.is_empty() && fields(content).all(|field| is_among(&HEADERS, field))
}

/// Fields of a line: separated by commas if it has one, else by white space.
fn fields(content: &str) -> Box<dyn Iterator<Item = &str> + '_> {
    if content.contains(',') {
        Box::new(content.split(',').map(|field| unquoted(field.trim())))
    } else {
        Box::new(content.split_whitespace().map(unquoted))
    }
}

fn unquoted(field: &str) -> &str {
    field.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(field)
}

/// Reads a line without its comment, which is not empty.
pub(crate) fn read(content: &str) -> Result<Read, Unreadable> {
    const EXPECTED: &str = "\"rank,name\", a name, an address, or a name and an address";
    let (mut rank, mut name, mut address, mut port) = (None, None, None, None);
    for (position, text) in fields(content).enumerate() {
        let found_port = match field(text)? {
            Field::Number(number) if position == 0 => {
                rank = Some(number);
                None
            }
            Field::Name(found, found_port) if name.is_none() => {
                name = Some(found);
                found_port
            }
            Field::Address(found, found_port) if address.is_none() => {
                address = Some(found);
                found_port
            }
            Field::Number(_) | Field::Name(..) | Field::Address(..) => {
                return Err(Unreadable { found: quoted(content), expected: EXPECTED });
            }
        };
        if found_port.is_some() && port.is_some() && port != found_port {
            return Err(Unreadable { found: quoted(content), expected: "one port" });
        }
        port = port.or(found_port);
    }
    let host = match (name, address) {
        (Some(name), Some(address)) => Host::Both(name, address),
        (Some(name), None) => Host::Name(name),
        (None, Some(address)) => Host::Address(address),
        (None, None) => return Err(Unreadable { found: quoted(content), expected: EXPECTED }),
    };
    Ok(Read { rank, host, port })
}

fn field(text: &str) -> Result<Field, Unreadable> {
    if text.is_empty() {
        return Err(Unreadable { found: "an empty field".into(), expected: "a name or an address" });
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = text.parse().map_err(|_| Unreadable { found: quoted(text), expected: "a rank below 2^64" })?;
        return Ok(Field::Number(number));
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        if !scheme.eq_ignore_ascii_case("https") {
            return Err(Unreadable { found: quoted(text), expected: "a URL with https" });
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(Unreadable { found: quoted(text), expected: "a URL without a user" });
        }
        return host_and_port(authority);
    }
    host_and_port(text)
}

/// `v4`, `v4:port`, `v6`, `[v6]`, `[v6]:port`, `name`, `name:port`.
fn host_and_port(text: &str) -> Result<Field, Unreadable> {
    let no_address = || Unreadable { found: quoted(text), expected: "an IPv6 address as in [2001:db8::1]:443" };
    if let Some(bracketed) = text.strip_prefix('[') {
        let (inner, after) = bracketed.split_once(']').ok_or_else(no_address)?;
        let address: Ipv6Addr = inner.parse().map_err(|_| no_address())?;
        let port = match after.strip_prefix(':') {
            Some(port) => Some(read_port(port)?),
            None if after.is_empty() => None,
            None => return Err(no_address()),
        };
        return Ok(Field::Address(IpAddr::V6(address).to_canonical(), port));
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(Field::Address(address.to_canonical(), None));
    }
    let (host, port) = match text.split_once(':') {
        Some((_, after)) if after.contains(':') => return Err(no_address()),
        Some((host, port)) => (host, Some(read_port(port)?)),
        None => (text, None),
    };
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(Field::Address(address, port));
    }
    if host.contains('/') {
        let expected = "a name or an address without a path or a length";
        return Err(Unreadable { found: quoted(text), expected });
    }
    if is_autonomous_system(host) {
        let expected = "a name or an address: an AS number is neither, list its addresses";
        return Err(Unreadable { found: quoted(text), expected });
    }
    let name = Name::parse(host).map_err(|bad| Unreadable { found: bad.found, expected: bad.expected })?;
    Ok(Field::Name(name, port))
}

fn read_port(text: &str) -> Result<u16, Unreadable> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(port) if port != 0 && is_number => Ok(port),
        _ => Err(Unreadable { found: format!("the port {}", quoted(text)), expected: "a port from 1 to 65535" }),
    }
}

/// The beginning of a foreign text, for a person.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 80;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("\"{}...\"", quiclab_units::shown(&text[..end])),
        None => format!("\"{}\"", quiclab_units::shown(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> (Option<u64>, Option<String>, Option<String>, Option<u16>) {
        let read = read(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        (
            read.rank,
            read.host.name().map(ToString::to_string),
            read.host.address().map(|address| address.to_string()),
            read.port,
        )
    }

    #[test]
    fn every_form_that_people_have_is_read() {
        let (name, v4, v6) =
            (Some("a.example".to_owned()), Some("192.0.2.1".to_owned()), Some("2001:db8::1".to_owned()));
        for (text, expected) in [
            ("7,a.example", (Some(7), name.clone(), None, None)),
            ("\"7\",\"A.example\"", (Some(7), name.clone(), None, None)),
            ("7\ta.example", (Some(7), name.clone(), None, None)),
            ("a.example", (None, name.clone(), None, None)),
            ("a.example:8443", (None, name.clone(), None, Some(8443))),
            ("192.0.2.1", (None, None, v4.clone(), None)),
            ("192.0.2.1:8443", (None, None, v4.clone(), Some(8443))),
            ("2001:db8::1", (None, None, v6.clone(), None)),
            ("[2001:DB8::1]", (None, None, v6.clone(), None)),
            ("[2001:db8::1]:8443", (None, None, v6.clone(), Some(8443))),
            ("192.0.2.1 a.example", (None, name.clone(), v4.clone(), None)),
            ("a.example 192.0.2.1", (None, name.clone(), v4.clone(), None)),
            ("192.0.2.1,a.example", (None, name.clone(), v4.clone(), None)),
            ("3,a.example,[2001:db8::1]:99", (Some(3), name.clone(), v6.clone(), Some(99))),
            ("https://a.example/", (None, name.clone(), None, None)),
            ("HTTPS://A.example:99/path?query#part", (None, name.clone(), None, Some(99))),
            ("https://[2001:db8::1]:99", (None, None, v6.clone(), Some(99))),
            ("::ffff:192.0.2.1", (None, None, v4.clone(), None)),
            ("[::ffff:192.0.2.1]:9", (None, None, v4, Some(9))),
        ] {
            assert_eq!(line(text), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_says_what_was_expected() {
        for (text, part) in [
            ("a.example b.example", "a name and an address"),
            ("192.0.2.1 192.0.2.2", "a name and an address"),
            ("17", "\"rank,name\""),
            ("a.example,17", "\"rank,name\""),
            ("http://a.example/", "https"),
            ("https://user@a.example/", "without a user"),
            ("a.example:0", "1 to 65535"),
            ("a.example:65536", "1 to 65535"),
            ("a.example:+443", "1 to 65535"),
            ("192.0.2.1:80 a.example:81", "one port"),
            ("[2001:db8::1", "[2001:db8::1]:443"),
            ("[2001:db8::1]443", "[2001:db8::1]:443"),
            ("2001:db8::g", "[2001:db8::1]:443"),
            ("fe80::1%eth0", "[2001:db8::1]:443"),
            ("192.0.2.0/24", "without a path"),
            ("7,", "a name or an address"),
            ("AS13335", "list its addresses"),
            ("1,as13335:443", "list its addresses"),
            ("192.0.2.256", "last label is not a number"),
            ("99999999999999999999,a.example", "2^64"),
        ] {
            let unreadable = read(text).expect_err(text);
            assert!(unreadable.expected.contains(part), "{text}: {unreadable:?}");
        }
    }

    #[test]
    fn comments_start_at_a_word_and_headers_have_only_words_of_headers() {
        assert_eq!(without_comment("a.example # why"), "a.example");
        assert_eq!(without_comment("https://a.example/#top"), "https://a.example/#top");
        assert_eq!(without_comment("  # all of it"), "");
        assert!(is_header("Rank,Domain") && is_header("ip hostname") && is_header("name"));
        assert!(is_header("no,domain") && !is_header("no") && !is_header("ID") && !is_header("a,"));
        assert!(!is_header("1,name") && !is_header("name.example") && !is_header(""));
    }
}
