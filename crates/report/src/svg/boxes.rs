//! Box plots: boxes from the first to the third quartile, with the median in them and whiskers.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Area, scale::Scale};

/// Share of a name's place that its boxes take.
const SHARE: f64 = 0.7;

/// The boxes of a trace, one for each of its names.
pub(super) struct Boxes(Vec<Quartiles>);

struct Quartiles {
    lower: f64,
    first: f64,
    median: f64,
    third: f64,
    upper: f64,
}

impl Boxes {
    /// Those of a trace; `None` of another kind of trace.
    pub(super) fn of(trace: &Value) -> Option<Self> {
        if trace["type"].as_str() != Some("box") {
            return None;
        }
        let [lower, first, median, third, upper] = ["lowerfence", "q1", "median", "q3", "upperfence"].map(|key| {
            let all = trace[key].as_array().map(Vec::as_slice).unwrap_or_default();
            all.iter().map(|value| value.as_f64().unwrap_or(f64::NAN)).collect::<Vec<_>>()
        });
        let of = |all: &[f64], place: usize| all.get(place).copied().unwrap_or(f64::NAN);
        let boxes = median.iter().enumerate().map(|(place, median)| Quartiles {
            lower: of(&lower, place),
            first: of(&first, place),
            median: *median,
            third: of(&third, place),
            upper: of(&upper, place),
        });
        Some(Self(boxes.collect()))
    }

    /// The values that must be seen.
    pub(super) fn extent(&self) -> impl Iterator<Item = f64> {
        self.0.iter().flat_map(Quartiles::all)
    }

    /// Draws them at the places of their names: the trace is number `trace` of `traces` beside each other.
    pub(super) fn draw(
        &self,
        text: &mut String,
        places: &[f64],
        (trace, traces): (usize, usize),
        colour: &str,
        [x, y]: [&Scale; 2],
        area: &Area,
    ) {
        let slot = x.slot() * area.width * SHARE;
        let width = slot / traces as f64;
        for (place, quartiles) in places.iter().zip(&self.0).filter(|(_, it)| it.is_known()) {
            let left = x.x(*place, area) - slot / 2.0 + width * trace as f64;
            let middle = left + width / 2.0;
            let [lower, first, median, third, upper] = quartiles.all().map(|value| y.y(value, area));
            let (begin, end, quarter) = (left + width * 0.1, left + width * 0.9, width / 4.0);
            let _ = write!(
                text,
                "<rect x=\"{begin:.2}\" y=\"{third:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{colour}\" \
                 fill-opacity=\"0.4\" stroke=\"{colour}\"/><path d=\"M{begin:.2} {median:.2}H{end:.2}\
                 M{middle:.2} {first:.2}V{lower:.2}M{middle:.2} {third:.2}V{upper:.2}\
                 M{:.2} {lower:.2}h{:.2}M{:.2} {upper:.2}h{:.2}\" stroke=\"{colour}\" fill=\"none\"/>",
                end - begin,
                first - third,
                middle - quarter,
                2.0 * quarter,
                middle - quarter,
                2.0 * quarter,
            );
        }
    }
}

impl Quartiles {
    fn all(&self) -> [f64; 5] {
        [self.lower, self.first, self.median, self.third, self.upper]
    }

    fn is_known(&self) -> bool {
        self.all().iter().all(|value| value.is_finite())
    }
}
