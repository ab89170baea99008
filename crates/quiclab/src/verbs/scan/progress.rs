//! How far a scan is.

use std::{
    io::{IsTerminal, stderr},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::summary::Summary;

/// Where there is no terminal, a line comes no more often than this.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// A bar on a terminal, lines elsewhere.
pub struct ScanProgress {
    bar: Option<ProgressBar>,
    total: u64,
    begin: Instant,
    last: Instant,
}

impl ScanProgress {
    /// Shows the progress of a scan of so many targets.
    pub fn new(total: u64) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len} targets  {elapsed}, {eta} left  {msg}");
            let bar = ProgressBar::new(total);
            style.map_or(bar.clone(), |style| bar.with_style(style))
        });
        ScanProgress { bar, total, begin: Instant::now(), last: Instant::now() }
    }

    /// `done`: rows by now.
    pub fn show(&mut self, summary: &Summary, read: u64, in_flight: usize) {
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

    /// Nothing more is shown.
    pub fn finish(&self) {
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
