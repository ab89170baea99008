//! Hartigan's dip: how far a sample is from having one mode.

/// The dip statistic (Hartigan and Hartigan, Annals of Statistics 13, 1985): the largest distance between the empirical distribution and the
/// unimodal distribution next to it. From 1 / 2n, of a sample in which nothing speaks against one mode, to less than 1/4 of two narrow modes of
/// equal weight. 0 without values.
pub fn dip(values: &[f64]) -> f64 {
    let mut sample = values.to_vec();
    sample.sort_by(f64::total_cmp);
    let count = sample.len();
    if count == 0 {
        return 0.0;
    }
    let least = 0.5 / count as f64;
    if count < 4 || sample[0] == sample[count - 1] {
        return least;
    }
    // The distribution jumps at value k, counted from 0, from k / n to (k + 1) / n. Everything here is in units of 1 / n.
    let (mut low, mut high) = (0, count - 1);
    let mut largest = 1.0_f64;
    loop {
        let minorant = corners(&sample, low, high, Side::Below);
        let majorant = corners(&sample, low, high, Side::Above);
        let (distance, left, right) = widest(&sample, &minorant, &majorant);
        if distance <= largest {
            break;
        }
        let outside = beyond(&sample, &minorant, left, Side::Below).max(beyond(&sample, &majorant, right, Side::Above));
        largest = largest.max(outside);
        if (left, right) == (low, high) {
            break;
        }
        (low, high) = (left, right);
    }
    largest / (2.0 * count as f64)
}

/// Which hull.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    /// The greatest convex function below the distribution.
    Below,
    /// The least concave function above it.
    Above,
}

impl Side {
    /// The height of the corner at a value: the foot of its jump, or the top.
    fn height(self, place: usize) -> f64 {
        match self {
            Self::Below => place as f64,
            Self::Above => place as f64 + 1.0,
        }
    }
}

/// The places at which a hull of the distribution between two values has its corners, both ends included.
fn corners(sample: &[f64], low: usize, high: usize, side: Side) -> Vec<usize> {
    let mut hull: Vec<usize> = Vec::new();
    for place in low..=high {
        while let [.., first, second] = hull[..] {
            // The middle corner goes where the line from the first one to this one does not bend there in the hull's direction.
            let rise = |from: usize, to: usize| side.height(to) - side.height(from);
            let run = |from: usize, to: usize| sample[to] - sample[from];
            let (left, right) = (rise(first, second) * run(second, place), rise(second, place) * run(first, second));
            let is_kept = if side == Side::Below { left < right } else { left > right };
            if is_kept {
                break;
            }
            hull.pop();
        }
        hull.push(place);
    }
    hull
}

/// The height of a hull at a value.
fn height_at(sample: &[f64], hull: &[usize], side: Side, place: usize) -> f64 {
    if let [only] = hull {
        return side.height(*only);
    }
    let after = hull.partition_point(|corner| *corner < place).max(1).min(hull.len() - 1);
    let (one, other) = (hull[after - 1], hull[after]);
    let run = sample[other] - sample[one];
    let share = if run > 0.0 { (sample[place] - sample[one]) / run } else { 0.0 };
    side.height(one) + share * (side.height(other) - side.height(one))
}

/// The largest distance between the two hulls at a corner of either, and the corners of both around it: below to its left, above to its right.
fn widest(sample: &[f64], minorant: &[usize], majorant: &[usize]) -> (f64, usize, usize) {
    let mut found = (0.0, minorant[0], majorant[majorant.len() - 1]);
    for corner in minorant {
        let distance = height_at(sample, majorant, Side::Above, *corner) - Side::Below.height(*corner);
        if distance > found.0 {
            let right = majorant.iter().copied().find(|other| other >= corner);
            found = (distance, *corner, right.unwrap_or(*corner));
        }
    }
    for corner in majorant {
        let distance = Side::Above.height(*corner) - height_at(sample, minorant, Side::Below, *corner);
        if distance > found.0 {
            let left = minorant.iter().copied().rfind(|other| other <= corner);
            found = (distance, left.unwrap_or(*corner), *corner);
        }
    }
    found
}

