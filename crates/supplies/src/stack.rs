//! Builds a stack's endpoints, once per content of its folder and of its other inputs, and packs them for the guest.

mod content;
mod made;
mod objects;
pub mod own;

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::stack::StackManifest;
use quiclab_inputs::read_unlinked_text;

use crate::{
    cache::Cache,
    command, erofs,
    image::{Image, ROOT_FILE},
};

pub use content::{all_files, name_below};
pub use made::{Made, make};

/// The manifest's name in a stack's folder.
pub const MANIFEST: &str = "stack.toml";
/// The longest manifest.
const MOST_MANIFEST_BYTES: u64 = 1 << 20;
/// Where the files of a build are in the guest.
pub const MOUNTED: &str = "/stack";
/// Length of the NVDIMM that carries a stack's own files. QEMU wants these lengths to be multiples of 128 MiB.
pub const STACK_BYTES: u64 = 512 << 20;
/// What a build leaves, in its folder of the cache.
const FILES: &str = "stack.erofs";
/// UUID of the file systems of stacks, which may be any constant.
const UUID: &str = "7175696c-6162-4000-8000-000000000002";

/// A stack, and where it is.
#[derive(Clone, Debug)]
pub struct Source {
    /// What it says of itself.
    pub manifest: StackManifest,
    /// Its folder.
    pub folder: PathBuf,
    /// Options of its build that are not the usual ones, by name.
    pub options: BTreeMap<String, String>,
}

impl Source {
    /// This stack with every other combination of its build's options.
    pub fn variants(&self) -> Vec<Source> {
        let variants = self.manifest.variants().into_iter();
        variants.map(|(options, manifest)| Source { manifest, folder: self.folder.clone(), options }).collect()
    }
}

/// The stacks in a folder, by name.
///
/// # Errors
/// Where the folder or a manifest cannot be read, or a manifest names another stack than its folder.
pub fn sources(folder: &Path) -> Result<BTreeMap<String, Source>> {
    let mut sources = BTreeMap::new();
    let entries = fs::read_dir(folder)
        .with_context(|| format!("{}: no folder with stacks\nhint: name one with --stacks DIR", folder.display()))?;
    for entry in entries {
        let folder = entry?.path();
        if !folder.join(MANIFEST).is_file() {
            continue;
        }
        let source = source(&folder)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if source.manifest.name != name {
            let path = folder.join(MANIFEST);
            bail!(
                "{}: name: found {:?}, expected {name:?}, the name of its folder",
                path.display(),
                source.manifest.name
            );
        }
        sources.insert(name, source);
    }
    Ok(sources)
}

/// The stack in a folder.
///
/// # Errors
/// Where its manifest cannot be read.
pub fn source(folder: &Path) -> Result<Source> {
    let path = folder.join(MANIFEST);
    // A link would show a line of another file where that is no manifest.
    let text = read_unlinked_text(&path, MOST_MANIFEST_BYTES).with_context(|| path.display().to_string())?;
    let manifest = StackManifest::parse(&path.display().to_string(), &text)?;
    Ok(Source { manifest, folder: folder.to_path_buf(), options: BTreeMap::new() })
}

/// A built stack in the cache.
#[derive(Clone, Debug)]
pub struct BuiltStack {
    folder: PathBuf,
    /// The root file system it is started in.
    pub image: Image,
    /// Whether it was built just now.
    pub made: Made,
}

impl BuiltStack {
    /// The build of a stack, if the cache has one of exactly this source.
    ///
    /// # Errors
    /// Where the source cannot be read.
    pub fn find(cache: &Cache, source: &Source) -> Result<Option<Self>> {
        let folder = cache.path(&name(source)?);
        let image = own_image(source).or_else(|| Image::find(cache, &packages(source)));
        let made = Made::before(&folder);
        Ok(image.filter(|_| folder.is_dir()).map(|image| Self { folder, image, made }))
    }

