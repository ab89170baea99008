//! How long the gaps between packets are.

use std::collections::BTreeMap;

use plotly::{
    Plot, Scatter,
    common::{DashType, LineShape, Mode},
    layout::{AxisType, Shape, ShapeType},
};

use super::{Figure, Scene, style};
use crate::groups::{Group, name_alone};

const TRAIN_THRESHOLD_MICROSECONDS: f64 = 100.0;

/// Name of the published curve.
const CURVE: &str = "gaps_us";

pub(super) fn draw(scene: &Scene) -> Option<Figure> {
    let groups = scene.groups;
    let mut plot = Plot::new();
    for (place, group) in groups.iter().enumerate() {
        let (edges, shares) = distribution(group);
        plot.add_trace(
            Scatter::new(edges, shares)
                .name(style::name(&group.label))
                .mode(Mode::Lines)
                .line(style::line(place).shape(LineShape::Hv))
                .hover_template("%{y:.3f} of the gaps are at most %{x:.4g} \u{b5}s"),
        );
    }
    let of_groups = groups.iter().enumerate().filter_map(|(place, group)| {
        Some((format!("{}, published", group.label), group.published?.curves.get(CURVE)?, place))
    });
    let alone = scene.alone.iter().enumerate();
    let alone = alone.filter_map(|(place, row)| Some((name_alone(row), row.curves.get(CURVE)?, groups.len() + place)));
    let published: Vec<_> = of_groups.chain(alone).collect();
    for (name, points, place) in &published {
        let (edges, shares): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        plot.add_trace(
            Scatter::new(edges, shares)
                .name(style::name(name))
                .mode(Mode::LinesMarkers)
                .line(style::line(*place).width(1.0).dash(DashType::Dot))
                .marker(style::published_marker().color(style::colour(*place)).size(6))
                .hover_template("published: %{y:.3f} of the gaps are at most %{x:.4g} \u{b5}s"),
        );
    }
    let threshold = Shape::new()
        .shape_type(ShapeType::Line)
        .x_ref("x")
        .y_ref("paper")
        .x0(TRAIN_THRESHOLD_MICROSECONDS)
        .x1(TRAIN_THRESHOLD_MICROSECONDS)
        .y0(0.0)
        .y1(1.0);
    let threshold = threshold.line(plotly::layout::ShapeLine::new().color("#777777").width(1.0).dash(DashType::Dot));
    let x = style::axis("gap between packets, \u{b5}s").type_(AxisType::Log);
    let y = style::axis("share of gaps").range(vec![0.0, 1.0]);
    plot.set_layout(style::curve_layout(x, y, groups.len() + published.len()).shapes(vec![threshold]));
    Some(Figure {
        id: "gap-cdf".to_owned(),
        title: "Gaps between packets".to_owned(),
        caption: format!(
            "Share of gaps that are at most this long, at the sender's egress, all runs of a group together. The \
             dotted line is 0.1 ms; packets with smaller gaps form a train. For a sender that paces perfectly at 40 \
             Mbit/s, all gaps are near 0.3 ms.{}",
            if published.is_empty() { "" } else { " Published curves are thin, with a mark at each known point." }
        ),
        plot,
    })
}

/// Upper edges of the bins in microseconds, and the share of all gaps up to each.
fn distribution(group: &Group) -> (Vec<f64>, Vec<f64>) {
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for (edge, count) in group.runs.iter().flat_map(|run| &run.metrics.distributions.gaps_ns) {
        *bins.entry(*edge).or_default() += count;
    }
    let total: u64 = bins.values().sum();
    let mut below = 0;
    bins.iter()
        .map(|(edge, count)| {
            below += count;
            (*edge as f64 / 1e3, below as f64 / total as f64)
        })
        .unzip()
}
