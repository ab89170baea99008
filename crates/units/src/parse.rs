//! Parsing and printing of `NUMBER UNIT`, shared by all quantities.

use std::fmt;

/// A unit: its name and how many base units it is.
pub(crate) type Unit = (&'static str, u64);

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseUnitError {
    found: String,
    expected: String,
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found {:?}, expected {}", self.found, self.expected)
    }
}

impl std::error::Error for ParseUnitError {}

/// Parses `text` into base units. `what` begins the error's "expected", such as `a rate such as "40 Mbit/s"`.
pub(crate) fn parse(text: &str, what: &str, units: &[Unit]) -> Result<u64, ParseUnitError> {
    let error = |why: &str| ParseUnitError {
        found: text.to_owned(),
        expected: format!(
            "{what} (units: {}){}{why}",
            units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
            if why.is_empty() { "" } else { "; " }
        ),
    };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim_start());
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else { return Err(error("")) };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let malformed = whole.is_empty() || (number.contains('.') && fraction.is_empty()) || fraction.contains('.');
    if malformed {
        return Err(error("the number is malformed"));
    }
    let too_large = || error("the value is too large");
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let fraction = fraction.trim_end_matches('0');
    let mut value = whole.checked_mul(*factor).ok_or_else(too_large)?;
    if !fraction.is_empty() {
        let scale =
            u32::try_from(fraction.len()).ok().and_then(|digits| 10_u128.checked_pow(digits)).ok_or_else(too_large)?;
        let part = fraction.parse::<u128>().map_err(|_| too_large())? * u128::from(*factor);
        if part % scale != 0 {
            return Err(error("the value is not a whole number of the smallest unit"));
        }
        value = u64::try_from(part / scale).ok().and_then(|part| value.checked_add(part)).ok_or_else(too_large)?;
    }
    Ok(value)
}

/// Prints base units with the largest unit of which they are a whole number. `units` ascend; zero takes the first.
pub(crate) fn display(value: u64, units: &[Unit], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let fitting = units
        .iter()
        .filter(|(_, factor)| value != 0 && value.is_multiple_of(*factor))
        .max_by_key(|(_, factor)| *factor);
    let (name, factor) = fitting.or(units.first()).copied().unwrap_or(("", 1));
    write!(f, "{} {name}", value / factor)
}
