//! Names of hosts.

use std::fmt;

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

/// Longest name, in bytes, without the dot of the root (RFC 1035 section 2.3.4, less the length octets of the ends).
const LONGEST: usize = 253;
/// Longest label, in bytes (RFC 1035 section 2.3.4).
const LONGEST_LABEL: usize = 63;

/// A name as it goes onto the wire: A-labels (RFC 5890 section 2.3.2.1), lower case, without the dot of the root.
///
/// Labels are letters, digits, hyphens and underscores: names with underscores are no host names (RFC 1123 section 2.1), yet
/// lists have them and servers answer to them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Box<str>);

/// A text that is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found {found}, expected {expected}")]
pub struct BadName {
    /// What is wrong with it.
    pub found: String,
    /// What would be right.
    pub expected: &'static str,
}

impl Name {
    /// Reads a name in any case, with U-labels or A-labels, with or without the dot of the root.
    ///
    /// # Errors
    /// When it is empty or too long, has an empty or too long label, other characters than a name has, a label that starts or ends
    /// with a hyphen, or a last label of digits only, which an address has (RFC 1123 section 2.1).
    pub fn parse(text: &str) -> Result<Self, BadName> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let bad = |found: String, expected| Err(BadName { found, expected });
        // UTS 46 shortens no text by more than this, and what is longer need not be looked at.
        if text.len() > LONGEST * 4 {
            return bad(format!("a name of {} bytes", text.len()), "at most 253");
        }
        let quoted = || format!("\"{}\"", quiclab_units::shown(text));
        let ascii =
            match Uts46::new().to_ascii(text.as_bytes(), AsciiDenyList::EMPTY, Hyphens::Allow, DnsLength::Ignore) {
                Ok(ascii) => ascii,
                Err(_) => return bad(quoted(), "a name that IDNA (UTS 46) allows"),
            };
        if ascii.is_empty() || ascii.len() > LONGEST {
            return bad(format!("a name of {} bytes", ascii.len()), "1 to 253");
        }
        for label in ascii.split('.') {
            if label.is_empty() || label.len() > LONGEST_LABEL {
                return bad(format!("a label of {} bytes in {}", label.len(), quoted()), "labels of 1 to 63 bytes");
            }
            if !label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
                return bad(quoted(), "a name of letters, digits, hyphens and dots");
            }
            if label.starts_with('-') || label.ends_with('-') {
                return bad(quoted(), "no hyphen at an end of a label");
            }
        }
        if ascii.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit())) {
            return bad(quoted(), "an address, or a name whose last label is not a number");
        }
        Ok(Self(ascii.into()))
    }

    /// The name itself, then those of the domains it is in: `a.b.c`, `b.c`, `c`.
    pub fn with_those_above(&self) -> impl Iterator<Item = Self> {
        let parts = std::iter::successors(Some(&*self.0), |name| Some(name.split_once('.')?.1));
        parts.map(|part| Self(part.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a text is the number of an autonomous system (`AS13335`) or the name of a set of them (`AS-EXAMPLE`, RFC 2622 section 5.1). Each
/// would be a name of one label, which nobody means: no top-level domain looks like that.
pub(crate) fn is_autonomous_system(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let Some(rest) = text.strip_prefix("as") else { return false };
    let is_set = rest.starts_with('-') && !rest.contains('.');
    let number = rest.strip_prefix('n').unwrap_or(rest);
    is_set || (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_become_lower_case_a_labels() {
        for (text, expected) in [
            ("Example.COM.", "example.com"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("BÜCHER。example", "xn--bcher-kva.example"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("r3---sn-4g5e.example", "r3---sn-4g5e.example"),
            ("my_site.example", "my_site.example"),
            ("localhost", "localhost"),
            ("faß.de", "xn--fa-hia.de"),
        ] {
            assert_eq!(Name::parse(text).unwrap().as_str(), expected, "{text}");
        }
    }

    #[test]
    fn a_length_just_inside_passes_and_just_outside_fails() {
        let label = "a".repeat(63);
        let long = format!("{label}.{label}.{label}.{}", "b".repeat(61));
        assert_eq!(long.len(), 253);
        assert!(Name::parse(&long).is_ok() && Name::parse(&format!("{long}.")).is_ok());
        assert!(Name::parse(&format!("{long}b")).is_err());
        assert!(Name::parse(&format!("{label}.de")).is_ok() && Name::parse(&format!("a{label}.de")).is_err());
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in [
            "",
            ".",
            "a..b",
            "-a.de",
            "a-.de",
            "a b.de",
            "1.2.3",
            "192.0.2.999",
            "a/b",
            "a@b",
            "*.de",
            "a\u{0}b",
            "xn--a",
        ] {
            assert!(Name::parse(text).is_err(), "{text:?}");
        }
        assert!(!Name::parse("a\u{1b}[2J.de").unwrap_err().to_string().contains('\u{1b}'));
    }

    #[test]
    fn an_autonomous_system_is_told_from_a_name() {
        for text in ["AS13335", "as1", "ASN64500", "AS64500.", "AS-EXAMPLE"] {
            assert!(is_autonomous_system(text), "{text}");
        }
        for text in ["as", "asn", "asia", "as1.example", "as-a.example", "as13335a", "bas1", ""] {
            assert!(!is_autonomous_system(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_name_is_read_back_as_itself(text in ".{0,80}") {
            if let Ok(name) = Name::parse(&text) {
                prop_assert_eq!(Name::parse(name.as_str()), Ok(name));
            }
        }
    }
}
