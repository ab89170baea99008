//! The pictures: a new one is a file with a function like the others and a line in [`FIGURES`].

mod burst_causes;
mod drops;
mod gap_cdf;
mod goodput;
mod packet_time;
pub(crate) mod style;
mod train_lengths;
mod train_mix;

use plotly::Plot;

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

/// In the order of the page.
pub(crate) const FIGURES: &[fn(&[Group]) -> Figure] = &[
    train_mix::draw,
    gap_cdf::draw,
    train_lengths::draw,
    burst_causes::draw,
    goodput::draw,
    drops::draw,
    packet_time::draw,
];
