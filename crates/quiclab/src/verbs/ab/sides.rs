//! What A and B are.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use quiclab_testbed::stack_store::StackRequest;
use tempfile::TempDir;

use super::revision;
use crate::{
    session::{
        laboratory::{named, open_on},
        signals,
    },
    settings::AbSettings,
};

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub struct Request {
    /// Stacks as typed: none, one for both sides, or two.
    stacks: Vec<String>,
    /// Experiment files.
    pub files: Vec<PathBuf>,
}

/// One side.
#[derive(Debug)]
pub struct Side {
    /// Name of the side for people.
    pub name: String,
    /// The stack; `None` for those of the file.
    pub stack: Option<PathBuf>,
    /// The same as it was typed, for the command that makes the runs again.
    pub shown_stack: Option<PathBuf>,
    /// Settings of this side alone.
    pub settings: Vec<(String, String)>,
    /// Where a revision was unpacked; removed at the end.
    _unpacked: Option<TempDir>,
}

impl Request {
    /// Tells sides from files.
    ///
    /// # Errors
    /// Too many sides or too few.
    pub fn parse(settings: &AbSettings) -> Result<Self> {
        let is_file = |path: &&String| path.ends_with(".toml");
        let files: Vec<PathBuf> = settings.paths.iter().filter(is_file).map(PathBuf::from).collect();
        let stacks: Vec<_> = settings.paths.iter().filter(|path| !is_file(path)).cloned().collect();
        let has_settings = !settings.a.is_empty() || !settings.b.is_empty();
        match (stacks.len(), has_settings, files.len()) {
            (2, ..) | (1, true, _) | (0, true, 1..) => {}
            (0, true, 0) => {
                bail!("--a and --b need a stack or a file\nhint: quiclab ab quiche --a stack.gso=on --b stack.gso=off")
            }
            (0 | 1, false, _) => bail!(
                "found {}, expected A and B, or --a and --b with a setting of one stack\nhint: quiclab ab main/ pr/",
                if stacks.len() == 1 { "1 stack" } else { "no stack" }
            ),
            (count, ..) => bail!("found {count} stacks, expected A and B; experiment files end in .toml"),
        }
        let mut stems: Vec<_> = files.iter().filter_map(|file| file.file_stem()).collect();
        stems.sort();
        if let Some(twice) = stems.windows(2).find(|pair| pair[0] == pair[1]) {
            bail!(
                "two files have the name {}; each gets a folder of its name, so they need different ones",
                twice[0].display()
            );
        }
        Ok(Self { stacks, files })
    }

    /// Finds both sides; revisions are unpacked.
    ///
    /// # Errors
    /// What is neither a path nor the name of a stack, and what git answers.
    pub fn sides(&self, settings: &AbSettings) -> Result<[Side; 2]> {
        let side = |number: usize, own: &[(String, String)]| {
            let typed = self.stacks.get(number).or(self.stacks.first());
            let shown: Vec<_> = own.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let name = typed.cloned().into_iter().chain(shown).collect::<Vec<_>>().join(", ");
            let name = if name.is_empty() { "as the file has it".to_owned() } else { name };
            let (stack, unpacked) = match typed {
                None => (None, None),
                Some(typed) => found(typed, settings)?,
            };
            // A revision is gone afterwards, so its folder says nothing.
            let shown_stack = if unpacked.is_some() { typed.map(PathBuf::from) } else { stack.clone() };
            Ok::<_, anyhow::Error>(Side { name, stack, shown_stack, settings: own.to_vec(), _unpacked: unpacked })
        };
        Ok([side(0, &settings.a)?, side(1, &settings.b)?])
    }
}

/// Where a side is.
fn found(typed: &str, settings: &AbSettings) -> Result<(Option<PathBuf>, Option<TempDir>)> {
    let path = Path::new(typed);
    if path.exists() {
        return Ok((Some(path.to_path_buf()), None));
    }
    if let Some((folder, revision)) = typed.rsplit_once('@')
        && Path::new(folder).is_dir()
    {
        let (unpacked, path) = revision::unpacked(Path::new(folder), revision)?;
        return Ok((Some(path), Some(unpacked)));
    }
    let stacks = StackRequest { folder: settings.stacks.clone(), ..StackRequest::default() };
    let laboratory = open_on(named(settings.testbed.as_deref())?, &stacks, signals::stop_flag()?)?;
    match laboratory.stack_store.sources.get(typed) {
        Some(source) if source.options.is_empty() => Ok((Some(source.folder.clone()), None)),
        _ => {
            let known = laboratory
                .stack_store
                .default_builds()
                .map(|manifest| manifest.name.clone())
                .collect::<Vec<_>>()
                .join(", ");
            bail!(
                "{typed}: found no such path, expected a folder with stack.toml, a program, FOLDER@REVISION, two result folders, or one of {known}"
            )
        }
    }
}

/// A folder's name for the results of both sides.
pub fn folder_name(sides: &[Side; 2]) -> String {
    /// Characters of each side.
    const MOST: usize = 60;
    let plain = |side: &Side| {
        let is_plain = |letter: char| letter.is_alphanumeric() || letter == '.';
        let words = side.name.split(|letter| !is_plain(letter)).filter(|word| !word.is_empty() && *word != "..");
        // The end says more than the beginning of a path.
        let name: Vec<_> = words.collect::<Vec<_>>().join("_").chars().collect();
        name[name.len().saturating_sub(MOST)..].iter().collect::<String>()
    };
    format!("{}-{}", plain(&sides[0]), plain(&sides[1]))
}
