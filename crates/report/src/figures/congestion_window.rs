//! The congestion window over time, as the sender logged it.

use plotly::{
    Plot, Scatter,
    common::{LineShape, Mode},
};

use super::{Figure, style};
use crate::groups::Group;

/// Points of a run that are drawn; of more, only those at which the window has changed most are needed, so every n-th is left out.
const MOST_POINTS: usize = 20_000;

/// `None` where no sender logged its window.
pub(super) fn draw(groups: &[Group]) -> Option<Figure> {
    let mut plot = Plot::new();
    let mut is_empty = true;
    for (place, group) in groups.iter().enumerate() {
        let Some(points) = group.runs.iter().find_map(|run| run.congestion_window.as_ref()) else { continue };
        is_empty = false;
        let step = points.len().div_ceil(MOST_POINTS).max(1);
        let (seconds, kilobytes): (Vec<f64>, Vec<f64>) =
            points.iter().step_by(step).map(|(time, bytes)| (*time as f64 / 1e9, *bytes as f64 / 1e3)).unzip();
        plot.add_trace(
            Scatter::new(seconds, kilobytes)
                .name(style::name(&group.label))
                .mode(Mode::Lines)
                .line(style::line(place).shape(LineShape::Hv).width(1.2))
                .hover_template("%{x:.3f} s, %{y:.1f} kB"),
        );
    }
    if is_empty {
        return None;
    }
    let x = style::axis("time since the sender's log began, s");
    plot.set_layout(style::curve_layout(x, style::axis("congestion window, kB"), groups.len()));
    Some(Figure {
        id: "congestion-window".to_owned(),
        title: "Congestion window".to_owned(),
        caption: "From the sender's qlog, in the first run of each group. If the window falls and immediately returns \
                  to its old value, the sender considered the loss spurious and restored it."
            .to_owned(),
        plot,
    })
}
