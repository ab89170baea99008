//! Who is faster than whom, as far as the runs can tell.

use quiclab_metrics::Estimate;

use super::{super::scene::Scene, goodput, values};
use crate::{
    findings::Repeated as _,
    groups::Group,
    plot::{Axis, Content, Figure, Plot, style},
};

/// One minus the level of the intervals.
const ALPHA: f64 = 0.05;
/// Height of a row, in pixels.
const ROW: f64 = 24.0;

/// A group's mean and interval.
struct Entry {
    label: String,
    mean: f64,
    low: f64,
    high: f64,
}

pub(crate) fn draw(scene: &Scene) -> Option<Figure> {
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
    let labels = entries.iter().map(|entry| format!("{} {}", places(&entries, entry), entry.label)).collect();
    let axes = Plot::new(Axis::linear("goodput, Mbit/s"), Axis::names("", labels));
    let mut plot = Plot { height: ROW * entries.len() as f64, ..axes };
    let rows = entries.iter().enumerate().map(|(row, entry)| (row, [entry.low, entry.mean, entry.high]));
    plot.add("", style::colour(0), Content::Intervals(rows.collect()));
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
