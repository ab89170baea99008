//! What people see of a test.

use std::fmt::Write as _;

use anyhow::Result;
use quiclab_experiment::stack::Transport;
use serde_json::{Value, json};

use super::{
    hooks::Hooks,
    results::{Found, Row},
    settings::PerfSettings,
};
use crate::{Asked, Direction, End, Interval, Load, Summary};

mod exchanges;

/// What will be done, in a line.
pub fn heading(settings: &PerfSettings, transport: Transport, [server, client]: &[String; 2]) -> String {
    let count = |number: u64, word: &str| format!("{number} {word}{}", if number == 1 { "" } else { "s" });
    let (from, to) = if settings.reverse { (server, client) } else { (client, server) };
    let length = match settings.bytes {
        Some(bytes) => format!("{bytes} each"),
        None => format!("{} s", settings.seconds),
    };
    let (connections, at_a_time) = (settings.connections, settings.streams);
    match settings.load() {
        // Each stream is a connection of its own.
        Load::Bulk(_) if transport == Transport::Tcp => {
            format!("{from} sends to {to}: {}, {length}\n", count(connections * at_a_time, "connection"))
        }
        Load::Bulk(_) => format!(
            "{from} sends to {to}: {} of {}, {length}\n",
            count(connections, "connection"),
            count(at_a_time, "stream")
        ),
        Load::Bidirectional => format!(
            "{client} and {server} send to each other: {} of {} in each direction, {length}\n",
            count(connections, "connection"),
            count(at_a_time, "stream")
        ),
        Load::Requests(sizes) => format!(
            "{client} asks {server}: {} of {} at a time, {} for {}, {length}\n",
            count(connections, "connection"),
            count(at_a_time, "request"),
            bytes(sizes.request_bytes),
            bytes(sizes.response_bytes)
        ),
        Load::Handshakes => format!(
            "{client} connects to {server}: {} with {} at a time, {length}\n",
            count(connections, "client"),
            count(at_a_time, "handshake")
        ),
    }
}

/// Bytes of a mebibyte.
const MIB: f64 = 1_048_576.0;

/// What each direction of a test with both is called.
const WAYS: [&str; 2] = ["client sends", "server sends"];

/// Lines for a part of a test, below a head if it `is_first`.
pub fn row(row: &Row, load: Load, is_first: bool) -> String {
    match row {
        Row::Exchanges(interval) => exchanges::row(interval, load.counted().unwrap_or_default(), is_first),
        Row::Bytes(ways) if ways.len() > 1 => {
            let mut text = String::new();
            for (number, (interval, name)) in ways.iter().zip(WAYS).enumerate() {
                let lines = one_row(interval, is_first && number == 0);
                let last = lines.lines().count() - 1;
                for (line, content) in lines.lines().enumerate() {
                    let _ = writeln!(text, "{:<12} {content}", if line == last { name } else { "" });
                }
            }
            text
        }
        Row::Bytes(ways) => ways.iter().map(|interval| one_row(interval, is_first)).collect(),
    }
}

