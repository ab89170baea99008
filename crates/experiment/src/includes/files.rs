//! The files that an experiment names.

/// The longest path in a file of its own, and the longest trace of delays: more than a million steps.
pub(super) const MOST_TEXT_BYTES: u64 = 16 << 20;
/// The longest trace of a rate: some 30 million opportunities.
pub(super) const MOST_TRACE_BYTES: u64 = 256 << 20;

/// A file that an experiment names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedFile<'a> {
    /// The experiment file.
    pub experiment: &'a str,
    /// The name, relative to the folder of the experiment file.
    pub name: &'a str,
    /// The folder outside of which nothing may be read, relative to that of the experiment file and empty for that itself. `None` where
    /// the user named the file on the command line.
    pub below: Option<&'a str>,
    /// A longer file is refused before it is read.
    pub most_bytes: u64,
}

/// Gives the text of a file that an experiment names. The error says why there is none, without the name.
pub type ReadInclude = fn(&NamedFile<'_>) -> Result<String, String>;

/// Refuses every file, for experiments that may name no other files.
pub(crate) fn read_nothing(_: &NamedFile<'_>) -> Result<String, String> {
    Err("a file cannot be named here".to_owned())
}

/// Reads the files that one experiment names.
#[derive(Clone, Copy)]
pub(crate) struct Includes<'a> {
    /// The experiment file.
    pub(crate) experiment: &'a str,
    pub(crate) read: ReadInclude,
    /// Who named the file.
    pub(crate) named_by: NamedBy,
}

/// Who named a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedBy {
    /// The experiment file: it may name what is below its folder.
    Experiment,
    /// The user, on the command line: any file.
    User,
}

impl Includes<'_> {
    pub(super) fn text(&self, name: &str, below: Option<&str>, most_bytes: u64) -> Result<String, String> {
        (self.read)(&NamedFile { experiment: self.experiment, name, below, most_bytes })
    }
}
