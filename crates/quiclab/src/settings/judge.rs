//! What to decide about two sets of results, and how to show the answer.

use std::path::PathBuf;

use quiclab_report::Condition;

/// The conditions, metrics and forms of a comparison.
#[derive(Clone, Debug, Default)]
pub struct JudgeSettings {
    /// Conditions under which B fails.
    pub conditions: Vec<Condition>,
    /// Metrics of the verdict; the default ones where there are none.
    pub metrics: Vec<String>,
    /// Undecided conditions count as failed.
    pub strict: bool,
    /// The file of an HTML page with figures.
    pub html: Option<PathBuf>,
    /// The file of a Markdown text; `-` is standard output instead of the tables.
    pub markdown: Option<PathBuf>,
    /// The tables have every metric.
    pub all: bool,
    /// JSON is printed instead of tables.
    pub json: bool,
}
