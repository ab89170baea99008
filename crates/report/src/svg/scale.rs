//! From values to places, and the axis that shows it.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    Area, CHARACTER, LONGEST_LABEL, escaped,
    traces::{Trace, texts},
};
use crate::timeline::axis::{label, round_step};

const GRID: &str = "#e5e5e5";

/// One axis.
pub(super) enum Scale {
    /// From the smallest to the largest value.
    Linear(f64, f64),
    /// The same, of decadic logarithms.
    Logarithmic(f64, f64),
    /// Names beside each other; of the vertical axis the first is at the top.
    Names(Vec<String>),
}

impl Scale {
    /// Those of a figure, x and y. Names become numbers in the traces.
    pub(super) fn of_axes(layout: &Value, traces: &mut [Trace]) -> [Scale; 2] {
        let is_stack = layout["barmode"].as_str() == Some("stack");
        [(0, "xaxis"), (1, "yaxis")].map(|(axis, key)| {
            // Rows of cells are counted from the bottom, names from the top.
            let rows = traces.iter().find_map(|trace| trace.cells.as_ref()).filter(|_| axis == 1);
            let mut names: Vec<String> = rows.map_or_else(
                || texts(&layout[key]["categoryarray"]),
                |cells| cells.names.iter().rev().cloned().collect(),
            );
            for trace in traces.iter_mut() {
                trace.number_names(axis, &mut names);
            }
            if !names.is_empty() {
                return Scale::Names(names);
            }
            let is_log = layout[key]["type"].as_str() == Some("log");
            let range =
                layout[key]["range"].as_array().and_then(|it| Some((it.first()?.as_f64()?, it.get(1)?.as_f64()?)));
            let values = traces.iter().flat_map(|trace| trace.extent(axis));
            let mut all: Vec<f64> = values.filter(|value| value.is_finite() && (!is_log || *value > 0.0)).collect();
            if is_stack {
                all.extend(super::traces::stacked(traces, axis));
            }
            let low = all.iter().copied().fold(f64::INFINITY, f64::min);
            let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
            match (is_log, range) {
                (true, Some((low, high))) => Scale::Logarithmic(low, high),
                (true, None) => Scale::Logarithmic(low.log10() - 0.05, high.log10().max(low.log10() + 0.1) + 0.05),
                (false, Some((low, high))) => Scale::Linear(low, high),
                (false, None) => {
                    let low = low.min(0.0);
                    let margin = (high - low) * 0.04;
                    let below = if low < 0.0 { margin } else { 0.0 };
                    Scale::Linear(low - below, if high > low { high + margin } else { low + 1.0 })
                }
            }
        })
    }

    /// From 0 to 1.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self {
            Scale::Linear(low, high) => (value - low) / (high - low),
            Scale::Logarithmic(low, high) => (value.max(f64::MIN_POSITIVE).log10() - low) / (high - low),
            Scale::Names(names) => (value + 0.5) / names.len() as f64,
        }
    }

    /// The share of the axis that a name has.
    pub(super) fn slot(&self) -> f64 {
        match self {
            Scale::Names(names) => 1.0 / names.len() as f64,
            _ => 0.0,
        }
    }

    pub(super) fn x(&self, value: f64, area: &Area) -> f64 {
        area.left + area.width * self.place(value)
    }

    pub(super) fn y(&self, value: f64, area: &Area) -> f64 {
        let place = self.place(value);
        let down = if matches!(self, Scale::Names(_)) { place } else { 1.0 - place };
        area.top + area.height * down
    }

    /// Values with their labels.
    fn labels(&self) -> Vec<(f64, String)> {
        match self {
            Scale::Linear(low, high) => {
                let step = round_step((high - low) / 8.0);
                let first = (low / step).ceil() as i64;
                let all = (first..).map(|count| count as f64 * step).take_while(|tick| *tick <= high + step * 1e-9);
                all.map(|tick| (tick, label(tick, step))).collect()
            }
            Scale::Logarithmic(low, high) => {
                let decades = low.floor() as i32..=high.ceil() as i32;
                let few = high - low < 3.2;
                let factors: &[f64] = if few { &[1.0, 2.0, 5.0] } else { &[1.0] };
                decades
                    .flat_map(|decade| factors.iter().map(move |factor| factor * 10_f64.powi(decade)))
                    .filter(|tick| (*low..=*high).contains(&tick.log10()))
                    .map(|tick| (tick, label(tick, tick.min(1.0))))
                    .collect()
            }
            Scale::Names(names) => {
                names.iter().enumerate().map(|(place, name)| (place as f64, shortened(name))).collect()
            }
        }
    }

    /// Of the longest label, in pixels.
    pub(super) fn widest_label(&self) -> f64 {
        let widest = self.labels().iter().map(|(_, label)| label.chars().count()).max();
        widest.unwrap_or(0) as f64 * CHARACTER
    }

    fn is_slanted(&self) -> bool {
        matches!(self, Scale::Names(names) if names.len() as f64 * (self.widest_label() + 10.0) > 780.0)
    }

    /// Space that the labels take below the area.
    pub(super) fn slanted_height(&self) -> f64 {
        if self.is_slanted() { 20.0 + self.widest_label() * 0.6 } else { 22.0 }
    }

    pub(super) fn draw_below(&self, text: &mut String, area: &Area) {
        let bottom = area.top + area.height;
        for (value, label) in self.labels() {
            let x = self.x(value, area);
            if !matches!(self, Scale::Names(_)) {
                let _ = write!(text, "<path d=\"M{x:.2} {:.2}V{bottom:.2}\" stroke=\"{GRID}\"/>", area.top);
            }
            let label = escaped(&label);
            let below = bottom + 16.0;
            let _ = if self.is_slanted() {
                write!(
                    text,
                    "<text transform=\"translate({x:.2} {below:.2}) rotate(-35)\" text-anchor=\"end\">{label}</text>"
                )
            } else {
                write!(text, "<text x=\"{x:.2}\" y=\"{below:.2}\" text-anchor=\"middle\">{label}</text>")
            };
        }
    }

    pub(super) fn draw_beside(&self, text: &mut String, area: &Area) {
        for (value, label) in self.labels() {
            let y = self.y(value, area);
            if !matches!(self, Scale::Names(_)) {
                let right = area.left + area.width;
                let _ = write!(text, "<path d=\"M{:.2} {y:.2}H{right:.2}\" stroke=\"{GRID}\"/>", area.left);
            }
            let (beside, down) = (area.left - 6.0, y + 4.0);
            let label = escaped(&label);
            let _ = write!(text, "<text x=\"{beside:.2}\" y=\"{down:.2}\" text-anchor=\"end\">{label}</text>");
        }
    }
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST_LABEL {
        return name.to_owned();
    }
    name.chars().take(LONGEST_LABEL - 1).chain(['\u{2026}']).collect()
}
