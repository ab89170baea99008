//! The figures of a report as SVG files, for papers and pull requests. Draws what the figures use of the plotting library:
//! lines, steps, areas, markers, bars beside and on top of each other, error bars, maps of cells, logarithmic axes. What its browser version adds, such as
//! curves that are hidden until they are asked for, is left out.

mod boxes;
mod cells;
mod scale;
mod traces;

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    figures::{Figure, Scene, draw_all},
    groups::{Group, published_alone},
    input::ReportInput,
    scenario::transfer_figures,
};
use scale::Scale;
use traces::Trace;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 75.0;
const RIGHT: f64 = 20.0;
const TITLE_HEIGHT: f64 = 30.0;
const LEGEND_ROW: f64 = 20.0;
/// About as wide as a character of the axis labels is.
const CHARACTER: f64 = 6.6;
/// Slanted labels of bars are cut behind so many characters.
const LONGEST_LABEL: usize = 40;

/// Every figure of a report that has something to show: its name, and the text of its SVG file.
pub fn render_figures(input: &ReportInput) -> Vec<(String, String)> {
    let groups = Group::all(input);
    let alone = published_alone(input, &groups);
    let scene = Scene { groups: &groups, alone: &alone, machine: input.machine };
    let asked = transfer_figures(input, &groups).into_iter();
    asked.chain(draw_all(&scene)).map(|figure| (figure.id.clone(), svg(&figure))).collect()
}

/// Where the curves are.
pub(crate) struct Area {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// A figure as a whole file.
pub(crate) fn svg(figure: &Figure) -> String {
    // The library's own output, a JSON object with arrays of numbers and texts.
    let plot: Value = serde_json::from_str(&figure.plot.to_json()).unwrap_or_default();
    let layout = &plot["layout"];
    let mut traces = Trace::all(&plot["data"]);
    let [x, y] = Scale::of_axes(layout, &mut traces);
    let legend = legend(&traces);
    let labels_below = x.slanted_height();
    let height = layout["height"].as_f64().unwrap_or(460.0).max(180.0);
    let top = TITLE_HEIGHT + legend.1 + 8.0;
    let left = LEFT.max(y.widest_label() + 34.0);
    let cells = traces.iter().find_map(|trace| trace.cells.as_ref());
    let right = if cells.is_some() { cells::SPACE } else { RIGHT };
    let area = Area { left, top, width: WIDTH - left - right, height: (height - 110.0).max(60.0) };
    let bottom = area.top + area.height;
    let whole = bottom + labels_below + 30.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {whole:.0}\" width=\"{WIDTH}\" height=\"{whole:.0}\" \
         role=\"img\"><title>{}</title><style>text {{ font-family: system-ui, sans-serif; font-size: 12px; fill: #1a1a1a; }}</style>\
         <rect width=\"{WIDTH}\" height=\"{whole:.0}\" fill=\"#fff\"/>\
         <text x=\"{left:.0}\" y=\"20\" style=\"font-size: 15px; font-weight: 600\">{}</text>",
        escaped(&figure.title),
        escaped(&figure.title)
    );
    text.push_str(&legend.0);
    x.draw_below(&mut text, &area);
    y.draw_beside(&mut text, &area);
    let _ = write!(
        text,
        "<clipPath id=\"area\"><rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\"/></clipPath><g clip-path=\"url(#area)\">",
        area.left, area.top, area.width, area.height
    );
    traces::draw(&mut text, &traces, layout["barmode"].as_str() == Some("stack"), [&x, &y], &area);
    let _ = write!(
        text,
        "</g><rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"none\" stroke=\"#999\"/>",
        area.left, area.top, area.width, area.height
    );
    if let Some(cells) = cells {
        cells.draw_bar(&mut text, &area);
    }
    let title = |axis: &str| escaped(&traces::plain(layout[axis]["title"]["text"].as_str().unwrap_or_default()));
    let (middle_x, middle_y) = (area.left + area.width / 2.0, area.top + area.height / 2.0);
    let _ = writeln!(
        text,
        "<text x=\"{middle_x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
         <text transform=\"translate(16 {middle_y:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text></svg>",
        whole - 8.0,
        title("xaxis"),
        title("yaxis")
    );
    text
}

/// Names of the traces in rows, and how high they are.
fn legend(traces: &[Trace]) -> (String, f64) {
    /// Between a mark and its name, and behind a name.
    const GAPS: [f64; 2] = [5.0, 13.0];
    let (mut x, mut row) = (LEFT, 0.0);
    let mut text = String::new();
    for trace in traces.iter().filter(|trace| trace.is_named()) {
        let mark = trace.mark_width() + GAPS[0];
        let width = trace.name.chars().count() as f64 * CHARACTER + mark + GAPS[1];
        if x + width > WIDTH - RIGHT && x > LEFT {
            (x, row) = (LEFT, row + 1.0);
        }
        let y = TITLE_HEIGHT + row * LEGEND_ROW + 14.0;
        trace.draw_mark(&mut text, x, y);
        let _ = write!(text, "<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>", x + mark, escaped(&trace.name));
        x += width;
    }
    let rows = if text.is_empty() { 0.0 } else { row + 1.0 };
    (text, rows * LEGEND_ROW)
}

/// Text that XML would read as something else.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
