//! What `quiclab interop` does.

use std::{path::PathBuf, time::Duration};

use quiclab_testbed::stack_store::StackRequest;

/// Who transfers with whom in which cases.
#[derive(Clone, Debug)]
pub struct InteropSettings {
    /// Servers; empty: all.
    pub server: Vec<String>,
    /// Clients; empty: all.
    pub client: Vec<String>,
    /// Test cases; empty: all.
    pub case: Vec<String>,
    /// A file of implementations whose stacks are chosen where none are named.
    pub implementations: Option<PathBuf>,
    /// The seed of all runs.
    pub seed: u64,
    /// Number of virtual machines in parallel.
    pub jobs: Option<u16>,
    /// Folder for the records and the matrix.
    pub out: PathBuf,
    /// Time limit of a run, in real time.
    pub wall_timeout: Duration,
    /// The stacks to choose from.
    pub stacks: StackRequest,
    /// JSON is printed instead of text.
    pub json: bool,
}
