//! What an endpoint sees of the file system: this machine's, or that of the guest, with the stack's files at `/stack`.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount};

use crate::command;

/// Where the stack's files are, inside.
const STACK: &str = "stack";
/// Folders that a guest's root file system has empty, or lacks.
const EMPTY: &[&str] = &["dev", "proc", "sys", "tmp", "run", "root", "var/tmp", "etc", STACK];
/// Those that are this machine's also in a guest's root.
const SHARED: &[&str] = &["dev", "proc", "sys"];
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
    /// This machine's files. `folder` is empty and outlives what runs in it, as those of the other constructor; `stack` is the
    /// file system of [`prepare_files`](crate::stack::prepare_files).
    ///
    /// # Errors
    /// Outside of [`enter`](super::enter), or where erofs-utils are missing.
    pub fn of_this_machine(folder: &Path, stack: &Path) -> Result<Self> {
        let root = Self::new(folder)?;
        mount(Some("tmpfs"), &root.folder, Some("tmpfs"), MsFlags::empty(), Some("mode=755"))
            .with_context(|| root.folder.display().to_string())?;
        for entry in fs::read_dir("/").context("/")? {
            let entry = entry?;
            let (from, to) = (entry.path(), root.folder.join(entry.file_name()));
            let kind = entry.file_type()?;
            if kind.is_symlink() {
                symlink(fs::read_link(&from)?, to)?;
            } else if kind.is_dir() && entry.file_name() != STACK {
                fs::create_dir(&to)?;
                bind(&from, &to)?;
            }
        }
        root.furnish(folder, stack, false)
    }

    /// The files of a guest's root file system, `image`, as they are in the virtual machine, and `shared`, a folder of this
    /// machine that is there under the same name.
    ///
    /// # Errors
    /// As [`Root::of_this_machine`].
    pub fn of_guest(folder: &Path, stack: &Path, image: &Path, shared: &Path) -> Result<Self> {
        let root = Self::new(folder)?;
        extract(image, &root.folder)?;
        for name in EMPTY {
            fs::create_dir_all(root.folder.join(name)).with_context(|| (*name).to_owned())?;
        }
        for name in SHARED {
            bind(&Path::new("/").join(name), &root.folder.join(name))?;
        }
        let inside = root.folder.join(shared.strip_prefix("/").unwrap_or(shared));
        fs::create_dir_all(&inside).with_context(|| inside.display().to_string())?;
        bind(shared, &inside)?;
        root.furnish(folder, stack, true)
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

    fn furnish(self, folder: &Path, stack: &Path, is_guest: bool) -> Result<Self> {
        let files = folder.join(STACK);
        extract(stack, &files)?;
        let inside = self.folder.join(STACK);
        fs::create_dir_all(&inside).with_context(|| inside.display().to_string())?;
        bind(&files, &inside)?;
        for (name, text) in FILES {
            let (own, inside) = (folder.join(name), self.folder.join("etc").join(name));
            fs::write(&own, text).with_context(|| own.display().to_string())?;
            // What is missing is made, except in this machine's own /etc.
            if is_guest && !inside.exists() {
                fs::write(&inside, "").with_context(|| inside.display().to_string())?;
            }
            if inside.exists() {
                bind(&own, &inside)?;
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
    fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    bind(from, to)
}

fn bind(from: &Path, to: &Path) -> Result<()> {
    mount(Some(from), to, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)
        .with_context(|| format!("mounting {} at {}", from.display(), to.display()))
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
