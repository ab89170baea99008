//! A direction of the path as a list of stages, or by the settings of the published bottleneck.

use std::collections::BTreeSet;

use quiclab_path::spec::{self, SettingDeclaration, StageSpec};
use toml::{Table, Value};

use super::{
    Draft, INCLUDE, SCENARIO, Settings,
    value_parser::{Refused, ValueParser},
};

/// The word for the settings of the bottleneck.
const BOTTLENECK: &str = "bottleneck";

/// One direction of the path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StageList {
    /// What the short form says: `path.rate`, `path.queue_limit_packets` and the like.
    #[default]
    Bottleneck,
    /// These stages, the first one first; none where packets pass at once.
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

/// A change of one setting of one stage: `path.to_client.NAME.SETTING`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StageChange {
    key: String,
    value: Value,
}

/// The parts of a key of one setting of one stage: the list's key, the stage's name, the setting.
fn parts(key: &str) -> Option<(&'static str, &str, &str)> {
    let (list, rest) = LISTS.iter().find_map(|list| Some((*list, key.strip_prefix(list)?.strip_prefix('.')?)))?;
    let (name, setting) = rest.split_once('.')?;
    (!setting.contains('.')).then_some((list, name, setting))
}

/// Keys of the two lists.
pub(crate) const LISTS: [&str; 2] = ["path.to_client", "path.to_server"];

impl StageChange {
    /// The change of a setting of a stage; `None` where `key` is none of such, an error where no stage has such a setting.
    pub(crate) fn of(key: &str, value: &Value) -> Option<Result<Self, Refused>> {
        let (_, _, setting) = parts(key)?;
        let kinds = spec::declarations();
        let known = |declared: &&SettingDeclaration| declared.key == setting;
        if kinds.iter().flat_map(|kind| &kind.settings).any(|declared| known(&declared)) {
            Some(Ok(Self { key: key.to_owned(), value: value.clone() }))
        } else {
            Some(Err(Refused::from(format!("no stage has a setting {setting:?}; docs/reference/path.md lists them"))))
        }
    }

    /// Makes the change.
    ///
    /// # Errors
    /// The list's key, and what is wrong.
    pub(crate) fn apply(&self, settings: &mut Settings) -> Result<(), (&'static str, String)> {
        let Some((key, name, setting)) = parts(&self.key) else { return Ok(()) };
        let list = list_mut(settings, key);
        let place = format!("{name}.{setting}");
        let StageList::Stages(stages) = list else {
            let message = format!("{place}: found a value, expected none, because path.{} lists no stages", &key[5..]);
            return Err((key, message));
        };
        if !stages.iter().any(|stage| stage.name == name) {
            let names: Vec<_> = stages.iter().map(|stage| stage.name.as_str()).collect();
            return Err((key, format!("{place}: found no stage {name:?}, expected one of {}", names.join(", "))));
        }
        let changed: Vec<Table> = stages
            .iter()
            .map(|stage| {
                let mut table = stage.write();
                if stage.name == name {
                    table.insert(setting.to_owned(), self.value.clone());
                }
                table
            })
            .collect();
        *stages = spec::read_list(&changed).map_err(|message| (key, message))?;
        Ok(())
    }
}

fn list_mut<'a>(settings: &'a mut Settings, key: &str) -> &'a mut StageList {
    if key == LISTS[0] { &mut settings.path.to_client } else { &mut settings.path.to_server }
}

/// The text of one setting of one stage; `None` where there is no such stage, or it has no such setting.
pub(crate) fn stage_text(settings: &Settings, key: &str) -> Option<String> {
    let (list, name, setting) = parts(key)?;
    let list = if list == LISTS[0] { &settings.path.to_client } else { &settings.path.to_server };
    let StageList::Stages(stages) = list else { return None };
    let value = stages.iter().find(|stage| stage.name == name)?.write().remove(setting)?;
    Some(super::text_of(&value))
}

/// The text of a list without the settings of its stages that are left out, by their keys `path.to_client.NAME.SETTING`; `None` where `key`
/// is no list, or none with stages.
pub(crate) fn list_unless(settings: &Settings, key: &str, is_left_out: &dyn Fn(&str) -> bool) -> Option<String> {
    let list = match LISTS.iter().position(|list| *list == key)? {
        0 => &settings.path.to_client,
        _ => &settings.path.to_server,
    };
    let StageList::Stages(stages) = list else { return None };
    let table = |stage: &StageSpec| {
        let mut table = stage.write();
        table.retain(|setting, _| !is_left_out(&format!("{key}.{}.{setting}", stage.name)));
        super::text_of(&Value::Table(table))
    };
    Some(stages.iter().map(table).collect::<Vec<_>>().join(", "))
}

