//! `run.toml`: the run as resolved, and what it was made with.

use std::path::Path;

use quiclab_experiment::{
    AnyRun,
    run::{Run, Versions},
    scenario::ScenarioRun,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    RecordError, bounded,
    layout::{RUN_FILE, RUN_SCHEMA},
    migrate,
};

/// A run that a record can hold.
pub trait RecordedRun: Serialize + DeserializeOwned {
    /// Its kind, as in `run.toml`.
    const KIND: &'static str;
}

impl RecordedRun for Run {
    const KIND: &'static str = AnyRun::TRANSFER;
}

impl RecordedRun for ScenarioRun {
    const KIND: &'static str = AnyRun::MODELS;
}

/// What `run.toml` holds. `R` is the run: a transfer between stacks unless said otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFile<R = Run> {
    /// Version of this layout: [`RUN_SCHEMA`].
    pub schema: u32,
    /// Kind of the run: [`RecordedRun::KIND`].
    pub kind: String,
    /// The run's identity: follows from its settings, its seed, and the versions.
    pub id: String,
    /// Its settings.
    pub run: R,
    /// What it was made with.
    pub versions: Versions,
}

impl RunFile {
    /// The file of a transfer that is made with these versions.
    pub fn of_transfer(run: &Run, versions: &Versions) -> Self {
        Self::new(run.id(versions), run.clone(), versions.clone())
    }
}

impl RunFile<AnyRun> {
    /// The file of a run that is made with these versions.
    pub fn of(run: &AnyRun, versions: &Versions) -> Self {
        let kind = run.kind().to_owned();
        Self { schema: RUN_SCHEMA, kind, id: run.id(versions), run: run.clone(), versions: versions.clone() }
    }

    /// Reads `run.toml` of the record in `folder`, whatever its workload.
    ///
    /// # Errors
    /// As [`RunFile::read`].
    pub fn read_any(folder: &Path) -> Result<Self, RecordError> {
        fn any<R: Into<AnyRun>>(file: RunFile<R>) -> RunFile<AnyRun> {
            let RunFile { schema, kind, id, run, versions } = file;
            RunFile { schema, kind, id, run: run.into(), versions }
        }
        Ok(match RunFile::kind_in(folder)?.as_str() {
            AnyRun::MODELS => any(RunFile::<ScenarioRun>::read(folder)?),
            _ => any(RunFile::<Run>::read(folder)?),
        })
    }
}

impl RunFile {
    /// The kind of the run in `folder`. Empty where `run.toml` does not say, as in the first schema; [`RunFile::read`] then says what is wrong,
    /// if anything is.
    ///
    /// # Errors
    /// Where `run.toml` is missing, or no TOML.
    pub(crate) fn kind_in(folder: &Path) -> Result<String, RecordError> {
        let path = folder.join(RUN_FILE);
        let text = bounded::read_text(&path).map_err(|error| RecordError::reading(&path, folder, error))?;
        let table: toml::Table = toml::from_str(&text).map_err(|error| RecordError::Malformed {
            path,
            message: in_one_line(&error),
            folder: folder.to_path_buf(),
        })?;
        Ok(table.get("kind").and_then(toml::Value::as_str).unwrap_or_default().to_owned())
    }
}

impl<R: RecordedRun> RunFile<R> {
    /// The file of a run with this identity.
    pub fn new(id: String, run: R, versions: Versions) -> Self {
        Self { schema: RUN_SCHEMA, kind: R::KIND.to_owned(), id, run, versions }
    }

    /// Reads `run.toml` of the record in `folder`; older schemas are converted.
    ///
    /// # Errors
    /// Where it is missing, damaged, of another kind, or newer than this version.
    pub fn read(folder: &Path) -> Result<Self, RecordError> {
        Self::read_with_schema(folder).map(|(file, _)| file)
    }

    /// The same, and the schema in which the file was written.
    pub(crate) fn read_with_schema(folder: &Path) -> Result<(Self, u64), RecordError> {
        let path = folder.join(RUN_FILE);
        let text = bounded::read_text(&path).map_err(|error| RecordError::reading(&path, folder, error))?;
        let malformed =
            |message: String| RecordError::Malformed { path: path.clone(), message, folder: folder.to_path_buf() };
        let table: toml::Table = toml::from_str(&text).map_err(|error| malformed(in_one_line(&error)))?;
        let schema = schema_of(&table).map_err(&malformed)?;
        if schema > u64::from(RUN_SCHEMA) {
            let made_by =
                table.get("versions").and_then(|versions| versions.get("quiclab")).and_then(toml::Value::as_str);
            let made_by = made_by.map(str::to_owned);
            return Err(RecordError::Newer { path, found: schema, oldest: 1, newest: RUN_SCHEMA, made_by });
        }
        let is_older = schema < u64::from(RUN_SCHEMA);
        let table = if is_older { migrate::run_file(table) } else { table };
        let kind = table.get("kind").and_then(toml::Value::as_str).unwrap_or_default();
        if kind != R::KIND {
            return Err(RecordError::OtherKind { path, found: kind.to_owned(), expected: R::KIND });
        }
        // From the text where that can be, because errors then say the line.
        let read = if is_older { Self::deserialize(table) } else { toml::from_str(&text) };
        read.map(|file| (file, schema)).map_err(|error| malformed(in_one_line(&error)))
    }
}

impl<R: Serialize> RunFile<R> {
    /// The text of `run.toml`. Equal values give equal bytes.
    ///
    /// # Errors
    /// Where the run holds something that TOML cannot express.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }
}

/// The schema of a `run.toml`. The first one did not say it.
fn schema_of(table: &toml::Table) -> Result<u64, String> {
    match table.get("schema") {
        None => Ok(1),
        Some(toml::Value::Integer(schema)) if *schema > 1 => Ok(*schema as u64),
        Some(other) => Err(format!("schema: found {other}, expected {RUN_SCHEMA}")),
    }
}

fn in_one_line(error: &toml::de::Error) -> String {
    let place = error.span().map_or_else(String::new, |span| format!("byte {}: ", span.start));
    format!("{place}{}", error.message())
}
