//! Requests or handshakes: how many in a second, how long each took.

use serde::Serialize;

use crate::{
    Direction, Figures, Latencies, Load, Progress, Reading, Sample, interval,
    interval::{sum, sum_of_all},
};

/// What happened between two readings of a load that counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExchangeInterval {
    /// Seconds since the clients were started.
    pub start_seconds: f64,
    /// The same, at its end.
    pub end_seconds: f64,
    /// Requests or handshakes that were complete at the clients.
    pub count: u64,
    /// Requests or handshakes in a second, by the clients' clocks. `None`: none of them has written a line in between.
    pub per_second: Option<f64>,
    /// Smoothed round-trip time of the first client's newest connection, in nanoseconds.
    pub rtt_ns: Option<u64>,
    /// CPU time of all clients, in percent of one core.
    pub client_cpu_percent: Option<f64>,
    /// CPU time of the server, in percent of one core.
    pub server_cpu_percent: Option<f64>,
    /// Datagrams that sockets of both ends dropped in the interval.
    pub socket_drops: Option<u64>,
}

/// What an end took for them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EndUse {
    /// Requests or handshakes as this end counted them. `None`: its stack does not.
    pub count: Option<u64>,
    /// CPU time in user mode, in nanoseconds.
    pub cpu_user_ns: Option<u64>,
    /// CPU time in the kernel, in nanoseconds.
    pub cpu_system_ns: Option<u64>,
    /// Both for each one that was complete at the clients.
    pub cpu_ns_each: Option<f64>,
}

/// A whole test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exchanges {
    /// What was counted: `requests` or `handshakes`.
    pub load: &'static str,
    /// Complete at the clients.
    pub count: u64,
    /// Seconds from the last line of progress before the first request or handshake to the line with the last one.
    pub seconds: f64,
    /// `None`: the test was too short, see [`Self::notes`].
    pub per_second: Option<f64>,
    /// How long each took.
    pub latency: Figures,
    /// All clients.
    pub client: EndUse,
    /// `None`: it is elsewhere and does not say.
    pub server: Option<EndUse>,
    /// Smoothed round-trip time of the first client's newest connection at the end, in nanoseconds.
    pub rtt_ns: Option<u64>,
    /// Datagrams that sockets of both ends dropped.
    pub socket_drops: Option<u64>,
    /// Why a number is missing, or not what it seems.
    pub notes: Vec<String>,
}

/// Which counter of an end says how many there were.
fn counter(load: Load) -> fn(&Progress) -> u64 {
    match load {
        Load::Handshakes => |progress| progress.connections,
        _ => |progress| progress.exchanges,
    }
}

/// What happened from `before` to `after`.
pub fn exchange_interval(before: &Reading, after: &Reading, load: Load) -> ExchangeInterval {
    let (count, mut rate, mut wrote) = (counter(load), 0.0, false);
    let mut all = 0_u64;
    for (earlier, later) in before.clients.iter().zip(&after.clients) {
        let more = count(&later.newest).saturating_sub(count(&earlier.newest));
        let time = later.newest.monotonic_ns.saturating_sub(earlier.newest.monotonic_ns);
        all = all.saturating_add(more);
        // One that has ended writes no more lines.
        if time > 0 {
            wrote = true;
            rate += more as f64 * 1e9 / time as f64;
        }
    }
    let up = interval(before, after, Direction::ClientSends);
    let down = interval(before, after, Direction::ServerSends);
    ExchangeInterval {
        start_seconds: up.start_seconds,
        end_seconds: up.end_seconds,
        count: all,
        per_second: wrote.then_some(rate),
        rtt_ns: up.rtt_ns,
        client_cpu_percent: up.client_cpu_percent,
        server_cpu_percent: up.server_cpu_percent,
        socket_drops: both(up.socket_drops, down.socket_drops),
    }
}

