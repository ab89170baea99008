//! What must hold of the results, written beside the experiment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::{Spanned, de::DeValue};

use crate::{
    error::ExperimentError,
    reader::{Reader, Table},
    settings::{
        Settings,
        draft::{all, find},
        one_stage::list_unless,
    },
    text::setting_text,
    value::{inline, plain},
};

/// What takes the place of a metric where the claim is that the same information was lost: the CRYPTO and STREAM bytes that one run lost and the
/// other, of the same seed, did not lose equally often.
pub const LOST_BYTES: &str = "lost_bytes";

/// A sentence about the results, and the numbers by which it is judged: the mean of `metric` over the repetitions of some runs against
/// [`Expectation::number`], or against so many times the mean of other runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// What must hold, in words.
    pub claim: String,
    /// Where the claim comes from, such as the section and sentence of a paper; `None` where the file does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Name of the metric, or [`LOST_BYTES`].
    pub metric: String,
    /// Dotted settings that a run must have for the claim to be about it. Empty: it is about every run.
    pub runs: BTreeMap<String, String>,
    /// The side of the number on which the value must be.
    pub bound: Bound,
    /// Number that the mean is held against, in the unit of the metric; with `compared_with` a factor, or in the unit of the metric where
    /// the difference counts.
    pub number: f64,
    /// Dotted settings of the runs that it is compared with; in all others they are like those of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared_with: Option<BTreeMap<String, String>>,
    /// How the runs are compared with those of `compared_with`; only where that is set.
    #[serde(default, skip_serializing_if = "Compared::is_ratio")]
    pub compared_as: Compared,
}

/// How two values, or two means, are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compared {
    /// The first as a multiple of the second.
    #[default]
    Ratio,
    /// The first minus the second.
    Difference,
}

impl Compared {
    fn is_ratio(&self) -> bool {
        *self == Self::Ratio
    }
}

/// The side of a number on which a value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// A measured value of the number or more meets the expectation.
    AtLeast,
    /// A measured value of the number or less meets the expectation.
    AtMost,
    /// A measured value above the number meets the expectation.
    Above,
    /// A measured value below the number meets the expectation.
    Below,
}

/// Settings that a claim is about, as indices of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The settings whose metric is judged.
    pub of: usize,
    /// The settings that `of` is compared with: empty where the list has none, and then there is no verdict; several where the claim does
    /// not say enough. `None` for a claim about a number.
    pub with: Option<Vec<usize>>,
}

impl Bound {
    /// Every bound.
    pub const ALL: [Bound; 4] = [Bound::AtLeast, Bound::AtMost, Bound::Above, Bound::Below];

    /// The key of the bound in an experiment file.
    pub fn key(self) -> &'static str {
        match self {
            Bound::AtLeast => "at_least",
            Bound::AtMost => "at_most",
            Bound::Above => "above",
            Bound::Below => "below",
        }
    }

    /// True where `value` is on the right side of `number`.
    pub fn holds(self, value: f64, number: f64) -> bool {
        match self {
            Bound::AtLeast => value >= number,
            Bound::AtMost => value <= number,
            Bound::Above => value > number,
            Bound::Below => value < number,
        }
    }
}

impl Expectation {
    /// Whether it is about what the path lost, and not about a metric.
    pub fn is_of_losses(&self) -> bool {
        self.metric == LOST_BYTES
    }

    /// Which of these settings the claim is about, and with which of them each is compared.
    pub fn subjects<S: Comparable>(&self, all: &[&S]) -> Vec<Subject> {
        let about = (0..all.len()).filter(|place| has(all[*place], &self.runs));
        let subjects = about.map(|of| {
            let with = self.compared_with.as_ref().map(|other| {
                let is_like = |place: &usize| {
                    has(all[*place], other) && all[of].is_alike(all[*place], &|key| self.names(other, key))
                };
                (0..all.len()).filter(|place| *place != of).filter(is_like).collect()
            });
            Subject { of, with }
        });
        subjects.collect()
    }

    fn names(&self, other: &BTreeMap<String, String>, key: &str) -> bool {
        // What earlier versions stored has their keys.
        let names = |named: &String| named == key || find(named).is_some_and(|setting| setting.key == key);
        self.runs.keys().chain(other.keys()).any(names)
    }
}

/// Settings of runs, as claims see them.
pub trait Comparable {
    /// The value of a dotted setting as it would be written in a file, without quotes; `None` where there is none, or where it has no
    /// meaning.
    fn text(&self, key: &str) -> Option<String>;

    /// Whether these are alike in all that a claim does not name.
    fn is_alike(&self, other: &Self, is_named: &dyn Fn(&str) -> bool) -> bool;
}

impl Comparable for Settings {
    fn text(&self, key: &str) -> Option<String> {
        setting_text(self, key)
    }

    /// What a stack does by itself differs between stacks, and some settings have a meaning with some queueing disciplines only.
    fn is_alike(&self, other: &Self, is_named: &dyn Fn(&str) -> bool) -> bool {
        let other_stack = self.stack.name != other.stack.name;
        let is_own = |key: &str| other_stack && key.starts_with("stack.") && key != "stack.name";
        all().map(|setting| setting.key).filter(|key| !is_named(key) && !is_own(key)).all(|key| {
            // Of a list of stages, what a claim names is a setting of one stage.
            let text = |settings| list_unless(settings, key, is_named).or_else(|| setting_text(settings, key));
            match (text(self), text(other)) {
                (Some(one), Some(other)) => one == other,
                _ => true,
            }
        })
    }
}

