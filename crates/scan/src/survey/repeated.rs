//! The same targets again and again: a folder for each day, and nothing caught up after a pause.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    fs::{self, File},
    io::{self, BufReader, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, bail};
use nix::time::{ClockId, clock_gettime};
use quiclab_inputs::{open_regular, open_regular_with, read_regular_text};
use quiclab_supplies::process::Interrupted;
use quiclab_units::{Duration, ShowPath, Time, shown};
use serde::{Deserialize, Serialize};

use super::{
    hooks::SurveyHooks,
    once::{objection, row},
    origins::Origins,
    parts::Parts,
    row::ScanRow,
    settings::{SurveySettings, TargetGroup},
    summary::Summary,
    whom::{self, Job, Next, Whom},
};
use crate::{
    Answer, Outcome, Request, Scanner,
    targets::{Exclusions, Group, List, Pace, Schedule, Start, exclusions::network, utc_day},
};

/// How far the schedule is.
const STATE: &str = "schedule.json";
/// The longest state that is read.
const MOST_STATE_BYTES: u64 = 16 << 20;
/// What was missed.
const MISSED: &str = "missed.jsonl";
/// Networks that objected.
const EXCLUDED: &str = "excluded.txt";
/// The state is written so often, and at the end.
const BETWEEN_STATES: Duration = Duration::from_nanos(1_000_000_000);
const LONGEST_WAIT: Duration = Duration::from_nanos(20_000_000);
/// Handshakes that are due and wait for the rate.
const MOST_QUEUED: usize = 10_000;

/// What a later start needs.
#[derive(Deserialize, Serialize)]
struct State {
    /// When the first start began, in nanoseconds since 1970.
    begin_ns: u64,
    /// Number of handshakes that were begun or missed, by group.
    positions: Vec<u64>,
    groups: Vec<String>,
}

/// Handshakes that did not begin.
#[derive(Serialize)]
struct MissedLine<'a> {
    group: &'a str,
    count: u64,
    /// When the first and the last of them were due, in nanoseconds since 1970.
    from_ns: u64,
    to_ns: u64,
    why: &'static str,
}

/// All that goes on.
struct Repeated<'a> {
    settings: &'a SurveySettings,
    hooks: &'a dyn SurveyHooks,
    groups: &'a [TargetGroup],
    schedule: Schedule,
    /// Whom to ask today, by group and number of the target. `None`: nobody.
    jobs: Vec<Vec<Option<Job>>>,
    queue: VecDeque<(usize, Job)>,
    pace: Pace,
    scanner: Scanner,
    origins: Origins,
    in_flight: HashMap<u64, (usize, Job)>,
    next: u64,
    begin_ns: u64,
    /// Begin of the scan by the clock that goes on while the machine sleeps, in nanoseconds.
    booted_at_begin: i128,
    summary: Summary,
    _lock: File,
}

/// Asks every target of every group at its times, for so long.
///
/// # Errors
/// A list that cannot be read; a folder of another scan, or one that is in use; a full disk; an interruption.
pub fn ask_repeatedly(
    settings: &SurveySettings,
    groups: &[TargetGroup],
    duration: Duration,
    stop: &AtomicBool,
    hooks: &dyn SurveyHooks,
) -> Result<Summary> {
    let scanner = Scanner::new(&settings.scanner).context("the sockets")?;
    let folder = &settings.folder;
    whom::make_folder(folder)?;
    let lock = lock(folder)?;
    let mut counts = Vec::new();
    for group in groups {
        counts.push(lines(&group.list)?.len() as u64);
    }
    let of = |(group, targets): (&TargetGroup, u64)| Group { name: group.name.clone(), every: group.every, targets };
    let mut schedule = Schedule::new(groups.iter().zip(counts).map(of).collect(), duration);
    let now_ns = unix_ns();
    let begin_ns = match read_state(folder, groups)? {
        Some(state) => {
            schedule.resume(&state.positions);
            state.begin_ns.min(now_ns)
        }
        None => now_ns,
    };
    let booted_at_begin = booted()? - i128::from(now_ns - begin_ns);
    let mut repeated = Repeated {
        settings,
        hooks,
        groups,
        schedule,
        jobs: Vec::new(),
        queue: VecDeque::new(),
        pace: Pace::new(settings.rate, 1, Time::from_nanos(0)),
        scanner,
        origins: Origins::read(&settings.origins, hooks)?,
        in_flight: HashMap::new(),
        next: 0,
        begin_ns,
        booted_at_begin,
        summary: Summary::default(),
        _lock: lock,
    };
    repeated.run(stop)?;
    Ok(repeated.summary)
}

/// Lines of the targets of a list.
fn lines(list: &Path) -> Result<Vec<u64>> {
    let file = open_regular(list).with_context(|| format!("{}: cannot be opened", list.shown()))?;
    Ok(List::new(BufReader::new(file)).filter_map(Result::ok).map(|target| target.line).collect())
}

