//! Who is faster than whom, as far as the runs can tell.

use plotly::{
    Plot, Scatter,
    common::{Line, Marker, Mode},
    layout::AxisRange,
};
use quiclab_metrics::Estimate;

use super::{super::style, Figure, Scene, goodput, values};
use crate::{findings::Repeated as _, groups::Group};

/// Of the intervals.
const ALPHA: f64 = 0.05;
/// Of a row, and of what is around all of them, in pixels.
const ROW: usize = 24;
const AROUND: usize = 130;

/// A group's mean and interval.
struct Entry {
    label: String,
    mean: f64,
    low: f64,
    high: f64,
}

pub(in crate::figures) fn draw(scene: &Scene) -> Option<Figure> {
    let groups = scene.groups;
    // In virtual time repetitions differ by what is random in the experiment, not by what the machine did.
    if !groups.iter().all(Group::is_sample) {
        return None;
    }
    let column = goodput(groups);
    let mut entries: Vec<_> = groups.iter().filter_map(|group| entry(&group.label, &values(group, column))).collect();
    if entries.len() < 2 {
        return None;
    }
    entries.sort_by(|one, other| other.mean.total_cmp(&one.mean));
    let labels: Vec<_> =
        entries.iter().map(|entry| format!("{} {}", places(&entries, entry), style::name(&entry.label))).collect();
    // A line from end to end of each interval, which a missing value separates from the next.
    let ends = entries.iter().flat_map(|entry| [Some(entry.low), Some(entry.high), None]).collect();
    let of_ends = labels.iter().flat_map(|label| [label.clone(), label.clone(), label.clone()]).collect();
    let means = entries.iter().map(|entry| Some(entry.mean)).collect();
    let mut plot = Plot::new();
    let intervals: Box<Scatter<Option<f64>, String>> = Scatter::new(ends, of_ends).mode(Mode::Lines);
    plot.add_trace(intervals.line(Line::new().color(style::colour(0)).width(2.0)));
    let points = Scatter::new(means, labels).mode(Mode::Markers);
    plot.add_trace(points.marker(Marker::new().color(style::colour(0)).size(8)));
    let x = style::axis("goodput, Mbit/s").range_mode(plotly::layout::RangeMode::ToZero);
    let y = style::axis("").range(AxisRange::new(entries.len() as f64 - 0.5, -0.5));
    plot.set_layout(style::layout(x, y).height(AROUND + ROW * entries.len()).show_legend(false));
    Some(Figure {
        id: "goodput-ranks".to_owned(),
        title: "Ranks by goodput".to_owned(),
        caption: "Mean and its 95 % interval (Student). Before each name stand the places that it can have: where \
                  intervals overlap, no difference is shown."
            .to_owned(),
        plot,
    })
}

fn entry(label: &str, values: &[f64]) -> Option<Entry> {
    let estimate = Estimate::of_mean(values, 0.0)?;
    let (low, high) = estimate.interval(ALPHA);
    Some(Entry { label: label.to_owned(), mean: estimate.mean, low, high })
}

/// The places that an entry can have: behind all that are surely faster, before all that are surely slower.
fn places(all: &[Entry], entry: &Entry) -> String {
    let first = 1 + all.iter().filter(|other| other.low > entry.high).count();
    let last = all.len() - all.iter().filter(|other| other.high < entry.low).count();
    if first == last { format!("{first}.") } else { format!("{first}.\u{2013}{last}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_whose_intervals_overlap_share_their_places() {
        let of = |values: &[f64]| entry("", values).unwrap();
        let all = [of(&[10.0, 10.1, 9.9]), of(&[8.0, 8.2, 7.9]), of(&[8.1, 7.8, 8.1]), of(&[1.0, 1.01, 0.99])];
        let found: Vec<_> = all.iter().map(|entry| places(&all, entry)).collect();
        assert_eq!(found, ["1.", "2.\u{2013}3.", "2.\u{2013}3.", "4."]);
        assert!(entry("", &[1.0]).is_none());
    }
}
