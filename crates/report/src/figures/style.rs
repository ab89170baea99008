//! What all pictures share: colours, dashes, axes.

use plotly::{
    Layout,
    common::{Anchor, DashType, Font, Line, Marker, MarkerSymbol, Title},
    layout::{Axis, Legend, Margin},
};

/// Colours that people with any kind of colour vision can tell apart (Okabe and Ito, 2008).
const COLOURS: &[&str] = &["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];
const GRID: &str = "#e5e5e5";

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

/// Marks a published value.
pub fn published_marker() -> Marker {
    Marker::new().symbol(MarkerSymbol::DiamondOpen).size(11).color("#000000")
}

/// An axis with a title.
pub fn axis(title: &str) -> Axis {
    Axis::new().title(Title::with_text(title)).grid_color(GRID).zero_line_color(GRID).auto_margin(true)
}

/// A layout with two axes and the legend below the picture, where it may have several lines.
pub fn layout(x: Axis, y: Axis) -> Layout {
    Layout::new()
        .x_axis(x)
        .y_axis(y)
        .height(460)
        .margin(Margin::new().left(70).right(20).top(20).bottom(60))
        .font(Font::new().family("system-ui, sans-serif").size(13))
        .legend(Legend::new().orientation(plotly::common::Orientation::Horizontal).x(0.0).y(-0.2).y_anchor(Anchor::Top))
        .plot_background_color("#ffffff")
}

/// A layout of bars, one for each group: their labels may be long and slanted, so the legend stands above.
pub fn bar_layout(y: Axis) -> Layout {
    let legend =
        Legend::new().orientation(plotly::common::Orientation::Horizontal).x(0.0).y(1.02).y_anchor(Anchor::Bottom);
    layout(axis(""), y).legend(legend).margin(Margin::new().left(70).right(20).top(60).bottom(60))
}
