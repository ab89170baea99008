//! The scan itself: asks, at a pace, and writes what comes of it.

use std::{
    collections::HashMap,
    net::IpAddr,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use nix::sys::resource::{Resource, getrlimit};
use quiclab_supplies::process::Interrupted;
use quiclab_units::{Duration, Time};

use super::{
    hooks::{SurveyHooks, SurveyProgress},
    origins::Origins,
    parts::Parts,
    row::ScanRow,
    settings::{AddressChoice, SurveySettings},
    summary::Summary,
    whom::{self, Job, Next, Whom},
};
use crate::{
    Answer, Outcome, Request, Scanner,
    targets::{
        Pace, Waiting,
        exclusions::{Entry, Source, network},
        journal::Journal,
    },
};

/// Targets that wait for their turn.
const MOST_WAITING: usize = 20_000;
/// Names that are resolved at the same time.
const MOST_LOOKUPS: usize = 400;
/// Handshakes that begin together after a quiet time.
const BURST: u32 = 1;
/// Nothing waits for longer.
const LONGEST_WAIT: Duration = Duration::from_nanos(20_000_000);
/// While names are being resolved.
const SHORT_WAIT: Duration = Duration::from_nanos(1_000_000);
/// Files, sockets and pipes that a scan opens, with some to spare.
const FEWEST_DESCRIPTORS: u64 = 64;
/// Transport parameters of a server that its row lists: RFC 9000 and its extensions have some dozens.
const MOST_PARAMETERS: usize = 256;

/// Everything that a scan is made of.
struct Scan<'a> {
    settings: &'a SurveySettings,
    hooks: &'a dyn SurveyHooks,
    whom: Whom<'a>,
    waiting: Waiting<Job>,
    pace: Pace,
    scanner: Scanner,
    journal: Journal,
    parts: Parts,
    origins: Origins,
    in_flight: HashMap<u64, Job>,
    /// Rows that were not written yet.
    rows: Vec<(ScanRow, u64)>,
    summary: Summary,
    next: u64,
    list_ended: bool,
    /// Whether each address of a name is a target.
    has_many_addresses: bool,
    /// Whether rows were written that the journal does not have.
    is_journal_behind: bool,
    begin: Instant,
}

/// Asks everyone on the list who was not asked before.
///
/// # Errors
/// A list, an exclusion or a table that cannot be read; a folder of another list; a full disk; an interruption.
pub fn ask_once(settings: &SurveySettings, list: &Path, stop: &AtomicBool, hooks: &dyn SurveyHooks) -> Result<Summary> {
    check_descriptors()?;
    let folder = &settings.folder;
    whom::make_folder(folder)?;
    let list = whom::list_file(list, folder, hooks)?;
    let mut journal = Journal::open(folder, whom::hash(&list)?)?;
    let mut exclusions = whom::exclusions(&settings.targets, hooks)?;
    journal.unite(&mut exclusions)?;
    let mut whom = Whom::new(&list, exclusions, &settings.targets, hooks)?;
    whom.resolve();
    let parts = Parts::open(folder, settings.format)?;
    let scanner = Scanner::new(&settings.scanner).context("the sockets")?;
    let total = total(&list, settings, hooks)?;
    let mut scan = Scan {
        settings,
        hooks,
        whom,
        waiting: Waiting::new(MOST_WAITING),
        pace: Pace::new(settings.rate, BURST, Time::from_nanos(0)),
        scanner,
        journal,
        parts,
        origins: Origins::read(&settings.origins, hooks)?,
        in_flight: HashMap::new(),
        rows: Vec::new(),
        summary: Summary::default(),
        next: 0,
        list_ended: false,
        has_many_addresses: settings.targets.addresses == AddressChoice::All,
        is_journal_behind: false,
        begin: Instant::now(),
    };
    scan.note_interrupted(&list)?;
    let mut progress = hooks.progress(total);
    if scan.summary.rows() > 0 {
        hooks.status(&format!(
            "quiclab: {} handshakes were interrupted by the end of an earlier start, and are not repeated",
            scan.summary.rows()
        ));
    }
    let done = scan.run(stop, progress.as_mut());
    progress.finish();
    // What is known is kept, whatever went wrong.
    let written = scan.write();
    let Scan { parts, summary, is_journal_behind, .. } = scan;
    // The next start compares the rows that wait with the journal.
    let closed = if is_journal_behind { Ok(()) } else { parts.finish() };
    if done.is_ok() && summary.rows() == 0 {
        hooks.status(&format!(
            "quiclab: nobody was left to ask: earlier starts of this scan have asked all {total} targets"
        ));
    }
    done?;
    written?;
    closed?;
    Ok(summary)
}

