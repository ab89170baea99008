//! What `quiclab bundle` does.

use std::path::PathBuf;

use quiclab_testbed::stack_store::StackRequest;

/// What is packed, and what is said of it.
#[derive(Clone, Debug)]
pub struct BundleSettings {
    /// A folder of results.
    pub results: PathBuf,
    /// The archive.
    pub out: PathBuf,
    /// Captures are packed too.
    pub with_captures: bool,
    /// The experiment file; `None`: the one that the command in the results names.
    pub experiment: Option<PathBuf>,
    /// Authors, as "Family, Given".
    pub author: Vec<String>,
    /// SPDX identifier of the licence of records and experiment.
    pub licence: Option<String>,
    /// The stacks to choose from.
    pub stacks: StackRequest,
    /// JSON is printed instead of sentences.
    pub json: bool,
}
