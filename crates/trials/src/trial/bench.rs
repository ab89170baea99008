//! Where checks are made: files to transfer, certificates, the endpoints of one check after the other.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs::{self, File},
    io::{ErrorKind, Read, copy},
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, ensure};
use quiclab_agent_protocol::contents::Contents;
use quiclab_experiment::{
    run::word,
    stack::{PERF, Role, StackManifest},
};
use quiclab_inputs::open_unlinked;
use quiclab_testbed::{
    certificates, hash,
    loopback::{Endpoint, Exit, NotStarted, Root, Start},
};

use super::{
    checks::{ABSENT, CERTIFICATE_DELAY_MS, CERTIFICATES, MANY, Pair, Question, Variables},
    endpoint_variables::endpoint_variables,
    network,
};
use crate::regular;

/// Port of the server: no usual one, so that QUICLAB_PORT is heard.
const PORT: u16 = 4433;
/// What a client may take that finds no server, or a silent one, or has a transfer to make.
const TIMEOUT: Duration = Duration::from_secs(45);
/// What an endpoint may take to answer 127.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(5);
/// What a server may take until it listens.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(5);
/// How much earlier than its server a client is started.
const HEAD_START: Duration = Duration::from_secs(1);
/// When a server is killed.
const LIFE: Duration = Duration::from_millis(500);
/// How often waiting looks.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The answer of an endpoint that does not do what is asked.
const UNSUPPORTED: Exit = Exit::Status(127);
/// The answer of a client that fails.
const FAILED: Exit = Exit::Status(1);
/// Files that servers answer from, beside 200 small ones, with their sizes in bytes.
const FILES: &[(&str, u64)] = &[("file10M", 10 << 20), ("file1M", 1 << 20), ("file20k", 20_000), ("file1k", 1000)];
/// A file that takes longer than its server lives, in bytes; all zeros.
const HUGE: (&str, u64) = ("huge", 8 << 30);
/// Bytes that an endpoint may write to one file: a download, or a verbose log of one transfer.
const MOST_FILE_BYTES: u64 = 256 << 20;
/// The same while it downloads the huge file, which is as much as the loopback carries within the server's life.
const MOST_HUGE_BYTES: u64 = 1 << 30;
/// Bytes that the endpoints may log in all checks together.
const MOST_LOG_BYTES: u64 = 4 << 30;
/// Bytes that are read of one log of TLS secrets; a connection writes about a thousand.
const MOST_KEY_BYTES: u64 = 1 << 20;
/// Number of small files.
const SMALL_FILES: u64 = 200;

/// A stack with its files.
pub struct Stack<'a> {
    /// What it says of itself.
    pub manifest: &'a StackManifest,
    /// Where it runs.
    pub root: Root,
}

/// The bench.
pub struct Bench<'a> {
    /// The stack that is tried.
    pub own: Stack<'a>,
    /// The one that takes the other role, if it is another one.
    pub peer: Option<Stack<'a>>,
    /// Folder of files for the endpoints.
    scratch: &'a Path,
    /// Length and SHA-256 of each file that can be asked for.
    files: BTreeMap<String, (u64, String)>,
    /// Bytes that the endpoints have logged in all checks so far.
    logged: Cell<u64>,
    /// Variables of the stack that is tried in every transfer.
    always: Variables,
    /// Where what endpoints print goes, with a folder for each check.
    out: PathBuf,
    /// Takes the TLS secrets of all checks.
    keys: Option<PathBuf>,
    stop: Arc<AtomicBool>,
}

/// What came of a check: what was found, in words; `Ok` where it holds.
pub type Outcome = Result<String, String>;

