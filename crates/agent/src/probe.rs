//! The life that looks what this machine allows: it makes the namespaces of a run, tries every queueing discipline in them, and prints
//! a line of JSON. Nothing is left behind.

use std::io::Read;

use anyhow::{Context, Result, ensure};
use netlink_packet_route::RouteNetlinkMessage;
use quiclab_agent_protocol::{
    network::{Discipline, Fq, Netem},
    probe::Probe,
};

use crate::{
    jail::{End, Jail, Users},
    netlink::Netlink,
    qdisc,
    topology::index,
};

/// Looks, and prints what there is.
///
/// # Errors
/// Where the kernel allows no namespaces, or standard output fails.
pub fn main() -> Result<()> {
    println!("{}", serde_json::to_string(&look()?)?);
    Ok(())
}

/// What there is.
///
/// # Errors
/// Where the kernel allows no namespaces.
pub(crate) fn look() -> Result<Probe> {
    let users = (!nix::unistd::getuid().is_root()).then_some(Users::Me);
    let (mut answer, said) = std::io::pipe().context("pipe")?;
    let kinds = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
    let jail = Jail::start(kinds, users, || match missing_disciplines() {
        Ok(missing) => {
            let probe = Probe { is_in_user_namespace: users.is_some(), missing_disciplines: missing };
            i32::from(serde_json::to_writer(&said, &probe).is_err())
        }
        Err(error) => {
            eprintln!("quiclab-agent: {error:#}");
            1
        }
    })?;
    drop(said);
    let mut line = String::new();
    answer.read_to_string(&mut line).context("the answer from new namespaces")?;
    match jail.wait()? {
        End::Exit(0) => {}
        end => anyhow::bail!("the process in new namespaces ended with {end}"),
    }
    ensure!(!line.is_empty(), "the process in new namespaces said nothing");
    serde_json::from_str(&line).with_context(|| format!("the process in new namespaces: found {line:?}"))
}

/// The disciplines that a run may ask for and that this kernel lacks.
fn missing_disciplines() -> Result<Vec<String>> {
    let interface = index("lo")?;
    let mut netlink = Netlink::open()?;
    let mut missing = Vec::new();
    for one in each() {
        let Some(message) = qdisc::nested(interface, std::slice::from_ref(&one)).into_iter().next() else { continue };
        match netlink.create(RouteNetlinkMessage::NewQueueDiscipline(message.clone())) {
            Ok(()) => netlink
                .change(RouteNetlinkMessage::DelQueueDiscipline(message))
                .with_context(|| format!("removing {}", one.name()))?,
            // Of a discipline that it knows the kernel says what is wrong with the options.
            Err(error) if is_unknown(&error) => missing.push(one.name().to_owned()),
            Err(_) => {}
        }
    }
    Ok(missing)
}

/// Whether the kernel says that there is no such thing.
fn is_unknown(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error) == Some(libc::ENOENT)
}

/// One of each kind.
fn each() -> [Discipline; 8] {
    [
        Discipline::Tbf { rate_bytes_per_second: 1_000_000, burst_bytes: 3000, limit_bytes: 3000 },
        Discipline::Netem(Netem { limit_packets: 1, ..Netem::default() }),
        Discipline::Pfifo { limit_packets: 1 },
        Discipline::PfifoFast,
        Discipline::FqCodel,
        Discipline::Fq(Fq::default()),
        Discipline::Etf { delta_ns: 200_000, deadline: false },
        Discipline::GsoPace { clock: quiclab_agent_protocol::network::Clock::Tai },
    ]
}