/// The largest distance between the distribution and its hull outside of the interval that is left: before `end` for the hull below, behind it
/// for the hull above.
fn beyond(sample: &[f64], hull: &[usize], end: usize, side: Side) -> f64 {
    let outside = |place: &usize| if side == Side::Below { *place <= end } else { *place >= end };
    let distance = |place: usize| {
        let hull = height_at(sample, hull, side, place);
        match side {
            Side::Below => place as f64 + 1.0 - hull,
            Side::Above => hull - place as f64,
        }
    };
    let range = hull[0]..=hull[hull.len() - 1];
    range.filter(outside).map(distance).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::dip;
    use crate::inference::simulation::Draws;

    /// The definition, by bisection: the smallest distance at which some function stays that near to the distribution, is convex before a
    /// value and concave behind it.
    fn by_definition(values: &[f64]) -> f64 {
        let mut sample = values.to_vec();
        sample.sort_by(f64::total_cmp);
        let (mut low, mut high) = (0.0, 0.5);
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if (0..sample.len()).any(|mode| fits(&sample, mode, middle)) { high = middle } else { low = middle }
        }
        high
    }

    fn fits(sample: &[f64], mode: usize, distance: f64) -> bool {
        let count = sample.len() as f64;
        // A convex function below all tops that is nowhere below a foot: the line between any two tops passes over every foot between them.
        let left: Vec<_> =
            (0..=mode).map(|k| (sample[k], k as f64 / count + distance, (k + 1) as f64 / count - distance)).collect();
        let right: Vec<_> = (mode..sample.len())
            .rev()
            .map(|k| (-sample[k], 1.0 - (k + 1) as f64 / count + distance, 1.0 - k as f64 / count - distance))
            .collect();
        let (left, right) = (least_at_mode(&left), least_at_mode(&right));
        left.zip(right).is_some_and(|(left, right)| left + right <= 1.0 + 1e-12)
    }

    /// The least value at the last point, the mode, of a convex function between the bounds of points (x, upper bound, lower bound); `None` where
    /// there is no such function. The last point has no lower bound, since there may be a jump. Functions come from 0, so they rise.
    fn least_at_mode(points: &[(f64, f64, f64)]) -> Option<f64> {
        let last = points.len() - 1;
        let mut least = 0.0_f64;
        for (k, (x, _, lower)) in points.iter().enumerate().take(last) {
            if points[k..].iter().any(|(_, upper, _)| upper < lower) {
                return None;
            }
            for (x0, upper0, _) in &points[..k] {
                for (x1, upper1, _) in &points[k + 1..] {
                    let line = upper0 + (upper1 - upper0) * (x - x0) / (x1 - x0);
                    if line < *lower - 1e-12 {
                        return None;
                    }
                }
                least = least.max(upper0 + (lower - upper0) * (points[last].0 - x0) / (x - x0));
            }
            least = least.max(*lower);
        }
        (least <= points[last].1 + 1e-12).then_some(least)
    }

    #[test]
    fn the_dip_is_what_its_definition_says() {
        let mut draws = Draws(3);
        for round in 0..150 {
            let count = 4 + round % 14;
            let values: Vec<_> = (0..count)
                .map(|_| match round % 3 {
                    0 => draws.uniform(),
                    1 => draws.normal(),
                    _ => draws.normal() * 0.2 + if draws.uniform() < 0.5 { 1.0 } else { 0.0 },
                })
                .collect();
            let (found, expected) = (dip(&values), by_definition(&values));
            assert!((found - expected).abs() < 1e-6, "{values:?}: found {found}, expected {expected}");
        }
    }

    #[test]
    fn evenly_spaced_values_have_the_smallest_dip_and_two_narrow_modes_nearly_a_quarter() {
        let even: Vec<_> = (0..20).map(f64::from).collect();
        assert!((dip(&even) - 0.025).abs() < 1e-12);
        let two: Vec<_> = (0..20).map(|place| f64::from(place / 10) + f64::from(place % 10) * 1e-9).collect();
        assert!((dip(&two) - 0.25).abs() < 1e-6, "{}", dip(&two));
        assert_eq!((dip(&[]), dip(&[1.0]), dip(&[2.0; 5])), (0.0, 0.5, 0.1));
    }

    #[test]
    fn a_shift_and_a_scale_change_nothing() {
        let mut draws = Draws(4);
        let values: Vec<_> = (0..30).map(|_| draws.normal()).collect();
        let moved: Vec<_> = values.iter().map(|value| 1e6 + 1e3 * value).collect();
        assert!((dip(&values) - dip(&moved)).abs() < 1e-6);
    }
}
