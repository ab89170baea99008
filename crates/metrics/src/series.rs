//! Values over time in bounded memory, for pictures.

use quiclab_units::Time;
use serde::Serialize;

/// Points of a picture, where nothing else is asked for.
pub(crate) const MOST_POINTS: usize = 4096;
const FIRST_WIDTH_NS: u64 = 10_000;

/// What the values in one span of time were.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SeriesPoint {
    /// Time from the first packet of the flow to the begin of the span, in ns.
    pub time_ns: u64,
    /// Smallest value.
    pub minimum: u64,
    /// Largest value.
    pub maximum: u64,
    /// Value at the end.
    pub last: u64,
}

/// Values over time.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// Spans are merged in pairs when there are more; 0 keeps nothing.
    most_points: usize,
    origin: Option<Time>,
    width_ns: u64,
    points: Vec<SeriesPoint>,
}

impl Default for Series {
    /// Keeps nothing until it is wanted.
    fn default() -> Self {
        Series { most_points: 0, origin: None, width_ns: FIRST_WIDTH_NS, points: Vec::new() }
    }
}

impl Series {
    /// Keeps values from now on, in at most so many points, and in at least half as many once they were too many.
    pub(crate) fn want(&mut self, most_points: usize) {
        self.most_points = most_points;
    }

    /// Counts time from here instead of from the first value.
    pub(crate) fn begin(&mut self, origin: Time) {
        self.origin.get_or_insert(origin);
    }

    /// A value before the last one in time counts as of the last one's time.
    pub(crate) fn add(&mut self, time: Time, value: u64) {
        if self.most_points == 0 {
            return;
        }
        let origin = *self.origin.get_or_insert(time);
        let since = time.checked_since(origin).map_or(0, |since| since.as_nanos());
        let begin = since - since % self.width_ns;
        match self.points.last_mut() {
            Some(point) if point.time_ns >= begin => {
                point.minimum = point.minimum.min(value);
                point.maximum = point.maximum.max(value);
                point.last = value;
            }
            _ => {
                self.points.push(SeriesPoint { time_ns: begin, minimum: value, maximum: value, last: value });
                if self.points.len() > self.most_points {
                    self.halve();
                }
            }
        }
    }

    fn halve(&mut self) {
        self.width_ns *= 2;
        let mut merged: Vec<SeriesPoint> = Vec::with_capacity(self.most_points);
        for point in &self.points {
            let begin = point.time_ns - point.time_ns % self.width_ns;
            match merged.last_mut() {
                Some(last) if last.time_ns == begin => {
                    last.minimum = last.minimum.min(point.minimum);
                    last.maximum = last.maximum.max(point.maximum);
                    last.last = point.last;
                }
                _ => merged.push(SeriesPoint { time_ns: begin, ..*point }),
            }
        }
        self.points = merged;
    }

    pub(crate) fn into_points(self) -> Vec<SeriesPoint> {
        self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_survive_any_number_of_values() {
        let mut series = Series::default();
        series.want(MOST_POINTS);
        for step in 0..100_000_u64 {
            series.add(Time::from_nanos(step * 50_000), if step == 77_777 { 1_000_000 } else { step % 10 });
        }
        let points = series.into_points();
        assert!(points.len() <= MOST_POINTS && points.len() > MOST_POINTS / 4, "{}", points.len());
        assert_eq!(points.iter().map(|point| point.maximum).max(), Some(1_000_000));
        assert_eq!(points.iter().map(|point| point.minimum).min(), Some(0));
        assert!(points.windows(2).all(|pair| pair[0].time_ns < pair[1].time_ns));
        assert_eq!(points.last().unwrap().last, 9);
    }

    #[test]
    fn time_that_runs_backwards_stays_where_it_was() {
        let mut series = Series::default();
        series.want(MOST_POINTS);
        series.add(Time::from_nanos(5_000_000), 1);
        series.add(Time::from_nanos(9_000_000), 2);
        series.add(Time::from_nanos(1), 3);
        let points = series.into_points();
        assert_eq!(points.len(), 2);
        assert_eq!((points[1].last, points[1].maximum), (3, 3));
    }
}
