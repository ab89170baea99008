//! The file of a scenario.

use toml::de::{DeTable, DeValue};

use crate::{
    changes::{Changes, Origin},
    error::{ExperimentError, Place},
    expect::Expectation,
    kind::SCENARIOS,
    reader::{Reader, Table},
};

use super::{figure::FigureSpec, labels::Labels};

/// A scenario as it stands in its file, one profile chosen.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name of the scenario, as [`Experiment::name`](crate::Experiment::name).
    pub name: String,
    /// What it measures, in a line.
    pub title: String,
    /// Where it comes from; `None` where the file does not say.
    pub source: Option<String>,
    /// Repetition r has seed `seed + r - 1`.
    pub seed: u64,
    /// What must hold, in the order of the file.
    pub expectations: Vec<Expectation>,
    /// The pictures, in the order of the file.
    pub figures: Vec<FigureSpec>,
    /// What settings, their values and groups are called in figures and tables.
    pub labels: Labels,
    pub(super) file: String,
    pub(super) changes: Changes,
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
            name: reader.name(root)?,
            title: reader.required_text(root, "title")?,
            source: reader.optional_text(root, "source")?,
            seed: root.get("seed").map_or(Ok(1), |seed| reader.seed(seed))?,
            expectations: root.get("expect").map_or(Ok(Vec::new()), |expect| reader.expectations(expect))?,
            figures: reader.figures(root)?,
            labels: reader.labels(root)?,
            file: file.to_owned(),
            changes: reader.all_changes(root, profile)?,
            without_profile: profile.map(|_| reader.all_changes(root, None)).transpose()?,
        })
    }

    pub(super) fn error(&self, place: Option<Place>, message: String, hint: Option<String>) -> ExperimentError {
        ExperimentError { file: self.file.clone(), place, message, hint }
    }

    /// An error about a value from `origin`.
    pub(super) fn error_from(&self, origin: Option<Origin>, message: String, hint: Option<String>) -> ExperimentError {
        let prefix = origin.map_or("", Origin::prefix);
        self.error(origin.and_then(Origin::place), format!("{prefix}{message}"), hint)
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
