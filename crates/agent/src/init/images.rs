//! The roots of the virtual machine's endpoints: images in NVDIMMs.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use nix::mount::MsFlags;
use quiclab_orders::places::STACK;

use crate::{
    namespace::Namespace,
    root::{ROOTS, Root, hosts_file, mount_new},
};

/// The block devices of one role.
#[derive(Clone, Debug)]
pub struct RoleDevices {
    /// Its root file system, as erofs.
    pub image: String,
    /// What its stack brings along, as erofs.
    pub stack: String,
}

impl RoleDevices {
    /// Mounts the root of `role`, whose network is `namespace`, with room for `log_limit_bytes` in its logs and the shared folder
    /// `own`.
    ///
    /// # Errors
    /// Where something cannot be mounted.
    pub fn mount(&self, role: &str, own: &str, namespace: &Namespace, log_limit_bytes: u64) -> Result<Root> {
        let base = Path::new(ROOTS).join(role);
        let [image, memory, folder] = ["image", "memory", "root"].map(|name| base.join(name));
        mount_new("erofs", &self.image, &image, MsFlags::MS_RDONLY, "")?;
        mount_new("tmpfs", "memory", &memory, MsFlags::empty(), "size=100%")?;
        let [changes, work] = ["changes", "work"].map(|name| memory.join(name));
        for folder in [&changes, &work] {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        let layers = format!("lowerdir={},upperdir={},workdir={}", image.display(), changes.display(), work.display());
        mount_new("overlay", "overlay", &folder, MsFlags::empty(), &layers)?;
        let root = Root::new(folder, Some(changes));
        mount_new("proc", "proc", &root.outside("/proc"), MsFlags::empty(), "")?;
        // What it shows of the network is that of the namespace in which it is mounted.
        namespace.inside(|| mount_new("sysfs", "sysfs", &root.outside("/sys"), MsFlags::empty(), ""))?;
        mount_new("devtmpfs", "devtmpfs", &root.outside("/dev"), MsFlags::empty(), "")?;
        link_descriptors(&root.outside("/dev"))?;
        root.furnish(own, log_limit_bytes)?;
        mount_new("erofs", &self.stack, &root.outside(STACK), MsFlags::MS_RDONLY, "")?;
        write_hosts(root.outside("/etc"))?;
        Ok(root)
    }
}

fn link_descriptors(devices: &Path) -> Result<()> {
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        match symlink(target, devices.join(name)) {
            // The device file system is one for both roots.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error).context(name),
            _ => {}
        }
    }
    Ok(())
}

fn write_hosts(folder: PathBuf) -> Result<()> {
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let path = folder.join("hosts");
    fs::write(&path, hosts_file()).with_context(|| path.display().to_string())
}
