//! Values of a file, checked: what a setting takes, or what is expected instead.

use std::{fmt::Display, str::FromStr};

use quiclab_units::{ByteCount, Duration};
use serde::Deserialize;
use toml::Value;

use crate::value::inline;

pub(crate) fn put<T>(place: &mut T, value: T) -> Result<(), String> {
    *place = value;
    Ok(())
}

pub(crate) fn expected(found: &Value, what: &str) -> String {
    format!("found {}, expected {what}", inline(found))
}

pub(crate) fn quantity<T: FromStr<Err: Display>>(value: &Value) -> Result<T, String> {
    let Some(text) = value.as_str() else {
        let example: String = T::from_str("").err().map(|error| error.to_string()).unwrap_or_default();
        let what = example.split_once("expected ").map_or("a string with a unit", |(_, what)| what).to_owned();
        return Err(expected(value, &what));
    };
    text.parse().map_err(|error: T::Err| error.to_string())
}

pub(crate) fn positive<T: FromStr<Err: Display> + Default + PartialEq>(value: &Value) -> Result<T, String> {
    let parsed: T = quantity(value)?;
    if parsed == T::default() { Err(expected(value, "more than zero")) } else { Ok(parsed) }
}

pub(crate) fn delay(value: &Value) -> Result<Duration, String> {
    quantity(value)
}

pub(crate) fn truth(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| expected(value, "true or false"))
}

pub(crate) fn count(value: &Value) -> Result<u32, String> {
    let number = value.as_integer().and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
    number.ok_or_else(|| expected(value, "a whole number from 1 to 4294967295"))
}

pub(crate) fn word<'de, T: Deserialize<'de>>(value: &Value, what: &str) -> Result<T, String> {
    value.clone().try_into().map_err(|_| expected(value, what))
}

/// What leaves a choice to the kernel or to the stack is written `"default"`.
pub(crate) fn or_default<T>(
    value: &Value,
    read: impl FnOnce(&Value) -> Result<T, String>,
) -> Result<Option<T>, String> {
    if value.as_str() == Some("default") {
        return Ok(None);
    }
    read(value).map(Some).map_err(|message| format!("{message}, or \"default\""))
}

/// What can be without a limit is written `"none"` then.
pub(crate) fn or_none<T>(value: &Value, read: impl FnOnce(&Value) -> Result<T, String>) -> Result<Option<T>, String> {
    if value.as_str() == Some("none") {
        return Ok(None);
    }
    read(value).map(Some).map_err(|message| format!("{message}, or \"none\""))
}

/// A number from 0, less than 1.
pub(crate) fn below_one(value: &Value) -> Result<f64, String> {
    let fraction = number(value).filter(|number| (0.0..1.0).contains(number));
    fraction.ok_or_else(|| expected(value, "a number from 0, less than 1, such as 0.01 for 1 %"))
}

/// A number from `least` to `most`.
pub(crate) fn between(value: &Value, least: f64, most: f64) -> Result<f64, String> {
    let found = number(value).filter(|number| (least..=most).contains(number));
    found.ok_or_else(|| expected(value, &format!("a number from {least} to {most}")))
}

/// A number above 0.
pub(crate) fn positive_number(value: &Value) -> Result<f64, String> {
    number(value).filter(|number| *number > 0.0).ok_or_else(|| expected(value, "a number above 0"))
}

/// A number from 1.
pub(crate) fn at_least_one(value: &Value) -> Result<f64, String> {
    number(value).filter(|number| *number >= 1.0).ok_or_else(|| expected(value, "a number from 1"))
}

/// A number above 0, at most 1.
pub(crate) fn fraction(value: &Value) -> Result<f64, String> {
    let fraction = number(value).filter(|number| *number > 0.0 && *number <= 1.0);
    fraction.ok_or_else(|| expected(value, "a number above 0, at most 1"))
}

fn number(value: &Value) -> Option<f64> {
    let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
    number.filter(|number| number.is_finite())
}

/// A number of events: more than 32 bits hold.
pub(crate) fn events(value: &Value) -> Result<u64, String> {
    let number = value.as_integer().and_then(|number| u64::try_from(number).ok()).filter(|number| *number > 0);
    number.ok_or_else(|| expected(value, "a whole number from 1"))
}

/// The length of a packet of a model.
pub(crate) fn packet_bytes(value: &Value) -> Result<ByteCount, String> {
    let bytes: ByteCount = positive(value)?;
    if bytes.as_bytes() > 65_535 { Err(expected(value, "at most 65535 B")) } else { Ok(bytes) }
}
