//! Lines, markers and bars.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    Area,
    boxes::Boxes,
    cells::{self, Cells},
    scale::Scale,
};

/// Share of a name's place that its bars take.
const BAR_SHARE: f64 = 0.8;

/// Values along an axis.
enum Values {
    Numbers(Vec<f64>),
    Names(Vec<String>),
}

/// One trace, as the plotting library has it.
pub(super) struct Trace {
    pub name: String,
    pub colour: String,
    axes: [Values; 2],
    is_bar: bool,
    is_horizontal: bool,
    has_lines: bool,
    has_markers: bool,
    is_stepped: bool,
    is_dashed: Option<&'static str>,
    errors: Vec<f64>,
    /// An area instead of a line, and its colour.
    area: Option<String>,
    has_legend: bool,
    /// Of points that are words.
    texts: Option<Vec<String>>,
    /// Of a map of cells.
    pub cells: Option<Cells>,
    /// Of a box plot.
    boxes: Option<Boxes>,
}

impl Trace {
    /// Those that are shown from the beginning.
    pub(super) fn all(data: &Value) -> Vec<Trace> {
        let all = data.as_array().map(Vec::as_slice).unwrap_or_default();
        all.iter().filter(|trace| trace["visible"].as_str() != Some("legendonly")).map(Trace::of).collect()
    }

    fn of(trace: &Value) -> Trace {
        let mode = trace["mode"].as_str().unwrap_or("lines");
        let colour = trace["line"]["color"].as_str().or(trace["marker"]["color"].as_str()).unwrap_or("#0072B2");
        Trace {
            name: plain(trace["name"].as_str().unwrap_or_default()),
            colour: colour.to_owned(),
            axes: ["x", "y"].map(|axis| values(&trace[axis])),
            is_bar: trace["type"].as_str() == Some("bar"),
            is_horizontal: trace["orientation"].as_str() == Some("h"),
            has_lines: mode.contains("lines"),
            has_markers: mode.contains("markers"),
            is_stepped: trace["line"]["shape"].as_str() == Some("hv"),
            is_dashed: match trace["line"]["dash"].as_str() {
                Some("dash") => Some("6 4"),
                Some("dot") => Some("2 3"),
                Some("dashdot") => Some("6 3 2 3"),
                Some("longdash") => Some("11 4"),
                _ => None,
            },
            errors: trace["error_y"]["array"].as_array().map(|it| numbers(it)).unwrap_or_default(),
            area: (trace["fill"].as_str() == Some("toself"))
                .then(|| trace["fillcolor"].as_str().unwrap_or(colour).to_owned()),
            has_legend: trace["showlegend"].as_bool() != Some(false),
            texts: (mode == "text").then(|| texts(&trace["text"])),
            cells: Cells::of(trace),
            boxes: Boxes::of(trace),
        }
    }

    /// Whether the legend has it.
    pub(super) fn is_named(&self) -> bool {
        self.has_legend && !self.name.is_empty() && !self.numbers(0).is_empty() && self.cells.is_none()
    }

    /// Of its mark in the legend.
    pub(super) fn mark_width(&self) -> f64 {
        if self.is_line() { 28.0 } else { 12.0 }
    }

    /// Its mark in the legend: a piece of its line, whose dashes can be told apart without colours, or its colour.
    pub(super) fn draw_mark(&self, text: &mut String, x: f64, y: f64) {
        let (colour, width) = (&self.colour, self.mark_width());
        let _ = if self.is_line() {
            let middle = y - 4.0;
            let dash = self.dash_attribute();
            write!(
                text,
                "<path d=\"M{x:.1} {middle:.1}h{width}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>"
            )
        } else {
            write!(text, "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{width}\" height=\"10\" fill=\"{colour}\"/>", y - 9.0)
        };
    }

    fn is_line(&self) -> bool {
        self.has_lines && !self.is_bar && self.boxes.is_none()
    }

    fn dash_attribute(&self) -> String {
        self.is_dashed.map_or_else(String::new, |dash| format!(" stroke-dasharray=\"{dash}\""))
    }

