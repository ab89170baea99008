//! Every packet of a run: when it left, and how many bytes had left by then.

use crate::{
    groups::Group,
    plot::{Axis, Figure, Line, Plot, style},
};

/// `None` where no run has them.
pub(super) fn draw(groups: &[Group]) -> Option<Figure> {
    let mut plot = Plot::new(Axis::linear("time since the first packet, s"), Axis::linear("bytes sent, MB"));
    for (place, group) in groups.iter().enumerate() {
        let Some(packets) = group.runs.iter().find_map(|run| run.packets.as_ref()) else { continue };
        let points = packets.iter().map(|(time_ns, bytes)| (*time_ns as f64 / 1e9, *bytes as f64 / 1e6)).collect();
        plot.add(&group.label, style::colour(place), Line::of_place(place, points).stepped().width(1.2));
    }
    let is_drawn = groups.iter().any(|group| group.runs.iter().any(|run| run.packets.is_some()));
    is_drawn.then(|| Figure {
        id: "packet-time".to_owned(),
        title: "Packets over time".to_owned(),
        caption: "Bytes that had left the sender, including headers and retransmissions, in the first run of each \
                  group. A tall step is a burst, a flat line a pause."
            .to_owned(),
        plot,
    })
}
