//! Settings that belong to the whole machine, which a run does not change: it is refused where the machine has other values.

use quiclab_experiment::run::{CpuList, Hosts};

use super::host::{Facts, Sockets};

/// What `hosts` asks for and this machine does not have; `None` where it has everything.
pub(super) fn refuse(hosts: &Hosts, facts: &Facts) -> Option<String> {
    cpus(hosts, facts).or_else(|| sockets(hosts, &facts.sockets))
}

fn cpus(hosts: &Hosts, facts: &Facts) -> Option<String> {
    let lists = [
        ("hosts.server_cpus", &hosts.server_cpus),
        ("hosts.client_cpus", &hosts.client_cpus),
        ("hosts.forwarder_cpus", &hosts.forwarder_cpus),
    ];
    lists.into_iter().find_map(|(key, list)| {
        let list: &CpuList = list.as_ref()?;
        let lacking = list.numbers().iter().find(|cpu| !facts.allowed_cpus.contains(cpu))?;
        let allowed = facts.allowed_cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        Some(format!(
            "{key}: found {lacking} in {:?}, expected CPUs on which quiclab may run: {allowed}",
            list.to_string()
        ))
    })
}

/// A default says nothing: then sockets have what the machine has.
fn sockets(hosts: &Hosts, found: &Sockets) -> Option<String> {
    let usual = Hosts::default();
    let poll = hosts.busy_poll.as_nanos() / 1000;
    let (receive, send) = (hosts.udp_receive_buffer, hosts.udp_send_buffer);
    let all = [
        (
            "hosts.udp_receive_buffer",
            receive != usual.udp_receive_buffer,
            receive.as_bytes(),
            found.receive_buffer,
            "rmem_default",
        ),
        ("hosts.udp_send_buffer", send != usual.udp_send_buffer, send.as_bytes(), found.send_buffer, "wmem_default"),
        ("hosts.busy_poll", hosts.busy_poll != usual.busy_poll, poll, found.busy_poll, "busy_poll"),
        ("hosts.busy_poll", hosts.busy_poll != usual.busy_poll, poll, found.busy_read, "busy_read"),
    ];
    all.into_iter().find(|(_, is_asked, asked, found, _)| *is_asked && asked != found).map(|(key, _, asked, found, name)| {
        format!(
            "{key}: found net.core.{name} = {found}, expected {asked}: it belongs to the whole machine, and a run does not \
             change it\nhint: as root: sysctl -w net.core.{name}={asked}"
        )
    })
}

#[cfg(test)]
mod tests {
    use quiclab_units::{ByteCount, Duration};

    use super::*;

    const SOCKETS: Sockets = Sockets { receive_buffer: 212_992, send_buffer: 212_992, busy_poll: 0, busy_read: 0 };

    #[test]
    fn what_belongs_to_the_machine_must_be_as_the_run_asks() {
        let usual = Hosts::default();
        assert_eq!(sockets(&usual, &SOCKETS), None);
        let asks = Hosts { udp_receive_buffer: ByteCount::from_bytes(1 << 20), ..usual.clone() };
        let why = sockets(&asks, &SOCKETS).unwrap();
        assert!(
            why.contains("hosts.udp_receive_buffer: found net.core.rmem_default = 212992, expected 1048576"),
            "{why}"
        );
        assert!(why.contains("sysctl -w net.core.rmem_default=1048576"), "{why}");
        assert_eq!(sockets(&asks, &Sockets { receive_buffer: 1 << 20, ..SOCKETS }), None);
        let asks = Hosts { busy_poll: Duration::from_micros(50), ..usual };
        assert!(sockets(&asks, &SOCKETS).unwrap().contains("net.core.busy_poll=50"));
        assert!(sockets(&asks, &Sockets { busy_poll: 50, ..SOCKETS }).unwrap().contains("net.core.busy_read=50"));
        assert_eq!(sockets(&asks, &Sockets { busy_poll: 50, busy_read: 50, ..SOCKETS }), None);
    }
}
