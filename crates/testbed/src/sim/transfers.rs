//! A transfer between real stacks without sockets, over the simulator's path: from a run to its record.

mod handshakes;

use std::{
    fs::{self, File},
    io::{self, Read},
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::Instant,
};

use anyhow::{Context, Result};
use quiclab_agent_protocol::{
    addresses::{CLIENT_ADDRESS, CLIENT_ADDRESS_V6, CLIENT_MAC, SERVER_ADDRESS, SERVER_ADDRESS_V6, SERVER_MAC},
    contents::Contents,
};
use quiclab_experiment::{
    run::{IpVersion, Qdisc, Run, Sim, Versions},
    stack::Role,
};
use quiclab_path::spec;
use quiclab_record::{
    LostLog, Observed, Seen,
    layout::{CAPTURE_FILE, QLOG_FOLDER},
};
use quiclab_sim::transfer::{
    End, Failed, Side, Transfer,
    contents::ContentReader,
    host::{HostSettings, SendQueue},
};
use quiclab_units::{ByteCount, Duration, Time};

pub(super) use handshakes::handshakes;
pub use handshakes::{HandshakeCosts, HandshakeSeen};

use super::{
    capture::{Address, Frames},
    contents::Reader,
    foreign,
    process::{Process, ProcessError, Start},
    program::Program,
    report::{Passed, failure_of, loss_fault, name_of, observed_of, observed_of_failure},
};
use crate::{
    certificates::{self, GUEST_EPOCH_SECONDS},
    collect::{Download, KEY_LOGS, RunFailure, check_downloads, secrets_of},
    contract::{SERVER_PORT, contents_seed, derive, environment, file_names},
    hash,
    perform::{Host, HostUse, Interrupted, Sides},
    testbed::{Attempt, Place},
};

/// The client's UDP port: the first of the range for them (RFC 6335).
const CLIENT_PORT: u16 = 49_152;
/// Number of events after which a stack that asks to be called again and again is ended: a transfer of 10 GB has fewer.
const MOST_EVENTS: u64 = 100_000_000;
/// How often an endpoint may send everything, and bytes that it may send beside. Both bound the memory of a run; honest transfers stay far below.
const MOST_TRANSMISSIONS: u64 = 4;
const MOST_SENT_BESIDE: u64 = 128 << 20;
/// Bytes of an endpoint's key log: of some 300 000 connections.
const MOST_KEY_LOG_BYTES: u64 = 256 << 20;
/// Bytes of the transferred contents that the identity of a run covers: many steps of the generator.
const CONTENTS_BYTES: u64 = 4_096;
/// Linux's own horizon of `fq`.
const FQ_HORIZON: Duration = Duration::from_secs(10);
/// Fingerprint of what the files do that decide about a record besides the simulator, the programs and the settings: see build.rs.
const OWN_SOURCES: &str = env!("QUICLAB_SIM_TESTBED");
/// Fingerprint of what the code does that says what datagrams hold: it decides where a path has rules about that.
const CONTENT_SOURCES: &str = env!("QUICLAB_CONTENT");

/// What a run between these stacks is made with: part of its identity.
///
/// # Errors
/// Where the seed gives no certificates.
pub fn versions(run: &Run, sides: Sides<Program>) -> Result<Versions> {
    let first = Run { seed: 0, start_shift: Duration::default(), ..run.clone() };
    let mut orders = hash::Hasher::default().part(serde_json::to_string(&certificates_of(&first)?)?.as_bytes());
    for (role, side) in [(Role::Server, sides.server), (Role::Client, sides.client)] {
        let environment = environment(role, &first, side.manifest);
        orders = orders.part(serde_json::to_string(&environment)?.as_bytes());
    }
    for decided in decided(&first)? {
        orders = orders.part(&decided);
    }
    orders = orders.part(OWN_SOURCES.as_bytes());
    let mut versions = Versions::from([
        ("testbed".into(), "sim".into()),
        ("orders".into(), orders.short()),
        ("simulator".into(), quiclab_sim::VERSION.into()),
        ("quiclab".into(), env!("CARGO_PKG_VERSION").into()),
    ]);
    if reads_contents(&transfer(&first)?) {
        versions.insert("content".into(), CONTENT_SOURCES.into());
    }
    for (role, side) in sides.different() {
        versions.insert(format!("{role}.files"), side.stack.digest.clone());
        versions.insert(format!("{role}.version"), side.manifest.version.clone());
        versions.insert(format!("{role}.build_profile"), side.manifest.build.profile.clone());
    }
    Ok(versions)
}

