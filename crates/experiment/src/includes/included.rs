//! A path in a file of its own.

use std::path::Path;

use quiclab_path::spec::{self, StageSpec};
use toml::{
    Spanned, Table, Value,
    de::{DeTable, DeValue},
};

use super::trace::{self, Traces};
use crate::{
    error::Place,
    settings::{stages::LISTS, value_parser::Refused},
    value::plain,
};

/// Reads `text`, the contents of the file `name`: the name of the path, and its two lists.
///
/// # Errors
/// The place in the file, and what was expected there.
pub(super) fn read(name: &str, text: &str, traces: &Traces<'_>) -> Result<Table, Refused> {
    let file = PathFile { name, text };
    let root = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        file.wrong_at(at, &format!("this is not TOML: {}", error.message()))
    })?;
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or(name);
    let mut contents = Table::from_iter([("include".to_owned(), Value::String(stem.to_owned()))]);
    let mut texts = Vec::new();
    for (key, value) in root.get_ref().iter() {
        match (key.get_ref().as_ref(), value.get_ref()) {
            (key @ ("title" | "source"), DeValue::String(_)) => texts.push(key),
            (key @ ("title" | "source"), _) => return Err(file.wrong(value, &format!("{key}: expected a string"))),
            (key, _) if list_keys().any(|list| list == key) => {
                contents.insert(key.to_owned(), file.stages(key, value, traces)?);
            }
            _ => return Err(file.wrong(key, "expected one of the keys title, source, to_client, to_server")),
        }
    }
    let missing = |key: &str, what: &str| file.wrong_at(0, &format!("{key}: missing; expected {what}"));
    if let Some(key) = ["title", "source"].iter().find(|key| !texts.contains(key)) {
        return Err(missing(key, "a string"));
    }
    match list_keys().find(|key| !contents.contains_key(*key)) {
        Some(key) => Err(missing(key, "a list of stages")),
        None => Ok(contents),
    }
}

/// Keys of the two lists in such a file.
fn list_keys() -> impl Iterator<Item = &'static str> {
    LISTS.iter().map(|list| list.trim_start_matches("path."))
}

struct PathFile<'a> {
    name: &'a str,
    text: &'a str,
}

impl PathFile<'_> {
    fn wrong<T>(&self, at: &Spanned<T>, message: &str) -> Refused {
        self.wrong_at(at.span().start, message)
    }

    fn wrong_at(&self, offset: usize, message: &str) -> Refused {
        let Place { line, column } = Place::of_offset(self.text, offset);
        format!("{}:{line}:{column}: {message}", self.name).into()
    }

    /// One direction. Everything that can be wrong with it is found here: elsewhere a message says what was found.
    fn stages(&self, key: &str, value: &Spanned<DeValue<'_>>, traces: &Traces<'_>) -> Result<Value, Refused> {
        let DeValue::Array(values) = value.get_ref() else {
            return Err(self.wrong(value, &format!("{key}: expected a list of stages")));
        };
        let mut stages = Vec::new();
        for value in values.iter() {
            let DeValue::Table(table) = value.get_ref() else {
                return Err(self.wrong(value, "expected a stage, such as { stage = \"delay\", delay = \"20 ms\" }"));
            };
            let Value::Table(stage) = plain(value) else { continue };
            let stage = traces.put(stage).map_err(|trace::Wrong { key, message, .. }| {
                self.wrong_at(offset_of(table, key, value), &format!("{key}: {message}"))
            })?;
            if let Err(message) = StageSpec::read(&stage) {
                let (key, expected) = expected_in(&stage, &message);
                return Err(self.wrong_at(offset_of(table, key, value), &expected));
            }
            stages.push(stage);
        }
        // By the names of their kinds, so that the message says which one it is.
        let nameless = stages.iter().cloned().map(|mut stage| {
            stage.remove("name");
            stage
        });
        spec::read_list(&nameless.collect::<Vec<_>>())
            .map_err(|message| self.wrong(value, &format!("{key}: {message}")))?;
        spec::read_list(&stages)
            .map_err(|_| self.wrong(value, &format!("{key}: expected another name for each stage")))?;
        Ok(Value::Array(stages.into_iter().map(Value::Table).collect()))
    }
}

/// The place of a key's value in a stage, or of its `file`, or of the stage.
fn offset_of(table: &DeTable<'_>, key: &str, stage: &Spanned<DeValue<'_>>) -> usize {
    let of = |name: &str| table.iter().find(|(key, _)| key.get_ref().as_ref() == name).map(|(_, value)| value.span());
    of(key).or_else(|| of("file")).unwrap_or_else(|| stage.span()).start
}

/// Which key of a stage is to blame, and what is expected of it, where `message` says what is wrong with the stage.
fn expected_in<'a>(stage: &'a Table, message: &str) -> (&'a str, String) {
    let word = |key: &str| stage.get(key).and_then(Value::as_str);
    let kinds = spec::declarations();
    let of_stage: Vec<_> = kinds.iter().filter(|kind| Some(kind.stage) == word("stage")).collect();
    let Some(first) = of_stage.first() else {
        return ("stage", format!("stage: expected one of {}", quoted(kinds.iter().map(|kind| kind.stage))));
    };
    let variant = first.variant.map(|(key, _)| key);
    let kind = match variant {
        None => first,
        Some(key) => {
            let is_it = |kind: &&&spec::StageDeclaration| kind.variant.map(|(_, word)| word) == word(key);
            let words = of_stage.iter().filter_map(|kind| kind.variant).map(|(_, word)| word);
            match of_stage.iter().find(is_it) {
                Some(kind) => kind,
                None => return (key, format!("{key}: expected one of {}", quoted(words))),
            }
        }
    };
    let keys: Vec<_> = kind.settings.iter().map(|setting| setting.key).collect();
    let is_known = |key: &str| ["stage", "name"].contains(&key) || variant == Some(key) || keys.contains(&key);
    if let Some(key) = stage.keys().find(|key| !is_known(key)) {
        return (key, format!("expected none but the keys of {}: {}", kind.title(), keys.join(", ")));
    }
    if message.starts_with("name: ") {
        return ("name", "name: expected letters, digits, '-' and '_', beginning with a letter".to_owned());
    }
    match kind.settings.iter().find(|setting| message.starts_with(&format!("{}: ", setting.key))) {
        Some(setting) => (setting.key, format!("{}: expected {}", setting.key, setting.takes)),
        None => ("", format!("expected settings of {} that go together", kind.title())),
    }
}

/// `"a", "b"`, each once.
fn quoted<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut all: Vec<String> = words.map(|word| format!("{word:?}")).collect();
    all.dedup();
    all.join(", ")
}
