//! The sections of an experiment file and of its profiles: settings, and the matrix.

use std::collections::BTreeSet;

use toml::{Spanned, Value, de::DeValue};

use crate::{
    error::{ExperimentError, Place, nearest},
    file::{Reader, Table},
    kind::Kind,
    value::{inline, plain},
};

/// What a file, or one of its profiles, sets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    pub(crate) assignments: Vec<Assignment>,
    /// Axes of the matrix: a key, and its values. No key stands in both.
    pub(crate) matrix: Vec<(String, Vec<Assignment>)>,
    /// Names of the tables in the section that has such, also of those that set nothing.
    pub(crate) named: BTreeSet<String>,
}

/// A setting and its value.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) key: String,
    pub(crate) value: Value,
    pub(crate) place: Place,
}

impl Changes {
    /// A profile wins key by key: what it sets is neither value nor axis of the file any more, what it makes an axis neither.
    pub(crate) fn overridden_by(self, profile: Self) -> Self {
        let kept = |key: &String| {
            !profile.assignments.iter().any(|set| set.key == *key) && !profile.matrix.iter().any(|axis| axis.0 == *key)
        };
        let assignments: Vec<_> = self.assignments.into_iter().filter(|set| kept(&set.key)).collect();
        let matrix: Vec<_> = self.matrix.into_iter().filter(|(key, _)| kept(key)).collect();
        Self {
            assignments: assignments.into_iter().chain(profile.assignments).collect(),
            matrix: matrix.into_iter().chain(profile.matrix).collect(),
            named: self.named.into_iter().chain(profile.named).collect(),
        }
    }
}

impl Reader<'_> {
    /// Settings, sections and the matrix of a table; `others` are its keys that are read elsewhere.
    pub(crate) fn changes(&self, table: &Table, others: &[&str]) -> Result<Changes, ExperimentError> {
        let mut changes = Changes::default();
        for (key, value) in table.iter() {
            let name = key.get_ref().as_ref();
            match name {
                "matrix" => changes.matrix = self.matrix(self.table(value, name)?)?,
                _ if self.kind.sections.contains(&name) => {
                    let is_named = self.kind.named_section == Some(name);
                    self.section(name, self.table(value, name)?, is_named, &mut changes)?;
                }
                _ if others.contains(&name) => {}
                _ if name.contains('.') => {
                    let message = format!("{name}: found a key in quotes, expected a section with a key in it");
                    return Err(self.error(
                        key,
                        message,
                        Some("only [matrix], match, runs and compared_with have such keys".to_owned()),
                    ));
                }
                _ => changes.assignments.push(self.assignment(name, key, value)?),
            }
        }
        for set in &changes.assignments {
            if changes.matrix.iter().any(|(axis, _)| *axis == set.key) {
                let message = format!("{}: found a value, expected none, because it is an axis of the matrix", set.key);
                return Err(self.error_at(set.place, message, Some("remove one of the two".to_owned())));
            }
        }
        Ok(changes)
    }

    /// The settings of a section; where `is_named`, its tables hold settings too.
    fn section(&self, name: &str, table: &Table, is_named: bool, changes: &mut Changes) -> Result<(), ExperimentError> {
        for (key, value) in table.iter() {
            let full = format!("{name}.{}", key.get_ref());
            match value.get_ref() {
                DeValue::Table(table) if is_named => {
                    changes.named.insert(key.get_ref().to_string());
                    self.section(&full, table, false, changes)?;
                }
                _ => changes.assignments.push(self.assignment(&full, key, value)?),
            }
        }
        Ok(())
    }

    fn matrix(&self, table: &Table) -> Result<Vec<(String, Vec<Assignment>)>, ExperimentError> {
        table.iter().map(|(key, value)| Ok((key.get_ref().to_string(), self.axis(key, value)?))).collect()
    }

    fn axis<K: AsRef<str>>(
        &self,
        key: &Spanned<K>,
        value: &Spanned<DeValue>,
    ) -> Result<Vec<Assignment>, ExperimentError> {
        let name = key.get_ref().as_ref();
        if name == self.kind.repetitions {
            let section = name.split('.').next().unwrap_or_default();
            let hint = Some(format!("set it in [{section}]"));
            return Err(self.error(value, format!("matrix.{name}: repetitions are no axis of the matrix"), hint));
        }
        if !self.kind.knows(name) {
            return Err(self.unknown_key(name, key));
        }
        let values = match value.get_ref() {
            DeValue::Array(values) if !values.is_empty() => values,
            _ => {
                let message = format!("matrix.{name}: found {}, expected a list of values", inline(&plain(value)));
                return Err(self.error(value, message, None));
            }
        };
        values.iter().map(|value| self.assignment(name, key, value)).collect()
    }

    /// Checks key and value at once, so that every mistake is found where it stands.
    pub(crate) fn assignment<K>(
        &self,
        name: &str,
        key: &Spanned<K>,
        value: &Spanned<DeValue>,
    ) -> Result<Assignment, ExperimentError> {
        let converted = plain(value);
        match (self.kind.check)(name, &converted) {
            None => Err(self.unknown_key(name, key)),
            Some(Err(message)) => Err(self.error(value, format!("{name}: {message}"), None)),
            Some(Ok(())) => Ok(Assignment { key: name.to_owned(), value: converted, place: self.place(value) }),
        }
    }

    fn unknown_key<K>(&self, name: &str, key: &Spanned<K>) -> ExperimentError {
        let Kind { top, sections, .. } = self.kind;
        if top.contains(&name) {
            let message = format!("{name}: found a key of the top of the file, expected a setting");
            return self.error(key, message, None);
        }
        let keys = (self.kind.keys)();
        if sections.contains(&name) {
            // A dotted key without quotes is a table in a table.
            let own = keys.iter().find(|key| key.starts_with(&format!("{name}.")));
            let example = own.map(|key| format!("write the whole key in quotes, such as {key:?}"));
            return self.error(key, format!("{name}: found a section, expected a setting"), example);
        }
        let known = || keys.iter().chain(top.iter()).chain(sections.iter()).copied();
        // Whoever remembers a key takes it for one of another section more often than they misspell it.
        let elsewhere = known().find(|key| own_name(key) == own_name(name));
        let hint = match elsewhere.or_else(|| nearest(name, known())) {
            Some(near) if name.contains('.') && !near.contains('.') => {
                format!("did you mean {near}, at the top of the file?")
            }
            Some(near) => format!("did you mean {near}?"),
            None => format!("{} lists all keys", self.kind.reference),
        };
        self.error(key, format!("{name}: found a key that does not exist"), Some(hint))
    }
}

/// A key without its section.
fn own_name(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, own)| own)
}
