//! Axes: their labels, and the lines of the grid.

use std::fmt::Write as _;

use super::{canvas::Canvas, scale::Scale, words::escaped};

const GRID: &str = "#e5e5e5";
const ZERO: &str = "#999999";

impl Scale<'_> {
    pub(super) fn draw_below(&self, text: &mut String, canvas: &Canvas, is_slanted: bool) {
        let (top, bottom) = (canvas.area.top, canvas.area.top + canvas.area.height);
        let mut labels = String::new();
        let (mut grid, mut zero) = (String::new(), String::new());
        for (value, label) in self.labels() {
            let x = canvas.x(value);
            let line = if self.is_zero(value) { &mut zero } else { &mut grid };
            let _ = write!(line, "M{x:.2} {top:.2}V{bottom:.2}");
            let label = escaped(&label);
            let below = bottom + 16.0;
            let _ = if is_slanted {
                write!(
                    labels,
                    "<text transform=\"translate({x:.2} {below:.2}) rotate(-35)\" text-anchor=\"end\">{label}</text>"
                )
            } else {
                write!(labels, "<text x=\"{x:.2}\" y=\"{below:.2}\" text-anchor=\"middle\">{label}</text>")
            };
        }
        self.draw_lines(text, &grid, &zero);
        text.push_str(&labels);
    }

    pub(super) fn draw_beside(&self, text: &mut String, canvas: &Canvas) {
        let (left, right) = (canvas.area.left, canvas.area.left + canvas.area.width);
        let mut labels = String::new();
        let (mut grid, mut zero) = (String::new(), String::new());
        for (value, label) in self.labels() {
            let y = canvas.y(value);
            let line = if self.is_zero(value) { &mut zero } else { &mut grid };
            let _ = write!(line, "M{left:.2} {y:.2}H{right:.2}");
            let (beside, down) = (left - 6.0, y + 4.0);
            let label = escaped(&label);
            let _ = write!(labels, "<text x=\"{beside:.2}\" y=\"{down:.2}\" text-anchor=\"end\">{label}</text>");
        }
        self.draw_lines(text, &grid, &zero);
        text.push_str(&labels);
    }

    /// Names have no lines between the labels.
    fn draw_lines(&self, text: &mut String, grid: &str, zero: &str) {
        if matches!(self, Self::Names(_)) {
            return;
        }
        let _ = write!(text, "<path class=\"grid\" d=\"{grid}\" stroke=\"{GRID}\"/>");
        if !zero.is_empty() {
            let _ = write!(text, "<path class=\"zero\" d=\"{zero}\" stroke=\"{ZERO}\"/>");
        }
    }

    /// Whether a value is the zero of an axis with values on both sides of it.
    fn is_zero(&self, value: f64) -> bool {
        matches!(self, Self::Linear(low, _) if *low < 0.0) && value == 0.0
    }
}
