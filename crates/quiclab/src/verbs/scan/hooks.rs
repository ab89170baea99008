//! What a survey asks of the command: the terminal, and files that a user names.

use std::{
    any::Any,
    fs::File,
    io::{self, IsTerminal, stderr},
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use quiclab_scan::survey::{Summary, SurveyHooks, SurveyProgress};

use crate::{
    session::{bounded_input, signals},
    terminal::output,
};

/// Where there is no terminal, a line comes no more often than this.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// The terminal and the signals of this process.
pub struct CommandHooks;

impl SurveyHooks for CommandHooks {
    fn status(&self, text: &str) {
        output::tell_line(text);
    }

    fn reading(&self) -> Box<dyn Any> {
        Box::new(signals::reading())
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        bounded_input::open(path)
    }

    fn read_list(&self, path: &Path) -> Result<Vec<u8>> {
        bounded_input::read(path, quiclab_inputs::MOST_LIST_BYTES)
    }

    fn progress(&self, targets: u64) -> Box<dyn SurveyProgress> {
        Box::new(ScanProgress::new(targets))
    }
}

/// A bar on a terminal, lines elsewhere.
struct ScanProgress {
    bar: Option<ProgressBar>,
    total: u64,
    begin: Instant,
    last: Instant,
}

impl ScanProgress {
    fn new(total: u64) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len} targets  {elapsed}, {eta} left  {msg}");
            let bar = ProgressBar::new(total);
            style.map_or(bar.clone(), |style| bar.with_style(style))
        });
        ScanProgress { bar, total, begin: Instant::now(), last: Instant::now() }
    }
}

impl SurveyProgress for ScanProgress {
    fn show(&mut self, summary: &Summary, read: u64, in_flight: usize) {
        let done = summary.rows();
        if let Some(bar) = &self.bar {
            bar.set_position(done.min(self.total));
            bar.set_message(format!("{in_flight} in flight; {}", summary.in_brief()));
            return;
        }
        if self.last.elapsed() < BETWEEN_LINES {
            return;
        }
        self.last = Instant::now();
        let rate = done as f64 / self.begin.elapsed().as_secs_f64().max(1e-9);
        let left = self.total.saturating_sub(done) as f64 / rate.max(1e-9);
        status!(
            "quiclab: {done} of {} targets, {read} read, {in_flight} in flight, {rate:.1}/s, about {} left; {}",
            self.total,
            in_words(left),
            summary.in_brief()
        );
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn in_words(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7_200.0 => format!("{:.0} min", seconds / 60.0),
        seconds if seconds < 172_800.0 => format!("{:.0} h", seconds / 3_600.0),
        seconds => format!("{:.0} days", seconds / 86_400.0),
    }
}
