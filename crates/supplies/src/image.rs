//! Root file systems of endpoints: Debian trixie with the packages that a stack asks for, each as one erofs file.

use std::{
    collections::BTreeSet,
    fmt::Display,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, bail};
use quiclab_units::ByteCount;

use crate::{cache::Cache, command, erofs::EPOCH, hash};

/// Length that the file of a root file system has, as a sparse file: the largest NVDIMM for one.
pub const LARGEST_ROOT_BYTES: u64 = 4 << 30;
/// The suite the guest is made of; programs built on Debian 12 run in it.
const SUITE: &str = "trixie";
/// The file system's UUID: any constant.
const UUID: &str = "7175696c-6162-4000-8000-000000000001";
/// Version of this recipe.
const RECIPE: &[u8] = b"6";

/// What no run reads.
const EXCLUDED: &[&str] = &["/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*"];
/// What differs from build to build, or is of no use in a guest. Never `tmp`: mmdebstrap keeps the settings there by which its
/// last steps touch the guest and not this machine; it is left out of the file system instead.
const REMOVED: &[&str] = &[
    "var/log/*",
    "var/cache/*",
    "var/lib/apt/lists/*",
    "etc/machine-id",
    "etc/hostname",
    "etc/ssl/private/*",
    "etc/ssl/certs/ssl-cert-snakeoil.pem",
];

/// The file system.
pub const ROOT_FILE: &str = "root.erofs";
const DIGEST_FILE: &str = "sha256";
const LENGTH_FILE: &str = "length";

/// A guest image in the cache.
#[derive(Clone, Debug)]
pub struct Image {
    folder: PathBuf,
}

impl Image {
    /// The image with `packages` from the cache, if it has been prepared.
    pub fn find(cache: &Cache, packages: &BTreeSet<String>) -> Option<Self> {
        let folder = cache.path(&name(packages));
        folder.is_dir().then_some(Self { folder })
    }

    /// Makes the image with `packages`, unless the cache has it.
    ///
    /// # Errors
    /// A missing program, or a package that cannot be had.
    pub fn prepare(cache: &Cache, packages: &BTreeSet<String>, stop: &AtomicBool) -> Result<Self> {
        let folder = cache.folder(&name(packages), |folder| build(packages, folder, stop))?;
        Ok(Self { folder })
    }

