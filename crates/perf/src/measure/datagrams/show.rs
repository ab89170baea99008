//! What people see of it.

use std::fmt::Write as _;

use super::super::show::{bytes, median, rate};
use crate::udp::{UdpInterval, UdpSummary, UdpTest};

/// What will be done, in a line.
pub fn heading(test: &UdpTest, server: &str) -> String {
    let asked = if test.bits_per_second == 0 {
        "as fast as it can".to_owned()
    } else {
        format!("at {}", rate(test.bits_per_second as f64))
    };
    let seconds = test.nanoseconds as f64 / 1e9;
    match test.server_sends {
        true => format!("UDP from {server}: datagrams of {} bytes, {asked}, {seconds} s\n", test.length),
        false => format!("UDP to {server}: datagrams of {} bytes, {asked}, {seconds} s\n", test.length),
    }
}

/// A line for an interval, below a head if it `is_first`.
pub fn row(row: &UdpInterval, is_first: bool) -> String {
    let mut text = String::new();
    if is_first {
        let _ = writeln!(
            text,
            "{:>13} {:>10} {:>13} {:>9} {:>16} {:>12}",
            "seconds", "bytes", "arrived", "jitter", "lost/sent", "out of order"
        );
    }
    let _ = writeln!(
        text,
        "{:>6.2}-{:>6.2} {:>10} {:>13} {:>9} {:>16} {:>12}",
        row.start_seconds,
        row.end_seconds,
        bytes(row.bytes),
        rate(row.bits_per_second),
        jitter(row.jitter_ns),
        format!("{}/{}", row.lost_packets, row.sent),
        row.out_of_order
    );
    text
}

/// The end of a test.
pub fn summary(summary: &UdpSummary) -> String {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let mut text = String::new();
    let length = u64::from(summary.test.length);
    let (sent, arrived) = (summary.sent_bits_per_second.map(rate), summary.bits_per_second.map(rate));
    let _ = writeln!(
        text,
        "{:>10} {} datagrams, {}, {}",
        "sent",
        summary.sent,
        bytes(summary.sent * length),
        or_dash(sent)
    );
    let _ = writeln!(
        text,
        "{:>10} {} datagrams, {}, {}, jitter {}",
        "arrived",
        summary.packets,
        bytes(summary.bytes),
        or_dash(arrived),
        or_dash(summary.jitter_ns.map(jitter))
    );
    let share = summary.lost_share.map(|share| format!(" ({:.3} %)", 100.0 * share));
    let _ = writeln!(
        text,
        "{:>10} {} datagrams{}; {} out of order",
        "lost",
        summary.lost_packets,
        share.unwrap_or_default(),
        summary.out_of_order
    );
    if let Some(drops) = summary.socket_drops.filter(|drops| *drops > 0) {
        let _ = writeln!(text, "{:>10} {drops} datagrams at the receiving socket", "dropped");
    }
    for note in &summary.notes {
        let _ = writeln!(text, "{:>10} {note}", "note");
    }
    text
}

/// Several tests: the median of what arrived.
pub fn together(all: &[UdpSummary]) -> String {
    let rates = median(all.iter().filter_map(|one| one.bits_per_second), rate);
    rates.map_or_else(String::new, |rates| format!("{:>10} {rates}\n", "median"))
}

fn jitter(ns: f64) -> String {
    format!("{:.3} ms", ns / 1e6)
}
