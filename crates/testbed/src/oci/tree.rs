//! A tree of files that foreign names cannot leave.
//!
//! Every path is taken apart and walked from the tree's root, and no link is left to the kernel to follow.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ffi::{OsStr, OsString},
    fs::{self, File, Metadata},
    io::{self, BufWriter, Read, Write},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{DirBuilderExt, PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

/// Folders, of which a single path can name thousands.
const MOST_FOLDERS: usize = 100_000;
/// Links to links, as the kernel counts them.
const MOST_HOPS: usize = 40;
/// What the owner may do until [`Tree::finish`]: layers go into folders that are read-only in the end.
const OPEN_FOLDER: u32 = 0o700;
/// Nothing is readable to no one: an ordinary user packs the tree.
const OPEN_FILE: u32 = 0o400;

/// A tree of files.
pub struct Tree {
    root: PathBuf,
    /// Permissions of files and folders, by path in the tree.
    modes: BTreeMap<PathBuf, u32>,
    /// What the layer that is being applied has put there.
    added: BTreeSet<PathBuf>,
    folders: usize,
}

impl Tree {
    /// An empty tree at `root`, which is not there yet.
    ///
    /// # Errors
    /// Where the folder cannot be made.
    pub fn create(root: &Path) -> Result<Self> {
        fs::create_dir(root).with_context(|| root.display().to_string())?;
        Ok(Self {
            root: root.to_path_buf(),
            modes: BTreeMap::from([(PathBuf::new(), 0o755)]),
            added: BTreeSet::new(),
            folders: 0,
        })
    }

    /// What comes now is above all that is there.
    pub fn begin_layer(&mut self) {
        self.added.clear();
    }

    /// Adds a folder, or changes the permissions of one; `None` leaves them.
    ///
    /// # Errors
    /// A path that leaves the tree.
    pub fn add_folder(&mut self, path: &[u8], mode: Option<u32>) -> Result<()> {
        let Some(path) = self.place(path)? else {
            self.modes.extend(mode.map(|mode| (PathBuf::new(), mode)));
            return Ok(());
        };
        if !self.facts(&path)?.is_some_and(|facts| facts.is_dir()) {
            self.remove(&path)?;
            self.make_folder(&path)?;
        }
        self.modes.extend(mode.map(|mode| (path.clone(), mode)));
        self.added.insert(path);
        Ok(())
    }

    /// Makes sure that there is a folder at `path`, links followed, also the last one.
    ///
    /// # Errors
    /// A path that leaves the tree, or leads to a file by a link.
    pub fn ensure_folder(&mut self, path: &str) -> Result<()> {
        // What leads to a name in it makes it.
        self.place(format!("{path}/name").trim_start_matches('/').as_bytes()).map(drop)
    }

    /// Adds a file of `size` bytes.
    ///
    /// # Errors
    /// A path that leaves the tree, or fewer bytes.
    pub fn add_file(&mut self, path: &[u8], mode: u32, contents: &mut dyn Read, size: u64) -> Result<()> {
        let path = self.free_place(path)?;
        let file = File::options().write(true).create_new(true).open(self.root.join(&path))?;
        let mut file = BufWriter::with_capacity(1 << 16, file);
        let written = io::copy(&mut contents.take(size), &mut file)?;
        file.flush()?;
        if written != size {
            bail!("found {written} bytes, expected {size}: the layer is truncated");
        }
        self.modes.insert(path, mode);
        Ok(())
    }

    /// Adds a symbolic link. It may lead anywhere: it is followed in the guest.
    ///
    /// # Errors
    /// A path that leaves the tree.
    pub fn add_symlink(&mut self, path: &[u8], target: &[u8]) -> Result<()> {
        let path = self.free_place(path)?;
        Ok(symlink(OsStr::from_bytes(target), self.root.join(path))?)
    }

    /// Gives the file `target` another name.
    ///
    /// # Errors
    /// Either path leaves the tree, or there is no such file.
    pub fn add_hard_link(&mut self, path: &[u8], target: &[u8]) -> Result<()> {
        let shown = String::from_utf8_lossy(target).into_owned();
        let target = self.place(target).with_context(|| format!("a link to {shown}"))?.unwrap_or_default();
        if self.facts(&target)?.is_none_or(|facts| facts.is_dir()) {
            bail!("found a hard link to {shown}, which does not exist");
        }
        if self.place(path)?.is_some_and(|path| path == target) {
            return Ok(());
        }
        let path = self.free_place(path)?;
        fs::hard_link(self.root.join(&target), self.root.join(&path))?;
        if let Some(mode) = self.modes.get(&target).copied() {
            self.modes.insert(path, mode);
        }
        Ok(())
    }

    /// Removes what layers below have at `path`.
    ///
    /// # Errors
    /// A path that leaves the tree.
    pub fn hide(&mut self, path: &[u8]) -> Result<()> {
        self.place(path)?.map_or(Ok(()), |path| self.hide_at(&path))
    }

    /// Removes what layers below have in the folder `path`.
    ///
    /// # Errors
    /// A path that leaves the tree.
    pub fn hide_contents(&mut self, path: &[u8]) -> Result<()> {
        let path = self.place(path)?.unwrap_or_default();
        if self.facts(&path)?.is_some_and(|facts| facts.is_dir()) {
            for entry in fs::read_dir(self.root.join(&path))? {
                self.hide_at(&path.join(entry?.file_name()))?;
            }
        }
        Ok(())
    }

    /// Makes an empty folder of whatever is at `path`.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn empty_folder(&mut self, path: &str) -> Result<()> {
        self.remove(Path::new(path))?;
        self.make_folder(Path::new(path))
    }

    /// Removes what is at `path` in a folder where that is a link, so that it can be written to as a file.
    ///
    /// # Errors
    /// Where it cannot be removed.
    pub fn plain_file_at(&mut self, path: &str) -> Result<()> {
        let path = Path::new(path);
        let folder = path.parent().unwrap_or(Path::new(""));
        if !self.facts(folder)?.is_some_and(|facts| facts.is_dir()) {
            return self.empty_folder(&folder.display().to_string());
        }
        if self.facts(path)?.is_some_and(|facts| !facts.is_file()) {
            self.remove(path)?;
        }
        Ok(())
    }

    /// Gives everything its permissions.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn finish(self) -> Result<()> {
        for (path, mode) in &self.modes {
            let place = self.root.join(path);
            let open = if place.is_dir() { OPEN_FOLDER } else { OPEN_FILE };
            fs::set_permissions(&place, PermissionsExt::from_mode(mode | open))
                .with_context(|| path.display().to_string())?;
        }
        Ok(())
    }

    /// Where `path` is in the tree, links on the way to it followed, and the folders on the way made; `None` is the root.
    fn place(&mut self, path: &[u8]) -> Result<Option<PathBuf>> {
        let mut parts = parts(path)?;
        let Some(name) = parts.pop_back() else { return Ok(None) };
        let mut real = PathBuf::new();
        let mut hops = 0;
        while let Some(part) = parts.pop_front() {
            if part == ".." {
                // Only a link says so; where the path itself does, it was refused.
                if !real.pop() {
                    bail!("found a path through a link that leaves the image, expected one inside");
                }
                continue;
            }
            let next = real.join(part);
            match self.facts(&next)? {
                Some(facts) if facts.is_symlink() => {
                    hops += 1;
                    if hops > MOST_HOPS {
                        bail!("found a path through more than {MOST_HOPS} links");
                    }
                    let target = fs::read_link(self.root.join(&next))?;
                    if target.is_absolute() {
                        real = PathBuf::new();
                    }
                    let words = target.as_os_str().as_bytes().split(|byte| *byte == b'/');
                    let words =
                        words.filter(|word| !matches!(*word, b"" | b".")).map(|word| OsString::from_vec(word.to_vec()));
                    for word in words.collect::<Vec<_>>().into_iter().rev() {
                        parts.push_front(word);
                    }
                }
                Some(facts) if facts.is_dir() => real = next,
                None if hops > 0 => bail!("found a path through a link that leads nowhere in the image"),
                None => {
                    self.make_folder(&next)?;
                    real = next;
                }
                // A layer above may make a folder of what was a file.
                Some(_) if hops == 0 => {
                    self.remove(&next)?;
                    self.make_folder(&next)?;
                    real = next;
                }
                Some(_) => bail!("found a path through a link to a file"),
            }
        }
        Ok(Some(real.join(name)))
    }

    /// Where `path` is, with nothing there any more.
    fn free_place(&mut self, path: &[u8]) -> Result<PathBuf> {
        let Some(path) = self.place(path)? else { bail!("found the root itself, expected a name in it") };
        self.remove(&path)?;
        self.added.insert(path.clone());
        Ok(path)
    }

    fn make_folder(&mut self, path: &Path) -> Result<()> {
        self.folders += 1;
        if self.folders > MOST_FOLDERS {
            bail!("found more than {MOST_FOLDERS} folders, expected fewer");
        }
        let mut builder = fs::DirBuilder::new();
        builder.mode(OPEN_FOLDER).create(self.root.join(path)).with_context(|| path.display().to_string())?;
        self.modes.insert(path.to_path_buf(), 0o755);
        Ok(())
    }

    fn hide_at(&mut self, path: &Path) -> Result<()> {
        let Some(facts) = self.facts(path)? else { return Ok(()) };
        let mut inside = self.added.range(path.to_path_buf()..).take_while(|added| added.starts_with(path));
        if inside.next().is_none() {
            return self.remove(path);
        }
        if facts.is_dir() {
            for entry in fs::read_dir(self.root.join(path))? {
                self.hide_at(&path.join(entry?.file_name()))?;
            }
        }
        Ok(())
    }

    fn remove(&mut self, path: &Path) -> Result<()> {
        let Some(facts) = self.facts(path)? else { return Ok(()) };
        let place = self.root.join(path);
        if facts.is_dir() {
            fs::remove_dir_all(&place)?
        } else {
            fs::remove_file(&place)?
        }
        let gone = |known: &PathBuf| known.starts_with(path);
        let known: Vec<_> = self
            .modes
            .range(path.to_path_buf()..)
            .map(|(path, _)| path)
            .take_while(|path| gone(path))
            .cloned()
            .collect();
        for path in known {
            self.modes.remove(&path);
        }
        Ok(())
    }

    fn facts(&self, path: &Path) -> Result<Option<Metadata>> {
        match fs::symlink_metadata(self.root.join(path)) {
            Ok(facts) => Ok(Some(facts)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| path.display().to_string()),
        }
    }
}

/// The names that a path is made of, which lead nowhere but down.
fn parts(path: &[u8]) -> Result<VecDeque<OsString>> {
    if path.starts_with(b"/") {
        bail!("found an absolute path, expected one inside of the image");
    }
    let mut parts = VecDeque::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => bail!("found a path with \"..\", expected one inside of the image"),
            name => parts.push_back(OsString::from_vec(name.to_vec())),
        }
    }
    Ok(parts)
}
