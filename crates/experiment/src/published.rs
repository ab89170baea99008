//! What others published, to be printed beside.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::{Spanned, de::DeValue};

use crate::{
    error::ExperimentError,
    reader::Reader,
    value::{inline, plain},
};

/// Curves that can be published: the cumulative share of gaps by their length in microseconds, and that of packets by the length of their
/// train.
pub const CURVES: &[&str] = &["gaps_us", "packets_by_train_length"];

/// A published result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Name of the result where no run is like it; `None`: then it is not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Dotted settings that a run must have for the result to be about it, with the text that
    /// [`setting_text`](crate::setting_text) gives. Empty: it is about every run.
    pub matches: BTreeMap<String, String>,
    /// Values by the name of their metric, in the unit of that metric; all finite.
    pub values: BTreeMap<String, f64>,
    /// Curves by their name, one of [`CURVES`]: points with rising lengths, and shares from 0 to 1 that do not fall.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub curves: BTreeMap<String, Vec<(f64, f64)>>,
    /// Where the values were published, and what a reader must know of them; `None` where the file does not say.
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
        let mut published = Published::default();
        for (key, value) in self.table(row, "published")?.iter() {
            match key.get_ref().as_ref() {
                "match" => published.matches = self.matches(value, "published.match")?,
                "values" => published.values = self.values(value)?,
                "curves" => published.curves = self.curves(value)?,
                "name" => published.name = Some(self.words(value, "published.name")?),
                "source" => published.source = Some(self.words(value, "published.source")?),
                other => {
                    let message = format!("published.{other}: found a key that does not exist");
                    return Err(self.error(
                        key,
                        message,
                        Some("a row has name, match, values, curves and source".to_owned()),
                    ));
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
            if assignment.key == self.kind.repetitions {
                let message = format!("{name}.{}: found a key that no single run has", assignment.key);
                return Err(self.error(key, message, Some("describe it in words".to_owned())));
            }
            let text = assignment.text();
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

    fn words(&self, value: &Spanned<DeValue>, name: &str) -> Result<String, ExperimentError> {
        let found = plain(value);
        let message = || format!("{name}: found {}, expected a string", inline(&found));
        found.as_str().map(str::to_owned).ok_or_else(|| self.error(value, message(), None))
    }

    fn curves(&self, value: &Spanned<DeValue>) -> Result<BTreeMap<String, Vec<(f64, f64)>>, ExperimentError> {
        let mut curves = BTreeMap::new();
        for (key, value) in self.table(value, "published.curves")?.iter() {
            let name = key.get_ref().as_ref();
            if !CURVES.contains(&name) {
                let message = format!("published.curves.{name}: found a curve that does not exist");
                return Err(self.error(key, message, Some(format!("expected one of {}", CURVES.join(", ")))));
            }
            curves.insert(name.to_owned(), self.curve(value, name)?);
        }
        Ok(curves)
    }

    fn curve(&self, value: &Spanned<DeValue>, name: &str) -> Result<Vec<(f64, f64)>, ExperimentError> {
        let message = || {
            let found = inline(&plain(value));
            format!(
                "published.curves.{name}: found {found}, expected [length, share] pairs with increasing lengths and \
                 shares from 0 to 1 that do not decrease"
            )
        };
        let points = value.get_ref().as_array().ok_or_else(|| self.error(value, message(), None))?;
        let mut curve: Vec<(f64, f64)> = Vec::new();
        for point in points.iter() {
            let pair = point.get_ref().as_array().filter(|pair| pair.len() == 2);
            let pair = pair.ok_or_else(|| self.error(point, message(), None))?;
            let [length, share] = [0, 1].map(|place| self.number(&pair[place], "published.curves"));
            let (length, share) = (length?, share?);
            let follows = curve.last().is_none_or(|(before, lower)| length > *before && share >= *lower);
            if !follows || !(0.0..=1.0).contains(&share) || length <= 0.0 {
                return Err(self.error(point, message(), None));
            }
            curve.push((length, share));
        }
        Ok(curve)
    }

    /// A finite number.
    pub(crate) fn number(&self, value: &Spanned<DeValue>, name: &str) -> Result<f64, ExperimentError> {
        let found = plain(value);
        let number = found.as_float().or_else(|| found.as_integer().map(|number| number as f64));
        let message = || format!("{name}: found {}, expected a number", inline(&found));
        number.filter(|number| number.is_finite()).ok_or_else(|| self.error(value, message(), None))
    }
}