/// What the code of other crates makes of a run's settings and its seed: the path's stages and all else that the simulator is told, the seeds that
/// are derived, and the beginning of the bytes that are transferred. Where that code changes, so do the records, whatever their settings.
fn decided(run: &Run) -> Result<[Vec<u8>; 4]> {
    let mut beginning = [0; CONTENTS_BYTES as usize];
    let seed = contents_seed(run);
    Contents::new(seed, CONTENTS_BYTES).read_exact(&mut beginning).context("the bytes to be transferred")?;
    Ok([
        format!("{:?}", transfer(run)?).into_bytes(),
        seed.to_le_bytes().to_vec(),
        derive(run.seed, "entropy of the server").to_vec(),
        beginning.to_vec(),
    ])
}

/// Performs `run` and writes what happened.
///
/// # Errors
/// Where something cannot be written or started, or an interruption.
pub fn perform(run: &Run, sides: Sides<Program>, place: Place, host: &Host) -> Result<Attempt> {
    // In the sandbox there are no symbolic links of the user.
    let work = &place.work.canonicalize().with_context(|| place.work.display().to_string())?;
    let transfer = Transferring { run, sides, work, record: place.draft, host };
    let (observed, failure, host_use) = transfer.transfer()?;
    Ok(Attempt { failure, seen: Some(Seen::Transfer(Box::new(observed))), host_use })
}

/// What an endpoint writes down.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Logs {
    /// Everything that the run asks for.
    All,
    /// The secrets of TLS alone, without which packets cannot be read.
    KeysOnly,
}

/// A run under way.
struct Transferring<'a> {
    run: &'a Run,
    sides: Sides<'a, Program>,
    /// Folders of the endpoints, which go away.
    work: &'a Path,
    /// What stays.
    record: &'a Path,
    host: &'a Host,
}

