//! The index of a results folder: which experiment its records belong to, and what the report says besides them.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result, bail};
use quiclab_experiment::{
    AnyRun, Expectation, Published, Until,
    scenario::{FigureSpec, Labels},
};
use quiclab_inputs::read_unlinked_text;
use quiclab_pages::folder::INDEX_FILE;
use quiclab_report::InterimAnalyses;
use quiclab_testbed::cache::Origin;
use serde::{Deserialize, Serialize};

use crate::session::{bounded_input::MOST_TEXT_BYTES, order::Order, planned::Planned};

/// Version of the index.
const SCHEMA: u32 = 2;

/// What the report says besides the records.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    pub(crate) schema: u32,
    /// Kind of the runs, as in their `run.toml`. Indices of schema 1 were of transfers.
    #[serde(default = "transfer")]
    pub(crate) kind: String,
    pub(crate) experiment: String,
    pub(crate) title: String,
    pub(crate) source: Option<String>,
    pub(crate) command: String,
    pub(crate) published: Vec<Published>,
    #[serde(default)]
    pub(crate) expectations: Vec<Expectation>,
    /// Expectations about runs that are not in the plan, such as those that a profile leaves out.
    #[serde(default)]
    pub(crate) expectations_left_out: Vec<Expectation>,
    /// Whether senders are ranked.
    #[serde(default)]
    pub(crate) ranking: bool,
    /// The pictures that the file asks for.
    #[serde(default)]
    pub(crate) figures: Vec<FigureSpec>,
    /// What settings, their values and groups of flows are called in figures and tables.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(crate) labels: Labels,
    /// When claims were evaluated, where runs were repeated until all were decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) looks: Option<InterimAnalyses>,
    /// Where runs were repeated until a metric was known well enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<Until>,
    /// Order in which runs in real time were performed; `None` where time was virtual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) order: Option<Order>,
    /// Names of the plan's records, in its order.
    pub(crate) records: Vec<String>,
    /// Stacks whose runs were skipped because they could not be built, and why.
    #[serde(default)]
    pub(crate) missing_stacks: BTreeMap<String, String>,
    /// Things of the cache that runs of this folder were performed with and that were not built here, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) from_archives: BTreeMap<String, Origin>,
}

impl Index {
    /// The index of a plan whose records have these names, without the runs of stacks that are missing.
    pub fn new(
        plan: &Planned,
        command: String,
        records: Vec<String>,
        missing_stacks: BTreeMap<String, String>,
        order: Option<Order>,
    ) -> Self {
        Self {
            schema: SCHEMA,
            kind: plan.kind.to_owned(),
            experiment: plan.experiment.clone(),
            title: plan.title.clone(),
            source: plan.source.clone(),
            command,
            published: plan.published.clone(),
            expectations: plan.expectations.clone(),
            expectations_left_out: plan.expectations_left_out.clone(),
            ranking: plan.ranking,
            figures: plan.figures.clone(),
            labels: plan.words.clone(),
            looks: plan.looks,
            until: plan.until.clone(),
            order,
            records,
            missing_stacks,
            from_archives: BTreeMap::new(),
        }
    }

    /// The same for runs that were performed with these things. Those that an earlier command noted in `folder` stay: the records are there.
    pub fn performed_with(mut self, folder: &Path, from_archives: BTreeMap<String, Origin>) -> Self {
        self.from_archives = Self::read(folder).map(|earlier| earlier.from_archives).unwrap_or_default();
        self.from_archives.extend(from_archives);
        self
    }

    /// The index of a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
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
