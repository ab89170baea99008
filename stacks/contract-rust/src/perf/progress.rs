//! What an endpoint has carried so far, as lines of a file that grows while it works: docs/reference/endpoint-contract.md.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::PathBuf,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Those of this process. A stack counts into them, whether anybody asks or not.
pub static COUNTERS: Counters = Counters::new();

/// A value that is not known.
const UNKNOWN: u64 = u64::MAX;

/// How long before a line the stack is asked for what only it knows.
const HEAD_START: Duration = Duration::from_millis(5);

/// What is counted, since the process started and over all its connections.
#[derive(Debug)]
pub struct Counters {
    sent: AtomicU64,
    received: AtomicU64,
    exchanges: AtomicU64,
    connections: AtomicU64,
    rtt_ns: AtomicU64,
    window: AtomicU64,
    lost: AtomicU64,
    /// True while a line needs news of a path.
    asks: AtomicBool,
}

/// What a stack knows of the path of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Smoothed round-trip time.
    pub rtt: Duration,
    /// Congestion window, in bytes.
    pub window: u64,
    /// Packets declared lost so far.
    pub lost: u64,
}

impl Counters {
    const fn new() -> Self {
        Self {
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            exchanges: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            rtt_ns: AtomicU64::new(UNKNOWN),
            window: AtomicU64::new(UNKNOWN),
            lost: AtomicU64::new(UNKNOWN),
            asks: AtomicBool::new(false),
        }
    }

    /// So many bytes of streams were handed to the stack.
    pub fn sent(&self, bytes: u64) {
        self.sent.fetch_add(bytes, Relaxed);
    }

    /// So many were taken from it.
    pub fn received(&self, bytes: u64) {
        self.received.fetch_add(bytes, Relaxed);
    }

    /// Both directions of a stream are over.
    pub fn exchanged(&self) {
        self.exchanges.fetch_add(1, Relaxed);
    }

    /// A handshake is complete.
    pub fn connected(&self) {
        self.connections.fetch_add(1, Relaxed);
    }

    /// Takes news of a path where a line needs them; otherwise `path` is not called.
    pub fn path(&self, path: impl FnOnce() -> Option<Path>) {
        if self.asks.load(Relaxed)
            && let Some(path) = path()
        {
            self.rtt_ns.store(path.rtt.as_nanos().try_into().unwrap_or(UNKNOWN), Relaxed);
            self.window.store(path.window, Relaxed);
            self.lost.store(path.lost, Relaxed);
            self.asks.store(false, Relaxed);
        }
    }

    fn line(&self, now: Duration) -> String {
        let known = |value: &AtomicU64| match value.load(Relaxed) {
            UNKNOWN => "null".to_owned(),
            value => value.to_string(),
        };
        format!(
            "{{\"monotonic_ns\":{},\"sent\":{},\"received\":{},\"exchanges\":{},\"connections\":{},\"rtt_ns\":{},\
             \"window\":{},\"lost\":{}}}\n",
            now.as_nanos(),
            self.sent.load(Relaxed),
            self.received.load(Relaxed),
            self.exchanges.load(Relaxed),
            self.connections.load(Relaxed),
            known(&self.rtt_ns),
            known(&self.window),
            known(&self.lost),
        )
    }
}

/// Where lines go, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The file that they are appended to.
    pub path: PathBuf,
    /// Time from a line to the next.
    pub interval: Duration,
}

/// Writes lines until it is dropped, which writes the last one.
#[derive(Debug)]
pub struct Reporter {
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Reporter {
    /// Begins.
    ///
    /// # Errors
    /// Where the file cannot be opened, or no thread be started.
    pub fn start(progress: &Progress) -> io::Result<Self> {
        let mut file = OpenOptions::new().append(true).create(true).open(&progress.path)?;
        let (stop, stopped) = mpsc::channel();
        let (interval, start) = (progress.interval, Instant::now());
        // The first line comes before the first byte.
        write(&mut file, Duration::ZERO)?;
        let thread = thread::Builder::new().name("progress".to_owned()).spawn(move || {
            let mut due = start;
            loop {
                due += interval;
                let early = due.saturating_duration_since(Instant::now()).saturating_sub(HEAD_START);
                let mut goes_on = stopped.recv_timeout(early) == Err(RecvTimeoutError::Timeout);
                COUNTERS.asks.store(true, Relaxed);
                if goes_on {
                    let late = due.saturating_duration_since(Instant::now());
                    goes_on = stopped.recv_timeout(late) == Err(RecvTimeoutError::Timeout);
                }
                // Whoever reads the file has ended, where it cannot be written.
                if write(&mut file, start.elapsed()).is_err() || !goes_on {
                    return;
                }
            }
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write(file: &mut File, now: Duration) -> io::Result<()> {
    file.write_all(COUNTERS.line(now).as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::Folder;

    #[test]
    fn a_line_has_null_for_what_the_stack_does_not_say() {
        let counters = Counters::new();
        counters.path(|| unreachable!("nobody asks"));
        counters.sent(5);
        counters.received(6);
        counters.received(1);
        counters.connected();
        counters.exchanged();
        assert_eq!(
            counters.line(Duration::from_nanos(9)),
            "{\"monotonic_ns\":9,\"sent\":5,\"received\":7,\"exchanges\":1,\"connections\":1,\"rtt_ns\":null,\
             \"window\":null,\"lost\":null}\n"
        );
        counters.asks.store(true, Relaxed);
        counters.path(|| None);
        counters.path(|| Some(Path { rtt: Duration::from_micros(3), window: 4, lost: 0 }));
        counters.path(|| unreachable!("it is answered"));
        assert!(counters.line(Duration::ZERO).ends_with("\"rtt_ns\":3000,\"window\":4,\"lost\":0}\n"));
    }

    #[test]
    fn lines_are_appended_and_the_last_is_written_at_the_end() {
        let folder = Folder::new("progress");
        let path = folder.0.join("progress");
        fs::write(&path, "before\n").unwrap();
        let lines = || fs::read_to_string(&path).unwrap().lines().count();
        let reporter = Reporter::start(&Progress { path: path.clone(), interval: Duration::from_millis(10) }).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while lines() < 4 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(lines() >= 4);
        drop(reporter);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("before\n{\"monotonic_ns\":") && text.ends_with("}\n"), "{text}");

        let reporter = Reporter::start(&Progress { path: path.clone(), interval: Duration::from_secs(60) }).unwrap();
        drop(reporter);
        assert_eq!(lines(), text.lines().count() + 2);
        let nowhere = Progress { path: folder.0.join("no/folder"), interval: Duration::from_secs(1) };
        assert_eq!(Reporter::start(&nowhere).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
