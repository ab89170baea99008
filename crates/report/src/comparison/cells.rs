//! Cells of the tables of a comparison.

use super::{
    measure::{Change, DifferenceNumbers, Row, SideNumbers},
    words::{magnitude, missing, percent},
};
use crate::columns::NOTHING;

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

    /// How far from A the interval of the difference reaches, as a share of A; `None` where it has no interval or A is 0.
    pub(super) fn most_relative(&self) -> Option<f64> {
        let difference = self.difference.as_ref()?;
        let (low, high) = difference.interval?;
        let mean = difference.means[0].abs();
        (mean != 0.0).then(|| low.abs().max(high.abs()) / mean)
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
        if self.change == Change::NoneShown
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
