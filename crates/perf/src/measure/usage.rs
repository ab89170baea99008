//! What processes of this machine use.

use std::{collections::BTreeMap, fs};

use nix::sys::resource::{UsageWho, getrusage};

/// CPU time in user mode and in the kernel, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    pub user_ns: u64,
    pub system_ns: u64,
}

/// What processes use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub cpu: CpuTime,
    /// Memory that is resident now, of each process. What several of them share counts for each.
    pub memory_bytes: u64,
}

/// What a process that runs and all below it use; CPU time with that of those that have ended and were waited for. `None`: it is not
/// there.
pub fn of_tree(root: u32) -> Option<Usage> {
    let mut processes = BTreeMap::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if let Some(process) = fs::read_to_string(entry.path().join("stat")).ok().as_deref().and_then(parse) {
            processes.insert(id, process);
        }
    }
    let is_below = |mut id: u32| {
        // As many steps as there are processes: a number can be given away while this reads.
        for _ in 0..processes.len() {
            if id == root {
                return true;
            }
            match processes.get(&id) {
                Some(process) => id = process.parent,
                None => return false,
            }
        }
        false
    };
    processes.contains_key(&root).then(|| {
        let below = processes.iter().filter(|(id, _)| is_below(**id)).map(|(_, process)| process.usage);
        below.fold(Usage::default(), |sum, one| Usage {
            cpu: CpuTime {
                user_ns: sum.cpu.user_ns + one.cpu.user_ns,
                system_ns: sum.cpu.system_ns + one.cpu.system_ns,
            },
            memory_bytes: sum.memory_bytes + one.memory_bytes,
        })
    })
}

/// CPU time of all children of this process that have ended.
pub fn of_ended_children() -> Option<CpuTime> {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    let ns = |time: nix::sys::time::TimeVal| (time.tv_sec() as u64) * 1_000_000_000 + time.tv_usec() as u64 * 1000;
    Some(CpuTime { user_ns: ns(used.user_time()), system_ns: ns(used.system_time()) })
}

struct Process {
    parent: u32,
    usage: Usage,
}

/// `/proc/PID/stat`: proc(5). The name in brackets can hold spaces and brackets.
fn parse(stat: &str) -> Option<Process> {
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| -> Option<u64> { fields.get(field)?.parse().ok() };
    // USER_HZ is 100 on every architecture of Linux but Alpha.
    let ns = |own: u64, children: u64| (own + children) * 10_000_000;
    let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok()??.unsigned_abs();
    Some(Process {
        parent: fields.get(1)?.parse().ok()?,
        usage: Usage {
            cpu: CpuTime { user_ns: ns(ticks(11)?, ticks(13)?), system_ns: ns(ticks(12)?, ticks(14)?) },
            memory_bytes: ticks(21)? * page,
        },
    })
}

/// Whether a socket of this network namespace listens at a TCP port.
pub fn listens(port: u16) -> bool {
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let mut tables = tables.iter().filter_map(|table| fs::read_to_string(table).ok());
    tables.any(|text| text.lines().any(|line| listens_at(line, port)))
}

/// Whether a UDP socket of this network namespace is at a port. A trial socket would say the same, but a server that starts at that moment
/// would find its port taken.
pub fn is_bound(port: u16) -> bool {
    let tables = ["/proc/self/net/udp", "/proc/self/net/udp6"];
    let mut tables = tables.iter().filter_map(|table| fs::read_to_string(table).ok());
    tables.any(|text| text.lines().skip(1).any(|line| drops_of(line, port).is_some_and(|(_, is_port)| is_port)))
}

/// Whether a line of `/proc/net/tcp` is a socket that listens at `port`.
fn listens_at(line: &str, port: u16) -> bool {
    /// The kernel's number for it (include/net/tcp_states.h).
    const LISTEN: &str = "0A";
    let mut fields = line.split_whitespace().skip(1);
    let number = fields.next().and_then(|local| u16::from_str_radix(local.rsplit(':').next()?, 16).ok());
    number == Some(port) && fields.nth(1) == Some(LISTEN)
}

/// Datagrams that UDP sockets of this network namespace dropped because their buffers were full: those of sockets at `port`, and those of
/// all others. `None`: the kernel does not say.
pub fn socket_drops(port: u16) -> Option<(u64, u64)> {
    let (mut at_port, mut others) = (0, 0);
    let mut found = false;
    for table in ["/proc/self/net/udp", "/proc/self/net/udp6"] {
        let Ok(text) = fs::read_to_string(table) else { continue };
        found = true;
        for line in text.lines().skip(1) {
            let (drops, is_port) = drops_of(line, port).unwrap_or_default();
            *(if is_port { &mut at_port } else { &mut others }) += drops;
        }
    }
    found.then_some((at_port, others))
}

/// Drops in a line of `/proc/net/udp`, and whether the socket is at `port`.
fn drops_of(line: &str, port: u16) -> Option<(u64, bool)> {
    let local = line.split_whitespace().nth(1)?;
    let is_port = u16::from_str_radix(local.rsplit(':').next()?, 16).ok()? == port;
    Some((line.split_whitespace().next_back()?.parse().ok()?, is_port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_time_and_one_that_is_not_there_has_not() {
        // By another clock of the kernel for the same, in finer steps.
        let clock = nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID;
        while std::time::Duration::from(clock.now().unwrap()).as_millis() < 60 {}
        let used = of_tree(std::process::id()).unwrap();
        assert!(used.cpu.user_ns + used.cpu.system_ns >= 20_000_000, "{used:?}");
        assert!((1 << 20..1 << 40).contains(&used.memory_bytes), "{used:?}");
        assert_eq!(of_tree(u32::MAX), None);
    }

    #[test]
    fn a_name_with_brackets_is_no_field() {
        let stat = "42 (a) b (c) S 7 42 42 0 -1 4194560 100 0 0 0 3 4 5 6 20 0 1 0 100 9000000 2 0";
        let process = parse(stat).unwrap();
        assert_eq!(process.parent, 7);
        let cpu = CpuTime { user_ns: 80_000_000, system_ns: 100_000_000 };
        // Pages of this architecture.
        assert_eq!(process.usage, Usage { cpu, memory_bytes: 8192 });
    }

    #[test]
    fn a_socket_that_listens_is_found_and_one_that_is_connected_is_not() {
        let line = |state: &str| {
            format!(
                "   0: 00000000:1151 00000000:0000 {state} 00000000:00000000 00:00000000 00000000 0 0 9 1 0 100 0 0 10 0"
            )
        };
        assert!(listens_at(&line("0A"), 4433) && !listens_at(&line("0A"), 4434) && !listens_at(&line("01"), 4433));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(listens(port));
        drop(listener);
        assert!(!listens(port));
    }

    #[test]
    fn a_udp_socket_is_found_at_its_port() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        assert!(is_bound(port));
        drop(socket);
        assert!(!is_bound(port));
    }

    #[test]
    fn drops_are_the_last_column() {
        let line = "  617: 00000000:1151 00000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 99 2 00000000 17";
        assert_eq!(drops_of(line, 4433), Some((17, true)));
        assert_eq!(drops_of(line, 4434), Some((17, false)));
    }
}
