//! `quiclab advise pto`

use anyhow::{Context, Result};
use comfy_table::CellAlignment;
use quiclab_metrics::RttEstimate;
use quiclab_report::{Curves, render_curves_svg};
use quiclab_units::Duration;
use serde::Serialize;

use crate::{
    settings::{PtoSettings, RttSamples},
    terminal::output,
};

/// The state after a sample. Times in nanoseconds; `null` before the first sample.
#[derive(Debug, Serialize)]
struct Row {
    /// Number of samples so far.
    samples: u64,
    latest_rtt_ns: Option<u64>,
    /// What was taken off at most.
    ack_delay_ns: Option<u64>,
    /// The sample as it counted.
    adjusted_rtt_ns: Option<u64>,
    min_rtt_ns: Option<u64>,
    smoothed_rtt_ns: Option<u64>,
    rttvar_ns: Option<u64>,
    /// Probe timeout without back-off.
    pto_ns: u64,
}

/// Prints the estimate of the round-trip time and the probe timeout after each sample.
///
/// # Errors
/// Where standard output cannot be written.
pub fn pto(settings: &PtoSettings) -> Result<u8> {
    let sequences = sequences(settings);
    if let Some(path) = &settings.svg {
        std::fs::write(path, render_curves_svg(&curves(&sequences))).with_context(|| path.display().to_string())?;
    }
    let text = match (&sequences[..], settings.json) {
        ([only], true) => serde_json::to_string_pretty(&only.rows)?,
        ([only], false) => table(&only.rows),
        (several, true) => serde_json::to_string_pretty(several)?,
        (several, false) => timeouts(several),
    };
    output::print(&(text + "\n"))?;
    Ok(0)
}

/// Samples, and what follows from them.
#[derive(Debug, Serialize)]
struct Sequence {
    /// The samples as they were given.
    samples: String,
    rows: Vec<Row>,
}

fn sequences(settings: &PtoSettings) -> Vec<Sequence> {
    let sequence = |samples: &Vec<RttSamples>| {
        let words: Vec<_> = samples.iter().map(ToString::to_string).collect();
        Sequence { samples: words.join(" "), rows: rows(settings, samples) }
    };
    settings.sequences.iter().map(sequence).collect()
}