    fn numbers(&self, axis: usize) -> &[f64] {
        match &self.axes[axis] {
            Values::Numbers(numbers) => numbers,
            Values::Names(_) => &[],
        }
    }

    /// Replaces names by their places in `names`, to which new ones are added.
    pub(super) fn number_names(&mut self, axis: usize, names: &mut Vec<String>) {
        if let Values::Names(own) = &self.axes[axis] {
            let place = |name: &String| {
                let known = names.iter().position(|known| known == name);
                known.unwrap_or_else(|| {
                    names.push(name.clone());
                    names.len() - 1
                }) as f64
            };
            self.axes[axis] = Values::Numbers(own.iter().map(place).collect());
        }
    }

    /// The values that must be seen.
    pub(super) fn extent(&self, axis: usize) -> impl Iterator<Item = f64> {
        let is_value = axis == usize::from(!self.is_horizontal);
        let errors = self.errors.clone();
        let zero = (self.is_bar && is_value).then_some(0.0);
        let boxes = self.boxes.iter().filter(move |_| is_value).flat_map(Boxes::extent);
        let upper = move |(place, value): (usize, &f64)| {
            let error = if is_value { errors.get(place).copied().unwrap_or(0.0) } else { 0.0 };
            value + error
        };
        self.numbers(axis)
            .iter()
            .enumerate()
            .map(upper)
            .chain(zero)
            .chain(boxes)
            .chain(self.numbers(axis).iter().copied())
    }
}

/// Tops of bars on top of each other.
pub(super) fn stacked(traces: &[Trace], axis: usize) -> Vec<f64> {
    let mut tops = Vec::new();
    for trace in traces.iter().filter(|trace| trace.is_bar && axis == usize::from(!trace.is_horizontal)) {
        let bars = trace.numbers(1 - axis).iter().zip(trace.numbers(axis));
        for (name, value) in bars.filter(|(_, value)| value.is_finite()) {
            *top(&mut tops, *name as usize) += value;
        }
    }
    tops
}

fn top(tops: &mut Vec<f64>, place: usize) -> &mut f64 {
    if tops.len() <= place {
        tops.resize(place + 1, 0.0);
    }
    &mut tops[place]
}

/// Draws all traces in their order.
pub(super) fn draw(text: &mut String, traces: &[Trace], is_stack: bool, scales: [&Scale; 2], area: &Area) {
    let bars = traces.iter().filter(|trace| trace.is_bar).count();
    let box_traces = traces.iter().filter(|trace| trace.boxes.is_some()).count();
    let (mut tops, mut bar, mut box_trace) = (Vec::new(), 0, 0);
    for trace in traces {
        if let Some(cells) = &trace.cells {
            cells.draw(text, scales, area);
        } else if let Some(boxes) = &trace.boxes {
            boxes.draw(text, trace.numbers(0), (box_trace, box_traces), &trace.colour, scales, area);
            box_trace += 1;
        } else if let Some(texts) = &trace.texts {
            cells::draw_texts(text, texts, [0, 1].map(|axis| trace.numbers(axis)), scales, area);
        } else if let Some(colour) = &trace.area {
            draw_area(text, trace, colour, scales, area);
        } else if trace.is_bar {
            draw_bars(text, trace, is_stack.then_some(&mut tops), (bar, bars), scales, area);
            bar += 1;
        } else {
            draw_scatter(text, trace, scales, area);
        }
    }
}

