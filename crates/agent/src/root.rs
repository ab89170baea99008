//! The file system an endpoint lives in: read-only files, or an image with memory over it, and the folders of the contract.
//!
//! Each sees its own files and those of the contract. Images come from strangers, so nothing is mounted or written through a link in
//! one.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use nix::mount::MsFlags;
use quiclab_agent_protocol::{
    addresses::{CLIENT_ADDRESS, CLIENT_ADDRESS_V6, SERVER_ADDRESS, SERVER_ADDRESS_V6},
    places::{CERTIFICATES, DOWNLOADS, LOGS, WWW},
    report::MOST_STRAY_FILES,
    results::ROLES,
};

use quiclab_sandbox::mounts::{bind, make_read_only, mount_new};

use crate::{log_names::escaped, sandbox::Sandbox};

/// Where the folders of the contract lie, outside of the roots.
const SHARED: &str = "/shared";
/// Where the roots are.
pub(crate) const ROOTS: &str = "/roots";
/// Folders below a root that an endpoint may write to.
pub(crate) const ITS_OWN: &[&str] =
    &["dev", "proc", "sys", "tmp", "run", "var/tmp", "www", "downloads", "certs", "logs", "stack", "root"];
/// Most changes of a root file system that are looked at.
const MOST_CHANGES: usize = 100_000;

/// Folders in memory for what is passed on or goes away, with their room as a share of the machine's memory: what is in them cannot be
/// taken back when memory runs out.
const SCRATCH: [(&str, &str); 3] = [("/tmp", "size=20%"), ("/run", "size=5%"), ("/dev/shm", "size=10%")];

/// Most letters of a stray file's path that are told.
const LONGEST_NAME: usize = 256;

/// A mounted root, and the sandbox in which it is seen.
pub struct Root {
    role: &'static str,
    folder: PathBuf,
    changes: Option<PathBuf>,
    shares_files: bool,
    sandbox: Sandbox,
}

/// Makes the folders by which endpoints and agent exchange files, with this room, such as `100%` of the memory.
///
/// # Errors
/// Where they cannot be made.
pub fn make_shared(room: &str) -> Result<()> {
    mount_new("tmpfs", "shared", Path::new(SHARED), MsFlags::empty(), &format!("size={room}"))?;
    let certificates = ROLES.map(certificates);
    for path in [shared(WWW), shared(DOWNLOADS)].into_iter().chain(certificates) {
        fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        // Imported endpoints may become another user.
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
    }
    Ok(())
}

/// Where the certificates of an endpoint lie for the agent. Each has copies of its own: a file that both have would carry data by its
/// locks.
pub fn certificates(role: &str) -> PathBuf {
    shared(CERTIFICATES).join(role)
}

/// Where such a folder lies for the agent.
pub fn shared(path: &str) -> PathBuf {
    Path::new(SHARED).join(path.trim_start_matches('/'))
}

impl Root {
    /// The root of the endpoint `role` at `folder`, a mount point; what is written outside of the endpoint's own folders turns up below
    /// `changes`, if there is such a folder. `shares_files`: the other endpoint has some of the same files, for reading.
    pub(crate) fn new(
        role: &'static str,
        folder: PathBuf,
        changes: Option<PathBuf>,
        shares_files: bool,
        sandbox: Sandbox,
    ) -> Self {
        Self { role, folder, changes, shares_files, sandbox }
    }

    /// Mounts what every root has: the processes of the PID namespace, the folder `devices`, the folders of the contract: the endpoint's
    /// certificates, read-only, and `own`, and logs with room for `log_limit_bytes`. A client that saw [`WWW`], or a
    /// server that could write or lock what the client reads, would need no network.
    ///
    /// # Errors
    /// Where something cannot be mounted.
    pub(crate) fn furnish(&self, own: &str, devices: &Path, log_limit_bytes: u64) -> Result<()> {
        bind(self.sandbox.processes(), &self.place("/proc")?)?;
        bind(devices, &self.place("/dev")?)?;
        for (path, room) in SCRATCH {
            mount_new("tmpfs", "tmpfs", &self.place(path)?, MsFlags::MS_NODEV, &format!("{room},mode=1777"))?;
        }
        bind(&shared(own), &self.place(own)?)?;
        let certificates = self.place(CERTIFICATES)?;
        bind(&self::certificates(self.role), &certificates)?;
        make_read_only(&certificates)?;
        let limit = format!("size={log_limit_bytes},mode=1777");
        mount_new("tmpfs", "logs", &self.place(LOGS)?, MsFlags::MS_NODEV, &limit)
    }

    /// The sandbox round it.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// True where the other endpoint has some of the same files.
    pub fn shares_files(&self) -> bool {
        self.shares_files
    }

    /// Its folder, as the agent sees it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A path of the endpoint's, as the agent sees it.
    pub fn outside(&self, path: &str) -> PathBuf {
        self.folder.join(path.trim_start_matches('/'))
    }

    /// [`Root::outside`] of a path that is no link and leads through none: the agent would follow it to a place of its own.
    ///
    /// # Errors
    /// Where there is one.
    pub(crate) fn place(&self, path: &str) -> Result<PathBuf> {
        let mut place = self.folder.clone();
        for part in path.trim_start_matches('/').split('/') {
            place.push(part);
            let is_link = fs::symlink_metadata(&place).is_ok_and(|facts| facts.is_symlink());
            ensure!(!is_link, "{path}: found a symbolic link in the endpoint's root file system, expected a folder");
        }
        Ok(place)
    }

    /// Files that were written outside of the endpoint's own folders, in order, at most [`MOST_STRAY_FILES`].
    pub fn stray_files(&self) -> Vec<String> {
        // Without such a folder everything but its own folders is read-only.
        let Some(changes) = &self.changes else { return Vec::new() };
        let mut files = BTreeSet::new();
        let mut folders = vec![changes.clone()];
        let mut seen = 0;
        while let Some(next) = folders.pop() {
            // A folder nested too deep for a path has no name that could be told either.
            for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
                seen += 1;
                if seen > MOST_CHANGES {
                    break;
                }
                let path = entry.path();
                let Ok(relative) = path.strip_prefix(changes) else { continue };
                if ITS_OWN.iter().any(|own| relative == Path::new(own)) || relative == Path::new("etc/hosts") {
                    continue;
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                } else {
                    files.insert(relative.to_owned());
                    if files.len() > MOST_STRAY_FILES {
                        files.pop_last();
                    }
                }
            }
        }
        let name = |path: &PathBuf| escaped(path.as_os_str().as_bytes()).chars().take(LONGEST_NAME).collect::<String>();
        files.iter().map(|path| format!("/{}", name(path))).collect()
    }
}

/// What `/etc/hosts` says in every root.
pub(crate) fn hosts_file() -> String {
    format!(
        "127.0.0.1 localhost sim\n{SERVER_ADDRESS} server server4 server46\n{CLIENT_ADDRESS} client client4 client46\n\
         {SERVER_ADDRESS_V6} server6 server46\n{CLIENT_ADDRESS_V6} client6 client46\n"
    )
}
