//! Why an Internet does not start.

use std::{io, path::PathBuf};

use crate::description::BadDescription;

/// The Internet cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It cannot exist as described.
    #[error(transparent)]
    Description(#[from] BadDescription),
    /// The kernel refuses something.
    #[error("{what}: {why:#}")]
    Kernel {
        /// What was asked of it.
        what: String,
        /// What it answers.
        why: anyhow::Error,
    },
    /// A file of the record cannot be made.
    #[error("{}: {source}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// What the kernel answers.
        source: io::Error,
    },
}

impl StartError {
    pub(crate) fn kernel(what: impl Into<String>, why: impl Into<anyhow::Error>) -> Self {
        Self::Kernel { what: what.into(), why: why.into() }
    }
}