/// The timeouts alone, a column for each sequence.
fn timeouts(sequences: &[Sequence]) -> String {
    let mut table = output::table(["samples"]);
    table.set_header([&"samples".to_owned()].into_iter().chain(sequences.iter().map(|sequence| &sequence.samples)));
    let longest = sequences.iter().map(|sequence| sequence.rows.len()).max().unwrap_or(0);
    for place in 0..longest {
        let values = sequences.iter().map(|sequence| sequence.rows.get(place));
        let values = values.map(|row| row.map_or(String::new(), |row| format!("{:.3}", row.pto_ns as f64 / 1e6)));
        table.add_row([place.to_string()].into_iter().chain(values));
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    format!("{table}\nProbe timeouts in ms.")
}

/// Curves of the timeouts behind the first sample: what a stack assumes before it is on another scale.
fn curves(sequences: &[Sequence]) -> Curves {
    let curve = |sequence: &Sequence| {
        let points = sequence.rows.iter().skip(1).map(|row| (row.samples as f64, row.pto_ns as f64 / 1e6)).collect();
        (sequence.samples.clone(), points)
    };
    Curves {
        title: "Probe timeout".to_owned(),
        x: "RTT samples".to_owned(),
        y: "probe timeout, ms".to_owned(),
        is_logarithmic: [false; 2],
        curves: sequences.iter().map(curve).collect(),
    }
}

fn rows(settings: &PtoSettings, samples: &[RttSamples]) -> Vec<Row> {
    let in_timeout = settings.max_ack_delay.unwrap_or_default();
    let mut estimate = RttEstimate::new(settings.initial_rtt);
    let row = |samples, delays: Option<[Duration; 2]>, estimate: &RttEstimate| {
        let nanoseconds = |value: Option<Duration>| value.map(Duration::as_nanos);
        Row {
            samples,
            latest_rtt_ns: nanoseconds(estimate.latest()),
            ack_delay_ns: nanoseconds(delays.map(|[delay, _]| delay)),
            adjusted_rtt_ns: nanoseconds(delays.map(|[_, adjusted]| adjusted)),
            min_rtt_ns: nanoseconds(estimate.minimum()),
            smoothed_rtt_ns: nanoseconds(estimate.smoothed()),
            rttvar_ns: nanoseconds(estimate.variation()),
            pto_ns: estimate.pto(in_timeout).as_nanos(),
        }
    };
    let mut rows = vec![row(0, None, &estimate)];
    for sample in samples {
        for _ in 0..sample.count {
            let delay = settings.max_ack_delay.map_or(sample.ack_delay, |most| sample.ack_delay.min(most));
            let adjusted = estimate.on_sample(sample.rtt, delay);
            rows.push(row(rows.len() as u64, Some([delay, adjusted]), &estimate));
        }
    }
    rows
}

fn table(rows: &[Row]) -> String {
    let milliseconds = |value: Option<u64>| value.map_or(String::new(), |value| format!("{:.3}", value as f64 / 1e6));
    let heading =
        ["samples", "latest_rtt", "ack_delay", "adjusted_rtt", "min_rtt", "smoothed_rtt", "rttvar", "PTO, ms"];
    let mut table = output::table(heading);
    for row in rows {
        table.add_row([
            row.samples.to_string(),
            milliseconds(row.latest_rtt_ns),
            milliseconds(row.ack_delay_ns),
            milliseconds(row.adjusted_rtt_ns),
            milliseconds(row.min_rtt_ns),
            milliseconds(row.smoothed_rtt_ns),
            milliseconds(row.rttvar_ns),
            milliseconds(Some(row.pto_ns)),
        ]);
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table.to_string()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{
        cli::{Cli, Verb},
        settings::AdviseSettings,
    };

    fn settings<'a>(line: impl IntoIterator<Item = &'a str>) -> PtoSettings {
        let Verb::Advise(advise) = Cli::try_parse_from(line).unwrap().verb else { panic!("no advise") };
        let AdviseSettings::Pto(settings) = advise.resolve().unwrap() else { panic!("no pto") };
        settings
    }

    fn values(line: &str) -> Vec<f64> {
        let settings = settings(line.split(' '));
        rows(&settings, &settings.sequences[0]).iter().map(|row| row.pto_ns as f64 / 1e6).collect()
    }

    /// ReACKed QUICer, figure 2: a server that waits 4 ms for its certificate costs 12 ms at first, and nothing after 50 samples.
    #[test]
    fn a_wait_for_the_certificate_counts_threefold_and_is_forgotten() {
        let instant = values("quiclab advise pto 50x9ms");
        let waited = values("quiclab advise pto 13ms 49x9ms");
        assert_eq!((instant[0], instant[1], waited[1]), (999.0, 27.0, 39.0));
        assert!((waited[50] - instant[50]).abs() < 0.02, "{} {}", waited[50], instant[50]);
    }

    #[test]
    fn sequences_are_shown_beside_each_other_under_what_was_given() {
        let line = ["quiclab", "advise", "pto", "50x9ms", "--compare", "13ms 49x9ms/1ms"];
        let settings = settings(line);
        let sequences = sequences(&settings);
        let names: Vec<_> = sequences.iter().map(|sequence| sequence.samples.as_str()).collect();
        assert_eq!(names, ["50x9ms", "13ms 49x9ms/1ms"]);
        assert!(timeouts(&sequences).lines().any(|line| line.contains("27.000") && line.contains("39.000")));
        let curves = curves(&sequences).curves;
        assert_eq!((curves[0].1[0], curves[1].1[0], curves[1].1.len()), ((1.0, 27.0), (1.0, 39.0), 50));
        assert!(Cli::try_parse_from(["quiclab", "advise", "pto", "9ms", "--compare", " "]).is_err());
    }

    #[test]
    fn a_delay_above_the_largest_is_not_believed() {
        let limited = values("quiclab advise pto 9ms 60ms/50ms --max-ack-delay 25ms");
        assert_eq!(limited, values("quiclab advise pto 9ms 60ms/25ms --max-ack-delay 25ms"));
        assert_eq!(values("quiclab advise pto 9ms --max-ack-delay 25ms"), [1024.0, 52.0]);
    }
}
