//! What `quiclab run` does; `quiclab ab` performs the runs of its sides with the same settings.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use quiclab_testbed::stack_store::StackRequest;

/// Repetitions at which `--until-decided` gives up.
pub const MOST_REPETITIONS: u32 = 100;
/// Time that a run in real time waits for the machine to be quiet.
pub const WAIT_FOR_QUIET: Duration = Duration::from_secs(3);
/// Real time that a run may take.
pub const WALL_TIMEOUT: Duration = Duration::from_secs(3600);

/// What to do with the runs of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunAction {
    /// Runs without a record are performed, and the report is made.
    Perform,
    /// The runs are printed.
    Print,
    /// What the runs need is made, and printed with the runs as JSON lines.
    PrintNeeds,
    /// Each combination of settings is performed `count` times in the simulator without records; `table` is a Parquet file with a row for each
    /// handshake.
    CountHandshakes { count: u64, table: Option<PathBuf> },
}

/// Which runs of an experiment are performed, where, and what is written.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Experiment files, and folders of them; at least one.
    pub files: Vec<PathBuf>,
    /// A profile that the file defines.
    pub profile: Option<String>,
    /// Number of repetitions, instead of the file's.
    pub repetitions: Option<u32>,
    /// Runs of undecided expectations are repeated.
    pub until_decided: bool,
    /// Largest number of repetitions with `until_decided`.
    pub most_repetitions: u32,
    /// Key and value that each run must have.
    pub filters: Vec<(String, String)>,
    /// Keys and values that replace those of the file.
    pub set: Vec<(String, String)>,
    /// Name of the testbed; the default of the workload where there is none.
    pub testbed: Option<String>,
    /// The file that names the hosts of the testbed `hosts`.
    pub hosts: Option<PathBuf>,
    /// Number of runs in parallel.
    pub jobs: Option<u16>,
    /// Folder for the records and the report.
    pub out: Option<PathBuf>,
    /// Time limit of a run, in real time.
    pub wall_timeout: Duration,
    /// How long a run in real time waits for the machine to be quiet.
    pub wait_for_quiet: Duration,
    /// A run in real time waits while another quiclab performs runs on this machine, instead of failing.
    pub waits_for_turn: bool,
    /// What this machine can do at best is measured first.
    pub roofline: bool,
    /// The packets of each run are compared with the laws of its path.
    pub audit: bool,
    /// Packets, frames and events of each run are written as Parquet files.
    pub parquet: bool,
    /// Folder for the figures as files.
    pub figures: Option<PathBuf>,
    /// Where the stacks are.
    pub stacks: StackRequest,
    /// JSON is printed instead of text.
    pub json: bool,
}

impl RunSettings {
    /// Whether there can be several experiments, so that each needs a folder of its own.
    pub fn has_several(&self) -> bool {
        self.files.len() > 1 || self.files.iter().any(|path| path.is_dir())
    }

    /// The settings of `quiclab run FILE` without options.
    pub fn of(file: &Path) -> Self {
        Self {
            files: vec![file.to_path_buf()],
            profile: None,
            repetitions: None,
            until_decided: false,
            most_repetitions: MOST_REPETITIONS,
            filters: Vec::new(),
            set: Vec::new(),
            testbed: None,
            hosts: None,
            jobs: None,
            out: None,
            wall_timeout: WALL_TIMEOUT,
            wait_for_quiet: WAIT_FOR_QUIET,
            waits_for_turn: true,
            roofline: false,
            audit: false,
            parquet: false,
            figures: None,
            stacks: StackRequest::default(),
            json: false,
        }
    }
}
