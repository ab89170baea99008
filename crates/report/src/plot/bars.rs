//! Bars beside each other and on top of each other, standing or lying.

use std::fmt::Write as _;

use super::{
    canvas::Canvas,
    model::{Bars, Plot},
};
use crate::number::number;

/// Share of a name's place that its bars take.
const SHARE: f64 = 0.8;

/// Bars as far as they are drawn.
pub(super) struct Drawn {
    is_stacked: bool,
    is_horizontal: bool,
    /// How many traces have bars, and how many of them are drawn.
    traces: usize,
    done: usize,
    /// Ends of the stacks, by place.
    tops: Vec<f64>,
}

impl Drawn {
    pub(super) fn of(plot: &Plot) -> Self {
        let traces = plot.bars().count();
        let longest = plot.bars().map(|bars| bars.values.len()).max().unwrap_or(0);
        let (is_stacked, is_horizontal) = (plot.is_stacked, plot.is_horizontal());
        Self { is_stacked, is_horizontal, traces, done: 0, tops: vec![0.0; longest] }
    }

    /// Draws those of the next trace.
    pub(super) fn draw(&mut self, text: &mut String, name: &str, bars: &Bars, canvas: &Canvas) {
        if bars.is_hatched {
            // Its lines have the colour of the ground, and the page may have another one than a file.
            let _ = write!(
                text,
                "<pattern id=\"{}-hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
                 <path class=\"hatch\" d=\"M0 0V6\" stroke=\"#ffffff\" stroke-width=\"4\"/></pattern>",
                canvas.id
            );
        }
        let (scale, length) =
            if self.is_horizontal { (&canvas.y, canvas.area.height) } else { (&canvas.x, canvas.area.width) };
        let slot = scale.slot() * length * SHARE;
        let (width, first) = match self.is_stacked {
            true => (slot, 0.0),
            false => (slot / self.traces as f64, slot / self.traces as f64 * self.done as f64),
        };
        for (place, value) in bars.values.iter().enumerate().filter_map(|(place, value)| Some((place, (*value)?))) {
            let from = if self.is_stacked { self.tops[place] } else { 0.0 };
            self.tops[place] += value;
            let error = bars.errors.get(place).copied().filter(|error| *error > 0.0);
            let deviation = error.map_or(String::new(), |error| format!(" \u{b1} {}", number(error)));
            let what = canvas.tooltips.value(value) + &deviation;
            let title = canvas.tooltips.of_name(name, place as f64, &what);
            let middle = if self.is_horizontal { canvas.y(place as f64) } else { canvas.x(place as f64) };
            let begin = middle - slot / 2.0 + first;
            let [from, to] =
                [from, from + value].map(|it| if self.is_horizontal { canvas.x(it) } else { canvas.y(it) });
            let (low, high) = (from.min(to), from.max(to));
            let (left, up, wide, tall) = match self.is_horizontal {
                true => (low, begin, high - low, width),
                false => (begin, low, width, high - low),
            };
            let place_of = format!("x=\"{left:.2}\" y=\"{up:.2}\" width=\"{wide:.2}\" height=\"{tall:.2}\"");
            let _ = write!(text, "<rect {} {place_of}>{title}</rect>", canvas.clip());
            if bars.is_hatched {
                let _ = write!(
                    text,
                    "<rect {} {place_of} fill=\"{}\" pointer-events=\"none\"/>",
                    canvas.clip(),
                    hatch(canvas.id)
                );
            }
            if let Some(error) = error {
                let ends = [value - error, value + error];
                let d = if self.is_horizontal {
                    let [low, high] = ends.map(|end| canvas.x(end));
                    interval(low, high, begin + width / 2.0)
                } else {
                    let [low, high] = ends.map(|end| canvas.y(end));
                    let middle = begin + width / 2.0;
                    format!(
                        "M{middle:.2} {low:.2}V{high:.2}M{:.2} {low:.2}h8M{:.2} {high:.2}h8",
                        middle - 4.0,
                        middle - 4.0
                    )
                };
                let _ = write!(
                    text,
                    "<path class=\"error\" d=\"{d}\" stroke=\"#333333\" fill=\"none\" pointer-events=\"none\"/>"
                );
            }
        }
        self.done += 1;
    }
}

/// A level line with a bar at each of its ends.
pub(super) fn interval(low: f64, high: f64, y: f64) -> String {
    format!("M{low:.2} {y:.2}H{high:.2}M{low:.2} {:.2}v8M{high:.2} {:.2}v8", y - 4.0, y - 4.0)
}

/// The paint of hatched bars.
pub(super) fn hatch(id: &str) -> String {
    format!("url(#{id}-hatch)")
}
