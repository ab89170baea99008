//! What others published, to be printed beside.

use std::collections::BTreeMap;

use toml::{Spanned, de::DeValue};

use crate::{
    error::ExperimentError,
    file::Reader,
    text::canonical,
    value::{inline, plain},
};

/// A published result.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Dotted settings that a run must have for the result to be about it, with the text that
    /// [`setting_text`](crate::setting_text) gives. Empty: it is about every run.
    pub matches: BTreeMap<String, String>,
    /// Values by the name of their metric, in the unit of that metric; all finite.
    pub values: BTreeMap<String, f64>,
    /// Where they stand, and what a reader must know of them; `None` where the file does not say.
    pub source: Option<String>,
}

impl Reader<'_> {
    /// All `[[published]]` tables.
    pub(crate) fn published(&self, value: &Spanned<DeValue>) -> Result<Vec<Published>, ExperimentError> {
        match value.get_ref() {
            DeValue::Array(rows) => rows.iter().map(|row| self.published_row(row)).collect(),
            _ => {
                let message = format!("published: found {}, expected [[published]] tables", inline(&plain(value)));
                Err(self.error(value, message, None))
            }
        }
    }

    fn published_row(&self, row: &Spanned<DeValue>) -> Result<Published, ExperimentError> {
        let mut published = Published { matches: BTreeMap::new(), values: BTreeMap::new(), source: None };
        for (key, value) in self.table(row, "published")?.iter() {
            match key.get_ref().as_ref() {
                "match" => published.matches = self.matches(value, "published.match")?,
                "values" => published.values = self.values(value)?,
                "source" => {
                    let found = plain(value);
                    let message = || format!("published.source: found {}, expected a text", inline(&found));
                    let text = found.as_str().ok_or_else(|| self.error(value, message(), None))?;
                    published.source = Some(text.to_owned());
                }
                other => {
                    let message = format!("published.{other}: found a key that does not exist");
                    return Err(self.error(key, message, Some("a row has match, values and source".to_owned())));
                }
            }
        }
        Ok(published)
    }

    /// Settings that a run must have, in a table of this name.
    pub(crate) fn matches(
        &self,
        value: &Spanned<DeValue>,
        name: &str,
    ) -> Result<BTreeMap<String, String>, ExperimentError> {
        let mut matches = BTreeMap::new();
        for (key, value) in self.table(value, name)?.iter() {
            let assignment = self.assignment(key.get_ref(), key, value)?;
            if assignment.key == "workload.repetitions" {
                let message = format!("{name}.workload.repetitions: found a key that no single run has");
                return Err(self.error(key, message, Some("say it in words".to_owned())));
            }
            let text = assignment.value.as_str().map_or_else(|| inline(&assignment.value), canonical);
            matches.insert(assignment.key, text);
        }
        Ok(matches)
    }

    fn values(&self, value: &Spanned<DeValue>) -> Result<BTreeMap<String, f64>, ExperimentError> {
        let mut values = BTreeMap::new();
        for (key, value) in self.table(value, "published.values")?.iter() {
            let name = format!("published.values.{}", key.get_ref());
            values.insert(key.get_ref().to_string(), self.number(value, &name)?);
        }
        Ok(values)
    }

    /// A finite number.
    pub(crate) fn number(&self, value: &Spanned<DeValue>, name: &str) -> Result<f64, ExperimentError> {
        let found = plain(value);
        let number = found.as_float().or_else(|| found.as_integer().map(|number| number as f64));
        let message = || format!("{name}: found {}, expected a number", inline(&found));
        number.filter(|number| number.is_finite()).ok_or_else(|| self.error(value, message(), None))
    }
}
