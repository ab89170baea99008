//! What happened between two moments.

use serde::Serialize;

use crate::{Progress, Sample};

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The client, as usual.
    ClientSends,
    /// The server (`--reverse`).
    ServerSends,
}

/// Which of its counters.
type Count = fn(&Progress) -> u64;

/// All ends at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Seconds since the clients were started, on the clock of who reads.
    pub at_seconds: f64,
    /// One for each connection.
    pub clients: Vec<Sample>,
    /// `None`: the server is elsewhere and does not say.
    pub server: Option<Sample>,
}

impl Reading {
    /// Returns the ends that receive, and so count what has arrived; the senders where the receiver does not say.
    pub fn counting(&self, direction: Direction) -> Vec<(&Sample, Count)> {
        let all = |count: Count| self.clients.iter().map(|client| (client, count)).collect();
        match (direction, &self.server) {
            (Direction::ServerSends, _) => all(|progress| progress.received),
            (Direction::ClientSends, Some(server)) => vec![(server, |progress: &Progress| progress.received)],
            (Direction::ClientSends, None) => all(|progress| progress.sent),
        }
    }

    /// True where the numbers are those of a receiver.
    pub fn counts_arrivals(&self, direction: Direction) -> bool {
        direction == Direction::ServerSends || self.server.is_some()
    }

    /// Bytes that have arrived, or were sent where that is not known, since the endpoints started.
    pub fn bytes(&self, direction: Direction) -> u64 {
        sum(self.counting(direction).iter().map(|(sample, count)| count(&sample.newest)))
    }

    /// The end that sends, for its round-trip time, window and losses. Of several clients, the first.
    pub fn sender(&self, direction: Direction) -> Option<&Sample> {
        match direction {
            Direction::ClientSends => self.clients.first(),
            Direction::ServerSends => self.server.as_ref(),
        }
    }
}

/// What happened between two readings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Seconds since the clients were started.
    pub start_seconds: f64,
    /// The same, at its end.
    pub end_seconds: f64,
    /// Bytes that arrived.
    pub bytes: u64,
    /// Bits in a second, by the clocks of the ends that count. `None`: none of them has written a line in between.
    pub bits_per_second: Option<f64>,
    /// Round-trip time of the end that sends, at the end of the interval, in nanoseconds. `None`: it does not say.
    pub rtt_ns: Option<u64>,
    /// The same: its congestion window, in bytes.
    pub window_bytes: Option<u64>,
    /// The same: packets that it declared lost in the interval.
    pub lost_packets: Option<u64>,
    /// CPU time of all clients, in percent of one core.
    pub client_cpu_percent: Option<f64>,
    /// CPU time of the server, in percent of one core.
    pub server_cpu_percent: Option<f64>,
    /// Datagrams that receiving sockets dropped in the interval.
    pub socket_drops: Option<u64>,
}

/// What happened from `before` to `after`.
pub fn interval(before: &Reading, after: &Reading, direction: Direction) -> Interval {
    let pairs = before.counting(direction).into_iter().zip(after.counting(direction));
    let mut bytes = 0_u64;
    let mut rate = Some(0.0);
    for ((earlier, count), (later, _)) in pairs {
        let more = count(&later.newest).saturating_sub(count(&earlier.newest));
        let time = later.newest.monotonic_ns.saturating_sub(earlier.newest.monotonic_ns);
        bytes = bytes.saturating_add(more);
        // One that has ended writes no more lines.
        rate = match (rate, time, more) {
            (Some(rate), 0, 0) => Some(rate),
            (Some(rate), 1.., _) => Some(rate + more as f64 * 8e9 / time as f64),
            _ => None,
        };
    }
    let wrote = before
        .counting(direction)
        .iter()
        .zip(after.counting(direction))
        .any(|((earlier, _), (later, _))| later.newest.monotonic_ns > earlier.newest.monotonic_ns);
    let seconds = after.at_seconds - before.at_seconds;
    let cpu = |earlier: &[Sample], later: &[Sample]| {
        let total = |samples: &[Sample]| sum_of_all(samples.iter().map(cpu_ns));
        let used = total(later)?.checked_sub(total(earlier)?)?;
        (seconds > 0.0).then(|| used as f64 / 1e7 / seconds)
    };
    let sender = after.sender(direction).map(|sample| sample.newest);
    let lost_before = before.sender(direction).map_or(0, |sample| sample.newest.lost.unwrap_or(0));
    let drops = |reading: &Reading| match direction {
        Direction::ClientSends => reading.server?.socket_drops,
        Direction::ServerSends => sum_of_all(reading.clients.iter().map(|client| client.socket_drops)),
    };
    Interval {
        start_seconds: before.at_seconds,
        end_seconds: after.at_seconds,
        bytes,
        bits_per_second: rate.filter(|_| wrote),
        rtt_ns: sender.and_then(|line| line.rtt_ns),
        window_bytes: sender.and_then(|line| line.window),
        lost_packets: sender.and_then(|line| line.lost?.checked_sub(lost_before)),
        client_cpu_percent: cpu(&before.clients, &after.clients),
        server_cpu_percent: cpu(before.server.as_slice(), after.server.as_slice()).filter(|_| after.server.is_some()),
        socket_drops: drops(after).and_then(|after| after.checked_sub(drops(before)?)),
    }
}

