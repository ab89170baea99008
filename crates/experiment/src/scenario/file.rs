//! The file of a scenario.

use toml::de::{DeTable, DeValue};

use crate::{
    changes::Changes,
    common::Common,
    error::ExperimentError,
    kind::SCENARIOS,
    reader::{Reader, Table},
};

use super::{figure::FigureSpec, labels::Labels};

/// A scenario as it stands in its file, one profile chosen.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The part that files of transfers have too.
    pub common: Common,
    /// What settings, their values and groups are called in figures and tables.
    pub labels: Labels,
    /// What the file sets without its profile; `None` if none was chosen.
    pub(super) without_profile: Option<Changes>,
}

/// True for a file about flows of models: it has a table of flows, or one of what they share. A file that is no TOML is none.
pub fn is_scenario(text: &str) -> bool {
    let root = DeTable::parse(text);
    root.is_ok_and(|root| ["flows", "bottleneck", "scenario"].iter().any(|name| root.get_ref().contains_key(*name)))
}

impl Scenario {
    /// Parses `text`, the contents of `file`, as [`Experiment::parse`](crate::Experiment::parse) does.
    ///
    /// # Errors
    /// As there.
    pub fn parse(file: &str, text: &str, profile: Option<&str>) -> Result<Self, ExperimentError> {
        let reader = Reader::new(file, text, &SCENARIOS);
        let root = reader.root()?;
        let root = root.get_ref();
        Ok(Self {
            common: reader.common(root, profile)?,
            labels: reader.labels(root)?,
            without_profile: profile.map(|_| reader.all_changes(root, None)).transpose()?,
        })
    }
}

impl Reader<'_> {
    /// All `[[figure]]` tables.
    pub(crate) fn figures(&self, root: &Table) -> Result<Vec<FigureSpec>, ExperimentError> {
        let Some(value) = root.get("figure") else { return Ok(Vec::new()) };
        match value.get_ref() {
            DeValue::Array(rows) => rows.iter().map(|row| self.figure(row)).collect(),
            _ => Err(self.error(
                value,
                "figure: found something other than a list, expected [[figure]] tables".to_owned(),
                None,
            )),
        }
    }
}
