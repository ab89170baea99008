use std::collections::BTreeMap;

use quiclab_experiment::Bound;

use super::*;

/// A group of runs with one metric, by repetition.
struct Runs(&'static str, Vec<(u32, f64)>);

impl Repeated for Runs {
    fn label(&self) -> &str {
        self.0
    }

    fn repetitions(&self, _: &str) -> Vec<(u32, f64)> {
        self.1.clone()
    }
}

fn runs(label: &'static str, values: &[f64]) -> Runs {
    Runs(label, (1..).zip(values.iter().copied()).collect())
}

fn claim(bound: Bound, number: f64) -> Expectation {
    Expectation {
        claim: "a claim".to_owned(),
        source: None,
        metric: "m".to_owned(),
        runs: BTreeMap::new(),
        bound,
        number,
        compared_with: None,
        compared_as: Compared::Ratio,
    }
}

fn verdict(bound: Bound, number: f64, of: &[f64], with: Option<&[f64]>) -> Finding {
    let with = with.map(|values| runs("with", values));
    judge(&claim(bound, number), &runs("of", of), with.as_ref(), None)
}

/// Mean 2.5; SciPy 1.17, t.interval(0.95, 3, 2.5, sem): 0.445739743 to 4.554260257.
const FOUR: [f64; 4] = [1.0, 2.0, 3.0, 4.0];
const LOW: f64 = 0.445_739_743;
const HIGH: f64 = 4.554_260_257;

#[test]
fn the_interval_of_a_mean_is_student_s() {
    let Interval { low, high, level } = verdict(Bound::AtLeast, 2.5, &FOUR, None).interval.unwrap();
    assert!((low - LOW).abs() < 1e-8 && (high - HIGH).abs() < 1e-8, "{low} to {high}");
    assert_eq!(level, 0.95);
}

#[test]
fn a_number_just_outside_the_interval_decides_and_one_just_inside_does_not() {
    let step = 1e-6;
    for (bound, number, expected) in [
        (Bound::AtLeast, LOW - step, Outcome::Holds),
        (Bound::AtLeast, LOW + step, Outcome::Undecided),
        (Bound::AtLeast, HIGH - step, Outcome::Undecided),
        (Bound::AtLeast, HIGH + step, Outcome::Fails),
        (Bound::Above, LOW - step, Outcome::Holds),
        (Bound::Above, LOW + step, Outcome::Undecided),
        (Bound::Above, HIGH + step, Outcome::Fails),
        (Bound::AtMost, HIGH + step, Outcome::Holds),
        (Bound::AtMost, HIGH - step, Outcome::Undecided),
        (Bound::AtMost, LOW + step, Outcome::Undecided),
        (Bound::AtMost, LOW - step, Outcome::Fails),
        (Bound::Below, HIGH + step, Outcome::Holds),
        (Bound::Below, HIGH - step, Outcome::Undecided),
        (Bound::Below, LOW - step, Outcome::Fails),
    ] {
        let found = verdict(bound, number, &FOUR, None);
        assert_eq!(found.outcome, expected, "{bound:?} {number}");
        assert_eq!(found.judged_by, Some(Basis::Interval));
        // The test and the interval say the same.
        assert_eq!(found.p.unwrap() < 0.05, expected != Outcome::Undecided, "{bound:?} {number}");
    }
}

/// Means 21 and 23.5; SciPy 1.17, ttest_ind(..., equal_var=False): the difference is -1.696094052 to 6.696094052.
const ONE: [f64; 6] = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9];
const OTHER: [f64; 8] = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0];

#[test]
fn a_comparison_is_decided_by_the_interval_of_welch_s_difference() {
    let found = verdict(Bound::Above, 1.0, &OTHER, Some(&ONE));
    let Interval { low, high, .. } = found.interval.unwrap();
    assert!((low + 1.696_094_052).abs() < 1e-6 && (high - 6.696_094_052).abs() < 1e-6, "{low} to {high}");
    // The mean is larger, but not by more than chance.
    assert_eq!(found.outcome, Outcome::Undecided);
    assert!((found.p.unwrap() - 0.201_988_677).abs() < 1e-6, "{:?}", found.p);
    // Moved by just less and just more than the lower end is below 0.
    let path_summary = |by: f64| OTHER.map(|value| value + by);
    assert_eq!(verdict(Bound::Above, 1.0, &path_summary(1.696), Some(&ONE)).outcome, Outcome::Undecided);
    assert_eq!(verdict(Bound::Above, 1.0, &path_summary(1.697), Some(&ONE)).outcome, Outcome::Holds);
    assert_eq!(verdict(Bound::Above, 1.0, &path_summary(-6.696), Some(&ONE)).outcome, Outcome::Undecided);
    assert_eq!(verdict(Bound::Above, 1.0, &path_summary(-6.697), Some(&ONE)).outcome, Outcome::Fails);
}

#[test]
fn a_factor_scales_the_other_side_with_its_spread() {
    // 2 * [1, 2] is [2, 4]; minus it, [6, 8] leaves 4 with a standard error of sqrt(2) and 2 degrees of freedom: t = 4.302652730.
    let found = verdict(Bound::AtLeast, 2.0, &[6.0, 8.0], Some(&[1.0, 2.0]));
    let Interval { low, high, .. } = found.interval.unwrap();
    let half = 4.302_652_730 * 2.0_f64.sqrt();
    assert!((low - (4.0 - half)).abs() < 1e-6 && (high - (4.0 + half)).abs() < 1e-6, "{low} to {high}");
}

