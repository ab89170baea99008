//! The pictures: a new one is a file with a function like the others and a line in the list below.

mod burst_causes;
mod by_group;
mod congestion_window;
mod drops;
mod gap_cdf;
mod goodput;
mod over_time;
mod packet_time;
mod scene;
mod throughput;
mod train_lengths;
pub(crate) mod train_mix;

pub(crate) use scene::Scene;

use crate::{
    groups::{self, is_captured, published_alone},
    input::ReportInput,
    plot::{self, Figure},
    scenario::transfer_figures,
};

/// A picture that there is only where it has something in it.
type Draw = fn(&Scene) -> Option<Figure>;

/// What a picture is drawn from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// Captured packets.
    Packets,
    /// Whatever the runs have.
    Runs,
}

/// All pictures, in the order of the page.
const FIGURES: &[(Needs, Draw)] = &[
    (Needs::Packets, train_mix::draw),
    (Needs::Packets, gap_cdf::draw),
    (Needs::Packets, |scene| Some(train_lengths::draw(scene.groups))),
    (Needs::Packets, |scene| train_lengths::of_trains(scene.groups)),
    (Needs::Packets, |scene| Some(burst_causes::draw(scene.groups))),
    (Needs::Runs, throughput::boxes::draw),
    (Needs::Runs, throughput::ranks::draw),
    (Needs::Runs, throughput::cpu::draw),
    (Needs::Runs, |scene| Some(goodput::draw(scene.groups))),
    (Needs::Packets, |scene| Some(drops::draw(scene.groups))),
    (Needs::Packets, |scene| over_time::goodput(scene.groups)),
    (Needs::Packets, |scene| over_time::queue(scene.groups)),
    (Needs::Packets, |scene| congestion_window::draw(scene.groups)),
    (Needs::Packets, |scene| packet_time::draw(scene.groups)),
];

/// Every figure of a report that has something to show: its name, and the text of its SVG file.
pub fn render_figures(input: &ReportInput) -> Vec<(String, String)> {
    let groups = groups::all(input);
    let alone = published_alone(input, &groups);
    let scene = Scene { groups: &groups, alone: &alone, machine: input.machine };
    let asked = transfer_figures(input, &groups).into_iter();
    asked.chain(draw_all(&scene)).map(|figure| (figure.id.clone(), plot::file(&figure))).collect()
}

/// Draws the figures of a report. Where nothing was captured there are none of packets.
pub(crate) fn draw_all(scene: &Scene) -> Vec<Figure> {
    let is_captured = is_captured(scene.groups) || !scene.alone.is_empty();
    let is_drawn = |needs: Needs| is_captured || needs == Needs::Runs;
    FIGURES.iter().filter(|(needs, _)| is_drawn(*needs)).filter_map(|(_, draw)| draw(scene)).collect()
}
