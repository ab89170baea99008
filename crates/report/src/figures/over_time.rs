//! The bottleneck over time: how long packets wait in its queue, and what comes out of it.

use crate::{
    groups::Group,
    packet_summary::OverTime,
    plot::{Axis, Figure, Line, Plot, style},
};

/// `None` where no run has a tap behind the bottleneck.
pub(super) fn queue(groups: &[Group]) -> Option<Figure> {
    let milliseconds = |over_time: &OverTime| {
        over_time.queue_ns.iter().map(|wait| wait.map(|wait| wait as f64 / 1e6)).collect::<Vec<_>>()
    };
    Some(Figure {
        id: "queue-over-time".to_owned(),
        title: "The bottleneck's queue over time".to_owned(),
        caption: "The longest wait of the packets sent in each step of time, in the first run of each group: the time \
                  between the taps minus its smallest value. A queue that never comes near 0 stands; one that does all \
                  the time is short, or the sender does not fill it."
            .to_owned(),
        plot: draw(groups, "wait in the queue, ms", milliseconds)?,
    })
}

/// `None` where bytes of streams could not be read.
pub(super) fn goodput(groups: &[Group]) -> Option<Figure> {
    let megabits = |over_time: &OverTime| over_time.goodput_bps.iter().map(|rate| Some(rate / 1e6)).collect::<Vec<_>>();
    Some(Figure {
        id: "goodput-over-time".to_owned(),
        title: "Goodput over time".to_owned(),
        caption: "New bytes of streams in each step of time, in the first run of each group, when they leave the \
                  bottleneck (or the sender, without a tap behind it)."
            .to_owned(),
        plot: draw(groups, "goodput, Mbit/s", megabits)?,
    })
}

fn draw(groups: &[Group], axis: &str, values: impl Fn(&OverTime) -> Vec<Option<f64>>) -> Option<Plot> {
    let mut plot = Plot::new(Axis::linear("time since the first packet, s"), Axis::linear(axis));
    for (place, group) in groups.iter().enumerate() {
        let Some(packet_summary) = group.runs.iter().find_map(|run| run.packet_summary.as_ref()) else { continue };
        let step = packet_summary.over_time.step_ns as f64 / 1e9;
        let known = values(&packet_summary.over_time).into_iter().enumerate();
        let known: Vec<_> = known.filter_map(|(place, value)| Some((place as f64 * step, value?))).collect();
        if !known.is_empty() {
            plot.add(&group.label, style::colour(place), Line::of_place(place, known).stepped().width(1.4));
        }
    }
    (!plot.is_empty()).then_some(plot)
}
