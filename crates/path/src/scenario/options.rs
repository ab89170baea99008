//! Options as the runner writes them: `--name=value`, with units of ns-3.

use std::ops::RangeInclusive;

use quiclab_units::{Duration, Rate};

use crate::clock::PositiveRate;

const TIME: &str = "a time of less than a day, such as 15ms";
/// What ns-3 takes an option for that has no value.
const SET: &str = "true";

/// The options of one scenario. Each is taken once; what is left over is not known.
pub(super) struct Options<'a> {
    left: Vec<(&'a str, &'a str)>,
    taken: Vec<String>,
}

impl<'a> Options<'a> {
    /// The scenario's name, and its options.
    pub(super) fn read(text: &'a str) -> Result<(&'a str, Self), String> {
        let mut words = text.split_ascii_whitespace();
        let name = words.next().ok_or("found no scenario, expected one such as \"simple-p2p --delay=15ms ...\"")?;
        let mut left: Vec<(&str, &str)> = Vec::new();
        for word in words {
            let option = word.strip_prefix("--").map(|option| option.split_once('=').unwrap_or((option, SET)));
            let Some((key, value)) = option.filter(|(key, value)| !key.is_empty() && !value.is_empty()) else {
                return Err(format!("found {word:?}, expected an option such as --delay=15ms"));
            };
            if left.iter().any(|(other, _)| *other == key) {
                return Err(format!("--{key}: found a second time, expected once"));
            }
            left.push((key, value));
        }
        Ok((name, Options { left, taken: Vec::new() }))
    }

    pub(super) fn optional(&mut self, key: &str) -> Option<&'a str> {
        self.taken.push(key.to_owned());
        let place = self.left.iter().position(|(other, _)| *other == key)?;
        Some(self.left.remove(place).1)
    }

    fn required(&mut self, key: &str, example: &str) -> Result<&'a str, String> {
        self.optional(key).ok_or_else(|| format!("--{key}: missing, expected {example}"))
    }

    pub(super) fn time(&mut self, key: &str) -> Result<Duration, String> {
        self.optional_time(key)?.ok_or_else(|| format!("--{key}: missing, expected {TIME}"))
    }

    pub(super) fn optional_time(&mut self, key: &str) -> Result<Option<Duration>, String> {
        let Some(text) = self.optional(key) else { return Ok(None) };
        let time: Option<Duration> = text.parse().ok();
        time.filter(|time| *time < Duration::from_secs(24 * 3600))
            .map(Some)
            .ok_or_else(|| format!("--{key}: found {text:?}, expected {TIME}"))
    }

    /// Whether it is given, and not as `false`.
    pub(super) fn flag(&mut self, key: &str) -> Result<bool, String> {
        match self.optional(key) {
            None | Some("false") => Ok(false),
            Some(SET) => Ok(true),
            Some(other) => Err(format!("--{key}: found {other:?}, expected true or false")),
        }
    }

    /// Takes a rate as ns-3 writes it: `10Mbps` or `10Mb/s`, with k, M and G.
    pub(super) fn rate(&mut self, key: &str) -> Result<PositiveRate, String> {
        const EXAMPLE: &str = "a rate of bits, more than 0, such as 10Mbps";
        let text = self.required(key, EXAMPLE)?;
        let number = text.strip_suffix("bps").or_else(|| text.strip_suffix("b/s"));
        let rate: Option<Rate> = number.and_then(|number| format!("{number}bit/s").parse().ok());
        rate.and_then(|rate| rate.try_into().ok()).ok_or_else(|| format!("--{key}: found {text:?}, expected {EXAMPLE}"))
    }

    pub(super) fn number(&mut self, key: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        self.optional_number(key, range)?.ok_or_else(|| format!("--{key}: missing, expected {expected}"))
    }

    pub(super) fn optional_number(&mut self, key: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, String> {
        let Some(text) = self.optional(key) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.map(Some).ok_or_else(|| {
            format!("--{key}: found {text:?}, expected a whole number from {} to {}", range.start(), range.end())
        })
    }

    /// Numbers from 1 with commas between them, in ascending order; none where the option is not given.
    pub(super) fn list(&mut self, key: &str) -> Result<Vec<u32>, String> {
        let Some(text) = self.optional(key) else { return Ok(Vec::new()) };
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
        let numbers: Option<Vec<u32>> = text.split(',').map(number).collect();
        let mut numbers = numbers.ok_or_else(|| {
            format!("--{key}: found {text:?}, expected numbers from 1 such as 1,3,15, without spaces")
        })?;
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }

    /// Nothing may be left.
    pub(super) fn finish(&self, scenario: &str) -> Result<(), String> {
        let Some((key, _)) = self.left.first() else { return Ok(()) };
        let known: Vec<_> = self.taken.iter().map(|key| format!("--{key}")).collect();
        Err(format!("--{key}: unknown option; {scenario} takes {}", known.join(", ")))
    }
}
