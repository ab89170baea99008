//! What every testbed draws on: the stacks and the cache.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::stack::StackManifest;

use crate::{
    cache::{Cache, IMPORTED},
    stack::{MANIFEST, Source, own::add_own_stacks, source, sources},
    testbed::Testbed,
};

/// Folder of archives of prepared things where quiclab is installed.
const PREPARED: &str = "prepared";

/// Which stacks are asked for.
#[derive(Clone, Debug, Default)]
pub struct StackRequest {
    /// The folder of the stacks; `None` for the testbed's usual one, here or in a folder above.
    pub folder: Option<PathBuf>,
    /// The user's own stacks: programs, or folders with a manifest.
    pub own: Vec<PathBuf>,
    /// Whether these may take the place of stacks that have their names.
    pub replace: bool,
    /// Whether stacks are built again although the cache has them: the own ones, or all where there are none of these.
    pub rebuild: bool,
}

/// The stacks, the cache, and how to tell people what takes long.
#[derive(Clone, Debug)]
pub struct StackStore {
    /// The stacks by name, also with every option of their builds.
    pub sources: BTreeMap<String, Source>,
    /// Names of the user's own stacks, in the order in which they were given.
    pub own: Vec<String>,
    /// The folder of the stacks.
    pub stacks: PathBuf,
    /// Where things are made once.
    pub cache: Cache,
    /// Set to end everything.
    pub stop: Arc<AtomicBool>,
    /// Tells people what is being made.
    pub say: fn(&str),
    /// Whether to wait where another process performs runs in real time on this machine. Otherwise that is an error.
    pub waits_for_turn: bool,
}

impl StackStore {
    /// Finds the stacks that `testbed` runs, and the cache.
    ///
    /// # Errors
    /// Where there are no stacks, or one's manifest is wrong.
    pub fn find(testbed: &dyn Testbed, request: &StackRequest, stop: Arc<AtomicBool>, say: fn(&str)) -> Result<Self> {
        let cache = Cache::from_environment()?;
        cache.heed(&stop);
        cache.tell_origins(say);
        // Where it cannot be written, nothing is left by anybody.
        let _ = cache.remove_leftovers();
        let stacks = match &request.folder {
            Some(folder) => folder.clone(),
            None => find_stacks(testbed.stacks_folder())?,
        };
        let mut sources = sources(&stacks)?;
        if sources.is_empty() {
            bail!("{}: found no stack, expected folders with {MANIFEST}\nhint: --stacks DIR", stacks.display());
        }
        if testbed.runs_images() {
            for (name, source) in imported(&cache, say) {
                sources.entry(name).or_insert(source);
            }
        }
        let own = add_own_stacks(&cache, &request.own, request.replace, &mut sources, say)?;
        let variants: Vec<_> = sources.values().flat_map(Source::variants).collect();
        sources.extend(variants.into_iter().map(|variant| (variant.manifest.name.clone(), variant)));
        Ok(Self { sources, own, stacks, cache, stop, say, waits_for_turn: true })
    }

    /// The cache alone, for runs that need no stacks.
    ///
    /// # Errors
    /// Where there is no place for it.
    pub fn without_stacks(stop: Arc<AtomicBool>, say: fn(&str)) -> Result<Self> {
        let cache = Cache::from_environment()?;
        cache.heed(&stop);
        cache.tell_origins(say);
        let (sources, own, stacks) = Default::default();
        Ok(Self { sources, own, stacks, cache, stop, say, waits_for_turn: true })
    }

    /// The stacks without build options, in order of name: what is meant where no names are given.
    pub fn default_builds(&self) -> impl Iterator<Item = &StackManifest> {
        self.sources.values().filter(|source| source.options.is_empty()).map(|source| &source.manifest)
    }

    /// True where `name` is a stack that was imported as an image.
    pub fn is_imported(&self, name: &str) -> bool {
        self.sources.get(name).is_some_and(|source| source.folder.starts_with(self.cache.path(IMPORTED)))
    }

