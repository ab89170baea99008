//! The sections of an experiment file and of its profiles: settings, and the matrix.

use toml::{Spanned, de::DeValue};

use crate::{
    changes::{Assignment, Changes, Origin},
    error::{ExperimentError, Place, nearest},
    includes::files::{Includes, NamedBy},
    kind::Kind,
    matrix::MOST_RUNS,
    reader::{Reader, Table},
    text::quoted,
    value::{inline, plain},
};

/// Values of an axis. Each is looked at by itself, with its place in the file.
const MOST_VALUES: usize = 10_000;

impl Reader<'_> {
    /// What the file sets, with a profile or without.
    pub(crate) fn all_changes(&self, root: &Table, profile: Option<&str>) -> Result<Changes, ExperimentError> {
        Ok(self.changes(root, self.kind.top)?.overridden_by(self.profile(root, profile)?))
    }

    /// What the chosen profile changes; nothing without one.
    fn profile(&self, root: &Table, chosen: Option<&str>) -> Result<Changes, ExperimentError> {
        let mut profiles = Vec::new();
        if let Some(tables) = root.get("profile") {
            for (name, table) in self.table(tables, "profile")?.iter() {
                let changes = self.changes(self.table(table, &format!("profile.{}", name.get_ref()))?, &[])?;
                profiles.push((name.get_ref().as_ref(), changes));
            }
        }
        let Some(chosen) = chosen else { return Ok(Changes::default()) };
        let names: Vec<_> = profiles.iter().map(|(name, _)| *name).collect();
        let expected = match names.as_slice() {
            [] => "none, because the file has no profiles".to_owned(),
            names => format!("one of {}", quoted(names)),
        };
        let hint = nearest(chosen, names).map(|near| format!("did you mean {near}?"));
        let found = profiles.into_iter().find(|(name, _)| *name == chosen);
        found.map(|(_, changes)| changes).ok_or_else(|| {
            let message = format!("profile: found {chosen:?}, expected {expected}");
            ExperimentError { file: self.file.to_owned(), place: None, message, hint }
        })
    }

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
        for (place, set) in changes.assignments.iter().enumerate() {
            if changes.assignments[..place].iter().any(|before| before.key == set.key) {
                return Err(self.second_value(&set.key, set.origin.place()));
            }
            if changes.matrix.iter().any(|(axis, _)| *axis == set.key) {
                let message = format!("{}: found a value, expected none, because it is an axis of the matrix", set.key);
                let hint = Some("remove one of the two".to_owned());
                let place = set.origin.place();
                return Err(ExperimentError { file: self.file.to_owned(), place, message, hint });
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
        // Before the values are looked at one by one, which takes a while where there are many.
        let mut lengths =
            table.iter().map(|(_, value)| value.get_ref().as_array().map_or(1, |values| values.len().max(1)));
        let size = lengths.try_fold(1, usize::checked_mul).filter(|size| *size <= MOST_RUNS);
        if let (None, Some((key, _))) = (size, table.iter().next()) {
            let message = format!("matrix: found more than {MOST_RUNS} combinations, expected fewer");
            return Err(self.error(key, message, None));
        }
        let mut axes: Vec<(String, Vec<Assignment>)> = Vec::new();
        for (key, value) in table.iter() {
            let name = self.kind.present_key(key.get_ref()).to_owned();
            let values = self.axis(key, value)?;
            if axes.iter().any(|(axis, _)| *axis == name) {
                return Err(self.second_value(&name, values.first().and_then(|value| value.origin.place())));
            }
            axes.push((name, values));
        }
        axes.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(axes)
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
            return Err(self.error(value, format!("matrix.{name}: repetitions cannot be an axis of the matrix"), hint));
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
        if values.len() > MOST_VALUES {
            let message = format!("matrix.{name}: found {} values, expected at most {MOST_VALUES}", values.len());
            return Err(self.error(key, message, None));
        }
        values.iter().map(|value| self.assignment(name, key, value)).collect()
    }

    /// Checks key and value at once, so that every mistake is found where it stands.
    pub(crate) fn assignment<K>(
        &self,
        name: &str,
        key: &Spanned<K>,
        value: &Spanned<DeValue>,
    ) -> Result<Assignment, ExperimentError> {
        let includes = Includes { experiment: self.file, read: self.read, named_by: NamedBy::Experiment };
        let converted = includes
            .with_contents(name, plain(value))
            .map_err(|refused| self.error(value, format!("{name}: {}", refused.message), refused.hint))?;
        match (self.kind.check)(name, &converted) {
            None => Err(self.unknown_key(name, key)),
            Some(Err(refused)) => Err(self.error(value, format!("{name}: {}", refused.message), refused.hint)),
            Some(Ok(())) => {
                let origin = Origin::File(self.place(value));
                Ok(Assignment { key: self.kind.present_key(name).to_owned(), value: converted, origin })
            }
        }
    }

    /// A setting by its key of today and by a former one.
    fn second_value(&self, key: &str, place: Option<Place>) -> ExperimentError {
        let message = format!("{key}: found a second value under another key of the same setting, expected one");
        let hint = Some(format!("write {key} only"));
        ExperimentError { file: self.file.to_owned(), place, message, hint }
    }

    fn unknown_key<K>(&self, name: &str, key: &Spanned<K>) -> ExperimentError {
        let (message, hint) = self.kind.unknown_key(name);
        self.error(key, message, hint)
    }
}

impl Kind {
    /// What is wrong with a key that is no setting, and what to do about it.
    pub(crate) fn unknown_key(&self, name: &str) -> (String, Option<String>) {
        let Kind { top, sections, .. } = self;
        if top.contains(&name) {
            return (format!("{name}: found a top-level key, expected a setting"), None);
        }
        let keys = (self.keys)();
        if sections.contains(&name) {
            // A dotted key without quotes is a table in a table.
            let own = keys.iter().find(|key| key.starts_with(&format!("{name}.")));
            let example = own.map(|key| format!("write the full key in quotes, such as {key:?}"));
            return (format!("{name}: found a section, expected a setting"), example);
        }
        let unknown = format!("{name}: found a key that does not exist");
        if let Some(hint) = (self.foreign_key)(name) {
            return (unknown, Some(hint.to_owned()));
        }
        let former = (self.former_keys)();
        let known = || keys.iter().chain(top.iter()).chain(sections.iter()).copied();
        // A key of another section is a more common mistake than a misspelled one.
        let elsewhere = known().find(|key| own_name(key) == own_name(name));
        let near =
            || nearest(name, known().chain(former.iter().copied())).map(|near| (self.present)(near).unwrap_or(near));
        let hint = match elsewhere.or_else(near) {
            Some(near) if name.contains('.') && !near.contains('.') => {
                format!("did you mean the top-level key {near}?")
            }
            Some(near) => format!("did you mean {near}?"),
            None => format!("{} lists all keys", self.reference),
        };
        (unknown, Some(hint))
    }
}

/// A key without its section.
fn own_name(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, own)| own)
}
