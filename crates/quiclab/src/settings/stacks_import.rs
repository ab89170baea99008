//! What `quiclab stacks import` does.

use std::path::PathBuf;

use quiclab_experiment::{run::Http, stack::Role};
use quiclab_testbed::stack_store::StackRequest;

/// The images that become stacks, and what they claim.
#[derive(Clone, Debug)]
pub struct StacksImportSettings {
    /// An image that docker save has written.
    pub archive: Option<PathBuf>,
    /// A file of implementations, all of which are imported.
    pub implementations: Option<PathBuf>,
    /// Name of the stack; `None`: that of the archive.
    pub name: Option<String>,
    /// Roles that the image has.
    pub role: RoleChoice,
    /// Versions of HTTP that it speaks.
    pub http: Vec<Http>,
    /// Test cases that it knows; empty: all.
    pub cases: Vec<String>,
    /// The stacks to choose from.
    pub stacks: StackRequest,
    /// JSON is printed instead of text.
    pub json: bool,
}

/// Roles of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RoleChoice {
    /// Server and client.
    Both,
    /// Server alone.
    Server,
    /// Client alone.
    Client,
}

impl RoleChoice {
    /// Roles of a stack.
    pub fn roles(self) -> &'static [Role] {
        match self {
            Self::Both => &[Role::Server, Role::Client],
            Self::Server => &[Role::Server],
            Self::Client => &[Role::Client],
        }
    }
}
