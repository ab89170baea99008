//! Many handshakes with the same two processes: nothing is started, and no record is written, between one and the next.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::Instant,
};

use anyhow::{Context, Result, bail};
use nix::{
    sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity},
    time::{ClockId, clock_gettime},
    unistd::Pid,
};
use quiclab_experiment::{run::Run, stack::Role};
use quiclab_metrics::RunMetrics;
use quiclab_record::{Observed, measure::measure_capture};
use quiclab_sim::transfer::{End, Failed, Side, contents::ContentReader};
use quiclab_units::Time;

use super::{
    Frames, GUEST_EPOCH_SECONDS, Logs, Passed, Process, Program, Reader, Transferring, addresses, failure_of,
    file_names, foreign, loss_fault, observed_of, reads_contents, transfer,
};
use crate::{
    collect::secrets_of,
    perform::{Host, Interrupted, Sides},
};

/// One of them.
#[derive(Clone, Debug)]
pub struct HandshakeSeen {
    /// The path's seed.
    pub seed: u64,
    /// Why it does not count, if it does not.
    pub failure: Option<String>,
    /// What was measured: as in a record, from the packets at both taps.
    pub metrics: RunMetrics,
}

/// CPU seconds of many handshakes, by what they were used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct HandshakeCosts {
    /// The client's process, from its start to its end.
    pub client: f64,
    /// The server's.
    pub server: f64,
    /// The path with its rules, and the orders to both processes.
    pub simulation: f64,
    /// The work from packets to metrics.
    pub measurement: f64,
    /// Orders that both processes answered: each costs two changes from one process to another.
    #[serde(skip)]
    pub orders: u64,
}

/// Performs `count` transfers of the settings of `run`, each with a new connection, with seeds that follow on that of `run`. `each` gets what was
/// measured; taps keep whole packets, as nothing is stored. Returns the CPU seconds of all of them.
///
/// # Errors
/// Where an endpoint fails or cannot be started anew, or an interruption.
pub(in crate::sim) fn handshakes(
    run: &Run,
    sides: Sides<Program>,
    work: &Path,
    host: &Host,
    count: u64,
    each: &mut dyn FnMut(HandshakeSeen) -> Result<()>,
) -> Result<HandshakeCosts> {
    let work = &work.canonicalize()?;
    let transferring = Transferring { run, sides, work, record: work, host };
    transferring.fill_folders()?;
    let deadline = Instant::now() + host.timeout;
    let _pinned = OneProcessor::take()?;
    let start = |role| transferring.start_with(role, deadline, Logs::KeysOnly);
    let mut bench = Bench {
        server: start(Role::Server)?,
        client: start(Role::Client)?,
        reader: Reader::new(addresses(run.settings.path.ip).map(|address| address.socket), work),
        key_logs: ["server", "client"].map(|role| NewBytes::new(&work.join(role).join("logs/keys.log"))),
        downloads: work.join("client/downloads"),
        host,
        deadline,
        costs: HandshakeCosts::default(),
    };
    for number in 0..count {
        let run = Run { seed: run.seed + number, ..run.clone() };
        if number > 0 {
            bench.start_anew(&run)?;
        }
        each(bench.handshake(&run)?)?;
    }
    let mut costs = bench.costs;
    costs.orders = bench.client.orders + bench.server.orders;
    let ends =
        [(Side::Client, &mut bench.client, &mut costs.client), (Side::Server, &mut bench.server, &mut costs.server)];
    for (side, process, seconds) in ends {
        match process.finish() {
            Ok(end) => *seconds = end.host_use.cpu_seconds,
            Err(error) => bail!("{}", failure_of(side, &error)),
        }
    }
    Ok(costs)
}

/// The two endpoints and what is kept of them.
struct Bench<'a> {
    server: Process,
    client: Process,
    reader: Reader,
    key_logs: [NewBytes; 2],
    /// Where the client stores what it gets.
    downloads: PathBuf,
    host: &'a Host,
    deadline: Instant,
    costs: HandshakeCosts,
}

