//! A network namespace of this process's own, from which no packet reaches another machine.

use std::fs;

use anyhow::{Context, ensure};
use netlink_packet_route::{
    RouteNetlinkMessage,
    link::{LinkAttribute, LinkMessage},
    route::{RouteAttribute, RouteMessage},
};
use nix::{
    errno::Errno,
    sched::{CloneFlags, unshare},
    unistd::{getgid, getuid},
};
use quiclab_agent::netlink::Netlink;

use crate::{error::StartError, link};

/// Moves this process into a new network namespace that has nothing but a loopback interface, which is up. An ordinary user
/// becomes root of a new user namespace for it.
///
/// # Errors
/// Where the kernel does not allow it, or this process has a second thread: only the calling thread would be moved.
pub fn enter_empty_network() -> Result<(), StartError> {
    enter().map_err(|why| StartError::kernel("a network namespace", why))
}

fn enter() -> anyhow::Result<()> {
    let threads = fs::read_dir("/proc/self/task").context("/proc/self/task")?.count();
    ensure!(threads == 1, "found {threads} threads, expected one");
    match unshare(CloneFlags::CLONE_NEWNET) {
        Err(Errno::EPERM) => enter_as_ordinary_user()?,
        result => result?,
    }
    link::raise_loopback()
}

fn enter_as_ordinary_user() -> anyhow::Result<()> {
    // Their numbers are others inside.
    let (user, group) = (getuid(), getgid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).context(
        "no user namespaces\nhint: run as root, or allow them: sysctl user.max_user_namespaces=10000, and on Ubuntu \
         kernel.apparmor_restrict_unprivileged_userns=0",
    )?;
    // A group can be mapped only by who cannot drop groups.
    fs::write("/proc/self/setgroups", "deny").context("/proc/self/setgroups")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1\n")).context("/proc/self/uid_map")?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1\n")).context("/proc/self/gid_map")
}

/// Ways out of the calling thread's network namespace, in the words of an operator. Empty: there is none. `own` are the
/// interfaces that lead nowhere, beside the loopback: the Internet's.
///
/// # Errors
/// Where the kernel does not list interfaces or routes.
pub fn ways_out(own: &[&str]) -> Result<Vec<String>, StartError> {
    find_ways_out(own).map_err(|why| StartError::kernel("listing interfaces and routes", why))
}

fn find_ways_out(own: &[&str]) -> anyhow::Result<Vec<String>> {
    let mut netlink = Netlink::open()?;
    let mut inside = Vec::new();
    let mut ways = Vec::new();
    for message in netlink.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))? {
        let RouteNetlinkMessage::NewLink(link) = message else { continue };
        let name = link.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::IfName(name) => Some(name.as_str()),
            _ => None,
        });
        match name {
            Some(name) if name == "lo" || own.contains(&name) => inside.push(link.header.index),
            name => ways.push(format!("interface {}", name.unwrap_or("without a name"))),
        }
    }
    for message in netlink.dump(RouteNetlinkMessage::GetRoute(RouteMessage::default()))? {
        let RouteNetlinkMessage::NewRoute(route) = message else { continue };
        for attribute in &route.attributes {
            match attribute {
                RouteAttribute::Oif(interface) if !inside.contains(interface) => {
                    ways.push(format!("route by interface {interface}"));
                }
                RouteAttribute::Gateway(gateway) => ways.push(format!("route by gateway {gateway:?}")),
                _ => {}
            }
        }
    }
    Ok(ways)
}
