//! The pictures: a new one is a file with a function like the others and a line in a list below.

mod burst_causes;
mod congestion_window;
mod drops;
mod gap_cdf;
mod goodput;
mod packet_time;
pub(crate) mod style;
mod throughput;
mod train_lengths;
mod train_mix;

pub(crate) use burst_causes::{CAUSES, of_all_packets};
use plotly::Plot;

use quiclab_experiment::Published;

use crate::groups::{Group, is_captured};

/// A picture and the words around it.
pub(crate) struct Figure {
    /// Identity in the page.
    pub id: String,
    /// What stands above it.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// The picture.
    pub plot: Plot,
}

/// What the pictures of a page are drawn from.
pub(crate) struct Scene<'a> {
    /// The runs.
    pub groups: &'a [Group<'a>],
    /// What was published of something that was not run.
    pub alone: &'a [&'a Published],
}

/// A picture that there is only where it has something in it.
type Draw = fn(&Scene) -> Option<Figure>;

/// Pictures of captured packets, in the order of the page.
const OF_PACKETS: &[Draw] = &[
    train_mix::draw,
    gap_cdf::draw,
    |scene| Some(train_lengths::draw(scene.groups)),
    |scene| Some(burst_causes::draw(scene.groups)),
];

/// The others, behind them.
const OF_TRANSFERS: &[Draw] = &[|scene| Some(goodput::draw(scene.groups))];

/// Pictures of captured packets behind those.
const OF_PACKETS_LATER: &[Draw] = &[
    |scene| Some(drops::draw(scene.groups)),
    |scene| congestion_window::draw(scene.groups),
    |scene| Some(packet_time::draw(scene.groups)),
];

/// All pictures, in the order of the page. Where nothing was captured there are none of packets.
pub(crate) fn draw_all(scene: &Scene) -> Vec<Figure> {
    let is_captured = is_captured(scene.groups) || !scene.alone.is_empty();
    let draw = |list: &[Draw]| list.iter().filter_map(|draw| draw(scene)).collect::<Vec<_>>();
    let of_packets = |list| if is_captured { draw(list) } else { Vec::new() };
    let mut figures = of_packets(OF_PACKETS);
    figures.extend(throughput::draw(scene));
    figures.extend(draw(OF_TRANSFERS));
    figures.extend(of_packets(OF_PACKETS_LATER));
    figures
}
