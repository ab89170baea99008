//! Where things of the cache came from that were not made here.
//!
//! Hashes say that a thing is as it was when it came into the cache, and nothing of who made it. So a thing that was taken from an archive has
//! a note of it in its folder, as long as it is there. The note is none of the thing's files: it has no hash, and the thing is the same
//! without it. What is made here of such a thing has the same note.

use std::{
    collections::BTreeMap,
    fmt, fs,
    io::{self, Read},
    path::Path,
    sync::PoisonError,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result};
use quiclab_units::shown;
use serde::{Deserialize, Serialize};

use super::{
    Cache,
    sizes::{CONTENTS, ORIGIN},
    sums,
};

/// The longest note that is read.
const MOST_BYTES: u64 = 1 << 16;
/// An archive was packed again at most this often.
const MOST_EARLIER: usize = 64;

/// An archive of things.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Archive {
    /// Name of its file, or where it was.
    pub archive: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

/// Where a thing came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Origin {
    /// What it was taken from.
    #[serde(flatten)]
    pub from: Archive,
    /// When it was taken, s since the Unix epoch.
    pub taken_unix_seconds: u64,
    /// Where the maker of the archive took it from, the latest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Archive>,
    /// The thing that was taken, where this one was made here of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_of: Option<String>,
}

impl Archive {
    /// True where both texts are what they can be: a name of at most 255 bytes, and 64 hexadecimal digits.
    pub fn is_plausible(&self) -> bool {
        self.archive.len() <= 255
            && self.sha256.len() == 64
            && self.sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    }
}

impl fmt::Display for Archive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} sha256 {}", shown(&self.archive), shown(&self.sha256))
    }
}

impl Origin {
    /// Taken now.
    pub fn now(from: Archive, earlier: Vec<Archive>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Self { from, taken_unix_seconds: now, earlier, made_of: None }
    }

    /// This archive and those before it, for who packs the thing again.
    pub fn archives(&self) -> Vec<Archive> {
        let all = [&self.from].into_iter().chain(&self.earlier);
        all.filter(|archive| archive.is_plausible()).take(MOST_EARLIER).cloned().collect()
    }

    /// Origin of a thing whose note cannot be read: the note is there, so the thing was not made here.
    fn unknown() -> Self {
        let from = Archive { archive: "unknown".to_owned(), sha256: "unknown".to_owned() };
        Self { from, taken_unix_seconds: 0, earlier: Vec::new(), made_of: None }
    }

    /// Writes the note into the folder of a thing that is being made.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(folder.join(ORIGIN), text).with_context(|| folder.join(ORIGIN).display().to_string())
    }

    /// Origin of the thing in a folder; `None` where it was made here.
    pub fn of(folder: &Path) -> Option<Self> {
        let mut text = Vec::new();
        match fs::File::open(folder.join(ORIGIN)) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => None,
            opened => {
                let read = opened.and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text));
                Some(read.ok().and_then(|_| serde_json::from_slice(&text).ok()).unwrap_or_else(Self::unknown))
            }
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(thing) = &self.made_of {
            write!(formatter, "made here of {}, which is ", shown(thing))?;
        }
        write!(formatter, "from an archive: {}", self.from)?;
        let taken = i64::try_from(self.taken_unix_seconds).ok();
        if let Some(taken) = taken.and_then(|seconds| time::OffsetDateTime::from_unix_timestamp(seconds).ok()) {
            write!(formatter, ", taken {}", taken.date())?;
        }
        self.earlier.iter().try_for_each(|earlier| write!(formatter, ", which had it from {earlier}"))
    }
}

/// True where the file `name` of a thing is one that the cache keeps of it, or would have no hash.
pub fn is_kept_by_the_cache(name: &str) -> bool {
    let top = name.split('/').next().unwrap_or_default();
    [sums::SUMS, sums::TREE, CONTENTS, ORIGIN].contains(&top)
}

impl Cache {
    /// Where the thing `name` came from; `None` where it was made here or is not there.
    pub fn origin(&self, name: &str) -> Option<Origin> {
        Origin::of(&self.path(name))
    }

    /// Notes in the folder `made`, which is being made of the thing in the folder `of`, where that one came from, if it was not made here.
    ///
    /// # Errors
    /// Where the note cannot be written.
    pub fn inherit(&self, of: &Path, made: &Path) -> Result<()> {
        let Some(origin) = Origin::of(of) else { return Ok(()) };
        let made_of = origin.made_of.clone().or_else(|| self.name_of(of));
        Origin { made_of, ..origin }.write(made)
    }

    /// Registers `say`, which is called once for each archive when this process first uses something that was taken from it.
    pub fn tell_origins(&self, say: fn(&str)) {
        let _ = self.say.set(say);
    }

