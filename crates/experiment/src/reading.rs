//! Values of a file, checked: what a setting takes, or what is expected instead.

use std::{fmt::Display, str::FromStr};

use quiclab_units::{ByteCount, Duration, Rate};
use serde::Deserialize;
use toml::Value;

use crate::value::inline;

/// The largest frame without jumbo frames: a bucket below it could never let one through.
const LARGEST_FRAME: ByteCount = ByteCount::from_bytes(1514);
/// More files than this do not fit into the variables of an endpoint.
const MOST_FILES: u32 = 2000;

pub(crate) fn put<T>(place: &mut T, value: T) -> Result<(), String> {
    *place = value;
    Ok(())
}

pub(crate) fn expected(found: &Value, what: &str) -> String {
    format!("found {}, expected {what}", inline(found))
}

pub(crate) fn text(value: &Value, what: &str) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| expected(value, what))
}

pub(crate) fn quantity<T: FromStr<Err: Display>>(value: &Value) -> Result<T, String> {
    let Some(text) = value.as_str() else {
        let example: String = T::from_str("").err().map(|error| error.to_string()).unwrap_or_default();
        let what = example.split_once("expected ").map_or("a text with a unit", |(_, what)| what).to_owned();
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

pub(crate) fn bucket(value: &Value) -> Result<ByteCount, String> {
    let bytes: ByteCount = quantity(value)?;
    let largest = ByteCount::from_bytes(u64::from(u32::MAX));
    if bytes < LARGEST_FRAME || bytes > largest {
        return Err(expected(
            value,
            &format!("at least {LARGEST_FRAME}, or no full frame ever passes, and at most {largest}"),
        ));
    }
    Ok(bytes)
}

/// The kernel keeps these in a signed 32-bit number and doubles them.
pub(crate) fn buffer(value: &Value) -> Result<ByteCount, String> {
    let bytes: ByteCount = positive(value)?;
    let largest = ByteCount::from_bytes(1 << 30);
    if bytes > largest { Err(expected(value, &format!("at most {largest}"))) } else { Ok(bytes) }
}

pub(crate) fn snap_length(value: &Value) -> Result<Option<ByteCount>, String> {
    /// Ethernet, IPv6 and TCP headers with options: below this a packet cannot be told from another.
    const SMALLEST: ByteCount = ByteCount::from_bytes(96);
    if value.as_str() == Some("full") {
        return Ok(None);
    }
    let bytes: ByteCount = quantity(value).map_err(|message| format!("{message}, or \"full\""))?;
    let largest = ByteCount::from_bytes(65_535);
    if bytes < SMALLEST || bytes > largest {
        return Err(expected(value, &format!("\"full\", or {SMALLEST} to {largest}")));
    }
    Ok(Some(bytes))
}

pub(crate) fn room(value: &Value) -> Result<Option<ByteCount>, String> {
    if value.as_str() == Some("transfer") {
        return Ok(None);
    }
    positive(value).map(Some).map_err(|message| format!("{message}, or \"transfer\""))
}

pub(crate) fn files(value: &Value) -> Result<u32, String> {
    let number = count(value)?;
    if number > MOST_FILES { Err(expected(value, &format!("at most {MOST_FILES}"))) } else { Ok(number) }
}

/// File systems take no longer names.
pub(crate) fn name_length(value: &Value) -> Result<u32, String> {
    let number = count(value)?;
    if number > 255 { Err(expected(value, "at most 255")) } else { Ok(number) }
}

/// Packets of a list of drops, which the kernel looks up by their number.
pub(crate) fn packet_numbers(value: &Value) -> Result<Vec<u32>, String> {
    let what = "a list of packet numbers from 1 to 4096, each greater than the one before";
    let list = value.as_array().ok_or_else(|| expected(value, what))?;
    let numbers = list.iter().map(count).collect::<Result<Vec<_>, _>>()?;
    let rising = numbers.windows(2).all(|pair| pair[0] < pair[1]) && numbers.last().is_none_or(|last| *last <= 4096);
    if rising { Ok(numbers) } else { Err(expected(value, what)) }
}

pub(crate) fn count_or_all(value: &Value) -> Result<Option<u32>, String> {
    if value.as_str() == Some("all") {
        return Ok(None);
    }
    count(value).map(Some).map_err(|message| format!("{message}, or \"all\""))
}

/// The contract counts certificate delays in milliseconds.
pub(crate) fn milliseconds(value: &Value) -> Result<Duration, String> {
    let time = delay(value)?;
    if time.as_nanos() % 1_000_000 == 0 { Ok(time) } else { Err(expected(value, "a whole number of milliseconds")) }
}

pub(crate) fn truth(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| expected(value, "true or false"))
}

pub(crate) fn count(value: &Value) -> Result<u32, String> {
    let number = value.as_integer().and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
    number.ok_or_else(|| expected(value, "a whole number from 1 to 4294967295"))
}

pub(crate) fn one_of(value: &Value, allowed: &[&str]) -> Result<String, String> {
    let found = value.as_str().filter(|text| allowed.contains(text));
    found.map(str::to_owned).ok_or_else(|| {
        let quoted: Vec<_> = allowed.iter().map(|name| format!("{name:?}")).collect();
        expected(value, &format!("one of {}", quoted.join(", ")))
    })
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

/// What `read` takes; `None` for "none".
pub(crate) fn or_none<T>(value: &Value, read: impl FnOnce(&Value) -> Result<T, String>) -> Result<Option<T>, String> {
    if value.as_str() == Some("none") {
        return Ok(None);
    }
    read(value).map(Some).map_err(|message| format!("{message}, or \"none\""))
}

/// A number above 0 with three digits behind the point at most, in thousandths; `None` for "none".
pub(crate) fn thousandths_or_none(value: &Value) -> Result<Option<u32>, String> {
    if value.as_str() == Some("none") {
        return Ok(None);
    }
    let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
    let thousandths = number.map(|number| number * 1000.0).filter(|number| (1.0..=1e6).contains(number));
    // What is written with three digits is nearer to a whole number than this, whatever its binary form.
    let is_whole = |number: &f64| (number - number.round()).abs() < 1e-6;
    thousandths.filter(is_whole).map(|number| Some(number.round() as u32)).ok_or_else(|| {
        expected(value, "a number from 0.001 to 1000 with three digits behind the point at most, or \"none\"")
    })
}

/// QEMU counts instructions in powers of two.
pub(crate) fn instruction_time(value: &Value) -> Result<u32, String> {
    const LARGEST: u32 = 64;
    let is_known = |time: &u32| time.is_power_of_two() && *time <= LARGEST;
    let what = || expected(value, &format!("a power of two from 1 to {LARGEST}"));
    count(value).ok().filter(is_known).ok_or_else(what)
}

/// `fq` keeps the rate in 32 bits, as bytes per second, and takes its largest number for "none".
pub(crate) fn flow_rate(value: &Value) -> Result<Rate, String> {
    let rate: Rate = positive(value)?;
    let bits = rate.as_bits_per_second();
    let largest = u64::from(u32::MAX - 1) * 8;
    if bits.is_multiple_of(8) && bits <= largest {
        return Ok(rate);
    }
    Err(expected(value, &format!("whole bytes per second, at most {}", Rate::from_bits_per_second(largest))))
}

/// A token bucket counts whole bytes per second, and takes 0 for "no limit".
pub(crate) fn bucket_rate(value: &Value) -> Result<Rate, String> {
    let rate: Rate = positive(value)?;
    let is_whole = rate.as_bits_per_second().is_multiple_of(8);
    if is_whole { Ok(rate) } else { Err(expected(value, "whole bytes per second: a multiple of 8 bit/s")) }
}

/// A time that the kernel counts in microseconds, in 32 bits.
pub(crate) fn microseconds(value: &Value) -> Result<Duration, String> {
    let time: Duration = positive(value)?;
    let is_whole = time.as_nanos().is_multiple_of(1000) && u32::try_from(time.as_nanos() / 1000).is_ok();
    if is_whole { Ok(time) } else { Err(expected(value, "whole microseconds, at most 4294 s")) }
}

/// A time that the kernel counts in nanoseconds, in 32 bits.
pub(crate) fn short_delay(value: &Value) -> Result<Duration, String> {
    let time = delay(value)?;
    if u32::try_from(time.as_nanos()).is_ok() { Ok(time) } else { Err(expected(value, "at most 4294967295 ns")) }
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
