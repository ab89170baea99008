//! Kernels that are built here, of Debian's source, our patches and our configuration: [`PACED`] and [`UML`].
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

use crate::{cache::Cache, command, hash, kernel::Kernel, process::Interrupted, stack::is_installed};

mod origin;

use origin::Origin;

/// Version of how they are built.
const RECIPE: &[u8] = b"1";
/// Name of the file with what differs from `allnoconfig`, in the folder of a kernel's sources.
const CONFIG: &str = "config";
/// What it was built from, in its folder in the cache.
const IDENTITY: &str = "identity";
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

/// A kernel that can be built, and in what it differs from the others.
#[derive(Debug)]
pub struct Buildable {
    /// Name of the kernel, by which experiments and commands call it.
    pub name: &'static str,
    /// The command that builds it.
    pub command: &'static str,
    /// Name of the folder with its patches and its configuration, in `kernel/`.
    pub folder: &'static str,
    /// Its patches, in the order in which they apply.
    patches: &'static [&'static str],
    /// Where its source comes from.
    origin: Origin,
    /// Arguments of every `make`.
    make: &'static [&'static str],
    /// What is made, and where it is in the tree then.
    target: [&'static str; 2],
    /// What its version says of it behind that of the source.
    mark: &'static str,
    /// Minutes that building took on two cores with little other work, rounded up.
    minutes_on_two_cores: usize,
}

/// The kernel [`PATCHED_KERNEL`], with paced segmentation offload, for guests of QEMU.
pub static PACED: Buildable = Buildable {
    name: PATCHED_KERNEL,
    command: "quiclab tools kernel build",
    folder: "patch",
    patches: &["udp-segment-pacing-rate.patch"],
    origin: Origin::Stock { kernel: "6.1", package: "linux-source-6.1" },
    make: &[],
    target: ["bzImage", "arch/x86/boot/bzImage"],
    mark: "paced",
    minutes_on_two_cores: 8,
};

/// User-Mode Linux in virtual time: a kernel that is a program.
pub static UML: Buildable = Buildable {
    name: "uml",
    command: "quiclab tools kernel build uml",
    folder: "uml",
    patches: &[
        "random.patch",
        "block-device.patch",
        "clock.patch",
        "processor.patch",
        "page-table.patch",
        "charge.patch",
    ],
    origin: Origin::Sid { series: "7." },
    make: &["ARCH=um"],
    target: ["linux", "linux"],
    mark: "uml",
    minutes_on_two_cores: 5,
};

/// Every kernel that can be built; the first one where none is named.
pub static BUILDABLE: [&Buildable; 2] = [&PACED, &UML];

impl Buildable {
    /// Minutes that building takes at most, on this machine without other load.
    pub fn minutes(&self) -> usize {
        (2 * self.minutes_on_two_cores).div_ceil(cores())
    }

    /// Name of the file in the cache with all that a failed step said.
    fn log(&self) -> String {
        format!("build/kernel-{}.log", self.name)
    }
}

/// What a kernel is made of beside Debian's source.
#[derive(Clone, Debug)]
pub struct Recipe {
    kernel: &'static Buildable,
    folder: PathBuf,
    patches: Vec<Vec<u8>>,
    config: String,
}

