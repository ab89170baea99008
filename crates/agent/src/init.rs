//! The life of process 1: bring the guest up, be saved, perform one run, power off.
//!
//! Everything up to the saved state is the same for all runs and happens once; see [`settle`].

use std::{
    fs::{self, File},
    io::Write,
    os::fd::AsRawFd,
    path::Path,
};

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount};
use quiclab_agent::{machine, run, scheduler, slot::Device, topology::Topology};

/// The three NVDIMMs, in the order in which the testbed plugs them in.
struct Devices {
    /// Read-only root file system, as erofs.
    root: String,
    /// Orders in, results out.
    slot: String,
    /// What the stack under test brings along, as erofs.
    stack: String,
}

/// Modules in the order they are to be loaded, one path per line.
const MODULE_LIST: &str = "/modules/list";

/// Runs as process 1 and does not return.
pub fn main() -> ! {
    let result = settle().and_then(|(devices, topology)| {
        machine::stop_here().context("stopping to be saved")?;
        serve(&devices, &topology)
    });
    if let Err(error) = result {
        // The console is where the testbed looks when no results come.
        eprintln!("quiclab-agent: {error:#}");
    }
    let _ = machine::power_off();
    unreachable!("the machine goes on after it was powered off");
}

/// Mounts, modules, namespaces: everything that no setting changes.
fn settle() -> Result<(Devices, Topology)> {
    for (kind, target) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        mount_new(kind, kind, target, MsFlags::empty(), "")?;
    }
    let console = File::options().read(true).write(true).open("/dev/console").context("/dev/console")?;
    for descriptor in 0..3 {
        // SAFETY: plain system call on descriptors that are ours.
        unsafe { libc::dup2(console.as_raw_fd(), descriptor) };
    }
    mount_new("debugfs", "debugfs", "/sys/kernel/debug", MsFlags::empty(), "")?;
    scheduler::set_slices()?;
    load_modules()?;
    let devices = find_devices()?;
    mount_root(&devices.root)?;
    Ok((devices, Topology::build()?))
}

/// The kernel numbers its block devices as it comes across them; their addresses follow the order of the slots.
fn find_devices() -> Result<Devices> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/sys/block").context("/sys/block")? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("pmem") {
            let path = entry.path().join("device/resource");
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let address =
                u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).with_context(|| text.clone())?;
            found.push((address, format!("/dev/{name}")));
        }
    }
    found.sort();
    let [(_, root), (_, slot), (_, stack)] = &found[..] else {
        anyhow::bail!("found {} NVDIMMs, expected 3: root, slot, stack", found.len());
    };
    Ok(Devices { root: root.clone(), slot: slot.clone(), stack: stack.clone() })
}

fn load_modules() -> Result<()> {
    let list = fs::read_to_string(MODULE_LIST).context(MODULE_LIST)?;
    for path in list.lines() {
        let file = File::open(path).with_context(|| path.to_owned())?;
        // SAFETY: the descriptor is live and the parameters are an empty string.
        let result = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) };
        let error = std::io::Error::last_os_error();
        if result != 0 && error.raw_os_error() != Some(libc::EEXIST) {
            return Err(error).with_context(|| format!("loading {path}"));
        }
    }
    Ok(())
}

/// An overlay of memory over the read-only image becomes the root.
fn mount_root(device: &str) -> Result<()> {
    for folder in ["/lower", "/upper", "/new"] {
        fs::create_dir_all(folder).context(folder)?;
    }
    mount_new("erofs", device, "/lower", MsFlags::MS_RDONLY, "")?;
    mount_new("tmpfs", "upper", "/upper", MsFlags::empty(), "size=100%")?;
    for folder in ["/upper/changes", "/upper/work"] {
        fs::create_dir_all(folder).context(folder)?;
    }
    mount_new(
        "overlay",
        "overlay",
        "/new",
        MsFlags::empty(),
        "lowerdir=/lower,upperdir=/upper/changes,workdir=/upper/work",
    )?;
    for (kind, target) in [("proc", "/new/proc"), ("sysfs", "/new/sys"), ("devtmpfs", "/new/dev")] {
        mount_new(kind, kind, target, MsFlags::empty(), "")?;
    }
    // Plain memory where much is written: the overlay would only be in the way.
    for target in ["/new/tmp", "/new/run", run::WWW, run::DOWNLOADS] {
        let target = if target.starts_with("/new") { target.to_owned() } else { format!("/new{target}") };
        mount_new("tmpfs", "tmpfs", &target, MsFlags::empty(), "size=100%,mode=1777")?;
    }
    fs::create_dir_all("/new/stack").context("/stack")?;
    nix::unistd::chdir("/new")?;
    mount(Some("."), "/", None::<&str>, MsFlags::MS_MOVE, None::<&str>).context("moving the root")?;
    nix::unistd::chroot(".").context("chroot")?;
    nix::unistd::chdir("/")?;
    Ok(())
}

fn mount_new(kind: &str, source: &str, target: &str, flags: MsFlags, options: &str) -> Result<()> {
    fs::create_dir_all(target).with_context(|| target.to_owned())?;
    mount(Some(source), target, Some(kind), flags, Some(options))
        .with_context(|| format!("mounting {source} at {target}"))
}

fn serve(devices: &Devices, topology: &Topology) -> Result<()> {
    let mut device = Device::open(Path::new(&devices.slot)).with_context(|| devices.slot.clone())?;
    let orders = device.read_orders()?;
    mount_new("erofs", &devices.stack, "/stack", MsFlags::MS_RDONLY, "")?;
    let finished = run::perform(&orders, topology);
    finished.hand_over(&mut device, &orders)?;
    std::io::stderr().flush()?;
    Ok(())
}
