//! Which files a record has. Each of them is listed in [`FILES`].

use quiclab_experiment::stack::Role;

/// The resolved run and what it was made with.
pub const RUN_FILE: &str = "run.toml";
/// Both taps: the one at the sender, and the one behind the bottleneck.
pub const CAPTURE_FILE: &str = "wire.pcapng";
/// What was seen of the run besides the packets: [`Observed`](crate::Observed).
pub const PATH_FILE: &str = "path.json";
/// What the hosts did over time: [`HostActivity`](crate::HostActivity). Only records of testbeds in real time have it.
pub const HOST_FILE: &str = "host.json";
/// The metrics and the warnings.
pub const METRICS_FILE: &str = "metrics.json";
/// The names, lengths and hashes of all files.
pub const CONTENTS_FILE: &str = "contents.json";
/// What the server said: its logs, its output, its TLS secrets.
pub const SERVER_FOLDER: &str = "server";
/// What the client said.
pub const CLIENT_FOLDER: &str = "client";
/// File of a failed run that says why it failed.
pub const FAILURE_FILE: &str = "failure.txt";
/// File of a failed run that says what is wrong with the files that the client stored. Absent where they are right.
pub const WRONG_FILES_FILE: &str = "files.txt";
/// File of a failed run in a virtual machine with what its console printed.
pub const CONSOLE_FILE: &str = "console";

/// Folder beside records in which damaged ones are kept when their runs are performed again.
pub const DAMAGED_FOLDER: &str = "damaged";

/// Folder of an endpoint's qlog files, in the endpoint's folder.
pub const QLOG_FOLDER: &str = "qlog";
/// The send times that the measured sender planned, in its folder.
pub const PLANNED_FILE: &str = "planned.csv";
/// TLS secrets, in an endpoint's folder.
pub const KEYS_FILE: &str = "keys.log";

/// Interface of the capture at the sender's egress.
pub const SENDER_TAP: u32 = 0;
/// Interface of the capture behind the bottleneck.
pub const BOTTLENECK_TAP: u32 = 1;

/// Schema of `run.toml` that this version writes.
pub const RUN_SCHEMA: u32 = 2;
/// Schema of `path.json` that this version writes.
pub const PATH_SCHEMA: u32 = 2;
/// Schema of `host.json` that this version writes.
pub const HOST_SCHEMA: u32 = 1;
/// Schema of the `path.json` of models that this version writes.
pub const MODELS_PATH_SCHEMA: u32 = 1;
/// Schema of the `metrics.json` of models that this version writes.
pub const MODELS_METRICS_SCHEMA: u32 = 1;
/// Schema of `contents.json` that this version writes.
pub const CONTENTS_SCHEMA: u32 = 2;

/// The files of a record of models, which has no packets and no endpoints.
pub const MODELS_FILES: &[&str] = &[RUN_FILE, PATH_FILE, METRICS_FILE, CONTENTS_FILE, FAILURE_FILE];

/// A file or folder of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordFile {
    /// Its name; folders end with a slash.
    pub name: &'static str,
    /// What it holds.
    pub what: &'static str,
    /// The schema that this version writes; `None` for formats that quiclab does not define.
    pub schema: Option<u32>,
    /// The oldest schema that this version reads.
    pub oldest_schema: Option<u32>,
    /// Whether `quiclab verify` compares it, byte for byte.
    pub is_compared: bool,
    /// Whether every record has it. The others belong to failed runs, and `host.json` to runs in real time.
    pub is_required: bool,
}

/// Every file of a record, in the order in which they are written.
pub const FILES: &[RecordFile] = &[
    RecordFile {
        name: RUN_FILE,
        what: "The run: its identity, every setting, every version.",
        schema: Some(RUN_SCHEMA),
        oldest_schema: Some(1),
        is_compared: true,
        is_required: true,
    },
    RecordFile {
        name: "server/",
        what: "Files of the server: output, logs, qlog, TLS secrets, planned send times, CPU time by function.",
        schema: None,
        oldest_schema: None,
        is_compared: false,
        is_required: true,
    },
    RecordFile {
        name: "client/",
        what: "The same for the client.",
        schema: None,
        oldest_schema: None,
        is_compared: false,
        is_required: true,
    },
    RecordFile {
        name: CAPTURE_FILE,
        what: "The packets at both taps, as pcapng, with the TLS secrets.",
        schema: None,
        oldest_schema: None,
        is_compared: true,
        is_required: true,
    },
    RecordFile {
        name: PATH_FILE,
        what: "Observations other than packets: how the endpoints ended, what the hosts used, what each stage of the \
               path passed and dropped.",
        schema: Some(PATH_SCHEMA),
        oldest_schema: Some(1),
        is_compared: true,
        is_required: true,
    },
    RecordFile {
        name: HOST_FILE,
        what: "What the hosts did over time: CPU time by thread and core, context switches, system calls, drops at \
               sockets. Only of runs in real time.",
        schema: Some(HOST_SCHEMA),
        oldest_schema: Some(1),
        is_compared: false,
        is_required: false,
    },
    RecordFile {
        name: METRICS_FILE,
        what: "The metrics and the warnings. Older schemas are measured again from the capture when they are read.",
        schema: Some(quiclab_metrics::SCHEMA),
        oldest_schema: Some(1),
        is_compared: true,
        is_required: true,
    },
    RecordFile {
        name: CONTENTS_FILE,
        what: "Names, lengths and hashes of all other files, to detect missing, truncated and changed ones. Required \
               from schema 2 of `run.toml` on; older records have none.",
        schema: Some(CONTENTS_SCHEMA),
        oldest_schema: Some(1),
        is_compared: false,
        is_required: true,
    },
    RecordFile {
        name: FAILURE_FILE,
        what: "Why the run failed.",
        schema: None,
        oldest_schema: None,
        is_compared: false,
        is_required: false,
    },
    RecordFile {
        name: WRONG_FILES_FILE,
        what: "Errors in the files that the client stored.",
        schema: None,
        oldest_schema: None,
        is_compared: false,
        is_required: false,
    },
    RecordFile {
        name: CONSOLE_FILE,
        what: "Console output of the virtual machine.",
        schema: None,
        oldest_schema: None,
        is_compared: false,
        is_required: false,
    },
];

/// The folder of the endpoint in this role.
pub fn folder_of(role: Role) -> &'static str {
    match role {
        Role::Server => SERVER_FOLDER,
        Role::Client => CLIENT_FOLDER,
    }
}
