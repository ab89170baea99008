//! An agent that serves, orders for it, and its answers.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use quiclab_agent_protocol::{
    network::Network,
    orders::{Listen, Orders, Program, Tap, Transfer, Transport},
    report::Report,
    slot::Manifest,
};
use quiclab_testing::wait_until;

const AGENT: &str = env!("CARGO_BIN_EXE_quiclab-agent");
/// Length of the file that is transferred.
pub const SIZE: u64 = 1 << 20;
/// Its seed.
pub const SEED: u64 = 7;

/// Serves the file whose name is in the first line of each connection.
pub const SERVER: &str = "
import socket
listener = socket.create_server(('193.167.100.100', 443))
while True:
    connection, _ = listener.accept()
    name = connection.makefile().readline().strip()
    connection.sendall(open('/www/' + name, 'rb').read())
    connection.close()
";
/// Fetches it.
pub const CLIENT: &str = "
import socket
connection = socket.create_connection(('server4', 443))
connection.sendall(b'file\\n')
with open('/downloads/file', 'wb') as file:
    while data := connection.recv(65536):
        file.write(data)
print('fetched')
";

/// A transfer over TCP between two programs in Python.
pub fn orders(server: &str, client: &str) -> Orders {
    let program = |text: &str| Program {
        command: ["python3", "-c", text].map(str::to_owned).into(),
        environment: BTreeMap::from([(
            "PATH".to_owned(),
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
        )]),
        folder: "/logs".to_owned(),
        awaits_simulator: false,
        host: None,
    };
    Orders {
        machine: None,
        start_shift_ns: 0,
        network: Network::default(),
        has_ipv6: true,
        timer_slack_ns: 50_000,
        tap: Some(Tap {
            snaplen_bytes: Some(128),
            bottleneck_snaplen_bytes: Some(128),
            room_bytes: 0,
            of_client: false,
        }),
        transfer: Transfer {
            names: vec!["file".to_owned()],
            size_bytes: SIZE,
            seed: SEED,
            zeros: false,
            discard: false,
            timeout_ns: 60_000_000_000,
        },
        files: Vec::new(),
        server: program(server),
        client: program(client),
        listen: Listen { transport: Transport::Tcp, port: 443, timeout_ns: 60_000_000_000 },
        log_limit_bytes: 1 << 24,
        cpus: Default::default(),
        sampling: None,
        profile_period_ns: None,
        cross_traffic: None,
    }
}

/// `quiclab-agent serve`.
pub struct Servant {
    pub process: Child,
    pub input: Option<ChildStdin>,
    pub output: Option<BufReader<ChildStdout>>,
}

/// What `serve` answered.
pub struct Answer {
    pub report: Report,
    pub blobs: BTreeMap<String, Vec<u8>>,
}

impl Servant {
    pub fn start() -> Self {
        let mut command = Command::new(AGENT);
        let mut process = command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = process.stdin.take();
        let output = process.stdout.take().map(BufReader::new);
        Self { process, input, output }
    }

    pub fn ask(&mut self, line: &str) {
        self.input.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub fn answer(&mut self) -> Answer {
        let mut line = String::new();
        let output = self.output.as_mut().unwrap();
        output.read_line(&mut line).unwrap();
        let Manifest { report, blobs } =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        let mut offset = 0;
        let read = |blob: quiclab_agent_protocol::slot::Blob| {
            assert_eq!(blob.offset, offset);
            offset += blob.length;
            let mut bytes = vec![0; blob.length as usize];
            output.read_exact(&mut bytes).unwrap();
            (blob.name, bytes)
        };
        Answer { report, blobs: blobs.into_iter().map(read).collect() }
    }

    /// Waits for its end, a minute at most.
    pub fn end(&mut self) -> std::process::ExitStatus {
        wait_until("the agent to end", || self.process.try_wait().unwrap().is_some());
        self.process.wait().unwrap()
    }
}

impl Drop for Servant {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Performs one run.
pub fn perform(orders: &Orders) -> Answer {
    let mut servant = Servant::start();
    servant.ask(&serde_json::to_string(orders).unwrap());
    let answer = servant.answer();
    servant.input = None;
    let mut rest = Vec::new();
    servant.output.as_mut().unwrap().read_to_end(&mut rest).unwrap();
    assert_eq!((rest.len(), servant.end().code()), (0, Some(0)));
    answer
}
