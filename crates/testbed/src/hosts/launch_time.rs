//! `hosts.etf_launch_time`: packets that a network card sends at their times.

use quiclab_agent_protocol::hosts::HostFacts;
use quiclab_experiment::run::Run;

use super::{
    inventory::{HostEntry, Inventory, Role},
    talk::Sessions,
};

/// Why a run cannot have launch times; `None` where it asks for none.
pub(super) fn refuse(run: &Run, inventory: &Inventory, sessions: &Sessions) -> Option<String> {
    if !run.settings.hosts.etf_launch_time {
        return None;
    }
    let server = inventory.hosts.iter().zip(&sessions.facts).find(|(entry, _)| entry.role == Role::Server);
    server.map(|(entry, facts)| why_not(entry, facts))
}

fn why_not(server: &HostEntry, facts: &HostFacts) -> String {
    let interface = server.interface.as_deref().unwrap_or_default();
    let card = facts.interfaces.iter().find(|card| card.name == interface);
    let why = match card {
        None => "this host has none of that name".to_owned(),
        Some(card) => card.no_launch_time.clone().unwrap_or_else(|| {
            "its card and driver offer launch times, but packets reach the card through virtual interfaces, which lose their send times"
                .to_owned()
        }),
    };
    format!(
        "hosts.etf_launch_time: found true, expected false: {}: interface {interface:?}: {why}\nhint: quiclab doctor --hosts FILE shows \
         which cards offer LaunchTime",
        server.label()
    )
}

#[cfg(test)]
mod tests {
    use quiclab_agent_protocol::hosts::InterfaceFacts;

    use super::*;

    #[test]
    fn the_card_and_then_the_way_to_it_are_the_reason() {
        let text = "[[host]]\nrole = \"server\"\nssh = \"a\"\ninterface = \"eth1\"\n[[host]]\nrole = \"client\"\nssh = \"b\"\ninterface = \"x\"\n";
        let inventory = Inventory::parse(text).unwrap();
        let said = |no_launch_time: Option<&str>| {
            let card = InterfaceFacts {
                name: "eth1".to_owned(),
                no_launch_time: no_launch_time.map(str::to_owned),
                ..InterfaceFacts::default()
            };
            why_not(&inventory.hosts[0], &HostFacts { interfaces: vec![card], ..HostFacts::default() })
        };
        let without = said(Some("no clock"));
        assert!(without.contains("server (a): interface \"eth1\": no clock"), "{without}");
        assert!(said(None).contains("lose their send times"));
        assert!(why_not(&inventory.hosts[0], &HostFacts::default()).contains("none of that name"));
    }
}
