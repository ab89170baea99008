//! Reads a file: TOML, every value with its place.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    error::{ExperimentError, Place, nearest},
    includes::files::{ReadInclude, read_nothing},
    kind::Kind,
    value::{inline, plain},
};

/// JSON readers keep whole numbers up to 2^53 (RFC 8259 section 6), so the seeds of all repetitions stay below it.
const LARGEST_SEED: u64 = 1_000_000_000_000_000;

pub(crate) type Table<'a> = DeTable<'a>;

/// Reads one file.
pub(crate) struct Reader<'a> {
    pub(crate) file: &'a str,
    text: &'a str,
    pub(crate) kind: &'static Kind,
    pub(crate) read: ReadInclude,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(file: &'a str, text: &'a str, kind: &'static Kind) -> Self {
        Self { file, text, kind, read: read_nothing }
    }

    /// The whole file.
    pub(crate) fn root(&self) -> Result<Spanned<Table<'a>>, ExperimentError> {
        let root = DeTable::parse(self.text).map_err(|error| {
            let place = error.span().map(|span| Place::of_offset(self.text, span.start));
            let message = format!("this is not TOML: {}", error.message());
            ExperimentError { file: self.file.to_owned(), place, message, hint: None }
        })?;
        root.get_ref().iter().try_for_each(|(_, value)| self.integer_fits(value))?;
        Ok(root)
    }

    pub(crate) fn truth(&self, value: &Spanned<DeValue>, key: &str) -> Result<bool, ExperimentError> {
        let found = plain(value);
        let message = || format!("{key}: found {}, expected true or false", inline(&found));
        found.as_bool().ok_or_else(|| self.error(value, message(), None))
    }

    pub(crate) fn seed(&self, value: &Spanned<DeValue>) -> Result<u64, ExperimentError> {
        let found = plain(value);
        let seed = found.as_integer().and_then(|seed| u64::try_from(seed).ok()).filter(|seed| *seed <= LARGEST_SEED);
        let message = || format!("seed: found {}, expected a whole number from 0 to {LARGEST_SEED}", inline(&found));
        seed.ok_or_else(|| self.error(value, message(), None))
    }

    /// A name becomes a folder below that of the results.
    pub(crate) fn name(&self, root: &Table) -> Result<String, ExperimentError> {
        let name = self.required_text(root, "name")?;
        let plain = |part: &str| {
            let allowed = |character: char| character.is_alphanumeric() || "._-".contains(character);
            !part.is_empty() && !part.starts_with('.') && part.chars().all(allowed)
        };
        match root.get("name") {
            Some(value) if !name.split('/').all(plain) => {
                let message = format!(
                    "name: found {name:?}, expected words of letters, digits, '.', '_' and '-', separated by '/'"
                );
                Err(self.error(value, message, None))
            }
            _ => Ok(name),
        }
    }

    pub(crate) fn required_text(&self, table: &Table, key: &str) -> Result<String, ExperimentError> {
        let error = || ExperimentError {
            file: self.file.to_owned(),
            place: Some(Place { line: 1, column: 1 }),
            message: format!("{key}: missing; expected a string"),
            hint: Some(format!("start the file with {key} = \"...\"")),
        };
        self.optional_text(table, key)?.ok_or_else(error)
    }

    pub(crate) fn optional_text(&self, table: &Table, key: &str) -> Result<Option<String>, ExperimentError> {
        let Some(value) = table.get(key) else { return Ok(None) };
        let found = plain(value);
        let message = || format!("{key}: found {}, expected a string", inline(&found));
        found.as_str().map(|text| Some(text.to_owned())).ok_or_else(|| self.error(value, message(), None))
    }

    /// TOML's whole numbers have 64 bits (TOML 1.0, Integer); the parser leaves it to us to refuse larger ones.
    fn integer_fits(&self, value: &Spanned<DeValue>) -> Result<(), ExperimentError> {
        match value.get_ref() {
            DeValue::Integer(number) if i64::from_str_radix(number.as_str(), number.radix()).is_err() => {
                let message = format!("found {number}, expected a whole number from {} to {}", i64::MIN, i64::MAX);
                Err(self.error(value, message, None))
            }
            DeValue::Array(values) => values.iter().try_for_each(|value| self.integer_fits(value)),
            DeValue::Table(table) => table.iter().try_for_each(|(_, value)| self.integer_fits(value)),
            _ => Ok(()),
        }
    }

    pub(crate) fn table<'t>(
        &self,
        value: &'t Spanned<DeValue<'t>>,
        name: &str,
    ) -> Result<&'t Table<'t>, ExperimentError> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => {
                let hint =
                    nearest(name, self.kind.sections.iter().copied()).map(|near| format!("[{near}] begins a section"));
                Err(self.error(value, format!("{name}: found {}, expected a table", inline(&plain(value))), hint))
            }
        }
    }

    pub(crate) fn place<T>(&self, spanned: &Spanned<T>) -> Place {
        Place::of_offset(self.text, spanned.span().start)
    }

    pub(crate) fn error<T>(&self, at: &Spanned<T>, message: String, hint: Option<String>) -> ExperimentError {
        ExperimentError { file: self.file.to_owned(), place: Some(self.place(at)), message, hint }
    }
}
