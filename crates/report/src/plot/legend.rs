//! Names of the traces in rows above the axes.

use std::fmt::Write as _;

use super::{
    Content, Plot, Trace, bars,
    draw::{FONT, LEFT, RIGHT, WIDTH},
    lines,
    words::{escaped, shortened, width},
};

/// Height of a row, and spaces between a mark and its name and behind a name, in pixels.
const ROW: f64 = 20.0;
const BEHIND_MARK: f64 = 5.0;
const BEHIND_NAME: f64 = 16.0;

/// The legend below `top`, and how high it is.
pub(super) fn draw(plot: &Plot, id: &str, top: f64) -> (String, f64) {
    let (mut x, mut row) = (LEFT, 0.0);
    let mut text = String::new();
    for trace in plot.traces.iter().filter(|trace| is_named(trace)) {
        let mark = if is_line(trace) { 28.0 } else { 12.0 };
        let name = shortened(&trace.name, WIDTH - LEFT - RIGHT - mark - BEHIND_MARK, FONT);
        let length = mark + BEHIND_MARK + width(&name, FONT);
        if x + length > WIDTH - RIGHT && x > LEFT {
            (x, row) = (LEFT, row + 1.0);
        }
        let y = top + row * ROW + 14.0;
        draw_mark(&mut text, trace, id, x, y);
        let _ = write!(text, "<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>", x + mark + BEHIND_MARK, escaped(&name));
        x += length + BEHIND_NAME;
    }
    let rows = if text.is_empty() { 0.0 } else { row + 1.0 };
    (text, rows * ROW)
}

fn is_named(trace: &Trace) -> bool {
    !trace.name.is_empty() && trace.content.points() > 0 && !matches!(trace.content, Content::Cells(_))
}

fn is_line(trace: &Trace) -> bool {
    matches!(trace.content, Content::Line(_))
}

/// A piece of the line, whose dashes can be told apart without colours, the mark, or the colour.
fn draw_mark(text: &mut String, trace: &Trace, id: &str, x: f64, y: f64) {
    let middle = y - 4.0;
    let _ = write!(text, "<g color=\"{}\" fill=\"currentColor\">", trace.colour);
    match &trace.content {
        Content::Line(line) => {
            let _ = write!(text, "<path d=\"M{x:.1} {middle:.1}h28\" {}/>", lines::stroke(line));
            if let Some(mark) = line.mark {
                lines::draw_mark(text, mark, (x + 14.0, middle));
            }
        }
        Content::Marks(mark, _) => lines::draw_mark(text, *mark, (x + 6.0, middle)),
        content => {
            let opacity = if matches!(content, Content::Area(_)) { lines::AREA_OPACITY } else { 1.0 };
            let swatch = format!("x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"10\"", y - 9.0);
            let _ = write!(text, "<rect {swatch} fill-opacity=\"{opacity}\"/>");
            if matches!(content, Content::Bars(bars) if bars.is_hatched) {
                let _ = write!(text, "<rect {swatch} fill=\"{}\"/>", bars::hatch(id));
            }
        }
    }
    text.push_str("</g>");
}

impl Content {
    /// How many points, bars or rows it has.
    pub(super) fn points(&self) -> usize {
        match self {
            Self::Line(line) => line.points.len(),
            Self::Area(points) => points.len().min(1),
            Self::Marks(_, points) => points.len(),
            Self::Bars(bars) => bars.values.iter().flatten().count(),
            Self::Boxes(boxes) => boxes.len(),
            Self::Intervals(rows) => rows.len(),
            Self::Cells(cells) => cells.cells.len(),
        }
    }
}
