//! The experiment file: TOML, every value with its place.

use toml::{
    Spanned, Value,
    de::{DeTable, DeValue},
};

use crate::{
    error::{ExperimentError, Place, nearest},
    published::Published,
    settings::{Draft, SETTINGS, inline},
};

/// Sections that hold settings.
const SECTIONS: &[&str] = &["workload", "stack", "path", "hosts", "tap", "analysis"];
/// Keys at the top that are no settings.
const TOP: &[&str] = &["name", "title", "source", "seed", "matrix", "profile", "published"];

/// An experiment as it stands in its file, one profile chosen.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// For example `quic-steps/baseline`.
    pub name: String,
    /// What it measures, in a line.
    pub title: String,
    /// Where it comes from.
    pub source: Option<String>,
    /// Repetition r has seed `seed + r - 1`.
    pub seed: u64,
    /// What others published, to be printed beside.
    pub published: Vec<Published>,
    pub(crate) file: String,
    pub(crate) assignments: Vec<Assignment>,
    /// Axes of the matrix: a key, and its values.
    pub(crate) matrix: Vec<(String, Vec<Assignment>)>,
}

/// A setting and its value.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) key: String,
    pub(crate) value: Value,
    pub(crate) place: Place,
}

pub(crate) type Table<'a> = DeTable<'a>;

/// Reads one file.
pub(crate) struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Experiment {
    /// Parses `text`, the contents of `file`; `profile` chooses one of its profiles.
    ///
    /// # Errors
    /// Text that is no TOML, keys that do not exist, values that are not allowed: with place, found and expected.
    pub fn parse(file: &str, text: &str, profile: Option<&str>) -> Result<Self, ExperimentError> {
        let reader = Reader { file, text };
        let root = DeTable::parse(text).map_err(|error| {
            let place = error.span().map(|span| Place::of_offset(text, span.start));
            let message = format!("this is no TOML: {}", error.message());
            ExperimentError { file: file.to_owned(), place, message, hint: None }
        })?;
        reader.experiment(root.get_ref(), profile)
    }

    pub(crate) fn error(&self, place: Option<Place>, message: String, hint: Option<String>) -> ExperimentError {
        ExperimentError { file: self.file.clone(), place, message, hint }
    }
}

