//! Two processes of this program, a client and a server, and a wire between them in simulated time.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use quiclab_sans_io::wire::{Answer, Order, Received};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// Delay of each way.
const DELAY_NS: u64 = 20_000_000;

/// Of all datagrams, one of as many is lost.
const LOSS: usize = 50;

/// After so much simulated time, something hangs.
const LIMIT_NS: u64 = 60_000_000_000;

/// Calls of one side at one time, beyond which it asks for ever without doing anything.
const CALLS: usize = 20;

/// The name in the server's certificate.
const HOST: &str = "server";

/// A folder with certificates and a file to serve, until it is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    /// Made anew, with a file of `size` bytes for each name.
    pub fn new(name: &str, files: &[(&str, usize)]) -> Self {
        let folder = std::env::temp_dir().join(format!("ngtcp2-sans-io-{}-{name}", std::process::id()));
        let own = Self(folder);
        for part in ["www", "certs", "downloads", "qlog"] {
            fs::create_dir_all(own.0.join(part)).unwrap();
        }
        for (name, size) in files {
            let bytes: Vec<u8> = (0..*size).map(|place| (place / 7 * 31 + place) as u8).collect();
            fs::write(own.0.join("www").join(name), bytes).unwrap();
        }
        own.write_certificates();
        own
    }

    fn write_certificates(&self) {
        let (authority_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
        let issuer = Issuer::new(authority, authority_key);
        let leaf = CertificateParams::new(vec![HOST.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        let write = |name: &str, text: String| fs::write(self.0.join("certs").join(name), text).unwrap();
        write("ca.pem", authority_pem);
        write("cert.pem", leaf.pem());
        write("priv.key", key.serialize_pem());
    }

    /// Asserts that each file was fetched as it is, and removes what was fetched.
    pub fn assert_fetched(&self, names: &[&str]) {
        for name in names {
            let [expected, found] = ["www", "downloads"].map(|part| fs::read(self.0.join(part).join(name)).unwrap());
            assert!(found == expected, "{name}: found {} bytes, expected {}", found.len(), expected.len());
            fs::remove_file(self.0.join("downloads").join(name)).unwrap();
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// One of the two processes.
struct Side {
    process: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// When it is to be called; `None`: never.
    next: Option<u64>,
    /// When it was called last, and how often then.
    last: (u64, usize),
}

impl Side {
    fn start(folder: &Path, role: &str, variables: &[(&str, &str)]) -> Self {
        let part = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let mut process = Command::new(env!("CARGO_BIN_EXE_ngtcp2-sans-io"))
            .env_clear()
            .env("ROLE", role)
            .env("TESTCASE", "transfer")
            .env("WWW", part("www"))
            .env("CERTS", part("certs"))
            .env("DOWNLOADS", part("downloads"))
            .env("QUICLAB_SEED", "0123456789abcdef".repeat(4))
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take(), process.stdout.take().unwrap());
        Self { process, input, output, next: None, last: (0, 0) }
    }

    /// `None`: the process says nothing more.
    fn call(&mut self, now_ns: u64, datagrams: Vec<Received>) -> Option<Answer> {
        self.last = (now_ns, if self.last.0 == now_ns { self.last.1 + 1 } else { 0 });
        assert!(self.last.1 < CALLS, "called {CALLS} times at {now_ns} ns");
        let order = Order { now_ns, datagrams }.to_bytes().unwrap();
        self.input.as_mut().unwrap().write_all(&order).unwrap();
        let mut length = [0; 4];
        self.output.read_exact(&mut length).ok()?;
        let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
        self.output.read_exact(&mut bytes).unwrap();
        let answer = Answer::parse(&bytes).unwrap();
        self.next = answer.next;
        Some(answer)
    }

    /// The exit status, when there are no more orders.
    fn end(&mut self) -> Option<i32> {
        self.input = None;
        self.process.wait().unwrap().code()
    }
}

/// A datagram that was sent: when, by which side (0: the client), and what of it the other side gets.
#[derive(Debug, PartialEq, Eq)]
pub struct Sent {
    pub time_ns: u64,
    pub side: usize,
    pub ecn: u8,
    pub payload: Vec<u8>,
}

/// What went over the wire.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Trace {
    pub datagrams: Vec<Sent>,
    /// Most datagrams in one buffer.
    pub largest_batch: usize,
}

impl Trace {
    /// When the last datagram was sent.
    pub fn end_ns(&self) -> u64 {
        self.datagrams.last().map_or(0, |sent| sent.time_ns)
    }
}

/// Lets the client fetch `names`, until it is done and both processes have ended.
pub fn transfer(folder: &Folder, names: &[&str], variables: &[(&str, &str)]) -> Trace {
    let (trace, statuses) = exchange(folder, names, variables);
    assert_eq!(statuses, [Some(0), Some(0)]);
    folder.assert_fetched(names);
    trace
}

/// The same, whether it succeeds or not. Exit statuses of client and server.
pub fn exchange(folder: &Folder, names: &[&str], variables: &[(&str, &str)]) -> (Trace, [Option<i32>; 2]) {
    let urls: Vec<String> = names.iter().map(|name| format!("https://{HOST}/{name}")).collect();
    let urls = urls.join(" ");
    let client_variables = [variables, &[("REQUESTS", urls.as_str())]].concat();
    let client = Side::start(&folder.0, "client", &client_variables);
    let mut sides = [client, Side::start(&folder.0, "server", variables)];
    sides[0].next = Some(0);
    let mut trace = Trace::default();
    // By time of arrival and number: side and datagram.
    let mut wire: BTreeMap<(u64, usize), (usize, Received)> = BTreeMap::new();
    loop {
        let arrival = wire.first_key_value().map(|(&(time, _), &(side, _))| (time, side));
        let timers = sides.iter().enumerate().filter_map(|(side, state)| Some((state.next?, side)));
        let (now, side) = arrival.into_iter().chain(timers).min().expect("both sides wait for ever");
        assert!(now < LIMIT_NS, "the transfer hangs");
        let mut datagrams = Vec::new();
        while let Some(entry) = wire.first_entry()
            && entry.key().0 == now
            && entry.get().0 == side
        {
            datagrams.push(entry.remove().1);
        }
        let Some(answer) = sides[side].call(now, datagrams) else { break };
        for buffer in answer.buffers {
            let payloads: Vec<_> = buffer.payload.chunks(buffer.segment.into()).collect();
            trace.largest_batch = trace.largest_batch.max(payloads.len());
            for payload in payloads {
                let number = trace.datagrams.len();
                let (ecn, payload) = (buffer.ecn, payload.to_vec());
                if (number + 1) % LOSS != 0 {
                    wire.insert((now + DELAY_NS, number), (1 - side, Received { ecn, payload: payload.clone() }));
                }
                trace.datagrams.push(Sent { time_ns: now, side, ecn, payload });
            }
        }
        if answer.is_done {
            break;
        }
    }
    (trace, sides.each_mut().map(Side::end))
}
