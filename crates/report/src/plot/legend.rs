//! Names of the traces in rows above the axes.

use std::fmt::Write as _;

use super::{
    bars,
    layout::{FONT, LEFT, RIGHT, WIDTH},
    lines,
    model::{Content, Plot, Trace},
    words::{escaped, shortened, width},
};

/// Height of a row, and spaces between a mark and its name and behind a name, in pixels.
const ROW: f64 = 20.0;
const BEHIND_MARK: f64 = 5.0;
const BEHIND_NAME: f64 = 16.0;

/// The legend below `top`, and how high it is: one row, or columns where one is not enough.
pub(super) fn draw(plot: &Plot, id: &str, top: f64) -> (String, f64) {
    let room = WIDTH - LEFT - RIGHT;
    let entries: Vec<_> = plot.traces.iter().filter(|trace| is_named(trace)).map(|trace| entry(trace, room)).collect();
    let widest = entries.iter().map(|entry| entry.width).fold(0.0, f64::max);
    let whole: f64 = entries.iter().map(|entry| entry.width).sum();
    let columns = if whole - BEHIND_NAME <= room {
        entries.len()
    } else {
        ((room + BEHIND_NAME) / widest).floor().max(1.0) as usize
    };
    let mut text = String::new();
    let mut x = LEFT;
    for (place, Entry { trace, name, mark, width }) in entries.iter().enumerate() {
        if place % columns == 0 {
            x = LEFT;
        }
        let y = top + (place / columns) as f64 * ROW + 14.0;
        draw_mark(&mut text, trace, id, x, y);
        let _ = write!(text, "<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>", x + mark + BEHIND_MARK, escaped(name));
        x += if entries.len() > columns { widest } else { *width };
    }
    (text, entries.len().div_ceil(columns.max(1)) as f64 * ROW)
}

/// A mark and a name.
struct Entry<'a> {
    trace: &'a Trace,
    name: String,
    /// Width of the mark, and of all with the space behind it, in pixels.
    mark: f64,
    width: f64,
}

fn entry(trace: &Trace, room: f64) -> Entry<'_> {
    let mark = if matches!(trace.content, Content::Line(_)) { 28.0 } else { 12.0 };
    let name = shortened(&trace.name, room - mark - BEHIND_MARK, FONT);
    let width = mark + BEHIND_MARK + width(&name, FONT) + BEHIND_NAME;
    Entry { trace, name, mark, width }
}

fn is_named(trace: &Trace) -> bool {
    !trace.name.is_empty() && trace.content.points() > 0 && !matches!(trace.content, Content::Cells(_))
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
