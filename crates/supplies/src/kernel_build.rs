//! The kernel [`PATCHED_KERNEL`]: Debian's source with the patch of paced segmentation offload, in a configuration for guests.
//!
//! Building takes minutes, so it is done only where it is asked for. The same source, patch, configuration and compiler give the same
//! image, byte for byte, in any folder and on any machine.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::PATCHED_KERNEL;

use crate::{
    cache::Cache,
    command, hash,
    kernel::{Kernel, PackageLists, find_one},
    process::Interrupted,
    stack::is_installed,
};

/// The command that makes it.
pub const COMMAND: &str = "quiclab tools kernel build";
/// Debian's kernel that it is made beside: its source has the same version.
const STOCK: &str = "6.1";
/// The Debian package with the source, and the archive in it.
const SOURCE: &str = "linux-source-6.1";
/// Version of how it is built.
const RECIPE: &[u8] = b"1";
/// Name of the patch in the folder of its sources.
const PATCH: &str = "udp-segment-pacing-rate.patch";
/// Name of the file with what differs from `allnoconfig`, in the folder of its sources.
const CONFIG: &str = "config";
/// Name of the file in the cache with all that a failed step said.
const LOG: &str = "build/kernel-6.1-paced.log";
/// What it was built from, in its folder in the cache.
const IDENTITY: &str = "identity";
/// Minutes that building took on two cores with little other work, rounded up.
const MINUTES_ON_TWO_CORES: usize = 8;
/// Programs that building needs, with the Debian packages that have them.
const PROGRAMS: &[(&str, &str)] = &[
    ("make", "make"),
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("patch", "patch"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
    ("dpkg-deb", "dpkg"),
    ("apt-get", "apt"),
];
/// Packages without a program: objtool reads objects with the first.
const LIBRARIES: &[&str] = &["libelf-dev", "libc6-dev"];
/// The kernel writes of itself when, by whom and where it was built.
const BUILT: &[(&str, &str)] = &[
    ("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 2026"),
    ("KBUILD_BUILD_USER", "quiclab"),
    ("KBUILD_BUILD_HOST", "quiclab"),
    ("KBUILD_BUILD_VERSION", "1"),
    ("KCONFIG_NOTIMESTAMP", "1"),
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
];

/// What the kernel is made of beside Debian's source.
#[derive(Clone, Debug)]
pub struct Recipe {
    folder: PathBuf,
    patch: Vec<u8>,
    config: String,
}

impl Recipe {
    /// Reads it; `folder` is kernel/patch of this repository.
    ///
    /// # Errors
    /// Where patch or configuration cannot be read.
    pub fn read(folder: &Path) -> Result<Self> {
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read(&path).with_context(|| {
                format!(
                    "{}: the sources of kernel {PATCHED_KERNEL} are missing\nhint: use the stacks folder of a clone \
                     of quiclab",
                    path.display()
                )
            })
        };
        let config = String::from_utf8(read(CONFIG)?).with_context(|| folder.join(CONFIG).display().to_string())?;
        Ok(Self { folder: folder.to_path_buf(), patch: read(PATCH)?, config })
    }

    /// The kernel that was built of this patch and configuration, whatever the version of the source and of the compiler.
    pub fn find(&self, cache: &Cache) -> Option<Kernel> {
        let folder = cache.path(&self.cached());
        folder.is_dir().then(|| Kernel::at(folder))
    }

    /// The kernel that [`Recipe::find`] finds.
    ///
    /// # Errors
    /// Where it is not in the cache: with the command that builds it.
    pub fn built(&self, cache: &Cache) -> Result<Kernel> {
        cache.use_held(&self.cached())?;
        self.find(cache).with_context(|| {
            format!(
                "kernel: {PATCHED_KERNEL:?} with this patch and configuration is not in the cache\n\
                 hint: {COMMAND}; it takes up to {} minutes on this machine",
                minutes()
            )
        })
    }

    /// Builds the kernel from the source of the stock kernel's version, unless it has been built so, and says whether it did. `again`
    /// builds it in any case. `say` is told what is done.
    ///
    /// # Errors
    /// Missing programs or packages with how to get them, a source that cannot be had or patched, a build that fails, or an interruption,
    /// after which nothing is left.
    pub fn build(&self, cache: &Cache, again: bool, stop: &AtomicBool, say: &dyn Fn(&str)) -> Result<(Kernel, bool)> {
        let missing = missing_packages();
        if !missing.is_empty() {
            bail!(
                "building kernel {PATCHED_KERNEL}: packages are missing\nhint: apt-get install {}",
                missing.join(" ")
            );
        }
        if Kernel::find(cache, STOCK).is_none() {
            say(&format!("fetching kernel {STOCK}, to use its version"));
        }
        let stock = Kernel::prepare(cache, STOCK)?.version()?;
        let version = stock.split_once(' ').context("the kernel's version has no package name")?.1.to_owned();
        let [compiler, linker] = [command::version("gcc", "gcc")?, command::version("ld", "binutils")?];
        let identity = format!("{SOURCE} {version}\n{compiler}\n{linker}\n");
        let is_current =
            |folder: &Path| !again && fs::read_to_string(folder.join(IDENTITY)).is_ok_and(|text| text == identity);
        let made = cache.replace(&self.cached(), is_current, |folder| {
            // Beside the cache's things and not in /tmp, which may be small: unpacked and built it takes some 2 GB.
            let work = cache.scratch("")?;
            let build = Build { recipe: self, work: work.path(), log: cache.path(LOG), stop, say };
            let found = build.perform(&version, folder)?;
            fs::write(folder.join(IDENTITY), &identity).context(IDENTITY)?;
            let image = hash::of_file(&folder.join("vmlinuz")).context("vmlinuz")?;
            fs::write(folder.join("version"), format!("{SOURCE} {found}, paced {}", &image[..16])).context("version")
        })?;
        Ok((Kernel::at(cache.path(&self.cached())), made))
    }

    /// Name in the cache.
    fn cached(&self) -> String {
        let hasher = hash::Hasher::default().part(RECIPE).part(&self.patch).part(self.config.as_bytes());
        format!("kernel/{PATCHED_KERNEL}-{}", hasher.short())
    }
}

