//! What a comparison says, in a sentence.

use quiclab_metrics::Theme;

use super::{
    measure::{Change, Row},
    result::{Failures, Pair, Verdict},
    words,
};
use crate::quantity::name_and_unit;

/// What a theme is called where it is better, where it is worse, and where some of it is better and some worse.
const WORDS: [(Theme, [&str; 3]); 6] = [
    (Theme::Pacing, ["smoother", "burstier", "smoother in one respect and burstier in another"]),
    (Theme::Loss, ["fewer losses", "more losses", "fewer losses of one kind and more of another"]),
    (Theme::Goodput, ["faster", "slower", "faster by one measure and slower by another"]),
    (Theme::Delay, ["shorter delays", "longer delays", "shorter and longer delays"]),
    (
        Theme::Handshake,
        ["a quicker handshake", "a slower handshake", "a handshake that is quicker in one part and slower in another"],
    ),
    (Theme::Other, ["better", "worse", "better and worse"]),
];

impl Verdict {
    pub(super) fn of(pair: &Pair, failures: &Failures) -> Self {
        let mut text = if failures.differ {
            let [a, b] = failures.failed;
            let who = if a * failures.tried[1] > b * failures.tried[0] { "A" } else { "B" };
            format!("no verdict: {who} fails more often than the other side, so the remaining runs are not comparable")
        } else {
            sentence(pair)
        };
        if !failures.differ && failures.failed != [0, 0] {
            text.push_str("; only for the runs that did not fail");
        }
        Self { label: pair.label.clone(), text }
    }
}

fn sentence(pair: &Pair) -> String {
    let rows: Vec<_> = pair.metrics.iter().filter(|row| row.is_primary).collect();
    let shown: Vec<_> = rows.iter().filter(|row| row.change.is_shown()).collect();
    let mut parts = Vec::new();
    for (theme, [better, worse, both]) in WORDS {
        let of_theme: Vec<_> = shown.iter().filter(|row| row.theme == theme).collect();
        let has = |change: Change| of_theme.iter().any(|row| row.change == change);
        let word = match (has(Change::Better), has(Change::Worse)) {
            (true, false) => better,
            (false, true) => worse,
            (true, true) => both,
            (false, false) if of_theme.is_empty() => continue,
            (false, false) => "different",
        };
        let numbers: Vec<_> = of_theme.iter().map(|row| in_numbers(row)).collect();
        parts.push(format!("{word}: {}", numbers.join(", ")));
    }
    let mut text = if parts.is_empty() { nothing_shown(&rows) } else { parts.join("; ") };
    let named = |is_it: &dyn Fn(&Row) -> bool| {
        let names = rows.iter().filter(|row| is_it(row)).map(|row| name_and_unit(row.heading).0);
        names.collect::<Vec<_>>().join(", ")
    };
    let is_measured = |row: &Row| row.change != Change::NotMeasured;
    // Where nothing was measured the sentence says so by itself.
    if rows.iter().any(|row| is_measured(row)) {
        for (words, names) in [
            ("not measured", named(&|row| !is_measured(row))),
            ("not measured in some runs", named(&|row| is_measured(row) && row.without_value != [0, 0])),
        ] {
            if !names.is_empty() {
                text.push_str(&format!("; {words}: {names}"));
            }
        }
    }
    text
}

/// `longest train 10.0 to 16.0 packets (+60 %)`.
fn in_numbers(row: &Row) -> String {
    let (name, unit) = name_and_unit(row.heading);
    let [a, b] = row.compared_means();
    let space = if unit.is_empty() { "" } else { " " };
    let mut text = format!("{name} {a} to {b}{space}{unit}");
    if let Some(relative) = row.difference.as_ref().and_then(|difference| difference.relative) {
        text.push_str(&format!(" ({})", words::percent(relative)));
    }
    text
}

/// What would have been seen where nothing is shown: of the metric that shows least and of the one that shows most.
fn nothing_shown(rows: &[&Row]) -> String {
    let measured: Vec<_> = rows.iter().filter(|row| row.change != Change::NotMeasured).collect();
    if measured.is_empty() {
        return "no metric was measured on both sides".to_owned();
    }
    if measured.iter().all(|row| row.change == Change::Same) {
        return "no difference: every measured metric of the verdict is the same in every run".to_owned();
    }
    if measured.iter().any(|row| row.change == Change::Unknown) {
        return "too few runs to distinguish a difference from chance, expected at least two on each side".to_owned();
    }
    let mut seen: Vec<_> = measured
        .iter()
        .filter(|row| row.change == Change::NoneShown)
        .filter_map(|row| Some((row.difference.as_ref()?.smallest_detectable_relative?, *row)))
        .collect();
    seen.sort_by(|left, right| left.0.total_cmp(&right.0));
    let change = match (seen.first(), seen.last()) {
        (Some((least, first)), Some((most, last))) if first.metric != last.metric => format!(
            "a change of more than {} ({}) to {} ({}) would have been seen",
            words::magnitude(*least),
            name_and_unit(first.heading).0,
            words::magnitude(*most),
            name_and_unit(last.heading).0
        ),
        (Some((least, _)), _) => format!("a change of more than {} would have been seen", words::magnitude(*least)),
        _ => "A is 0, so the smallest visible change has no percentage".to_owned(),
    };
    // The last case is no list of what would have been seen.
    let sign = if seen.is_empty() { ';' } else { ':' };
    format!("no difference shown{sign} {change}")
}
