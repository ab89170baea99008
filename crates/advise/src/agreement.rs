//! The model against measurements.

use quiclab_units::Duration;
use serde::Serialize;

/// Whether what was measured has the sign that the model says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// Both gain, or both lose.
    Agrees,
    /// One gains and the other does not.
    Differs,
    /// Both are so small that a sign means nothing.
    WithinMargin,
}

impl Agreement {
    /// Compares two gains in nanoseconds. The sign counts where one of them reaches the margin.
    pub fn of(model_ns: i64, measured_ns: i64, margin: Duration) -> Self {
        if model_ns.unsigned_abs().max(measured_ns.unsigned_abs()) < margin.as_nanos() {
            Self::WithinMargin
        } else if model_ns.signum() == measured_ns.signum() {
            Self::Agrees
        } else {
            Self::Differs
        }
    }
}

/// Share of the points outside the margin whose signs agree; `None` without such a point.
pub fn agreeing_share(points: &[Agreement]) -> Option<f64> {
    let count = |wanted| points.iter().filter(|point| **point == wanted).count();
    let (agree, differ) = (count(Agreement::Agrees), count(Agreement::Differs));
    (agree + differ > 0).then(|| agree as f64 / (agree + differ) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_counts_where_one_of_the_two_reaches_the_margin() {
        let of = |model, measured| Agreement::of(model, measured, Duration::from_nanos(5));
        assert_eq!([of(4, -4), of(0, 0)], [Agreement::WithinMargin; 2]);
        assert_eq!([of(5, 1), of(-1, -5), of(100, 7)], [Agreement::Agrees; 3]);
        assert_eq!([of(5, -1), of(0, 5), of(-5, 0), of(i64::MIN, 1)], [Agreement::Differs; 4]);
    }

    #[test]
    fn points_within_the_margin_do_not_count() {
        use Agreement::{Agrees, Differs, WithinMargin};
        assert_eq!(agreeing_share(&[Agrees, Agrees, Agrees, Differs, WithinMargin]), Some(0.75));
        assert_eq!(agreeing_share(&[WithinMargin]), None);
    }
}
