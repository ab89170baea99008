//! The file system an endpoint lives in: read-only files, or an image with memory over it, and the folders of the contract.
//!
//! Each sees its own files and those of the contract. That keeps honest endpoints apart; one that looks for the other finds it:
//! both are root, in one table of processes and with one device file system.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount};
use quiclab_orders::{
    addresses::{CLIENT_ADDRESS, CLIENT_ADDRESS_V6, SERVER_ADDRESS, SERVER_ADDRESS_V6},
    places::{CERTIFICATES, DOWNLOADS, LOGS, WWW},
    report::MOST_STRAY_FILES,
};

/// Where the folders of the contract lie, outside of the roots.
const SHARED: &str = "/shared";
/// Where the roots are.
pub(crate) const ROOTS: &str = "/roots";
/// Folders below a root that an endpoint may write to.
pub(crate) const ITS_OWN: &[&str] =
    &["dev", "proc", "sys", "tmp", "run", "var/tmp", "www", "downloads", "certs", "logs", "stack", "root"];

/// More letters of a stray file's path are not told.
const LONGEST_NAME: usize = 256;

/// A mounted root.
#[derive(Debug)]
pub struct Root {
    folder: PathBuf,
    changes: Option<PathBuf>,
}

/// Makes the folders by which endpoints and agent exchange files.
///
/// # Errors
/// Where they cannot be made.
pub fn make_shared() -> Result<()> {
    mount_new("tmpfs", "shared", Path::new(SHARED), MsFlags::empty(), "size=100%")?;
    for folder in [WWW, DOWNLOADS, CERTIFICATES] {
        let path = shared(folder);
        fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        // Imported endpoints may become another user.
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
    }
    Ok(())
}

/// Where such a folder lies for the agent.
pub fn shared(path: &str) -> PathBuf {
    Path::new(SHARED).join(path.trim_start_matches('/'))
}

impl Root {
    /// A root at `folder`; what is written outside of the endpoint's own folders turns up below `changes`, if there is such a
    /// folder.
    pub(crate) fn new(folder: PathBuf, changes: Option<PathBuf>) -> Self {
        Self { folder, changes }
    }

    /// Mounts what every root has: the folders of the contract, of the shared ones only the certificates and `own`, and logs with
    /// room for `log_limit_bytes`. A client that saw [`WWW`] would need no network.
    ///
    /// # Errors
    /// Where something cannot be mounted.
    pub(crate) fn furnish(&self, own: &str, log_limit_bytes: u64) -> Result<()> {
        for path in ["/tmp", "/run", "/dev/shm"] {
            mount_new("tmpfs", "tmpfs", &self.outside(path), MsFlags::empty(), "size=100%,mode=1777")?;
        }
        for path in [own, CERTIFICATES] {
            bind(&shared(path), &self.outside(path))?;
        }
        let limit = format!("size={log_limit_bytes},mode=1777");
        mount_new("tmpfs", "logs", &self.outside(LOGS), MsFlags::empty(), &limit)
    }

    /// Its folder, as the agent sees it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A path of the endpoint's, as the agent sees it.
    pub fn outside(&self, path: &str) -> PathBuf {
        self.folder.join(path.trim_start_matches('/'))
    }

    /// Files that were written outside of the endpoint's own folders, in order, at most [`MOST_STRAY_FILES`].
    ///
    /// # Errors
    /// Where a folder cannot be read.
    pub fn stray_files(&self) -> io::Result<Vec<String>> {
        // Without such a folder everything but its own folders is read-only.
        let Some(changes) = &self.changes else { return Ok(Vec::new()) };
        let mut files = Vec::new();
        let mut folders = vec![changes.clone()];
        while let Some(next) = folders.pop() {
            for entry in fs::read_dir(&next)? {
                let entry = entry?;
                let path = entry.path();
                let relative = path.strip_prefix(changes).map_err(io::Error::other)?;
                if ITS_OWN.iter().any(|own| relative == Path::new(own)) || relative == Path::new("etc/hosts") {
                    continue;
                }
                if entry.file_type()?.is_dir() {
                    folders.push(path);
                } else {
                    let name: String = format!("/{}", relative.display()).chars().take(LONGEST_NAME).collect();
                    files.push(name);
                }
            }
        }
        files.sort();
        files.truncate(MOST_STRAY_FILES);
        Ok(files)
    }

    /// Ends every process that lives in this root, and says how many there were.
    ///
    /// # Errors
    /// Where the table of processes cannot be read.
    pub fn end_processes(&self) -> io::Result<u32> {
        let mut ended = 0;
        for entry in fs::read_dir("/proc")? {
            let entry = entry?;
            let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
            // Kernel threads have no such link that could be read, and what has ended has none any more. An endpoint may have changed
            // its root to a folder in it.
            if fs::read_link(entry.path().join("root")).is_ok_and(|root| root.starts_with(&self.folder)) {
                ended += 1;
                let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(process), nix::sys::signal::Signal::SIGKILL);
            }
        }
        Ok(ended)
    }
}

/// What `/etc/hosts` says in every root.
pub(crate) fn hosts_file() -> String {
    format!(
        "127.0.0.1 localhost sim\n{SERVER_ADDRESS} server server4 server46\n{CLIENT_ADDRESS} client client4 client46\n\
         {SERVER_ADDRESS_V6} server6 server46\n{CLIENT_ADDRESS_V6} client6 client46\n"
    )
}

/// Mounts a new file system, at a folder that is made if it is not there.
///
/// # Errors
/// Where it cannot be mounted.
pub fn mount_new(kind: &str, source: &str, target: &Path, flags: MsFlags, options: &str) -> Result<()> {
    fs::create_dir_all(target).with_context(|| target.display().to_string())?;
    mount(Some(source), target, Some(kind), flags, Some(options))
        .with_context(|| format!("mounting {source} at {}", target.display()))
}

pub(crate) fn bind(source: &Path, target: &Path) -> Result<()> {
    fs::create_dir_all(target).with_context(|| target.display().to_string())?;
    mount(Some(source), target, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .with_context(|| format!("binding {} to {}", source.display(), target.display()))
}