    /// What the stacks say of themselves, by name.
    pub fn manifests(&self) -> BTreeMap<String, StackManifest> {
        self.sources.iter().map(|(name, source)| (name.clone(), source.manifest.clone())).collect()
    }

    /// The stack `name`.
    ///
    /// # Errors
    /// Where there is none.
    pub fn source(&self, name: &str) -> Result<&Source> {
        self.sources.get(name).with_context(|| {
            let known = self.default_builds().map(|manifest| manifest.name.clone()).collect::<Vec<_>>().join(", ");
            format!("stack: found {name:?}, expected one of {known}")
        })
    }

    /// True where `name` is one of the user's own stacks, with whatever options of its build.
    pub fn is_own(&self, name: &str) -> bool {
        self.source(name).is_ok_and(|source| {
            self.own.iter().any(|own| self.sources.get(own).is_some_and(|own| own.folder == source.folder))
        })
    }

    /// Tells people what is being made.
    pub fn say(&self, text: &str) {
        (self.say)(text);
    }
}

/// The stacks that were imported as images, by name. One that this version of quiclab cannot read is skipped, with a warning.
fn imported(cache: &Cache, say: fn(&str)) -> BTreeMap<String, Source> {
    let entries = fs::read_dir(cache.path(IMPORTED)).into_iter().flatten().flatten();
    let folders = entries.map(|entry| entry.path()).filter(|folder| folder.join(MANIFEST).is_file());
    let mut imported = BTreeMap::new();
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match source(&folder) {
            Ok(source) => {
                imported.insert(name, source);
            }
            Err(error) => say(&format!("warning: skipping {name}: {error:#}\nhint: quiclab stacks import it again")),
        }
    }
    imported
}

/// The folder of that name with stacks in it.
fn find_stacks(name: &str) -> Result<PathBuf> {
    let here = env::current_dir().context("the current folder")?;
    let has_stacks = |folder: &PathBuf| {
        let entries = fs::read_dir(folder.join(name)).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.path().join(MANIFEST).is_file())
    };
    let found = here.ancestors().map(Path::to_path_buf).chain(shared()).find(has_stacks);
    let found = found.with_context(|| {
        format!(
            "{}: found no folder {name}/ with stacks here, in a parent folder, or where quiclab is installed\nhint: use \
             --stacks DIR, work in a clone of quiclab, or name the folder that has {name}/ in QUICLAB_SHARE",
            here.display()
        )
    })?;
    Ok(found.join(name))
}

/// Names of the shipped stacks, in order; none where their folder is not found.
pub fn shipped_names() -> Vec<String> {
    let folder = find_stacks("stacks").ok();
    let entries = folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let stacks = entries.filter(|entry| entry.path().join(MANIFEST).is_file());
    let mut names: Vec<_> = stacks.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The file `name` of the repository: from here or a parent folder, or from where quiclab is installed.
pub fn find_file(name: &str) -> Option<PathBuf> {
    let here = env::current_dir().ok()?;
    let places: Vec<PathBuf> = here.ancestors().map(Path::to_path_buf).chain(shared()).collect();
    places.into_iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Archives of prepared things that an installed quiclab brings, in order of name.
pub fn installed_archives() -> Vec<PathBuf> {
    let folder = shared().map(|folder| folder.join(PREPARED)).find(|folder| folder.is_dir());
    let entries = folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    found.sort();
    found
}

/// Where an installed quiclab has its stacks: `$QUICLAB_SHARE`, then `share/quiclab` of where the program is installed, then
/// `/usr/share/quiclab`.
fn shared() -> impl Iterator<Item = PathBuf> {
    let named = env::var_os("QUICLAB_SHARE").filter(|value| !value.is_empty()).map(PathBuf::from);
    let program = env::current_exe().ok();
    let prefix = program.as_deref().and_then(Path::parent).and_then(Path::parent).map(Path::to_path_buf);
    let beside = prefix.map(|prefix| prefix.join("share/quiclab"));
    named.into_iter().chain(beside).chain([PathBuf::from("/usr/share/quiclab")])
}