/// Libraries below end the process where they cannot open a file for random numbers.
fn check_descriptors() -> Result<()> {
    let (limit, _) = getrlimit(Resource::RLIMIT_NOFILE).context("the limit of open files")?;
    if limit < FEWEST_DESCRIPTORS {
        bail!(
            "Too many open files: found a limit of {limit}, expected at least {FEWEST_DESCRIPTORS}\nhint: ulimit -n \
             {FEWEST_DESCRIPTORS}"
        );
    }
    Ok(())
}

/// What becomes of an answer.
pub(super) fn row(job: Job, mut answer: Answer) -> ScanRow {
    let http = answer.http.unwrap_or_default();
    let parameters = answer.class.as_mut().and_then(|class| class.transport_parameters.as_mut());
    if let Some(cut) = parameters.and_then(cut_parameters) {
        answer.detail = Some(answer.detail.map_or(cut.clone(), |detail| format!("{detail}; {cut}")));
    }
    ScanRow {
        target: Some(job.target),
        rank: job.rank,
        name: job.name.map(|name| name.to_string()),
        server: Some(job.address),
        time_ns: Some(answer.started),
        outcome: Some(answer.outcome.name().to_owned()),
        detail: answer.detail,
        handshake_ns: answer.handshake_ns,
        class: answer.class,
        http_status: (http.status > 0).then_some(http.status),
        http_server: http.server,
        http_alt_svc: http.alt_svc,
        http_headers: http.headers,
        ..ScanRow::default()
    }
}

/// Keeps the first ones, and says so where there were more.
fn cut_parameters(parameters: &mut Vec<u64>) -> Option<String> {
    let count = parameters.len();
    parameters.truncate(MOST_PARAMETERS);
    parameters.shrink_to_fit();
    (count > MOST_PARAMETERS).then(|| format!("the first {MOST_PARAMETERS} of {count} transport parameters were kept"))
}

/// Why a network is left out: who was asked, and which message says so.
pub(super) fn objection(address: IpAddr, detail: Option<&str>) -> String {
    format!("{address} answered: administratively prohibited ({})", detail.unwrap_or("ICMP"))
}

/// Targets of a list.
fn total(list: &Path, settings: &SurveySettings, hooks: &dyn SurveyHooks) -> Result<u64> {
    let exclusions = whom::exclusions(&settings.targets, hooks)?;
    let mut whom = Whom::new(list, exclusions, &settings.targets, hooks)?;
    whom.count()
}

