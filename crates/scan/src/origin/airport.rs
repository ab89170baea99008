//! Places in headers of responses.

use std::{fmt, str};

/// A code of an airport or a city, three capital letters, as IATA gives them.
///
/// Only its form is known to be right. CDNs name places after airports nearby, some of which have other codes since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Airport([u8; 3]);

impl Airport {
    fn new(letters: &[u8]) -> Option<Self> {
        let letters: [u8; 3] = letters.try_into().ok()?;
        letters.iter().all(u8::is_ascii_uppercase).then_some(Self(letters))
    }

    /// The code.
    pub fn as_str(&self) -> &str {
        // Capital letters by construction.
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Airport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The place that a header names: `cf-ray` (Cloudflare), `x-amz-cf-pop` (Amazon CloudFront) or `x-served-by` (Fastly).
///
/// `None`: another header, or a value in another form than these CDNs give it. Names are compared without case.
pub fn airport(name: &str, value: &[u8]) -> Option<Airport> {
    let value = value.trim_ascii();
    if name.eq_ignore_ascii_case("cf-ray") {
        cloudflare(value)
    } else if name.eq_ignore_ascii_case("x-amz-cf-pop") {
        cloudfront(value)
    } else if name.eq_ignore_ascii_case("x-served-by") {
        fastly(value)
    } else {
        None
    }
}

/// `230b030023ae2822-FRA`: a number of 64 bits in hexadecimal and the place.
fn cloudflare(value: &[u8]) -> Option<Airport> {
    let (number, place) = value.split_at_checked(16)?;
    let place = place.strip_prefix(b"-")?;
    number.iter().all(u8::is_ascii_hexdigit).then(|| Airport::new(place))?
}

/// `FRA56-P4`: the place, a number, and a letter with a number.
fn cloudfront(value: &[u8]) -> Option<Airport> {
    let (place, rest) = value.split_at_checked(3)?;
    let mut parts = rest.splitn(2, |byte| *byte == b'-');
    let is_number = |bytes: &[u8]| !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    let has_number = parts.next().is_some_and(is_number);
    let has_rest = parts.next().is_none_or(|part| {
        part.split_first().is_some_and(|(letter, number)| letter.is_ascii_uppercase() && is_number(number))
    });
    (has_number && has_rest).then(|| Airport::new(place))?
}

/// `cache-fra-eddf8230027-FRA`, and several with commas: a shield nearer to the origin server first, the one that answered last.
fn fastly(value: &[u8]) -> Option<Airport> {
    let last = value.rsplit(|byte| *byte == b',').next()?.trim_ascii();
    let node = last.strip_prefix(b"cache-")?;
    let (node, place) = node.split_at_checked(node.len().checked_sub(4)?)?;
    let is_plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    let place = Airport::new(place.strip_prefix(b"-")?)?;
    // The name of the machine begins with the same place.
    let is_same = node.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case(&place.0));
    (is_same && node.iter().all(is_plain)).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, value: &str) -> Option<String> {
        airport(name, value.as_bytes()).map(|airport| airport.to_string())
    }

    #[test]
    fn the_places_of_three_cdns_are_found() {
        for (name, value, place) in [
            ("cf-ray", "230b030023ae2822-FRA", "FRA"),
            ("CF-RAY", " 8b1b2c3d4e5f6071-GRU ", "GRU"),
            ("x-amz-cf-pop", "FRA56-P4", "FRA"),
            ("X-Amz-Cf-Pop", "IAD89-C2", "IAD"),
            ("x-amz-cf-pop", "HAM50", "HAM"),
            ("x-served-by", "cache-fra-eddf8230027-FRA", "FRA"),
            ("x-served-by", "cache-hhn4030-HHN", "HHN"),
            ("x-served-by", "cache-iad-kiad7000045-IAD, cache-ham-edda8120021-HAM", "HAM"),
        ] {
            assert_eq!(of(name, value).as_deref(), Some(place), "{name}: {value}");
        }
    }

    #[test]
    fn what_only_looks_like_a_place_is_none() {
        for (name, value) in [
            ("cf-ray", "230b030023ae2822"),
            ("cf-ray", "230b030023ae2822-fra"),
            ("cf-ray", "230b030023ae2822-FRAN"),
            ("cf-ray", "230b030023ae282-FRA"),
            ("cf-ray", "xxxxxxxxxxxxxxxx-FRA"),
            ("cf-ray", "FRA"),
            ("x-amz-cf-pop", "FRA"),
            ("x-amz-cf-pop", "FRA-C1"),
            ("x-amz-cf-pop", "FRA5-"),
            ("x-amz-cf-pop", "FRA5-c1"),
            ("x-served-by", "cache-FRA"),
            ("x-served-by", "cache-fra1-HAM"),
            ("x-served-by", "FRA"),
            ("x-served-by", "cache-iad1-IAD, origin"),
            ("server", "230b030023ae2822-FRA"),
            ("cf-ray", ""),
        ] {
            assert_eq!(of(name, value), None, "{name}: {value}");
        }
        assert_eq!(airport("cf-ray", b"230b030023ae2822-FR\xff"), None);
    }
}
