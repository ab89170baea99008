//! Settings of the kernel for the namespaces of a run.
//!
//! A new namespace has the IPv4 settings of the machine, and may have its IPv6 settings too
//! (`/proc/sys/net/core/devconf_inherit_init_net`). What changes packets is therefore always set.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use crate::settling::{HURRIED_REPORT_MS, Settling};

/// A host takes what is for its own addresses and nothing else. On a machine that forwards, as one with containers does, it would send
/// on what is for others; with a filter of sources it would drop what comes by another way than answers take.
const IPV4: [(&str, &str); 3] = [("forwarding", "0"), ("rp_filter", "0"), ("accept_local", "0")];

/// Nothing of IPv6 may put packets on the wire that nobody asked for: no addresses but those given, no search for duplicates
/// of them, no routers.
const IPV6: [(&str, &str); 7] = [
    ("forwarding", "0"),
    ("addr_gen_mode", "1"),
    ("accept_dad", "0"),
    ("dad_transmits", "0"),
    ("router_solicitations", "0"),
    ("accept_ra", "0"),
    ("autoconf", "0"),
];

/// Sets what the calling thread's namespace needs, which is an endpoint's.
///
/// # Errors
/// Where the kernel has no such settings or refuses them.
pub(crate) fn of_host(settling: Settling) -> Result<()> {
    IPV4.iter().try_for_each(|(name, value)| set("ipv4", name, value))?;
    if settling == Settling::WithoutIpv6 {
        return without_ipv6();
    }
    if settling == Settling::Hurried {
        for version in ["mldv1", "mldv2"] {
            set("ipv6", &format!("{version}_unsolicited_report_interval"), HURRIED_REPORT_MS)?;
        }
    }
    IPV6.iter().try_for_each(|(name, value)| set("ipv6", name, value))
}

/// Switches IPv6 off in the calling thread's namespace.
///
/// # Errors
/// Where the kernel has no such setting or refuses it.
pub(crate) fn without_ipv6() -> Result<()> {
    set("ipv6", "disable_ipv6", "1")
}

/// Sets a value for the interfaces there are and for those to come.
fn set(family: &str, name: &str, value: &str) -> Result<()> {
    let folder = Path::new("/proc/sys/net").join(family).join("conf");
    for entry in fs::read_dir(&folder).with_context(|| format!("{family} of this kernel"))? {
        let path = entry?.path().join(name);
        match fs::write(&path, value) {
            // Not every one has a meaning for all interfaces together.
            Err(error) if path.parent().is_some_and(|folder| !folder.ends_with("all")) => {
                return Err(error).with_context(|| path.display().to_string());
            }
            _ => {}
        }
    }
    Ok(())
}
