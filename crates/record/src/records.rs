//! Folders of records: finding them, and writing new ones aside until they are complete.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use quiclab_experiment::{AnyRun, id_of_folder};

use crate::{
    AnyRecord, Contents, Measured, Record, RecordError, RunFile, Seen, bounded,
    layout::{CONTENTS_FILE, DAMAGED_FOLDER, FAILURE_FILE, METRICS_FILE, PATH_FILE, RUN_FILE},
    measure::measure_record,
    replace::{put_all_in_place, put_in_place, sync},
};

/// Prefix of folders that are not complete yet.
pub const ASIDE: &str = ".partial-";

/// What a record is locked by, and what the folder in which it is made is named by: two names of the same run have the same key.
pub fn key(name: &str) -> &str {
    id_of_folder(name).unwrap_or(name)
}

/// A folder of records.
#[derive(Clone, Debug)]
pub struct Records {
    folder: PathBuf,
}

/// A record that is being written.
#[derive(Debug)]
pub struct Draft {
    aside: tempfile::TempDir,
    target: PathBuf,
    /// It keeps the `contents.json` of the record whose files it has, so that damage to these stays visible.
    is_adopted: bool,
}

impl Records {
    /// The records in `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn open(folder: &Path) -> Result<Self, RecordError> {
        fs::create_dir_all(folder).map_err(RecordError::writing(folder))?;
        Ok(Self { folder: folder.to_path_buf() })
    }

    /// The folder of the records.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// True where there is a record of that name. It need not be readable: [`Records::load`] says what is wrong with it.
    pub fn contains(&self, name: &str) -> bool {
        let folder = self.folder.join(name);
        folder.is_dir() && (id_of_folder(name).is_some() || Record::has_any_file(&folder))
    }

    /// The records by their identity: the name of each. Of two with one identity the first in order of name.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn by_id(&self) -> Result<BTreeMap<String, String>, RecordError> {
        let mut by_id = BTreeMap::new();
        for name in self.names()?.into_iter().rev() {
            // A record under a name of the user's choice has its identity in run.toml only.
            let id = match id_of_folder(&name) {
                Some(id) => Some(id.to_owned()),
                None => self.id_inside(&name),
            };
            if let Some(id) = id {
                by_id.insert(id, name);
            }
        }
        Ok(by_id)
    }

    /// The identity in a record's `run.toml`, of any kind of run; `None` if there is none.
    fn id_inside(&self, name: &str) -> Option<String> {
        let text = bounded::read_text(&self.folder.join(name).join(RUN_FILE)).ok()?;
        let file: toml::Table = toml::from_str(&text).ok()?;
        Some(file.get("id")?.as_str()?.to_owned())
    }

    /// The record of that name.
    ///
    /// # Errors
    /// As [`AnyRecord::load`].
    pub fn load(&self, name: &str) -> Result<AnyRecord, RecordError> {
        AnyRecord::load(&self.folder.join(name))
    }

    /// Names of all records, in order, whether they can be read or not.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn names(&self) -> Result<Vec<String>, RecordError> {
        let mut names: Vec<_> =
            self.entries()?.into_iter().filter(|name| !name.starts_with('.') && self.contains(name)).collect();
        names.sort();
        Ok(names)
    }

    /// Takes over the complete record `theirs` of another folder as `name`: the same run of another experiment. Its files are linked where the
    /// file system can do that, and copied otherwise.
    ///
    /// # Errors
    /// Where the record cannot be read, or a file cannot be linked or copied.
    pub fn adopt(&self, name: &str, other: &Self, theirs: &str) -> Result<PathBuf, RecordError> {
        let theirs = other.folder.join(theirs);
        AnyRecord::load(&theirs)?;
        let mut draft = self.begin(name)?;
        link_below(&theirs, draft.folder())?;
        draft.is_adopted = draft.folder().join(CONTENTS_FILE).exists();
        draft.finish()
    }

    /// Moves the damaged record `name` out of the way, into [`DAMAGED_FOLDER`], and returns where it is now. For who holds the lock on its
    /// [`key`].
    ///
    /// # Errors
    /// Where it cannot be moved; it is then where it was.
    pub fn set_aside(&self, name: &str) -> Result<PathBuf, RecordError> {
        let folder = self.folder.join(DAMAGED_FOLDER);
        fs::create_dir_all(&folder).map_err(RecordError::writing(&folder))?;
        let numbers = (1..).map(|number| if number == 1 { name.to_owned() } else { format!("{name}~{number}") });
        let mut places = numbers.map(|name| folder.join(name));
        let place = places.find(|place| fs::symlink_metadata(place).is_err()).expect("some number is free");
        fs::rename(self.folder.join(name), &place).map_err(RecordError::writing(&place))?;
        [&folder, &self.folder].into_iter().try_for_each(|folder| sync(folder))?;
        Ok(place)
    }

    /// A folder for the record `name`, under another name until it is complete. For who holds the lock on its [`key`].
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn begin(&self, name: &str) -> Result<Draft, RecordError> {
        let aside = tempfile::Builder::new()
            .prefix(&format!("{ASIDE}{}~", key(name)))
            .tempdir_in(&self.folder)
            .map_err(RecordError::writing(&self.folder))?;
        Ok(Draft { aside, target: self.folder.join(name), is_adopted: false })
    }

    fn entries(&self) -> Result<Vec<String>, RecordError> {
        let failed = |source| RecordError::Read { path: self.folder.clone(), source };
        let entries = fs::read_dir(&self.folder).map_err(failed)?;
        let name =
            |entry: io::Result<fs::DirEntry>| Ok(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
        entries.map(name).collect()
    }
}

