//! Every packet of a run: when it left, and how many bytes had left by then.

use plotly::{
    Plot, Scatter,
    common::{LineShape, Mode},
};

use super::{Figure, style};
use crate::groups::Group;

/// Packets per run that are drawn: all of a 100 MiB transfer. More would make the page slow.
const MOST_PACKETS: usize = 100_000;

pub(super) fn draw(groups: &[Group]) -> Figure {
    let mut plot = Plot::new();
    let mut is_cut = false;
    for (place, group) in groups.iter().enumerate() {
        let Some(packets) = group.runs.iter().find_map(|run| run.packets.as_ref()) else { continue };
        is_cut |= packets.len() > MOST_PACKETS;
        let drawn = &packets[..packets.len().min(MOST_PACKETS)];
        let seconds = drawn.iter().map(|(nanoseconds, _)| (nanoseconds / 1000) as f64 / 1e6).collect();
        let megabytes = drawn.iter().map(|(_, bytes)| *bytes as f64 / 1e6).collect();
        plot.add_trace(
            Scatter::new(seconds, megabytes)
                .name(style::name(&group.label))
                .mode(Mode::Lines)
                .line(style::line(place).shape(LineShape::Hv).width(1.2))
                .hover_template("%{x:.6f} s, %{y:.4f} MB"),
        );
    }
    let x = style::axis("time since the first packet, s");
    plot.set_layout(style::curve_layout(x, style::axis("bytes sent, MB"), groups.len()));
    let cut =
        if is_cut { format!(" Only the first {MOST_PACKETS} packets of each run are drawn.") } else { String::new() };
    Figure {
        id: "packet-time".to_owned(),
        title: "Packets over time".to_owned(),
        caption: format!(
            "Bytes that had left the sender, including headers and retransmissions, in the first run of each group. A \
             tall step is a burst, a flat line a pause. Drag to zoom in, double-click to zoom out.{cut}"
        ),
        plot,
    }
}
