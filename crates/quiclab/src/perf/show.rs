//! What people see of a test.

use std::fmt::Write as _;

use quiclab_experiment::stack::Transport;
use quiclab_perf::{Asked, Direction, End, Interval, Summary};
use serde_json::json;

use crate::cli::PerfArguments;

/// What will be done, in a line.
pub fn heading(arguments: &PerfArguments, transport: Transport, [server, client]: &[String; 2]) -> String {
    let count = |number: u64, word: &str| format!("{number} {word}{}", if number == 1 { "" } else { "s" });
    let (from, to) = if arguments.reverse { (server, client) } else { (client, server) };
    let length = match arguments.bytes {
        Some(bytes) => format!("{bytes} each"),
        None => format!("{} s", arguments.seconds),
    };
    let connections = match transport {
        Transport::Quic => {
            format!("{} of {}", count(arguments.connections, "connection"), count(arguments.streams, "stream"))
        }
        // Each stream is one of its own.
        Transport::Tcp => count(arguments.connections * arguments.streams, "connection"),
    };
    format!("{from} sends to {to}: {connections}, {length}\n")
}

/// A line for an interval, below a head where it `is_first`.
pub fn row(interval: &Interval, is_first: bool) -> String {
    let mut text = String::new();
    if is_first {
        let _ = writeln!(
            text,
            "{:>13} {:>10} {:>13} {:>9} {:>10} {:>7} {:>8} {:>10} {:>10}",
            "seconds", "bytes", "goodput", "RTT", "window", "lost", "dropped", "CPU client", "CPU server"
        );
    }
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let percent = |value: Option<f64>| or_dash(value.map(|value| format!("{value:.0} %")));
    let _ = writeln!(
        text,
        "{:>6.2}-{:>6.2} {:>10} {:>13} {:>9} {:>10} {:>7} {:>8} {:>10} {:>10}",
        interval.start_seconds,
        interval.end_seconds,
        bytes(interval.bytes),
        or_dash(interval.bits_per_second.map(rate)),
        or_dash(interval.rtt_ns.map(milliseconds)),
        or_dash(interval.window_bytes.map(bytes)),
        or_dash(interval.lost_packets.map(|lost| lost.to_string())),
        or_dash(interval.socket_drops.map(|drops| drops.to_string())),
        percent(interval.client_cpu_percent),
        percent(interval.server_cpu_percent),
    );
    text
}

/// The end of a test.
pub fn summary(summary: &Summary) -> String {
    let mut text = String::new();
    for (name, end) in [("sent", &summary.sender), ("received", &summary.receiver)] {
        if let Some(end) = end {
            let _ = writeln!(text, "{}", one_end(name, end));
        }
    }
    if let Some(lost) = summary.lost_packets {
        let _ = writeln!(text, "{:>10} {lost} packets, as the sender says", "lost");
    }
    if let Some(drops) = summary.socket_drops {
        let _ = writeln!(text, "{:>10} {drops} datagrams at receiving sockets", "dropped");
    }
    if let Some(fairness) = summary.fairness {
        let _ = writeln!(text, "{:>10} {fairness:.4} (Jain's index; 1: equal)", "fairness");
    }
    for note in &summary.notes {
        let _ = writeln!(text, "{:>10} {note}", "note");
    }
    text
}

fn one_end(name: &str, end: &End) -> String {
    let rate = end.bits_per_second.map_or_else(|| "-".to_owned(), rate);
    let cpu = match (end.cpu_user_ns, end.cpu_system_ns, end.cpu_ns_per_byte) {
        (Some(user), Some(system), Some(each)) => format!(
            ", CPU {:.2} s ({:.0} % user, {:.0} % kernel), {each:.2} ns per byte",
            (user + system) as f64 / 1e9,
            100.0 * user as f64 / (user + system).max(1) as f64,
            100.0 * system as f64 / (user + system).max(1) as f64,
        ),
        _ => String::new(),
    };
    format!("{name:>10} {} in {:.2} s, {rate}{cpu}", bytes(end.bytes), end.seconds)
}

/// Several tests: the median of what arrived, and the range.
pub fn together(all: &[Summary]) -> String {
    let mut rates: Vec<_> = all.iter().filter_map(Summary::goodput).collect();
    rates.sort_by(f64::total_cmp);
    let [first, .., last] = rates[..] else { return String::new() };
    let middle = rates.len() / 2;
    let median = if rates.len() % 2 == 1 { rates[middle] } else { f64::midpoint(rates[middle - 1], rates[middle]) };
    format!("{:>10} {} ({} to {}) in {} tests\n", "median", rate(median), rate(first), rate(last), rates.len())
}

/// For JSON.
pub fn asked(
    arguments: &PerfArguments,
    transport: Transport,
    direction: Direction,
    [server, client]: &[String; 2],
) -> Asked {
    Asked {
        version: format!("quiclab {}", env!("CARGO_PKG_VERSION")),
        protocol: match transport {
            Transport::Quic => "QUIC",
            Transport::Tcp => "TCP",
        },
        streams: arguments.streams,
        connections: arguments.connections,
        direction,
        seconds: arguments.bytes.is_none().then_some(arguments.seconds),
        bytes: arguments.bytes.map(|bytes| bytes.as_bytes() * arguments.connections),
        more: json!({
            "server": server,
            "client": client,
            "tls": !arguments.tcp,
            "connections": arguments.connections,
            "congestion_control": arguments.congestion_control,
            "gso": arguments.gso,
            "pacing": arguments.pacing,
            "mtu": arguments.mtu,
        }),
    }
}

/// Nanoseconds, as milliseconds.
pub fn milliseconds(ns: u64) -> String {
    format!("{:.3} ms", ns as f64 / 1e6)
}

/// Bits in a second, with a prefix.
pub fn rate(bits_per_second: f64) -> String {
    match bits_per_second {
        rate if rate >= 1e9 => format!("{:.2} Gbit/s", rate / 1e9),
        rate if rate >= 1e6 => format!("{:.1} Mbit/s", rate / 1e6),
        rate => format!("{:.1} kbit/s", rate / 1e3),
    }
}

fn bytes(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes >= 1e9 => format!("{:.2} GB", bytes / 1e9),
        bytes if bytes >= 1e6 => format!("{:.1} MB", bytes / 1e6),
        bytes if bytes >= 1e3 => format!("{:.1} kB", bytes / 1e3),
        bytes => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_tests_have_a_median_and_a_range() {
        let end = |rate| End {
            bytes: 1,
            seconds: 1.0,
            bits_per_second: rate,
            cpu_user_ns: None,
            cpu_system_ns: None,
            cpu_ns_per_byte: None,
        };
        let of = |rate| Summary {
            direction: Direction::ClientSends,
            sender: None,
            receiver: Some(end(rate)),
            exchanges: 0,
            rtt_ns: None,
            lost_packets: None,
            socket_drops: None,
            fairness: None,
            notes: vec![],
        };
        assert_eq!(together(&[of(Some(1e9))]), "", "one is no spread");
        let all = [3e9, 1e9, 2e9, 500e6].map(|rate| of(Some(rate)));
        assert_eq!(together(&all), "    median 1.50 Gbit/s (500.0 Mbit/s to 3.00 Gbit/s) in 4 tests\n");
        assert!(together(&[of(Some(1e9)), of(None), of(Some(2e9))]).ends_with("in 2 tests\n"));
    }
}
