//! Numbers of a comparison, for people.

use super::measure::{DifferenceNumbers, Row, SideNumbers};
use crate::columns::NOTHING;

/// The level of an interval that misses with this probability, such as `95 %`.
pub(super) fn level(alpha: f64) -> String {
    let percent = (1.0 - alpha) * 100.0;
    let digits = if alpha >= 0.01 { 1 } else { 2 };
    let text = format!("{percent:.digits$}");
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A p-value.
pub(super) fn p(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

/// A share as a percentage with a sign: `+4.1 %`.
pub(super) fn percent(share: f64) -> String {
    let text = magnitude(share);
    let sign = if share < 0.0 { '\u{2212}' } else { '+' };
    format!("{sign}{text}")
}

/// A share as a percentage without a sign, with two digits at least: `0.040 %`, `4.1 %`, `38 %`.
pub(super) fn magnitude(share: f64) -> String {
    let percent = share.abs() * 100.0;
    if percent == 0.0 {
        return "0 %".to_owned();
    }
    let digits = (1.0 - percent.log10().floor()).max(0.0) as usize;
    format!("{percent:.digits$} %")
}

/// How many runs have no value, and why; `None` where all have one. `counts` are those that have one.
pub(super) fn missing(counts: [usize; 2], without: [usize; 2], withheld: &[Vec<String>; 2]) -> Option<String> {
    (without != [0, 0]).then(|| {
        let [a, b] = [0, 1].map(|side| format!("{} of {}", without[side], counts[side] + without[side]));
        let mut text = format!("without a value: {a} runs of A, {b} of B");
        for (letter, reasons) in ["A", "B"].into_iter().zip(withheld) {
            for reason in reasons {
                text.push_str(&format!("; {letter}: {reason}"));
            }
        }
        text
    })
}

impl Row {
    /// What one side has: mean and standard deviation as tables show them.
    pub(super) fn cell(&self, side: &Option<SideNumbers>) -> String {
        let Some(side) = side else { return NOTHING.to_owned() };
        let mean = self.column.number(side.mean);
        side.standard_deviation
            .map_or_else(|| mean.clone(), |deviation| format!("{mean} \u{b1} {}", self.column.number(deviation)))
    }

    /// The means whose difference is given, of A and of B.
    pub(super) fn compared_means(&self) -> [String; 2] {
        let Some(difference) = &self.difference else { return [NOTHING.to_owned(), NOTHING.to_owned()] };
        difference.means.map(|mean| self.column.number(mean))
    }

    /// The difference with its interval.
    pub(super) fn difference_cell(&self) -> String {
        let [middle, interval] = self.difference_cells();
        if interval.is_empty() { middle } else { format!("{middle} ({interval})") }
    }

    /// The difference, and its interval where there is one.
    pub(super) fn difference_cells(&self) -> [String; 2] {
        let Some(difference) = &self.difference else { return [NOTHING.to_owned(), String::new()] };
        if difference.is_same {
            return ["0".to_owned(), String::new()];
        }
        let interval = difference.interval.map(|(low, high)| format!("{} to {}", self.signed(low), self.signed(high)));
        [self.signed(difference.mean), interval.unwrap_or_default()]
    }

    /// The difference as a share of A.
    pub(super) fn relative_cell(&self) -> String {
        let relative = self.difference.as_ref().and_then(|difference| difference.relative);
        relative.map_or_else(|| NOTHING.to_owned(), percent)
    }

    /// The corrected p-value.
    pub(super) fn p_cell(&self) -> String {
        let corrected = self.difference.as_ref().and_then(|difference| difference.p_corrected);
        match corrected {
            None => NOTHING.to_owned(),
            Some(p) if p < 0.001 => "< 0.001".to_owned(),
            Some(p) => format!("{p:.3}"),
        }
    }

    /// What became of the metric, with what would have been seen, or how many runs lack a value.
    pub(super) fn outcome_cell(&self) -> String {
        let mut text = self.change.word().to_owned();
        if self.change == super::Change::NoneShown
            && let Some(seen) = self.difference.as_ref().and_then(|difference| self.smallest(difference))
        {
            text = format!("{text}; {seen} would have been seen");
        }
        if let Some(missing) = self.missing() {
            text = format!("{text}; {missing}");
        }
        text
    }

    /// Which runs have no value; `None` where all have one.
    pub(super) fn missing(&self) -> Option<String> {
        let counts = [&self.a, &self.b].map(|side| side.as_ref().map_or(0, |side| side.count));
        missing(counts, self.without_value, &self.withheld)
    }

    /// The smallest change that would have been seen, as a share of A or in the unit of the table.
    pub(super) fn smallest(&self, difference: &DifferenceNumbers) -> Option<String> {
        match difference.smallest_detectable_relative {
            Some(share) => Some(magnitude(share)),
            None => difference.smallest_detectable.map(|value| self.column.number(value)),
        }
    }

    fn signed(&self, value: f64) -> String {
        let text = self.column.number(value.abs());
        let is_zero = text.chars().all(|character| "0.".contains(character));
        match value {
            _ if is_zero => text,
            value if value < 0.0 => format!("\u{2212}{text}"),
            _ => format!("+{text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_percentages_have_the_digits_that_matter() {
        assert_eq!([0.05, 0.025, 0.05 / 6.0, 0.05 / 12.0].map(level), ["95 %", "97.5 %", "99.17 %", "99.58 %"]);
        assert_eq!([0.4, -0.041, 0.0013].map(percent), ["+40 %", "\u{2212}4.1 %", "+0.13 %"]);
        assert_eq!([0.0004, 0.000_012, 0.0].map(magnitude), ["0.040 %", "0.0012 %", "0 %"]);
        assert_eq!([0.0004, 0.0123].map(p), ["p < 0.001", "p = 0.012"]);
    }
}
