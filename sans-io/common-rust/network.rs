//! For the tests of programs: two processes, and a network with a delay and losses between them, before which packets wait for their send
//! times. A test takes it in by its path.
#![allow(dead_code, reason = "not every program's tests need all of it")]

use std::{
    collections::{BTreeMap, VecDeque},
    fs::{self, File},
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use quiclab_sans_io::{Answer, Order, Received};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// In nanoseconds.
pub const MILLISECOND: u64 = 1_000_000;

/// One round trip of 40 ms, and of all datagrams of a direction one of 50 is lost.
pub const LOSSY: Network = Network { delay_ns: 20 * MILLISECOND, lost_every: 50 };

/// Longest run, in nanoseconds.
const LIMIT_NS: u64 = 60_000 * MILLISECOND;

/// Certificates, and a folder for each run; until it is dropped.
pub struct Folder {
    path: PathBuf,
    /// The program that plays both roles.
    program: &'static str,
}

impl Folder {
    /// An empty one.
    pub fn new(program: &'static str, name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("sans-io-{}-{name}", std::process::id()));
        fs::create_dir_all(folder.join("certs")).unwrap();
        let key = KeyPair::generate().unwrap();
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Not that of the server: BoringSSL takes a certificate for its own issuer where both have one name.
        authority.distinguished_name.push(DnType::CommonName, "authority");
        let certificate = authority.self_signed(&key).unwrap();
        fs::write(folder.join("certs/ca.pem"), certificate.pem()).unwrap();
        let issuer = Issuer::new(authority, key);
        let key = KeyPair::generate().unwrap();
        let server = CertificateParams::new(vec!["server".to_owned()]).unwrap();
        fs::write(folder.join("certs/cert.pem"), server.signed_by(&key, &issuer).unwrap().pem()).unwrap();
        fs::write(folder.join("certs/priv.key"), key.serialize_pem()).unwrap();
        Self { path: folder, program }
    }

    /// Where the certificates are.
    pub fn certificates(&self) -> PathBuf {
        self.path.join("certs")
    }

    /// The folder of a run.
    pub fn run(&self, name: &str) -> PathBuf {
        let run = self.path.join(name);
        for folder in ["www", "downloads", "qlog", "logs"] {
            fs::create_dir_all(run.join(folder)).unwrap();
        }
        run
    }

    /// What a client ends with that gets one order.
    pub fn exit_status(&self, run: &Path, variables: &[(&str, &str)]) -> i32 {
        let mut child = self.start(run, "client", variables);
        drop(child.stdin.take());
        child.wait().unwrap().code().unwrap()
    }

    fn start(&self, run: &Path, role: &str, variables: &[(&str, &str)]) -> Child {
        let seed = "0123456789abcdef".repeat(4);
        Command::new(self.program)
            .env_clear()
            .envs([("ROLE", role), ("TESTCASE", "transfer"), ("QUICLAB_SEED", &seed)])
            .env("WWW", run.join("www"))
            .env("DOWNLOADS", run.join("downloads"))
            .env("CERTS", self.path.join("certs"))
            .env("QLOGDIR", run.join("qlog"))
            .env("LOGS", run.join("logs"))
            .env("SSLKEYLOGFILE", run.join(format!("keys-{role}")))
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(run.join(format!("stderr-{role}"))).unwrap())
            .spawn()
            .unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// A datagram that was sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Packet {
    /// When it was handed over.
    pub sent_ns: u64,
    pub planned_ns: Option<u64>,
    pub sender: &'static str,
    pub ecn: u8,
    /// True: there are others in its buffer.
    pub is_part: bool,
    pub payload: Vec<u8>,
}

impl std::fmt::Debug for Packet {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let start = &self.payload[..self.payload.len().min(40)];
        write!(f, "{} at {} ns: {} bytes, {start:02x?}", self.sender, self.sent_ns, self.payload.len())
    }
}

