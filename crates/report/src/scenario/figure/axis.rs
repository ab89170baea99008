//! Axes of settings and of time.

use std::collections::BTreeMap;

use quiclab_experiment::scenario::{FigureSpec, Labels, TIME};
use quiclab_units::{ByteCount, Duration, Rate};

use super::members::Member;
use crate::plot::{Axis, AxisKind};

/// A logarithmic axis goes this far beyond the values, as a factor.
const MARGIN: f64 = 1.12;

/// What goes from left to right.
pub(super) enum Across {
    /// Time in seconds.
    Time,
    /// A setting whose values are numbers.
    Numbers(Values),
    /// A setting whose values are names.
    Names(Values),
}

/// The values that a setting has in the members of a figure.
pub(super) struct Values {
    key: String,
    /// Name and unit, for the axis.
    pub title: String,
    /// The values as text: numbers ascend, names are in the order of the plan.
    texts: Vec<String>,
    /// The values in words, for ticks.
    pub words: Vec<String>,
    /// The values in the unit of the axis; empty where one of them is no number.
    numbers: Vec<f64>,
}

impl Across {
    /// The horizontal axis of a figure.
    pub(super) fn of(spec: &FigureSpec, members: &[Member], labels: &Labels) -> Self {
        if spec.x == TIME {
            return Self::Time;
        }
        let values = Values::of(&spec.x, spec.x_label.as_deref(), members, labels);
        if values.numbers.is_empty() { Self::Names(values) } else { Self::Numbers(values) }
    }

    /// Place of a member on the axis.
    pub(super) fn place(&self, settings: &BTreeMap<String, String>) -> Option<f64> {
        match self {
            Self::Time => None,
            Self::Numbers(values) => values.numbers.get(values.place(settings)?).copied(),
            Self::Names(values) => values.place(settings).map(|place| place as f64),
        }
    }

    /// The axis with its title. `last` is the end of the time.
    pub(super) fn axis(&self, spec: &FigureSpec, last: f64) -> Axis {
        let title = match self {
            Self::Time => spec.x_label.clone().unwrap_or_else(|| "time, s".to_owned()),
            Self::Numbers(values) | Self::Names(values) => values.title.clone(),
        };
        let range = match self {
            Self::Numbers(values) => spec.x_range.or_else(|| Some((*values.numbers.first()?, *values.numbers.last()?))),
            _ => spec.x_range,
        };
        let kind = match (self, range) {
            (Self::Names(values), _) => AxisKind::Names(values.words.clone()),
            (Self::Time, None) if spec.logarithmic => AxisKind::Logarithmic { range: None },
            (Self::Time, None) => AxisKind::Linear { range: Some((0.0, last)) },
            (_, Some((low, high))) if spec.logarithmic && low > 0.0 => {
                let margin = if spec.x_range.is_some() { 1.0 } else { MARGIN };
                AxisKind::Logarithmic { range: Some((low / margin, high * margin)) }
            }
            _ => AxisKind::Linear { range: spec.x_range },
        };
        Axis { title, kind }
    }
}

impl Values {
    /// The values of the setting `key`. `title` takes the place of its name and unit.
    pub(super) fn of(key: &str, title: Option<&str>, members: &[Member], labels: &Labels) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for text in members.iter().filter_map(|member| member.settings.get(key)) {
            if !texts.contains(text) {
                texts.push(text.clone());
            }
        }
        let parsed: Option<Vec<_>> = texts.iter().map(|text| base_value(text)).collect();
        let parsed = parsed.filter(|all| all.iter().all(|value| value.1 == all[0].1));
        let Some(parsed) = parsed.filter(|all| !all.is_empty()) else {
            let words = texts.iter().map(|text| labels.value(key, text)).collect();
            let title = title.map_or_else(|| labels.setting(key), str::to_owned);
            return Self { key: key.to_owned(), title, texts, words, numbers: Vec::new() };
        };
        let largest = parsed.iter().map(|value| value.0).fold(0.0, f64::max);
        let (unit, divisor) = parsed[0].1.unit(largest);
        let unit = if unit.is_empty() { labels.unit(key) } else { unit };
        let mut all: Vec<_> = texts.into_iter().zip(parsed.iter().map(|value| value.0 / divisor)).collect();
        all.sort_by(|one, other| one.1.total_cmp(&other.1));
        let (texts, numbers): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let name = labels.setting(key);
        let named = if unit.is_empty() { name } else { format!("{name}, {unit}") };
        let words = numbers.iter().map(|number| plain_number(*number)).collect();
        Self { key: key.to_owned(), title: title.map_or(named, str::to_owned), texts, words, numbers }
    }

    /// Which of the values a member has.
    pub(super) fn place(&self, settings: &BTreeMap<String, String>) -> Option<usize> {
        let text = settings.get(&self.key)?;
        self.texts.iter().position(|other| other == text)
    }
}

/// What a value is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Number,
    BitsPerSecond,
    Nanoseconds,
    Bytes,
}

impl Base {
    /// The unit of an axis on which `largest` is the largest value, and how much of the base it is.
    fn unit(self, largest: f64) -> (&'static str, f64) {
        match self {
            Self::Number => ("", 1.0),
            Self::BitsPerSecond if largest < 1e6 => ("kbit/s", 1e3),
            Self::BitsPerSecond if largest < 2e10 => ("Mbit/s", 1e6),
            Self::BitsPerSecond => ("Gbit/s", 1e9),
            Self::Nanoseconds if largest < 1e6 => ("\u{b5}s", 1e3),
            Self::Nanoseconds if largest < 1e10 => ("ms", 1e6),
            Self::Nanoseconds => ("s", 1e9),
            Self::Bytes => ("B", 1.0),
        }
    }
}

/// A setting as a number, if it is one.
fn base_value(text: &str) -> Option<(f64, Base)> {
    if let Ok(number) = text.parse::<f64>() {
        return Some((number, Base::Number));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return Some((rate.as_bits_per_second() as f64, Base::BitsPerSecond));
    }
    if let Ok(time) = text.parse::<Duration>() {
        return Some((time.as_nanos() as f64, Base::Nanoseconds));
    }
    text.parse::<ByteCount>().ok().map(|bytes| (bytes.as_bytes() as f64, Base::Bytes))
}

/// A number in full, without an exponent and without zeros that say nothing.
pub(super) fn plain_number(value: f64) -> String {
    // The shortest text that is this number, as far as nine digits go.
    let rounded: f64 = format!("{value:.8e}").parse().unwrap_or(value);
    rounded.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_numbers_in_one_unit() {
        assert_eq!(base_value("0.25"), Some((0.25, Base::Number)));
        assert_eq!(base_value("2.5 Gbit/s"), Some((2.5e9, Base::BitsPerSecond)));
        assert_eq!(base_value("100 us"), Some((1e5, Base::Nanoseconds)));
        assert_eq!(base_value("drop_tail"), None);
        assert_eq!((Base::BitsPerSecond.unit(114e6), Base::Nanoseconds.unit(2.8e8)), (("Mbit/s", 1e6), ("ms", 1e6)));
    }
}
