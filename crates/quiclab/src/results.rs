//! The folder that `quiclab run` fills: records, failures, an index, and the report.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::{Expectation, Plan, Published, id_of_folder, run::Settings};
use quiclab_record::{
    Record, RecordError, Records, RunFile, TapRole, congestion_windows,
    layout::{FAILURE_FILE, RUN_FILE, SENDER_TAP},
};
use quiclab_report::{FailureRow, ReportInput, RunRow};
use quiclab_testbed::lock::{RecordLock, remove_leftovers};
use quiclab_wire::{Capture, CaptureReader, Segment};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    folder, run_page,
    runs_table::{self, TableRow},
};

/// What is known of a run that failed stands here, below a folder with the name its record would have had.
pub const FAILURES_FOLDER: &str = "failed";
/// Groups whose first run gets a page of its own with the report; `quiclab report RECORD` makes one of any run.
const MOST_RUN_PAGES: usize = 24;
/// What the records belong to.
const INDEX_FILE: &str = "experiment.json";
/// Version of the index.
const SCHEMA: u32 = 1;

/// What the report says besides the records.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    schema: u32,
    experiment: String,
    title: String,
    source: Option<String>,
    command: String,
    published: Vec<Published>,
    #[serde(default)]
    expectations: Vec<Expectation>,
    /// Expectations about runs that are not in the plan, such as those that a profile leaves out.
    #[serde(default)]
    expectations_left_out: Vec<Expectation>,
    /// Whether senders are ranked.
    #[serde(default)]
    ranking: bool,
    /// Names of the plan's records, in its order.
    records: Vec<String>,
    /// Stacks whose runs were skipped because they could not be built, and why.
    #[serde(default)]
    missing_stacks: BTreeMap<String, String>,
}

/// A folder of results.
#[derive(Debug)]
pub struct Results {
    folder: PathBuf,
    /// Its records.
    pub records: Records,
}

/// Where the report was written.
#[derive(Debug)]
pub struct Written {
    /// What it was made of.
    pub input: ReportInput,
    /// The page.
    pub page: PathBuf,
}

impl Index {
    /// The index of a plan whose records have these names, without the runs of stacks that are missing.
    pub fn new(plan: &Plan, command: String, records: Vec<String>, missing_stacks: BTreeMap<String, String>) -> Self {
        let all: Vec<_> = plan.runs.iter().filter(|run| run.repetition == 1).map(|run| &run.settings).collect();
        let has_runs = |expectation: &Expectation| {
            let mut subjects = expectation.subjects(&all).into_iter();
            subjects.any(|subject| subject.with.is_none_or(|with| !with.is_empty()))
        };
        let (expectations, expectations_left_out) = plan.expectations.iter().cloned().partition(has_runs);
        Self {
            schema: SCHEMA,
            experiment: plan.experiment.clone(),
            title: plan.title.clone(),
            source: plan.source.clone(),
            command,
            published: plan.published.clone(),
            expectations,
            expectations_left_out,
            ranking: plan.ranking,
            records,
            missing_stacks,
        }
    }
}

