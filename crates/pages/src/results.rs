//! The folder that `quiclab run` fills: records, failures, an index, and the report.

pub mod audits;
pub mod index;
mod ladders;
pub mod machine;
pub mod models;
pub mod order;
pub mod overview;
mod packet_pages;
pub mod runs_table;
pub mod samples;
pub mod traces;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};

use crate::{
    folder::{self, INDEX_FILE, holds_results},
    path_summary, run_page,
    transfer::losses::lost,
};
use anyhow::{Context, Result, bail};
use quiclab_experiment::{
    AnyRun, id_of_folder,
    run::{Settings, Versions},
};
use quiclab_inputs::{MOST_TEXT_BYTES, read_unlinked_text};
use quiclab_record::{
    AnyRecord, Measured, Outcome, Record, RecordError, Records, RunFile, TapRole, congestion_windows,
    layout::{FAILURE_FILE, SENDER_TAP},
    read_observed, wire_role,
};
use quiclab_report::{AnyReport, FailedRun, FailureCause, FailureRow, ReportInput, RunPage, RunRow, ScenarioReport};
use quiclab_testbed::{
    lock::{RecordLock, remove_leftovers},
    sent::sent_by,
};
use quiclab_units::ShowPath;
use rayon::prelude::*;

pub use index::Index;
pub use ladders::Ladders;
use models::{no_longer_read, row};
use runs_table::TableRow;

/// What is known of a run that failed stands here, below a folder with the name its record would have had.
pub const FAILURES_FOLDER: &str = "failed";
/// Groups whose first run gets a page of its own with the report; `quiclab report RECORD` makes one of any run.
const MOST_RUN_PAGES: usize = 24;

/// A folder of results.
#[derive(Debug)]
pub struct Results {
    folder: PathBuf,
    /// Records of the folder.
    pub records: Records,
    /// Set to end the wait for a lock.
    stop: Arc<AtomicBool>,
    /// Tells the user what is left out.
    say: fn(&str),
}

/// What was read of a folder.
struct Read {
    /// The runs that have a record, in the order of the plan.
    runs: Vec<ReadRun>,
    report: AnyReport,
}

/// A run that has a record.
struct ReadRun {
    name: String,
    run: AnyRun,
    versions: Versions,
    measured: Measured,
}

/// Where the report was written.
#[derive(Debug)]
pub struct Written {
    /// What it was made of.
    pub input: AnyReport,
    /// The page.
    pub page: PathBuf,
}

impl Results {
    /// Opens a folder, which is made if it is not there. Waiting for a lock on it ends when `stop` is set. `say` tells the user what a
    /// report leaves out.
    ///
    /// # Errors
    /// Where it cannot be made, or has results of a layout that is no longer read.
    pub fn create(folder: &Path, stop: Arc<AtomicBool>, say: fn(&str)) -> Result<Self> {
        no_longer_read(folder)?;
        Ok(Self { folder: folder.to_path_buf(), records: Records::open(folder)?, stop, say })
    }

