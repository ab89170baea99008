//! Metrics by their names, as `metrics.json` has them. One loop over a table reads and writes them: the code that `serde` derives for so many
//! fields takes as long to compile as the rest of this crate.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Visitor},
    ser::SerializeMap,
};
pub(crate) use serde_json::Number;

use crate::metrics::Metrics;

/// Why an entry of `metrics.json` is not a metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnfitEntry {
    /// There is no metric of this name.
    #[error("unknown metric `{name}`")]
    UnknownName { name: String },
    /// The number is of another kind, such as 1.5 packets.
    #[error("{name}: found {found}, expected {expected}")]
    UnfitNumber { name: String, found: Number, expected: &'static str },
}

/// A type of numbers that metrics have.
pub(crate) trait Measured: Copy {
    /// Names the numbers of this type, for errors.
    const EXPECTED: &'static str;
    /// `None` for what JSON has no number for: infinity, and what is not a number.
    fn to_number(self) -> Option<Number>;
    /// `None` where the number is not of this type.
    fn of_number(number: &Number) -> Option<Self>;
}

impl Measured for u64 {
    const EXPECTED: &'static str = "a whole number from 0 to 18446744073709551615";

    fn to_number(self) -> Option<Number> {
        Some(self.into())
    }

    fn of_number(number: &Number) -> Option<Self> {
        number.as_u64()
    }
}

impl Measured for f64 {
    const EXPECTED: &'static str = "a number";

    fn to_number(self) -> Option<Number> {
        Number::from_f64(self)
    }

    fn of_number(number: &Number) -> Option<Self> {
        number.as_f64()
    }
}

/// The number that `metrics.json` has for a field.
pub(crate) fn number<T: Measured>(field: Option<T>) -> Option<Number> {
    field.and_then(Measured::to_number)
}

/// The field for a number of `metrics.json`.
pub(crate) fn measured<T: Measured>(name: &str, number: Option<Number>) -> Result<Option<T>, UnfitEntry> {
    let Some(found) = number else { return Ok(None) };
    match T::of_number(&found) {
        Some(value) => Ok(Some(value)),
        None => Err(UnfitEntry::UnfitNumber { name: name.to_owned(), found, expected: T::EXPECTED }),
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.entries();
        let mut map = serializer.serialize_map(Some(entries.len()))?;
        for (name, number) in &entries {
            map.serialize_entry(name, number)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries)
    }
}

/// Reads metrics; one that is missing is null.
struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Metrics;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("metrics by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metrics, A::Error> {
        let mut metrics = Metrics::default();
        let mut names = std::collections::BTreeSet::new();
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            metrics.set(&name, map.next_value()?).map_err(de::Error::custom)?;
            if !names.insert(name.clone()) {
                return Err(de::Error::custom(format_args!("duplicate metric `{name}`")));
            }
        }
        Ok(metrics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found_set_and_written_by_its_name() {
        let mut metrics = Metrics::default();
        let names: Vec<_> = metrics.entries().into_iter().map(|(name, _)| name).collect();
        assert!(names.len() > 150);
        for (place, name) in names.iter().enumerate() {
            assert_eq!(metrics.number(name), Some(None), "{name}");
            metrics.set(name, Some((place as u64 + 1).into())).unwrap();
        }
        for ((place, name), (written, number)) in names.iter().enumerate().zip(metrics.entries()) {
            assert_eq!((*name, number.unwrap().as_f64()), (written, Some(place as f64 + 1.0)));
        }
        let text = serde_json::to_string(&metrics).unwrap();
        assert_eq!(serde_json::from_str::<Metrics>(&text).unwrap(), metrics);
    }

    #[test]
    fn what_is_no_metric_is_refused_with_its_name() {
        let refused = |text: &str| serde_json::from_str::<Metrics>(text).unwrap_err().to_string();
        assert!(refused(r#"{"packets_set": 1}"#).starts_with("unknown metric `packets_set`"));
        assert!(refused(r#"{"steady_packets_set": 1}"#).starts_with("unknown metric `steady_packets_set`"));
        assert!(refused(r#"{"packets_sent": 1.5}"#).starts_with("packets_sent: found 1.5, expected a whole number"));
        assert!(refused(r#"{"packets_sent": -1}"#).starts_with("packets_sent: found -1, expected a whole number"));
        assert!(refused(r#"{"packets_sent": "1"}"#).contains("expected a JSON number"));
        assert!(refused(r#"{"packets_sent": 1, "packets_sent": 2}"#).starts_with("duplicate metric `packets_sent`"));
        assert!(refused("[]").contains("expected metrics by name"));
    }

    #[test]
    fn what_json_has_no_number_for_is_null() {
        let metrics = Metrics { throughput_bps: Some(f64::INFINITY), ..Metrics::default() };
        assert!(serde_json::to_string(&metrics).unwrap().contains(r#""throughput_bps":null"#));
    }
}
