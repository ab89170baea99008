//! The roots of the virtual machine's endpoints: images in block devices.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use nix::mount::MsFlags;
use quiclab_agent_protocol::places::STACK;
use quiclab_sandbox::mounts::mount_new;

use super::mounting::mount_image;
use crate::{
    namespace::Namespace,
    root::{ROOTS, Root, hosts_file},
    sandbox::Sandbox,
};

/// Where the devices that endpoints may use are, in a folder for each role.
pub const DEVICES: &str = "/devices";

/// The block devices of one role.
#[derive(Clone, Debug)]
pub struct RoleDevices {
    /// Its root file system, as erofs.
    pub image: String,
    /// What its stack brings along, as erofs.
    pub stack: String,
}

impl RoleDevices {
    /// Mounts the root of the endpoint in `namespace` and in `sandbox`, with room for `log_limit_bytes` in its logs and the shared
    /// folder `own`.
    ///
    /// # Errors
    /// Where something cannot be mounted.
    pub fn mount(&self, own: &str, namespace: &Namespace, sandbox: Sandbox, log_limit_bytes: u64) -> Result<Root> {
        let base = Path::new(ROOTS).join(namespace.name);
        let [image, memory, folder] = ["image", "memory", "root"].map(|name| base.join(name));
        mount_image(&self.image, &image, sandbox.user_namespace())?;
        mount_new("tmpfs", "memory", &memory, MsFlags::MS_NODEV, "size=25%")?;
        let [changes, work] = ["changes", "work"].map(|name| memory.join(name));
        for folder in [&changes, &work] {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        // It becomes the root folder.
        sandbox.give(&changes)?;
        let layers = format!("lowerdir={},upperdir={},workdir={}", image.display(), changes.display(), work.display());
        mount_new("overlay", "overlay", &folder, MsFlags::MS_NODEV, &layers)?;
        let root = Root::new(namespace.name, folder, Some(changes), false, sandbox);
        // What it shows of the network is that of the namespace in which it is mounted.
        let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        let system = root.place("/sys")?;
        namespace.inside(|| mount_new("sysfs", "sysfs", &system, flags, ""))?;
        root.furnish(own, &Path::new(DEVICES).join(namespace.name), log_limit_bytes)?;
        mount_image(&self.stack, &root.place(STACK)?, root.sandbox().user_namespace())?;
        write_hosts(&root)?;
        Ok(root)
    }
}

fn write_hosts(root: &Root) -> Result<()> {
    let folder = root.place("/etc")?;
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let path: PathBuf = root.place("/etc/hosts")?;
    fs::write(&path, hosts_file()).with_context(|| path.display().to_string())?;
    root.sandbox().give(&path)
}
