//! A Debian kernel, taken out of its package without installing it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, anyhow, bail};
use quiclab_experiment::PATCHED_KERNEL;
use tempfile::TempDir;

use crate::{cache::Cache, command, hash::Hasher, kernel_build};

/// Kernels a run may ask for, and the Debian package by which each is found on a Debian 12 machine.
const PACKAGES: &[(&str, &str)] =
    &[("6.1", "linux-image-cloud-amd64"), ("6.1-rt", "linux-image-rt-amd64"), ("6.12", "linux-image-6.12-cloud-amd64")];

/// What the guest needs beyond what is built in; dependencies come with them.
const MODULES: &[&str] = &[
    "nfit",
    "nd_btt",
    "nd_pmem",
    "erofs",
    "overlay",
    "veth",
    "sch_ingress",
    "cls_matchall",
    "cls_bpf",
    "act_mirred",
    "sch_tbf",
    "sch_netem",
    "sch_fq",
    "sch_etf",
    "tcp_bbr",
];

/// What other modules ask for by the name of an algorithm, which `modules.dep` does not say; loaded first where the kernel
/// has it as a module.
const ALGORITHMS: &[&str] = &["crc32c_generic"];

/// A kernel in the cache.
#[derive(Clone, Debug)]
pub struct Kernel {
    folder: PathBuf,
}

impl Kernel {
    /// The kernel `name` from the cache, if it has been prepared.
    pub fn find(cache: &Cache, name: &str) -> Option<Self> {
        let folder = cache.path(&cached(name));
        folder.is_dir().then_some(Self { folder })
    }

    /// Gets the kernel `name` from the package archive, unless the cache has it.
    ///
    /// # Errors
    /// An unknown name, that of a kernel which is not packaged, a missing program, or a package that cannot be had.
    pub fn prepare(cache: &Cache, name: &str) -> Result<Self> {
        if name == PATCHED_KERNEL {
            bail!("kernel: found {name:?}, which is in no package\nhint: {}", kernel_build::PACED.command);
        }
        let Some((_, package)) = PACKAGES.iter().find(|(known, _)| *known == name) else {
            bail!("kernel: found {name:?}, expected one of {}", names().join(", "));
        };
        let folder = cache.folder(&cached(name), |folder| extract(package, folder))?;
        Ok(Self { folder })
    }

    /// The kernel in a folder.
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Copies all its files.
    pub(crate) fn copy_to(&self, folder: &Path) -> Result<()> {
        let names = self
            .modules()?
            .into_iter()
            .chain(["vmlinuz", "version", "modules.list"].map(|name| self.folder.join(name)));
        for path in names {
            let name = path.file_name().context("a file without a name")?;
            fs::copy(&path, folder.join(name)).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }

    /// Notes one more module in a copy, to be loaded last; `identity` becomes part of its version.
    pub(crate) fn add_module(&self, folder: &Path, file: &str, identity: &str) -> Result<()> {
        let append = |name: &str, text: String| {
            let path = folder.join(name);
            let before = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            fs::write(&path, before + &text).with_context(|| path.display().to_string())
        };
        append("modules.list", format!("{file}\n"))?;
        append("version", format!(", {identity}"))
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The image that QEMU starts.
    pub fn image(&self) -> PathBuf {
        self.folder.join("vmlinuz")
    }

    /// Package name and version, as Debian has it.
    ///
    /// # Errors
    /// Where the cache was tampered with.
    pub fn version(&self) -> Result<String> {
        let path = self.folder.join("version");
        Ok(fs::read_to_string(&path).with_context(|| path.display().to_string())?.trim().to_owned())
    }

    /// Identity of what was taken out of the package.
    pub fn parts() -> String {
        let hasher = ALGORITHMS.iter().fold(Hasher::default(), |hasher, name| hasher.part(name.as_bytes()));
        MODULES.iter().fold(hasher.part(b""), |hasher, name| hasher.part(name.as_bytes())).short()
    }

    /// The modules in the order they have to be loaded.
    ///
    /// # Errors
    /// Where the cache was tampered with.
    pub fn modules(&self) -> Result<Vec<PathBuf>> {
        let path = self.folder.join("modules.list");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(text.lines().map(|line| self.folder.join(line)).collect())
    }
}

/// Names of the kernels a run may ask for.
pub fn names() -> Vec<&'static str> {
    PACKAGES.iter().map(|(name, _)| *name).chain([PATCHED_KERNEL]).collect()
}

/// Name in the cache: with other parts it is another thing.
fn cached(name: &str) -> String {
    format!("kernel/{name}-{}", Kernel::parts())
}

fn extract(package: &str, folder: &Path) -> Result<()> {
    // In the folder that is being made: what is left of it where this process is killed is removed with that.
    let unpacked = tempfile::tempdir_in(folder)?;
    let lists = PackageLists::fetch(folder)?;
    let concrete = lists.concrete_package(package)?;
    // The archive's own signatures vouch for the file: apt-get checks them.
    command::output(lists.command("apt-get").args(["download", &concrete]).current_dir(unpacked.path()), "apt")
        .with_context(|| format!("downloading {concrete}"))?;
    let archive = find_one(unpacked.path(), |name| name.ends_with(".deb"))?;
    let tree = unpacked.path().join("tree");
    command::run("dpkg-deb", &[Path::new("-x"), &archive, &tree], "dpkg")?;
    let version = command::run("dpkg-deb", &["-f".as_ref(), archive.as_os_str(), "Version".as_ref()], "dpkg")?;
    let image = find_one(&tree.join("boot"), |name| name.starts_with("vmlinuz-"))?;
    fs::copy(&image, folder.join("vmlinuz")).context("vmlinuz")?;
    let release = image.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix("vmlinuz-"));
    copy_modules(&tree, release.context("the package contains no kernel")?, folder)?;
    fs::write(folder.join("version"), format!("{concrete} {}", version.trim())).context("version")?;
    Ok(())
}

