//! Requests and handshakes: how many in a second, and how long each took.

use std::fmt::Write as _;

use super::{super::results::Found, median, milliseconds};
use crate::{EndUse, ExchangeInterval, Exchanges, Figures};

/// A line for an interval, below a head if it `is_first`. `word` is what is counted.
pub fn row(interval: &ExchangeInterval, word: &str, is_first: bool) -> String {
    let mut text = String::new();
    if is_first {
        let _ = writeln!(
            text,
            "{:>13} {:>10} {:>13} {:>9} {:>8} {:>10} {:>10}",
            "seconds",
            format!("{word}s"),
            format!("{word}s/s"),
            "RTT",
            "dropped",
            "CPU client",
            "CPU server"
        );
    }
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let percent = |value: Option<f64>| or_dash(value.map(|value| format!("{value:.0} %")));
    let _ = writeln!(
        text,
        "{:>6.2}-{:>6.2} {:>10} {:>13} {:>9} {:>8} {:>10} {:>10}",
        interval.start_seconds,
        interval.end_seconds,
        interval.count,
        or_dash(interval.per_second.map(rate)),
        or_dash(interval.rtt_ns.map(milliseconds)),
        or_dash(interval.socket_drops.map(|drops| drops.to_string())),
        percent(interval.client_cpu_percent),
        percent(interval.server_cpu_percent),
    );
    text
}

/// The end of a test.
pub fn found(found: &Exchanges, word: &str) -> String {
    let mut text = String::new();
    let per_second = found.per_second.map_or_else(|| "-".to_owned(), rate);
    let _ =
        writeln!(text, "{:>10} {} in {:.2} s, {per_second} per second", format!("{word}s"), found.count, found.seconds);
    let _ = writeln!(text, "{:>10} {}", "latency", latency(&found.latency));
    let ends = [("client", Some(&found.client)), ("server", found.server.as_ref())];
    for (name, end) in ends.into_iter().filter_map(|(name, end)| Some((name, end?))) {
        let _ = writeln!(text, "{name:>10} {}", end_use(end, word));
    }
    if let Some(drops) = found.socket_drops {
        let _ = writeln!(text, "{:>10} {drops} datagrams at sockets", "dropped");
    }
    for note in &found.notes {
        let _ = writeln!(text, "{:>10} {note}", "note");
    }
    text
}

fn latency(figures: &Figures) -> String {
    let shown = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), milliseconds);
    let mut parts: Vec<_> =
        figures.percentiles().into_iter().map(|(name, value)| format!("{name} {}", shown(value))).collect();
    parts.push(format!("max {}", shown(figures.max_ns)));
    parts.push(format!("mean {}", shown(figures.mean_ns.map(|mean| mean as u64))));
    parts.join(", ")
}

fn end_use(end: &EndUse, word: &str) -> String {
    let count = end.count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let cpu = match (end.cpu_user_ns, end.cpu_system_ns, end.cpu_ns_each) {
        (Some(user), Some(system), Some(each)) => format!(
            ", CPU {:.2} s ({:.0} % user, {:.0} % kernel), {:.2} µs per {word}",
            (user + system) as f64 / 1e9,
            100.0 * user as f64 / (user + system).max(1) as f64,
            100.0 * system as f64 / (user + system).max(1) as f64,
            each / 1e3,
        ),
        _ => String::new(),
    };
    format!("counted {count}{cpu}")
}

/// Several tests: medians and ranges.
pub fn together(all: &[Found]) -> String {
    let values = |of: fn(&Exchanges) -> Option<f64>| {
        let of = move |found: &Found| if let Found::Exchanges(one) = found { of(one) } else { None };
        all.iter().filter_map(of).collect::<Vec<_>>().into_iter()
    };
    let in_milliseconds = |ns: f64| milliseconds(ns as u64);
    let lines = [
        ("per second: ", median(values(|one| one.per_second), rate)),
        ("p50: ", median(values(|one| Some(one.latency.p50_ns? as f64)), in_milliseconds)),
        ("p99: ", median(values(|one| Some(one.latency.p99_ns? as f64)), in_milliseconds)),
    ];
    let line = |(name, text): (&str, Option<String>)| Some(format!("{:>10} {name}{}\n", "median", text?));
    lines.into_iter().filter_map(line).collect()
}

/// A number in a second.
fn rate(per_second: f64) -> String {
    if per_second < 100.0 { format!("{per_second:.2}") } else { format!("{per_second:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(per_second: f64, p99_ns: Option<u64>) -> Exchanges {
        let used = EndUse {
            count: Some(2_000),
            cpu_user_ns: Some(30_000_000),
            cpu_system_ns: Some(10_000_000),
            cpu_ns_each: Some(20_000.0),
        };
        Exchanges {
            load: "requests",
            count: 2_000,
            seconds: 1.0,
            per_second: Some(per_second),
            latency: Figures { count: 2_000, p50_ns: Some(81_234), p99_ns, ..Figures::default() },
            client: used,
            server: Some(EndUse { count: None, cpu_user_ns: None, ..used }),
            rtt_ns: None,
            socket_drops: None,
            notes: vec!["so it is".to_owned()],
        }
    }

    #[test]
    fn what_is_not_known_is_a_dash() {
        assert_eq!(
            found(&test(2_000.4, None), "request"),
            "  requests 2000 in 1.00 s, 2000 per second\n   \
             latency p50 0.081 ms, p90 -, p99 -, p99.9 -, p99.99 -, max -, mean -\n    \
             client counted 2000, CPU 0.04 s (75 % user, 25 % kernel), 20.00 µs per request\n    \
             server counted -\n      note so it is\n"
        );
    }

    #[test]
    fn several_tests_have_medians_of_rates_and_latencies() {
        let all = [(1_000.0, Some(2_000_000)), (3_000.0, Some(1_000_000)), (2_000.0, None)];
        let all = all.map(|(per_second, p99)| Found::Exchanges(Box::new(test(per_second, p99))));
        assert_eq!(
            together(&all),
            "    median per second: 2000 (1000 to 3000) in 3 tests\n    \
             median p50: 0.081 ms (0.081 ms to 0.081 ms) in 3 tests\n    \
             median p99: 1.500 ms (1.000 ms to 2.000 ms) in 2 tests\n"
        );
        assert_eq!(together(&all[..1]), "");
    }
}
