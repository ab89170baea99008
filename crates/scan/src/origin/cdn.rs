//! Which CDN an AS is.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, BufRead},
};

use crate::origin::lines::{BadLine, Failed, asn, for_each, quoted};

/// Longest name, in bytes.
const LONGEST_NAME: usize = 100;

/// AS numbers and the names of those who run them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cdns(BTreeMap<u32, Box<str>>);

/// Why a file names no CDNs.
#[derive(Debug, thiserror::Error)]
pub enum BadCdns {
    /// A line is no AS with a name, or one of an AS that has another name.
    #[error(transparent)]
    Line(#[from] BadLine),
    /// The reader failed.
    #[error("the file of CDNs cannot be read")]
    Read(#[from] io::Error),
}

impl Cdns {
    /// Returns the CDNs of the study that `experiments/reacked` repeats (its table 5).
    pub fn of_the_study() -> Self {
        let own = Self::read(&include_bytes!("cdn.csv")[..]);
        own.unwrap_or_else(|error| unreachable!("a test reads this file: {error}"))
    }

    /// Reads lines `asn,name`, with a header or without, and comments after `#` at their start.
    ///
    /// # Errors
    /// At the first line that is something else, or that gives an AS a second name.
    pub fn read(input: impl BufRead) -> Result<Self, BadCdns> {
        let mut names: BTreeMap<u32, Box<str>> = BTreeMap::new();
        let mut is_first = true;
        let read = for_each(input, |line, content| {
            if std::mem::take(&mut is_first) && content.eq_ignore_ascii_case("asn,name") {
                return Ok(());
            }
            let bad = |expected| BadLine { line, found: quoted(content), expected };
            let (number, name) =
                parse(content).ok_or_else(|| bad("an AS number and a name, as in \"13335,Cloudflare\""))?;
            match names.insert(number, name.into()) {
                Some(before) if *before != *name => Err(bad("one name for each AS")),
                _ => Ok(()),
            }
        });
        match read {
            Ok(_) => Ok(Self(names)),
            Err(Failed::Line(line)) => Err(line.into()),
            Err(Failed::Read(error)) => Err(error.into()),
        }
    }

    /// The CDN of an AS.
    pub fn name(&self, asn: u32) -> Option<&str> {
        self.0.get(&asn).map(|name| &**name)
    }

    /// The CDN of a prefix by its [origins](crate::origin::Origin): that of those which have one. `None`: none has, or they have different ones.
    pub fn of(&self, asns: &[u32]) -> Option<&str> {
        let names: BTreeSet<&str> = asns.iter().filter_map(|asn| self.name(*asn)).collect();
        names.first().copied().filter(|_| names.len() == 1)
    }

    /// All of them, by AS.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        self.0.iter().map(|(asn, name)| (*asn, &**name))
    }
}

fn parse(content: &str) -> Option<(u32, &str)> {
    let (number, name) = content.split_once(',')?;
    let name = name.trim();
    let name = name.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(name).trim();
    let is_name = !name.is_empty() && name.len() <= LONGEST_NAME && !name.contains(['"', ',']);
    // A name goes into tables and pictures as it is.
    let is_plain = quiclab_units::shown(name) == name;
    (is_name && is_plain).then_some((asn(number.trim())?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_study_has_seven_cdns_with_eleven_numbers() {
        let cdns = Cdns::of_the_study();
        assert_eq!((cdns.iter().count(), cdns.iter().map(|(_, name)| name).collect::<BTreeSet<_>>().len()), (11, 7));
        assert_eq!(
            (cdns.name(13335), cdns.name(209_242), cdns.name(64496)),
            (Some("Cloudflare"), Some("Cloudflare"), None)
        );
    }

    #[test]
    fn a_prefix_with_several_origins_has_a_cdn_if_they_agree() {
        let cdns = Cdns::of_the_study();
        assert_eq!(cdns.of(&[64496, 13335, 209_242]), Some("Cloudflare"));
        assert_eq!((cdns.of(&[13335, 54113]), cdns.of(&[64496]), cdns.of(&[])), (None, None, None));
    }

    #[test]
    fn files_are_read_line_by_line_or_refused_with_their_line() {
        let cdns = Cdns::read(&b"\xef\xbb\xbfasn,name\r\nAS64496, \"Ours, not\"\n"[..]);
        assert!(cdns.is_err_and(|error| error.to_string().starts_with("line 2: ")));
        let cdns = Cdns::read(&b"# ours\n\nASN,Name\r\nAS64496 , Ours \r\n64497,\"Ours\"\n64496,Ours\n"[..]).unwrap();
        assert_eq!(cdns.iter().collect::<Vec<_>>(), [(64496, "Ours"), (64497, "Ours")]);
        for (text, part) in [
            ("1,a\n1,b\n", "line 2: found \"1,b\", expected one name"),
            ("1\n", "line 1"),
            ("0,a\n", "line 1"),
            ("x,a\n", "line 1"),
            ("1,\n", "line 1"),
            ("1,a\u{1b}[2J\n", "a\\u001b[2J"),
        ] {
            let error = Cdns::read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains('\u{1b}'), "{text}: {error}");
        }
    }
}