impl Results {
    /// Opens a folder, which is made if it is not there.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn create(folder: &Path) -> Result<Self> {
        Ok(Self { folder: folder.to_path_buf(), records: Records::open(folder)? })
    }

    /// Opens a folder that `quiclab run` has filled.
    ///
    /// # Errors
    /// Where there is none.
    pub fn open(folder: &Path) -> Result<Self> {
        if !Self::are_in(folder) {
            bail!(
                "{}: found no {INDEX_FILE}, expected a folder that quiclab run has filled\nhint: quiclab run FILE --out DIR",
                folder.display()
            );
        }
        Self::create(folder)
    }

    /// True for a folder that `quiclab run` has filled.
    pub fn are_in(folder: &Path) -> bool {
        folder.join(INDEX_FILE).is_file()
    }

    /// Where failures are kept.
    pub fn failures(&self) -> PathBuf {
        self.folder.join(FAILURES_FOLDER)
    }

    /// Removes what killed processes left here. What other processes are writing stays.
    ///
    /// # Errors
    /// Where something cannot be removed.
    pub fn remove_leftovers(&self) -> Result<usize> {
        remove_leftovers(self.records.folder(), &self.failures())
    }

    /// Keeps other processes from writing index and report until it is dropped. They hold it for a moment only.
    fn lock(&self) -> Result<RecordLock> {
        RecordLock::take(&self.folder, "report", &AtomicBool::new(false))
    }

    /// The name that the record `name` has here, and whether it is there: the identity at the end counts, so that a record is found under
    /// another label as well. One that is not there keeps its name. `by_id` are the [records](Records::by_id) of this folder.
    ///
    /// # Errors
    /// Where the record is there and cannot be read: it is never taken for one that is not there, and never replaced.
    pub fn find_in(&self, by_id: &BTreeMap<String, String>, name: &str) -> Result<(String, bool), RecordError> {
        let other = id_of_folder(name).and_then(|id| by_id.get(id)).map(String::as_str);
        let mut names = [Some(name), other].into_iter().flatten();
        let Some(found) = names.find(|name| self.records.contains(name)) else { return Ok((name.to_owned(), false)) };
        self.records.load(found).map(|_| (found.to_owned(), true))
    }

    /// Writes the index.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write_index(&self, index: &Index) -> Result<()> {
        let _lock = self.lock()?;
        folder::write(&self.folder, INDEX_FILE, &(serde_json::to_string_pretty(index)? + "\n")).map(drop)
    }

    /// How many records that the report covers now are not among `names`, and the command that made it; `None` where there are none.
    pub fn no_longer_covered(&self, names: &[String]) -> Option<(usize, String)> {
        let text = fs::read_to_string(self.folder.join(INDEX_FILE)).ok()?;
        let index: Index = serde_json::from_str(&text).ok()?;
        let there = self.records.by_id().ok()?;
        let covered: BTreeSet<_> = names.iter().filter_map(|name| id_of_folder(name)).collect();
        let earlier: BTreeSet<_> = index.records.iter().filter_map(|name| id_of_folder(name)).collect();
        let count = earlier.difference(&covered).filter(|id| there.contains_key(**id)).count();
        (count > 0).then_some((count, index.command))
    }

    /// Makes the report: `report.html`, `report.md`, `report.json`, `runs.parquet`.
    ///
    /// # Errors
    /// Where a record cannot be read or the report not written.
    pub fn report(&self) -> Result<Written> {
        let _lock = self.lock()?;
        let input = self.report_input()?;
        folder::write(&self.folder, "report.md", &quiclab_report::render_markdown(&input))?;
        folder::write(&self.folder, "report.json", &quiclab_report::render_json(&input))?;
        self.write_table(&input)?;
        let pages = self.write_run_pages(&input)?;
        let html = quiclab_report::render_html_with_pages(&input, &pages);
        let page = folder::write(&self.folder, "report.html", &html)?;
        Ok(Written { input, page })
    }

    /// Writes `runs.parquet`: the runs of the report, and those that failed as far as it is known what they were.
    fn write_table(&self, input: &ReportInput) -> Result<()> {
        let failed: Vec<_> =
            input.failures.iter().filter_map(|row| Some((row, self.failed_run(&row.folder)?))).collect();
        let measured = input.runs.iter().map(|row| TableRow {
            record: &row.folder,
            run: &row.run,
            versions: &row.versions,
            outcome: Ok(&row.metrics),
        });
        let failed = failed.iter().map(|(row, file)| TableRow {
            record: &row.folder,
            run: &file.run,
            versions: &file.versions,
            outcome: Err(&row.message),
        });
        runs_table::write(&self.folder, &measured.chain(failed).collect::<Vec<_>>())
    }

    /// What is known of a run that failed; `None` where it did not come so far that it left a `run.toml`.
    fn failed_run(&self, name: &str) -> Option<RunFile> {
        let text = fs::read_to_string(self.failures().join(name).join(RUN_FILE)).ok()?;
        toml::from_str(&text).ok()
    }

    /// Writes a page for the first run of each group, up to a number; gives where they are, by name of the record.
    fn write_run_pages(&self, input: &ReportInput) -> Result<BTreeMap<String, String>> {
        let pictured: Vec<_> = input.runs.iter().filter(|run| run.packets.is_some()).take(MOST_RUN_PAGES).collect();
        let folder = self.folder.join(run_page::PAGES_FOLDER);
        let written = pictured.into_par_iter().map(|run| {
            let Some(page) = run_page::read(&self.records.load(&run.folder)?)? else { return Ok(None) };
            let name = format!("{}.html", run.folder);
            run_page::write(&page, &folder, &name)?;
            Ok(Some((run.folder.clone(), format!("{}/{name}", run_page::PAGES_FOLDER))))
        });
        Ok(written.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// What a report is made of.
    ///
    /// # Errors
    /// Where the index or a record cannot be read.
    pub fn report_input(&self) -> Result<ReportInput> {
        self.input(true)
    }

    /// The same without what only pictures need, for which captures and logs are read.
    ///
    /// # Errors
    /// As [`Results::report_input`].
    pub fn measured(&self) -> Result<ReportInput> {
        self.input(false)
    }

    fn input(&self, with_pictures: bool) -> Result<ReportInput> {
        let path = self.folder.join(INDEX_FILE);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let index: Index = serde_json::from_str(&text)
            .with_context(|| format!("{}\nhint: quiclab run FILE --out DIR writes it again", path.display()))?;
        let mut runs = Vec::new();
        let mut failures: Vec<_> = index
            .missing_stacks
            .into_iter()
            .map(|(stack, why)| FailureRow { folder: stack, message: format!("skipped: it could not be built: {why}") })
            .collect();
        let mut pictured: Vec<Settings> = Vec::new();
        let by_id = self.records.by_id()?;
        let (all, mut not_run) = (index.records.len(), 0);
        for name in index.records {
            let name = match id_of_folder(&name).and_then(|id| by_id.get(id)) {
                Some(other) if !self.records.contains(&name) => other.clone(),
                _ => name,
            };
            if !self.records.contains(&name) {
                match self.failure(name) {
                    Some(failure) => failures.push(failure),
                    None => not_run += 1,
                }
                continue;
            }
            let record = self.records.load(&name)?;
            let settings = &record.run.run.settings;
            let first = with_pictures && !pictured.contains(settings);
            let packets = if first { Some(sent(&record)?) } else { None };
            let congestion_window = if first { congestion_windows(&record.folder)? } else { None };
            if first {
                pictured.push(settings.clone());
            }
            runs.push(RunRow {
                folder: name,
                run: record.run.run,
                versions: record.run.versions,
                metrics: record.metrics,
                packets,
                congestion_window,
            });
        }
        if not_run > 0 {
            eprintln!(
                "quiclab: {}: {not_run} of {all} runs have no record and are not counted\nhint: the original command \
                 performs the missing ones: {}",
                self.folder.display(),
                index.command
            );
        }
        Ok(ReportInput {
            experiment: index.experiment,
            title: index.title,
            source: index.source,
            command: index.command,
            ranking: index.ranking,
            runs,
            failures,
            published: index.published,
            expectations: index.expectations,
            expectations_left_out: index.expectations_left_out,
        })
    }

    /// `None` for a run that was not tried yet.
    fn failure(&self, name: String) -> Option<FailureRow> {
        let message = fs::read_to_string(self.failures().join(&name).join(FAILURE_FILE)).ok()?;
        Some(FailureRow { folder: name, message: message.trim().to_owned() })
    }
}

fn sent(record: &Record) -> Result<Vec<(u64, u64)>> {
    let tap = record.observed.interface_of(TapRole::Sender).unwrap_or(SENDER_TAP);
    sent_by_server(&record.capture(), tap, record.observed.server_port)
}

/// The server's packets at a tap: nanoseconds since the first one, and bytes so far.
///
/// # Errors
/// Where the capture cannot be read.
pub fn sent_by_server(capture: &Path, tap: u32, server_port: u16) -> Result<Vec<(u64, u64)>> {
    let place = || capture.display().to_string();
    let mut reader = CaptureReader::new(File::open(capture).with_context(place)?).with_context(place)?;
    let mut sent = Vec::new();
    let (mut first, mut bytes) = (None, 0);
    let mut on_segment = |_, segment: &Segment, _: &Capture| {
        if segment.source.port() == server_port {
            bytes += u64::from(segment.frame_length);
            let first = *first.get_or_insert(segment.time);
            sent.push((segment.time.checked_since(first).map_or(0, |time| time.as_nanos()), bytes));
        }
        ControlFlow::Continue(())
    };
    reader.for_each_segment(Some(tap), &mut on_segment).with_context(place)?;
    Ok(sent)
}
