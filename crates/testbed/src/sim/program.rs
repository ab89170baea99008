//! A stack without sockets as a program of this machine, built once per content of its folder.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result};

use crate::{
    cache::{Cache, Care},
    hash,
    stack::{MOUNTED, Made, Source, check_tools, compile, make, name_below, plain_name},
};

/// What a build leaves in the cache.
const FILES: &str = "files";
/// The hash of the program.
const DIGEST: &str = "sha256";
/// The crate getrandom asks the program instead of the operating system.
const RUST_FLAGS: &[&str] = &["--cfg", "getrandom_backend=\"custom\""];

/// A built program in the cache.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program, and its arguments.
    pub command: Vec<PathBuf>,
    /// The folder with all files of the build; `None` where the program is one of the system.
    pub files: Option<PathBuf>,
    /// SHA-256 of the program.
    pub digest: String,
}

impl Program {
    /// True where the cache has a build of exactly this source.
    ///
    /// # Errors
    /// Where the source cannot be read.
    pub fn is_built(cache: &Cache, source: &Source) -> Result<bool> {
        Ok(cache.path(&name_below("program", source)?).is_dir())
    }

    /// Builds a stack's program, unless the cache has it; where `again`, even then. Also says
    /// whether it was built now.
    ///
    /// # Errors
    /// A missing toolchain, named with how to get it, an input that is not there, or a failed build.
    pub fn prepare(cache: &Cache, source: &Source, again: bool, stop: &AtomicBool) -> Result<(Self, Made)> {
        let objects = cache.path(&format!("build/sans-io-{}", plain_name(source)));
        let (folder, made) = make(cache, &name_below("program", source)?, source, again, |folder| {
            check_tools(&source.manifest)?;
            compile(source, &objects, &folder.join(FILES), RUST_FLAGS, stop)?;
            let command = command(source, folder);
            let program = command.first().context("a command without words")?;
            let digest = hash::of_file(program).with_context(|| program.display().to_string())?;
            fs::write(folder.join(DIGEST), digest).context(DIGEST)
        })?;
        cache.verify(&folder, Care::Usual)?;
        // Behind the walls there are no symbolic links of the user, such as one on the way to the cache.
        let folder = folder.canonicalize().with_context(|| folder.display().to_string())?;
        let path = folder.join(DIGEST);
        let digest = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let files = Some(folder.join(FILES));
        Ok((Self { command: command(source, &folder), files, digest }, made))
    }
}

/// The command of the manifest, where its files are.
fn command(source: &Source, folder: &Path) -> Vec<PathBuf> {
    let place = |word: &String| match Path::new(word).strip_prefix(MOUNTED) {
        Ok(file) => folder.join(FILES).join(file),
        Err(_) => PathBuf::from(word),
    };
    source.manifest.guest.command.iter().map(place).collect()
}
