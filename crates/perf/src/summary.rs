//! A whole test.

use serde::Serialize;

use crate::{
    Direction, Progress, Reading, Sample,
    interval::{sum, sum_of_all},
};

/// Lines with progress that an end needs for a rate: the first and the last byte are known to a line.
const FEWEST_LINES: u64 = 10;

/// What an end did in a test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct End {
    /// Bytes of streams.
    pub bytes: u64,
    /// Seconds from the last line before the first byte to the line with the last one.
    pub seconds: f64,
    /// `None` where the test was too short, see [`Summary::notes`].
    pub bits_per_second: Option<f64>,
    /// CPU time in user mode, in nanoseconds.
    pub cpu_user_ns: Option<u64>,
    /// CPU time in the kernel, in nanoseconds.
    pub cpu_system_ns: Option<u64>,
    /// Both for each byte.
    pub cpu_ns_per_byte: Option<f64>,
    /// Most resident memory that was seen of its processes, in bytes. It is looked at once in each interval.
    pub peak_memory_bytes: Option<u64>,
}

/// A test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Who sent.
    pub direction: Direction,
    /// The end that sent; all clients together. `None`: it is elsewhere and does not say.
    pub sender: Option<End>,
    /// The end that received.
    pub receiver: Option<End>,
    /// Streams that were over in both directions.
    pub exchanges: u64,
    /// Smoothed round-trip time that the sender knew last, in nanoseconds.
    pub rtt_ns: Option<u64>,
    /// Packets that the sender declared lost.
    pub lost_packets: Option<u64>,
    /// Datagrams that receiving sockets dropped.
    pub socket_drops: Option<u64>,
    /// Jain's index over the bytes of several connections: 1 is the same for all. `None` for one connection.
    pub fairness: Option<f64>,
    /// Why a number is missing, or not what it seems.
    pub notes: Vec<String>,
}

impl Summary {
    /// Bits that arrived in a second; where the receiver does not say, those that left.
    pub fn goodput(&self) -> Option<f64> {
        self.receiver.or(self.sender)?.bits_per_second
    }
}

/// What a test came to. `before` was read before the clients started, `after` when they had ended.
pub fn summary(before: &Reading, after: &Reading, direction: Direction) -> Summary {
    let clients = |count: fn(&Progress) -> u64| Some(together(&before.clients, &after.clients, count));
    let server = |count: fn(&Progress) -> u64| {
        let (before, after) = (before.server?, after.server?);
        Some(together(&[before], &[after], count))
    };
    let (sender, receiver) = match direction {
        Direction::ClientSends => (clients(|line| line.sent), server(|line| line.received)),
        Direction::ServerSends => (server(|line| line.sent), clients(|line| line.received)),
    };
    let sending = after.sender(direction).map(|sample| sample.newest);
    let lost_before = before.sender(direction).and_then(|sample| sample.newest.lost).unwrap_or(0);
    let drops = |reading: &Reading| match direction {
        Direction::ClientSends => reading.server?.socket_drops,
        Direction::ServerSends => sum_of_all(reading.clients.iter().map(|client| client.socket_drops)),
    };
    let shares: Vec<u64> = match direction {
        Direction::ClientSends => after.clients.iter().map(|client| client.last.sent).collect(),
        Direction::ServerSends => after.clients.iter().map(|client| client.last.received).collect(),
    };
    let mut notes = Vec::new();
    for (name, end) in [("sender", &sender), ("receiver", &receiver)] {
        match end {
            Some(end) if end.bits_per_second.is_none() => notes.push(format!(
                "{name}: no rate, because it moved bytes in fewer than {FEWEST_LINES} lines of its progress; ask for \
                 more bytes or a longer time"
            )),
            None => notes.push(format!("{name}: no numbers, because the server's are not known here")),
            Some(_) => {}
        }
    }
    if after.clients.len() > 1 && direction == Direction::ClientSends {
        notes.push("fairness: by the bytes that each client sent".to_owned());
    }
    Summary {
        direction,
        sender,
        receiver,
        exchanges: sum(after.clients.iter().map(|client| client.newest.exchanges)),
        rtt_ns: sending.and_then(|line| line.rtt_ns),
        lost_packets: sending.and_then(|line| line.lost?.checked_sub(lost_before)),
        socket_drops: drops(after).and_then(|after| after.checked_sub(drops(before).unwrap_or(0))),
        fairness: fairness(&shares).filter(|_| shares.len() > 1),
        notes,
    }
}

/// What a test came to in which both ends sent: what the clients sent, and what the server sent. CPU time of an end went to both, and so it
/// is for each byte of both.
pub fn summary_of_both(before: &Reading, after: &Reading) -> [Summary; 2] {
    let mut up = summary(before, after, Direction::ClientSends);
    let mut down = summary(before, after, Direction::ServerSends);
    for (one, other) in [(&mut up.sender, &mut down.receiver), (&mut up.receiver, &mut down.sender)] {
        let (Some(one), Some(other)) = (one, other) else { continue };
        let cpu = one.cpu_user_ns.zip(one.cpu_system_ns).map(|(user, system)| user.saturating_add(system));
        let bytes = one.bytes.saturating_add(other.bytes);
        let each = cpu.filter(|_| bytes > 0).map(|cpu| cpu as f64 / bytes as f64);
        (one.cpu_ns_per_byte, other.cpu_ns_per_byte) = (each, each);
    }
    [up, down]
}

