//! What `quiclab stacks try` does.

use std::path::PathBuf;

/// The endpoint that is tried, and how.
#[derive(Clone, Debug)]
pub struct StacksTrySettings {
    /// A folder with a stack.toml, or a program.
    pub path: PathBuf,
    /// Checks; empty: all.
    pub case: Vec<String>,
    /// The endpoint at the other end; `None`: the same one.
    pub peer: Option<PathBuf>,
    /// Variables of the contract and their values.
    pub variables: Vec<(String, String)>,
    /// The endpoint is built again.
    pub rebuild: bool,
    /// File for the packets.
    pub capture: Option<PathBuf>,
    /// Folder for what the endpoints print and write.
    pub out: PathBuf,
    /// JSON is printed instead of text.
    pub json: bool,
}