impl Reader<'_> {
    fn experiment(&self, root: &Table, profile: Option<&str>) -> Result<Experiment, ExperimentError> {
        let name = self.name(root)?;
        let title = self.required_text(root, "title")?;
        let mut experiment = Experiment {
            name,
            title,
            source: self.optional_text(root, "source")?,
            seed: 1,
            published: Vec::new(),
            file: self.file.to_owned(),
            assignments: Vec::new(),
            matrix: Vec::new(),
        };
        if let Some(seed) = root.get("seed") {
            experiment.seed = self.seed(seed)?;
        }
        self.settings(root, TOP, &mut experiment)?;
        if let Some(published) = root.get("published") {
            experiment.published = self.published(published)?;
        }
        // Every profile is checked, the chosen one applies.
        let mut names = Vec::new();
        if let Some(profiles) = root.get("profile") {
            for (name, table) in self.table(profiles, "profile")?.iter() {
                let mut scratch = experiment.clone();
                let own = std::mem::take(&mut scratch.assignments);
                let axes = std::mem::take(&mut scratch.matrix);
                self.settings(self.table(table, "profile")?, &[], &mut scratch)?;
                // What a profile sets is no axis any more, and its axes replace those of the same key.
                let replaced = |key: &String| {
                    scratch.assignments.iter().any(|set| set.key == *key)
                        || scratch.matrix.iter().any(|axis| axis.0 == *key)
                };
                let kept: Vec<_> = axes.into_iter().filter(|(key, _)| !replaced(key)).collect();
                scratch.matrix = kept.into_iter().chain(scratch.matrix).collect();
                scratch.assignments = own.into_iter().chain(scratch.assignments).collect();
                if Some(name.get_ref().as_ref()) == profile {
                    experiment = scratch;
                }
                names.push(name.get_ref().to_string());
            }
        }
        match profile {
            Some(profile) if !names.iter().any(|name| name == profile) => {
                let known = if names.is_empty() { "no profile".to_owned() } else { names.join(", ") };
                Err(experiment.error(
                    None,
                    format!("profile: found {profile:?}, expected one of its own: {known}"),
                    None,
                ))
            }
            _ => Ok(experiment),
        }
    }

    /// Settings, sections and the matrix of a table.
    fn settings(&self, table: &Table, others: &[&str], experiment: &mut Experiment) -> Result<(), ExperimentError> {
        for (key, value) in table.iter() {
            let name = key.get_ref().as_ref();
            match name {
                "matrix" => self.matrix(self.table(value, name)?, experiment)?,
                _ if SECTIONS.contains(&name) => {
                    for (inner, value) in self.table(value, name)?.iter() {
                        let full = format!("{name}.{}", inner.get_ref());
                        experiment.assignments.push(self.assignment(&full, inner, value)?);
                    }
                }
                _ if others.contains(&name) => {}
                _ => experiment.assignments.push(self.assignment(name, key, value)?),
            }
        }
        for set in &experiment.assignments {
            if experiment.matrix.iter().any(|(axis, _)| *axis == set.key) {
                let message = format!("{}: found a value, expected none, because it is an axis of the matrix", set.key);
                return Err(experiment.error(Some(set.place), message, Some("remove one of the two".to_owned())));
            }
        }
        Ok(())
    }

    fn matrix(&self, table: &Table, experiment: &mut Experiment) -> Result<(), ExperimentError> {
        for (key, value) in table.iter() {
            let name = key.get_ref().to_string();
            let values = match value.get_ref() {
                DeValue::Array(values) if !values.is_empty() => values,
                _ => {
                    let message = format!("matrix.{name}: found {}, expected a list of values", inline(&plain(value)));
                    return Err(self.error(value, message, None));
                }
            };
            if name == "workload.repetitions" {
                let hint = Some("set it in [workload]".to_owned());
                return Err(self.error(value, format!("matrix.{name}: repetitions are no axis of the matrix"), hint));
            }
            let axis = values.iter().map(|value| self.assignment(&name, key, value)).collect::<Result<Vec<_>, _>>()?;
            experiment.matrix.retain(|(present, _)| *present != name);
            experiment.matrix.push((name, axis));
        }
        Ok(())
    }

    /// Checks key and value at once, so that every mistake is found where it stands.
    pub(crate) fn assignment<K>(
        &self,
        name: &str,
        key: &Spanned<K>,
        value: &Spanned<DeValue>,
    ) -> Result<Assignment, ExperimentError> {
        let converted = plain(value);
        match Draft::default().set(name, &converted) {
            None => {
                let known = SETTINGS
                    .iter()
                    .map(|setting| setting.key)
                    .chain(TOP.iter().copied())
                    .chain(SECTIONS.iter().copied());
                let hint = nearest(name, known).map(|near| format!("did you mean {near}?"));
                let hint = hint.or_else(|| Some("docs/reference/experiment-file.md lists all keys".to_owned()));
                Err(self.error(key, format!("{name}: found a key that does not exist"), hint))
            }
            Some(Err(message)) => Err(self.error(value, format!("{name}: {message}"), None)),
            Some(Ok(())) => Ok(Assignment { key: name.to_owned(), value: converted, place: self.place(value) }),
        }
    }

    fn seed(&self, value: &Spanned<DeValue>) -> Result<u64, ExperimentError> {
        let found = plain(value);
        let seed = found.as_integer().and_then(|seed| u64::try_from(seed).ok());
        let message = || format!("seed: found {}, expected a whole number from 0", inline(&found));
        seed.ok_or_else(|| self.error(value, message(), None))
    }

    /// A name becomes a folder below that of the results.
    fn name(&self, root: &Table) -> Result<String, ExperimentError> {
        let name = self.required_text(root, "name")?;
        let plain = |part: &str| {
            let allowed = |character: char| character.is_alphanumeric() || "._-".contains(character);
            !part.is_empty() && !part.starts_with('.') && part.chars().all(allowed)
        };
        match root.get("name") {
            Some(value) if !name.split('/').all(plain) => {
                let message = format!(
                    "name: found {name:?}, expected words of letters, digits, '.', '_' and '-' with '/' between"
                );
                Err(self.error(value, message, None))
            }
            _ => Ok(name),
        }
    }

    fn required_text(&self, table: &Table, key: &str) -> Result<String, ExperimentError> {
        let error = || ExperimentError {
            file: self.file.to_owned(),
            place: Some(Place { line: 1, column: 1 }),
            message: format!("{key}: found nothing, expected a text"),
            hint: Some(format!("begin the file with {key} = \"...\"")),
        };
        self.optional_text(table, key)?.ok_or_else(error)
    }

    fn optional_text(&self, table: &Table, key: &str) -> Result<Option<String>, ExperimentError> {
        let Some(value) = table.get(key) else { return Ok(None) };
        let found = plain(value);
        let message = || format!("{key}: found {}, expected a text", inline(&found));
        found.as_str().map(|text| Some(text.to_owned())).ok_or_else(|| self.error(value, message(), None))
    }

    pub(crate) fn table<'t>(
        &self,
        value: &'t Spanned<DeValue<'t>>,
        name: &str,
    ) -> Result<&'t Table<'t>, ExperimentError> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => {
                let hint = nearest(name, SECTIONS.iter().copied()).map(|near| format!("[{near}] begins a section"));
                Err(self.error(value, format!("{name}: found {}, expected a table", inline(&plain(value))), hint))
            }
        }
    }

    fn place<T>(&self, spanned: &Spanned<T>) -> Place {
        Place::of_offset(self.text, spanned.span().start)
    }

    pub(crate) fn error<T>(&self, at: &Spanned<T>, message: String, hint: Option<String>) -> ExperimentError {
        ExperimentError { file: self.file.to_owned(), place: Some(self.place(at)), message, hint }
    }
}

/// A value without its places.
pub(crate) fn plain(value: &Spanned<DeValue>) -> Value {
    match value.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(flag) => Value::Boolean(*flag),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            parsed.map_or_else(|_| Value::String(number.to_string()), Value::Integer)
        }
        DeValue::Float(number) => {
            number.as_str().parse().map_or_else(|_| Value::String(number.to_string()), Value::Float)
        }
        DeValue::Datetime(time) => Value::Datetime(*time),
        DeValue::Array(values) => Value::Array(values.iter().map(plain).collect()),
        DeValue::Table(table) => {
            Value::Table(table.iter().map(|(key, value)| (key.get_ref().to_string(), plain(value))).collect())
        }
    }
}