/// Minutes that building takes at most, on this machine without other load.
pub fn minutes() -> usize {
    (2 * MINUTES_ON_TWO_CORES).div_ceil(cores())
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Debian packages that building needs and that are not installed.
pub fn missing_packages() -> Vec<&'static str> {
    let has = |program: &str| {
        let query = Command::new("sh").args(["-c", "command -v \"$0\" > /dev/null", program]).status();
        query.is_ok_and(|status| status.success())
    };
    let programs = PROGRAMS.iter().filter(|(program, _)| !has(program)).map(|(_, package)| *package);
    let libraries = LIBRARIES.iter().filter(|package| !is_installed(package)).copied();
    programs.chain(libraries).collect()
}

/// One build, in a folder of its own.
struct Build<'a> {
    recipe: &'a Recipe,
    work: &'a Path,
    /// Where the output of a step that failed is kept.
    log: PathBuf,
    stop: &'a AtomicBool,
    say: &'a dyn Fn(&str),
}

impl Build<'_> {
    /// Leaves image, configuration and an empty list of modules in `folder`. Returns the version of the source.
    fn perform(&self, version: &str, folder: &Path) -> Result<String> {
        let (archive, version) = self.download(version)?;
        (self.say)("unpacking the source");
        let unpacked = self.work.join("package");
        self.run(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(&unpacked), "dpkg")?;
        fs::remove_file(&archive).with_context(|| archive.display().to_string())?;
        let tar = unpacked.join(format!("usr/src/{SOURCE}.tar.xz"));
        self.run(Command::new("tar").arg("-xf").arg(&tar).arg("-C").arg(self.work), "tar xz-utils")?;
        let tree = self.work.join(SOURCE);
        (self.say)("patching and configuring");
        let patch = fs::canonicalize(self.recipe.folder.join(PATCH))?;
        self.run(Command::new("patch").args(["--strip=1", "--input"]).arg(patch).current_dir(&tree), "patch")
            .with_context(|| format!("{PATCH} does not apply to {SOURCE} {version}"))?;
        let wanted = self.work.join(CONFIG);
        fs::write(&wanted, &self.recipe.config)?;
        self.run(
            make(&tree).arg(format!("KCONFIG_ALLCONFIG={}", wanted.display())).arg("allnoconfig"),
            "make gcc flex bison",
        )?;
        let resolved = fs::read_to_string(tree.join(".config")).context(".config")?;
        let lost = lost(&self.recipe.config, &resolved);
        if !lost.is_empty() {
            bail!(
                "{}: found options that {SOURCE} {version} does not accept: {}\nhint: an option that they depend on \
                 is missing",
                self.recipe.folder.join(CONFIG).display(),
                lost.join(", ")
            );
        }
        (self.say)(&format!("building; up to {} minutes on this machine, more if it is busy", minutes()));
        self.run(make(&tree).arg(format!("-j{}", cores())).arg("bzImage"), "make gcc binutils bc libelf-dev")?;
        fs::copy(tree.join("arch/x86/boot/bzImage"), folder.join("vmlinuz")).context("bzImage")?;
        fs::write(folder.join(CONFIG), resolved).context(CONFIG)?;
        fs::write(folder.join("modules.list"), "").context("modules.list")?;
        Ok(version)
    }

    /// Downloads the source of this version, or else of the newest that the archives have. Returns the package and its version.
    fn download(&self, version: &str) -> Result<(PathBuf, String)> {
        (self.say)(&format!("downloading {SOURCE} {version} (140 MB)"));
        let lists = PackageLists::fetch(self.work)?;
        let get = |what: &str| {
            self.run(lists.command("apt-get").args(["download", what]).current_dir(self.work), "apt")
                .with_context(|| format!("downloading {what}"))
        };
        if let Err(error) = get(&format!("{SOURCE}={version}")) {
            if error.downcast_ref() == Some(&Interrupted::ByRequest) {
                return Err(error);
            }
            (self.say)(&format!("the package archives have no {SOURCE} {version}; using the newest version"));
            get(SOURCE)?;
        }
        let archive = find_one(self.work, |name| name.ends_with(".deb"))?;
        let found = command::run("dpkg-deb", &["-f".as_ref(), archive.as_os_str(), "Version".as_ref()], "dpkg")?;
        Ok((archive, found.trim().to_owned()))
    }

    /// Runs a step; what it says goes to the log, of which the end is shown where it fails.
    fn run(&self, step: &mut Command, package: &str) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Interrupted::ByRequest.into());
        }
        let path = self.work.join("log");
        let log = File::create(&path).with_context(|| path.display().to_string())?;
        let status = command::supervise(step.stdout(log.try_clone()?).stderr(log), package, self.stop)?;
        if !status.success() {
            let said = fs::read_to_string(&path).unwrap_or_default();
            fs::create_dir_all(self.log.parent().unwrap_or(self.work))?;
            fs::copy(&path, &self.log).with_context(|| self.log.display().to_string())?;
            bail!(
                "building kernel {PATCHED_KERNEL}: {} failed with {status}:\n{}\nhint: the full output is in {}",
                step.get_program().to_string_lossy(),
                command::tail(&said),
                self.log.display()
            );
        }
        Ok(())
    }
}

