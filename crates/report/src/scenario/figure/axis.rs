//! Axes of settings and of time.

use std::collections::BTreeMap;

use plotly::layout::{Axis, AxisType, RangeMode};
use quiclab_experiment::scenario::{FigureSpec, Labels, TIME};
use quiclab_units::{ByteCount, Duration, Rate};

use super::members::Member;
use crate::figures::style;

/// A logarithmic axis goes this far beyond the values, as a factor.
const MARGIN: f64 = 1.12;
/// A longer logarithmic axis has ticks at powers of ten only.
const FEW_DECADES: f64 = 3.2;

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
    /// As text: numbers ascend, names are in the order of the plan.
    texts: Vec<String>,
    /// For ticks.
    pub words: Vec<String>,
    /// In the unit of the axis; empty where one of them is no number.
    numbers: Vec<f64>,
}

impl Across {
    /// That of a figure.
    pub(super) fn of(spec: &FigureSpec, members: &[Member], labels: &Labels) -> Self {
        if spec.x == TIME {
            return Self::Time;
        }
        let values = Values::of(&spec.x, spec.x_label.as_deref(), members, labels);
        if values.numbers.is_empty() { Self::Names(values) } else { Self::Numbers(values) }
    }

    /// Where a member is.
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
        let axis = style::axis(&style::name(&title));
        let range = match self {
            Self::Numbers(values) => spec.x_range.or_else(|| Some((*values.numbers.first()?, *values.numbers.last()?))),
            _ => spec.x_range,
        };
        match (self, range) {
            (Self::Names(_), _) => axis.type_(AxisType::Category),
            (Self::Time, None) if spec.logarithmic => axis.type_(AxisType::Log),
            (Self::Time, None) => axis.range(vec![0.0, last]),
            (_, Some((low, high))) if spec.logarithmic && low > 0.0 => {
                let margin = if spec.x_range.is_some() { 1.0 } else { MARGIN };
                logarithmic(axis, low / margin, high * margin)
            }
            (_, Some((low, high))) if spec.x_range.is_some() => axis.range(vec![low, high]),
            _ => axis.range_mode(RangeMode::ToZero),
        }
    }
}

impl Values {
    /// Those of the setting `key`. `title` takes the place of its name and unit.
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

/// A logarithmic axis between these values, with ticks that are written in full.
fn logarithmic(axis: Axis, low: f64, high: f64) -> Axis {
    let ticks = log_ticks(low, high);
    let texts = ticks.iter().map(|tick| plain_number(*tick)).collect();
    axis.type_(AxisType::Log).range(vec![low.log10(), high.log10()]).tick_values(ticks).tick_text(texts)
}

/// Round numbers between two positive ones: 1, 2 and 5 times powers of ten, or only these where there are many.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let factors: &[f64] = if high.log10() - low.log10() <= FEW_DECADES { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let decades = low.log10().floor() as i32..=high.log10().floor() as i32;
    let all = decades.flat_map(|decade| {
        factors
            .iter()
            .map(move |factor| if decade < 0 { factor / 10_f64.powi(-decade) } else { factor * 10_f64.powi(decade) })
    });
    let tolerance = 1.0 + 1e-9;
    all.filter(|tick| *tick >= low / tolerance && *tick <= high * tolerance).collect()
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

    #[test]
    fn ticks_of_a_logarithmic_axis_are_round_and_written_in_full() {
        let texts = |low, high| log_ticks(low, high).into_iter().map(plain_number).collect::<Vec<_>>();
        assert_eq!(texts(1.8, 127.0), ["2", "5", "10", "20", "50", "100"]);
        assert_eq!(texts(0.05, 2.0), ["0.05", "0.1", "0.2", "0.5", "1", "2"]);
        assert_eq!(texts(1.0, 2e6), ["1", "10", "100", "1000", "10000", "100000", "1000000"]);
    }
}
