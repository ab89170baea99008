//! The congestion window over time, as the sender logged it.

use crate::{
    groups::Group,
    plot::{Axis, Figure, Line, Plot, style},
};

/// `None` where no sender logged its window.
pub(super) fn draw(groups: &[Group]) -> Option<Figure> {
    let x = Axis::linear("time since the sender's log began, s");
    let mut plot = Plot::new(x, Axis::linear("congestion window, kB"));
    for (place, group) in groups.iter().enumerate() {
        let Some(points) = group.runs.iter().find_map(|run| run.congestion_window.as_ref()) else { continue };
        let points = points.iter().map(|(time, bytes)| (*time as f64 / 1e9, *bytes as f64 / 1e3)).collect();
        plot.add(&group.label, style::colour(place), Line::of_place(place, points).stepped().width(1.2));
    }
    if plot.is_empty() {
        return None;
    }
    Some(Figure {
        id: "congestion-window".to_owned(),
        title: "Congestion window".to_owned(),
        caption: "From the sender's qlog, in the first run of each group. If the window falls and immediately returns \
                  to its old value, the sender considered the loss spurious and restored it."
            .to_owned(),
        plot,
    })
}