    /// Opens a folder that `quiclab run` has filled.
    ///
    /// # Errors
    /// Where there is none.
    pub fn open(folder: &Path, say: fn(&str)) -> Result<Self> {
        no_longer_read(folder)?;
        if !holds_results(folder) {
            bail!(
                "{}: found no {INDEX_FILE}, expected a folder that quiclab run has filled\nhint: quiclab run FILE --out DIR",
                folder.shown()
            );
        }
        // Who only reads has no handler of signals: the first one ends the process.
        Self::create(folder, Arc::default(), say)
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where failures are kept.
    pub fn failures(&self) -> PathBuf {
        self.folder.join(FAILURES_FOLDER)
    }

    /// Removes what is kept of a failure of the run whose record is `name` and is there: the disk may have failed when the record was in its
    /// place already.
    ///
    /// # Errors
    /// Where it cannot be removed.
    pub fn forget_failure(&self, name: &str) -> Result<()> {
        let kept = self.failures().join(name);
        match fs::remove_dir_all(&kept) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).with_context(|| kept.shown()),
            _ => Ok(()),
        }
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
        RecordLock::take(&self.folder, "report", &self.stop)
    }

    /// The name that the record `name` has here, and whether it is there and whole: the identity at the end counts, so that a record is found
    /// under another label as well. One that is not there keeps its name. `by_id` are the [records](Records::by_id) of this folder. Who performs
    /// the run of a damaged one moves it out of the way.
    ///
    /// # Errors
    /// Where the record is there and cannot be read although it may be whole.
    pub fn find_in(&self, by_id: &BTreeMap<String, String>, name: &str) -> Result<(String, bool), RecordError> {
        let other = id_of_folder(name).and_then(|id| by_id.get(id)).map(String::as_str);
        let mut names = [Some(name), other].into_iter().flatten();
        let Some(found) = names.find(|name| self.records.contains(name)) else { return Ok((name.to_owned(), false)) };
        match self.records.load(found) {
            Ok(_) => Ok((found.to_owned(), true)),
            Err(error) if error.is_damage() => Ok((found.to_owned(), false)),
            Err(error) => Err(error),
        }
    }

    /// The name under which a run of the plan has its record here, its own or another with the same identity; `None` where there is none. The
    /// record need not be whole. `by_id` are the [records](Records::by_id) of this folder.
    fn present(&self, by_id: &BTreeMap<String, String>, name: &str) -> Option<String> {
        let other = || id_of_folder(name).and_then(|id| by_id.get(id)).cloned();
        if self.records.contains(name) { Some(name.to_owned()) } else { other() }
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
        let text = read_unlinked_text(&self.folder.join(INDEX_FILE), MOST_TEXT_BYTES).ok()?;
        let index: Index = serde_json::from_str(&text).ok()?;
        let there = self.records.by_id().ok()?;
        let covered: BTreeSet<_> = names.iter().filter_map(|name| id_of_folder(name)).collect();
        let earlier: BTreeSet<_> = index.records.iter().filter_map(|name| id_of_folder(name)).collect();
        let count = earlier.difference(&covered).filter(|id| there.contains_key(**id)).count();
        (count > 0).then_some((count, index.command))
    }

    /// Makes the report: `report.html`, `report.md`, `report.json`, `runs.parquet`. `with_packets`: a page with the packets of each run,
    /// not only of the first of each group.
    ///
    /// # Errors
    /// Where a record cannot be read or the report not written.
    pub fn report(&self, ladders: Ladders, with_packets: bool) -> Result<Written> {
        let _lock = self.lock()?;
        let mut read = self.read(true)?;
        self.write_table(&read)?;
        let pages = match &mut read.report {
            AnyReport::Transfers(input) => {
                input.ladders = self.write_ladders(input, ladders)?;
                self.look_at_runs(input, with_packets)?;
                self.write_run_pages(input)?
            }
            AnyReport::Models(_) => BTreeMap::new(),
        };
        folder::write(&self.folder, "report.md", read.report.markdown())?;
        folder::write(&self.folder, "report.json", read.report.json())?;
        let page = folder::write(&self.folder, "report.html", read.report.html(&pages))?;
        Ok(Written { input: read.report, page })
    }

    /// Writes `runs.parquet`: the runs of the report, and those that failed as far as it is known what they were.
    fn write_table(&self, read: &Read) -> Result<()> {
        let failures = read.report.failures();
        let failed: Vec<_> = failures.iter().filter_map(|row| Some((row, self.failed_run(&row.folder)?))).collect();
        let measured = read.runs.iter().map(|row| TableRow {
            record: &row.name,
            run: &row.run,
            versions: &row.versions,
            outcome: Ok(&row.measured),
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
    fn failed_run(&self, name: &str) -> Option<RunFile<AnyRun>> {
        RunFile::read_any(&self.failures().join(name)).ok()
    }

    /// Writes a page for the first run of each group, up to a number; gives where they are, by name of the record.
    fn write_run_pages(&self, input: &ReportInput) -> Result<BTreeMap<String, String>> {
        let pictured: Vec<_> = input.runs.iter().filter(|run| run.packets.is_some()).take(MOST_RUN_PAGES).collect();
        let folder = self.folder.join(run_page::PAGES_FOLDER);
        let written = pictured.into_par_iter().map(|run| {
            let Some(page) = run_page::read(&Record::load(&self.folder.join(&run.folder))?)? else { return Ok(None) };
            let ladder = input.ladders.get(&run.folder).map(|ladder| format!("../{ladder}"));
            let look = run.packet_summary.as_ref().and_then(|packet_summary| packet_summary.page.as_deref());
            let look = look.and_then(|path| Path::new(path).file_name()).map(|it| it.to_string_lossy().into_owned());
            let facts = run.packet_summary.as_ref().map(|packet_summary| packet_summary.facts.clone());
            let page = RunPage { ladder, look, facts, ..page };
            let name = format!("{}.html", run.folder);
            run_page::write(&page, &folder, &name)?;
            Ok(Some((run.folder.clone(), format!("{}/{name}", run_page::PAGES_FOLDER))))
        });
        Ok(written.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// What a report is made of, without what only pictures need, for which captures and logs are read.
    ///
    /// # Errors
    /// Where the index or a record cannot be read.
    pub fn measured(&self) -> Result<AnyReport> {
        Ok(self.read(false)?.report)
    }

    /// The same of transfers between stacks. `verb` is for the message.
    ///
    /// # Errors
    /// As [`Results::measured`], and where the runs are of models.
    pub fn measured_transfers(&self, verb: &str) -> Result<ReportInput> {
        self.transfers(verb, false)
    }

    /// The same with what pictures of packets and windows are drawn from.
    ///
    /// # Errors
    /// As [`Results::measured_transfers`].
    pub fn pictured_transfers(&self, verb: &str) -> Result<ReportInput> {
        self.transfers(verb, true)
    }

    fn transfers(&self, verb: &str, with_pictures: bool) -> Result<ReportInput> {
        self.read(with_pictures)?.report.into_transfers().with_context(|| {
            format!(
                "{}: found flows of models, expected transfers between stacks\n\
                 hint: quiclab {verb} works on transfers only. quiclab diff compares two records of models; \
                 an [[expect]] with \"with\" compares settings over repetitions",
                self.folder.shown()
            )
        })
    }

    fn read(&self, with_pictures: bool) -> Result<Read> {
        let index = Index::read(&self.folder)?;
        let mut failures: Vec<_> = index
            .missing_stacks
            .iter()
            .map(|(stack, why)| FailureRow {
                folder: stack.clone(),
                message: format!("skipped: it could not be built: {why}"),
                failed: None,
            })
            .collect();
        let by_id = self.records.by_id()?;
        let mut there = Vec::new();
        let mut not_run = 0;
        for name in &index.records {
            match self.present(&by_id, name) {
                Some(present) => there.push(present),
                None => match self.failure(name.clone()) {
                    Some(failure) => failures.push(failure),
                    None => not_run += 1,
                },
            }
        }
        if not_run > 0 {
            (self.say)(&format!(
                "{}: {not_run} of {} runs have no record and are not counted\nhint: the original command \
                 performs the missing ones: {}",
                self.folder.shown(),
                index.records.len(),
                index.command
            ));
        }
        let loaded: Vec<_> = there.into_par_iter().map(|name| (self.records.load(&name), name)).collect();
        let (mut there, mut records) = (Vec::new(), Vec::new());
        for (record, name) in loaded {
            match record {
                Ok(record) => {
                    there.push(name);
                    records.push(record);
                }
                Err(error) if error.is_damage() => {
                    (self.say)(&format!("skipping the damaged record {name}: {error}"));
                    failures.push(FailureRow {
                        folder: name,
                        message: format!("the record is damaged: {}", error.brief()),
                        failed: None,
                    });
                }
                Err(error) => return Err(error.into()),
            }
        }
        let runs = there.iter().zip(&records).map(|(name, record)| ReadRun {
            name: name.clone(),
            run: record.run(),
            versions: record.versions().clone(),
            measured: record.measured(),
        });
        let runs: Vec<_> = runs.collect();
        let report = if index.kind == AnyRun::MODELS {
            AnyReport::Models(Box::new(self.report_of_models(index, records, failures)?))
        } else {
            AnyReport::Transfers(Box::new(self.report_of_transfers(index, records, failures, with_pictures)?))
        };
        Ok(Read { runs, report })
    }

    fn report_of_transfers(
        &self,
        index: Index,
        records: Vec<AnyRecord>,
        failures: Vec<FailureRow>,
        with_pictures: bool,
    ) -> Result<ReportInput> {
        let mut pictured: Vec<Settings> = Vec::new();
        let mut runs = Vec::new();
        for record in records {
            let AnyRecord::Transfer(record) = record else { return Err(self.other_kind(&record)) };
            let settings = &record.run.run.settings;
            let first = with_pictures && !pictured.contains(settings);
            let packets = if first { Some(sent(&record)?) } else { None };
            let congestion_window = if first {
                congestion_windows(&record.folder, record.run.run.settings.workload.sender.role())?
            } else {
                None
            };
            if first {
                pictured.push(settings.clone());
            }
            runs.push(RunRow {
                folder: name_of(&record.folder),
                lost: lost(&record.observed.path),
                path: Some(path_summary::summary(&record.run.run, &record.observed)),
                run: record.run.run,
                versions: record.run.versions,
                started_unix_ms: record.observed.machine.as_ref().map(|machine| machine.started_unix_ms),
                metrics: record.metrics,
                packets,
                congestion_window,
                packet_summary: None,
            });
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
            looks: index.looks,
            until: index.until,
            figures: index.figures,
            ladders: BTreeMap::new(),
            machine: machine::limits(&self.folder)?,
        })
    }

    fn report_of_models(
        &self,
        index: Index,
        records: Vec<AnyRecord>,
        failures: Vec<FailureRow>,
    ) -> Result<ScenarioReport> {
        let mut simulators = BTreeSet::new();
        let mut runs = Vec::new();
        for record in records {
            let AnyRecord::Models(record) = record else { return Err(self.other_kind(&record)) };
            simulators.extend(record.run.versions.get("simulator").cloned());
            runs.push(row(*record));
        }
        Ok(ScenarioReport {
            experiment: index.experiment,
            title: index.title,
            source: index.source,
            command: index.command,
            simulator: simulators.into_iter().collect::<Vec<_>>().join(", "),
            runs,
            failures,
            expectations: index.expectations,
            looks: index.looks,
            figures: index.figures,
            labels: index.labels,
        })
    }

    fn other_kind(&self, record: &AnyRecord) -> anyhow::Error {
        anyhow::anyhow!(
            "{}: found a record of a {}, expected what {INDEX_FILE} says\nhint: quiclab run FILE --out DIR writes {INDEX_FILE} again",
            record.folder().shown(),
            record.run().kind()
        )
    }

    /// `None` for a run that was not tried yet.
    fn failure(&self, name: String) -> Option<FailureRow> {
        let folder = self.failures().join(&name);
        let message = read_unlinked_text(&folder.join(FAILURE_FILE), MOST_TEXT_BYTES).ok()?;
        let failed = self.failed_run(&name).and_then(|file| with_cause(file.run, &folder));
        Some(FailureRow { folder: name, message: message.trim().to_owned(), failed })
    }
}

/// A run that failed, and who is to blame by what is kept of it in `folder`; `None` for runs of models.
fn with_cause(run: AnyRun, folder: &Path) -> Option<FailedRun> {
    let AnyRun::Transfer(run) = run else { return None };
    let cause = match read_observed(folder, None).ok().map(|observed| observed.outcome) {
        Some(Outcome::ClientFailed | Outcome::ClientTimeout | Outcome::ServerEnded) => FailureCause::Endpoints,
        Some(Outcome::Unsupported { .. }) => FailureCause::Unsupported,
        _ => FailureCause::Other,
    };
    Some(FailedRun { run: *run, cause })
}

fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The sender's packets at its tap: nanoseconds since the first one, and bytes so far.
fn sent(record: &Record) -> Result<Vec<(u64, u64)>> {
    let tap = record.observed.interface_of(TapRole::Sender).unwrap_or(SENDER_TAP);
    let sender = wire_role(record.run.run.settings.workload.sender.role());
    sent_by(&record.capture(), tap, record.observed.server_port, sender)
}
