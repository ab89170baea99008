//! What is shown while runs are under way: a bar on a terminal, plain lines elsewhere.

use std::{
    io::{self, IsTerminal},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use quiclab_units::shown;

/// The bar that is on the terminal, if one is: lines that are printed meanwhile must not run into it.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Says something on standard error, whatever else is shown there.
pub fn say(text: &str) {
    let shown = SHOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    match shown {
        Some(bar) => bar.suspend(|| status!("quiclab: {text}")),
        None => status!("quiclab: {text}"),
    }
}

/// A bar once the number of runs is known: one of no runs would be full. `wide_msg` is cut where the line would wrap.
fn set_style(bar: &ProgressBar, total: usize) {
    let template = match total {
        0 => "{spinner} preparing  {elapsed}  {wide_msg}",
        _ => "{bar:24} {pos}/{len} runs  {elapsed}  {wide_msg}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

/// Shared by all workers.
pub struct Progress {
    bar: Option<ProgressBar>,
    workers: usize,
    is_brief: AtomicBool,
    state: Mutex<State>,
}

/// Shortest time between lines where runs have no line each.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

#[derive(Default)]
struct State {
    /// When the last line was printed; `None` before the first.
    last_line: Option<Instant>,
    total: usize,
    done: usize,
    running: Vec<String>,
    elapsed: Duration,
}

impl Progress {
    /// Nothing done yet of `total` runs.
    pub fn new(total: usize, workers: usize) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(total as u64);
            set_style(&bar, total);
            bar.enable_steady_tick(Duration::from_millis(500));
            *SHOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(bar.clone());
            bar
        });
        let state = State { total, last_line: Some(Instant::now()), ..State::default() };
        Self { bar, workers, is_brief: AtomicBool::new(false), state: Mutex::new(state) }
    }

    /// Gives only failures a line of their own from now on.
    pub fn be_brief(&self) {
        self.is_brief.store(true, Ordering::Relaxed);
    }

    /// It has turned out that there are so many runs.
    pub fn expect(&self, total: usize) {
        self.lock().total = total;
        if let Some(bar) = &self.bar {
            bar.set_length(total as u64);
            set_style(bar, total);
        }
    }

    /// A run has started.
    pub fn on_start(&self, label: &str) {
        let mut state = self.lock();
        state.running.push(label.to_owned());
        self.show(&state);
    }

    /// A run that was started is left for later.
    pub fn on_put_back(&self, label: &str) {
        let mut state = self.lock();
        state.running.retain(|running| running != label);
        self.show(&state);
    }

    /// A run has ended after `elapsed`; `what` says how.
    pub fn on_end(&self, label: &str, elapsed: Duration, what: &str) {
        self.end(label, elapsed, what, !self.is_brief.load(Ordering::Relaxed));
    }

    /// A run has failed after `elapsed`; `what` says how.
    pub fn on_failure(&self, label: &str, elapsed: Duration, what: &str) {
        self.end(label, elapsed, what, true);
    }

    fn end(&self, label: &str, elapsed: Duration, what: &str, has_line: bool) {
        let mut state = self.lock();
        state.running.retain(|running| running != label);
        state.done += 1;
        state.elapsed += elapsed;
        let left = self.remaining(&state).map_or_else(String::new, |left| format!("about {left} left"));
        let line = format!("[{}/{}] {label}: {what}", state.done, state.total);
        match &self.bar {
            Some(bar) => {
                if has_line {
                    bar.suspend(|| status!("{line}"));
                }
                bar.set_position(state.done as u64);
            }
            None if has_line && left.is_empty() => status!("{line}"),
            None if has_line => status!("{line}; {left}"),
            None if state.last_line.is_none_or(|time| time.elapsed() >= BETWEEN_LINES) => {
                state.last_line = Some(Instant::now());
                status!("[{}/{}] {left}", state.done, state.total);
            }
            None => {}
        }
        self.show(&state);
    }

    /// All is over.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            *SHOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
            bar.finish_and_clear();
        }
    }

    fn show(&self, state: &State) {
        if let Some(bar) = &self.bar {
            let left = self.remaining(state).map_or_else(String::new, |left| format!("about {left} left, "));
            let running = if self.is_brief.load(Ordering::Relaxed) {
                String::new()
            } else {
                format!("running {}", state.running.join(", "))
            };
            bar.set_message(shown(&format!("{left}{running}")).into_owned());
        }
    }

    /// Estimates the time left from the mean time of the runs so far, shared by the workers.
    fn remaining(&self, state: &State) -> Option<String> {
        let runs = state.total.saturating_sub(state.done);
        if state.done == 0 || runs == 0 {
            return None;
        }
        let seconds = state.elapsed.as_secs_f64() / state.done as f64 * runs as f64 / self.workers as f64;
        Some(in_words(seconds))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// How much of a file was read: a bar on a terminal, nothing elsewhere.
pub struct BytesProgress(Option<ProgressBar>);

impl BytesProgress {
    /// Begins with a file of this many bytes; `None` where nobody knows. Shows nothing where it is not wanted.
    pub fn new(name: &str, length: Option<u64>, is_wanted: bool) -> Self {
        if !is_wanted || !io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = length.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        let template = if length.is_some() {
            "{bar:24} {bytes}/{total_bytes}  {binary_bytes_per_sec}  {eta} left  {wide_msg}"
        } else {
            "{spinner} {bytes}  {binary_bytes_per_sec}  {wide_msg}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(shown(name).into_owned());
        Self(Some(bar))
    }

    /// Counts what is read through it.
    pub fn count(&self, input: Box<dyn io::Read + Send>) -> Box<dyn io::Read + Send> {
        match &self.0 {
            Some(bar) => Box::new(bar.wrap_read(input)),
            None => input,
        }
    }

    /// All is read.
    pub fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn in_words(seconds: f64) -> String {
    match seconds.round() as u64 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use indicatif::{ProgressDrawTarget, TermLike};

    use super::*;

    /// A terminal of 80 columns that keeps what is written to it.
    #[derive(Clone, Debug, Default)]
    struct Written(Arc<Mutex<String>>);

    impl Written {
        fn push(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
    }

    impl TermLike for Written {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.push(text).and_then(|()| self.push("\n"))
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.push(text)
        }
        fn clear_line(&self) -> io::Result<()> {
            self.push("\n")
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_bar_has_a_number_of_runs_and_fits_into_80_columns() {
        let written = Written::default();
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::term_like(Box::new(written.clone())));
        set_style(&bar, 0);
        bar.tick();
        let text = written.0.lock().unwrap().clone();
        assert!(text.contains("preparing") && !text.contains("0/0") && !text.contains('\u{2588}'), "{text}");
        let state = Mutex::new(State { total: 3, ..State::default() });
        let progress = Progress { bar: Some(bar.clone()), workers: 2, is_brief: AtomicBool::new(false), state };
        progress.expect(3);
        progress.on_start("quiche-0.24, gso=on, pacing=txtime, server_qdisc=fq, queue_limit_packets=143, repetition 1");
        bar.tick();
        let text = written.0.lock().unwrap().clone();
        assert!(text.contains("0/3 runs") && text.contains("running quiche-0.24"), "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
        }
    }

    #[test]
    fn what_is_left_is_shared_by_the_workers() {
        let state = Mutex::new(State { total: 5, ..State::default() });
        let progress = Progress { bar: None, workers: 2, is_brief: AtomicBool::new(false), state };
        assert_eq!(progress.remaining(&progress.lock()), None);
        progress.on_end("x", Duration::from_secs(30), "done");
        assert_eq!(progress.remaining(&progress.lock()).as_deref(), Some("60 s"));
    }

    #[test]
    fn long_times_are_shown_in_long_units() {
        assert_eq!([59.6, 119.4, 150.0, 7500.0].map(in_words), ["60 s", "119 s", "3 min", "2 h 5 min"]);
    }
}
