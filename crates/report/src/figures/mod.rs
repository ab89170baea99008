//! The pictures: a new one is a file with a function like the others and a line in [`FIGURES`].

mod burst_causes;
mod congestion_window;
mod drops;
mod gap_cdf;
mod goodput;
mod packet_time;
pub(crate) mod style;
mod train_lengths;
mod train_mix;

pub(crate) use burst_causes::{CAUSES, of_all_packets};
use plotly::Plot;

use quiclab_experiment::Published;

use crate::groups::Group;

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

/// In the order of the page; a picture without anything in it is left out.
pub(crate) const FIGURES: &[fn(&Scene) -> Option<Figure>] = &[
    train_mix::draw,
    gap_cdf::draw,
    |scene| Some(train_lengths::draw(scene.groups)),
    |scene| Some(burst_causes::draw(scene.groups)),
    |scene| Some(goodput::draw(scene.groups)),
    |scene| Some(drops::draw(scene.groups)),
    |scene| congestion_window::draw(scene.groups),
    |scene| Some(packet_time::draw(scene.groups)),
];