/// What sets several lists apart: the stage settings in which they differ where all have the same stages, such as
/// `loss.probability=0.01`, else each list's own stages in words. `None` where one of them is `bottleneck` only by that name.
pub(crate) fn told_apart(lists: &[&StageList]) -> Option<Vec<String>> {
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
        return Some(tables.iter().map(|list| in_words(list)).collect());
    }
    // Once for all lists: a plan may have a hundred thousand.
    let mut differing = BTreeSet::new();
    for list in &tables {
        for (index, (table, first)) in list.iter().zip(first).enumerate() {
            let keys = table.keys().chain(first.keys()).filter(|key| table.get(*key) != first.get(*key));
            differing.extend(keys.map(|key| (index, key.as_str())));
        }
    }
    let text = |list: &Vec<Table>| {
        let of_stage = |(index, table): (usize, &Table)| {
            let name = table.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let own = table.iter().filter(|(key, _)| differing.contains(&(index, key.as_str())));
            own.map(move |(key, value)| format!("{name}.{key}={}", super::text_of(value))).collect::<Vec<_>>()
        };
        list.iter().enumerate().flat_map(of_stage).collect::<Vec<_>>().join(" ")
    };
    Some(tables.iter().map(text).collect())
}

/// All stages of a list with their settings, such as `delay(delay=5 ms) + loss(probability=0.01)`.
fn in_words(list: &[Table]) -> String {
    let of_stage = |table: &Table| {
        let name = table.get("name").and_then(Value::as_str).unwrap_or_default();
        let own = table.iter().filter(|(key, _)| !["name", "stage"].contains(&key.as_str()));
        let own: Vec<_> = own.map(|(key, value)| format!("{key}={}", super::text_of(value))).collect();
        format!("{name}({})", own.join(", "))
    };
    if list.is_empty() { "nothing".to_owned() } else { list.iter().map(of_stage).collect::<Vec<_>>().join(" + ") }
}

impl Draft {
    /// Checks that the path is described once, and makes the changes of single stages.
    ///
    /// # Errors
    /// The key to blame, and what is wrong.
    pub(crate) fn settle_path(&mut self) -> Result<(), (&'static str, String)> {
        const TO_CLIENT: &[&str] =
            &["path.rate", "path.burst", "path.delay_to_client", "path.queue_limit_packets", "path.queue_bdp"];
        const CROSS_TRAFFIC: &[&str] =
            &["path.cross_traffic", "path.cross_rate", "path.cross_datagram", "path.cross_start"];
        const TO_SERVER: &[&str] = &["path.delay_to_server", "path.return_limit_packets", "path.drops_to_server"];
        let path = &self.settings.path;
        if self.names_path(INCLUDE) && self.names_path(SCENARIO) {
            return Err((SCENARIO, format!("found a value in addition to {INCLUDE}; expected one of the two")));
        }
        let has_cross_traffic =
            path.scenario.as_deref().is_some_and(|text| text.trim_start().contains("-cross-traffic"));
        if let Some(key) = CROSS_TRAFFIC.iter().find(|key| has_cross_traffic && self.is_given(key)) {
            let message =
                format!("found a value in addition to {SCENARIO}, which has cross traffic; expected one of the two");
            return Err((key, message));
        }
        for (list, value, short_form) in
            [(LISTS[0], &path.to_client, TO_CLIENT), (LISTS[1], &path.to_server, TO_SERVER)]
        {
            if let Some(source) = [INCLUDE, SCENARIO].into_iter().find(|source| self.names_path(source))
                && self.is_given(list)
            {
                return Err((list, format!("found a value in addition to {source}; expected one of the two")));
            }
            let Some(key) = short_form.iter().find(|key| self.is_given(key)) else { continue };
            if !value.is_bottleneck() {
                let source = [INCLUDE, SCENARIO].into_iter().find(|source| self.names_path(source));
                let source = source.filter(|_| !self.is_given(list)).unwrap_or(list);
                let message = format!(
                    "found a value in addition to {source}; expected one of the two, because this key is part of a \
                     short form of {list}"
                );
                return Err((key, message));
            }
        }
        for change in std::mem::take(&mut self.stage_changes) {
            change.apply(&mut self.settings)?;
        }
        Ok(())
    }

    /// Whether this key, of a file or of a scenario, says what the lists are.
    fn names_path(&self, source: &str) -> bool {
        let name = if source == INCLUDE { &self.settings.path.include } else { &self.settings.path.scenario };
        name.is_some()
    }
}
