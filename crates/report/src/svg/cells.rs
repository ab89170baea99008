//! Maps of cells with colours, the words in them, and the bar that says what the colours are.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Area, escaped, scale::Scale, traces::texts};
use crate::timeline::axis::{label, round_step};

/// Between the cells and the bar of colours, and of the bar, in pixels.
const GAP: f64 = 18.0;
const BAR: f64 = 16.0;
/// A cell without a value.
const MISSING: &str = "#e4e4e4";
/// Right of the area, where there is a bar: its numbers and its title.
pub(super) const SPACE: f64 = 110.0;

/// A map of cells.
pub(super) struct Cells {
    /// Rows from the bottom to the top.
    rows: Vec<Vec<f64>>,
    /// Names of the rows, from the bottom to the top.
    pub names: Vec<String>,
    /// Places from 0 to 1, and their colours.
    scale: Vec<(f64, [f64; 3])>,
    low: f64,
    high: f64,
    title: String,
}

impl Cells {
    /// That of a trace; `None` of another kind of trace.
    pub(super) fn of(trace: &Value) -> Option<Self> {
        if trace["type"].as_str() != Some("heatmap") {
            return None;
        }
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let rows = list(&trace["z"]).iter().map(|row| list(row).iter().map(number).collect()).collect();
        let scale = list(&trace["colorscale"]);
        let scale = scale.iter().filter_map(|part| Some((part[0].as_f64()?, colour(part[1].as_str()?)?)));
        Some(Self {
            rows,
            names: texts(&trace["y"]),
            scale: scale.collect(),
            low: number(&trace["zmin"]),
            high: number(&trace["zmax"]),
            title: texts(&Value::Array(vec![trace["colorbar"]["title"]["text"].clone()])).concat(),
        })
    }

    pub(super) fn draw(&self, text: &mut String, [x, y]: [&Scale; 2], area: &Area) {
        let [width, height] = [x.slot() * area.width, y.slot() * area.height];
        for (row, values) in self.rows.iter().enumerate() {
            // Names of the vertical axis are numbered from the top.
            let middle = y.y((self.rows.len() - 1 - row) as f64, area);
            for (column, value) in values.iter().enumerate() {
                let left = x.x(column as f64, area) - width / 2.0;
                let is_known = value.is_finite();
                let fill =
                    if is_known { self.fill((value - self.low) / (self.high - self.low)) } else { MISSING.to_owned() };
                let _ = write!(
                    text,
                    "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{fill}\"/>",
                    left + 0.5,
                    middle - height / 2.0 + 0.5,
                    width - 1.0,
                    height - 1.0
                );
            }
        }
    }

    /// The bar of colours with its numbers and its title, right of the area.
    pub(super) fn draw_bar(&self, text: &mut String, area: &Area) {
        const STEPS: usize = 60;
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
        let between = round_step((self.high - self.low) / 5.0);
        let first = (self.low / between).ceil() as i64;
        let ticks =
            (first..).map(|count| count as f64 * between).take_while(|tick| *tick <= self.high + between * 1e-9);
        for tick in ticks.take(12) {
            let y = area.top + area.height * (1.0 - (tick - self.low) / (self.high - self.low)) + 4.0;
            let _ = write!(text, "<text x=\"{:.2}\" y=\"{y:.2}\">{}</text>", left + BAR + 5.0, label(tick, between));
        }
        let (right, middle) = (area.left + area.width + SPACE - 8.0, area.top + area.height / 2.0);
        let _ = write!(
            text,
            "<text transform=\"translate({right:.2} {middle:.2}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(&self.title)
        );
    }

    /// The colour of a place from 0 to 1.
    fn fill(&self, place: f64) -> String {
        let place = if place.is_finite() { place.clamp(0.0, 1.0) } else { 0.5 };
        let after = self.scale.iter().position(|(end, _)| *end >= place).unwrap_or(0).max(1);
        let (Some((from, one)), Some((to, other))) = (self.scale.get(after - 1), self.scale.get(after)) else {
            return "#ffffff".to_owned();
        };
        let share = (place - from) / (to - from);
        let part = |at: usize| (one[at] + (other[at] - one[at]) * share).round() as u8;
        format!("#{:02x}{:02x}{:02x}", part(0), part(1), part(2))
    }
}

/// Words at places.
pub(super) fn draw_texts(text: &mut String, texts: &[String], places: [&[f64]; 2], [x, y]: [&Scale; 2], area: &Area) {
    for ((word, at), value) in texts.iter().zip(places[0]).zip(places[1]) {
        let (x, y) = (x.x(*at, area), y.y(*value, area) + 4.0);
        let _ = write!(text, "<text x=\"{x:.2}\" y=\"{y:.2}\" text-anchor=\"middle\">{}</text>", escaped(word));
    }
}

/// `#RRGGBB` as three numbers.
fn colour(text: &str) -> Option<[f64; 3]> {
    let part = |from: usize| Some(f64::from(u8::from_str_radix(text.get(from..from + 2)?, 16).ok()?));
    Some([part(1)?, part(3)?, part(5)?])
}

/// A colour without its opacity, and that: SVG 1.1 has them apart.
pub(super) fn opaque(colour: &str) -> (String, f64) {
    let parts =
        colour.strip_prefix("rgba(").and_then(|rest| rest.strip_suffix(')')).and_then(|rest| rest.rsplit_once(','));
    match parts.and_then(|(colour, opacity)| Some((colour, opacity.trim().parse().ok()?))) {
        Some((colour, opacity)) => (format!("rgb({colour})"), opacity),
        None => (colour.to_owned(), 1.0),
    }
}