impl Scan<'_> {
    fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Gives a row to those that a kill left without one: they are not asked again.
    fn note_interrupted(&mut self, list: &Path) -> Result<()> {
        let with_row = self.parts.waiting();
        for Job { line, target, rank, name, address } in whom::jobs_at(list, self.journal.interrupted())? {
            if with_row.contains(&(target.clone(), address.ip().to_string())) {
                self.journal.written(&[(line, address.ip())])?;
                continue;
            }
            let row = ScanRow {
                target: Some(target),
                rank,
                name: name.map(|name| name.to_string()),
                server: Some(address),
                outcome: Some("interrupted".to_owned()),
                detail: Some("an earlier start of this scan ended before the answer was written".to_owned()),
                ..ScanRow::default()
            };
            self.rows.push((row, line));
        }
        self.write()
    }

    fn run(&mut self, stop: &AtomicBool, progress: &mut dyn SurveyProgress) -> Result<()> {
        loop {
            let is_stopping = stop.load(Ordering::Relaxed);
            if !is_stopping {
                self.refill()?;
            }
            let wait = if is_stopping { LONGEST_WAIT } else { self.ask()? };
            let is_over = self.in_flight.is_empty()
                && (is_stopping || (self.list_ended && self.waiting.is_empty() && self.whom.pending() == 0));
            if is_over && self.rows.is_empty() {
                return if is_stopping { Err(Interrupted::ByRequest.into()) } else { Ok(()) };
            }
            let mut answers = Vec::new();
            let wait = std::time::Duration::from_nanos(wait.as_nanos());
            self.scanner.turn(wait, &mut |answer| answers.push(answer)).context("the sockets")?;
            for answer in answers {
                self.on_answer(answer)?;
            }
            self.write()?;
            self.parts.advance()?;
            progress.show(&self.summary, self.whom.counts().targets, self.in_flight.len());
        }
    }

    /// Reads the list as far as there is room, and takes what the resolver has found.
    fn refill(&mut self) -> Result<()> {
        while !self.list_ended && !self.waiting.is_full() && self.whom.pending() < MOST_LOOKUPS {
            let journal = &self.journal;
            // A name may have addresses that an earlier start did not come to.
            let is_done = |line| !self.has_many_addresses && journal.was_begun(line);
            let Some(next) = self.whom.read(is_done)? else {
                self.list_ended = true;
                break;
            };
            self.take(next)?;
        }
        if self.whom.pending() > 0 && !self.waiting.is_full() {
            let wait = if self.waiting.is_empty() && self.in_flight.is_empty() { LONGEST_WAIT } else { Duration::ZERO };
            let next = self.whom.poll(wait)?;
            self.take(next)?;
        }
        Ok(())
    }

    fn take(&mut self, next: Vec<Next>) -> Result<()> {
        for next in next {
            match next {
                Next::Ask(job) if self.journal.was_asked(job.line, job.address.ip()) => {}
                Next::Ask(job) => {
                    // A name may have more addresses than there is room.
                    if let Err(job) = self.waiting.push(job.address.ip(), job) {
                        let Job { line, target, .. } = job;
                        self.leave(line, target, "not_sent", "too many addresses wait".to_owned());
                    }
                }
                Next::Leave { line, target, outcome, detail } if !self.journal.was_begun(line) => {
                    self.leave(line, target, &outcome, detail);
                }
                Next::Leave { .. } => {}
            }
        }
        Ok(())
    }

    fn leave(&mut self, line: u64, target: String, outcome: &str, detail: String) {
        let (target, outcome, detail) = (Some(target), Some(outcome.to_owned()), Some(detail));
        self.rows.push((ScanRow { target, outcome, detail, ..ScanRow::default() }, line));
    }

    /// Begins what may begin now. Gives how long there is nothing to do.
    fn ask(&mut self) -> Result<Duration> {
        let mut jobs = Vec::new();
        let now = self.now();
        let mut wait = if self.whom.pending() > 0 { SHORT_WAIT } else { LONGEST_WAIT };
        while self.in_flight.len() + jobs.len() < self.settings.scanner.most_in_flight {
            match self.waiting.poll(&mut self.pace, now) {
                Ok((_, job)) => jobs.push(job),
                Err(at) => {
                    let until = at.and_then(|at| at.checked_since(now));
                    wait = until.map_or(wait, |until| until.min(wait));
                    break;
                }
            }
        }
        let asked: Vec<_> = jobs.iter().map(|job| (job.line, job.address.ip())).collect();
        if !asked.is_empty() {
            self.journal.asking(&asked)?;
        }
        for job in jobs {
            let id = self.next;
            self.next += 1;
            let keeps_packets = self.settings.capture_every.is_some_and(|every| id.is_multiple_of(every));
            let server_name = job.name.as_ref().map(ToString::to_string);
            self.scanner.ask(Request { id, address: job.address, server_name, keeps_packets });
            self.in_flight.insert(id, job);
            wait = Duration::ZERO;
        }
        Ok(wait)
    }

    fn on_answer(&mut self, answer: Answer) -> Result<()> {
        let Some(job) = self.in_flight.remove(&answer.id) else { return Ok(()) };
        if answer.outcome == Outcome::Prohibited {
            self.leave_out(&job, answer.detail.as_deref())?;
        }
        self.parts.kept().add(&answer);
        let line = job.line;
        let mut row = row(job, answer);
        self.origins.complete(&mut row);
        self.rows.push((row, line));
        Ok(())
    }

    /// A network that says it does not want to be asked is not asked any more.
    fn leave_out(&mut self, job: &Job, detail: Option<&str>) -> Result<()> {
        let prefix = network(job.address.ip());
        let reason = objection(job.address.ip(), detail);
        self.hooks.status(&format!("warning: {prefix} is left out from now on: {reason}"));
        self.journal.exclude(Entry::Prefix(prefix), &reason)?;
        self.whom.exclusions().add(Entry::Prefix(prefix), Source::Scan(reason.clone()));
        for (_, job) in self.waiting.remove(|address| prefix.contains(&address.to_canonical())) {
            self.leave(job.line, job.target, "excluded", format!("{prefix}: {reason}"));
        }
        Ok(())
    }

    /// Rows first, then the journal: a row that is in neither has an address that is asked, and counts as interrupted.
    fn write(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let (rows, lines): (Vec<ScanRow>, Vec<u64>) = std::mem::take(&mut self.rows).into_iter().unzip();
        self.parts.add(&rows)?;
        self.is_journal_behind = true;
        let mut asked = Vec::new();
        for (row, line) in rows.iter().zip(lines) {
            self.summary.add(row);
            match row.server {
                Some(server) => asked.push((line, server.ip())),
                None => self.journal.written_unasked(line)?,
            }
        }
        if !asked.is_empty() {
            self.journal.written(&asked)?;
        }
        self.is_journal_behind = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transport_parameters_are_whole_up_to_a_bound() {
        for (count, kept, is_cut) in [(0, 0, false), (256, 256, false), (257, 256, true), (30_000, 256, true)] {
            let mut parameters = (0..count).collect();
            let output_tail = cut_parameters(&mut parameters);
            assert_eq!(parameters, (0..kept).collect::<Vec<_>>());
            assert_eq!(output_tail.is_some_and(|output_tail| output_tail.contains(&format!("256 of {count}"))), is_cut);
        }
    }
}
