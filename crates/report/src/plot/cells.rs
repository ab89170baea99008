//! Maps of cells with colours, the words in them, and the bar that says what the colours are.

use std::fmt::Write as _;

use super::{
    canvas::{Area, Canvas},
    layout::FONT,
    model::Cells,
    words::{escaped, fitting},
};
use crate::timeline::axis::{label, round_step};

/// Width of the gap between the cells and the bar of colours, and of the bar, in pixels.
const GAP: f64 = 18.0;
const BAR: f64 = 16.0;
/// Ground of a cell without a colour.
const MISSING: &str = "#e4e4e4";
/// Space right of the area for the numbers and the title of a bar of colours.
pub(super) const SPACE: f64 = 110.0;

impl Cells {
    pub(super) fn draw(&self, text: &mut String, canvas: &Canvas) {
        let [width, height] = [canvas.x.slot() * canvas.area.width, canvas.y.slot() * canvas.area.height];
        for cell in &self.cells {
            let (middle_x, middle_y) = (canvas.x(cell.column as f64), canvas.y(cell.row as f64));
            let (class, fill) = match cell.value {
                Some(value) => ("cell", self.fill((value - self.ends.0) / (self.ends.1 - self.ends.0))),
                None => ("missing", MISSING.to_owned()),
            };
            let _ = write!(
                text,
                "<rect class=\"{class}\" x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{fill}\"/>\
                 <text class=\"in-{class}\" x=\"{middle_x:.2}\" y=\"{:.2}\" font-size=\"{:.1}\" fill=\"#1a1a1a\" text-anchor=\"middle\">{}</text>",
                middle_x - width / 2.0 + 0.5,
                middle_y - height / 2.0 + 0.5,
                width - 1.0,
                height - 1.0,
                middle_y + 4.0,
                fitting(&cell.words, width - 4.0, FONT),
                escaped(&cell.words)
            );
        }
    }

    /// The bar of colours with its numbers and its title, right of the area.
    pub(super) fn draw_bar(&self, text: &mut String, area: &Area) {
        const STEPS: usize = 60;
        let (low, high) = self.ends;
        let left = area.left + area.width + GAP;
        let step = area.height / STEPS as f64;
        for place in 0..STEPS {
            let fill = self.fill((place as f64 + 0.5) / STEPS as f64);
            let top = area.top + area.height - step * (place + 1) as f64;
            // A little higher than a step, so that no line is seen between two.
            let _ = write!(
                text,
                "<rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{BAR}\" height=\"{:.2}\" fill=\"{fill}\"/>",
                step + if place == 0 { 0.0 } else { 0.6 }
            );
        }
        let between = round_step((high - low) / 5.0);
        let first = (low / between).ceil() as i64;
        let ticks = (first..).map(|count| count as f64 * between).take_while(|tick| *tick <= high + between * 1e-9);
        for tick in ticks.take(12) {
            let y = area.top + area.height * (1.0 - (tick - low) / (high - low)) + 4.0;
            let _ = write!(text, "<text x=\"{:.2}\" y=\"{y:.2}\">{}</text>", left + BAR + 5.0, label(tick, between));
        }
        let (right, middle) = (area.left + area.width + SPACE - 8.0, area.top + area.height / 2.0);
        let _ = write!(
            text,
            "<text transform=\"translate({right:.2} {middle:.2}) rotate(-90)\" font-size=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            fitting(&self.title, area.height + 60.0, FONT),
            escaped(&self.title)
        );
    }

    /// The colour of a place from 0 to 1.
    fn fill(&self, place: f64) -> String {
        let last = self.colours.len() - 1;
        let place = if place.is_finite() { place.clamp(0.0, 1.0) } else { 0.5 } * last as f64;
        let below = (place as usize).min(last.saturating_sub(1));
        let share = place - below as f64;
        let [one, other] = [self.colours[below], self.colours[(below + 1).min(last)]].map(parts);
        let mixed: Vec<_> =
            one.iter().zip(other).map(|(one, other)| (one + (other - one) * share).round() as u8).collect();
        format!("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2])
    }
}

/// `#RRGGBB` as three numbers.
fn parts(colour: &str) -> [f64; 3] {
    [1, 3, 5].map(|from| {
        colour.get(from..from + 2).and_then(|part| u8::from_str_radix(part, 16).ok()).map_or(0.0, f64::from)
    })
}
