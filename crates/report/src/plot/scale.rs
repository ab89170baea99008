//! Scales: places of values on an axis, and the values that get a label.

use super::{
    layout::{FONT, RIGHT, WIDTH},
    model::{Axis, AxisKind, Content, Plot},
    words::{shortened, width},
};
use crate::timeline::axis::{label, round_step};

/// Names of an axis are cut behind so many pixels.
const LONGEST_LABEL: f64 = 270.0;
/// About how many values of an axis are written.
const LABELS: f64 = 8.0;
/// A longer logarithmic axis has labels at powers of ten only.
const FEW_DECADES: f64 = 3.2;
/// Sine and cosine of the angle of slanted labels, 35 degrees.
const SLANT: (f64, f64) = (0.574, 0.819);

/// One axis.
#[derive(Clone, Copy)]
pub(super) enum Scale<'a> {
    /// The smallest and the largest value.
    Linear(f64, f64),
    /// Decadic logarithms of the smallest and the largest value.
    Logarithmic(f64, f64),
    /// Names beside each other; of the axis on the left the first is at the top.
    Names(&'a [String]),
}

impl<'a> Scale<'a> {
    /// The scales of a plot's axes, x and y.
    pub(super) fn of_axes(plot: &'a Plot) -> [Self; 2] {
        [Self::of(&plot.x, &extent(plot, 0)), Self::of(&plot.y, &extent(plot, 1))]
    }

    fn of(axis: &'a Axis, values: &[f64]) -> Self {
        let is_log = matches!(axis.kind, AxisKind::Logarithmic { .. });
        let shown = values.iter().copied().filter(|value| value.is_finite() && (!is_log || *value > 0.0));
        let (low, high) =
            shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(one), high.max(one)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let margin = |low: f64| if high > low { (high - low) * 0.04 } else { 1.0 };
        match &axis.kind {
            AxisKind::Names(names) => Self::Names(names),
            AxisKind::Logarithmic { range: Some((low, high)) } => Self::Logarithmic(low.log10(), high.log10()),
            AxisKind::Logarithmic { range: None } => {
                let low = if low > 0.0 { low.log10() } else { 0.0 };
                Self::Logarithmic(low - 0.05, high.max(1e-300).log10().max(low + 0.1) + 0.05)
            }
            AxisKind::Linear { range: Some((low, high)) } => Self::Linear(*low, *high),
            AxisKind::Linear { range: None } => {
                let low = low.min(0.0);
                let below = if low < 0.0 { margin(low) } else { 0.0 };
                Self::Linear(low - below, high + margin(low))
            }
            AxisKind::Fitted => Self::Linear(low - margin(low), high + margin(low)),
        }
    }

    /// Place of a value on the axis, from 0 to 1.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self {
            Self::Linear(low, high) => (value - low) / (high - low),
            Self::Logarithmic(low, high) => (value.max(f64::MIN_POSITIVE).log10() - low) / (high - low),
            Self::Names(names) => (value + 0.5) / names.len() as f64,
        }
    }

    /// The share of the axis that a name has.
    pub(super) fn slot(&self) -> f64 {
        match self {
            Self::Names(names) => 1.0 / names.len() as f64,
            _ => 0.0,
        }
    }

    /// Values with their labels.
    pub(super) fn labels(&self) -> Vec<(f64, String)> {
        match self {
            Self::Linear(low, high) => {
                let step = round_step((high - low) / LABELS);
                let first = (low / step - 1e-9).ceil() as i64;
                let all = (first..).map(|count| count as f64 * step).take_while(|tick| *tick <= high + step * 1e-9);
                all.map(|tick| (tick, label(tick, step))).collect()
            }
            Self::Logarithmic(low, high) => round_logarithms(*low, *high),
            Self::Names(names) => {
                let shown = names.iter().map(|name| shortened(name, LONGEST_LABEL, FONT));
                shown.enumerate().map(|(place, name)| (place as f64, name)).collect()
            }
        }
    }

    /// Width of the longest label, in pixels.
    pub(super) fn widest_label(&self) -> f64 {
        self.labels().iter().map(|(_, label)| width(label, FONT)).fold(0.0, f64::max)
    }

    /// Whether names below an area of this width need more than their place.
    pub(super) fn is_slanted(&self, width: f64) -> bool {
        matches!(self, Self::Names(_)) && self.widest_label() + 10.0 > self.slot() * width
    }

    /// What slanted labels need left of the area, which ends at `right`.
    pub(super) fn space_left(&self, right: f64) -> f64 {
        let Self::Names(names) = self else { return 0.0 };
        if !self.is_slanted(WIDTH - 2.0 * RIGHT) {
            return 0.0;
        }
        let middle = |left: f64, place: usize| left + (right - left) * (place as f64 + 0.5) * self.slot();
        let ends = names.iter().enumerate().map(|(place, name)| {
            let length = width(&shortened(name, LONGEST_LABEL, FONT), FONT) * SLANT.1 + 4.0;
            // Where the label's beginning is at the edge of the picture.
            let from_left = middle(0.0, place);
            (length - from_left) / (1.0 - from_left / right)
        });
        ends.fold(0.0, f64::max)
    }

    /// Space that the labels take below the area.
    pub(super) fn height_of_labels(&self, is_slanted: bool) -> f64 {
        if is_slanted { 20.0 + self.widest_label() * SLANT.0 } else { 22.0 }
    }
}