/// What a run leaves.
pub struct Outcome {
    /// Both directions, in the order in which they were handed over, with those that were lost.
    pub packets: Vec<Packet>,
    pub lost: usize,
    /// When the client was done.
    pub end_ns: u64,
}

impl Outcome {
    /// What one side sent.
    pub fn from<'a>(&'a self, sender: &'a str) -> impl Iterator<Item = &'a Packet> {
        self.packets.iter().filter(move |packet| packet.sender == sender)
    }
}

/// The bytes of a file.
pub fn file(length: usize) -> Vec<u8> {
    (0..length).map(|number| (number * number / 7) as u8).collect()
}

/// Every file that a run has left in its folder and is not of its files to fetch, by name.
pub fn logs(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let folders = [run.to_owned(), run.join("qlog"), run.join("logs")];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file());
    files.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap())).collect()
}

/// The same in both directions.
pub struct Network {
    pub delay_ns: u64,
    /// Each datagram of that number in a direction, from 1.
    pub lost_every: usize,
}

impl Network {
    /// Runs until the client is done, and both have ended with 0.
    pub fn run(&self, folder: &Folder, run: &Path, variables: &[(&str, &str)]) -> Outcome {
        let (outcome, statuses) = self.exchange(folder, run, variables);
        let log = fs::read_to_string(run.join("stderr-client")).unwrap();
        assert_eq!(statuses, [0, 0], "{}: {log}", run.display());
        outcome.unwrap()
    }

    /// Runs `name`, in which the client fetches `files`, and looks whether they arrived.
    pub fn transfer(
        &self,
        folder: &Folder,
        name: &str,
        files: &[(&str, Vec<u8>)],
        variables: &[(&str, &str)],
    ) -> Outcome {
        let run = folder.run(name);
        let requests = store(&run, files);
        let variables = [variables, &[("REQUESTS", requests.as_str())]].concat();
        let outcome = self.run(folder, &run, &variables);
        for (name, content) in files {
            let found = fs::read(run.join("downloads").join(name)).unwrap();
            assert!(found == *content, "{name}: found {} bytes of it", found.len());
        }
        outcome
    }

    /// Exit statuses of client and server.
    pub fn statuses(&self, folder: &Folder, run: &Path, variables: &[(&str, &str)]) -> [i32; 2] {
        self.exchange(folder, run, variables).1
    }

    /// Runs `name` with connections one after the other between the same two processes, each started anew, in which the client fetches `files`: the
    /// packets of each.
    pub fn connections(
        &self,
        folder: &Folder,
        name: &str,
        files: &[(&str, Vec<u8>)],
        count: usize,
    ) -> Vec<Vec<Packet>> {
        let run = folder.run(name);
        let requests = store(&run, files);
        let mut ends = Self::ends(folder, &run, &[("REQUESTS", requests.as_str())]);
        let mut packets = Vec::new();
        for number in 0..count {
            if number > 0 {
                ends.iter_mut().for_each(End::start_anew);
            }
            packets.push(self.play(&mut ends).expect("both endpoints go on").packets);
            for (name, content) in files {
                // Each connection has to bring it again.
                let path = run.join("downloads").join(name);
                assert!(fs::read(&path).unwrap() == *content, "{name}");
                fs::remove_file(path).unwrap();
            }
        }
        assert_eq!(ends.map(End::finish), [0, 0]);
        packets
    }

    fn exchange(&self, folder: &Folder, run: &Path, variables: &[(&str, &str)]) -> (Option<Outcome>, [i32; 2]) {
        let mut ends = Self::ends(folder, run, variables);
        let outcome = self.play(&mut ends);
        (outcome, ends.map(End::finish))
    }

    fn ends(folder: &Folder, run: &Path, variables: &[(&str, &str)]) -> [End; 2] {
        ["client", "server"].map(|role| End::new(folder.start(run, role, variables), role))
    }

