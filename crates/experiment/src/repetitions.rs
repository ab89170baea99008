//! How often runs are repeated: a number of times, or until a metric is known well enough.

use serde::{Deserialize, Serialize};
use toml::Value;

use crate::{
    settings::value_parser::{Refused, ValueParser, count},
    value::inline,
};

/// What `workload.repetitions` asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Repetitions {
    /// A run is repeated so many times.
    Fixed(u32),
    /// A run is repeated until an interval is narrow enough.
    Until(Until),
}

/// Repeats the runs of each setting until the 95 % interval of a metric's mean is narrow enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// Name of the metric.
    pub metric: String,
    /// Half of the interval's width as a share of the mean, 0 to 1: 0.02 for "until 2 %".
    pub width: f64,
    /// Repetitions before the first look.
    pub at_least: u32,
    /// Repetitions after which no more are made, however wide the interval is.
    pub at_most: u32,
}

const METRIC: &str = "goodput_wire_bps";
/// Fewer values say so little of their own spread that the interval is narrow by chance too often.
const AT_LEAST: u32 = 5;
const AT_MOST: u32 = 100;
/// Width of the widest interval that may be asked for, in percent: of a wider one the mean itself is hardly known.
const WIDEST_PERCENT: f64 = 50.0;

const UNTIL: &str = "until ";
const KEYS: [&str; 4] = ["until", "metric", "at_least", "at_most"];

impl Repetitions {
    /// Repetitions that are planned before anything was measured.
    pub fn first(&self) -> u32 {
        match self {
            Self::Fixed(count) => *count,
            Self::Until(until) => until.at_least,
        }
    }

    /// Reads a value of the key.
    pub(crate) fn read(value: &Value) -> Result<Self, Refused> {
        match value {
            Value::String(text) => {
                let rest = text.strip_prefix(UNTIL).ok_or_else(|| refused(value))?;
                let (width, metric) =
                    rest.split_once(" of ").map_or((rest, METRIC), |(width, metric)| (width, metric.trim()));
                let width = percent(width).map_err(|why| Refused::from(format!("found {}, {why}", inline(value))))?;
                Ok(Self::Until(Until { metric: metric.to_owned(), width, at_least: AT_LEAST, at_most: AT_MOST }))
            }
            Value::Table(table) => Ok(Self::Until(Until::read(table)?)),
            Value::Integer(_) | Value::Float(_) => count().read(value).map(Self::Fixed),
            _ => Err(refused(value)),
        }
    }

    /// What can be asked for in words, for the reference.
    pub(crate) fn describe() -> String {
        "count, \"until N %\", or a table".to_owned()
    }
}

impl Until {
    fn read(table: &toml::Table) -> Result<Self, Refused> {
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!("found the key {key:?}, expected {}", KEYS.join(", ")).into());
        }
        let text = |key: &str| match table.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(other) => Err(Refused::from(format!("{key}: found {}, expected a string", inline(other)))),
        };
        let number = |key: &str, default: u32| {
            let read =
                |value| count().read(value).map_err(|refused| Refused::from(format!("{key}: {}", refused.message)));
            table.get(key).map_or(Ok(default), read)
        };
        let Some(width) = text("until")? else {
            return Err("until: missing; expected a width such as \"2 %\"".to_owned().into());
        };
        let width = percent(width).map_err(|why| Refused::from(format!("until: found {width:?}, {why}")))?;
        let at_least = number("at_least", AT_LEAST)?;
        let at_most = number("at_most", AT_MOST.max(at_least))?;
        if at_least < 3 {
            return Err(format!(
                "at_least: found {at_least}, expected at least 3, because fewer values say next to nothing of chance"
            )
            .into());
        }
        if at_most < at_least {
            return Err(format!("at_most: found {at_most}, expected at_least ({at_least}) or more").into());
        }
        let metric = text("metric")?.unwrap_or(METRIC).to_owned();
        Ok(Self { metric, width, at_least, at_most })
    }

    /// The width in percent, such as `2`.
    pub fn percent(&self) -> f64 {
        // Without the last digits of a division by 100.
        (self.width * 100.0 * 1e6).round() / 1e6
    }
}

fn refused(found: &Value) -> Refused {
    Refused {
        message: format!("found {}, expected a whole number from 1 to {}, or \"until 2 %\"", inline(found), u32::MAX),
        hint: Some(
            "{ until = \"2 %\", metric = \"goodput_wire_bps\", at_least = 5, at_most = 100 } says more".to_owned(),
        ),
    }
}

/// A share from a percentage.
fn percent(text: &str) -> Result<f64, String> {
    let expected = || format!("expected a width in percent, more than 0 and at most {WIDEST_PERCENT}, such as \"2 %\"");
    let number =
        text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok()).ok_or_else(expected)?;
    if number > 0.0 && number <= WIDEST_PERCENT { Ok(number / 100.0) } else { Err(expected()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Repetitions, String> {
        let table: toml::Table = format!("value = {text}").parse().unwrap();
        Repetitions::read(&table["value"]).map_err(|refused| refused.message)
    }

    #[test]
    fn short_and_long_forms_mean_the_same() {
        let until = |metric: &str, at_least, at_most| {
            Ok(Repetitions::Until(Until { metric: metric.to_owned(), width: 0.02, at_least, at_most }))
        };
        assert_eq!(read("3"), Ok(Repetitions::Fixed(3)));
        for text in ["\"until 2 %\"", "\"until 2%\"", "{ until = \"2 %\" }"] {
            assert_eq!(read(text), until("goodput_wire_bps", 5, 100), "{text}");
        }
        assert_eq!(read("\"until 2 % of drops_packets\""), until("drops_packets", 5, 100));
        let long = "{ until = \"2 %\", metric = \"drops_packets\", at_least = 10, at_most = 50 }";
        assert_eq!(read(long), until("drops_packets", 10, 50));
        assert_eq!(read("{ until = \"2 %\", at_least = 200 }"), until("goodput_wire_bps", 200, 200));
    }

    #[test]
    fn what_is_not_allowed_is_named_with_what_is() {
        for (text, expected) in [
            ("0", "found 0, expected a whole number from 1"),
            ("\"twice\"", "found \"twice\", expected a whole number from 1 to 4294967295, or \"until 2 %\""),
            ("true", "found true, expected a whole number"),
            ("\"until 0 %\"", "found \"until 0 %\", expected a width in percent, more than 0 and at most 50"),
            ("\"until 51 %\"", "more than 0 and at most 50"),
            ("\"until 2\"", "such as \"2 %\""),
            ("\"until nan %\"", "such as \"2 %\""),
            ("{ metric = \"x\" }", "until: missing; expected a width such as \"2 %\""),
            ("{ until = 2 }", "until: found 2, expected a string"),
            ("{ until = \"2 %\", most = 3 }", "found the key \"most\", expected until, metric, at_least, at_most"),
            ("{ until = \"2 %\", at_least = 2 }", "at_least: found 2, expected at least 3"),
            ("{ until = \"2 %\", at_most = 4 }", "at_most: found 4, expected at_least (5) or more"),
            ("{ until = \"2 %\", at_most = 0 }", "at_most: found 0, expected a whole number"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