/// Numbers without a factor: [6, 8] minus [1, 2] is 5.5, with a standard error of sqrt(1.25).
#[test]
fn a_difference_has_the_bound_in_the_unit_of_the_metric() {
    let difference = |bound, number| {
        let claim = Expectation { compared_as: Compared::Difference, ..claim(bound, number) };
        judge(&claim, &runs("of", &[6.0, 8.0]), Some(&runs("with", &[1.0, 2.0])), None)
    };
    let found = difference(Bound::Above, 5.4);
    let Interval { low, high, .. } = found.interval.unwrap();
    assert!((low.midpoint(high) - 5.5).abs() < 1e-9 && found.outcome == Outcome::Undecided, "{low} to {high}");
    assert_eq!(difference(Bound::Above, low - 0.01).outcome, Outcome::Holds);
    assert_eq!(difference(Bound::AtMost, high + 0.01).outcome, Outcome::Holds);
    assert_eq!(difference(Bound::AtLeast, high + 0.01).outcome, Outcome::Fails);
    assert!(found.numbers().contains("expected above 5.4 more than 1.5"), "{}", found.numbers());
}

#[test]
fn without_spread_the_interval_is_a_point() {
    for (bound, number, expected) in [
        (Bound::AtLeast, 0.1, Outcome::Holds),
        (Bound::Above, 0.1, Outcome::Fails),
        (Bound::Above, 0.099, Outcome::Holds),
        (Bound::AtMost, 0.1, Outcome::Holds),
        (Bound::Below, 0.1, Outcome::Fails),
    ] {
        let found = verdict(bound, number, &[0.1; 3], None);
        assert_eq!(found.outcome, expected, "{bound:?} {number}");
        let interval = found.interval.unwrap();
        assert_eq!((interval.low, interval.high), (0.1, 0.1));
    }
    let found = verdict(Bound::Above, 1.5, &[3.0; 2], Some(&[2.0; 2]));
    assert_eq!((found.outcome, found.interval.unwrap().high), (Outcome::Fails, 0.0));
}

#[test]
fn one_run_is_judged_by_its_value_and_says_so() {
    let found = verdict(Bound::Above, 2.0, &[2.1], None);
    assert_eq!((&found.outcome, found.judged_by), (&Outcome::Holds, Some(Basis::OneRun)));
    assert_eq!((found.interval, found.p), (None, None));
    assert!(found.numbers().ends_with("; one run, so no interval"), "{}", found.numbers());
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!((&json["judged_by"], &json["interval"]), (&"one_run".into(), &serde_json::Value::Null));
    assert_eq!(verdict(Bound::Above, 2.0, &[1.9], None).outcome, Outcome::Fails);
    // One side is not enough.
    let found = verdict(Bound::Above, 1.0, &FOUR, Some(&[2.0]));
    assert_eq!((found.outcome, found.judged_by), (Outcome::Holds, Some(Basis::OneRun)));
}

#[test]
fn the_interval_is_in_the_text_and_in_the_json() {
    let found = verdict(Bound::AtLeast, 2.5, &FOUR, None);
    let text = found.numbers();
    assert!(text.contains("expected at least 2.5; 95 % interval 0.4457 to 4.554"), "{text}");
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!((&json["judged_by"], &json["outcome"]), (&"interval".into(), &"undecided".into()));
    assert!((json["interval"]["low"].as_f64().unwrap() - LOW).abs() < 1e-8);
    assert_eq!(json["interval"]["level"], 0.95);
    let text = verdict(Bound::AtLeast, 2.0, &FOUR, Some(&FOUR)).numbers();
    assert!(
        text.contains("expected at least 2 times 2.5 ") && text.contains("; difference, 95 % interval -"),
        "{text}"
    );
}

/// Undecided with 3 values and with 6, decided with all 12.
const GROWING: [f64; 12] = [1.0, 5.0, 3.0, 1.0, 6.0, 2.0, 4.0, 5.0, 4.0, 5.0, 4.0, 5.0];

#[test]
fn repeated_evaluations_stop_at_the_one_that_decides_and_have_their_part_of_the_error() {
    let looks = Some(InterimAnalyses { first: 3, most: 48 });
    let at = |values: &[f64]| judge(&claim(Bound::Above, 1.5), &runs("of", values), None, looks);
    let found = at(&GROWING[..6]);
    assert_eq!((found.look, found.outcome), (Some(2), Outcome::Undecided));
    assert!((found.interval.unwrap().level - (1.0 - 0.05 / 6.0)).abs() < 1e-12);
    let found = at(&GROWING);
    assert_eq!((found.look, &found.outcome), (Some(3), &Outcome::Holds));
    assert!(found.numbers().contains(", evaluation 3"), "{}", found.numbers());
    // Runs that were added later, for other claims, do not change what was decided.
    let mut more = GROWING.to_vec();
    more.extend([-100.0; 12]);
    assert_eq!(at(&more), found);
    // A single evaluation of all of them finds another result.
    assert_ne!(judge(&claim(Bound::Above, 1.5), &runs("of", &more), None, None).outcome, Outcome::Holds);
}

#[test]
fn repetitions_that_failed_are_not_replaced_by_later_ones() {
    let looks = Some(InterimAnalyses { first: 3, most: 6 });
    let some = Runs("of", vec![(1, 2.0), (3, 2.0), (6, 2.0)]);
    let found = judge(&claim(Bound::Above, 1.5), &some, None, looks);
    assert_eq!((found.look, found.of.unwrap().count), (Some(1), 2));
}
