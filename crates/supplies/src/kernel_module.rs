//! quiclab's own kernel modules, built for a kernel against Debian's headers, which are not installed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, anyhow, bail};

use crate::{
    cache::Cache,
    command, hash,
    kernel::{Kernel, PackageLists, find_one},
    process::Interrupted,
};

/// The modules.
const MODULES: &[&str] = &["sch_gso_pace", "cpu_theft"];
/// What they are built from.
const SOURCES: &[&str] = &["Kbuild", "sch_gso_pace.c", "sch_gso_pace.h", "cpu_theft.c"];
/// Version of how they are built.
const RECIPE: &[u8] = b"2";

/// `kernel` with the modules loaded last; `sources` is the folder of their source, kernel/module of this repository.
///
/// # Errors
/// A missing compiler or package with how to get it, headers that cannot be had, or a module that does not build for this kernel.
pub fn with_modules(cache: &Cache, kernel: &Kernel, sources: &Path) -> Result<Kernel> {
    let mut hasher = hash::Hasher::default().part(RECIPE).part(kernel.version()?.as_bytes());
    for name in SOURCES {
        let path = sources.join(name);
        let text = fs::read(&path).with_context(|| {
            format!(
                "{}: the source of quiclab's kernel modules is missing\nhint: use the stacks folder of a clone of \
                 quiclab",
                path.display()
            )
        })?;
        hasher = hasher.part(&text);
    }
    let name = format!("kernel/modules-{}-{}", hasher.short(), Kernel::parts());
    let folder = cache.folder(&name, |folder| {
        let modules = build(kernel, sources, folder)?;
        kernel.copy_to(folder)?;
        cache.inherit(kernel.folder(), folder)?;
        for (name, module) in MODULES.iter().zip(modules) {
            let file = format!("{name}.ko");
            fs::write(folder.join(&file), &module).with_context(|| file.clone())?;
            kernel.add_module(folder, &file, &format!("{name} {}", hash::Hasher::default().part(&module).short()))?;
        }
        Ok(())
    })?;
    Ok(Kernel::at(folder))
}

/// Builds the modules for a kernel whose version is `PACKAGE VERSION`, in a temporary folder below `within`.
fn build(kernel: &Kernel, sources: &Path, within: &Path) -> Result<Vec<Vec<u8>>> {
    let version = kernel.version()?;
    let (image, version) = version.split_once(' ').context("the kernel's version has no package name")?;
    let Some(release) = image.strip_prefix("linux-image-") else {
        bail!(
            "kernel: found one built from {image}, for which no module can be built; expected one of Debian's \
             kernels, whose headers are packaged\nhint: kernel = \"6.1\""
        );
    };
    let work = tempfile::tempdir_in(within)?;
    let tree = work.path().join("tree");
    let lists = PackageLists::fetch(within)?;
    let headers = format!("linux-headers-{release}");
    let download = |package: &str| {
        let downloaded = lists.download(package, version, work.path());
        downloaded.map_err(|error| if error.is::<Interrupted>() { error } else { or_newer(&error, kernel) })
    };
    let archive = download(&headers)?;
    let depends = command::run("dpkg-deb", &["-f".as_ref(), archive.as_os_str(), "Depends".as_ref()], "dpkg")?;
    unpack(&archive, &tree)?;
    for package in companions(&depends) {
        unpack(&download(&package)?, &tree)?;
    }
    let build = tree.join("usr/src").join(&headers);
    make_relocatable(&build.join("Makefile"), &tree)?;
    let place = work.path().join("module");
    fs::create_dir(&place)?;
    for name in SOURCES {
        fs::copy(sources.join(name), place.join(name)).with_context(|| (*name).to_owned())?;
    }
    let mut make = Command::new("make");
    make.arg("-C").arg(&build).arg(format!("M={}", place.display()));
    // Type information would need a program of its own, and the kernel's image.
    make.args(["CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"]);
    command::output(&mut make, "make gcc-12 libelf1")
        .with_context(|| format!("building quiclab's modules for {image} {version}"))?;
    let finished = MODULES.iter().map(|name| {
        let module = place.join(format!("{name}.ko"));
        // What is left of the paths of this machine stands in the debugging information.
        command::run("strip", &["--strip-debug".as_ref(), module.as_os_str()], "binutils")?;
        fs::read(&module).with_context(|| module.display().to_string())
    });
    finished.collect()
}

/// Archives keep the newest version only, so after an update of Debian's kernel the cached one has no headers any more.
fn or_newer(error: &anyhow::Error, kernel: &Kernel) -> anyhow::Error {
    let name = kernel.folder().file_name().unwrap_or_default().display();
    anyhow!(
        "{error:#}\nhint: if the package archives have a newer version now, quiclab cache remove kernel/{name}; the next run fetches the newest \
         kernel, and runs on it are other runs"
    )
}

fn unpack(archive: &Path, tree: &Path) -> Result<()> {
    command::run("dpkg-deb", &[Path::new("-x"), archive, tree], "dpkg").map(drop)
}

/// The packages with the other headers, and with the programs that build modules.
fn companions(depends: &str) -> Vec<String> {
    let names = depends.split(',').filter_map(|one| one.split_whitespace().next());
    let wanted = names.filter(|name| name.starts_with("linux-headers-") || name.starts_with("linux-kbuild-"));
    wanted.map(str::to_owned).collect()
}

/// Debian's makefile names its other half by an absolute path.
fn make_relocatable(makefile: &Path, tree: &Path) -> Result<()> {
    let text = fs::read_to_string(makefile).with_context(|| makefile.display().to_string())?;
    let text = text.replace(" /usr/", &format!(" {}/usr/", tree.display()));
    fs::write(makefile, text).with_context(|| makefile.display().to_string())
}

impl PackageLists {
    /// Downloads a package of exactly this version into a folder.
    fn download(&self, package: &str, version: &str, folder: &Path) -> Result<PathBuf> {
        let mut download = self.command("apt-get");
        download.args(["download", &format!("{package}={version}")]).current_dir(folder);
        command::output(&mut download, "apt").with_context(|| format!("downloading {package} {version}"))?;
        find_one(folder, |name| name.starts_with(&format!("{package}_")) && name.ends_with(".deb"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_that_headers_need_are_found() {
        let depends = "linux-base (>= 4.12~), linux-headers-6.12.1-common (= 6.12.1-1), linux-image-6.12.1-cloud-amd64 (= 6.12.1-1) | x, \
                       linux-kbuild-6.12.1, gcc-12";
        assert_eq!(companions(depends), ["linux-headers-6.12.1-common", "linux-kbuild-6.12.1"]);
    }

    #[test]
    fn a_version_that_has_left_the_archives_is_told_with_the_command_that_renews_the_kernel() {
        let kernel = Kernel::at(PathBuf::from("/cache/kernel/6.1-0123456789abcdef"));
        let error = or_newer(&anyhow!("E: no such version").context("downloading linux-kbuild-6.1 6.1.1-1"), &kernel);
        let text = error.to_string();
        assert!(text.starts_with("downloading linux-kbuild-6.1 6.1.1-1: E: no such version\nhint: "), "{text}");
        assert!(text.contains("quiclab cache remove kernel/6.1-0123456789abcdef"), "{text}");
    }
}
