//! Who moves packets between the namespaces: this machine's kernel, where it has the disciplines and does exactly what is asked for, or
//! the agent in user space.

use std::collections::BTreeSet;

use quiclab_experiment::run::{Offloads, Run, Settings};

use super::{
    host::{Facts, PROGRAMS},
    machine,
};
use crate::guest::{
    disciplines::network_by,
    path::{Direction, PathBackend, choose_with, compile},
};

/// Who moves packets in a run with these settings, where the kernel lacks the disciplines `missing`.
///
/// # Errors
/// Where the settings ask for the kernel, and it cannot.
pub(crate) fn choose(settings: &Settings, missing: &BTreeSet<String>) -> Result<PathBackend, String> {
    choose_with(settings, &|settings| {
        super_packets(settings)?;
        let directions =
            compile(settings).map_err(|error| error.replace("the kernel of the virtual machine", "a kernel"))?;
        match lacked(&directions, missing) {
            None => Ok(directions),
            Some((stage, kind)) => Err(format!(
                "this machine's kernel has no {kind}, which stage {stage:?} of the path needs\nhint: path.forwarder = \"auto\", or \
                 --testbed vm"
            )),
        }
    })
}

/// Queueing disciplines take a super-packet for one packet.
fn super_packets(settings: &Settings) -> Result<(), String> {
    let has_stages = !settings.stages_to_client().is_empty() || !settings.stages_to_server().is_empty();
    if settings.hosts.offloads == Offloads::On && has_stages {
        return Err("hosts.offloads: found \"on\" with stages of the path, which take a super-packet for one packet in a kernel\nhint: \
                    path.forwarder = \"auto\""
            .to_owned());
    }
    Ok(())
}

/// The first stage that the kernel has no discipline for.
fn lacked<'a>(directions: &'a [Direction; 2], missing: &BTreeSet<String>) -> Option<(&'a str, &'static str)> {
    let lists = directions.iter().find_map(|direction| direction.drops_name.as_deref());
    if let Some(stage) = lists.filter(|_| missing.contains(PROGRAMS)) {
        return Some((stage, PROGRAMS));
    }
    let all = directions.iter().flat_map(|direction| &direction.disciplines);
    all.map(|(stage, one)| (stage.as_str(), one.name())).find(|(_, kind)| missing.contains(*kind))
}

/// Why this machine cannot do what `run` asks for; `None` where it can.
pub(super) fn refuse(run: &Run, facts: &Facts) -> Option<String> {
    machine::refuse(&run.settings.hosts, facts).or_else(|| refuse_path(run, &facts.missing))
}

/// The same for a path through kernels that lack these disciplines.
pub(crate) fn refuse_path(run: &Run, lacks: &BTreeSet<String>) -> Option<String> {
    let way = match choose(&run.settings, lacks) {
        Ok(way) => way,
        Err(why) => return Some(why),
    };
    let network = match network_by(run, way) {
        Ok(network) => network,
        Err(error) => return Some(format!("{error:#}")),
    };
    let all = network.server.iter().chain(&network.client).map(|one| ("hosts.server_qdisc", one));
    // What the forwarder leaves to the kernel.
    let all = all.chain(network.to_server.iter().map(|one| ("hosts.receive_coalescing", one)));
    let (key, kind) = all.map(|(key, one)| (key, one.name())).find(|(_, kind)| lacks.contains(*kind))?;
    Some(format!(
        "{key}: this machine's kernel has no {kind}\nhint: --testbed vm, or a kernel with it (Debian's linux-image packages have \
         it)"
    ))
}

#[cfg(test)]
mod tests {
    use quiclab_experiment::run::{Forwarder, Settings};

    use super::*;

    #[test]
    fn a_kernel_without_netem_leaves_the_path_to_user_space_and_says_why() {
        let settings = Settings::default();
        let has_all = BTreeSet::new();
        assert!(matches!(choose(&settings, &has_all), Ok(PathBackend::Kernel(_))));
        let missing = BTreeSet::from(["netem".to_owned()]);
        let Ok(PathBackend::User { why }) = choose(&settings, &missing) else { panic!("expected user space") };
        assert!(why.starts_with("this machine's kernel has no netem"), "{why}");
        let mut listed = settings.clone();
        listed.path.drops_to_server = vec![3];
        assert!(matches!(choose(&listed, &has_all), Ok(PathBackend::Kernel(_))));
        let for_users = BTreeSet::from([PROGRAMS.to_owned()]);
        assert!(matches!(choose(&settings, &for_users), Ok(PathBackend::Kernel(_))));
        let Ok(PathBackend::User { why }) = choose(&listed, &for_users) else { panic!("expected user space") };
        assert!(why.contains("has no eBPF for ordinary users"), "{why}");
        let mut asks = settings;
        asks.path.forwarder = Forwarder::Kernel;
        let error = choose(&asks, &missing).unwrap_err();
        assert!(error.contains("hint: path.forwarder = \"auto\""), "{error}");
    }
}