fn cpu_ns(sample: &Sample) -> Option<u64> {
    Some(sample.cpu_user_ns?.saturating_add(sample.cpu_system_ns?))
}

/// The sum. What another machine and what endpoints say may be any number: too much is the largest one, and no overflow.
pub(crate) fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// The same of all; `None` where one is missing.
pub(crate) fn sum_of_all(mut numbers: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    numbers.try_fold(0, |sum: u64, one| Some(sum.saturating_add(one?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ms: u64, sent: u64, received: u64) -> Sample {
        let newest = Progress { monotonic_ns: at_ms * 1_000_000, sent, received, ..Progress::default() };
        Sample { newest, cpu_user_ns: Some(at_ms * 500_000), cpu_system_ns: Some(0), ..Sample::default() }
    }

    fn reading(at_seconds: f64, clients: Vec<Sample>, server: Option<Sample>) -> Reading {
        Reading { at_seconds, clients, server }
    }

    #[test]
    fn what_arrives_counts_by_the_receivers_clock() {
        let before = reading(1.0, vec![sample(900, 5_000, 0)], Some(sample(7_000, 0, 4_000)));
        let after = reading(2.0, vec![sample(1_900, 50_000, 0)], Some(sample(7_500, 0, 8_000)));
        let found = interval(&before, &after, Direction::ClientSends);
        // 4000 bytes in half a second of the server.
        assert_eq!((found.bytes, found.bits_per_second), (4_000, Some(64_000.0)));
        assert_eq!((found.client_cpu_percent, found.server_cpu_percent), (Some(50.0), Some(25.0)));
        let unknown = |reading: &Reading| Reading { server: None, ..reading.clone() };
        let found = interval(&unknown(&before), &unknown(&after), Direction::ClientSends);
        assert_eq!((found.bytes, found.bits_per_second, found.server_cpu_percent), (45_000, Some(360_000.0), None));
        assert!(before.counts_arrivals(Direction::ClientSends));
        assert!(!unknown(&before).counts_arrivals(Direction::ClientSends));
        assert!(unknown(&before).counts_arrivals(Direction::ServerSends));
    }

    #[test]
    fn rates_of_several_receivers_add_up_and_an_ended_one_adds_nothing() {
        let before = reading(0.0, vec![sample(0, 0, 0), sample(0, 0, 0), sample(50, 0, 10)], None);
        let after = reading(1.0, vec![sample(1_000, 0, 100), sample(500, 0, 100), sample(50, 0, 10)], None);
        let found = interval(&before, &after, Direction::ServerSends);
        assert_eq!((found.bytes, found.bits_per_second), (200, Some(800.0 + 1600.0)));
    }

    #[test]
    fn without_a_line_in_between_there_is_no_rate() {
        let same = reading(0.0, vec![sample(10, 5, 5)], None);
        let found = interval(&same, &Reading { at_seconds: 1.0, ..same.clone() }, Direction::ServerSends);
        assert_eq!((found.bytes, found.bits_per_second), (0, None));
    }
}