fn draw_bars(
    text: &mut String,
    trace: &Trace,
    mut tops: Option<&mut Vec<f64>>,
    (bar, bars): (usize, usize),
    [x, y]: [&Scale; 2],
    area: &Area,
) {
    let (names, values) = if trace.is_horizontal { (1, 0) } else { (0, 1) };
    let (scale, length) = if trace.is_horizontal { (y, area.height) } else { (x, area.width) };
    let slot = scale.slot() * length * BAR_SHARE;
    let width = if tops.is_some() { slot } else { slot / bars as f64 };
    let all = trace.numbers(names).iter().zip(trace.numbers(values)).enumerate();
    for (place, (name, value)) in all.filter(|(_, (_, value))| value.is_finite()) {
        let from = tops.as_mut().map_or(0.0, |tops| {
            let top = top(tops, *name as usize);
            *top += value;
            *top - value
        });
        let middle = if trace.is_horizontal { y.y(*name, area) } else { x.x(*name, area) };
        let begin = middle - slot / 2.0 + if tops.is_some() { 0.0 } else { width * bar as f64 };
        let (left, up, wide, high) = if trace.is_horizontal {
            let [from, to] = [from, from + value].map(|value| x.x(value, area));
            (from, begin, to - from, width)
        } else {
            let [from, to] = [from, from + value].map(|value| y.y(value, area));
            (begin, to, width, from - to)
        };
        let _ = write!(
            text,
            "<rect x=\"{left:.2}\" y=\"{up:.2}\" width=\"{wide:.2}\" height=\"{high:.2}\" fill=\"{}\"/>",
            trace.colour
        );
        if let Some(error) = trace.errors.get(place).filter(|error| **error > 0.0 && !trace.is_horizontal) {
            let [low, high] = [value - error, value + error].map(|value| y.y(value, area));
            let middle = begin + width / 2.0;
            let _ = write!(
                text,
                "<path d=\"M{middle:.2} {low:.2}V{high:.2}M{:.2} {low:.2}h8M{:.2} {high:.2}h8\" stroke=\"#333\" fill=\"none\"/>",
                middle - 4.0,
                middle - 4.0
            );
        }
    }
}

fn draw_area(text: &mut String, trace: &Trace, colour: &str, [x, y]: [&Scale; 2], area: &Area) {
    let places = trace.numbers(0).iter().zip(trace.numbers(1));
    let points = places.map(|(at, value)| format!("{:.2},{:.2}", x.x(*at, area), y.y(*value, area)));
    let points: Vec<_> = points.collect();
    let (colour, opacity) = cells::opaque(colour);
    let _ = write!(text, "<polygon points=\"{}\" fill=\"{colour}\" fill-opacity=\"{opacity}\"/>", points.join(" "));
}

fn draw_scatter(text: &mut String, trace: &Trace, [x, y]: [&Scale; 2], area: &Area) {
    let places = trace.numbers(0).iter().zip(trace.numbers(1)).map(|(at, value)| (x.x(*at, area), y.y(*value, area)));
    let places: Vec<_> = places.collect();
    // A value that is missing interrupts the line.
    for points in places.split(|(x, y)| !x.is_finite() || !y.is_finite()) {
        draw_points(text, trace, points);
    }
}

fn draw_points(text: &mut String, trace: &Trace, points: &[(f64, f64)]) {
    let colour = &trace.colour;
    if trace.has_lines && points.len() > 1 {
        let mut d = String::new();
        for (place, (x, y)) in points.iter().enumerate() {
            let _ = match (place, trace.is_stepped) {
                (0, _) => write!(d, "M{x:.2} {y:.2}"),
                (_, true) => write!(d, "H{x:.2}V{y:.2}"),
                (_, false) => write!(d, "L{x:.2} {y:.2}"),
            };
        }
        let dash = trace.dash_attribute();
        let _ = write!(text, "<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"{dash}/>");
    }
    if trace.has_markers || points.len() == 1 {
        for (x, y) in points {
            let _ = write!(text, "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"3\" fill=\"{colour}\"/>");
        }
    }
}

/// Words, without what keeps the plotting library from reading tags in them.
pub(super) fn texts(value: &Value) -> Vec<String> {
    let all = value.as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().map(|text| plain(text.as_str().unwrap_or_default())).collect()
}

fn values(value: &Value) -> Values {
    let all = value.as_array().map(Vec::as_slice).unwrap_or_default();
    if all.iter().any(Value::is_string) {
        return Values::Names(texts(value));
    }
    Values::Numbers(numbers(all))
}

/// Null, which stands for "not measured", becomes NaN and is not drawn.
fn numbers(all: &[Value]) -> Vec<f64> {
    all.iter().map(|value| value.as_f64().unwrap_or(f64::NAN)).collect()
}

/// A name without what keeps the plotting library from reading tags in it.
pub(super) fn plain(name: &str) -> String {
    name.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}
