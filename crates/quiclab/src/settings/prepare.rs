//! What `quiclab tools prepare` does.

use std::path::PathBuf;

use quiclab_testbed::stack_store::StackRequest;

/// What is made ready for runs, and where it comes from or goes to.
#[derive(Clone, Debug)]
pub struct PrepareSettings {
    /// The experiment whose needs are prepared; `None`: all stacks and the default kernel.
    pub file: Option<PathBuf>,
    /// A profile of the file.
    pub profile: Option<String>,
    /// An archive, or a folder of archives, to take things from instead.
    pub from: Option<PathBuf>,
    /// SHA-256 that the archive must have.
    pub sha256: Option<String>,
    /// Folder for an archive of what was prepared.
    pub to: Option<PathBuf>,
    /// Settings that replace those of the file.
    pub set: Vec<(String, String)>,
    /// The stacks to choose from.
    pub stacks: StackRequest,
}
