//! The experiment file: TOML, every value with its place.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    error::{ExperimentError, Place, nearest},
    expect::Expectation,
    includes::{ReadInclude, read_nothing},
    kind::{Kind, TRANSFERS},
    published::Published,
    scenario::FigureSpec,
    sections::{Changes, Origin},
    text::quoted,
    value::{inline, plain},
};

/// JSON readers keep whole numbers up to 2^53 (RFC 8259 section 6), so the seeds of all repetitions stay below it.
const LARGEST_SEED: u64 = 1_000_000_000_000_000;

/// An experiment as it stands in its file, one profile chosen.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// One or more words with `/` between, for example `quic-steps/baseline`. Words are of letters, digits, `.`, `_` and
    /// `-` and do not begin with a dot, because the name becomes a folder.
    pub name: String,
    /// What it measures, in a line.
    pub title: String,
    /// Where it comes from; `None` where the file does not say.
    pub source: Option<String>,
    /// Repetition r has seed `seed + r - 1`. 0 to 10^15, 1 where the file does not say.
    pub seed: u64,
    /// True: combinations that a stack does not claim are left out. False: they are refused.
    pub leaves_unclaimed_out: bool,
    /// Whether the report ranks senders by how smoothly they send, the queue they build, the drops they cause, and their goodput.
    pub ranking: bool,
    /// What others published, to be printed beside, in the order of the file.
    pub published: Vec<Published>,
    /// What must hold, in the order of the file.
    pub expectations: Vec<Expectation>,
    /// The figures that the report has besides the usual ones, in the order of the file.
    pub figures: Vec<FigureSpec>,
    pub(crate) file: String,
    pub(crate) read: ReadInclude,
    pub(crate) changes: Changes,
}

pub(crate) type Table<'a> = DeTable<'a>;

/// Reads one file.
pub(crate) struct Reader<'a> {
    pub(crate) file: &'a str,
    text: &'a str,
    pub(crate) kind: &'static Kind,
    pub(crate) read: ReadInclude,
}

impl Experiment {
    /// Parses `text`, the contents of `file`; `profile` chooses one of its profiles, `None` the file without any. All
    /// profiles are checked, whichever is chosen.
    ///
    /// # Errors
    /// Text that is no TOML, keys that do not exist, values that are not allowed, a profile that there is none of: with
    /// place, found and expected.
    pub fn parse(file: &str, text: &str, profile: Option<&str>) -> Result<Self, ExperimentError> {
        Self::parse_with_includes(file, text, profile, read_nothing)
    }

    /// Parses `text` as [`Experiment::parse`] does, where the file may name others: paths to include, and traces.
    ///
    /// # Errors
    /// The same, and a file that cannot be read or is not what its key needs.
    pub fn parse_with_includes(
        file: &str,
        text: &str,
        profile: Option<&str>,
        read: ReadInclude,
    ) -> Result<Self, ExperimentError> {
        let reader = Reader { read, ..Reader::new(file, text, &TRANSFERS) };
        reader.experiment(reader.root()?.get_ref(), profile)
    }

    pub(crate) fn error(&self, place: Option<Place>, message: String, hint: Option<String>) -> ExperimentError {
        ExperimentError { file: self.file.clone(), place, message, hint }
    }

    /// An error about a value from `origin`.
    pub(crate) fn error_from(&self, origin: Option<Origin>, message: String, hint: Option<String>) -> ExperimentError {
        let prefix = origin.map_or("", Origin::prefix);
        self.error(origin.and_then(Origin::place), format!("{prefix}{message}"), hint)
    }
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

    fn experiment(&self, root: &Table, profile: Option<&str>) -> Result<Experiment, ExperimentError> {
        Ok(Experiment {
            name: self.name(root)?,
            title: self.required_text(root, "title")?,
            source: self.optional_text(root, "source")?,
            seed: root.get("seed").map_or(Ok(1), |seed| self.seed(seed))?,
            leaves_unclaimed_out: root.get("unclaimed").map_or(Ok(false), |value| self.unclaimed(value))?,
            ranking: root.get("ranking").map_or(Ok(false), |value| self.truth(value, "ranking"))?,
            published: root.get("published").map_or(Ok(Vec::new()), |published| self.published(published))?,
            expectations: root.get("expect").map_or(Ok(Vec::new()), |expect| self.expectations(expect))?,
            figures: self.figures(root)?,
            file: self.file.to_owned(),
            read: self.read,
            changes: self.all_changes(root, profile)?,
        })
    }

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

    pub(crate) fn truth(&self, value: &Spanned<DeValue>, key: &str) -> Result<bool, ExperimentError> {
        let found = plain(value);
        let message = || format!("{key}: found {}, expected true or false", inline(&found));
        found.as_bool().ok_or_else(|| self.error(value, message(), None))
    }

    fn unclaimed(&self, value: &Spanned<DeValue>) -> Result<bool, ExperimentError> {
        let found = plain(value);
        match found.as_str() {
            Some("leave out") => Ok(true),
            Some("refuse") => Ok(false),
            _ => {
                let message = format!("unclaimed: found {}, expected \"refuse\" or \"leave out\"", inline(&found));
                Err(self.error(value, message, None))
            }
        }
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