impl<'a> Bench<'a> {
    /// Makes the files below `scratch`, which is seen by all stacks under this name.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn new(
        own: Stack<'a>,
        peer: Option<Stack<'a>>,
        scratch: &'a Path,
        out: PathBuf,
        stop: Arc<AtomicBool>,
    ) -> Result<Self> {
        for folder in ["www", "downloads", "home"] {
            fs::create_dir_all(scratch.join(folder)).with_context(|| scratch.display().to_string())?;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).context("this machine's clock")?.as_secs() as i64;
        for (folder, kind, key) in CERTIFICATES {
            let folder = scratch.join(folder);
            fs::create_dir_all(&folder)?;
            for (name, text) in certificates::make_at(now, 1, kind, key)?.files() {
                fs::write(folder.join(name), text)?;
            }
        }
        let small = (0..SMALL_FILES).map(|number| (format!("small{number}"), 32 + number));
        let files = FILES.iter().map(|(name, size)| ((*name).to_owned(), *size)).chain(small);
        let mut known = BTreeMap::new();
        for (seed, (name, size)) in (1..).zip(files) {
            let path = scratch.join("www").join(&name);
            copy(&mut Contents::new(seed, size), &mut File::create(&path)?)
                .with_context(|| path.display().to_string())?;
            known.insert(name, (size, hash::of_file(&path)?));
        }
        File::create(scratch.join("www").join(HUGE.0))?.set_len(HUGE.1)?;
        let logged = Cell::new(0);
        Ok(Self { own, peer, scratch, files: known, logged, always: Variables::new(), out, keys: None, stop })
    }

    /// Tells the stack that is tried this in every transfer from now on, unless a check says otherwise.
    pub fn always(&mut self, variables: Variables) {
        self.always = variables;
    }

    /// Writes the TLS secrets of all checks to `keys` from now on.
    pub fn collect_keys(&mut self, keys: PathBuf) {
        self.keys = Some(keys);
    }

    /// The folder of what the endpoints of a check print.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.out.join(name)
    }

    /// Makes a check, with what its endpoints print in the folder of that name.
    ///
    /// # Errors
    /// An interruption, or a file that cannot be written. What the endpoints do is no error.
    pub fn ask(&self, name: &str, question: &Question) -> Result<Outcome> {
        let folder = self.folder(name);
        let outcome = match self.answer(&folder, question) {
            // The endpoint's fault, and not that of this machine.
            Err(error) if error.is::<NotStarted>() => Err(format!("{error:#}")),
            outcome => outcome?,
        };
        self.count_logs(&folder)?;
        Ok(outcome)
    }

    fn answer(&self, folder: &Path, question: &Question) -> Result<Outcome> {
        let none = Variables::new();
        match question {
            Question::Transfer(pair, variables, refusing) => {
                let outcome = self.transfer(folder, *pair, variables, Plan::default())?;
                if outcome.is_ok() || refusing.is_empty() {
                    return Ok(outcome.map(|_| "the files are complete".to_owned()));
                }
                for role in refusing {
                    let variables = self.variables_of(*pair, *role, variables);
                    if self.alone(&folder.join("refusal"), *role, &variables, REFUSAL_TIMEOUT)? != UNSUPPORTED {
                        return Ok(outcome.map(|_| String::new()));
                    }
                }
                let roles: Vec<_> = refusing.iter().map(word).collect();
                Ok(Ok(format!("refused with 127 ({})", roles.join(", "))))
            }
            Question::Ip(pair, ip, host) => {
                let before = network::octets_in(*ip)?;
                let variables = Variables::from([
                    ("QUICLAB_IP".to_owned(), word(ip)),
                    ("REQUESTS".to_owned(), urls(["file10M"], host)),
                ]);
                let outcome = self.transfer(folder, *pair, &variables, Plan::default())?;
                let carried = network::octets_in(*ip)?.saturating_sub(before);
                let version = word(ip);
                Ok(outcome.and_then(|_| match carried > FILES[0].1 {
                    true => Ok(format!("{carried} bytes over IPv{version}")),
                    false => Err(format!("found {carried} bytes over IPv{version}, expected the complete file")),
                }))
            }
            Question::Delay(pair) => {
                let mut times = Vec::new();
                for delay in [0, CERTIFICATE_DELAY_MS] {
                    let variables = Variables::from([
                        ("QUICLAB_CERT_DELAY".to_owned(), delay.to_string()),
                        ("REQUESTS".to_owned(), urls(["file1k"], "server")),
                    ]);
                    match self.transfer(folder, *pair, &variables, Plan::default())? {
                        Ok(time) => times.push(time),
                        Err(found) => return Ok(Err(found)),
                    }
                }
                let longer = times[1].saturating_sub(times[0]).as_millis() as u64;
                Ok(match longer * 10 > CERTIFICATE_DELAY_MS * 8 {
                    true => Ok(format!("{longer} ms later")),
                    false => Err(format!("found {longer} ms more, expected {CERTIFICATE_DELAY_MS} ms")),
                })
            }
            Question::Fails(pair, variables) => {
                let plan = Plan { expected: FAILED, ..Plan::default() };
                Ok(self.transfer(folder, *pair, variables, plan)?.map(|_| FAILED.to_string()))
            }
            Question::LateServer(pair) => {
                let plan = Plan { client_first: true, ..Plan::default() };
                Ok(self.transfer(folder, *pair, &none, plan)?.map(|_| "the file is complete".to_owned()))
            }
            Question::DyingServer(pair) => {
                let plan = Plan { expected: FAILED, kills_server: true, ..Plan::default() };
                let variables = Variables::from([("REQUESTS".to_owned(), urls([HUGE.0], "server"))]);
                Ok(self.transfer(folder, *pair, &variables, plan)?.map(|_| FAILED.to_string()))
            }
            Question::Refusal(role, variables) => self.ends(folder, *role, variables, UNSUPPORTED, REFUSAL_TIMEOUT),
            Question::NoServer => self.ends(folder, Role::Client, &self.always, FAILED, TIMEOUT),
        }
    }

    fn ends(
        &self,
        folder: &Path,
        role: Role,
        variables: &Variables,
        expected: Exit,
        timeout: Duration,
    ) -> Result<Outcome> {
        let found = self.alone(folder, role, variables, timeout)?;
        Ok(if found == expected { Ok(found.to_string()) } else { Err(format!("found {found}, expected {expected}")) })
    }

    /// How an endpoint of the stack that is tried ends without another.
    fn alone(&self, folder: &Path, role: Role, variables: &Variables, timeout: Duration) -> Result<Exit> {
        fresh(folder)?;
        let mut endpoint = self.start(folder, role, &self.own, variables, MOST_FILE_BYTES)?;
        let exit = endpoint.wait(timeout, &self.stop)?;
        endpoint.end();
        Ok(exit)
    }

    fn variables_of(&self, pair: Pair, role: Role, variables: &Variables) -> Variables {
        let is_own = if role == Role::Server { pair.own_server } else { pair.own_client };
        endpoint_variables(self.own.manifest, is_own, role, &self.always, variables)
    }

    /// How long a transfer took, from the start of the client.
    fn transfer(
        &self,
        folder: &Path,
        pair: Pair,
        variables: &Variables,
        plan: Plan,
    ) -> Result<Result<Duration, String>> {
        fresh(folder)?;
        fresh(&self.scratch.join("downloads"))?;
        let start = |role: Role| {
            let is_own = if role == Role::Server { pair.own_server } else { pair.own_client };
            let stack = if is_own { &self.own } else { self.peer.as_ref().unwrap_or(&self.own) };
            let most = if plan.kills_server { MOST_HUGE_BYTES } else { MOST_FILE_BYTES };
            self.start(folder, role, stack, &self.variables_of(pair, role, variables), most)
        };
        let (mut server, mut client, started);
        if plan.client_first {
            started = Instant::now();
            client = start(Role::Client)?;
            thread::sleep(HEAD_START);
            server = start(Role::Server)?;
        } else {
            server = start(Role::Server)?;
            let deadline = Instant::now() + LISTEN_TIMEOUT;
            while !network::is_listening(PORT) && server.poll()?.is_none() && Instant::now() < deadline {
                thread::sleep(POLL_INTERVAL);
            }
            started = Instant::now();
            client = start(Role::Client)?;
        }
        if plan.kills_server {
            thread::sleep(LIFE);
            server.kill();
        }
        // A client whose server has ended would only wait for it.
        let mut timeout = TIMEOUT;
        let mut exit = Exit::Timeout;
        while !timeout.is_zero() && exit == Exit::Timeout {
            let step = Duration::from_millis(100).min(timeout);
            exit = client.wait(step, &self.stop)?;
            timeout -= step;
            if !plan.kills_server && server.poll()?.is_some() {
                timeout = timeout.min(POLL_INTERVAL * 100);
            }
        }
        let took = started.elapsed();
        let server_end = server.poll()?;
        client.end();
        server.end();
        self.keep_keys(folder)?;
        if let Some(end) = server_end.filter(|_| !plan.kills_server) {
            return Ok(Err(format!("the server ended by itself ({end}), the client with {exit}")));
        }
        if exit != plan.expected {
            return Ok(Err(format!("the client ended with {exit}, expected {}", plan.expected)));
        }
        if plan.expected != Exit::Status(0) {
            return Ok(Ok(took));
        }
        let requests = if variables.get("TESTCASE").is_some_and(|case| case == PERF) {
            // There are no files; the client compares lengths.
            String::new()
        } else {
            requests(variables)
        };
        Ok(self.compare(&requests).and_then(|()| self.look_for_secrets(pair, folder)).map(|()| took))
    }

    fn compare(&self, requests: &str) -> Result<(), String> {
        for name in requests.split_whitespace().filter_map(|url| url.rsplit('/').next()) {
            let path = self.scratch.join("downloads").join(name);
            let (length, sha256) = &self.files[name];
            let file = open_unlinked(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
            match file {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Err(format!("the client exited with 0 but stored no {name} in DOWNLOADS"));
                }
                Err(error) => return Err(format!("the client's {name} in DOWNLOADS cannot be read: {error}")),
                Ok((found, _)) if found != *length => {
                    return Err(format!("the client's {name} has {found} bytes, expected {length}"));
                }
                Ok((_, file)) => match hash::of_reader(&mut file.take(*length)) {
                    Ok(found) if found == *sha256 => {}
                    Ok(found) => return Err(format!("the client's {name} has SHA-256 {found}, expected {sha256}")),
                    Err(error) => return Err(format!("the client's {name} in DOWNLOADS cannot be read: {error}")),
                },
            }
        }
        Ok(())
    }

    fn look_for_secrets(&self, pair: Pair, folder: &Path) -> Result<(), String> {
        let client = if pair.own_client { &self.own } else { self.peer.as_ref().unwrap_or(&self.own) };
        if !client.manifest.key_log.contains(&Role::Client) {
            return Ok(());
        }
        let text = regular::start_of(&folder.join("client/keys.log"), MOST_KEY_BYTES).unwrap_or_default();
        match text.contains("SECRET") || text.contains("CLIENT_RANDOM") {
            true => Ok(()),
            false => Err("the client wrote no TLS secrets to SSLKEYLOGFILE".to_owned()),
        }
    }

    fn keep_keys(&self, folder: &Path) -> Result<()> {
        let Some(keys) = &self.keys else { return Ok(()) };
        let mut all =
            File::options().append(true).create(true).open(keys).with_context(|| keys.display().to_string())?;
        for role in ["server", "client"] {
            if let Ok(log) = open_unlinked(&folder.join(role).join("keys.log")) {
                copy(&mut log.take(MOST_KEY_BYTES), &mut all)?;
            }
        }
        Ok(())
    }

    /// Counts what the endpoints of a check have logged.
    ///
    /// # Errors
    /// Where all checks so far have logged too much.
    fn count_logs(&self, folder: &Path) -> Result<()> {
        let bytes = regular::bytes_below(folder);
        self.logged.set(self.logged.get() + bytes);
        ensure!(
            self.logged.get() <= MOST_LOG_BYTES,
            "{}: found {} MiB of logs of all checks so far, {} MiB of them of this one, expected at most {} MiB in total\n\
             hint: log less, or select checks with --case",
            folder.display(),
            self.logged.get() >> 20,
            bytes >> 20,
            MOST_LOG_BYTES >> 20
        );
        Ok(())
    }

    fn start(
        &self,
        folder: &Path,
        role: Role,
        stack: &Stack,
        variables: &Variables,
        most_file_bytes: u64,
    ) -> Result<Endpoint> {
        let logs = folder.join(word(&role));
        fs::create_dir_all(&logs).with_context(|| logs.display().to_string())?;
        // The endpoint knows them by names below the scratch folder, which each root has.
        let inside = self.scratch.join("logs").join(logs.strip_prefix(&self.out).unwrap_or(&logs));
        let at = |name: &str| self.scratch.join(name).display().to_string();
        let certificates = variables.get("CERTS").map_or(CERTIFICATES[0].0, String::as_str);
        let mut environment: BTreeMap<String, String> = [
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
            ("HOME", at("home")),
            ("ROLE", word(&role)),
            ("TESTCASE", "transfer".to_owned()),
            ("WWW", at("www")),
            ("DOWNLOADS", at("downloads")),
            ("LOGS", inside.display().to_string()),
            ("SSLKEYLOGFILE", inside.join("keys.log").display().to_string()),
            ("QUICLAB_PORT", PORT.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        environment.extend(variables.clone());
        environment.insert("CERTS".to_owned(), at(certificates));
        environment.insert("REQUESTS".to_owned(), requests(variables));
        environment.extend(stack.manifest.guest.environment.clone());
        let own_folder = stack.manifest.guest.folder.as_ref().map(PathBuf::from);
        Endpoint::start(Start {
            root: &stack.root,
            command: &stack.manifest.guest.command,
            environment,
            folder: own_folder.as_deref().unwrap_or(&inside),
            logs: &inside,
            writable: &[&self.scratch.join("downloads"), &self.scratch.join("home")],
            most_file_bytes,
        })
    }
}

/// How a transfer goes.
#[derive(Clone, Copy)]
struct Plan {
    expected: Exit,
    client_first: bool,
    kills_server: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self { expected: Exit::Status(0), client_first: false, kills_server: false }
    }
}

/// The URLs of a check.
fn requests(variables: &Variables) -> String {
    let names: &[&str] = match variables.get("TESTCASE").map(String::as_str) {
        Some("handshake") => &["file1k"],
        Some("resumption") => &["file1k", "file1M", "file20k"],
        Some("zerortt") => &["file1k", "file20k", "file1M"],
        Some("http3") => &["file1M", "file20k", "file1k"],
        _ => &["file10M"],
    };
    match variables.get("REQUESTS").map(String::as_str) {
        Some(MANY) => urls((0..SMALL_FILES).map(|number| format!("small{number}")), "server"),
        Some(ABSENT) => urls([ABSENT], "server"),
        Some(requests) => requests.to_owned(),
        None => urls(names.iter().copied(), "server"),
    }
}

fn urls<S: AsRef<str>>(names: impl IntoIterator<Item = S>, host: &str) -> String {
    let urls = names.into_iter().map(|name| format!("https://{host}:{PORT}/{}", name.as_ref()));
    urls.collect::<Vec<_>>().join(" ")
}

/// An empty folder.
fn fresh(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())
}
