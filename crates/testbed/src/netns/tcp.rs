//! TCP in the kernel with the congestion control that a run asks for.
//!
//! An ordinary user may choose the algorithms of `net.ipv4.tcp_allowed_congestion_control`. A route can have each that the kernel has, so the
//! agent gives the routes between the hosts the others.

use anyhow::{Result, bail};
use quiclab_agent_protocol::orders::Orders;
use quiclab_experiment::{run::Run, stack::StackManifest};

use super::host::Algorithms;

/// Tells an endpoint that the kernel already uses what `QUICLAB_CCA` says.
const IS_SET: &str = "QUICLAB_CCA_SET";

/// The algorithms of Linux (net/ipv4/Kconfig). Other names are a stack's own, which knows what it does with them.
const OF_LINUX: [&str; 17] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// Makes `orders` use the algorithm of the run where its stacks leave that to the kernel.
///
/// # Errors
/// Where the kernel lacks it.
pub(crate) fn choose(run: &Run, server: &StackManifest, known: &Algorithms, orders: &mut Orders) -> Result<()> {
    let asked = run.settings.stack.congestion_control.as_str();
    if server.is_quic() || known.allowed.contains(asked) || !OF_LINUX.contains(&asked) {
        return Ok(());
    }
    if !known.available.contains(asked) {
        let available = known.available.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        bail!(
            "stack.congestion_control: found {asked:?} with {}, expected one that the kernel has for TCP: {available}\n\
             hint: as root: modprobe tcp_{asked}; or --testbed vm",
            server.name
        );
    }
    orders.network.tcp_congestion_control = Some(asked.to_owned());
    for program in [&mut orders.server, &mut orders.client] {
        program.environment.insert(IS_SET.to_owned(), "route".to_owned());
    }
    Ok(())
}