fn has(settings: &impl Comparable, wanted: &BTreeMap<String, String>) -> bool {
    wanted.iter().all(|(key, value)| settings.text(key).as_deref() == Some(value.as_str()))
}

impl Reader<'_> {
    /// All `[[expect]]` tables.
    pub(crate) fn expectations(&self, value: &Spanned<DeValue>) -> Result<Vec<Expectation>, ExperimentError> {
        match value.get_ref() {
            DeValue::Array(rows) => rows.iter().map(|row| self.expectation(row)).collect(),
            _ => {
                let message = format!("expect: found {}, expected [[expect]] tables", inline(&plain(value)));
                Err(self.error(value, message, None))
            }
        }
    }

    fn expectation(&self, row: &Spanned<DeValue>) -> Result<Expectation, ExperimentError> {
        let table = self.table(row, "expect")?;
        let (mut runs, mut compared_with, mut bounds) = (BTreeMap::new(), None, Vec::new());
        let mut compared_as = None;
        let mut is_of_losses = false;
        for (key, value) in table.iter() {
            let name = key.get_ref().as_ref();
            match name {
                "claim" | "metric" | "source" => {}
                "losses" => {
                    let found = self.optional_text(table, "losses")?.unwrap_or_default();
                    if found != "equal" {
                        let message = format!("expect.losses: found {found:?}, expected \"equal\"");
                        return Err(self.error(value, message, None));
                    }
                    is_of_losses = true;
                }
                "runs" => runs = self.matches(value, "expect.runs")?,
                "compared_with" => compared_with = Some(self.matches(value, "expect.compared_with")?),
                "as" => {
                    compared_as = Some(match self.optional_text(table, "as")?.as_deref() {
                        Some("ratio") => Compared::Ratio,
                        Some("difference") => Compared::Difference,
                        found => {
                            let found = found.unwrap_or_default();
                            let message = format!("expect.as: found {found:?}, expected \"ratio\" or \"difference\"");
                            return Err(self.error(value, message, None));
                        }
                    });
                }
                _ => match Bound::ALL.into_iter().find(|bound| bound.key() == name) {
                    Some(bound) => bounds.push((bound, self.number(value, &format!("expect.{name}"))?)),
                    None => {
                        let message = format!("expect.{name}: found a key that does not exist");
                        let hint = "a table has claim, source, metric, runs, one of at_least, at_most, above and below, compared_with, as and losses";
                        return Err(self.error(key, message, Some(hint.to_owned())));
                    }
                },
            }
        }
        let missing = |what: &str| {
            let message = format!("expect.{what}: missing; expected {}", expected(what));
            self.error(row, message, None)
        };
        let text = |key: &str| self.optional_text(table, key)?.ok_or_else(|| missing(key));
        if is_of_losses {
            self.losses_alone(table, row, &bounds, compared_as.is_some())?;
            bounds = vec![bounds.first().copied().unwrap_or((Bound::AtMost, 0.0))];
        }
        let [(bound, number)] = bounds[..] else {
            let message = format!(
                "expect: found {} of at_least, at_most, above and below, expected one",
                if bounds.is_empty() { "none".to_owned() } else { bounds.len().to_string() }
            );
            return Err(self.error(row, message, None));
        };
        if compared_as.is_some() && compared_with.is_none() {
            let message = "expect.as: found it without compared_with, expected both or neither".to_owned();
            return Err(self.error(row, message, None));
        }
        let source = self.optional_text(table, "source")?;
        Ok(Expectation {
            claim: text("claim")?,
            source,
            metric: if is_of_losses { LOST_BYTES.to_owned() } else { text("metric")? },
            runs,
            bound,
            number,
            compared_with,
            compared_as: compared_as.unwrap_or_default(),
        })
    }
}

impl Reader<'_> {
    /// What goes with `losses`: runs to compare with, and perhaps how many bytes may differ.
    fn losses_alone(
        &self,
        table: &Table,
        row: &Spanned<DeValue>,
        bounds: &[(Bound, f64)],
        has_as: bool,
    ) -> Result<(), ExperimentError> {
        let refused = |key: &str, message: &str| {
            let at = table.get(key).unwrap_or(row);
            Err(self.error(at, format!("expect.{key}: {message}"), None))
        };
        if table.contains_key("metric") {
            return refused("metric", "found in addition to losses, expected one of the two");
        }
        if has_as {
            return refused("as", "found with losses, which are compared byte by byte");
        }
        if !table.contains_key("compared_with") {
            return refused("compared_with", "missing; losses = \"equal\" needs the runs to compare with");
        }
        match bounds {
            [] => Ok(()),
            [(Bound::AtMost, number)] if *number >= 0.0 && number.fract() == 0.0 => Ok(()),
            [(bound, _), ..] => {
                refused(bound.key(), "found with losses, expected at_most = the bytes that may differ, or none of them")
            }
        }
    }
}

fn expected(key: &str) -> &'static str {
    if key == "claim" { "the expectation, in words" } else { "the name of a metric" }
}
