//! What the setting of a stage can be, how it is written in a file, and what is expected where it is something else.

use std::{fmt::Display, str::FromStr};

use quiclab_units::{ByteCount, Duration, Rate};
use toml::Value;

use crate::{clock::PositiveRate, probability::Probability, queue::limit::Limit};

/// The value of a setting of a stage.
pub trait SettingValue: Sized {
    /// What it takes, for the reference.
    const TAKES: &'static str;

    /// Reads it from the value in a file.
    ///
    /// # Errors
    /// What was found and what was expected.
    fn read(value: &Value) -> Result<Self, String>;

    /// Returns it as it is written in a file; `None` where it is left out.
    fn write(&self) -> Option<Value>;

    /// Returns the value where the file does not say one; `None` where it has to.
    fn missing() -> Option<Self> {
        None
    }
}

/// A value as TOML on one line.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

/// What stands in an error about a value.
pub(crate) fn unexpected(found: &Value, expected: &str) -> String {
    format!("found {}, expected {expected}", shown(found))
}

fn quantity<T: FromStr<Err: Display>>(value: &Value, example: &str) -> Result<T, String> {
    let text = value.as_str().ok_or_else(|| unexpected(value, example))?;
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// A whole or broken number.
fn number(value: &Value) -> Option<f64> {
    let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
    number.filter(|number| number.is_finite())
}

impl SettingValue for Duration {
    const TAKES: &'static str = "time, less than a day";

    fn read(value: &Value) -> Result<Self, String> {
        let time: Self = quantity(value, "a time such as \"20 ms\"")?;
        // Sums of delays stay far below the end of the clock.
        if time < Self::from_secs(24 * 3600) { Ok(time) } else { Err(unexpected(value, "less than a day")) }
    }

    fn write(&self) -> Option<Value> {
        Some(Value::String(self.to_string()))
    }
}

impl SettingValue for PositiveRate {
    const TAKES: &'static str = "rate, more than 0";

    fn read(value: &Value) -> Result<Self, String> {
        let rate: Rate = quantity(value, "a rate such as \"40 Mbit/s\"")?;
        rate.try_into().map_err(|_| unexpected(value, "more than 0 bit/s"))
    }

    fn write(&self) -> Option<Value> {
        Some(Value::String(Rate::from_bits_per_second(self.as_bits_per_second()).to_string()))
    }
}

impl SettingValue for ByteCount {
    const TAKES: &'static str = "size";

    fn read(value: &Value) -> Result<Self, String> {
        quantity(value, "a size such as \"1535 B\"")
    }

    fn write(&self) -> Option<Value> {
        Some(Value::String(self.to_string()))
    }
}

impl SettingValue for Probability {
    const TAKES: &'static str = "number from 0 to 1";

    fn read(value: &Value) -> Result<Self, String> {
        let expected = "a probability from 0 to 1, such as 0.05 for 5 %";
        number(value).and_then(|number| Self::try_from(number).ok()).ok_or_else(|| unexpected(value, expected))
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Float(self.get()))
    }
}

impl SettingValue for f64 {
    const TAKES: &'static str = "number, 0 or more";

    fn read(value: &Value) -> Result<Self, String> {
        number(value).filter(|number| *number >= 0.0).ok_or_else(|| unexpected(value, "a number, 0 or more"))
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Float(*self))
    }
}

impl SettingValue for u32 {
    const TAKES: &'static str = "whole number from 1";

    fn read(value: &Value) -> Result<Self, String> {
        let number = value.as_integer().and_then(|number| Self::try_from(number).ok()).filter(|number| *number > 0);
        number.ok_or_else(|| unexpected(value, "a whole number from 1 to 4294967295"))
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Integer(i64::from(*self)))
    }
}

impl SettingValue for bool {
    const TAKES: &'static str = "`true` or `false`";

    fn read(value: &Value) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| unexpected(value, "true or false"))
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Boolean(*self))
    }
}

impl SettingValue for Limit {
    const TAKES: &'static str = "\"N packets\", or a size";

    fn read(value: &Value) -> Result<Self, String> {
        let expected = "a limit such as \"100 packets\" or \"64 kB\", more than 0";
        let text = value.as_str().ok_or_else(|| unexpected(value, expected))?;
        let limit = match text.strip_suffix(" packets") {
            Some(count) => count.parse().ok().map(Self::Packets),
            None => text.parse::<ByteCount>().ok().map(|size| Self::Bytes(size.as_bytes())),
        };
        limit
            .filter(|limit| !matches!(limit, Self::Packets(0) | Self::Bytes(0)))
            .ok_or_else(|| unexpected(value, expected))
    }

    fn write(&self) -> Option<Value> {
        Some(Value::String(match self {
            Self::Packets(count) => format!("{count} packets"),
            Self::Bytes(bytes) => ByteCount::from_bytes(*bytes).to_string(),
        }))
    }
}

impl<T: SettingValue> SettingValue for Option<T> {
    const TAKES: &'static str = T::TAKES;

    fn read(value: &Value) -> Result<Self, String> {
        T::read(value).map(Some)
    }

    fn write(&self) -> Option<Value> {
        self.as_ref().and_then(T::write)
    }

    fn missing() -> Option<Self> {
        Some(None)
    }
}

/// Numbers of packets, counted from 1, each greater than the previous one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketNumbers(pub Vec<u32>);

impl SettingValue for PacketNumbers {
    const TAKES: &'static str = "list of counts, rising";

    fn read(value: &Value) -> Result<Self, String> {
        let expected = "a list of packet numbers from 1, each greater than the previous one";
        let list = value.as_array().ok_or_else(|| unexpected(value, expected))?;
        let numbers = list.iter().map(u32::read).collect::<Result<Vec<_>, _>>()?;
        let is_rising = !numbers.is_empty() && numbers.windows(2).all(|pair| pair[0] < pair[1]);
        if is_rising { Ok(Self(numbers)) } else { Err(unexpected(value, expected)) }
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Array(self.0.iter().filter_map(SettingValue::write).collect()))
    }
}

/// Declares an enum whose values are words of a file.
macro_rules! words {
    ($type:ty, $takes:literal, $($word:literal => $value:expr),+ $(,)?) => {
        impl $crate::spec::value::SettingValue for $type {
            const TAKES: &'static str = $takes;

            fn read(value: &toml::Value) -> Result<Self, String> {
                match value.as_str() {
                    $(Some($word) => Ok($value),)+
                    _ => Err($crate::spec::value::unexpected(value, concat!("one of ", $takes))),
                }
            }

            fn write(&self) -> Option<toml::Value> {
                let word = match self {
                    $(value if *value == $value => $word,)+
                    _ => return None,
                };
                Some(toml::Value::String(word.to_owned()))
            }
        }
    };
}
pub(crate) use words;