impl Bench<'_> {
    fn start_anew(&mut self, run: &Run) -> Result<()> {
        let begun = cpu_seconds()?;
        // A file that is written over is written to the disk at once, by ext4 for example; one that goes away is not.
        for name in file_names(&run.settings.workload) {
            fs::remove_file(self.downloads.join(name)).ok();
        }
        for (side, process) in [(Side::Server, &mut self.server), (Side::Client, &mut self.client)] {
            if let Err(error) = process.start_anew() {
                bail!("{}\nhint: the program may not know the order that starts it anew", failure_of(side, &error));
            }
        }
        self.reader.forget();
        self.costs.simulation += cpu_seconds()? - begun;
        Ok(())
    }

    fn handshake(&mut self, run: &Run) -> Result<HandshakeSeen> {
        let begun = cpu_seconds()?;
        let settings = &run.settings;
        let transfer = transfer(run)?;
        let [server, client] = addresses(settings.path.ip);
        let begin = Time::from_nanos(GUEST_EPOCH_SECONDS as u64 * 1_000_000_000);
        let mut frames = Frames::new(server, client, begin, [None; 2]);
        let mut passed = Passed::new(settings.path.ip);
        let stop = &self.host.stop;
        let deadline = self.deadline;
        let result = transfer.run_reading(
            &mut self.server,
            &mut self.client,
            &mut |tap_event| {
                passed.add(&tap_event);
                frames.add(&tap_event);
            },
            &mut || !stop.load(Ordering::Relaxed) && Instant::now() < deadline,
            reads_contents(&transfer).then_some(&mut self.reader as &mut dyn ContentReader),
        );
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(Failed { side, error }) => bail!("{}", failure_of(side, &error)),
        };
        let failure = match outcome.end {
            End::Done => loss_fault(&outcome.losses).map(|failure| failure.to_string()),
            End::Cancelled if stop.load(Ordering::Relaxed) => return Err(Interrupted::ByRequest.into()),
            End::Cancelled => return Err(Interrupted::ByDeadline(self.host.timeout).into()),
            End::Timeout => Some(format!("the client was not done within {}", settings.workload.timeout)),
            End::Stuck => Some("both endpoints are waiting and no packet is in transit".to_owned()),
            End::Excess(..) | End::TooManyEvents => Some(format!("{:?}", outcome.end)),
        };
        let simulated = cpu_seconds()?;
        let secrets = secrets_of(&self.key_logs.each_mut().map(NewBytes::read));
        let mut capture = Vec::new();
        frames.write_to(&mut capture, secrets.as_deref())?;
        let observed = Observed { taps: frames.reports(), ..observed_of(run, &outcome, &passed) };
        let metrics = measure_capture(&capture[..], run, &observed)?;
        self.costs.simulation += simulated - begun;
        self.costs.measurement += cpu_seconds()? - simulated;
        Ok(HandshakeSeen { seed: run.seed, failure, metrics })
    }
}

/// CPU time of this thread, which performs the handshakes.
fn cpu_seconds() -> Result<f64> {
    let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).context("CLOCK_THREAD_CPUTIME_ID")?;
    Ok(used.tv_sec() as f64 + used.tv_nsec() as f64 / 1e9)
}

/// Keeps this thread, and the endpoints that it starts meanwhile, on the processor that it runs on, until it is dropped. Only one of the three ever
/// has something to do, and waking another processor costs more than the work that it is woken for. A sandbox starts the endpoint behind two more
/// processes, so it must inherit this: the process that is known here is not the one that works.
struct OneProcessor {
    before: CpuSet,
}

impl OneProcessor {
    fn take() -> Result<Self> {
        let this = Pid::from_raw(0);
        let before = sched_getaffinity(this).context("sched_getaffinity")?;
        let mut one = CpuSet::new();
        one.set(sched_getcpu().context("sched_getcpu")?)?;
        sched_setaffinity(this, &one).context("sched_setaffinity")?;
        Ok(Self { before })
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        // An error: it goes on with one processor.
        let _ = sched_setaffinity(Pid::from_raw(0), &self.before);
    }
}

/// A file that grows.
struct NewBytes {
    path: PathBuf,
    file: Option<File>,
}

impl NewBytes {
    fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), file: None }
    }

    /// What was added since it was asked last; nothing where it cannot be read.
    fn read(&mut self) -> Vec<u8> {
        if self.file.is_none() {
            self.file = foreign::open(&self.path).ok();
        }
        let mut bytes = Vec::new();
        if let Some(file) = &mut self.file {
            // What was read before an error counts.
            let _ = file.read_to_end(&mut bytes);
        }
        bytes
    }
}
