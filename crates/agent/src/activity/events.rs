//! What the processor and the kernel count for the processes of an endpoint: perf_event_open(2).
//!
//! The counters are opened for the endpoint's first process, right after it has started its program, and are inherited by all that it
//! starts. Many machines have no counters of the processor for their guests, and many kernels allow them to root alone.

use std::{
    fs, io,
    os::fd::{AsRawFd, OwnedFd},
};

use nix::errno::Errno;
use quiclab_agent_protocol::activity::{Missing, Subject};

use super::recorder::{Recorder, TrackId};
use crate::perf_event::{self, Attributes, INHERIT, TASK_CLOCK, TYPE_SOFTWARE};

/// Name, `perf_event_attr.type`, `perf_event_attr.config`, in the order of [`COUNTERS`].
const EVENTS: [(u32, u64); 6] = [
    // PERF_TYPE_HARDWARE: CPU_CYCLES, INSTRUCTIONS, CACHE_MISSES.
    (0, 0),
    (0, 1),
    (0, 3),
    // PERF_TYPE_SOFTWARE: TASK_CLOCK, PAGE_FAULTS, CPU_MIGRATIONS.
    (TYPE_SOFTWARE, TASK_CLOCK),
    (TYPE_SOFTWARE, 2),
    (TYPE_SOFTWARE, 4),
];
const COUNTERS: [&str; 6] = ["cycles", "instructions", "cache_misses", "task_clock_ns", "page_faults", "migrations"];

const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING.
const READ_FORMAT: u64 = 3;

/// The counters of both endpoints.
#[derive(Default)]
pub struct Events {
    counters: Vec<Counter>,
    missing: Vec<Missing>,
}

struct Counter {
    /// One for each thread that the process had.
    descriptors: Vec<OwnedFd>,
    of: &'static str,
    name: &'static [&'static str],
    track: Option<TrackId>,
}

impl Events {
    /// Counts for `process` and all that it will start. What cannot be counted is noted.
    pub fn attach(&mut self, of: &'static str, process: u32) {
        let mut threads: Vec<u32> = fs::read_dir(format!("/proc/{process}/task"))
            .map(|entries| entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
            .unwrap_or_default();
        if threads.is_empty() {
            threads.push(process);
        }
        for (place, (kind, config)) in EVENTS.into_iter().enumerate() {
            let opened = threads.iter().map(|thread| open(kind, config, *thread));
            match opened.collect::<Result<Vec<_>, _>>() {
                Ok(descriptors) => {
                    self.counters.push(Counter { descriptors, of, name: &COUNTERS[place..=place], track: None })
                }
                Err(error) => self.note(COUNTERS[place], reason(error)),
            }
        }
    }

    fn note(&mut self, what: &str, reason: String) {
        if !self.missing.iter().any(|missing| missing.what == what) {
            self.missing.push(Missing { what: what.to_owned(), reason });
        }
    }

    /// Adds what is counted now.
    pub fn sample(&mut self, recorder: &mut Recorder) {
        for counter in &mut self.counters {
            let counted = counter.descriptors.iter().map(read).sum();
            let Counter { of, name, track, .. } = counter;
            let track = *track.get_or_insert_with(|| recorder.begin(of, Subject::Events, name));
            recorder.push(track, &[counted]);
        }
    }

    /// What could not be counted.
    pub fn missing(self) -> Vec<Missing> {
        self.missing
    }
}

/// Kernel and user mode where that is allowed; the counter is refused where it is not, so that all numbers mean the same.
fn open(kind: u32, config: u64, thread: u32) -> Result<OwnedFd, Errno> {
    let flags = INHERIT | EXCLUDE_HYPERVISOR;
    let attributes = Attributes { kind, config, read_format: READ_FORMAT, flags, ..Attributes::default() };
    perf_event::open(attributes, thread, None)
}

/// What was counted; where counters shared the processor in turns, what they would have counted all the time.
fn read(descriptor: &OwnedFd) -> u64 {
    let mut words = [0_u64; 3];
    // SAFETY: the buffer is as long as said.
    let length = unsafe { libc::read(descriptor.as_raw_fd(), words.as_mut_ptr().cast(), size_of_val(&words)) };
    let [counted, enabled, running] = words;
    if length != size_of_val(&words) as isize || running == 0 {
        return 0;
    }
    if enabled == running { counted } else { (u128::from(counted) * u128::from(enabled) / u128::from(running)) as u64 }
}

fn reason(error: Errno) -> String {
    let why = match error {
        Errno::ENOENT | Errno::ENODEV | Errno::EOPNOTSUPP | Errno::EINVAL => {
            "this machine has no such counter, as is usual for virtual machines"
        }
        Errno::EACCES | Errno::EPERM => {
            "this user may not count it; as root: sysctl kernel.perf_event_paranoid=1, or run quiclab as root"
        }
        Errno::ENOSYS => "the kernel has no perf_event_open",
        _ => "perf_event_open failed",
    };
    format!("{why} ({})", io::Error::from(error))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// The time of another process that burns CPU, by perf's clock and by the kernel's account for its parent.
    #[test]
    fn a_counter_that_is_allowed_agrees_with_what_the_kernel_reports_to_the_parent() {
        // It waits for a line, so that nothing runs before the counters are attached.
        let mut child = std::process::Command::new("sh")
            .args(["-c", "read line; (i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done) & wait"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let stolen = quiclab_testing::stolen();
        let mut events = Events::default();
        events.attach("server", child.id());
        let mut recorder = Recorder::default();
        recorder.begin_sample(0);
        events.sample(&mut recorder);
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        // SAFETY: all-zero bytes are a value of this structure of integers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // Other than getrusage, this counts this child alone, whatever other tests start.
        // SAFETY: the structure outlives the call.
        let waited = unsafe { libc::wait4(child.id() as i32, std::ptr::null_mut(), 0, &raw mut usage) };
        assert_eq!(waited, child.id() as i32);
        assert!(child.wait().is_err(), "wait4 has already collected it");
        recorder.begin_sample(1);
        events.sample(&mut recorder);
        let (_, series) = recorder.finish();
        let clock = series.iter().find_map(|series| series.counters.get("task_clock_ns"));
        let Some(clock) = clock else {
            let missing = events.missing();
            let missing = missing.iter().find(|missing| missing.what == "task_clock_ns").expect("a reason");
            return quiclab_testing::skip(format_args!("task_clock_ns is not counted: {}", missing.reason));
        };
        let micros = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
        let expected_ns = (micros(usage.ru_utime) + micros(usage.ru_stime)) as u64 * 1000;
        let counted: u64 = clock.iter().sum();
        // The clock goes on while the hypervisor runs something else; the account does not.
        let stolen_ns = (quiclab_testing::stolen() - stolen + quiclab_testing::TICK).as_nanos() as u64;
        let range = expected_ns - expected_ns / 5..expected_ns + expected_ns / 5 + stolen_ns;
        assert!(counted > 50_000_000 && range.contains(&counted), "{counted} {expected_ns} {stolen_ns}");
        for name in &COUNTERS[..3] {
            let is_counted = series.iter().any(|series| series.counters.contains_key(*name));
            let is_missing = events.missing.iter().any(|missing| missing.what == *name && !missing.reason.is_empty());
            assert!(is_counted != is_missing, "{name}: either counted or missing with a reason");
        }
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        assert!(reason(Errno::EACCES).contains("perf_event_paranoid"));
        assert!(reason(Errno::ENOENT).contains("virtual machines"));
    }
}
