//! What `quiclab verify` does.

use std::{path::PathBuf, time::Duration};

use quiclab_testbed::stack_store::StackRequest;

/// What is repeated and compared.
#[derive(Clone, Debug)]
pub struct VerifySettings {
    /// A record or a bundle.
    pub record: PathBuf,
    /// How many runs of a bundle are repeated; `None`: all.
    pub sample: Option<usize>,
    /// Time limit of a run, in real time.
    pub wall_timeout: Duration,
    /// The stacks to choose from.
    pub stacks: StackRequest,
    /// JSON is printed instead of sentences.
    pub json: bool,
}
