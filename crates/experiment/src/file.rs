//! The file of an experiment.

use toml::{Spanned, de::DeValue};

use crate::{
    changes::{Changes, Origin},
    error::{ExperimentError, Place},
    expect::Expectation,
    includes::files::{ReadInclude, read_nothing},
    kind::TRANSFERS,
    published::Published,
    reader::{Reader, Table},
    scenario::FigureSpec,
    value::{inline, plain},
};

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
        let mut reader = Reader::new(file, text, &TRANSFERS);
        reader.read = read;
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

impl Reader<'_> {
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
}
