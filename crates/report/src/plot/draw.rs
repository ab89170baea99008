//! A figure as SVG. Colours are attributes, so that a file looks the same in every program; the style sheet of a page replaces them where the
//! reader wants dark ones. Nothing in it needs a script.

use std::fmt::Write as _;

use super::{
    bars, boxes,
    canvas::{Area, Canvas},
    cells,
    layout::{FONT, LEFT, RIGHT, WIDTH},
    legend, lines,
    model::{Content, Figure, Plot, Trace},
    scale::Scale,
    tooltip::Tooltips,
    words::{escaped, fitting},
};

/// Space above the legend: of a file, which has a heading, and of a picture in a page.
const HEADING: f64 = 30.0;
const NO_HEADING: f64 = 2.0;
/// Space for the title of the axis below.
const TITLE_BELOW: f64 = 30.0;
/// Size of the heading's font in pixels.
const HEADING_FONT: f64 = 15.0;
const INK: &str = "#1a1a1a";
const FRAME: &str = "#999999";

/// A figure as a whole file, with its title on white ground.
pub(crate) fn file(figure: &Figure) -> String {
    let (inside, height) = picture(figure, HEADING);
    let title = escaped(&figure.title);
    let size = fitting(&figure.title, WIDTH - LEFT - RIGHT, HEADING_FONT * 1.05);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" \
         role=\"img\" {}><title>{title}</title><rect width=\"{WIDTH}\" height=\"{height:.0}\" fill=\"#ffffff\"/>\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"{size:.1}\" font-weight=\"600\">{title}</text>{inside}</svg>\n",
        font()
    )
}

/// A figure as a part of a page, which has the title and the ground.
pub(crate) fn inline(figure: &Figure) -> String {
    let (inside, height) = picture(figure, NO_HEADING);
    format!(
        "<svg class=\"plot\" id=\"{}\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{}\" {}>{inside}</svg>",
        escaped(&figure.id),
        escaped(&figure.title),
        font()
    )
}

fn font() -> String {
    format!("font-family=\"system-ui, sans-serif\" font-size=\"{FONT}\" fill=\"{INK}\"")
}

/// What is below `top`, and the height of the whole.
fn picture(figure: &Figure, top: f64) -> (String, f64) {
    let plot = &figure.plot;
    let id = escaped(&figure.id);
    let [x, y] = Scale::of_axes(plot);
    let (legend, legend_height) = legend::draw(plot, &id, top);
    let cells = plot.traces.iter().find_map(|trace| match &trace.content {
        Content::Cells(cells) => Some(cells),
        _ => None,
    });
    let right = if cells.is_some() { cells::SPACE } else { RIGHT };
    let left = LEFT.max(y.widest_label() + 34.0).max(x.space_left(WIDTH - right));
    let area =
        Area { left, top: top + legend_height + 8.0, width: WIDTH - left - right, height: plot.height.max(60.0) };
    let is_slanted = x.is_slanted(area.width);
    let below = if plot.x.title.is_empty() { 4.0 } else { TITLE_BELOW };
    let whole = area.top + area.height + x.height_of_labels(is_slanted) + below;
    let canvas = Canvas { x, y, area, tooltips: Tooltips::of(plot), id: &id };
    let mut text = definitions(&canvas);
    text.push_str(&legend);
    canvas.x.draw_below(&mut text, &canvas, is_slanted);
    canvas.y.draw_beside(&mut text, &canvas);
    guides(&mut text, plot, &canvas);
    traces(&mut text, plot, &canvas);
    let Area { left, top, width, height } = canvas.area;
    let _ = write!(
        text,
        "<rect class=\"frame\" x=\"{left:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"none\" stroke=\"{FRAME}\"/>"
    );
    if let Some(cells) = cells {
        cells.draw_bar(&mut text, &canvas.area);
    }
    let (middle_x, middle_y) = (left + width / 2.0, top + height / 2.0);
    if !plot.x.title.is_empty() {
        let (below, size) = (whole - 8.0, fitting(&plot.x.title, WIDTH, FONT));
        let title = escaped(&plot.x.title);
        let _ = write!(
            text,
            "<text x=\"{middle_x:.1}\" y=\"{below:.1}\" font-size=\"{size:.1}\" text-anchor=\"middle\">{title}</text>"
        );
    }
    if !plot.y.title.is_empty() {
        let size = fitting(&plot.y.title, whole, FONT);
        let title = escaped(&plot.y.title);
        let _ = write!(
            text,
            "<text transform=\"translate(16 {middle_y:.1}) rotate(-90)\" font-size=\"{size:.1}\" text-anchor=\"middle\">{title}</text>"
        );
    }
    (text, whole)
}

fn definitions(canvas: &Canvas) -> String {
    let Canvas { id, area: Area { left, top, width, height }, .. } = canvas;
    format!(
        "<clipPath id=\"{id}-area\"><rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"/></clipPath>"
    )
}

fn guides(text: &mut String, plot: &Plot, canvas: &Canvas) {
    let bottom = canvas.area.top + canvas.area.height;
    for x in plot.guides.iter().map(|guide| canvas.x(*guide)).filter(|x| canvas.has((*x, bottom))) {
        let _ = write!(
            text,
            "<path class=\"guide\" d=\"M{x:.2} {:.2}V{bottom:.2}\" stroke=\"#777777\" stroke-dasharray=\"2 3\" fill=\"none\"/>",
            canvas.area.top
        );
    }
}

fn traces(text: &mut String, plot: &Plot, canvas: &Canvas) {
    let mut bars = bars::Drawn::of(plot);
    let mut boxes = boxes::Drawn::of(plot);
    for Trace { name, colour, content } in &plot.traces {
        let _ = write!(text, "<g color=\"{colour}\" fill=\"currentColor\">");
        match content {
            Content::Line(line) => lines::draw(text, name, line, canvas),
            Content::Area(points) => lines::draw_area(text, points, canvas),
            Content::Marks(mark, points) => lines::draw_marks(text, name, *mark, points, canvas),
            Content::Bars(own) => bars.draw(text, name, own, canvas),
            Content::Boxes(own) => boxes.draw(text, name, own, canvas),
            Content::Intervals(rows) => boxes::draw_intervals(text, name, rows, canvas),
            Content::Cells(cells) => cells.draw(text, canvas),
        }
        text.push_str("</g>");
    }
}
