//! How many packets left in trains of which length: the picture for many groups side by side.

use super::scene::Scene;
use crate::{
    groups::{Group, name_alone},
    plot::{Axis, Bars, Figure, Plot},
};

/// The longest train of each class of lengths, its name and its colour: blue for what counts as paced, orange for bursts. Every page has
/// these classes.
pub(crate) const CLASSES: [(u64, &str, &str); 6] = [
    (1, "1", "#08519c"),
    (2, "2", "#4292c6"),
    (5, "3 to 5", "#9ecae1"),
    (10, "6 to 10", "#fdd49e"),
    (20, "11 to 20", "#fc8d59"),
    (u64::MAX, "more than 20", "#b30000"),
];
/// The share of the packets in trains of each class of lengths.
pub(crate) type Mix = [f64; CLASSES.len()];

/// Height of a bar and the space around it, in pixels.
const BAR: f64 = 26.0;

/// Name of the published curve.
const CURVE: &str = "packets_by_train_length";

pub(super) fn draw(scene: &Scene) -> Option<Figure> {
    let mut bars = Vec::new();
    for group in scene.groups {
        bars.push((group.label.clone(), mix(group)));
        if let Some(points) = group.published.and_then(|row| row.curves.get(CURVE)) {
            bars.push((format!("{}, published", group.label), published_mix(points)));
        }
    }
    let alone = scene.alone.iter();
    bars.extend(alone.filter_map(|row| Some((name_alone(row), published_mix(row.curves.get(CURVE)?)))));
    let (labels, mixes): (Vec<String>, Vec<Mix>) = bars.into_iter().unzip();
    let height = BAR * labels.len() as f64;
    let axes = Plot::new(Axis::between("share of packets", 0.0, 1.0), Axis::names("", labels));
    let mut plot = Plot { is_stacked: true, height, ..axes };
    for (class, (_, name, colour)) in CLASSES.into_iter().enumerate() {
        plot.add(name, colour, Bars::of(mixes.iter().map(|mix| mix[class]).collect()));
    }
    Some(Figure {
        id: "train-mix".to_owned(),
        title: "Packets by the length of their train".to_owned(),
        caption: "Share of packets that left in trains of 1, 2, 3 to 5 packets and so on, all runs of a group \
                  together. A sender that spaces its packets is blue throughout; one that sends bursts ends in orange \
                  and red."
            .to_owned(),
        plot,
    })
}

/// The share of each class, of a curve that has a point at the end of each.
fn published_mix(points: &[(f64, f64)]) -> Mix {
    let up_to = |longest: u64| {
        let reached = points.iter().take_while(|(length, _)| *length <= longest as f64).last();
        reached.map_or(0.0, |(_, share)| *share)
    };
    let mut below = 0.0;
    CLASSES.map(|(longest, ..)| {
        // The curve ends where everything is counted.
        let share = if longest == u64::MAX { 1.0 } else { up_to(longest) };
        let own = share - below;
        below = share;
        own
    })
}

/// The share of each class, over all runs of a group.
fn mix(group: &Group) -> Mix {
    mix_if_any(group).unwrap_or_default()
}

/// The share of each class, over all runs of a group; `None` where no packet is in a train.
pub(crate) fn mix_if_any(group: &Group) -> Option<Mix> {
    let mut packets = [0_u64; CLASSES.len()];
    for (length, trains) in group.runs.iter().flat_map(|run| &run.metrics.distributions.trains) {
        let class = CLASSES.iter().position(|(longest, ..)| length <= longest).unwrap_or(CLASSES.len() - 1);
        packets[class] += length * trains;
    }
    let total = packets.iter().sum::<u64>();
    (total > 0).then(|| packets.map(|packets| packets as f64 / total as f64))
}
