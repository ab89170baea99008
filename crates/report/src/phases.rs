//! Slow start and what comes after it, side by side.

use std::collections::BTreeMap;

use maud::{Markup, html};
use quiclab_metrics::{PacingMetrics, RunMetrics, SlowStart, SlowStartEnd};

use crate::{
    columns::{COLUMNS, Column, NOTHING, phases::PHASED},
    groups::Group,
};

/// Each group of runs with a table of its own; nothing where no run has a phase.
pub(crate) fn of_groups(groups: &[Group]) -> Markup {
    let tables: Vec<(&Group, Markup)> = groups
        .iter()
        .filter_map(|group| {
            let ends = group.runs.iter().filter_map(|run| run.metrics.slow_start.as_ref());
            let cell = |column: &Column| group.summary(column).map(|summary| column.cell(Some(&summary)));
            Some((group, table(&note(&ends.collect::<Vec<_>>()), cell)?))
        })
        .collect();
    html! {
        @if !tables.is_empty() {
            details {
                summary { "Slow start and after it" }
                @for (group, table) in &tables { h3 { (group.label) } (table) }
            }
        }
    }
}

/// The table of one sender, and above it what ended slow start. `cell`: the value of a column as it is shown. `None` where
/// neither phase has a value.
pub(crate) fn of_sender(slow_start: Option<&SlowStart>, cell: impl Fn(&Column) -> Option<String>) -> Option<Markup> {
    table(&note(&slow_start.into_iter().collect::<Vec<_>>()), cell)
}

/// One line of the terminal: what ended slow start, and how the trains differ. `None` where the phases are not known.
pub(crate) fn line(run: &RunMetrics) -> Option<String> {
    let share = |phase: &PacingMetrics| phase.train_share_of_packets_le_5.map(|share| format!("{share:.3}"));
    let slow_start = share(&run.metrics.slow_start)?;
    let steady = share(&run.metrics.steady).unwrap_or_else(|| NOTHING.to_owned());
    Some(format!(
        "{} Packets in trains \u{2264} 5: {slow_start} in slow start, {steady} after it",
        note(&[run.slow_start.as_ref()?])
    ))
}

fn table(note: &str, cell: impl Fn(&Column) -> Option<String>) -> Option<Markup> {
    let value = |metric: &str| COLUMNS.iter().find(|column| column.metric == metric).and_then(&cell);
    let rows: Vec<(&str, [Option<String>; 3])> = PHASED
        .iter()
        .map(|(metric, heading)| {
            (*heading, ["", "slow_start_", "steady_"].map(|phase| value(&format!("{phase}{metric}"))))
        })
        .filter(|(_, [_, slow_start, steady])| slow_start.is_some() || steady.is_some())
        .collect();
    (!rows.is_empty()).then(|| {
        html! {
            p.note { (note) }
            div.wide {
                table {
                    thead { tr { th {} th { "whole flow" } th { "slow start" } th { "after it" } } }
                    tbody {
                        @for (heading, values) in &rows {
                            tr {
                                th { (heading) }
                                @for value in values { td { (value.as_deref().unwrap_or(NOTHING)) } }
                            }
                        }
                    }
                }
            }
        }
    })
}

/// What ended slow start: the evidence of one run, the causes of several.
fn note(ends: &[&SlowStart]) -> String {
    if let [one] = ends {
        return format!("Slow start, {}: {}.", words(one.ended_by), one.evidence);
    }
    let mut runs: BTreeMap<&str, usize> = BTreeMap::new();
    for end in ends {
        *runs.entry(words(end.ended_by)).or_insert(0) += 1;
    }
    let runs: Vec<String> =
        runs.iter().map(|(words, runs)| format!("{words} in {runs} of {} runs", ends.len())).collect();
    format!("Slow start: {}.", runs.join(", "))
}

fn words(end: SlowStartEnd) -> &'static str {
    match end {
        SlowStartEnd::FirstLoss => "ended by the first loss",
        SlowStartEnd::Retransmission => "ended by the first retransmission",
        SlowStartEnd::WindowPeak => "ended when the logged congestion window fell",
        SlowStartEnd::LoggedState => "ended according to the sender's log",
        SlowStartEnd::NotSeen => "no end seen",
        SlowStartEnd::Unknown => "end not known",
    }
}

#[cfg(test)]
mod tests {
    use quiclab_metrics::Metrics;

    use super::*;

    fn ended(ended_by: SlowStartEnd) -> SlowStart {
        SlowStart { ended_by, evidence: "packet 7 was lost".to_owned() }
    }

    #[test]
    fn a_row_has_the_whole_flow_and_both_phases() {
        let mut metrics = Metrics { train_max_packets: Some(20), ..Metrics::default() };
        metrics.slow_start.train_max_packets = Some(19);
        metrics.steady.train_max_packets = Some(3);
        let cell = |column: &Column| (column.value)(&metrics).map(|value| column.number(value));
        let page = of_sender(Some(&ended(SlowStartEnd::FirstLoss)), cell).unwrap().into_string();
        assert!(page.contains("Slow start, ended by the first loss: packet 7 was lost."), "{page}");
        assert!(page.contains("<th>longest train, packets</th><td>20.0</td><td>19.0</td><td>3.0</td>"), "{page}");
        assert!(!page.contains("median gap"), "a row without a value in any phase");
    }

    #[test]
    fn the_line_has_both_phases_and_a_dash_for_one_that_is_missing() {
        let mut run = RunMetrics::empty();
        run.slow_start = Some(ended(SlowStartEnd::FirstLoss));
        assert_eq!(line(&run), None, "nothing is known");
        run.metrics.slow_start.train_share_of_packets_le_5 = Some(0.25);
        let begin =
            "Slow start, ended by the first loss: packet 7 was lost. Packets in trains \u{2264} 5: 0.250 in slow start";
        assert_eq!(line(&run).unwrap(), format!("{begin}, \u{2013} after it"));
        run.metrics.steady.train_share_of_packets_le_5 = Some(1.0);
        assert_eq!(line(&run).unwrap(), format!("{begin}, 1.000 after it"));
    }

    #[test]
    fn without_phases_there_is_no_table() {
        let metrics = Metrics { train_max_packets: Some(20), ..Metrics::default() };
        let cell = |column: &Column| (column.value)(&metrics).map(|value| column.number(value));
        assert!(of_sender(Some(&ended(SlowStartEnd::Unknown)), cell).is_none());
    }

    #[test]
    fn several_runs_are_counted_by_what_ended_slow_start() {
        let [loss, never] = [SlowStartEnd::FirstLoss, SlowStartEnd::NotSeen].map(ended);
        assert_eq!(
            note(&[&loss, &never, &loss]),
            "Slow start: ended by the first loss in 2 of 3 runs, no end seen in 1 of 3 runs."
        );
    }
}