impl Recipe {
    /// Reads what `kernel` is made of; `kernels` is the folder kernel of this repository.
    ///
    /// # Errors
    /// Where a patch or the configuration cannot be read.
    pub fn read(kernel: &'static Buildable, kernels: &Path) -> Result<Self> {
        let folder = kernels.join(kernel.folder);
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read(&path).with_context(|| {
                format!(
                    "{}: the sources of kernel {} are missing\nhint: use the stacks folder of a clone of quiclab",
                    path.display(),
                    kernel.name
                )
            })
        };
        let config = String::from_utf8(read(CONFIG)?).with_context(|| folder.join(CONFIG).display().to_string())?;
        let patches = kernel.patches.iter().map(|name| read(name)).collect::<Result<_>>()?;
        Ok(Self { kernel, folder, patches, config })
    }

    /// The kernel that was built of these patches and this configuration, whatever the version of the source and of the compiler.
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
                "kernel: {:?} with its patches and configuration is not in the cache\n\
                 hint: {}; it takes up to {} minutes on this machine",
                self.kernel.name,
                self.kernel.command,
                self.kernel.minutes()
            )
        })
    }

    /// Builds the kernel unless it has been built so, and says whether it did. `again` builds it in any case. `say` is told what is done.
    ///
    /// # Errors
    /// Missing programs or packages with how to get them, a source that cannot be had or patched, a build that fails, or an interruption,
    /// after which nothing is left.
    pub fn build(&self, cache: &Cache, again: bool, stop: &AtomicBool, say: &dyn Fn(&str)) -> Result<(Kernel, bool)> {
        let kernel = self.kernel;
        let missing = missing_packages();
        if !missing.is_empty() {
            bail!("building kernel {}: packages are missing\nhint: apt-get install {}", kernel.name, missing.join(" "));
        }
        let wanted = kernel.origin.wanted(cache, say)?;
        let tools = format!("{}\n{}\n", command::version("gcc", "gcc")?, command::version("ld", "binutils")?);
        let is_current = |folder: &Path| {
            let identity = fs::read_to_string(folder.join(IDENTITY)).unwrap_or_default();
            let Some((source, with)) = identity.split_once('\n') else { return false };
            !again && with == tools && wanted.as_ref().is_none_or(|wanted| *wanted == source)
        };
        let made = cache.replace(&self.cached(), is_current, |folder| {
            // Beside the cache's things and not in /tmp, which may be small: unpacked and built it takes some 2 GB.
            let work = cache.scratch("")?;
            let build = Build { recipe: self, work: work.path(), log: cache.path(&kernel.log()), stop, say };
            let source = build.perform(wanted.as_deref(), folder)?;
            let identity = format!("{}\n{tools}", wanted.as_deref().unwrap_or(&source));
            fs::write(folder.join(IDENTITY), identity).context(IDENTITY)?;
            let image = hash::of_file(&folder.join("vmlinuz")).context("vmlinuz")?;
            fs::write(folder.join("version"), format!("{source}, {} {}", kernel.mark, &image[..16])).context("version")
        })?;
        Ok((Kernel::at(cache.path(&self.cached())), made))
    }

    /// Name in the cache.
    fn cached(&self) -> String {
        let hasher = self.patches.iter().fold(hash::Hasher::default().part(RECIPE), |hasher, patch| hasher.part(patch));
        format!("kernel/{}-{}", self.kernel.name, hasher.part(self.config.as_bytes()).short())
    }
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
    /// Leaves image, configuration and an empty list of modules in `folder`. Returns name and version of the source.
    fn perform(&self, wanted: Option<&str>, folder: &Path) -> Result<String> {
        let Recipe { kernel, .. } = self.recipe;
        let (archive, source) = self.download(&kernel.origin, wanted)?;
        let package = source.split(' ').next().unwrap_or_default();
        (self.say)("unpacking the source");
        let unpacked = self.work.join("package");
        self.run(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(&unpacked), "dpkg")?;
        fs::remove_file(&archive).with_context(|| archive.display().to_string())?;
        let tar = unpacked.join(format!("usr/src/{package}.tar.xz"));
        self.run(Command::new("tar").arg("-xf").arg(&tar).arg("-C").arg(self.work), "tar xz-utils")?;
        let tree = self.work.join(package);
        (self.say)("patching and configuring");
        for name in kernel.patches {
            let patch = fs::canonicalize(self.recipe.folder.join(name))?;
            self.run(Command::new("patch").args(["--strip=1", "--input"]).arg(patch).current_dir(&tree), "patch")
                .with_context(|| format!("{name} does not apply to {source}"))?;
        }
        let wanted = self.work.join(CONFIG);
        fs::write(&wanted, &self.recipe.config)?;
        self.run(
            self.make(&tree).arg(format!("KCONFIG_ALLCONFIG={}", wanted.display())).arg("allnoconfig"),
            "make gcc flex bison",
        )?;
        let resolved = fs::read_to_string(tree.join(".config")).context(".config")?;
        let lost = lost(&self.recipe.config, &resolved);
        if !lost.is_empty() {
            bail!(
                "{}: found options that {source} does not accept: {}\nhint: an option that they depend on is missing",
                self.recipe.folder.join(CONFIG).display(),
                lost.join(", ")
            );
        }
        (self.say)(&format!("building; up to {} minutes on this machine, more if it is busy", kernel.minutes()));
        let [target, image] = kernel.target;
        self.run(self.make(&tree).arg(format!("-j{}", cores())).arg(target), "make gcc binutils bc libelf-dev")?;
        fs::copy(tree.join(image), folder.join("vmlinuz")).context(image)?;
        fs::write(folder.join(CONFIG), resolved).context(CONFIG)?;
        fs::write(folder.join("modules.list"), "").context("modules.list")?;
        Ok(source)
    }

    fn make(&self, tree: &Path) -> Command {
        let mut make = undisturbed("make");
        make.arg("-C").arg(tree).args(self.recipe.kernel.make);
        make
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
                "building kernel {}: {} failed with {status}:\n{}\nhint: the full output is in {}",
                self.recipe.kernel.name,
                step.get_program().to_string_lossy(),
                command::tail(&said),
                self.log.display()
            );
        }
        Ok(())
    }
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

    fn recipe_of(kernel: &'static Buildable) -> Recipe {
        Recipe::read(kernel, &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel")).unwrap()
    }

    fn recipe() -> Recipe {
        recipe_of(&PACED)
    }

    #[test]
    fn what_is_not_built_is_told_with_the_command_that_builds_it() {
        let folder = tempfile::tempdir().unwrap();
        for (kernel, name, hint) in
            [(&PACED, "\"6.1-paced\"", "hint: quiclab tools kernel build;"), (&UML, "\"uml\"", "kernel build uml;")]
        {
            let recipe = recipe_of(kernel);
            let error = recipe.built(&Cache::at(folder.path().to_path_buf())).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(hint), "{error}");
        }
    }

    #[test]
    fn another_patch_or_configuration_is_another_kernel() {
        let recipe = recipe();
        let mut patched = recipe.clone();
        patched.patches[0].push(b'\n');
        let mut configured = recipe.clone();
        configured.config.push('\n');
        let names = [recipe, patched, configured].map(|recipe| recipe.cached());
        assert!(names[0] != names[1] && names[0] != names[2] && names[1] != names[2], "{names:?}");
    }

    #[test]
    fn every_patch_of_a_kernel_s_folder_is_applied() {
        for kernel in BUILDABLE {
            let folder = recipe_of(kernel).folder;
            let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut patches = names.filter(|name| name.ends_with(".patch")).collect::<Vec<_>>();
            let mut applied = kernel.patches.to_vec();
            patches.sort();
            applied.sort_unstable();
            assert_eq!(patches, applied, "{}", folder.display());
        }
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
