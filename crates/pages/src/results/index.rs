//! The index of a results folder: which experiment its records belong to, and what the report says besides them.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result, bail};
use quiclab_experiment::{
    AnyRun, Expectation, Published, Until,
    scenario::{FigureSpec, Labels},
};
use quiclab_inputs::{MOST_TEXT_BYTES, read_unlinked_text};
use quiclab_report::InterimAnalyses;
use quiclab_testbed::cache::Origin;
use serde::{Deserialize, Serialize};

use super::order::Order;
use crate::folder::INDEX_FILE;

/// Version of the index.
pub const SCHEMA: u32 = 2;

/// What the report says besides the records.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Kind of the runs, as in their `run.toml`. Indices of schema 1 were of transfers.
    #[serde(default = "transfer")]
    pub kind: String,
    /// Name of the experiment.
    pub experiment: String,
    /// What it measures, in a line.
    pub title: String,
    /// Where it comes from.
    pub source: Option<String>,
    /// The command that filled the folder.
    pub command: String,
    /// Published values, to compare with.
    pub published: Vec<Published>,
    /// The claims that must hold.
    #[serde(default)]
    pub expectations: Vec<Expectation>,
    /// Expectations about runs that are not in the plan, such as those that a profile leaves out.
    #[serde(default)]
    pub expectations_left_out: Vec<Expectation>,
    /// Whether senders are ranked.
    #[serde(default)]
    pub ranking: bool,
    /// The pictures that the file asks for.
    #[serde(default)]
    pub figures: Vec<FigureSpec>,
    /// What settings, their values and groups of flows are called in figures and tables.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub labels: Labels,
    /// When claims were evaluated, where runs were repeated until all were decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<InterimAnalyses>,
    /// Where runs were repeated until a metric was known well enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Order in which runs in real time were performed; `None` where time was virtual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Names of the plan's records, in its order.
    pub records: Vec<String>,
    /// Stacks whose runs were skipped because they could not be built, and why.
    #[serde(default)]
    pub missing_stacks: BTreeMap<String, String>,
    /// Things of the cache that runs of this folder were performed with and that were not built here, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub from_archives: BTreeMap<String, Origin>,
}

impl Index {
    /// Adds the things that runs were performed with. Those that an earlier command noted in `folder` stay: the records are there.
    pub fn performed_with(mut self, folder: &Path, from_archives: BTreeMap<String, Origin>) -> Self {
        self.from_archives = Self::read(folder).map(|earlier| earlier.from_archives).unwrap_or_default();
        self.from_archives.extend(from_archives);
        self
    }

    /// Reads the index of a folder.
    ///
    /// # Errors
    /// Where there is none that this version reads.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(INDEX_FILE);
        let text = read_unlinked_text(&path, MOST_TEXT_BYTES).with_context(|| path.display().to_string())?;
        let index: Self = serde_json::from_str(&text)
            .with_context(|| format!("{}\nhint: quiclab run FILE --out DIR writes it again", path.display()))?;
        if index.schema > SCHEMA {
            bail!(
                "{}: found schema {}, expected at most {SCHEMA}\nhint: use a newer version of quiclab",
                path.display(),
                index.schema
            );
        }
        Ok(index)
    }
}

fn is_empty(labels: &Labels) -> bool {
    *labels == Labels::default()
}

fn transfer() -> String {
    AnyRun::TRANSFER.to_owned()
}