    /// Until the client is done. `None`: one of them has ended.
    fn play(&self, ends: &mut [End; 2]) -> Option<Outcome> {
        let mut outcome = Outcome { packets: Vec::new(), lost: 0, end_ns: 0 };
        let mut numbers = [0, 0];
        loop {
            let Some((now, index)) = (0..2).filter_map(|index| Some((ends[index].due()?, index))).min() else {
                panic!("nothing is to be done any more");
            };
            assert!(now < LIMIT_NS, "not done in time");
            let Some(answer) = ends[index].call(now) else { return None };
            for buffer in answer.buffers {
                let leaves_ns = buffer.planned.map_or(now, |planned| planned.max(now));
                let is_part = buffer.payload.len() > usize::from(buffer.segment);
                for payload in buffer.payload.chunks(buffer.segment.into()) {
                    let (ecn, sender) = (buffer.ecn, ends[index].role);
                    numbers[index] += 1;
                    let (planned_ns, payload) = (buffer.planned, payload.to_vec());
                    let packet = Packet { sent_ns: now, planned_ns, sender, ecn, is_part, payload: payload.clone() };
                    if numbers[index] % self.lost_every == 0 {
                        outcome.lost += 1;
                    } else {
                        let received = Received { ecn, payload };
                        let arrivals = &mut ends[1 - index].arrivals;
                        arrivals.entry(leaves_ns + self.delay_ns).or_default().push_back(received);
                    }
                    outcome.packets.push(packet);
                }
            }
            if answer.is_done {
                outcome.end_ns = now;
                return Some(outcome);
            }
        }
    }
}

/// Stores what the server has, and says what the client asks for.
fn store(run: &Path, files: &[(&str, Vec<u8>)]) -> String {
    let mut requests = Vec::new();
    for (name, content) in files {
        fs::write(run.join("www").join(name), content).unwrap();
        requests.push(format!("https://server:443/{name}"));
    }
    requests.join(" ")
}

struct End {
    role: &'static str,
    child: Child,
    arrivals: BTreeMap<u64, VecDeque<Received>>,
    timer: Option<u64>,
    now: u64,
    calls_now: usize,
}

impl End {
    fn new(child: Child, role: &'static str) -> Self {
        Self { role, child, arrivals: BTreeMap::new(), timer: Some(0), now: 0, calls_now: 0 }
    }

    fn due(&self) -> Option<u64> {
        let arrival = self.arrivals.keys().next().copied();
        arrival.into_iter().chain(self.timer).min().map(|due| due.max(self.now))
    }

    /// `None`: the process has ended.
    fn call(&mut self, now: u64) -> Option<Answer> {
        self.calls_now = if now == self.now { self.calls_now + 1 } else { 0 };
        assert!(self.calls_now < 100, "{} does not get on at {now} ns", self.role);
        self.now = now;
        let datagrams = self.arrivals.remove(&now).unwrap_or_default().into();
        let bytes = Order { now_ns: now, datagrams }.to_bytes().unwrap();
        self.child.stdin.as_mut().unwrap().write_all(&bytes).ok()?;
        let output = self.child.stdout.as_mut().unwrap();
        let mut length = [0; 4];
        output.read_exact(&mut length).ok()?;
        let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
        output.read_exact(&mut bytes).unwrap();
        let answer = Answer::parse(&bytes).unwrap();
        self.timer = answer.next;
        Some(answer)
    }

    /// The order that starts an endpoint anew: docs/reference/sans-io-endpoint.md.
    fn start_anew(&mut self) {
        self.arrivals.clear();
        self.calls_now = 0;
        let answer = self.call(u64::MAX).expect("an answer");
        assert_eq!(answer, Answer::default());
        (self.timer, self.now) = (Some(0), 0);
    }

    fn finish(mut self) -> i32 {
        drop(self.child.stdin.take());
        self.child.wait().unwrap().code().unwrap()
    }
}
