//! The record of a run: one folder, self-contained, written aside and renamed when it is whole.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use quiclab_experiment::{
    id_of_folder,
    run::{Run, Versions},
};
use quiclab_metrics::{MetricsFileError, RunMetrics};
use quiclab_orders::report::Report;
use serde::{Deserialize, Serialize};

use crate::{lock::aside_prefix, measure::measure_record};

/// The resolved run and what it was made with.
pub const RUN_FILE: &str = "run.toml";
/// The tap behind the sender, and the one behind the bottleneck.
pub const CAPTURE_FILE: &str = "wire.pcapng";
/// Of a run that failed: what is wrong with the client's files; not there where they are whole.
pub const WRONG_FILES_FILE: &str = "files.txt";
/// Counters of every queue, offload settings as found.
pub const PATH_FILE: &str = "path.json";
/// Of a run that failed: why.
pub const FAILURE_FILE: &str = "failure.txt";
/// The metrics and the warnings.
pub const METRICS_FILE: &str = "metrics.json";
/// Files that must be the same when a run is repeated.
pub const COMPARED_FILES: &[&str] = &[RUN_FILE, CAPTURE_FILE, PATH_FILE, METRICS_FILE];
/// Prefix of folders that are not whole yet.
pub(crate) const ASIDE: &str = ".partial-";

/// What stands in `run.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFile {
    /// The run's identity, from its settings, its seed and the versions.
    pub id: String,
    /// Its settings.
    pub run: Run,
    /// What it was made with.
    pub versions: Versions,
}

/// What stands in `path.json`: the agent's report.
pub type PathFile = Report;

/// A whole record.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its folder.
    pub folder: PathBuf,
    /// `run.toml`.
    pub run: RunFile,
    /// `metrics.json`.
    pub metrics: RunMetrics,
}

impl Record {
    /// Reads the record in `folder`.
    ///
    /// # Errors
    /// Where a part is missing or cannot be understood.
    pub fn load(folder: &Path) -> Result<Self> {
        let text = read(&folder.join(RUN_FILE))?;
        let run = toml::from_str(&text).with_context(|| folder.join(RUN_FILE).display().to_string())?;
        let text = read(&folder.join(METRICS_FILE))?;
        let run: RunFile = run;
        let metrics = match RunMetrics::from_json(&text) {
            // Metrics have changed their layout since: the capture is still there, and the record stays as it is.
            Err(MetricsFileError::Schema { .. }) => {
                let text = read(&folder.join(PATH_FILE))?;
                let report: PathFile =
                    serde_json::from_str(&text).with_context(|| folder.join(PATH_FILE).display().to_string())?;
                measure_record(&folder.join(CAPTURE_FILE), &run.run, &report)?
            }
            metrics => metrics.with_context(|| folder.join(METRICS_FILE).display().to_string())?,
        };
        Ok(Self { folder: folder.to_path_buf(), run, metrics })
    }

    /// Where the capture is.
    pub fn capture(&self) -> PathBuf {
        self.folder.join(CAPTURE_FILE)
    }
}

/// A folder of records.
#[derive(Clone, Debug)]
pub struct Records {
    folder: PathBuf,
}

/// A record that is being written.
pub struct Draft {
    aside: tempfile::TempDir,
    target: PathBuf,
}

impl Records {
    /// The records in `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn open(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        Ok(Self { folder: folder.to_path_buf() })
    }

    /// The folder of the records.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// True where a whole record of that name is there.
    pub fn contains(&self, name: &str) -> bool {
        self.folder.join(name).join(METRICS_FILE).is_file()
    }

    /// The whole records by their identity: the name of each. Of two with one identity the first in order of name.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn by_id(&self) -> Result<BTreeMap<String, String>> {
        let mut by_id = BTreeMap::new();
        for name in self.names()?.into_iter().rev() {
            if let Some(id) = id_of_folder(&name) {
                by_id.insert(id.to_owned(), name);
            }
        }
        Ok(by_id)
    }

    /// The record of that name.
    ///
    /// # Errors
    /// As [`Record::load`].
    pub fn load(&self, name: &str) -> Result<Record> {
        Record::load(&self.folder.join(name))
    }

    /// Names of all whole records, in order.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder).with_context(|| self.folder.display().to_string())? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !name.starts_with('.') && self.contains(&name) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Takes over the whole record `theirs` of another folder as `name`: the same run of another experiment. Its files are linked where
    /// the disk can do that, and copied otherwise.
    ///
    /// # Errors
    /// Where one of them cannot be.
    pub fn adopt(&self, name: &str, other: &Self, theirs: &str) -> Result<PathBuf> {
        let draft = self.begin(name)?;
        link_below(&other.folder.join(theirs), draft.folder())?;
        draft.finish()
    }

    /// A folder for the record `name`, under another name until it is whole. For who holds the [lock](crate::lock) on it.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn begin(&self, name: &str) -> Result<Draft> {
        let aside = tempfile::Builder::new()
            .prefix(&aside_prefix(name))
            .tempdir_in(&self.folder)
            .with_context(|| self.folder.display().to_string())?;
        Ok(Draft { aside, target: self.folder.join(name) })
    }
}

