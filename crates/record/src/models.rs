//! The record of a run of models: the same folder and envelope as that of a transfer, without packets.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use quiclab_experiment::scenario::ScenarioRun;
use quiclab_metrics::{Warning, Withheld};
use serde::{Deserialize, Serialize};

use crate::{
    RecordError, RunFile, bounded, json,
    layout::{METRICS_FILE, MODELS_METRICS_SCHEMA, MODELS_PATH_SCHEMA, PATH_FILE},
    record::check_identity,
};

/// What was seen of a run of models besides its metrics: `path.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelsObserved {
    /// Version of this layout: [`MODELS_PATH_SCHEMA`].
    pub schema: u32,
    /// Name of the testbed, such as `sim`.
    pub testbed: String,
    /// Simulated time at which the counters were read: the end of the last interval. `None` where no interval ended.
    pub counted_until_ns: Option<u64>,
    /// The bottlenecks, in the order in which packets from the senders pass them.
    pub bottlenecks: Vec<BottleneckSeen>,
    /// What the senders of each group did, by the group's name.
    pub groups: BTreeMap<String, GroupSeen>,
}

/// What a bottleneck did to packets since the beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BottleneckSeen {
    /// Its queue discipline, as `bottleneck.queue` names it.
    pub queue: String,
    /// Packets that left it.
    pub packets_passed: u64,
    /// Packets that it dropped.
    pub packets_dropped: u64,
    /// Packets that it marked instead of dropping them.
    pub packets_marked: u64,
    /// Packets in its queue, including the one being sent.
    pub packets_waiting: u64,
}

/// What the flows of a group did, to the end of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupSeen {
    /// Number of flows.
    pub flows: u32,
    /// Segments that were sent, retransmissions included.
    pub segments_sent: u64,
    /// Segments of these that had been sent before.
    pub segments_retransmitted: u64,
    /// Segments that arrived, each counted once.
    pub segments_delivered: u64,
    /// Times that a retransmission timer expired.
    pub timeouts: u64,
}

/// The metrics of a run of models: `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelsMetrics {
    /// Version of this layout: [`MODELS_METRICS_SCHEMA`].
    pub schema: u32,
    /// Every metric by its name; `None` (null) where it could not be measured, for the reason in [`withheld`](Self::withheld).
    pub metrics: BTreeMap<String, Option<f64>>,
    /// Why metrics are null.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Withheld>,
    /// What to look at before trusting the numbers.
    pub warnings: Vec<Warning>,
    /// How the run ended.
    pub end: End,
    /// Events that were handled.
    pub events: u64,
    /// What was seen at the end of each interval, by name; all have the same length. `None` where nothing could be measured.
    pub series: BTreeMap<String, Vec<Option<f64>>>,
}

/// How a run of models ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// All of its time was simulated.
    InTime,
    /// It had `scenario.events` events; the metrics cover the time before.
    TooManyEvents,
}

/// A complete record of a run of models.
#[derive(Clone, Debug)]
pub struct ModelsRecord {
    /// Its folder.
    pub folder: PathBuf,
    /// `run.toml`.
    pub run: RunFile<ScenarioRun>,
    /// `path.json`.
    pub observed: ModelsObserved,
    /// `metrics.json`.
    pub metrics: ModelsMetrics,
}

impl ModelsRecord {
    /// Reads the record in `folder`.
    ///
    /// # Errors
    /// Where a file is missing, cut, damaged, of another record, of another kind, or of a newer version: the message names it.
    pub fn load(folder: &Path) -> Result<Self, RecordError> {
        let (run, schema) = RunFile::<ScenarioRun>::read_with_schema(folder)?;
        let made_by = run.versions.get("quiclab").cloned();
        check_identity(folder, schema, &run.id, made_by.as_deref())?;
        let text = |name: &str| {
            let path = folder.join(name);
            let text = bounded::read_text(&path).map_err(|error| RecordError::reading(&path, folder, error))?;
            Ok::<_, RecordError>((path, text))
        };
        let (path, seen) = text(PATH_FILE)?;
        let observed = json::read(&seen, &path, folder, MODELS_PATH_SCHEMA, made_by.as_deref())?;
        let (path, measured) = text(METRICS_FILE)?;
        let metrics = json::read(&measured, &path, folder, MODELS_METRICS_SCHEMA, made_by.as_deref())?;
        Ok(Self { folder: folder.to_path_buf(), run, observed, metrics })
    }
}

impl ModelsObserved {
    /// The text of `path.json`. Equal values give equal bytes.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("string keys, and integers") + "\n"
    }
}

impl ModelsMetrics {
    /// The text of `metrics.json`. Equal values give equal bytes.
    pub fn to_json(&self) -> String {
        // A series is a line of its own: a thousand intervals would be as many lines otherwise.
        let series = self.series.iter().map(|(name, values)| {
            let values = serde_json::to_string(values).expect("numbers and nulls");
            format!("\n    {}: {values}", serde_json::to_string(name).expect("a text"))
        });
        let series = series.collect::<Vec<_>>().join(",");
        let series = if series.is_empty() { series } else { format!("{series}\n  ") };
        let envelope = Self { series: BTreeMap::new(), ..self.clone() };
        let text = serde_json::to_string_pretty(&envelope).expect("string keys, and finite numbers");
        let start = text.strip_suffix("{}\n}").expect("the series come last");
        format!("{start}{{{series}}}\n}}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_the_same_after_they_were_written() {
        let mut metrics = ModelsMetrics {
            schema: MODELS_METRICS_SCHEMA,
            metrics: BTreeMap::from([("a".to_owned(), Some(0.1 + 0.2)), ("b.x".to_owned(), None)]),
            withheld: vec![Withheld { reason: "{} nothing".to_owned(), metrics: vec!["b.x".to_owned()] }],
            warnings: Vec::new(),
            end: End::InTime,
            events: 7,
            series: BTreeMap::new(),
        };
        for series in [
            BTreeMap::new(),
            BTreeMap::from([("time".to_owned(), vec![Some(1.0 / 3.0), None]), ("w".to_owned(), vec![])]),
        ] {
            metrics.series = series;
            let back: ModelsMetrics = serde_json::from_str(&metrics.to_json()).unwrap();
            assert_eq!(back, metrics);
        }
        assert!(
            metrics.to_json().contains("    \"time\": [0.3333333333333333,null],\n    \"w\": []\n  }\n}\n"),
            "{}",
            metrics.to_json()
        );
    }
}