fn lock(folder: &Path) -> Result<File> {
    let path = folder.join("lock");
    let file = open_regular_with(&path, File::options().create(true).append(true))
        .with_context(|| path.shown().to_string())?;
    if file.try_lock().is_err() {
        bail!("{} is in use by another scan\nhint: one folder for each scan", folder.shown());
    }
    Ok(file)
}

fn read_state(folder: &Path, groups: &[TargetGroup]) -> Result<Option<State>> {
    let path = folder.join(STATE);
    let text = match read_regular_text(&path, MOST_STATE_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| path.shown().to_string()),
    };
    let state: State = serde_json::from_str(&text).with_context(|| path.shown().to_string())?;
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    if state.groups != names {
        bail!(
            "{}: found the groups {}, expected {}\nhint: continue with the same groups, or start in another folder",
            path.shown(),
            state.groups.join(", "),
            names.join(", ")
        );
    }
    Ok(Some(state))
}

fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Time since the machine was booted, in nanoseconds.
fn booted() -> Result<i128> {
    let time = clock_gettime(ClockId::CLOCK_BOOTTIME).context("the clock")?;
    Ok(i128::from(time.tv_sec()) * 1_000_000_000 + i128::from(time.tv_nsec()))
}

impl Repeated<'_> {
    /// Time since the scan began.
    fn now(&self) -> Result<Time> {
        Ok(Time::from_nanos(u64::try_from(booted()? - self.booted_at_begin).unwrap_or(0)))
    }

    fn run(&mut self, stop: &AtomicBool) -> Result<()> {
        let mut today = String::new();
        let mut parts: Option<Parts> = None;
        let mut written = Time::from_nanos(0);
        loop {
            let is_stopping = stop.load(Ordering::Relaxed);
            let day = utc_day(unix_ns() / 1_000_000_000);
            if day != today && !is_stopping {
                if let Some(parts) = parts.take() {
                    parts.finish()?;
                }
                let folder = self.settings.folder.join(&day);
                whom::make_folder(&folder)?;
                let mut new = Parts::open(&folder, self.settings.format)?;
                self.resolve(&mut new, stop)?;
                parts = Some(new);
                today = day;
            }
            let now = self.now()?;
            if !is_stopping {
                self.begin_due(now)?;
            }
            let is_over = self.schedule.next_at().is_none() && self.queue.is_empty();
            if self.in_flight.is_empty() && (is_over || is_stopping) {
                break;
            }
            let rows = self.turn(now)?;
            if let Some(parts) = parts.as_mut().filter(|_| !rows.is_empty()) {
                rows.iter().for_each(|row| self.summary.add(row));
                parts.add(&rows)?;
                parts.advance()?;
            }
            if now.checked_since(written).is_some_and(|since| since >= BETWEEN_STATES) {
                written = now;
                self.write_state()?;
            }
        }
        if let Some(parts) = parts {
            parts.finish()?;
        }
        self.write_state()?;
        if stop.load(Ordering::Relaxed) { Err(Interrupted::ByRequest.into()) } else { Ok(()) }
    }

    /// Finds the addresses of this day. Targets without one have a row that says why.
    fn resolve(&mut self, parts: &mut Parts, stop: &AtomicBool) -> Result<()> {
        let mut all = Vec::new();
        for group in self.groups {
            let places: BTreeMap<u64, usize> = lines(&group.list)?.into_iter().zip(0..).collect();
            let mut jobs: Vec<Option<Job>> = vec![None; places.len()];
            let mut whom = Whom::new(&group.list, self.exclusions()?, &self.settings.targets, self.hooks)?;
            whom.resolve();
            let mut rows = Vec::new();
            let mut is_read = false;
            while (!is_read || whom.pending() > 0) && !stop.load(Ordering::Relaxed) {
                let mut found = Vec::new();
                while !is_read && whom.pending() < MOST_QUEUED {
                    match whom.read(|_| false)? {
                        Some(next) => found.extend(next),
                        None => is_read = true,
                    }
                }
                found.extend(whom.poll(LONGEST_WAIT)?);
                for next in found {
                    match next {
                        Next::Ask(job) => {
                            if let Some(place) = places.get(&job.line).and_then(|place| jobs.get_mut(*place)) {
                                place.get_or_insert(job);
                            }
                        }
                        Next::Leave { target, outcome, detail, .. } => rows.push(ScanRow {
                            target: Some(target),
                            group: Some(group.name.clone()),
                            time_ns: Some(unix_ns()),
                            outcome: Some(outcome),
                            detail: Some(detail),
                            ..ScanRow::default()
                        }),
                    }
                }
            }
            rows.iter().for_each(|row| self.summary.add(row));
            parts.add(&rows)?;
            all.push(jobs);
        }
        self.jobs = all;
        Ok(())
    }

    /// Reads whom to leave out, with those that objected before.
    fn exclusions(&self) -> Result<Exclusions> {
        let mut exclusions = whom::exclusions(&self.settings.targets, self.hooks)?;
        whom::add_if_there(&mut exclusions, &self.settings.folder.join(EXCLUDED))?;
        Ok(exclusions)
    }

    /// Begins what is due, as far as the rate allows.
    fn begin_due(&mut self, now: Time) -> Result<()> {
        while let Some(due) = self.schedule.poll(now) {
            let job = self.jobs.get(due.group).and_then(|jobs| jobs.get(usize::try_from(due.target).ok()?)?.clone());
            let Some(job) = job else { continue };
            if self.queue.len() < MOST_QUEUED {
                self.queue.push_back((due.group, job));
            } else {
                self.note_missed(
                    due.group,
                    1,
                    due.at.as_nanos(),
                    due.at.as_nanos(),
                    "the rate is too low for the groups",
                )?;
            }
        }
        for missed in self.schedule.missed() {
            self.note_missed(missed.group, missed.count, missed.from_ns, missed.to_ns, "nobody was there to ask")?;
        }
        // An address that was asked a moment ago goes to the end.
        for _ in 0..self.queue.len() {
            if !self.scanner.has_room() {
                break;
            }
            let Some((group, job)) = self.queue.pop_front() else { break };
            match self.pace.start(job.address.ip(), now) {
                Start::Now => self.ask(group, job),
                Start::Address(_) => self.queue.push_back((group, job)),
                Start::Rate(_) => {
                    self.queue.push_front((group, job));
                    break;
                }
            }
        }
        Ok(())
    }

    fn ask(&mut self, group: usize, job: Job) {
        let id = self.next;
        self.next += 1;
        let server_name = job.name.as_ref().map(ToString::to_string);
        let keeps_packets = self.settings.capture_every.is_some_and(|every| id.is_multiple_of(every));
        self.scanner.ask(Request { id, address: job.address, server_name, keeps_packets });
        self.in_flight.insert(id, (group, job));
    }

    /// Waits for answers, and for what is due next.
    fn turn(&mut self, now: Time) -> Result<Vec<ScanRow>> {
        let until = self.schedule.next_at().and_then(|at| at.checked_since(now)).unwrap_or(Duration::ZERO);
        let wait = if self.queue.is_empty() { until.min(LONGEST_WAIT) } else { Duration::from_nanos(1_000_000) };
        let mut answers: Vec<Answer> = Vec::new();
        let wait = std::time::Duration::from_nanos(wait.as_nanos());
        self.scanner.turn(wait, &mut |answer| answers.push(answer)).context("the sockets")?;
        let mut rows = Vec::new();
        for answer in answers {
            let Some((group, job)) = self.in_flight.remove(&answer.id) else { continue };
            if answer.outcome == Outcome::Prohibited {
                self.leave_out(&job, answer.detail.as_deref())?;
            }
            let mut row = row(job, answer);
            row.group = Some(self.groups[group].name.clone());
            self.origins.complete(&mut row);
            rows.push(row);
        }
        Ok(rows)
    }

    /// Leaves a network out for good: it is in a file of the scan.
    fn leave_out(&mut self, job: &Job, detail: Option<&str>) -> Result<()> {
        let prefix = network(job.address.ip());
        let reason = objection(job.address.ip(), detail);
        self.hooks.status(&format!("warning: {prefix} is left out from now on: {reason}"));
        self.append(EXCLUDED, &format!("{prefix} # {}\n", shown(&reason)))?;
        let is_meant = |job: &Job| prefix.contains(&job.address.ip().to_canonical());
        for job in self.jobs.iter_mut().flatten() {
            job.take_if(|job| is_meant(job));
        }
        self.queue.retain(|(_, job)| !is_meant(job));
        Ok(())
    }

    fn append(&self, name: &str, line: &str) -> Result<()> {
        let path = self.settings.folder.join(name);
        let file = open_regular_with(&path, File::options().create(true).append(true));
        file.and_then(|mut file| file.write_all(line.as_bytes())).with_context(|| path.shown().to_string())
    }

    fn note_missed(&self, group: usize, count: u64, from_ns: u64, to_ns: u64, why: &'static str) -> Result<()> {
        let group = &self.groups[group].name;
        let (from_ns, to_ns) = (self.begin_ns.saturating_add(from_ns), self.begin_ns.saturating_add(to_ns));
        self.hooks.status(&format!("warning: {count} handshakes of {group} did not begin: {why}"));
        self.append(MISSED, &(serde_json::to_string(&MissedLine { group, count, from_ns, to_ns, why })? + "\n"))
    }

    fn write_state(&self) -> Result<()> {
        let state = State {
            begin_ns: self.begin_ns,
            positions: self.schedule.positions(),
            groups: self.groups.iter().map(|group| group.name.clone()).collect(),
        };
        let path: PathBuf = self.settings.folder.join(STATE);
        let aside = path.with_extension("partial");
        fs::write(&aside, serde_json::to_string(&state)? + "\n").with_context(|| aside.shown().to_string())?;
        fs::rename(&aside, &path).with_context(|| path.shown().to_string())
    }
}
