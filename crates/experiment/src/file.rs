//! The file of an experiment.

use toml::{Spanned, de::DeValue};

use crate::{
    common::Common,
    error::ExperimentError,
    includes::files::{ReadInclude, read_nothing},
    kind::TRANSFERS,
    published::Published,
    reader::{Reader, Table},
    value::{inline, plain},
};

/// An experiment as it stands in its file, one profile chosen.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The part that files of models have too.
    pub common: Common,
    /// True: combinations that a stack does not claim are left out. False: they are refused.
    pub leaves_unclaimed_out: bool,
    /// Whether the report ranks senders by how smoothly they send, the queue they build, the drops they cause, and their goodput.
    pub ranking: bool,
    /// What others published, to be printed beside, in the order of the file.
    pub published: Vec<Published>,
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
        let mut reader = Reader::new(file, text, &TRANSFERS);
        reader.read = read;
        reader.experiment(reader.root()?.get_ref(), profile)
    }
}

impl Reader<'_> {
    fn experiment(&self, root: &Table, profile: Option<&str>) -> Result<Experiment, ExperimentError> {
        Ok(Experiment {
            common: self.common(root, profile)?,
            leaves_unclaimed_out: root.get("unclaimed").map_or(Ok(false), |value| self.unclaimed(value))?,
            ranking: root.get("ranking").map_or(Ok(false), |value| self.truth(value, "ranking"))?,
            published: root.get("published").map_or(Ok(Vec::new()), |published| self.published(published))?,
            read: self.read,
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
