//! How long packet trains are.

use std::collections::BTreeMap;

use plotly::{
    Plot, Scatter,
    common::{LineShape, Mode},
    layout::AxisType,
};

use super::{Figure, style};
use crate::groups::Group;

pub(super) fn draw(groups: &[Group]) -> Figure {
    let mut plot = Plot::new();
    for (place, group) in groups.iter().enumerate() {
        let (lengths, shares) = distribution(group);
        plot.add_trace(
            Scatter::new(lengths, shares)
                .name(&group.label)
                .mode(Mode::LinesMarkers)
                .marker(plotly::common::Marker::new().size(4).color(style::colour(place)))
                .line(style::line(place).shape(LineShape::Hv))
                .hover_template("%{y:.4f} of the packets are in trains of at most %{x}"),
        );
    }
    let x = style::axis("length of the train, packets").type_(AxisType::Log);
    let y = style::axis("share of packets").range(vec![0.0, 1.02]);
    plot.set_layout(style::layout(x, y));
    Figure {
        id: "train-lengths",
        title: "Packet trains",
        caption:
            "Share of packets that left in trains of at most so many packets (of packets, not of trains). A train is a \
                  run of packets with gaps below 0.1 ms."
                .to_owned(),
        plot,
    }
}

/// Lengths of trains, and the share of all packets in trains up to each.
fn distribution(group: &Group) -> (Vec<u64>, Vec<f64>) {
    let mut packets: BTreeMap<u64, u64> = BTreeMap::new();
    for (length, trains) in group.runs.iter().flat_map(|run| &run.metrics.distributions.trains) {
        *packets.entry(*length).or_default() += length * trains;
    }
    let total: u64 = packets.values().sum();
    let mut below = 0;
    packets
        .iter()
        .map(|(length, count)| {
            below += count;
            (*length, below as f64 / total as f64)
        })
        .unzip()
}
