//! What an endpoint sees of the file system: programs of this machine, or the files of the guest, with the stack's files at `/stack`.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount};
use quiclab_sandbox::{
    mount_devices,
    mounts::{bind, make_read_only, set_attributes},
};

use super::sandbox::give;
use crate::command;

/// Where the stack's files are, inside.
const STACK: &str = "stack";
/// Folders that a guest's root file system has empty, or lacks.
const EMPTY: &[&str] = &["dev", "proc", "sys", "tmp", "run", "root", "var/tmp", "etc", STACK];
/// Folders for what an endpoint wants to write.
const ITS_OWN: &[&str] = &["tmp", "run", "root", "var/tmp", "dev/shm"];
/// Folders of this machine with programs, libraries and their settings. Those of users and services are not among them.
const PROGRAMS: &[&str] = &["bin", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "nix", "opt", "sbin", "usr"];
/// Names and where they lead. A resolver that asks a service would not see them.
const FILES: &[(&str, &str)] = &[
    ("hosts", "127.0.0.1 server server4 server46 localhost\n::1 server6 server46 localhost\n"),
    ("nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\nprotocols: files\n"),
];

/// A root file system, mounted in this process's own mount namespace.
#[derive(Clone, Debug)]
pub struct Root {
    folder: PathBuf,
}

impl Root {
    /// Programs and libraries of this machine, for reading. `folder` is empty and outlives what runs in it, as those of the other constructor;
    /// `stack` is the file system of [`prepare_files`](crate::stack::prepare_files), and `shared` a folder of this machine that is there
    /// under the same name.
    ///
    /// # Errors
    /// Outside of [`enter`](super::enter), or where erofs-utils are missing.
    pub fn of_this_machine(folder: &Path, stack: &Path, shared: &Path) -> Result<Self> {
        let root = Self::new(folder)?;
        mount(Some("tmpfs"), &root.folder, Some("tmpfs"), MsFlags::empty(), Some("mode=755"))
            .with_context(|| root.folder.display().to_string())?;
        for name in PROGRAMS {
            let (from, to) = (Path::new("/").join(name), root.folder.join(name));
            let Ok(facts) = from.symlink_metadata() else { continue };
            if facts.is_symlink() {
                symlink(fs::read_link(&from)?, to)?;
            } else if facts.is_dir() {
                bind(&from, &to)?;
                set_attributes(&to, libc::AT_RECURSIVE, libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NODEV)?;
            }
        }
        root.furnish(folder, stack, shared, false)
    }

    /// The files of a guest's root file system, `image`, as they are in the virtual machine; otherwise as [`Root::of_this_machine`].
    ///
    /// # Errors
    /// As [`Root::of_this_machine`].
    pub fn of_guest(folder: &Path, stack: &Path, image: &Path, shared: &Path) -> Result<Self> {
        let root = Self::new(folder)?;
        extract(image, &root.folder)?;
        give(&root.folder, true)?;
        root.furnish(folder, stack, shared, true)
    }

    /// Its folder, seen from outside.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Replaces the host names that are known inside, as lines of /etc/hosts.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn set_hosts(&self, lines: &str) -> Result<()> {
        let hosts = self.folder.with_file_name("hosts");
        fs::write(&hosts, lines).with_context(|| hosts.display().to_string())
    }

    fn new(folder: &Path) -> Result<Self> {
        let root = folder.join("root");
        fs::create_dir_all(&root).with_context(|| root.display().to_string())?;
        Ok(Self { folder: root })
    }

    fn furnish(self, folder: &Path, stack: &Path, shared: &Path, is_guest: bool) -> Result<Self> {
        for name in EMPTY {
            fs::create_dir_all(self.folder.join(name)).with_context(|| (*name).to_owned())?;
        }
        let system = self.folder.join("sys");
        bind(Path::new("/sys"), &system)?;
        set_attributes(&system, libc::AT_RECURSIVE, libc::MOUNT_ATTR_RDONLY)?;
        mount_devices(Path::new("/dev"), &self.folder.join("dev"))?;
        mount(Some("tmpfs"), &self.folder.join("dev/shm"), Some("tmpfs"), MsFlags::MS_NODEV, Some("mode=1777"))
            .context("/dev/shm")?;
        for name in ITS_OWN {
            give(&self.folder.join(name), false)?;
        }
        // After /tmp, in which it can be.
        let inside = self.folder.join(shared.strip_prefix("/").unwrap_or(shared));
        bind(shared, &inside)?;
        set_attributes(&inside, libc::AT_RECURSIVE, libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NODEV)?;
        let files = folder.join(STACK);
        extract(stack, &files)?;
        give(&files, true)?;
        let inside = self.folder.join(STACK);
        bind(&files, &inside)?;
        make_read_only(&inside)?;
        for (name, text) in FILES {
            let (own, inside) = (folder.join(name), self.folder.join("etc").join(name));
            fs::write(&own, text).with_context(|| own.display().to_string())?;
            // What is missing is made, except in this machine's own /etc.
            if is_guest && !inside.exists() {
                fs::write(&inside, "").with_context(|| inside.display().to_string())?;
            }
            if inside.exists() {
                bind_over(&own, &inside)?;
            }
        }
        Ok(self)
    }
}

/// Makes the folder `from` seen at `to` as well, by this process and what it starts.
///
/// # Errors
/// Outside of [`enter`](super::enter).
pub fn share(from: &Path, to: &Path) -> Result<()> {
    bind(from, to)
}

/// Lays a file over another one, for reading.
fn bind_over(from: &Path, to: &Path) -> Result<()> {
    mount(Some(from), to, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .with_context(|| format!("mounting {} at {}", from.display(), to.display()))?;
    make_read_only(to)
}

fn extract(image: &Path, to: &Path) -> Result<()> {
    let to = format!("--extract={}", to.display());
    command::run(
        "fsck.erofs",
        &[to.as_ref(), "--force".as_ref(), "--overwrite".as_ref(), image.as_os_str()],
        "erofs-utils",
    )
    .map(drop)
}