    /// Builds a stack, unless the cache has it; where `again`, even then. The build's output goes to a file that is named where
    /// it fails.
    ///
    /// # Errors
    /// A missing toolchain or package, named with how to get it, an input that is not there, or a failed build.
    pub fn prepare(cache: &Cache, source: &Source, again: bool, stop: &AtomicBool) -> Result<Self> {
        let (folder, made) = built(cache, source, again, stop)?;
        let image = match own_image(source) {
            Some(image) => image,
            None => Image::prepare(cache, &packages(source), stop)?,
        };
        Ok(Self { folder, image, made })
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file system with the stack's files, for `/stack` in the guest.
    pub fn file(&self) -> PathBuf {
        self.folder.join(FILES)
    }

    /// SHA-256 of the file system.
    ///
    /// # Errors
    /// Where the cache was tampered with.
    pub fn digest(&self) -> Result<String> {
        let path = self.folder.join("sha256");
        fs::read_to_string(&path).with_context(|| path.display().to_string())
    }
}

/// The file system with a stack's files, built unless the cache has it; where `again`, even then. No root file system is made for it.
///
/// # Errors
/// As [`BuiltStack::prepare`].
pub fn prepare_files(cache: &Cache, source: &Source, again: bool, stop: &AtomicBool) -> Result<PathBuf> {
    let (folder, _) = built(cache, source, again, stop)?;
    Ok(folder.join(FILES))
}

/// True where the cache has a stack's files of exactly this source.
///
/// # Errors
/// Where the source cannot be read.
pub fn has_files(cache: &Cache, source: &Source) -> Result<bool> {
    Ok(cache.path(&name(source)?).is_dir())
}

/// The folder of a stack's build.
fn built(cache: &Cache, source: &Source, again: bool, stop: &AtomicBool) -> Result<(PathBuf, Made)> {
    let objects = cache.path(&format!("build/{}", plain_name(source)));
    make(cache, &name(source)?, source, again, |folder| {
        check_tools(&source.manifest)?;
        build(source, &objects, folder, stop)
    })
}

/// The Debian packages of the root file system that a stack is started in.
pub fn packages(source: &Source) -> BTreeSet<String> {
    source.manifest.guest.packages.iter().cloned().collect()
}

/// The root file system that an imported stack brings along.
pub(crate) fn own_image(source: &Source) -> Option<Image> {
    source.folder.join(ROOT_FILE).is_file().then(|| Image::imported(source.folder.clone()))
}

/// Name in the cache.
fn name(source: &Source) -> Result<String> {
    name_below("stack", source)
}

/// Name of the folder, and the options that are not the usual ones. Without `=`: not every build system gets along with it in paths.
pub fn plain_name(source: &Source) -> String {
    let stack = source.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let options = source.options.iter().map(|(name, value)| format!("-{name}-{value}"));
    options.fold(stack, |name, option| name + &option)
}

/// Looks for what a build needs on this machine.
///
/// # Errors
/// What is missing, with how to get it.
pub fn check_tools(manifest: &StackManifest) -> Result<()> {
    for tool in &manifest.build.host_tools {
        let found = Command::new("sh").args(["-c", "command -v \"$0\" > /dev/null", tool]).status()?.success();
        if !found {
            bail!(
                "building {}: {tool} is not on the PATH\nhint: README.md, \"Requirements\", says how to get it",
                manifest.name
            );
        }
    }
    let missing: Vec<_> =
        manifest.build.host_packages.iter().filter(|package| !is_installed(package)).cloned().collect();
    if !missing.is_empty() {
        bail!("building {}: packages are missing\nhint: apt-get install {}", manifest.name, missing.join(" "));
    }
    Ok(())
}

/// True where dpkg knows the package as installed.
pub fn is_installed(package: &str) -> bool {
    let query = Command::new("dpkg-query").args(["--show", "--showformat", "${db:Status-Status}", package]).output();
    query.is_ok_and(|output| output.stdout == b"installed")
}

/// Settings by which no path of this machine decides what compilers write: the same source gives the same endpoint, and so the
/// same packets, wherever it is built.
fn path_independence(source: &Path, objects: &Path, flags: &[&str]) -> Vec<(&'static str, String)> {
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    let mut folders = vec![(objects.to_path_buf(), "/objects"), (source.to_path_buf(), "/stack")];
    folders.extend(cargo_home.map(|folder| (folder, "/cargo")));
    // A tool passes the name that it was told, or asks the system, whose name has no links.
    let names = |(folder, to): (PathBuf, &'static str)| {
        let told = std::path::absolute(&folder).unwrap_or_else(|_| folder.clone());
        let names = BTreeSet::from([fs::canonicalize(&folder).unwrap_or_else(|_| told.clone()), told]);
        names.into_iter().map(move |from| format!("{}={to}", from.display()))
    };
    let folders: Vec<String> = folders.into_iter().flat_map(names).collect();
    let map = |option: &str| folders.iter().map(|folder| format!("{option}={folder}")).collect::<Vec<_>>();
    let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
    let rust = [vec!["-Ctarget-feature=+crt-static".to_owned()], flags, map("--remap-path-prefix")].concat();
    let c = map("-ffile-prefix-map").join(" ");
    vec![
        // Named, so that the flags do not reach build scripts and procedural macros.
        ("CARGO_BUILD_TARGET", "x86_64-unknown-linux-gnu".to_owned()),
        ("CARGO_ENCODED_RUSTFLAGS", rust.join("\u{1f}")),
        // Of the workspace around the stack, if there is one. Cargo derives the names of symbols from its path, and the compiler
        // the order of functions from their names.
        ("RUSTC_WORKSPACE_WRAPPER", String::new()),
        ("CFLAGS", c.clone()),
        ("CXXFLAGS", c),
    ]
}

/// Runs a stack's own build command, which leaves its files in `out`.
///
/// # Errors
/// A failed build, with the end of what it said.
pub fn compile(source: &Source, objects: &Path, out: &Path, rust_flags: &[&str], stop: &AtomicBool) -> Result<()> {
    let log = objects.with_extension("log");
    let Source { manifest, folder: source, options } = source;
    let option =
        |name: &String, values: &Vec<String>| options.get(name).or_else(|| values.first()).cloned().unwrap_or_default();
    let options = manifest.build.options.iter().map(|(name, values)| {
        (format!("QUICLAB_OPTION_{}", name.to_uppercase().replace('-', "_")), option(name, values))
    });
    fs::create_dir_all(out)?;
    let _claim = objects::claim(objects, source, stop)?;
    let file = fs::File::create(&log).with_context(|| log.display().to_string())?;
    let mut build = Command::new("sh");
    build
        .args(["-e", "-c", &manifest.build.command])
        .current_dir(source)
        .env("QUICLAB_STACK_OUT", out)
        .env("CARGO_TARGET_DIR", objects)
        // The workspace's own flags are not the stack's.
        .env_remove("RUSTFLAGS")
        .envs(path_independence(source, objects, rust_flags))
        .envs(options)
        .stdout(file.try_clone()?)
        .stderr(file);
    command::give_way(&mut build);
    let status = command::supervise(&mut build, "dash", stop)?;
    if !status.success() {
        let said = fs::read_to_string(&log).unwrap_or_default();
        bail!(
            "building {} failed with {status}:\n{}\nhint: the full output is in {}; the command was: {}",
            manifest.name,
            command::tail(&said),
            log.display(),
            manifest.build.command
        );
    }
    check_output(manifest, source, out, &log)
}

/// A build that ended well may have left its files elsewhere, which would only be noticed when the endpoint is started.
fn check_output(manifest: &StackManifest, source: &Path, out: &Path, log: &Path) -> Result<()> {
    let entries = fs::read_dir(out).with_context(|| out.display().to_string())?;
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    // An imported stack is its root file system, and builds nothing.
    if names.is_empty() && !source.join(ROOT_FILE).is_file() {
        bail!(
            "building {}: the command succeeded but left no file in $QUICLAB_STACK_OUT, expected the endpoint there\n\
             hint: install it with: install -m 755 PROGRAM \"$QUICLAB_STACK_OUT/\"; the command was: {}; its output is in {}",
            manifest.name,
            manifest.build.command,
            log.display()
        );
    }
    let missing = manifest.guest.command.iter().find(|word| {
        Path::new(word).strip_prefix(MOUNTED).is_ok_and(|file| fs::symlink_metadata(out.join(file)).is_err())
    });
    if let Some(word) = missing {
        bail!(
            "building {}: guest.command needs {word}, but the build left only {} in $QUICLAB_STACK_OUT, which is \
             {MOUNTED} in the guest\nhint: the output of the build is in {}",
            manifest.name,
            names.join(", "),
            log.display()
        );
    }
    Ok(())
}

fn build(source: &Source, objects: &Path, folder: &Path, stop: &AtomicBool) -> Result<()> {
    let out = folder.join("files");
    compile(source, objects, &out, &[], stop)?;
    let image = folder.join(FILES);
    let hash = erofs::make(&image, &out, UUID)?;
    let length = fs::metadata(&image)?.len();
    if length > STACK_BYTES {
        bail!("{}: its files take {length} bytes, expected at most {STACK_BYTES}", source.manifest.name);
    }
    fs::write(folder.join("sha256"), hash)?;
    fs::File::options().write(true).open(&image)?.set_len(STACK_BYTES)?;
    fs::remove_dir_all(&out)?;
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
