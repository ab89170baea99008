//! Pictures that a scenario asks for.

use serde::{Deserialize, Serialize};
use toml::{Spanned, de::DeValue};

use crate::{
    error::ExperimentError,
    file::Reader,
    value::{inline, plain},
};

/// The axis of curves over time.
pub const TIME: &str = "time";

/// One picture: curves of metrics over a setting, or of what was seen at each interval over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// What stands above it.
    pub title: String,
    /// A dotted setting whose values are numbers, or [`TIME`].
    pub x: String,
    /// Metrics, or with [`TIME`] series; at least one.
    pub y: Vec<String>,
    /// Whether the horizontal axis is logarithmic.
    #[serde(default)]
    pub logarithmic: bool,
}

impl Reader<'_> {
    pub(super) fn figure(&self, row: &Spanned<DeValue>) -> Result<FigureSpec, ExperimentError> {
        let table = self.table(row, "figure")?;
        let missing = |key: &str, what: &str| self.error(row, format!("figure.{key}: missing; expected {what}"), None);
        let mut figure = FigureSpec { title: String::new(), x: TIME.to_owned(), y: Vec::new(), logarithmic: false };
        for (key, value) in table.iter() {
            match key.get_ref().as_ref() {
                "title" => figure.title = self.optional_text(table, "title")?.unwrap_or_default(),
                "x" => figure.x = self.optional_text(table, "x")?.unwrap_or_default(),
                "y" => figure.y = self.names(value)?,
                "logarithmic" => figure.logarithmic = self.truth(value, "figure.logarithmic")?,
                other => {
                    let message = format!("figure.{other}: found a key that does not exist");
                    let hint = "a table has title, x, y and logarithmic".to_owned();
                    return Err(self.error(key, message, Some(hint)));
                }
            }
        }
        if figure.title.is_empty() {
            return Err(missing("title", "a text"));
        }
        if figure.y.is_empty() {
            return Err(missing("y", "the name of a metric, or a list of them"));
        }
        if figure.x != TIME && !self.kind.knows(&figure.x) {
            let at = table.get("x").unwrap_or(row);
            let message = format!("figure.x: found {:?}, expected {TIME:?} or the key of a setting", figure.x);
            return Err(self.error(at, message, None));
        }
        Ok(figure)
    }

    /// A text, or a list of texts.
    fn names(&self, value: &Spanned<DeValue>) -> Result<Vec<String>, ExperimentError> {
        let found = plain(value);
        let message =
            || format!("figure.y: found {}, expected the name of a metric, or a list of them", inline(&found));
        match &found {
            toml::Value::String(name) => Ok(vec![name.clone()]),
            toml::Value::Array(names) => {
                let texts = names.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
                texts.ok_or_else(|| self.error(value, message(), None))
            }
            _ => Err(self.error(value, message(), None)),
        }
    }
}
