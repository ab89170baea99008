//! A direction of the path as a list of stages, or by the settings of the published bottleneck.

use std::collections::BTreeSet;

use quiclab_path::spec::{self, StageSpec};
use toml::{Table, Value};

use super::value_parser::{Refused, ValueParser};
use crate::value::text_of;

/// The key of a path that is included. It names what path.to_client and path.to_server say, so it does not count towards the identity.
pub(crate) const INCLUDE: &str = "path.include";
/// The key of a scenario of the interop runner. As [`INCLUDE`], it names what the two lists say.
pub(crate) const SCENARIO: &str = "path.scenario";
/// Keys of the two lists.
pub(crate) const LISTS: [&str; 2] = ["path.to_client", "path.to_server"];

/// The word for the settings of the bottleneck.
const BOTTLENECK: &str = "bottleneck";

/// One direction of the path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StageList {
    /// What the short form says: `path.rate`, `path.queue_limit_packets` and the like.
    #[default]
    Bottleneck,
    /// A list of stages, the first one first; empty where packets pass at once.
    Stages(Vec<StageSpec>),
}

impl StageList {
    /// True where the short form says what the stages are.
    pub fn is_bottleneck(&self) -> bool {
        *self == Self::Bottleneck
    }
}

/// "bottleneck", or a list of tables.
pub(crate) struct Stages;

impl ValueParser for Stages {
    type Value = StageList;

    fn read(&self, value: &Value) -> Result<StageList, Refused> {
        let expected = || {
            Refused::expected(
                value,
                "\"bottleneck\", or a list of stages such as [{ stage = \"delay\", delay = \"20 ms\" }]",
            )
        };
        match value {
            Value::String(word) if word == BOTTLENECK => Ok(StageList::Bottleneck),
            Value::Array(values) => {
                let tables = values.iter().map(|value| value.as_table().cloned()).collect::<Option<Vec<_>>>();
                let stages = spec::read_list(&tables.ok_or_else(expected)?).map_err(Refused::from)?;
                Ok(StageList::Stages(stages))
            }
            _ => Err(expected()),
        }
    }

    fn write(&self, list: &StageList) -> Option<Value> {
        Some(match list {
            StageList::Bottleneck => Value::String(BOTTLENECK.to_owned()),
            StageList::Stages(stages) => Value::Array(spec::write_list(stages).into_iter().map(Value::Table).collect()),
        })
    }

    fn describe(&self) -> String {
        "\"bottleneck\", or a list of [stages](path.md)".to_owned()
    }

    fn words(&self) -> Vec<&'static str> {
        vec![BOTTLENECK]
    }
}

/// A scenario of the interop runner. Its stages take its place in the lists when the experiment is read.
pub(crate) struct Scenario;

impl ValueParser for Scenario {
    type Value = Option<String>;

    fn read(&self, value: &Value) -> Result<Option<String>, Refused> {
        match value.as_str() {
            Some("none") => Ok(None),
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(Refused::expected(value, "a scenario of the interop runner, or \"none\"")),
        }
    }

    fn write(&self, text: &Option<String>) -> Option<Value> {
        Some(Value::String(text.clone().unwrap_or_else(|| "none".to_owned())))
    }

    fn describe(&self) -> String {
        "a scenario, or \"none\"".to_owned()
    }

    fn words(&self) -> Vec<&'static str> {
        vec!["none"]
    }
}

/// The name of an included path. In a file it is the name of the file, whose contents take its place when the experiment is read.
pub(crate) struct Included;

impl ValueParser for Included {
    type Value = Option<String>;

    fn read(&self, value: &Value) -> Result<Option<String>, Refused> {
        match value.as_str() {
            Some("none") => Ok(None),
            Some(name) => Ok(Some(name.to_owned())),
            None => Err(Refused::expected(value, "the name of a file, or \"none\"")),
        }
    }

    fn write(&self, name: &Option<String>) -> Option<Value> {
        Some(Value::String(name.clone().unwrap_or_else(|| "none".to_owned())))
    }

    fn describe(&self) -> String {
        "a file, or \"none\"".to_owned()
    }
}

/// What sets several lists apart: the stage settings in which they differ where all have the same stages, such as
/// `loss.probability=0.01`, else each list's own stages in words. `None` where one of them is `bottleneck` only by that name.
pub(crate) fn shortened(lists: &[&StageList]) -> Option<Vec<String>> {
    let text = |(key, value): (Option<String>, String)| key.map_or(value.clone(), |key| format!("{key}={value}"));
    let joined = |parts: Parts| parts.into_iter().map(text).collect::<Vec<_>>().join(" ");
    Some(parts(lists)?.into_iter().map(joined).collect())
}

/// The settings of stages in a list, such as `loss.probability` and `0.01`; a list in words has no key.
type Parts = Vec<(Option<String>, String)>;

/// The same as [`shortened`], setting by setting.
pub(crate) fn parts(lists: &[&StageList]) -> Option<Vec<Parts>> {
    let tables: Option<Vec<Vec<Table>>> = lists
        .iter()
        .map(|list| match list {
            StageList::Bottleneck => None,
            StageList::Stages(stages) => Some(spec::write_list(stages)),
        })
        .collect();
    let tables = tables?;
    let first = tables.first()?;
    let shape = |list: &[Table]| {
        list.iter().map(|table| (table.get("name").cloned(), table.get("stage").cloned())).collect::<Vec<_>>()
    };
    let first_shape = shape(first);
    if tables.iter().any(|list| shape(list) != first_shape) {
        return Some(tables.iter().map(|list| vec![(None, in_words(list))]).collect());
    }
    // Once for all lists: a plan may have a hundred thousand.
    let mut differing = BTreeSet::new();
    for list in &tables {
        for (index, (table, first)) in list.iter().zip(first).enumerate() {
            let keys = table.keys().chain(first.keys()).filter(|key| table.get(*key) != first.get(*key));
            differing.extend(keys.map(|key| (index, key.as_str())));
        }
    }
    let of_list = |list: &Vec<Table>| {
        let of_stage = |(index, table): (usize, &Table)| {
            let name = table.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let own = table.iter().filter(|(key, _)| differing.contains(&(index, key.as_str())));
            own.map(move |(key, value)| (Some(format!("{name}.{key}")), text_of(value))).collect::<Vec<_>>()
        };
        list.iter().enumerate().flat_map(of_stage).collect()
    };
    Some(tables.iter().map(of_list).collect())
}

/// All stages of a list with their settings, such as `delay(delay=5 ms) + loss(probability=0.01)`.
fn in_words(list: &[Table]) -> String {
    let of_stage = |table: &Table| {
        let name = table.get("name").and_then(Value::as_str).unwrap_or_default();
        let own = table.iter().filter(|(key, _)| !["name", "stage"].contains(&key.as_str()));
        let own: Vec<_> = own.map(|(key, value)| format!("{key}={}", text_of(value))).collect();
        format!("{name}({})", own.join(", "))
    };
    if list.is_empty() { "nothing".to_owned() } else { list.iter().map(of_stage).collect::<Vec<_>>().join(" + ") }
}