    /// The things that this process has used so far and that were not made here.
    pub fn used_from_archives(&self) -> BTreeMap<String, Origin> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.keys().filter_map(|name| Some((name.clone(), self.origin(name)?))).collect()
    }

    /// Reports the thing `name`, which is about to be used, unless it was made here.
    pub(super) fn tell_origin(&self, name: &str) {
        let (Some(say), Some(origin)) = (self.say.get(), self.origin(name)) else { return };
        if self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(origin.from.clone()) {
            say(&format!("{name} was not built here, it is {origin}\nhint: quiclab cache lists all such things"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, sync::Mutex};

    use super::*;

    fn archive(digit: char) -> Archive {
        Archive { archive: format!("quiclab-prepared-{digit}.zip"), sha256: digit.to_string().repeat(64) }
    }

    fn filled(cache: &Cache, name: &str, origin: Option<&Origin>) -> PathBuf {
        let make = |folder: &Path| {
            fs::write(folder.join("file"), "x")?;
            origin.map_or(Ok(()), |origin| origin.write(folder))
        };
        cache.folder(name, make).unwrap()
    }

    #[test]
    fn a_thing_from_an_archive_has_the_hashes_of_one_that_was_made_here_and_says_where_it_is_from() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_path_buf());
        let origin = Origin { earlier: vec![archive('b')], ..Origin::now(archive('a'), Vec::new()) };
        let [own, foreign] =
            [("stack/own", None), ("stack/foreign", Some(&origin))].map(|(name, origin)| filled(&cache, name, origin));
        for list in [sums::SUMS, CONTENTS] {
            assert_eq!(fs::read(own.join(list)).unwrap(), fs::read(foreign.join(list)).unwrap(), "{list}");
        }
        cache.verify(&foreign, super::super::Care::Thorough).unwrap();
        assert_eq!((cache.origin("stack/own"), cache.origin("stack/none")), (None, None));
        let found = cache.origin("stack/foreign").unwrap();
        assert_eq!(found, origin);
        let text = found.to_string();
        let [a, b] = ['a', 'b'].map(|digit| digit.to_string().repeat(64));
        assert!(text.starts_with(&format!("from an archive: quiclab-prepared-a.zip sha256 {a}, taken 20")), "{text}");
        assert!(text.ends_with(&format!(", which had it from quiclab-prepared-b.zip sha256 {b}")), "{text}");
        assert_eq!(found.archives(), [archive('a'), archive('b')]);
        assert_eq!(cache.used_from_archives().into_keys().collect::<Vec<_>>(), ["stack/foreign"]);
    }

    #[test]
    fn what_is_made_of_a_foreign_thing_is_foreign_and_what_is_made_again_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_path_buf());
        let kernel = filled(&cache, "kernel/a", Some(&Origin::now(archive('a'), Vec::new())));
        let own = filled(&cache, "kernel/own", None);
        cache.folder("state/of-a", |made| cache.inherit(&kernel, made)).unwrap();
        cache.folder("plain/of-state", |made| cache.inherit(&cache.path("state/of-a"), made)).unwrap();
        cache.folder("state/own", |made| cache.inherit(&own, made)).unwrap();
        for name in ["state/of-a", "plain/of-state"] {
            let text = cache.origin(name).unwrap().to_string();
            assert!(text.starts_with("made here of kernel/a, which is from an archive: "), "{text}");
        }
        assert_eq!(cache.origin("state/own"), None);
        cache.replace("kernel/a", |_| false, |folder| Ok(fs::write(folder.join("file"), "y")?)).unwrap();
        assert_eq!(cache.origin("kernel/a"), None);
    }

    #[test]
    fn a_note_that_cannot_be_read_does_not_make_a_thing_one_of_this_machine() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_path_buf());
        let made = filled(&cache, "stack/a", None);
        for text in ["", "null", "{\"archive\": 1}"] {
            fs::write(made.join(ORIGIN), text).unwrap();
            let shown = cache.origin("stack/a").unwrap().to_string();
            assert!(shown.starts_with("from an archive: unknown"), "{shown}");
        }
        let forged = Archive { archive: "x\u{1b}[2J".to_owned(), ..archive('a') };
        Origin::now(forged, Vec::new()).write(&made).unwrap();
        assert!(!cache.origin("stack/a").unwrap().to_string().contains('\u{1b}'));
    }

    #[test]
    fn each_archive_is_told_once_by_who_uses_something_of_it() {
        static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let folder = tempfile::tempdir().unwrap();
        let maker = Cache::at(folder.path().to_path_buf());
        for (name, digit) in [("stack/a", 'a'), ("stack/b", 'a'), ("stack/c", 'c')] {
            filled(&maker, name, Some(&Origin::now(archive(digit), Vec::new())));
        }
        filled(&maker, "stack/own", None);
        let user = Cache::at(folder.path().to_path_buf());
        user.tell_origins(|text| SAID.lock().unwrap().push(text.to_owned()));
        for name in ["stack/own", "stack/a", "stack/b", "stack/a", "stack/c"] {
            user.folder(name, |_| unreachable!()).unwrap();
        }
        let said = SAID.lock().unwrap();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said[0].starts_with("stack/a was not built here, it is from an archive: quiclab-prepared-a.zip sha256 ")
        );
        assert!(said[1].starts_with("stack/c was not built here"), "{said:?}");
    }
}
