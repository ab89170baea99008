//! The life of process 1 of a virtual machine: bring the guest up, be saved, perform one run, power off.
//!
//! Everything up to the saved state is the same for all runs and happens once; see [`settle`]. A machine of User-Mode Linux is not saved: it boots
//! for every run. This life mounts file systems, loads
//! modules, changes the scheduler and the random pool, and undoes nothing. So it begins with [`marks::check`].

mod device;
mod images;
mod machine;
mod marks;
mod mounting;
mod random;
mod scheduler;
mod send_sizes;
mod settings;
mod thefts;

use std::{
    fs::{self, File},
    io::Write,
    os::fd::AsRawFd,
    path::Path,
};

use anyhow::{Context, Result};
use nix::mount::MsFlags;
use quiclab_agent_protocol::{
    places::{DOWNLOADS, WWW},
    results::ROLES,
};
use quiclab_sandbox::{mount_devices, mounts::mount_new};

use self::{
    device::Device,
    images::{DEVICES, RoleDevices},
    machine::Machine,
    settings::WholeMachine,
};
use crate::{jail::Users, root::make_shared, run, sandbox::Sandbox, settling::Settling, topology::Topology};

/// The block devices, in the order in which the testbed plugs them in.
struct Devices {
    /// Orders in, results out.
    slot: String,
    /// The server's.
    server: RoleDevices,
    /// The client's.
    client: RoleDevices,
}

/// What is ready before a run is known.
struct Settled {
    devices: Devices,
    topology: Topology,
    server: Sandbox,
    client: Sandbox,
}

/// Who the endpoints' roots are outside of their user namespaces.
const SERVER_USERS: Users = Users::From(100_000);
const CLIENT_USERS: Users = Users::From(200_000);

/// Modules in the order they are to be loaded, one path per line.
const MODULE_LIST: &str = "/modules/list";

/// Runs as process 1. Does not return in a virtual machine of quiclab.
///
/// # Errors
/// Anywhere else, before anything is changed.
pub fn main() -> Result<()> {
    let machine = marks::check()?;
    let result = settle(machine).and_then(|settled| {
        machine.stop_here().context("stopping to be saved")?;
        perform(settled, machine)
    });
    if let Err(error) = result {
        // The console is where the testbed looks when no results come.
        eprintln!("quiclab-agent: {error:#}");
    }
    let _ = machine.power_off();
    unreachable!("the machine continues to run after it was powered off");
}

/// Mounts, modules, namespaces: everything that no setting changes.
fn settle(machine: Machine) -> Result<Settled> {
    for (kind, target) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        mount_new(kind, kind, Path::new(target), MsFlags::empty(), "")?;
    }
    let console = File::options().read(true).write(true).open("/dev/console").context("/dev/console")?;
    for descriptor in 0..3 {
        // SAFETY: plain system call on descriptors that are ours.
        unsafe { libc::dup2(console.as_raw_fd(), descriptor) };
    }
    mount_new("debugfs", "debugfs", Path::new("/sys/kernel/debug"), MsFlags::empty(), "")?;
    scheduler::set_slices()?;
    load_modules()?;
    let devices = find_devices(machine)?;
    make_shared("100%")?;
    for role in ROLES {
        mount_devices(Path::new("/dev"), &Path::new(DEVICES).join(role))?;
    }
    let (server, server_network) = Sandbox::create("server", SERVER_USERS)?;
    let (client, client_network) = Sandbox::create("client", CLIENT_USERS)?;
    let topology = Topology::build(server_network, client_network, Settling::Patient)?;
    Ok(Settled { devices, topology, server, client })
}

fn find_devices(machine: Machine) -> Result<Devices> {
    let found = match machine {
        Machine::Qemu => find_nvdimms()?,
        // The kernel names them by the number that the command line gives them.
        Machine::Uml => ('a'..='e').map(|letter| format!("/dev/ubd{letter}")).collect(),
    };
    let [slot, server_image, server_stack, client_image, client_stack] = &found[..] else {
        anyhow::bail!(
            "found {} block devices, expected 5: the slot, image and stack of the server and of the client",
            found.len()
        );
    };
    let role = |image: &String, stack: &String| RoleDevices { image: image.clone(), stack: stack.clone() };
    Ok(Devices {
        slot: slot.clone(),
        server: role(server_image, server_stack),
        client: role(client_image, client_stack),
    })
}

/// The kernel numbers its block devices as it comes across them; their addresses follow the order of the slots.
fn find_nvdimms() -> Result<Vec<String>> {
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
    Ok(found.into_iter().map(|(_, device)| device).collect())
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

fn perform(Settled { devices, topology, server, client }: Settled, machine: Machine) -> Result<()> {
    let mut device = Device::open(Path::new(&devices.slot)).with_context(|| devices.slot.clone())?;
    let orders = device.read_orders()?;
    let hooks = WholeMachine::new(&orders, machine)?;
    let server = devices.server.mount(WWW, &topology.server, server, orders.log_limit_bytes)?;
    let client = devices.client.mount(DOWNLOADS, &topology.client, client, orders.log_limit_bytes)?;
    let roots = run::Roots { server: &server, client: &client };
    let finished = run::perform(&orders, &topology, &roots, &hooks);
    device.hand_over(finished, &orders)?;
    std::io::stderr().flush()?;
    Ok(())
}
