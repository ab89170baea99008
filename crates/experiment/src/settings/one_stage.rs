//! The settings of one stage of the path: `path.to_client.NAME.SETTING`.

use quiclab_path::spec::{self, SettingDeclaration, StageSpec};
use toml::{Table, Value};

use super::{
    resolved::Settings,
    stages::{LISTS, StageList},
    value_parser::Refused,
};
use crate::value::text_of;

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
    Some(text_of(&value))
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
        text_of(&Value::Table(table))
    };
    Some(stages.iter().map(table).collect::<Vec<_>>().join(", "))
}