/// Links the files below a folder into another one, or copies them where the file system cannot do that.
///
/// # Errors
/// Where one of them can be neither.
pub fn link_below(from: &Path, to: &Path) -> Result<(), RecordError> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| RecordError::Read { path, source }
    };
    for entry in fs::read_dir(from).map_err(failed(from))? {
        let entry = entry.map_err(failed(from))?;
        let [source, target] = [from, to].map(|folder| folder.join(entry.file_name()));
        if entry.file_type().map_err(failed(&source))?.is_dir() {
            fs::create_dir(&target).map_err(RecordError::writing(&target))?;
            link_below(&source, &target)?;
        } else if fs::hard_link(&source, &target).is_err() {
            fs::copy(&source, &target).map_err(RecordError::writing(&target))?;
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
    pub fn keep(self) -> PathBuf {
        self.aside.keep()
    }

    /// Writes what is known of a run, whether it went well or not: `run.toml` and `path.json`.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub fn write_seen(&self, run: &RunFile<AnyRun>, seen: &Seen) -> Result<(), RecordError> {
        self.write_run(run)?;
        let text = match seen {
            Seen::Transfer(observed) => observed.to_json(),
            Seen::Models(observed, _) => observed.to_json(),
        };
        self.write(PATH_FILE, &text)
    }

    /// Writes `run.toml` alone, where nothing was seen of a run.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write_run(&self, run: &RunFile<AnyRun>) -> Result<(), RecordError> {
        let path = self.folder().join(RUN_FILE);
        let text = run.to_toml().map_err(|error| RecordError::Write { path, source: io::Error::other(error) })?;
        self.write(RUN_FILE, &text)
    }

    /// Writes why the run failed.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write_failure(&self, failure: &str) -> Result<(), RecordError> {
        self.write(FAILURE_FILE, &format!("{failure}\n"))
    }

    /// Writes what is left of the record of a run that went well, all but its place: `run.toml`, `path.json` and `metrics.json`. The capture and
    /// the endpoints' files are in the folder already. Returns the metrics; [`Draft::finish`] comes next.
    ///
    /// # Errors
    /// Where a file cannot be written, the capture cannot be measured, or run and observation are of different workloads.
    pub fn fill(&self, run: &RunFile<AnyRun>, seen: &Seen) -> Result<Measured, RecordError> {
        self.write_seen(run, seen)?;
        let measured = match (&run.run, seen) {
            (AnyRun::Transfer(run), Seen::Transfer(observed)) => {
                Measured::Transfer(Box::new(measure_record(self.folder(), run, observed)?))
            }
            (AnyRun::Models(_), Seen::Models(_, metrics)) => Measured::Models(metrics.clone()),
            (run, _) => {
                let path = self.folder().join(METRICS_FILE);
                return Err(RecordError::OtherKind {
                    path,
                    found: "run of another workload".to_owned(),
                    expected: run.kind(),
                });
            }
        };
        let text = match &measured {
            Measured::Transfer(metrics) => metrics.to_json(),
            Measured::Models(metrics) => metrics.to_json(),
        };
        self.write(METRICS_FILE, &text)?;
        Ok(measured)
    }

    /// Puts the folder in its place, in one step; an earlier one of that name is replaced, and is there until this one is complete and on the
    /// disk.
    ///
    /// # Errors
    /// Where something cannot be written; what was there before is then still there.
    pub fn finish(self) -> Result<PathBuf, RecordError> {
        self.seal()?;
        let replaced = put_in_place(self.folder(), &self.target)?;
        Ok(self.left(replaced))
    }

    /// Does the same for many drafts of one folder, with one pass over the disk for all of them instead of one for each file: a record takes
    /// some ten microseconds then instead of some milliseconds.
    ///
    /// Returns for each what [`Draft::finish`] returns: one that fails does not stop the others.
    pub fn finish_all(drafts: Vec<Self>) -> Vec<Result<PathBuf, RecordError>> {
        let Some(folder) = drafts.first().and_then(|draft| draft.target.parent()).map(Path::to_path_buf) else {
            return Vec::new();
        };
        let sealed: Vec<_> = drafts.iter().map(Self::seal).collect();
        let mut pairs = Vec::new();
        for (draft, sealed) in drafts.iter().zip(&sealed) {
            if sealed.is_ok() {
                pairs.push((draft.folder(), draft.target.as_path()));
            }
        }
        let mut replaced = put_all_in_place(&folder, &pairs).into_iter();
        let finish = |(draft, sealed): (Self, Result<(), RecordError>)| {
            sealed?;
            let replaced = replaced.next().expect("one for each sealed draft")?;
            Ok(draft.left(replaced))
        };
        drafts.into_iter().zip(sealed).map(finish).collect()
    }

    /// Writes what comes last.
    fn seal(&self) -> Result<(), RecordError> {
        if !self.is_adopted {
            Contents::write(self.folder())?;
        }
        // A temporary folder is for its owner's eyes only; a record is for everybody's.
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(self.folder(), fs::Permissions::from_mode(0o755))
            .map_err(RecordError::writing(self.folder()))
    }

    /// Lets go of a draft that is in its place, and returns that.
    fn left(self, replaced: bool) -> PathBuf {
        if replaced {
            // What was there before has the name of the draft now, and goes with it. Where that fails, the next run removes it.
            let _ = self.aside.close();
        } else {
            let _ = self.aside.keep();
        }
        self.target
    }

    fn write(&self, name: &str, text: &str) -> Result<(), RecordError> {
        let path = self.folder().join(name);
        fs::write(&path, text).map_err(RecordError::writing(&path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::CONTENTS_FILE;

    #[test]
    fn an_unfinished_record_is_never_found() {
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
        let records = Records::open(folder.path()).unwrap();
        let name = "x-01-0123456789abcdef";
        records.begin(name).unwrap().finish().unwrap();
        fs::create_dir(folder.path().join("runs")).unwrap();
        assert_eq!(records.by_id().unwrap(), BTreeMap::from([("0123456789abcdef".to_owned(), name.to_owned())]));
    }

    #[test]
    fn a_folder_with_the_name_of_a_record_is_one_even_where_every_file_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::open(folder.path()).unwrap();
        fs::create_dir(folder.path().join("x-02-0000000000000000")).unwrap();
        assert_eq!(records.names().unwrap(), ["x-02-0000000000000000"]);
        let error = records.load("x-02-0000000000000000").unwrap_err().to_string();
        assert!(error.contains("x-02-0000000000000000/run.toml: the file is missing"), "{error}");
        assert!(error.contains("hint: the command that made the record performs the run again"), "{error}");
    }

    #[test]
    fn a_finished_record_replaces_the_earlier_one_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::open(folder.path()).unwrap();
        for text in ["one", "two"] {
            let draft = records.begin("x").unwrap();
            draft.write_failure(text).unwrap();
            draft.finish().unwrap();
        }
        assert_eq!(fs::read_to_string(folder.path().join("x").join(FAILURE_FILE)).unwrap(), "two\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn many_records_are_finished_together_and_replace_earlier_ones() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::open(folder.path()).unwrap();
        let draft = |name: &str, text: &str| {
            let draft = records.begin(name).unwrap();
            draft.write_failure(text).unwrap();
            draft
        };
        draft("b", "old").finish().unwrap();
        let finished = Draft::finish_all(vec![draft("a", "new"), draft("b", "new"), draft("c", "new")]);
        let finished: Vec<_> = finished.into_iter().map(Result::unwrap).collect();
        assert_eq!(finished, ["a", "b", "c"].map(|name| folder.path().join(name)));
        for path in &finished {
            assert_eq!(fs::read_to_string(path.join(FAILURE_FILE)).unwrap(), "new\n");
            assert!(Contents::check(path, None).unwrap().is_some());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        assert!(Draft::finish_all(Vec::new()).is_empty());
    }

    #[test]
    fn a_draft_that_cannot_be_finished_does_not_stop_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::open(folder.path()).unwrap();
        let draft = |name: &str| {
            let draft = records.begin(name).unwrap();
            draft.write_failure(name).unwrap();
            draft
        };
        let drafts = ["unsealed", "a", "unplaced", "b"].map(draft);
        // One of them has nothing to write its contents into, another no folder for its place.
        fs::remove_dir_all(drafts[0].folder()).unwrap();
        let [first, second, mut third, fourth] = drafts;
        third.target = folder.path().join("missing/unplaced");
        let finished = Draft::finish_all(vec![first, second, third, fourth]);
        let is_done: Vec<_> = finished.iter().map(Result::is_ok).collect();
        assert_eq!(is_done, [false, true, false, true]);
        assert!(finished[2].as_ref().unwrap_err().to_string().contains("missing/unplaced"));
        for name in ["a", "b"] {
            assert_eq!(fs::read_to_string(folder.path().join(name).join(FAILURE_FILE)).unwrap(), format!("{name}\n"));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn linked_files_of_another_record_are_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::open(folder.path()).unwrap();
        let first = records.begin("first").unwrap();
        first.write_failure("first").unwrap();
        let first = first.finish().unwrap();
        let contents = || fs::read_to_string(first.join(CONTENTS_FILE)).unwrap();
        let before = contents();
        let second = records.begin("second").unwrap();
        link_below(&first, second.folder()).unwrap();
        second.write("more", "more").unwrap();
        second.finish().unwrap();
        assert_eq!(contents(), before);
    }
}