impl Transferring<'_> {
    /// Transfers, and writes the capture and what the endpoints said.
    fn transfer(&self) -> Result<(Observed, Option<RunFailure>, HostUse)> {
        let settings = &self.run.settings;
        self.fill_folders()?;
        let transfer = transfer(self.run)?;
        let deadline = Instant::now() + self.host.timeout;
        let mut server = self.start(Role::Server, deadline)?;
        let mut client = self.start(Role::Client, deadline)?;
        let snap_length = |bytes: Option<ByteCount>| bytes.map(|bytes| bytes.as_bytes() as u32);
        let snap_lengths = [settings.tap.snaplen, settings.tap.bottleneck_snaplen].map(snap_length);
        let [server_address, client_address] = addresses(settings.path.ip);
        let begin = Time::from_nanos(GUEST_EPOCH_SECONDS as u64 * 1_000_000_000);
        let mut frames = Frames::new(server_address, client_address, begin, snap_lengths);
        let mut passed = Passed::new(settings.path.ip);
        let is_stopped = || self.host.stop.load(Ordering::Relaxed);
        let mut reader =
            reads_contents(&transfer).then(|| Reader::new([server_address.socket, client_address.socket], self.work));
        let result = transfer.run_reading(
            &mut server,
            &mut client,
            &mut |tap_event| {
                passed.add(&tap_event);
                if settings.tap.enabled {
                    frames.add(&tap_event);
                }
            },
            &mut || !is_stopped() && Instant::now() < deadline,
            reader.as_mut().map(|reader| reader as &mut dyn ContentReader),
        );
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(Failed { side, error }) => {
                self.go_on_after(&error)?;
                let failure = failure_of(side, &error);
                let mut observed = observed_of_failure(&failure);
                observed.lost_logs = self.keep_logs()?;
                frames.write(&self.record.join(CAPTURE_FILE), self.secrets()?.as_deref())?;
                return Ok((observed, Some(failure), HostUse::default()));
            }
        };
        if outcome.end == End::Cancelled {
            let why = if is_stopped() { Interrupted::ByRequest } else { Interrupted::ByDeadline(self.host.timeout) };
            return Err(why.into());
        }
        let is_done = outcome.end == End::Done;
        let mut ends = Vec::new();
        let mut failure = None;
        for (side, process) in [(Side::Client, &mut client), (Side::Server, &mut server)] {
            match process.finish() {
                Ok(end) if end.status.success() || !is_done => ends.push(end),
                Ok(end) => failure = failure.or(Some(failure_of(side, &ProcessError::Ended(end.status)))),
                Err(error) => {
                    self.go_on_after(&error)?;
                    failure = failure.or(Some(failure_of(side, &error)));
                }
            }
        }
        failure = failure.or(match outcome.end {
            End::Done => {
                let seen = settings.tap.enabled.then_some(&frames);
                self.wrong_file()?.or_else(|| seen?.arrived_otherwise(self.run))
            }
            End::Excess(side, excess) => Some(RunFailure::Simulation(format!("the {}: {excess}", name_of(side)))),
            End::Timeout => Some(RunFailure::ClientTimeout(settings.workload.timeout.to_string())),
            End::Stuck => Some(RunFailure::Simulation(
                "both endpoints are waiting and no packet is in \
                                                       transit"
                    .to_owned(),
            )),
            End::TooManyEvents | End::Cancelled => Some(RunFailure::Simulation(format!(
                "more than {MOST_EVENTS} events: an endpoint asks to be called again and again"
            ))),
        });
        failure = failure.or(loss_fault(&outcome.losses));
        let lost_logs = self.keep_logs()?;
        frames.write(&self.record.join(CAPTURE_FILE), self.secrets()?.as_deref())?;
        let host_use = HostUse {
            cpu_seconds: ends.iter().map(|end| end.host_use.cpu_seconds).sum(),
            resident_bytes: ends.iter().map(|end| end.host_use.resident_bytes).sum(),
        };
        let send_sizes = settings.tap.send_sizes.then(|| passed.lengths([&server.buffers, &client.buffers]));
        let taps = if settings.tap.enabled { frames.reports() } else { Vec::new() };
        let observed = Observed { taps, send_sizes, lost_logs, ..observed_of(self.run, &outcome, &passed) };
        Ok((observed, failure, host_use))
    }

    fn fill_folders(&self) -> Result<()> {
        let workload = &self.run.settings.workload;
        for role in ["server", "client"] {
            for folder in ["logs", "certificates"] {
                fs::create_dir_all(self.work.join(role).join(folder))?;
            }
            for (name, text) in certificates_of(self.run)? {
                // A client has no business with the server's key.
                if role == "server" || name == "ca.pem" {
                    write(&self.work.join(role).join("certificates"), name, &text)?;
                }
            }
        }
        let [www, downloads] = [self.work.join("server/www"), self.work.join("client/downloads")];
        for folder in [&www, &downloads] {
            fs::create_dir_all(folder)?;
        }
        for (seed, name) in (contents_seed(self.run)..).zip(file_names(workload)) {
            let path = www.join(name);
            let mut file = File::create(&path).with_context(|| path.display().to_string())?;
            let mut contents =
                io::BufReader::with_capacity(1 << 16, Contents::new(seed, workload.length_of_each().as_bytes()));
            io::copy(&mut contents, &mut file).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }

    fn start(&self, role: Role, deadline: Instant) -> Result<Process> {
        self.start_with(role, deadline, Logs::All)
    }

    fn start_with(&self, role: Role, deadline: Instant, kept: Logs) -> Result<Process> {
        let (name, side) = match role {
            Role::Server => ("server", self.sides.server),
            Role::Client => ("client", self.sides.client),
        };
        let folder = self.work.join(name);
        let logs = folder.join("logs");
        let mut environment = environment(role, self.run, side.manifest);
        let mut set = |name: &str, path: PathBuf| environment.insert(name.to_owned(), path.display().to_string());
        for (name, below) in [("WWW", "www"), ("DOWNLOADS", "downloads"), ("CERTS", "certificates")] {
            set(name, folder.join(below));
        }
        // Nowhere, where it is empty.
        set("LOGS", if kept == Logs::All { logs.clone() } else { PathBuf::new() });
        set("HOME", folder.clone());
        set("SSLKEYLOGFILE", logs.join("keys.log"));
        if self.run.settings.tap.qlog && kept == Logs::All {
            let qlog = logs.join(QLOG_FOLDER);
            fs::create_dir_all(&qlog)?;
            set("QLOGDIR", qlog);
        }
        let seed = derive(self.run.seed, &format!("entropy of the {name}"));
        environment.insert("QUICLAB_SEED".to_owned(), seed.iter().map(|byte| format!("{byte:02x}")).collect());
        Process::start(Start {
            program: side.stack,
            environment,
            folder: &folder,
            log: &logs.join("stderr"),
            transfer_bytes: self.run.settings.workload.all_bytes().as_bytes(),
            transfer_files: file_names(&self.run.settings.workload).len() as u64,
            deadline,
            stop: self.host.stop.clone(),
        })
    }

    /// An interruption ends everything; whatever else went wrong with an endpoint is the run's result.
    fn go_on_after(&self, error: &ProcessError) -> Result<(), Interrupted> {
        match error {
            ProcessError::Interrupted => Err(Interrupted::ByRequest),
            ProcessError::OutOfTime => Err(Interrupted::ByDeadline(self.host.timeout)),
            _ => Ok(()),
        }
    }

    /// Moves the endpoints' logs into the record. Says what is not kept of them.
    fn keep_logs(&self) -> Result<Vec<LostLog>> {
        let mut lost = Vec::new();
        for (role, name) in [(Role::Server, "server"), (Role::Client, "client")] {
            let (from, to) = (self.work.join(name).join("logs"), self.record.join(name));
            let removed = foreign::remove_special_files(&from)?;
            lost.extend(removed.into_iter().map(|what| LostLog { role, what }));
            fs::rename(&from, &to).with_context(|| to.display().to_string())?;
        }
        Ok(lost)
    }

    /// What both endpoints logged of their TLS secrets.
    fn secrets(&self) -> Result<Option<Vec<u8>>> {
        let logs = KEY_LOGS.iter().map(|name| self.record.join(name)).filter(|path| path.is_file());
        let read = |path: PathBuf| foreign::read(&path, MOST_KEY_LOG_BYTES).with_context(|| path.display().to_string());
        Ok(secrets_of(&logs.map(read).collect::<Result<Vec<_>>>()?))
    }

    /// What is wrong with the files that the client stored, if anything is.
    fn wrong_file(&self) -> Result<Option<RunFailure>> {
        check_downloads(self.run, |file| {
            let path = self.work.join("client/downloads").join(file);
            let Ok(contents) = foreign::open(&path) else { return Ok(None) };
            let length = contents.metadata().with_context(|| path.display().to_string())?.len();
            Ok(Some(Download { length, contents: move || Ok(contents) }))
        })
    }
}

