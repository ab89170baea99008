//! An Internet that runs.

use std::{
    collections::BTreeSet,
    io,
    net::IpAddr,
    os::fd::OwnedFd,
    thread::{Builder, JoinHandle},
};

use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::{
    description::Description,
    drops::{self, Drops},
    error::StartError,
    forwarder::{Core, Forwarder},
    link,
    nat::Nat,
    record::Recorder,
    resolver::Resolver,
    truth::Truth,
    tun::Tun,
};

/// Name of the interface behind which all hosts are.
pub const INTERFACE: &str = "internet0";

/// What the kernel had dropped at the start, and whose sockets are whose.
#[derive(Debug)]
struct Counted {
    before: Option<Drops>,
    servers: BTreeSet<u16>,
    own: BTreeSet<u16>,
}

/// A running Internet. Dropping it ends it.
#[derive(Debug)]
pub struct Internet {
    thread: Option<JoinHandle<io::Result<Truth>>>,
    stop: EventFd,
    resolver: Option<Resolver>,
    drops: Counted,
}

impl Internet {
    /// Starts an Internet in the network namespace of the calling thread, which should be one of
    /// [`enter_empty_network`](crate::enter_empty_network). There can be one in each.
    ///
    /// # Errors
    /// Where the description is bad, or the kernel refuses a device, a route, a socket or a file.
    pub fn start(description: &Description) -> Result<Self, StartError> {
        description.check()?;
        let settings = &description.settings;
        let tun = Tun::create(INTERFACE).map_err(no_tun)?;
        link::silence_ipv6();
        let addresses = own_addresses(description);
        let mut prefixes: Vec<_> = description.groups.iter().flat_map(|group| &group.prefixes).copied().collect();
        prefixes.iter_mut().for_each(|prefix| *prefix = prefix.trunc());
        prefixes.sort();
        prefixes.dedup();
        link::configure(INTERFACE, settings.mtu, &addresses, &prefixes)
            .map_err(|why| StartError::kernel(format!("interface {INTERFACE}"), why))?;
        let nat = Nat::open().map_err(|why| StartError::kernel("sockets on the loopback", why))?;
        let stop = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
            .map_err(|why| StartError::kernel("eventfd", why))?;
        let stop_of_thread = own(&stop).map_err(|why| StartError::kernel("eventfd", why))?;
        let resolver = settings.resolver.map(|address| Resolver::start(address, &description.names)).transpose()?;
        let recorder = settings.record.as_deref().map(|folder| Recorder::start(folder, description)).transpose()?;
        let core = Core::new(description, recorder)
            .map_err(|why| StartError::kernel("a histogram", io::Error::other(why.to_string())))?;
        let servers = description.servers.iter().map(|server| server.address.port()).collect();
        let own = nat.ports().map_err(|why| StartError::kernel("sockets on the loopback", why))?;
        let drops = Counted { before: drops::read(INTERFACE, &servers, &own), servers, own };
        let (spin, is_real_time) = (settings.spin.as_nanos(), settings.is_real_time);
        let forwarder = Forwarder { tun, nat, core, stop: stop_of_thread, spin, is_real_time, spun: 0 };
        let thread = Builder::new().name("internet".to_owned()).spawn(move || forwarder.run());
        let thread = Some(thread.map_err(|why| StartError::kernel("a thread", why))?);
        Ok(Self { thread, stop, resolver, drops })
    }

    /// Ends it, and tells what happened. Packets on their way are lost.
    ///
    /// # Errors
    /// What ended it before: the kernel, or the disk of the record.
    pub fn stop(mut self) -> io::Result<Truth> {
        // While interface and sockets are still there.
        let now = drops::read(INTERFACE, &self.drops.servers, &self.drops.own);
        let mut truth = self.end().unwrap_or_else(|| Ok(Truth::default()))?;
        if let Some(drops) = now.zip(self.drops.before).map(|(now, before)| now.since(&before)) {
            truth.counters.dropped_at_scanner = Some(drops.at_sockets.saturating_sub(drops.at_servers + drops.at_own));
            truth.counters.dropped_at_servers = Some(drops.at_servers);
            truth.counters.dropped_inside = Some(drops.at_own);
            truth.counters.dropped_at_interface = Some(drops.at_interface);
        }
        Ok(truth)
    }

    fn end(&mut self) -> Option<io::Result<Truth>> {
        self.resolver.take();
        let thread = self.thread.take()?;
        // Full only after 2^64 calls.
        let _ = self.stop.write(1);
        match thread.join() {
            Ok(truth) => Some(truth),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for Internet {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = self.end();
        }
    }
}

fn no_tun(why: io::Error) -> StartError {
    let hint = match why.kind() {
        io::ErrorKind::NotFound => "\nhint: load the kernel's module tun",
        io::ErrorKind::PermissionDenied => {
            "\nhint: chmod 666 /dev/net/tun, as most distributions have it, or run as root"
        }
        _ => "",
    };
    StartError::kernel(format!("TUN device {INTERFACE}"), anyhow::anyhow!("{why}{hint}"))
}

fn own(event: &EventFd) -> io::Result<OwnedFd> {
    use std::os::fd::AsFd;
    event.as_fd().try_clone_to_owned()
}

/// Addresses of the families that there are hosts of: a kernel without IPv6 is fine for others.
fn own_addresses(description: &Description) -> Vec<IpAddr> {
    let settings = &description.settings;
    let is_used = |is_ipv4: bool| {
        let mut prefixes = description.groups.iter().flat_map(|group| &group.prefixes);
        prefixes.any(|prefix| prefix.addr().is_ipv4() == is_ipv4)
    };
    let mut addresses = Vec::new();
    addresses.extend(is_used(true).then_some(IpAddr::V4(settings.client_v4)));
    addresses.extend(is_used(false).then_some(IpAddr::V6(settings.client_v6)));
    addresses
}
