//! A stack without sockets as a program of this machine, built once per content of its folder.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, ensure};

use crate::{
    cache::{Cache, Care, Origin},
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
        cache.verify(&folder, Care::Default)?;
        // In the sandbox there are no symbolic links of the user, such as one on the way to the cache.
        let folder = folder.canonicalize().with_context(|| folder.display().to_string())?;
        let path = folder.join(DIGEST);
        let digest = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let files = Some(folder.join(FILES));
        let command = command(source, &folder);
        if Origin::of(&folder).is_some() {
            check_digest(&command, &digest)?;
        }
        Ok((Self { command, files, digest }, made))
    }
}

/// The hash goes into the identities of runs, and whoever makes an archive writes both it and the program.
fn check_digest(command: &[PathBuf], digest: &str) -> Result<()> {
    let program = command.first().context("a command without words")?;
    let found = hash::of_file(program).with_context(|| program.display().to_string())?;
    ensure!(
        found == digest,
        "{}: found SHA-256 {found}, expected {} as the archive that it is from says\nhint: quiclab stacks build --rebuild",
        program.display(),
        digest.escape_debug()
    );
    Ok(())
}

/// The command of the manifest, where its files are.
fn command(source: &Source, folder: &Path) -> Vec<PathBuf> {
    let place = |word: &String| match Path::new(word).strip_prefix(MOUNTED) {
        Ok(file) => folder.join(FILES).join(file),
        Err(_) => PathBuf::from(word),
    };
    source.manifest.guest.command.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cache::Archive,
        stack::{MANIFEST, source},
    };

    #[test]
    fn a_program_from_an_archive_must_have_the_hash_that_goes_into_the_identities_of_its_runs() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("mine");
        fs::create_dir(&folder).unwrap();
        let quinn = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sans-io/quinn").join(MANIFEST);
        let mut manifest: toml::Table = fs::read_to_string(quinn).unwrap().parse().unwrap();
        manifest.insert("name".to_owned(), "mine".into());
        manifest.insert(
            "build".to_owned(),
            "command = \"exit 1\"\nprofile = \"x\"\nhost_tools = []\nhost_packages = []\n"
                .parse::<toml::Table>()
                .unwrap()
                .into(),
        );
        let command = toml::Value::Array(vec!["/stack/endpoint".into()]);
        manifest.get_mut("guest").and_then(toml::Value::as_table_mut).unwrap().insert("command".to_owned(), command);
        fs::write(folder.join(MANIFEST), manifest.to_string()).unwrap();
        let source = source(&folder).unwrap();
        let cache = Cache::at(root.path().join("cache"));
        let genuine = hash::of_reader(&mut &b"genuine"[..]).unwrap();
        let prepared = |program: &str, is_foreign: bool| {
            let name = name_below("program", &source).unwrap();
            let made = cache.replace(
                &name,
                |_| false,
                |folder| {
                    fs::create_dir(folder.join(FILES))?;
                    fs::write(folder.join(FILES).join("endpoint"), program)?;
                    fs::write(folder.join(DIGEST), &genuine)?;
                    let archive = Archive { archive: "x.zip".to_owned(), sha256: genuine.clone() };
                    if is_foreign { Origin::now(archive, Vec::new()).write(folder) } else { Ok(()) }
                },
            );
            assert!(made.unwrap());
            Program::prepare(&cache, &source, false, &AtomicBool::new(false)).map(|(program, _)| program.digest)
        };
        assert_eq!(prepared("genuine", true).unwrap(), genuine);
        let error = prepared("changed", true).unwrap_err().to_string();
        assert!(error.contains("files/endpoint: found SHA-256 ") && error.contains("as the archive"), "{error}");
    }
}