/// Links the files below a folder into another one, or copies them where the disk cannot do that.
///
/// # Errors
/// Where one of them can be neither.
pub(crate) fn link_below(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let [source, target] = [from, to].map(|folder| folder.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            fs::create_dir(&target).with_context(|| target.display().to_string())?;
            link_below(&source, &target)?;
        } else if fs::hard_link(&source, &target).is_err() {
            fs::copy(&source, &target).with_context(|| source.display().to_string())?;
        }
    }
    Ok(())
}

impl Draft {
    /// Where to write.
    pub fn folder(&self) -> &Path {
        self.aside.path()
    }

    /// Gives up the record, and leaves its files where they are, as a process does that is killed.
    #[cfg(test)]
    pub(crate) fn keep(self) -> PathBuf {
        self.aside.keep()
    }

    /// Makes the record whole.
    ///
    /// # Errors
    /// Where it cannot be renamed.
    pub fn finish(self) -> Result<PathBuf> {
        if self.target.exists() {
            fs::remove_dir_all(&self.target).with_context(|| self.target.display().to_string())?;
        }
        // What is renamed must be on the disk, or a power cut could leave a record with holes.
        for entry in fs::read_dir(self.aside.path())? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                File::open(entry.path())?.sync_all().with_context(|| entry.path().display().to_string())?;
            }
        }
        // A temporary folder is for its owner's eyes only; a record is for everybody's.
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(self.aside.path(), fs::Permissions::from_mode(0o755))?;
        fs::rename(self.aside.path(), &self.target).with_context(|| self.target.display().to_string())?;
        let _ = self.aside.keep();
        Ok(self.target)
    }
}

/// The files in which two records of the same run differ, with how they differ; empty where they do not.
///
/// # Errors
/// Where a file cannot be read.
pub fn differences(one: &Path, other: &Path) -> Result<BTreeMap<String, String>> {
    let mut differences = BTreeMap::new();
    for name in COMPARED_FILES {
        let [left, right] = [one, other].map(|folder| fs::read(folder.join(name)));
        let left = left.with_context(|| one.join(name).display().to_string())?;
        let right = right.with_context(|| other.join(name).display().to_string())?;
        if left != right {
            let first = left.iter().zip(&right).take_while(|(left, right)| left == right).count();
            let text = format!("{} and {} bytes, first difference at byte {first}", left.len(), right.len());
            differences.insert((*name).to_owned(), text);
        }
    }
    Ok(differences)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_written_record_is_never_found() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::open(folder.path()).unwrap();
        let draft = records.begin("quiche-01-abc").unwrap();
        fs::write(draft.folder().join(METRICS_FILE), "{}").unwrap();
        assert!(!records.contains("quiche-01-abc"));
        assert!(records.names().unwrap().is_empty());
        draft.finish().unwrap();
        assert_eq!(records.names().unwrap(), ["quiche-01-abc"]);
    }

    #[test]
    fn a_record_is_found_by_its_identity_whatever_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| Records::open(&folder.path().join(name)).unwrap());
        let [old, new] = ["x-01-0123456789abcdef", "x-cubic-01-0123456789abcdef"];
        let draft = one.begin(old).unwrap();
        fs::write(draft.folder().join(METRICS_FILE), "{}").unwrap();
        draft.finish().unwrap();
        fs::create_dir(one.folder.join("x-02-0000000000000000")).unwrap();
        assert_eq!(one.by_id().unwrap(), BTreeMap::from([("0123456789abcdef".to_owned(), old.to_owned())]));
        other.adopt(new, &one, old).unwrap();
        assert_eq!(other.names().unwrap(), [new]);
    }

    #[test]
    fn a_difference_names_the_file_and_the_byte() {
        let [one, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for name in COMPARED_FILES {
            fs::write(one.path().join(name), "abc").unwrap();
            fs::write(other.path().join(name), "abc").unwrap();
        }
        assert!(differences(one.path(), other.path()).unwrap().is_empty());
        fs::write(other.path().join(CAPTURE_FILE), "abd").unwrap();
        let found = differences(one.path(), other.path()).unwrap();
        assert_eq!(found[CAPTURE_FILE], "3 and 3 bytes, first difference at byte 2");
    }
}
