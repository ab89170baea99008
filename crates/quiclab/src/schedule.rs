//! Performs many runs, some side by side. A run that fails does not stop the others.

use std::{
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use quiclab_experiment::run::Run;
use quiclab_record::{Records, layout::FAILURE_FILE};
use quiclab_testbed::perform::{Host, PerformError, Performed};
use serde::Serialize;

use crate::{laboratory::Prepared, progress::Progress, signals};

/// A run to be performed, and the name of its record.
#[derive(Clone, Debug)]
pub struct Job {
    /// The run.
    pub run: Run,
    /// Name of its record.
    pub name: String,
    /// The run in a few words.
    pub label: String,
}

/// What became of the jobs that were started.
#[derive(Debug, Default)]
pub struct Done {
    /// Those that left a record, in the order in which they ended.
    pub performed: Vec<Cost>,
    /// Number of those that failed.
    pub failed: usize,
}

/// What a run cost this machine. Not part of its record, which is the same everywhere.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Name of the record.
    pub record: String,
    /// CPU time of its QEMU, user and system, in seconds.
    pub cpu_seconds: f64,
    /// Largest resident memory of its QEMU in bytes.
    pub resident_bytes: u64,
    /// From start to end, in seconds of this machine's clock.
    pub elapsed_seconds: f64,
}

/// What to tell people of a run that left a record, before what it cost.
pub type Tell<'a> = &'a (dyn Fn(&Job, &Performed) -> String + Sync);

/// Performs `jobs`, one at a time on each of `hosts`, until all are done or a host is told to stop.
pub fn perform_all(
    prepared: &Prepared,
    jobs: &[Job],
    hosts: &[Host],
    records: &Records,
    failures: &Path,
    tell: Tell,
) -> Done {
    let workers = hosts.len().min(jobs.len());
    let progress = Progress::new(jobs.len(), workers);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Done::default());
    thread::scope(|scope| {
        for host in &hosts[..workers] {
            let (progress, next, done) = (&progress, &next, &done);
            scope.spawn(move || {
                while !host.stop.load(Ordering::Relaxed) {
                    let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                    let label = &job.label;
                    progress.on_start(label);
                    let start = Instant::now();
                    let result = prepared.perform(&job.run, records, failures, host);
                    let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    match result {
                        Ok(performed) => {
                            let told = format!("{} {}", tell(job, &performed), describe_cost(&performed));
                            progress.on_end(label, start.elapsed(), &told);
                            done.performed.push(cost(&job.name, &performed));
                        }
                        Err(PerformError::Testbed(error)) if signals::is_interruption(&error) => return,
                        Err(error) => {
                            let kept = keep(&error, &failures.join(&job.name));
                            progress.on_end(label, start.elapsed(), &format!("FAILED: {error}{kept}"));
                            done.failed += 1;
                        }
                    }
                }
            });
        }
    });
    progress.finish();
    done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Its goodput and how many warnings there are, in a few words.
pub fn tell_goodput(_job: &Job, performed: &Performed) -> String {
    let goodput = performed.metrics.metrics.goodput_wire_bps;
    let goodput = goodput.map_or_else(|| "no goodput".to_owned(), |bps| format!("{:.2} Mbit/s on the wire", bps / 1e6));
    match performed.metrics.warnings.len() {
        0 => goodput,
        1 => format!("{goodput}, 1 warning"),
        count => format!("{goodput}, {count} warnings"),
    }
}

fn describe_cost(performed: &Performed) -> String {
    format!("({:.1} CPU s, {:.1} s)", performed.host_use.cpu_seconds, performed.elapsed.as_secs_f64())
}

fn cost(name: &str, performed: &Performed) -> Cost {
    Cost {
        record: name.to_owned(),
        cpu_seconds: performed.host_use.cpu_seconds,
        resident_bytes: performed.host_use.resident_bytes,
        elapsed_seconds: performed.elapsed.as_secs_f64(),
    }
}

/// Where to look for more. A failure of the testbed leaves its message there, so that the report can show it.
fn keep(error: &PerformError, folder: &Path) -> String {
    match error {
        PerformError::Run { kept, .. } => {
            kept.as_ref().map_or_else(String::new, |kept| format!("\n    more in {}", kept.display()))
        }
        PerformError::Testbed(error) => {
            // On a full disk this fails as well; the message has been printed.
            let _ =
                fs::create_dir_all(folder).and_then(|()| fs::write(folder.join(FAILURE_FILE), format!("{error:#}\n")));
            String::new()
        }
    }
}
