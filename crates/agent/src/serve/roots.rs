//! What the endpoints of a run see on a host: files that they cannot change there, with the folders of the contract.

use std::{
    fs,
    os::{
        fd::AsFd,
        unix::fs::{MetadataExt, symlink},
    },
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use nix::{
    errno::Errno,
    mount::{MntFlags, MsFlags, mount, umount2},
    unistd::{chdir, pivot_root},
};
use quiclab_agent_protocol::{
    orders::{HostFiles, Orders},
    places::{DOWNLOADS, STACK, WWW},
};
use quiclab_sandbox::{
    mount_devices,
    mounts::{make_read_only, mount_new},
};

use super::owned::bind_read_only;
use crate::{
    jail::Users,
    namespace::Namespace,
    root::{ITS_OWN, ROOTS, Root, hosts_file, make_shared, shared},
    sandbox::Sandbox,
    settling::Settling,
    topology::Topology,
};

/// Where the host's files are while the roots are being made.
const HOST: &str = "/host";
/// Where the new root is mounted first. Every host has it.
const FIRST: &str = "/tmp";

/// Users of a host from here on belong to nobody: accounts, subordinate users and containers end before.
const FIRST_USER: u32 = 0x7000_0000;
/// Most agents at a time that have users no other has. The kernel counts a user's processes on the whole host, so with common ones the
/// processes of one run would be missing in another.
const AGENTS: u32 = 8192;

/// Room for what is exchanged besides files that are transferred, and for copies that are too long.
const SHARED_ROOM: u64 = 64 << 20;

/// Room for what an endpoint changes in its root file system.
const CHANGES_ROOM: &str = "size=25%";

/// The bits of a file's mode by which anyone may write.
const WRITABLE: u32 = 0o222;

/// The roots of both endpoints.
pub struct Both {
    /// The server's.
    pub server: Root,
    /// The client's.
    pub client: Root,
}

/// Makes networks and roots, in a mount namespace that nobody else uses.
///
/// `agent`: the process on the host that performs the run.
///
/// # Errors
/// Where something cannot be made or mounted.
pub fn build(orders: &Orders, agent: u32) -> Result<(Topology, Both)> {
    prepare(orders)?;
    let [server_users, client_users] = users(agent)?;
    let (server_sandbox, server) = Sandbox::create("server", server_users)?;
    let (client_sandbox, client) = Sandbox::create("client", client_users)?;
    let topology = Topology::build(server, client, settling(orders))?;
    let limit = orders.log_limit_bytes;
    let root = |sandbox, own: &str, files: &Option<HostFiles>, namespace: &Namespace| {
        root(sandbox, own, &files.clone().unwrap_or_default(), namespace, limit)
            .with_context(|| format!("the {}'s files", namespace.name))
    };
    let server = root(server_sandbox, WWW, &orders.server.host, &topology.server)?;
    let client = root(client_sandbox, DOWNLOADS, &orders.client.host, &topology.client)?;
    forget_host()?;
    Ok((topology, Both { server, client }))
}

/// Moves this process into a root of its own, with the host's files at [`HOST`] and the folders that endpoints share.
///
/// # Errors
/// Where something cannot be mounted.
pub(crate) fn prepare(orders: &Orders) -> Result<()> {
    leave_host()?;
    mount_new("proc", "proc", Path::new("/proc"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC, "")?;
    mount_devices(&Path::new(HOST).join("dev"), Path::new("/dev"))?;
    let transfer = &orders.transfer;
    let files = (transfer.names.len() as u64).saturating_mul(transfer.size_bytes);
    // The server's files, the client's copies, and certificates.
    make_shared(&files.saturating_mul(2).saturating_add(SHARED_ROOM).to_string())
}

/// How long to wait for the hosts' kernels.
pub(crate) fn settling(orders: &Orders) -> Settling {
    if orders.has_ipv6 { Settling::Hurried } else { Settling::WithoutIpv6 }
}

/// Lets go of the host's files, after everything of them is in roots.
///
/// # Errors
/// What the kernel answers.
pub(crate) fn forget_host() -> Result<()> {
    umount2(HOST, MntFlags::MNT_DETACH).context(HOST)
}

/// Who the endpoints' roots are outside of their user namespaces. Root's own processes cannot be limited, so where this process has all
/// users of the machine, they are others. Where it is a user who is root of a namespace, there is nobody else to be.
pub(crate) fn users(agent: u32) -> Result<[Users; 2]> {
    let has_all = quiclab_sandbox::has_all_users().context("/proc/self/uid_map")?;
    let first = FIRST_USER + agent % AGENTS * 2 * Users::NUMBER;
    Ok(if has_all { [Users::From(first), Users::From(first + Users::NUMBER)] } else { [Users::Same; 2] })
}

/// Moves this process into an empty file system in memory, with the host's files at [`HOST`].
fn leave_host() -> Result<()> {
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .context("making mounts private")?;
    mount_new("tmpfs", "quiclab", Path::new(FIRST), MsFlags::empty(), "mode=755")?;
    let host = Path::new(FIRST).join(HOST.trim_start_matches('/'));
    fs::create_dir(&host).with_context(|| host.display().to_string())?;
    pivot_root(FIRST, &host).context("pivot_root")?;
    chdir("/").context("/")
}

pub(crate) fn root(
    sandbox: Sandbox,
    own: &str,
    files: &HostFiles,
    namespace: &Namespace,
    log_limit_bytes: u64,
) -> Result<Root> {
    let users = sandbox.owner().map(|_| sandbox.user_namespace().try_clone_to_owned()).transpose()?;
    let users = users.as_ref().map(AsFd::as_fd);
    let root = match &files.root {
        Some(folder) => changeable(sandbox, &on_host(folder)?, namespace)?,
        None => of_machine(sandbox, &on_host("/")?, namespace)?,
    };
    protect_processes(root.sandbox().processes())?;
    mount_system(&root.place("/sys")?, namespace)?;
    root.furnish(own, Path::new("/dev"), log_limit_bytes)?;
    let stack = root.place(STACK)?;
    match &files.stack {
        Some(folder) => bind_read_only(&on_host(folder)?, &stack, users)?,
        None => fs::create_dir_all(stack).context(STACK)?,
    }
    replace_hosts(&root, namespace.name)?;
    if files.root.is_none() {
        make_read_only(root.folder())?;
    }
    Ok(root)
}

/// Puts a file with the endpoints' names in the place of the machine's, which is not to be changed. It is the endpoint's own: what one
/// endpoint could write or lock there the other one could see.
fn replace_hosts(root: &Root, role: &str) -> Result<()> {
    let hosts = shared(&format!("/hosts-{role}"));
    fs::write(&hosts, hosts_file()).with_context(|| hosts.display().to_string())?;
    let place = root.place("/etc/hosts")?;
    mount(Some(&hosts), &place, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .context("/etc/hosts: replacing it with the names of the endpoints")?;
    make_read_only(&place)
}

/// A root file system with memory over it: the endpoint can change every file, as it can in a container, and changes none on the machine.
fn changeable(sandbox: Sandbox, base: &Path, namespace: &Namespace) -> Result<Root> {
    let place = Path::new(ROOTS).join(namespace.name);
    let [files, memory, folder] = ["files", "memory", "root"].map(|name| place.join(name));
    bind_read_only(base, &files, sandbox.owner().map(|_| sandbox.user_namespace()))?;
    mount_new("tmpfs", "memory", &memory, MsFlags::MS_NODEV, CHANGES_ROOM)?;
    let [changes, work] = ["changes", "work"].map(|name| memory.join(name));
    for folder in [&changes, &work] {
        fs::create_dir(folder).with_context(|| folder.display().to_string())?;
    }
    // It becomes the root folder.
    sandbox.give(&changes)?;
    let [files, upper, work] = [&files, &changes, &work].map(|folder| folder.display().to_string());
    // Only the machine's root may set the other kind of attributes, by which removed folders are marked.
    let attributes = if sandbox.owner().is_some() { "" } else { ",userxattr" };
    let layers = format!("lowerdir={files},upperdir={upper},workdir={work}{attributes}");
    mount_new("overlay", "overlay", &folder, MsFlags::MS_NODEV, &layers)?;
    Ok(Root::new(namespace.name, folder, Some(changes), true, sandbox))
}

/// The files of the machine itself, for reading only.
fn of_machine(sandbox: Sandbox, base: &Path, namespace: &Namespace) -> Result<Root> {
    let root = Root::new(namespace.name, Path::new(ROOTS).join(namespace.name).join("root"), None, true, sandbox);
    let users = root.sandbox().owner().map(|_| root.sandbox().user_namespace());
    mount_new("tmpfs", "root", root.folder(), MsFlags::empty(), "mode=755")?;
    for entry in fs::read_dir(base).with_context(|| base.display().to_string())? {
        let entry = entry?;
        let (from, to) = (entry.path(), root.folder().join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            symlink(fs::read_link(&from)?, &to).with_context(|| to.display().to_string())?;
        } else if kind.is_dir() && !ITS_OWN.iter().any(|name| entry.file_name() == *name) {
            bind_read_only(&from, &to, users)?;
        }
    }
    // `/var` is there read-only, and so is what is mounted below it.
    if root.outside("/var/tmp").is_dir() {
        mount_new("tmpfs", "tmpfs", &root.outside("/var/tmp"), MsFlags::empty(), "mode=1777")?;
    }
    mount_new("tmpfs", "home", &root.outside("/root"), MsFlags::empty(), "mode=700")?;
    root.sandbox().give(&root.outside("/root"))?;
    Ok(root)
}

/// An absolute path of the host, as this process sees it now.
fn on_host(path: &str) -> Result<PathBuf> {
    let relative =
        path.strip_prefix('/').with_context(|| format!("found the folder {path:?}, expected an absolute path"))?;
    let place = Path::new(HOST).join(relative);
    ensure!(place.is_dir(), "{path}: no such folder on the agent's machine");
    Ok(place)
}

/// What it shows of the network is that of `namespace`. A kernel that hides parts of the host's from this user allows no other one; then
/// the folder is empty.
fn mount_system(target: &Path, namespace: &Namespace) -> Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RDONLY;
    fs::create_dir_all(target).with_context(|| target.display().to_string())?;
    namespace.inside(|| match mount(Some("sysfs"), target, Some("sysfs"), flags, None::<&str>) {
        Err(Errno::EPERM) => Ok(()),
        result => result.with_context(|| format!("mounting sysfs at {}", target.display())),
    })
}

/// Protects what a table of processes shows of the whole machine, such as `sys` and `sysrq-trigger`: to write there, root needs no
/// capability.
fn protect_processes(target: &Path) -> Result<()> {
    for entry in fs::read_dir(target).with_context(|| target.display().to_string())? {
        let entry = entry?;
        let is_process = entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok());
        let kind = entry.file_type()?;
        if is_process || kind.is_symlink() || kind.is_file() && entry.metadata()?.mode() & WRITABLE == 0 {
            continue;
        }
        let path = entry.path();
        mount(Some(&path), &path, None::<&str>, MsFlags::MS_BIND, None::<&str>)
            .with_context(|| format!("binding {} to itself", path.display()))?;
        make_read_only(&path)?;
    }
    Ok(())
}