/// A line for an interval, below a head where it `is_first`.
fn one_row(interval: &Interval, is_first: bool) -> String {
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
pub fn found(found: &Found, load: Load) -> String {
    match found {
        Found::Bytes(one) => summary(one),
        Found::Both(both) => both.iter().zip(WAYS).map(|(one, name)| format!("{name}:\n{}", summary(one))).collect(),
        Found::Exchanges(found) => exchanges::found(found, load.counted().unwrap_or_default()),
    }
}

fn summary(summary: &Summary) -> String {
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
    let memory =
        end.peak_memory_bytes.map_or_else(String::new, |most| format!(", memory {:.0} MiB", most as f64 / MIB));
    format!("{name:>10} {} in {:.2} s, {rate}{cpu}{memory}", bytes(end.bytes), end.seconds)
}

/// Several tests: medians and ranges of what matters.
pub fn together(all: &[Found]) -> String {
    let goodput = |way: usize| {
        let of = move |found: &Found| match found {
            Found::Bytes(one) => one.goodput().filter(|_| way == 0),
            Found::Both(both) => both[way].goodput(),
            Found::Exchanges(_) => None,
        };
        median(all.iter().filter_map(of), rate)
    };
    let is_both = all.iter().any(|found| matches!(found, Found::Both(_)));
    let mut text = String::new();
    for (way, name) in WAYS.into_iter().enumerate() {
        if let Some(goodput) = goodput(way) {
            let of = if is_both { format!(", {name}") } else { String::new() };
            let _ = writeln!(text, "{:>10} {goodput}{of}", "median");
        }
    }
    text + &exchanges::together(all)
}

/// Median and range in words. `None`: there are fewer than two.
pub fn median(values: impl Iterator<Item = f64>, shown: impl Fn(f64) -> String) -> Option<String> {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    let [first, .., last] = values[..] else { return None };
    let middle = values.len() / 2;
    let median = if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) };
    Some(format!("{} ({} to {}) in {} tests", shown(median), shown(first), shown(last), values.len()))
}

/// What was asked, for JSON.
pub fn asked(settings: &PerfSettings, transport: Transport, [server, client]: &[String; 2]) -> Asked {
    let load = settings.load();
    let sizes = if let Load::Requests(sizes) = load { Some(sizes) } else { None };
    Asked {
        version: format!("quiclab {}", env!("CARGO_PKG_VERSION")),
        protocol: match transport {
            Transport::Quic => "QUIC",
            Transport::Tcp => "TCP",
        },
        streams: settings.streams,
        connections: settings.connections,
        direction: if settings.reverse { Direction::ServerSends } else { Direction::ClientSends },
        seconds: settings.bytes.is_none().then_some(settings.seconds),
        bytes: settings.bytes.map(|bytes| bytes.as_bytes() * settings.connections),
        more: json!({
            "server": server,
            "client": client,
            "tls": !settings.tcp,
            "connections": settings.connections,
            "load": load.name().unwrap_or("bulk"),
            "request_bytes": sizes.map(|sizes| sizes.request_bytes),
            "response_bytes": sizes.map(|sizes| sizes.response_bytes),
            "congestion_control": settings.congestion_control,
            "gso": settings.gso,
            "pacing": settings.pacing,
            "mtu": settings.mtu,
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

pub fn bytes(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes >= 1e9 => format!("{:.2} GB", bytes / 1e9),
        bytes if bytes >= 1e6 => format!("{:.1} MB", bytes / 1e6),
        bytes if bytes >= 1e3 => format!("{:.1} kB", bytes / 1e3),
        bytes => format!("{bytes} B"),
    }
}

/// Prints one test as an object, several as an array; nothing where that is not asked for.
pub fn print_json(results: &[Value], json: bool, hooks: Hooks) -> Result<()> {
    match (json, results) {
        (false, _) | (true, []) => Ok(()),
        (true, [one]) => hooks.print(&(serde_json::to_string_pretty(one)? + "\n")),
        (true, all) => hooks.print(&(serde_json::to_string_pretty(all)? + "\n")),
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
            peak_memory_bytes: None,
        };
        let of = |rate| {
            Found::Bytes(Box::new(Summary {
                direction: Direction::ClientSends,
                sender: None,
                receiver: Some(end(rate)),
                exchanges: 0,
                rtt_ns: None,
                lost_packets: None,
                socket_drops: None,
                fairness: None,
                notes: vec![],
            }))
        };
        assert_eq!(together(&[of(Some(1e9))]), "", "one is no spread");
        let all = [3e9, 1e9, 2e9, 500e6].map(|rate| of(Some(rate)));
        assert_eq!(together(&all), "    median 1.50 Gbit/s (500.0 Mbit/s to 3.00 Gbit/s) in 4 tests\n");
        assert!(together(&[of(Some(1e9)), of(None), of(Some(2e9))]).ends_with("in 2 tests\n"));
    }
}
