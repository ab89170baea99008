//! A network and a mount namespace for this process.

use std::{
    fs, io,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use anyhow::{Context, Result, ensure};
use nix::{
    errno::Errno,
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, unshare},
    unistd::{getgid, getuid},
};

/// A folder in memory, for files and mounts that end with this process.
///
/// Nothing below it is ever removed file by file: this machine's own folders are mounted there.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    fn new() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("quiclab-try-").tempdir().context("a temporary folder")?.keep();
        let scratch = Self { folder };
        mount(Some("tmpfs"), &scratch.folder, Some("tmpfs"), MsFlags::empty(), Some("mode=755"))
            .with_context(|| scratch.folder.display().to_string())?;
        Ok(scratch)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = umount2(&self.folder, MntFlags::MNT_DETACH);
        // Empty, or still a mount point: then it stays.
        let _ = fs::remove_dir(&self.folder);
    }
}

static ENTERED: OnceLock<Network> = OnceLock::new();
/// The first port that needs no capability.
const FIRST_FREE_PORT: &str = "/proc/sys/net/ipv4/ip_unprivileged_port_start";

/// What endpoints can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Nothing but a loopback of their own.
    Own,
    /// What this machine reaches.
    OfThisMachine,
}

/// Moves this process, and so what it starts, into namespaces of its own, in which it is root: mounts that nobody else sees, and a
/// network where it is to have one. Returns a folder for its files.
///
/// # Errors
/// Where the kernel does not allow it, with what to do; or where this process has a second thread.
pub fn enter(network: Network) -> Result<Scratch> {
    let threads = fs::read_dir("/proc/self/task").context("/proc/self/task")?.count();
    ensure!(
        threads == 1,
        "found {threads} threads, expected one: only a process with a single thread can change its user namespace"
    );
    let own = match network {
        Network::Own => CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS,
        Network::OfThisMachine => CloneFlags::CLONE_NEWNS,
    };
    match unshare(own) {
        Err(Errno::EPERM) => as_root_of_a_user_namespace(own)?,
        result => result.context("namespaces")?,
    }
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .context("making mounts private")?;
    if network == Network::Own {
        raise_loopback().context("the loopback interface")?;
        // Endpoints have no capabilities, and low ports are theirs in the contract. Containers that protect these settings have none then.
        let _ = fs::write(FIRST_FREE_PORT, "0");
    }
    let _ = ENTERED.set(network);
    Scratch::new()
}

/// The network that [`enter`] has given this process; `None` before.
pub(super) fn entered() -> Option<Network> {
    ENTERED.get().copied()
}

fn as_root_of_a_user_namespace(own: CloneFlags) -> Result<()> {
    let (user, group) = (getuid(), getgid());
    unshare(own | CloneFlags::CLONE_NEWUSER).context(
        "the kernel allows this user no namespaces\nhint: run it as root, or allow user namespaces: sysctl \
         kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), user.max_user_namespaces=10000 (others)",
    )?;
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {user} 1")),
        ("/proc/self/gid_map", format!("0 {group} 1")),
    ] {
        fs::write(file, text).context(file)?;
    }
    Ok(())
}

fn raise_loopback() -> io::Result<()> {
    let socket = std::net::UdpSocket::bind(("0.0.0.0", 0))?;
    // SAFETY: all zeros is a valid value of this plain struct.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the kernel reads one ifreq, which is alive, and the socket is open.
    Errno::result(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) })?;
    Ok(())
}