/// Round numbers between two decadic logarithms, with labels in full.
fn round_logarithms(low: f64, high: f64) -> Vec<(f64, String)> {
    const TOLERANCE: f64 = 1e-9;
    let decades = low.floor() as i32..=high.ceil() as i32;
    let factors: &[f64] = if high - low < FEW_DECADES { &[1.0, 2.0, 5.0] } else { &[1.0] };
    decades
        .flat_map(|decade| factors.iter().map(move |factor| (factor * 10_f64.powi(decade), 10_f64.powi(decade))))
        .filter(|(tick, _)| (low - TOLERANCE..=high + TOLERANCE).contains(&tick.log10()))
        .map(|(tick, decade)| (tick, label(tick, decade.min(1.0))))
        .collect()
}

/// The values that must be seen on an axis: 0 for that below, 1 for that on the left.
fn extent(plot: &Plot, axis: usize) -> Vec<f64> {
    let has_values = axis == usize::from(!plot.is_horizontal());
    let of = |(x, y): &(f64, f64)| if axis == 0 { *x } else { *y };
    let mut all = Vec::new();
    for trace in &plot.traces {
        match &trace.content {
            Content::Line(line) => {
                let known = line.points.iter().filter_map(|(x, y)| Some((*x, (*y)?)));
                all.extend(known.map(|point| of(&point)));
            }
            Content::Area(points) | Content::Marks(_, points) => all.extend(points.iter().map(of)),
            Content::Boxes(boxes) if has_values => all.extend(boxes.iter().flat_map(|(_, quartiles)| quartiles.values)),
            Content::Intervals(rows) if has_values => all.extend(rows.iter().flat_map(|(_, ends)| *ends)),
            Content::Bars(bars) if has_values => {
                let known = bars.values.iter().enumerate().filter_map(|(place, value)| Some((place, (*value)?)));
                all.push(0.0);
                all.extend(known.flat_map(|(place, value)| {
                    let error = bars.errors.get(place).copied().unwrap_or(0.0);
                    [value, value + error, value - error]
                }));
            }
            Content::Boxes(_) | Content::Intervals(_) | Content::Bars(_) | Content::Cells(_) => {}
        }
    }
    if plot.is_stacked && has_values {
        all.extend(plot.stacked());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_a_logarithmic_axis_are_round_and_written_in_full() {
        let texts = |low: f64, high: f64| -> Vec<String> {
            round_logarithms(low.log10(), high.log10()).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(texts(1.8, 127.0), ["2", "5", "10", "20", "50", "100"]);
        assert_eq!(texts(0.05, 2.0), ["0.05", "0.1", "0.2", "0.5", "1", "2"]);
        assert_eq!(texts(1.0, 2e6), ["1", "10", "100", "1000", "10000", "100000", "1000000"]);
    }

    #[test]
    fn an_axis_begins_at_zero_unless_it_is_fitted() {
        let ends = |axis: &Axis, values: &[f64]| match Scale::of(axis, values) {
            Scale::Linear(low, high) => (low, high),
            _ => panic!("not linear"),
        };
        assert_eq!(ends(&Axis::linear(""), &[50.0, 100.0]), (0.0, 104.0));
        assert_eq!(ends(&Axis::fitted(""), &[50.0, 100.0]), (48.0, 102.0));
        assert_eq!(ends(&Axis::between("", 1.0, 2.0), &[50.0]), (1.0, 2.0));
        assert_eq!(ends(&Axis::linear(""), &[-100.0, 100.0]), (-108.0, 108.0));
        assert_eq!(ends(&Axis::linear(""), &[]), (0.0, 1.04));
    }

    #[test]
    fn slanted_names_end_inside_the_picture() {
        let names: Vec<_> = (0..20).map(|place| format!("a name of some length, {place}")).collect();
        let scale = Scale::Names(&names);
        let left = scale.space_left(880.0);
        let begin = |place: usize| {
            let middle = left + (880.0 - left) * (place as f64 + 0.5) / 20.0;
            middle - width(&names[place], FONT) * SLANT.1
        };
        assert!(begin(0) > 0.0 && begin(0) < 6.0, "{left}: {}", begin(0));
    }
}
