//! What `quiclab doctor` does.

use std::path::PathBuf;

use quiclab_testbed::stack_store::StackRequest;

/// The parts of this machine, or other places, that are checked.
#[derive(Clone, Debug)]
pub struct DoctorSettings {
    /// Files in the cache are compared with their hashes too.
    pub cache: bool,
    /// Folders of records to look at instead.
    pub records: Vec<PathBuf>,
    /// A file of hosts to look at instead.
    pub hosts: Option<PathBuf>,
    /// The stacks to choose from.
    pub stacks: StackRequest,
    /// JSON is printed instead of a table.
    pub json: bool,
}
