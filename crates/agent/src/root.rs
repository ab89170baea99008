//! The file system an endpoint lives in: its image with memory over it, and the folders of the contract.
//!
//! Each sees its own files and those of the contract. That keeps honest endpoints apart; one that looks for the other finds it:
//! both are root, in one table of processes and with one device file system.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount};
use quiclab_orders::{
    addresses::{CLIENT_ADDRESS, CLIENT_ADDRESS_V6, SERVER_ADDRESS, SERVER_ADDRESS_V6},
    places::{CERTIFICATES, DOWNLOADS, LOGS, STACK, WWW},
    report::MOST_STRAY_FILES,
};

use crate::namespace::Namespace;

/// Where the folders of the contract lie, outside of the roots.
const SHARED: &str = "/shared";
/// Where the roots are.
const ROOTS: &str = "/roots";
/// Folders below a root that an endpoint may write to.
const ITS_OWN: &[&str] =
    &["dev", "proc", "sys", "tmp", "run", "var/tmp", "www", "downloads", "certs", "logs", "stack", "root"];

/// More letters of a stray file's path are not told.
const LONGEST_NAME: usize = 256;

/// The block devices of one role.
#[derive(Clone, Debug)]
pub struct RoleDevices {
    /// Its root file system, as erofs.
    pub image: String,
    /// What its stack brings along, as erofs.
    pub stack: String,
}

/// A mounted root.
#[derive(Debug)]
pub struct Root {
    folder: PathBuf,
    changes: PathBuf,
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
    /// Mounts the root of `role`, whose network is `namespace`, with room for `log_limit_bytes` in its logs. Of the shared folders it
    /// has the certificates and `own`: a client that saw [`WWW`] would need no network.
    ///
    /// # Errors
    /// Where something cannot be mounted.
    pub fn mount(
        role: &str,
        own: &str,
        devices: &RoleDevices,
        namespace: &Namespace,
        log_limit_bytes: u64,
    ) -> Result<Self> {
        let base = Path::new(ROOTS).join(role);
        let [image, memory, folder] = ["image", "memory", "root"].map(|name| base.join(name));
        mount_new("erofs", &devices.image, &image, MsFlags::MS_RDONLY, "")?;
        mount_new("tmpfs", "memory", &memory, MsFlags::empty(), "size=100%")?;
        let [changes, work] = ["changes", "work"].map(|name| memory.join(name));
        for folder in [&changes, &work] {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        let layers = format!("lowerdir={},upperdir={},workdir={}", image.display(), changes.display(), work.display());
        mount_new("overlay", "overlay", &folder, MsFlags::empty(), &layers)?;
        let at = |path: &str| folder.join(path.trim_start_matches('/'));
        mount_new("proc", "proc", &at("/proc"), MsFlags::empty(), "")?;
        // What it shows of the network is that of the namespace in which it is mounted.
        namespace.inside(|| mount_new("sysfs", "sysfs", &at("/sys"), MsFlags::empty(), ""))?;
        mount_new("devtmpfs", "devtmpfs", &at("/dev"), MsFlags::empty(), "")?;
        for path in ["/tmp", "/run", "/dev/shm"] {
            mount_new("tmpfs", "tmpfs", &at(path), MsFlags::empty(), "size=100%,mode=1777")?;
        }
        for (name, target) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
        ] {
            match symlink(target, at("/dev").join(name)) {
                // The device file system is one for both roots.
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error).context(name),
                _ => {}
            }
        }
        for path in [own, CERTIFICATES] {
            bind(&shared(path), &at(path))?;
        }
        let limit = format!("size={log_limit_bytes},mode=1777");
        mount_new("tmpfs", "logs", &at(LOGS), MsFlags::empty(), &limit)?;
        mount_new("erofs", &devices.stack, &at(STACK), MsFlags::MS_RDONLY, "")?;
        let root = Self { folder, changes };
        root.write_hosts()?;
        Ok(root)
    }

    /// Its folder, as the agent sees it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A path of the endpoint's, as the agent sees it.
    pub fn outside(&self, path: &str) -> PathBuf {
        self.folder.join(path.trim_start_matches('/'))
    }

    fn write_hosts(&self) -> Result<()> {
        let text = format!(
            "127.0.0.1 localhost sim\n{SERVER_ADDRESS} server server4 server46\n{CLIENT_ADDRESS} client client4 client46\n\
             {SERVER_ADDRESS_V6} server6 server46\n{CLIENT_ADDRESS_V6} client6 client46\n"
        );
        let path = self.outside("/etc/hosts");
        fs::create_dir_all(self.outside("/etc"))?;
        fs::write(&path, text).with_context(|| path.display().to_string())
    }

    /// Files that were written outside of the endpoint's own folders, in order, at most [`MOST_STRAY_FILES`].
    ///
    /// # Errors
    /// Where a folder cannot be read.
    pub fn stray_files(&self) -> io::Result<Vec<String>> {
        let mut files = Vec::new();
        let mut folders = vec![self.changes.clone()];
        while let Some(next) = folders.pop() {
            for entry in fs::read_dir(&next)? {
                let entry = entry?;
                let path = entry.path();
                let relative = path.strip_prefix(&self.changes).map_err(io::Error::other)?;
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

/// Mounts a new file system, at a folder that is made if it is not there.
///
/// # Errors
/// Where it cannot be mounted.
pub fn mount_new(kind: &str, source: &str, target: &Path, flags: MsFlags, options: &str) -> Result<()> {
    fs::create_dir_all(target).with_context(|| target.display().to_string())?;
    mount(Some(source), target, Some(kind), flags, Some(options))
        .with_context(|| format!("mounting {source} at {}", target.display()))
}

fn bind(source: &Path, target: &Path) -> Result<()> {
    fs::create_dir_all(target).with_context(|| target.display().to_string())?;
    mount(Some(source), target, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .with_context(|| format!("binding {} to {}", source.display(), target.display()))
}