    /// The image that an import left in `folder`.
    pub fn imported(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file system's file, as long as the largest NVDIMM.
    pub fn file(&self) -> PathBuf {
        self.folder.join(ROOT_FILE)
    }

    /// Bytes of the file system.
    ///
    /// # Errors
    /// Where the cache was tampered with.
    pub fn length(&self) -> Result<ByteCount> {
        let path = self.folder.join(LENGTH_FILE);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(ByteCount::from_bytes(text.trim().parse().with_context(|| path.display().to_string())?))
    }

    /// SHA-256 of the file.
    ///
    /// # Errors
    /// Where the cache was tampered with.
    pub fn digest(&self) -> Result<String> {
        let path = self.folder.join(DIGEST_FILE);
        fs::read_to_string(&path).with_context(|| path.display().to_string())
    }

    /// Version of a package in the image; `None` where it is not in it.
    ///
    /// # Errors
    /// Where the cache was tampered with.
    pub fn package_version(&self, package: &str) -> Result<Option<String>> {
        let path = self.folder.join("packages");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let line = text.lines().find_map(|line| line.strip_prefix(package)?.strip_prefix(' '));
        Ok(line.map(str::to_owned))
    }
}

fn name(packages: &BTreeSet<String>) -> String {
    let mut hasher = hash::Hasher::default().part(RECIPE);
    for package in packages {
        hasher = hasher.part(package.as_bytes());
    }
    format!("image/{SUITE}-{}", hasher.short())
}

fn build(packages: &BTreeSet<String>, folder: &Path, stop: &AtomicBool) -> Result<()> {
    let mut mmdebstrap = Command::new("mmdebstrap");
    mmdebstrap.env("SOURCE_DATE_EPOCH", EPOCH).args([
        "--variant=minbase",
        "--format=null",
        "--aptopt=Acquire::Retries \"3\"",
    ]);
    if !packages.is_empty() {
        mmdebstrap.arg(format!("--include={}", packages.iter().cloned().collect::<Vec<_>>().join(",")));
    }
    // Some packages' scripts put links there, whether manual pages are installed or not.
    mmdebstrap.arg("--essential-hook=mkdir -p \"$1\"/usr/share/man/man1");
    for pattern in EXCLUDED {
        mmdebstrap.arg(format!("--dpkgopt=path-exclude={pattern}"));
    }
    let removed = REMOVED.iter().map(|path| format!("\"$1\"/{path}")).collect::<Vec<_>>().join(" ");
    // Outside of root's own namespace the hooks may only write inside the tree; "download" carries the files out.
    let hooks = [
        format!("rm -rf {removed}"),
        // Its name would follow from that of the building machine.
        "find \"$1\"/etc -lname ssl-cert-snakeoil.pem -delete".to_owned(),
        "dpkg-query --admindir=\"$1\"/var/lib/dpkg --show --showformat '${Package} ${Version}\\n' > \"$1\"/packages"
            .to_owned(),
        "download /packages packages".to_owned(),
        "rm \"$1\"/packages".to_owned(),
        format!(
            "mkfs.erofs --quiet -x-1 -T {EPOCH} -U {UUID} --exclude-path=root.erofs --exclude-path=proc --exclude-path=sys --exclude-path=dev --exclude-path=tmp \
             \"$1\"/root.erofs \"$1\" > /dev/null"
        ),
        "download /root.erofs root.erofs".to_owned(),
    ];
    for hook in hooks {
        mmdebstrap.arg(format!("--customize-hook={hook}"));
    }
    let log = folder.join("log");
    let file = File::create(&log).context("log")?;
    mmdebstrap.arg(SUITE).arg("-").current_dir(folder).stdout(file.try_clone()?).stderr(file);
    let status = command::supervise(&mut mmdebstrap, "mmdebstrap erofs-utils uidmap", stop)?;
    if !status.success() {
        let said = fs::read_to_string(&log).unwrap_or_default();
        bail!(failure(&said, status));
    }
    seal(folder)
}

/// What to say where mmdebstrap ended with `status` after it had `said` something: one sentence where a package archive is the cause.
fn failure(said: &str, status: impl Display) -> String {
    // apt puts two spaces between address and reason.
    let refused = said.lines().find_map(|line| line.strip_prefix("E: Failed to fetch ")?.split_once("  "));
    match refused {
        Some((address, reason)) => format!(
            "building the guest image: the package archive does not give {address}: {}\n\
             hint: the archives are those of /etc/apt/sources.list and sources.list.d; try again when they answer",
            reason.trim()
        ),
        None => format!("building the guest image: mmdebstrap failed with {status}:\n{}", command::tail(said)),
    }
}

/// Notes what the file system in `folder` is, and makes its file as long as an NVDIMM wants it.
///
/// # Errors
/// Where it cannot be written, or is too long.
pub fn seal(folder: &Path) -> Result<()> {
    let path = folder.join(ROOT_FILE);
    let length = fs::metadata(&path).with_context(|| path.display().to_string())?.len();
    fs::write(folder.join(DIGEST_FILE), hash::of_file(&path)?)?;
    fs::write(folder.join(LENGTH_FILE), length.to_string())?;
    pad(&path)
}

/// Makes a root file system's file, which is sparse, as long as the largest NVDIMM.
fn pad(path: &Path) -> Result<()> {
    let file = File::options().write(true).open(path).with_context(|| path.display().to_string())?;
    let length = file.metadata()?.len();
    if length > LARGEST_ROOT_BYTES {
        bail!("{}: found {length} bytes, expected at most {LARGEST_ROOT_BYTES}", path.display());
    }
    file.set_len(LARGEST_ROOT_BYTES).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_that_does_not_answer_is_told_in_one_sentence() {
        let said = "I: running apt-get update...\nErr:1 http://archive.example/debian trixie InRelease\n  Could not connect\n\
                    E: Failed to fetch http://archive.example/debian/InRelease  Could not connect (111: Connection refused)\n\
                    E: mmdebstrap failed to run\n";
        let text = failure(said, "exit status: 25");
        assert!(text.starts_with(
            "building the guest image: the package archive does not give http://archive.example/debian/InRelease: \
             Could not connect (111: Connection refused)\nhint: "
        ));
        assert_eq!(text.lines().count(), 2, "{text}");
    }

    #[test]
    fn another_failure_shows_what_was_said() {
        let text = failure("E: no space left", "exit status: 25");
        assert!(text.contains("exit status: 25") && text.ends_with("E: no space left"), "{text}");
    }
}
