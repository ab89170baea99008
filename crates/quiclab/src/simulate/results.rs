//! The folder that simulated runs are kept in: an index, a journal with a line for each run that is done, the report, one table.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::{Expectation, scenario::FigureSpec};
use quiclab_report::{FailureRow, ScenarioReport, ScenarioRow};
use quiclab_testbed::sim::scenarios::{End, SimulatedRun};
use quiclab_trace::{RunColumn, write_runs};
use serde::{Deserialize, Serialize};

use crate::folder;

/// What the runs belong to.
const INDEX_FILE: &str = "scenario.json";
/// A line of JSON for each run.
const JOURNAL_FILE: &str = "runs.jsonl";
/// The same as a table, without what was seen at each interval.
const TABLE_FILE: &str = "runs.parquet";
/// Version of the index and of the journal that this quiclab writes.
pub const SCHEMA: u32 = 1;

/// What the report says besides the runs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// Version of the index and of the journal.
    pub schema: u32,
    /// Name of the experiment.
    pub experiment: String,
    /// What it measures.
    pub title: String,
    /// Where it comes from.
    pub source: Option<String>,
    /// The command that makes the runs again.
    pub command: String,
    /// The simulator.
    pub simulator: String,
    /// What must hold.
    pub expectations: Vec<Expectation>,
    /// The pictures that the file asks for.
    pub figures: Vec<FigureSpec>,
    /// Identities of the plan's runs, in its order.
    pub runs: Vec<String>,
    /// Why runs left nothing, by their identity.
    #[serde(default)]
    pub failures: BTreeMap<String, String>,
}

/// A folder of simulated runs.
#[derive(Debug)]
pub struct SimulatedResults {
    folder: PathBuf,
}

/// Where runs are noted as soon as they are done.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl SimulatedResults {
    /// Opens a folder, which is made if it is not there.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn create(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        Ok(Self { folder: folder.to_path_buf() })
    }

    /// True for a folder with simulated runs.
    pub fn are_in(folder: &Path) -> bool {
        folder.join(INDEX_FILE).is_file()
    }

    /// Keeps other processes from writing here until the file is dropped.
    ///
    /// # Errors
    /// Where another process is at work here.
    pub fn lock(&self) -> Result<File> {
        folder::lock(&self.folder)
    }

    /// Writes the index.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write_index(&self, index: &Index) -> Result<()> {
        folder::write(&self.folder, INDEX_FILE, &(serde_json::to_string_pretty(index)? + "\n")).map(drop)
    }

    /// The runs that are done, by their identity. A line that a killed process has left half written counts for nothing.
    ///
    /// # Errors
    /// Where the journal cannot be read, or a whole line of it is no run.
    pub fn runs(&self) -> Result<BTreeMap<String, SimulatedRun>> {
        let path = self.folder.join(JOURNAL_FILE);
        if !path.exists() {
            return Ok(BTreeMap::new());
        }
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let read = |(number, line): (usize, &str)| {
            let run: SimulatedRun = serde_json::from_str(line).with_context(|| {
                format!(
                    "{}:{}: found no simulated run\nhint: remove the file, and the same command repeats all runs",
                    path.display(),
                    number + 1
                )
            })?;
            Ok((run.id.clone(), run))
        };
        whole.lines().enumerate().map(read).collect()
    }

    /// Opens the journal behind its last whole line.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn journal(&self) -> Result<Journal> {
        let path = self.folder.join(JOURNAL_FILE);
        let place = || path.display().to_string();
        let whole = match fs::read(&path) {
            Ok(bytes) => bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end as u64 + 1),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error).with_context(place),
        };
        let file = OpenOptions::new().create(true).append(true).open(&path).with_context(place)?;
        file.set_len(whole).with_context(place)?;
        Ok(Journal { path, file })
    }

    /// What the report is made of.
    ///
    /// # Errors
    /// Where the index or the journal cannot be read.
    pub fn report_input(&self) -> Result<ScenarioReport> {
        let path = self.folder.join(INDEX_FILE);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let index: Index = serde_json::from_str(&text)
            .with_context(|| format!("{}\nhint: quiclab run FILE --out DIR writes it again", path.display()))?;
        if index.schema != SCHEMA {
            bail!("{}: found version {}, expected {SCHEMA}", path.display(), index.schema);
        }
        let mut done = self.runs()?;
        let runs = index.runs.iter().filter_map(|id| done.remove(id)).map(row).collect();
        let failures = index.failures.into_iter().map(|(folder, message)| FailureRow { folder, message }).collect();
        Ok(ScenarioReport {
            experiment: index.experiment,
            title: index.title,
            source: index.source,
            command: index.command,
            simulator: index.simulator,
            runs,
            failures,
            expectations: index.expectations,
            figures: index.figures,
        })
    }

    /// Makes the report and the table; returns what it was made of, and where the page is.
    ///
    /// # Errors
    /// Where something cannot be read or written.
    pub fn report(&self) -> Result<(ScenarioReport, PathBuf)> {
        let input = self.report_input()?;
        write_runs(&self.folder.join(TABLE_FILE), &columns(&input.runs))?;
        folder::write(&self.folder, "report.json", &quiclab_report::render_scenario_json(&input))?;
        let page = folder::write(&self.folder, "report.html", &quiclab_report::render_scenario_html(&input))?;
        Ok((input, page))
    }
}

impl Journal {
    /// Adds a run.
    ///
    /// # Errors
    /// Where it cannot be written, as on a full disk.
    pub fn add(&mut self, run: &SimulatedRun) -> Result<()> {
        let line = serde_json::to_string(run)? + "\n";
        self.file.write_all(line.as_bytes()).with_context(|| self.path.display().to_string())
    }
}

fn row(run: SimulatedRun) -> ScenarioRow {
    let SimulatedRun { id, repetition, seed, settings, end, events, metrics, series } = run;
    ScenarioRow { id, repetition, seed, settings, is_whole: end == End::InTime, events, metrics, series }
}

/// Identity, repetition and seed; settings and metrics under their own names, which cannot be the same.
fn columns(runs: &[ScenarioRow]) -> Vec<(String, RunColumn)> {
    let texts = |value: fn(&ScenarioRow) -> String| RunColumn::Texts(runs.iter().map(|run| Some(value(run))).collect());
    let wholes = |value: fn(&ScenarioRow) -> u64| {
        // Seeds stay below 10^15, and no run has 2^63 events.
        RunColumn::Wholes(runs.iter().map(|run| i64::try_from(value(run)).ok()).collect())
    };
    let mut columns = vec![
        ("id".to_owned(), texts(|run| run.id.clone())),
        ("repetition".to_owned(), wholes(|run| u64::from(run.repetition))),
        ("seed".to_owned(), wholes(|run| run.seed)),
        ("is_whole".to_owned(), texts(|run| run.is_whole.to_string())),
        ("events".to_owned(), wholes(|run| run.events)),
    ];
    for key in names(runs.iter().map(|run| run.settings.keys())) {
        let values = runs.iter().map(|run| run.settings.get(&key).cloned()).collect();
        columns.push((key, RunColumn::Texts(values)));
    }
    for metric in names(runs.iter().map(|run| run.metrics.keys())) {
        let values = runs.iter().map(|run| run.metrics.get(&metric).copied()).collect();
        columns.push((metric, RunColumn::Numbers(values)));
    }
    columns
}

/// All names, each once, in order.
fn names<'a>(all: impl Iterator<Item = impl Iterator<Item = &'a String>>) -> Vec<String> {
    let mut names: Vec<String> = all.flatten().cloned().collect();
    names.sort();
    names.dedup();
    names
}