/// Keys of Debian's archive, of the package debian-archive-keyring.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// What the system's package archives hold now. Lists of our own: the system's may be old or empty, and only root may renew
/// them.
pub(crate) struct PackageLists {
    folder: TempDir,
    /// Whether they are those of a suite alone, whose source is in the folder, and not of the system's archives.
    of_suite: bool,
}

impl PackageLists {
    /// Lists in a temporary folder below `within`.
    pub(crate) fn fetch(within: &Path) -> Result<Self> {
        let lists = Self { folder: make_folder(within)?, of_suite: false };
        lists.update().context("asking the package archives of /etc/apt")?;
        Ok(lists)
    }

    /// Lists of another suite of Debian, from the same mirror.
    pub(crate) fn fetch_suite(within: &Path, suite: &str) -> Result<Self> {
        // apt tells the addresses of those lists only that it has.
        let system = Self::fetch(within)?;
        let targets = command::output(
            system.command("apt-get").args(["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]),
            "apt",
        )?;
        let mirror = mirror_in(&targets).context(
            "/etc/apt: found no archive whose address ends with /debian\nhint: this kernel's source is Debian's; add a mirror of it",
        )?;
        let lists = Self { of_suite: true, ..system };
        fs::create_dir(lists.folder.path().join("parts"))?;
        fs::write(
            lists.folder.path().join("suite.list"),
            format!("deb [signed-by={KEYRING}] {mirror} {suite} main\n"),
        )?;
        lists.update().with_context(|| format!("asking {mirror} for the suite {suite}"))?;
        Ok(lists)
    }

    fn update(&self) -> Result<()> {
        command::output(self.command("apt-get").args(["--quiet", "update"]), "apt").map(drop)
    }

    /// Names of packages that begin so.
    pub(crate) fn names_with(&self, beginning: &str) -> Result<Vec<String>> {
        let text = command::output(self.command("apt-cache").args(["pkgnames", beginning]), "apt")?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let folder = self.folder.path().display();
        if self.of_suite {
            command.args(["-o", &format!("Dir::Etc::SourceList={folder}/suite.list")]);
            command.args(["-o", &format!("Dir::Etc::SourceParts={folder}/parts")]);
        }
        for option in [
            format!("Dir::State::Lists={folder}/lists"),
            format!("Dir::Cache={folder}/cache"),
            // As root apt would become another user, who may not enter this folder.
            "APT::Sandbox::User=root".to_owned(),
            "Acquire::Retries=3".to_owned(),
        ] {
            command.args(["-o", &option]);
        }
        command
    }

    /// Follows a metapackage to the package of the kernel itself.
    fn concrete_package(&self, package: &str) -> Result<String> {
        let text = command::output(self.command("apt-cache").args(["depends", "--important", package]), "apt")
            .map_err(|error| {
                anyhow!(
                    "{package}: no package archive of /etc/apt has it, or none answers ({error:#})\n\
                     hint: apt-get update shows which of them answer"
                )
            })?;
        let mut depended = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
        Ok(depended.find(|name| name.starts_with("linux-image-")).unwrap_or(package).to_owned())
    }
}

/// A folder with those folders that apt expects.
fn make_folder(within: &Path) -> Result<TempDir> {
    let folder = tempfile::tempdir_in(within)?;
    for part in ["lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(folder.path().join(part))?;
    }
    Ok(folder)
}

/// The address of Debian's archive among those of the system; not that of its security updates.
fn mirror_in(targets: &str) -> Option<&str> {
    targets.lines().map(str::trim).find(|address| address.trim_end_matches('/').ends_with("/debian"))
}

fn copy_modules(tree: &Path, release: &str, folder: &Path) -> Result<()> {
    let modules = tree.join("lib/modules").join(release);
    command::run("depmod", &["-b".as_ref(), tree.as_os_str(), release.as_ref()], "kmod")?;
    let dependencies = fs::read_to_string(modules.join("modules.dep")).context("modules.dep")?;
    let builtin = fs::read_to_string(modules.join("modules.builtin")).context("modules.builtin")?;
    let is_module =
        |name: &&&str| dependencies.lines().any(|line| module_name(line.split(':').next().unwrap_or(line)) == **name);
    let wanted: Vec<_> = ALGORITHMS.iter().filter(is_module).chain(MODULES).copied().collect();
    let ordered = load_order(&dependencies, &builtin, &wanted)?;
    let mut list = String::new();
    for path in ordered {
        let source = modules.join(&path);
        let name = source.file_name().and_then(|name| name.to_str()).context("module name")?.to_owned();
        let plain = match name.strip_suffix(".xz") {
            Some(plain) => {
                command::run("xz", &["--decompress".as_ref(), source.as_os_str()], "xz-utils")?;
                plain.to_owned()
            }
            None => name,
        };
        fs::copy(source.with_file_name(&plain), folder.join(&plain)).with_context(|| plain.clone())?;
        list.push_str(&plain);
        list.push('\n');
    }
    fs::write(folder.join("modules.list"), list).context("modules.list")?;
    Ok(())
}

/// Paths of `wanted` and all they depend on, dependencies first, each once. `modules.dep` lists a module's
/// dependencies in the reverse of the order they are to be loaded in.
fn load_order(dependencies: &str, builtin: &str, wanted: &[&str]) -> Result<Vec<String>> {
    let mut ordered: Vec<String> = Vec::new();
    for name in wanted {
        let is_it = |path: &str| module_name(path) == *name;
        let line = dependencies.lines().find(|line| line.split(':').next().is_some_and(is_it));
        let Some((path, needs)) = line.and_then(|line| line.split_once(':')) else {
            if builtin.lines().any(is_it) {
                continue;
            }
            bail!("the kernel has no module {name}");
        };
        for needed in needs.split_ascii_whitespace().rev().chain([path]) {
            if !ordered.iter().any(|present| present == needed) {
                ordered.push(needed.to_owned());
            }
        }
    }
    Ok(ordered)
}

fn module_name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.split('.').next().unwrap_or(file).replace('-', "_")
}

pub(crate) fn find_one(folder: &Path, matches: impl Fn(&str) -> bool) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        if matches(&entry.file_name().to_string_lossy()) {
            found.push(entry.path());
        }
    }
    found.sort();
    found.pop().with_context(|| format!("{}: the download has no such file", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPENDENCIES: &str = "kernel/a/nd_pmem.ko: kernel/b/nd_btt.ko kernel/c/libnvdimm.ko\n\
                                kernel/b/nd_btt.ko: kernel/c/libnvdimm.ko\nkernel/c/libnvdimm.ko:\n\
                                kernel/d/sch-fq.ko.xz:\n";

    #[test]
    fn dependencies_come_first_and_nothing_twice() {
        let ordered =
            load_order(DEPENDENCIES, "kernel/e/af_packet.ko\n", &["nd_pmem", "nd_btt", "sch_fq", "af_packet"]);
        assert_eq!(
            ordered.unwrap(),
            ["kernel/c/libnvdimm.ko", "kernel/b/nd_btt.ko", "kernel/a/nd_pmem.ko", "kernel/d/sch-fq.ko.xz"]
        );
    }

    #[test]
    fn a_module_the_kernel_lacks_is_named() {
        let error = load_order(DEPENDENCIES, "", &["sch_netem"]).unwrap_err().to_string();
        assert_eq!(error, "the kernel has no module sch_netem");
    }
}