fn certificates_of(run: &Run) -> Result<[(&'static str, String); 3]> {
    let workload = &run.settings.workload;
    Ok(certificates::make(run.seed, workload.certificate, workload.certificate_key)?.files())
}

fn addresses(ip: IpVersion) -> [Address; 2] {
    let (server, client): (IpAddr, IpAddr) = match ip {
        IpVersion::V4 => (SERVER_ADDRESS.into(), CLIENT_ADDRESS.into()),
        IpVersion::V6 => (SERVER_ADDRESS_V6.into(), CLIENT_ADDRESS_V6.into()),
    };
    [
        Address { link: SERVER_MAC, socket: SocketAddr::new(server, SERVER_PORT) },
        Address { link: CLIENT_MAC, socket: SocketAddr::new(client, CLIENT_PORT) },
    ]
}

/// What each endpoint of a transfer of so many bytes may send: everything several times, and something beside.
fn most_sent(transferred: ByteCount) -> ByteCount {
    ByteCount::from_bytes(transferred.as_bytes().saturating_mul(MOST_TRANSMISSIONS).saturating_add(MOST_SENT_BESIDE))
}

/// Whether a rule of the path asks what datagrams hold.
fn reads_contents(transfer: &Transfer) -> bool {
    spec::needs_content(&transfer.to_client) || spec::needs_content(&transfer.to_server)
}

/// What the simulator is told.
fn transfer(run: &Run) -> Result<Transfer> {
    let path = &run.settings.path;
    let hosts = &run.settings.hosts;
    let queue = match hosts.qdisc() {
        Qdisc::Fq(parameters) => SendQueue::Fair { horizon: parameters.horizon.unwrap_or(FQ_HORIZON) },
        Qdisc::Etf { delta, deadline } => SendQueue::EarliestFirst { delta, deadline },
        Qdisc::None | Qdisc::PfifoFast | Qdisc::FqCodel => SendQueue::Direct,
    };
    let Sim { timer_step, timer_lateness, call_cost, packet_cost, card_rate } = run.settings.sim.clone();
    let client = HostSettings {
        timer_step,
        timer_lateness,
        call_cost,
        packet_cost,
        card_rate: card_rate.map(TryInto::try_into).transpose().context("sim.card_rate")?,
        receive_coalescing: Duration::default(),
        queue: SendQueue::Direct,
    };
    Ok(Transfer {
        to_client: run.settings.stages_to_client(),
        to_server: run.settings.stages_to_server(),
        is_ipv6: path.ip == IpVersion::V6,
        server: HostSettings { queue, receive_coalescing: hosts.receive_coalescing, ..client.clone() },
        client,
        begin: Time::from_nanos(run.start_shift.as_nanos()),
        timeout: run.settings.workload.timeout,
        seed: run.seed,
        budget: MOST_EVENTS,
        most_sent: most_sent(run.settings.workload.all_bytes()),
    })
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    fs::write(folder.join(name), text).with_context(|| folder.join(name).display().to_string())
}

#[cfg(test)]
mod tests {
    use quiclab_experiment::{run::Settings, stack::StackManifest};

    use super::*;
    use crate::perform::Side as Stack;

    const MANIFEST: &str = include_str!("../../../../sans-io/quinn/stack.toml");

    fn run(seed: u64, change: impl FnOnce(&mut Settings)) -> Run {
        let mut settings = Settings::default();
        change(&mut settings);
        let (experiment, label) = ("x".to_owned(), String::new());
        Run { experiment, repetition: 1, seed, start_shift: Duration::from_nanos(seed), settings, label }
    }

    fn orders(run: &Run) -> String {
        let manifest = StackManifest::parse("stack.toml", MANIFEST).unwrap();
        let program = Program { command: Vec::new(), files: None, digest: String::new() };
        let stack = Stack { manifest: &manifest, stack: &program };
        versions(run, Sides { server: stack, client: stack }).unwrap().remove("orders").unwrap()
    }

    #[test]
    fn the_identity_covers_the_stages_that_the_short_form_of_a_path_stands_for() {
        let usual = orders(&run(1, |_| ()));
        assert_eq!(orders(&run(2, |_| ())), usual);
        let longer = run(1, |settings| settings.path.delay_to_client = Duration::from_millis(77));
        assert_ne!(orders(&longer), usual);
    }

    #[test]
    fn the_identity_covers_the_bytes_that_are_transferred() {
        let [_, seed, _, beginning] = decided(&run(1, |_| ())).unwrap();
        let mut file = Vec::new();
        let seed = u64::from_le_bytes(seed.try_into().unwrap());
        let mut contents = io::BufReader::new(Contents::new(seed, 2 * CONTENTS_BYTES));
        contents.read_to_end(&mut file).unwrap();
        assert!(file.len() == 2 * beginning.len() && file.starts_with(&beginning));
    }
}
