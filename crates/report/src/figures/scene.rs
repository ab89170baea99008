//! What pictures are drawn from.

use quiclab_experiment::Published;

use crate::{groups::Group, input::MachineLimits};

/// What the pictures of a page are drawn from.
pub(crate) struct Scene<'a> {
    /// The runs.
    pub groups: &'a [Group<'a>],
    /// What was published of something that was not run.
    pub alone: &'a [&'a Published],
    /// What the machine of the runs can do at best.
    pub machine: Option<MachineLimits>,
}
