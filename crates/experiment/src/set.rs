//! `--set KEY=VALUE`: settings that a command line gives instead of those of the file.

use toml::{
    Value,
    de::{DeTable, DeValue},
};

use crate::{
    changes::{Assignment, Changes, Origin},
    error::ExperimentError,
    includes::files::{Includes, NamedBy, ReadInclude},
    kind::Kind,
    settings::value_parser::Refused,
    value::plain,
};

/// Stands for `stack.name`, as it does in a filter.
const STACK: &str = "stack";
/// The key under which a value is parsed.
const VALUE: &str = "value";

/// Reads `settings`, pairs of a dotted key and the text of its value, for `file`.
///
/// A value is TOML, or a text without its quotes. A list is an axis of the matrix, unless the setting takes a list itself; values with
/// commas between are a list as well.
///
/// # Errors
/// A key that does not exist or that is given twice, a value that is not allowed.
pub(crate) fn changes(
    file: &str,
    kind: &Kind,
    settings: &[(String, String)],
    read_include: ReadInclude,
) -> Result<Changes, ExperimentError> {
    let mut changes = Changes::default();
    for (key, text) in settings {
        let key = if key == STACK && !kind.knows(STACK) { "stack.name" } else { key };
        let error = |message: String, hint: Option<String>| ExperimentError {
            file: file.to_owned(),
            place: None,
            message: format!("--set {message}"),
            hint,
        };
        if !kind.knows(key) {
            let (message, hint) = unknown_key(kind, key);
            return Err(error(message, hint));
        }
        if changes.values_of(kind.present_key(key)).next().is_some() {
            let hint = format!("a list becomes an axis of the matrix: --set '{key}=[..., ...]'");
            return Err(error(format!("{key}: found two values, expected one"), Some(hint)));
        }
        let key = kind.present_key(key);
        let includes = Includes { experiment: file, read: read_include, named_by: NamedBy::User };
        let whole = |value: Value| includes.with_contents(key, value);
        let is_allowed = |value: &Value| match (kind.check)(key, &whole(value.clone())?) {
            Some(Err(refused)) => Err(refused),
            _ => Ok(()),
        };
        let values = read(text.trim(), is_allowed).map_err(|Wrong { refused, list_hint }| {
            let hint = list_hint.map(|hint| format!("{hint}, such as --set '{key}=[..., ...]'"));
            error(format!("{key}: {}", refused.message), hint.or(refused.hint))
        })?;
        let assignment = |value: Value| {
            // What could not be read was refused above.
            let value = whole(value.clone()).unwrap_or(value);
            Assignment { key: key.to_owned(), value, origin: Origin::Set }
        };
        match values {
            Values::One(value) => changes.assignments.push(assignment(value)),
            Values::Axis(_) if key == kind.repetitions => {
                return Err(error(format!("{key}: found a list, expected one number of repetitions"), None));
            }
            Values::Axis(values) => {
                changes.matrix.push((key.to_owned(), values.into_iter().map(assignment).collect()));
            }
        }
    }
    Ok(changes)
}

/// What is wrong with a key, and what to do about it. In a file a section can hold keys, here it cannot.
fn unknown_key(kind: &Kind, key: &str) -> (String, Option<String>) {
    if kind.sections.contains(&key) {
        let keys = (kind.keys)();
        let own: Vec<_> = keys.into_iter().filter(|one| one.starts_with(&format!("{key}."))).collect();
        return (format!("{key}: found a section, expected a setting"), Some(format!("one of {}", own.join(", "))));
    }
    kind.unknown_key(key)
}

/// What a text stands for.
enum Values {
    /// One value.
    One(Value),
    /// The values of an axis; at least one.
    Axis(Vec<Value>),
}

/// What is wrong with a value.
struct Wrong {
    refused: Refused,
    /// How a list is written.
    list_hint: Option<&'static str>,
}

impl From<Refused> for Wrong {
    fn from(refused: Refused) -> Self {
        Self { refused, list_hint: None }
    }
}

impl From<String> for Wrong {
    fn from(message: String) -> Self {
        Refused::from(message).into()
    }
}

/// Reads a value or a list of values.
fn read(text: &str, is_allowed: impl Fn(&Value) -> Result<(), Refused> + Copy) -> Result<Values, Wrong> {
    let document = format!("{VALUE} = {text}");
    let Ok(table) = DeTable::parse(&document) else { return read_words(text, is_allowed) };
    let value = match table.get_ref().get(VALUE) {
        Some(value) if table.get_ref().len() == 1 => value,
        _ => return Err(format!("found {text:?}, expected one value").into()),
    };
    let whole = plain(value);
    let refused = match is_allowed(&whole) {
        Ok(()) => return Ok(Values::One(whole)),
        Err(refused) => refused,
    };
    match value.get_ref() {
        DeValue::Array(values) if !values.is_empty() => {
            let each = values.iter().map(|value| {
                let own = plain(value);
                match is_allowed(&own) {
                    Ok(()) => Ok(own),
                    Err(refused) => unquoted(&document[value.span()], refused, is_allowed),
                }
            });
            Ok(Values::Axis(each.collect::<Result<_, _>>()?))
        }
        DeValue::Array(_) | DeValue::Table(_) => Err(refused.into()),
        _ => Ok(Values::One(unquoted(text, refused, is_allowed)?)),
    }
}

/// Reads what is not TOML: a text without its quotes, or several values with commas between.
fn read_words(text: &str, is_allowed: impl Fn(&Value) -> Result<(), Refused> + Copy) -> Result<Values, Wrong> {
    let is_cut_off = text.starts_with(['"', '\'']) && !text.contains(',');
    if text.starts_with(['[', '{']) || is_cut_off {
        let message = format!("found {text}, which is not TOML, expected a value or a list of values");
        let list_hint = Some("put quotes around each string of a list");
        return Err(Wrong { refused: message.into(), list_hint });
    }
    let words: Vec<_> = text.split(',').map(str::trim).collect();
    if let [word] = words[..] {
        return Ok(Values::One(bare(word, is_allowed)?));
    }
    Ok(Values::Axis(words.into_iter().map(|word| scalar(word, is_allowed)).collect::<Result<_, _>>()?))
}

/// One of several values with commas between.
fn scalar(word: &str, is_allowed: impl Fn(&Value) -> Result<(), Refused> + Copy) -> Result<Value, Wrong> {
    match read(word, is_allowed)? {
        Values::One(value) => Ok(value),
        Values::Axis(_) => Err(format!(
            "found the list {word} among values separated by commas, expected a \
                                        value"
        )
        .into()),
    }
}

/// A text without its quotes.
fn bare(word: &str, is_allowed: impl Fn(&Value) -> Result<(), Refused>) -> Result<Value, Wrong> {
    let value = Value::String(word.to_owned());
    is_allowed(&value)?;
    Ok(value)
}

/// What was refused as a number or the like may be meant as a text: `kernel=6.1`, `path.ip=4`.
fn unquoted(
    source: &str,
    refused: Refused,
    is_allowed: impl Fn(&Value) -> Result<(), Refused>,
) -> Result<Value, Refused> {
    let value = Value::String(source.to_owned());
    is_allowed(&value).map(|()| value).map_err(|_| refused)
}
