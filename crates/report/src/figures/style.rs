//! What all pictures share: colours, dashes, axes.

use plotly::{
    Layout,
    common::{Anchor, DashType, ExponentFormat, Font, Line, Marker, MarkerSymbol, Title},
    layout::{Axis, Legend, Margin, TraceOrder},
};

/// Colours that people with any kind of colour vision can tell apart (Okabe and Ito, 2008).
const COLOURS: &[&str] = &["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];
const GRID: &str = "#e5e5e5";
const ZERO: &str = "#b5b5b5";
/// Of a picture, and of a row of its legend, in pixels.
const HEIGHT: usize = 460;
const LEGEND_ROW: usize = 20;
/// Where names are as long as those of stacks.
const NAMES_PER_ROW: usize = 5;

/// A group's label as the plotting library shows it: it would read tags in it.
pub fn name(label: &str) -> String {
    label.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Colour of the group at `place`.
pub fn colour(place: usize) -> &'static str {
    COLOURS[place % COLOURS.len()]
}

/// The line of the group at `place`; a dash as well as a colour, for print without colours.
pub fn line(place: usize) -> Line {
    let dashes = [DashType::Solid, DashType::Dash, DashType::Dot, DashType::DashDot, DashType::LongDash];
    Line::new().color(colour(place)).width(2.0).dash(dashes[place % dashes.len()].clone())
}

/// The same colour so faint that what is behind an area of it can be seen.
pub fn faint(place: usize) -> String {
    let part = |from: usize| u8::from_str_radix(&colour(place)[from..from + 2], 16).unwrap_or(0);
    format!("rgba({}, {}, {}, 0.18)", part(1), part(3), part(5))
}

/// Marks a published value.
pub fn published_marker() -> Marker {
    Marker::new().symbol(MarkerSymbol::DiamondOpen).size(11).color("#000000")
}

/// An axis with a title.
pub fn axis(title: &str) -> Axis {
    let axis = Axis::new().title(Title::with_text(title)).grid_color(GRID).zero_line_color(ZERO).auto_margin(true);
    // 20000 instead of 20k.
    axis.exponent_format(ExponentFormat::None)
}

/// A layout with two axes and the legend below the picture, where it may have several lines.
pub fn layout(x: Axis, y: Axis) -> Layout {
    Layout::new()
        .x_axis(x)
        .y_axis(y)
        .height(HEIGHT)
        .margin(Margin::new().left(70).right(20).top(20).bottom(60))
        .font(Font::new().family("system-ui, sans-serif").size(13))
        .legend(Legend::new().orientation(plotly::common::Orientation::Horizontal).x(0.0).y(-0.2).y_anchor(Anchor::Top))
        .plot_background_color("#ffffff")
}

/// A layout of curves, high enough for a legend with so many names below it.
pub fn curve_layout(x: Axis, y: Axis, names: usize) -> Layout {
    layout(x, y).height(HEIGHT + LEGEND_ROW * names.div_ceil(NAMES_PER_ROW).saturating_sub(2))
}

/// A layout of bars, one for each group: their labels may be long and slanted, so the legend stands above.
pub fn bar_layout(y: Axis) -> Layout {
    legend_above(layout(axis(""), y))
}

/// The legend above instead of below.
pub fn legend_above(layout: Layout) -> Layout {
    // In the order of the bars' parts, whichever way they lie.
    let legend = Legend::new().trace_order(TraceOrder::Normal);
    let legend = legend.orientation(plotly::common::Orientation::Horizontal).x(0.0).y(1.02).y_anchor(Anchor::Bottom);
    layout.legend(legend).margin(Margin::new().left(70).right(20).top(60).bottom(60))
}