fn make(tree: &Path) -> Command {
    let mut make = undisturbed("make");
    make.arg("-C").arg(tree);
    make
}

/// A command with nothing of the caller's environment but where programs are: flags and job servers of other builds would change this one.
fn undisturbed(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(BUILT.iter().copied());
    for name in ["PATH", "HOME", "TMPDIR"] {
        command.envs(env::var_os(name).map(|value| (name, value)));
    }
    command
}

/// Lines of `wanted` that are not in `resolved`: kconfig leaves out what it cannot have, and says nothing. What is to be off may also not be
/// there.
fn lost<'a>(wanted: &'a str, resolved: &str) -> Vec<&'a str> {
    let is_there = |line: &str| resolved.lines().any(|found| found == line);
    let is_lost = |line: &&str| match line.strip_prefix("# ").and_then(|line| line.strip_suffix(" is not set")) {
        Some(name) => resolved.lines().any(|found| found.starts_with(&format!("{name}="))),
        None => line.starts_with("CONFIG_") && !is_there(line),
    };
    wanted.lines().filter(is_lost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// kernel/patch of this repository.
    fn recipe() -> Recipe {
        Recipe::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/patch")).unwrap()
    }

    #[test]
    fn what_is_not_built_is_told_with_the_command_that_builds_it() {
        let folder = tempfile::tempdir().unwrap();
        let error = recipe().built(&Cache::at(folder.path().to_path_buf())).unwrap_err().to_string();
        assert!(error.contains("\"6.1-paced\"") && error.contains("hint: quiclab tools kernel build"), "{error}");
    }

    #[test]
    fn another_patch_or_configuration_is_another_kernel() {
        let recipe = recipe();
        let mut patched = recipe.clone();
        patched.patch.push(b'\n');
        let mut configured = recipe.clone();
        configured.config.push('\n');
        let names = [recipe, patched, configured].map(|recipe| recipe.cached());
        assert!(names[0] != names[1] && names[0] != names[2] && names[1] != names[2], "{names:?}");
    }

    #[test]
    fn options_that_were_left_out_are_found() {
        let wanted = "# a comment\nCONFIG_A=y\nCONFIG_B=\"-x\"\n# CONFIG_C is not set\n# CONFIG_D is not set\n";
        assert!(lost(wanted, "CONFIG_A=y\nCONFIG_B=\"-x\"\n# CONFIG_C is not set\n").is_empty());
        let found = lost(wanted, "# CONFIG_A is not set\nCONFIG_B=\"\"\nCONFIG_C=y\nCONFIG_D_E=y\n");
        assert_eq!(found, ["CONFIG_A=y", "CONFIG_B=\"-x\"", "# CONFIG_C is not set"]);
    }

    #[test]
    fn what_others_set_in_the_environment_does_not_reach_the_build() {
        let text = command::output(&mut undisturbed("env"), "coreutils").unwrap();
        assert!(text.contains("KBUILD_BUILD_USER=quiclab") && text.contains("PATH="), "{text}");
        // Cargo has set some for this test.
        assert!(env::var_os("CARGO_MANIFEST_DIR").is_some() && !text.contains("CARGO_"), "{text}");
    }
}