/// Several processes as one end.
fn together(before: &[Sample], after: &[Sample], count: fn(&Progress) -> u64) -> End {
    let bytes = sum(after.iter().map(|end| count(&end.last).saturating_sub(count(&end.first))));
    let seconds_of = |end: &Sample| end.last.monotonic_ns.saturating_sub(end.first.monotonic_ns) as f64 / 1e9;
    let seconds = after.iter().map(seconds_of).fold(0.0, f64::max);
    let enough = after.iter().all(|end| end.moving_lines >= FEWEST_LINES);
    let used = |of: fn(&Sample) -> Option<u64>| {
        let total = |ends: &[Sample]| sum_of_all(ends.iter().map(of));
        total(after)?.checked_sub(total(before)?)
    };
    let (cpu_user_ns, cpu_system_ns) = (used(|end| end.cpu_user_ns), used(|end| end.cpu_system_ns));
    let cpu = cpu_user_ns.zip(cpu_system_ns).map(|(user, system)| user.saturating_add(system));
    End {
        bytes,
        seconds,
        bits_per_second: (enough && seconds > 0.0).then(|| bytes as f64 * 8.0 / seconds),
        cpu_user_ns,
        cpu_system_ns,
        cpu_ns_per_byte: cpu.filter(|_| bytes > 0).map(|cpu| cpu as f64 / bytes as f64),
        peak_memory_bytes: sum_of_all(after.iter().map(|end| end.peak_memory_bytes)),
    }
}

/// Jain's index of fairness: (sum of x)^2 / (n x sum of x^2), from 1/n to 1 (Jain, Chiu, Hawe 1984, equation 1). `None` for
/// nothing but zeros.
pub fn fairness(shares: &[u64]) -> Option<f64> {
    let sum: f64 = shares.iter().map(|share| *share as f64).sum();
    let squares: f64 = shares.iter().map(|share| (*share as f64).powi(2)).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(lines: u64, received: u64, seconds: u64) -> Sample {
        let first = Progress { monotonic_ns: 5, ..Progress::default() };
        let last = Progress { monotonic_ns: 5 + seconds * 1_000_000_000, received, lost: Some(3), ..first };
        let cpu = Some(seconds * 250_000_000);
        Sample {
            newest: last,
            first,
            last,
            moving_lines: lines,
            cpu_user_ns: cpu,
            cpu_system_ns: cpu,
            socket_drops: Some(2),
            peak_memory_bytes: Some(7 << 20),
        }
    }

    fn before() -> Sample {
        Sample { cpu_user_ns: Some(0), cpu_system_ns: Some(0), socket_drops: Some(0), ..Sample::default() }
    }

    #[test]
    fn a_rate_is_bits_over_the_receivers_time() {
        let before = Reading { clients: vec![before()], ..Reading::default() };
        let after = Reading { clients: vec![sample(10, 1_000_000, 2)], ..Reading::default() };
        let found = summary(&before, &after, Direction::ServerSends);
        let receiver = found.receiver.unwrap();
        assert_eq!((receiver.bytes, receiver.seconds, receiver.bits_per_second), (1_000_000, 2.0, Some(4e6)));
        assert_eq!((receiver.cpu_ns_per_byte, found.goodput(), found.socket_drops), (Some(1000.0), Some(4e6), Some(2)));
        assert_eq!(receiver.peak_memory_bytes, Some(7 << 20));
        assert_eq!((found.sender, found.fairness, found.lost_packets), (None, None, None));
        assert_eq!(found.notes, ["sender: no numbers, because the server's are not known here"]);
    }

    #[test]
    fn cpu_time_of_an_end_that_sends_and_receives_is_for_each_byte_of_both() {
        let both = |sent, received| {
            let mut one = sample(10, received, 2);
            one.last.sent = sent;
            one
        };
        let (zero, client, server) = (before(), both(1_000_000, 3_000_000), both(3_500_000, 1_000_000));
        let before = Reading { clients: vec![zero], server: Some(zero), ..Reading::default() };
        let after = Reading { clients: vec![client], server: Some(server), ..Reading::default() };
        let [up, down] = summary_of_both(&before, &after);
        assert_eq!((up.goodput(), down.goodput()), (Some(4e6), Some(12e6)));
        let each = [up.sender, up.receiver, down.sender, down.receiver].map(|end| end.unwrap().cpu_ns_per_byte);
        assert_eq!(each, [Some(250.0), Some(1e9 / 4.5e6), Some(1e9 / 4.5e6), Some(250.0)]);
    }

    #[test]
    fn what_is_too_short_has_no_rate_and_says_why() {
        let before = Reading { clients: vec![before()], ..Reading::default() };
        let after = Reading { clients: vec![sample(9, 1_000, 1)], ..Reading::default() };
        let found = summary(&before, &after, Direction::ServerSends);
        assert_eq!((found.goodput(), found.receiver.unwrap().bytes), (None, 1_000));
        assert!(found.notes.iter().any(|note| note.starts_with("receiver: no rate")), "{:?}", found.notes);
    }

    #[test]
    fn jain_is_one_for_equal_shares_and_one_over_n_for_a_single_winner() {
        assert_eq!(fairness(&[7, 7, 7, 7]), Some(1.0));
        assert_eq!(fairness(&[9, 0, 0, 0]), Some(0.25));
        assert_eq!(fairness(&[0, 0]), None);
        assert!((fairness(&[1, 3]).unwrap() - 0.8).abs() < 1e-12);
    }
}
