//! Reads `[labels]`.

use toml::{Spanned, Value, de::DeValue};

use crate::{
    changes::{Assignment, Origin},
    error::ExperimentError,
    reader::{Reader, Table},
    scenario::figure::GROUPS,
    value::{inline, plain},
};

use super::{Labels, SettingLabels};

impl Reader<'_> {
    /// `[labels.groups]`, and a table for each setting.
    pub(in crate::scenario) fn labels(&self, root: &Table) -> Result<Labels, ExperimentError> {
        let mut labels = Labels::default();
        let Some(value) = root.get("labels") else { return Ok(labels) };
        for (key, value) in self.table(value, "labels")?.iter() {
            let name = key.get_ref().as_ref();
            let table = self.table(value, &format!("labels.{name}"))?;
            if name == GROUPS {
                for (group, words) in table.iter() {
                    labels.groups.insert(group.get_ref().to_string(), self.words_of_label(words, name)?);
                }
            } else if self.kind.knows(name) {
                labels.settings.insert(name.to_owned(), self.setting_labels(name, table)?);
            } else {
                let message = format!("labels.{name}: found a key that does not exist");
                let hint = "a table of labels is named like a setting, such as [labels.\"flows.pacing\"], or groups";
                return Err(self.error(key, message, Some(hint.to_owned())));
            }
        }
        Ok(labels)
    }

    fn setting_labels(&self, key: &str, table: &Table) -> Result<SettingLabels, ExperimentError> {
        let mut labels = SettingLabels::default();
        for (value, words) in table.iter() {
            let text = value.get_ref().as_ref();
            let label = self.words_of_label(words, key)?;
            if text == "name" {
                labels.name = Some(label);
                continue;
            }
            let Some(allowed) = self.value_of(key, text) else {
                let message = format!("labels.{key}.{text}: found a value that {key} cannot have");
                let hint = format!("expected name, or a value of {key}, in quotes where it is no plain word");
                return Err(self.error(value, message, Some(hint)));
            };
            let origin = Origin::File(self.place(value));
            let text = Assignment { key: key.to_owned(), value: allowed, origin }.text();
            labels.values.insert(text, label);
        }
        Ok(labels)
    }

    /// What the text of a key stands for, if the setting can have it: keys of TOML are texts, also those of numbers.
    fn value_of(&self, key: &str, text: &str) -> Option<Value> {
        let candidates = [
            Some(Value::String(text.to_owned())),
            text.parse().ok().map(Value::Integer),
            text.parse().ok().map(Value::Float),
            text.parse().ok().map(Value::Boolean),
        ];
        candidates
            .into_iter()
            .flatten()
            .find(|value| (self.kind.check)(key, value).is_some_and(|checked| checked.is_ok()))
    }

    fn words_of_label(&self, value: &Spanned<DeValue>, key: &str) -> Result<String, ExperimentError> {
        let found = plain(value);
        let message = || format!("labels.{key}: found {}, expected a string", inline(&found));
        found.as_str().map(str::to_owned).ok_or_else(|| self.error(value, message(), None))
    }
}