/// What a test came to. `before` was read before the clients started, `after` when they had ended; `latencies` is what they wrote.
pub fn exchanges(before: &Reading, after: &Reading, load: Load, latencies: &Latencies) -> Exchanges {
    let count_of = counter(load);
    let count = count(after, load);
    let seconds_of = |end: &Sample| end.last.monotonic_ns.saturating_sub(end.first.monotonic_ns) as f64 / 1e9;
    let seconds = after.clients.iter().map(seconds_of).fold(0.0, f64::max);
    let is_long = after.clients.iter().all(|client| client.moving_lines >= FEWEST_LINES);
    let total = |samples: &[Sample], of: fn(&Sample) -> Option<u64>| sum_of_all(samples.iter().map(of));
    let end_use = |earlier: &[Sample], later: &[Sample], counted: Option<u64>| {
        let used = |of: fn(&Sample) -> Option<u64>| total(later, of)?.checked_sub(total(earlier, of)?);
        let (user, system) = (used(|end| end.cpu_user_ns), used(|end| end.cpu_system_ns));
        let both = user.zip(system).map(|(user, system)| user.saturating_add(system));
        EndUse {
            count: counted,
            cpu_user_ns: user,
            cpu_system_ns: system,
            cpu_ns_each: both.filter(|_| count > 0).map(|both| both as f64 / count as f64),
        }
    };
    let server = before.server.zip(after.server).map(|(earlier, later)| {
        // Handshakes that a stack does not count are always 0.
        let counted = count_of(&later.newest).saturating_sub(count_of(&earlier.newest));
        end_use(&[earlier], &[later], Some(counted).filter(|counted| *counted > 0 || count == 0))
    });
    let latency = latencies.figures();
    let mut notes = Vec::new();
    if !is_long {
        notes.push(format!("no rate, because a client moved bytes in fewer than {FEWEST_LINES} lines of its progress; ask for a longer time"));
    }
    notes.extend(latency.why_missing());
    match &server {
        None => notes.push("server: no numbers, because they are not known here".to_owned()),
        Some(EndUse { count: None, .. }) => notes.push("server: its stack does not count them".to_owned()),
        Some(_) => {}
    }
    let drops = |reading: &Reading| {
        both(
            reading.server.and_then(|server| server.socket_drops),
            total(&reading.clients, |client| client.socket_drops),
        )
    };
    Exchanges {
        load: load.name().unwrap_or_default(),
        count,
        seconds,
        per_second: (is_long && seconds > 0.0).then(|| count as f64 / seconds),
        latency,
        client: end_use(&before.clients, &after.clients, Some(count)),
        server,
        rtt_ns: after.clients.first().and_then(|client| client.newest.rtt_ns),
        socket_drops: drops(after).and_then(|after| after.checked_sub(drops(before).unwrap_or(0))),
        notes,
    }
}

/// Lines with progress that a client needs for a rate.
const FEWEST_LINES: u64 = 10;

/// How many were complete at the clients of a load that counts.
pub fn count(reading: &Reading, load: Load) -> u64 {
    sum(reading.clients.iter().map(|client| counter(load)(&client.newest)))
}

fn both(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one?.saturating_add(other?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sizes;

    const REQUESTS: Load = Load::Requests(Sizes { request_bytes: 100, response_bytes: 1000 });

    /// Makes a sample after so many milliseconds and exchanges, with a tenth of them as connections.
    fn sample(at_ms: u64, exchanges: u64) -> Sample {
        let newest = Progress {
            monotonic_ns: at_ms * 1_000_000,
            exchanges,
            connections: exchanges / 10,
            received: exchanges,
            ..Progress::default()
        };
        let first = Progress::default();
        let cpu = Some(at_ms * 250_000);
        Sample {
            newest,
            first,
            last: newest,
            moving_lines: 10,
            cpu_user_ns: cpu,
            cpu_system_ns: cpu,
            socket_drops: Some(at_ms / 1000),
            ..Sample::default()
        }
    }

    fn reading(at_seconds: f64, clients: Vec<Sample>, server: Option<Sample>) -> Reading {
        Reading { at_seconds, clients, server }
    }

    #[test]
    fn rates_are_by_the_clients_clocks_and_add_up() {
        let before = reading(1.0, vec![sample(1_000, 100), sample(2_000, 0), sample(50, 7)], Some(sample(0, 0)));
        let after = reading(2.0, vec![sample(1_500, 600), sample(3_000, 300), sample(50, 7)], Some(sample(1_000, 0)));
        let found = exchange_interval(&before, &after, REQUESTS);
        assert_eq!((found.count, found.per_second), (800, Some(1_300.0)));
        assert_eq!(exchange_interval(&before, &after, Load::Handshakes).count, 80);
        assert_eq!((found.client_cpu_percent, found.server_cpu_percent), (Some(75.0), Some(50.0)));
        assert_eq!(found.socket_drops, Some(2));
        let silent = exchange_interval(&before, &Reading { at_seconds: 2.0, ..before.clone() }, REQUESTS);
        assert_eq!((silent.count, silent.per_second), (0, None));
    }

    #[test]
    fn a_test_is_what_the_clients_completed() {
        let before = reading(0.0, vec![sample(0, 0); 2], Some(sample(0, 0)));
        let after = reading(4.0, vec![sample(4_000, 300), sample(3_000, 100)], Some(sample(2_000, 410)));
        let found = exchanges(&before, &after, REQUESTS, &Latencies::default());
        assert_eq!((found.count, found.seconds, found.per_second), (400, 4.0, Some(100.0)));
        assert_eq!((found.client.count, found.client.cpu_ns_each), (Some(400), Some(3_500_000_000.0 / 400.0)));
        let server = found.server.unwrap();
        assert_eq!((server.count, server.cpu_ns_each, found.socket_drops), (Some(410), Some(2_500_000.0), Some(9)));
        assert!(found.notes[0].starts_with("p50, p90, p99"), "{:?}", found.notes);

        let mut short = after.clone();
        short.clients[1].moving_lines = 9;
        short.server = None;
        let found = exchanges(&before, &short, Load::Handshakes, &Latencies::default());
        assert_eq!((found.count, found.per_second, found.server), (40, None, None));
        assert!(
            found.notes[0].starts_with("no rate") && found.notes[2].starts_with("server: no numbers"),
            "{:?}",
            found.notes
        );
        let uncounted = reading(4.0, after.clients.clone(), Some(sample(2_000, 0)));
        let found = exchanges(&before, &uncounted, REQUESTS, &Latencies::default());
        assert_eq!(found.server.unwrap().count, None);
    }
}
